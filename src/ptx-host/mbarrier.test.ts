/** Barriers in shared memory: `mbarrier`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_WAYS, outcomesOf } from './ptx-runs.test-support.ts';

const SHARED = '.shared .align 8 .b64 bar[2];\n.shared .align 16 .b8 data[1024];';

// Each round the threads write, arrive and wait, then read what the next one wrote.
test('threads of several warps meet, round by round', async () => {
  const threads = 96;
  const found = await outcomesOf(
    `
  mov.u32 %r3, bar;
  mov.u32 %r4, data;
  setp.ne.u32 %p0, %r2, 0;
  @!%p0 mbarrier.init.shared::cta.b64 [%r3], %r1;
  bar.sync 0;
  mov.u32 %r10, 0;
  mov.u32 %r11, 0;
ROUND:
  mad.lo.u32 %r5, %r2, 4, %r4;
  mad.lo.u32 %r6, %r10, 1000, %r2;
  st.shared.u32 [%r5], %r6;
  mbarrier.arrive.shared.b64 %rd2, [%r3];
WAIT:
  mbarrier.try_wait.shared.b64 %p1, [%r3], %rd2;
  @!%p1 bra WAIT;
  add.u32 %r7, %r2, 1;
  rem.u32 %r7, %r7, %r1;
  mad.lo.u32 %r7, %r7, 4, %r4;
  ld.shared.u32 %r8, [%r7];
  add.u32 %r11, %r11, %r8;
  mbarrier.arrive.release.cta.shared::cta.b64 _, [%r3];
SECOND:
  mbarrier.test_wait.parity.shared.b64 %p1, [%r3], 1;
  @!%p1 bra SECOND;
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p2, %r10, 3;
  @%p2 bra ROUND;
  st.global.u32 [%out], %r11;`,
    { declarations: SHARED, threads, ways: ALL_WAYS },
  );
  assert.deepEqual(
    found,
    Array.from({ length: threads }, (_, i) => BigInt(3000 + 3 * ((i + 1) % threads))),
  );
});

test('counts, bytes that are expected, those that drop out, and copies', async () => {
  const steps = [
    ['mbarrier.init.shared.b64 [%r3], 3', ''],
    ['mbarrier.arrive.noComplete.shared.b64 %rd2, [%r3], 2', ''],
    ['mbarrier.pending_count.b64 %r5, %rd2', '%r5'],
    ['mbarrier.arrive_drop.expect_tx.shared.b64 %rd2, [%r3], 16', 'phase 0'],
    ['mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r3], 12', 'phase 0'],
    ['mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r3], 4', 'phase 0'],
    ['mbarrier.complete_tx.shared.b64 [%r3], 8', 'phase 0'],
    ['cp.async.mbarrier.arrive.shared.b64 [%r3]', 'phase 1'],
    ['cp.async.mbarrier.arrive.noinc.shared.b64 [%r3]', 'phase 1'],
    ['mbarrier.arrive.b64 %rd2, [%rd5]', 'phase 1'],
    ['mapa.shared::cluster.u32 %r6, %r3, 0', ''],
    ['getctarank.shared::cluster.u32 %r5, %r6', '%r5'],
    ['ld.shared::cluster.u8 %r5, [%r6]', '%r5'],
    ['mbarrier.inval.shared.b64 [%r3]', ''],
  ];
  const body = steps.map(([step, look]) => {
    if (look === '') return `${step};\n`;
    const asked = look!.startsWith('phase')
      ? `mbarrier.test_wait.parity.shared.b64 %p1, [%r3], ${look!.slice(-1)};\nselp.u32 %r5, 1, 0, %p1;`
      : '';
    return `${step};\n${asked}\nshl.b64 %rd4, %rd4, 4;\ncvt.u64.u32 %rd3, %r5;\nor.b64 %rd4, %rd4, %rd3;\n`;
  });
  const found = await outcomesOf(
    `mov.u32 %r3, bar;\ncvt.u64.u32 %rd5, %r3;\ncvta.shared.u64 %rd5, %rd5;\nmov.b64 %rd4, 0;\n${body.join('')}st.global.b64 [%out], %rd4;`,
    { declarations: SHARED, threads: 1 },
  );
  // Three are pending before the first arrival; bytes keep the phase open, and two arrivals make the next.
  assert.equal(found[0]!.toString(16), '3000100102');
});
