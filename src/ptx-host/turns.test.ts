/** Threads of a warp that wait for each other, on all executors and with workers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_WAYS, kernelText, numbers, outcomesOf, output, runOn, u32 } from './ptx-runs.test-support.ts';

const LOCK = '.global .u32 lock;\n.global .u32 count;';
/** Counts in `%r5` with the lock held; `%r3` is what the lock was. */
const COUNT = `
  ld.volatile.global.u32 %r4, [count];
  add.u32 %r5, %r4, 1;
  st.volatile.global.u32 [count], %r5;
  membar.gl;
  atom.global.exch.b32 %r6, [lock], 0;`;

test('a lock that each thread spins for: all come through, with the registers that they had', async () => {
  const found = await outcomesOf(
    `
  mul.lo.u32 %r20, %gid, 1000;
  mul.wide.u32 %rd20, %gid, 1000;
again:
  atom.global.cas.b32 %r3, [lock], 0, 1;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra again;
  ${COUNT}
  cvt.u64.u32 %rd3, %r20;
  sub.u64 %rd4, %rd20, %rd3;
  cvt.u64.u32 %rd2, %r5;
  add.u64 %rd2, %rd2, %rd4;
  st.global.u64 [%out], %rd2;`,
    { declarations: LOCK, threads: 64, block: 32, ways: ALL_WAYS, isSorted: true },
  );
  assert.deepEqual(
    found,
    numbers(64, (i) => i + 1),
  );
});

test('the lock held in a function, by threads that end there and that sleep while they wait', async () => {
  const found = await outcomesOf(
    `
again:
  atom.global.cas.b32 %r3, [lock], 0, 1;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra got;
  nanosleep.u32 100;
  bra again;
got:
  { .param .b64 p; st.param.b64 [p], %out;
    call held, (p); }`,
    {
      declarations: `${LOCK}
.func held(.param .b64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .reg .pred %p;
  ld.param.u64 %rd1, [out];
  ${COUNT}
  cvt.u64.u32 %rd2, %r5;
  st.global.u64 [%rd1], %rd2;
  and.b32 %r7, %r5, 1;
  setp.eq.u32 %p, %r7, 0;
  @%p exit;
  ret;
}`,
      ways: ALL_WAYS,
      isSorted: true,
    },
  );
  assert.deepEqual(
    found,
    numbers(64, (i) => i + 1),
  );
});

test('threads wait for what others of their warp store, whichever side of a branch stands first', async () => {
  // Lanes 0 to 15 wait for lanes 16 to 31, which wait for the answer; all meet behind.
  const found = await outcomesOf(
    `
  and.b32 %r3, %gid, 31;
  and.b32 %r4, %gid, 15;
  setp.lt.u32 %p1, %r3, 16;
  mul.lo.u32 %r5, %r4, 8;
  cvt.u64.u32 %rd2, %r5;
  mov.u64 %rd3, flags;
  add.u64 %rd4, %rd3, %rd2;
  @%p1 bra consumer;
  add.u32 %r6, %r3, 100;
  st.release.gpu.global.u32 [%rd4], %r6;
waits:
  ld.acquire.gpu.global.u32 %r7, [%rd4+4];
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra waits;
  bra done;
consumer:
  ld.acquire.gpu.global.u32 %r7, [%rd4];
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra consumer;
  add.u32 %r8, %r7, 1000;
  st.release.gpu.global.u32 [%rd4+4], %r8;
done:
  bar.sync 0;
  vote.sync.ballot.b32 %r9, 1, 0xffffffff;
  popc.b32 %r10, %r9;
  mad.lo.u32 %r11, %r7, 100, %r10;
  cvt.u64.u32 %rd5, %r11;
  st.global.u64 [%out], %rd5;`,
    { declarations: '.global .align 8 .b8 flags[128];', threads: 32, ways: ALL_WAYS },
  );
  const heard = (lane: number): number => (lane < 16 ? lane + 116 : lane + 1100);
  assert.deepEqual(
    found,
    numbers(32, (lane) => heard(lane) * 100 + 32),
  );
});

/** What only holds while lanes of the wave are together: code of libraries is like this. */
test('lanes that parted for a moment are together behind it, however short turns are', async () => {
  const found = await outcomesOf(
    `
  mov.u32 %r3, 0;
  mov.u32 %r10, 0;
  and.b32 %r4, %gid, 3;
  setp.ne.u32 %p1, %r4, 0;
again:
  @%p1 bra together;
  mov.u32 %r5, 0;
alone:
  atom.global.add.u32 %r6, [count], 1;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p2, %r5, 30;
  @%p2 bra alone;
together:
  activemask.b32 %r7;
  popc.b32 %r8, %r7;
  add.u32 %r10, %r10, %r8;
  mov.u32 %r5, 0;
all:
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p2, %r5, 100;
  @%p2 bra all;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r3, 40;
  @%p3 bra again;
  cvt.u64.u32 %rd5, %r10;
  st.global.u64 [%out], %rd5;`,
    { declarations: '.global .u32 count;', threads: 32, ways: ALL_WAYS },
  );
  assert.deepEqual(
    found,
    numbers(32, () => 32 * 40),
  );
});

test('lanes that are stopped keep their registers while others run loops, on either side of a branch', async () => {
  // Each phase has registers of its own, so that its two sides share rows.
  const registers = (n: number) => (first: number) => `%r${first + n}`;
  const loop = (n: number, r = registers(n)): string => `loop${n}:
  mov.u32 ${r(50)}, 0; mov.u32 ${r(52)}, %r3; mov.u32 ${r(54)}, 1; mov.f32 %f${n}, 0f3f800000;
rounds${n}:
  mad.lo.u32 ${r(52)}, ${r(52)}, ${r(54)}, 3;
  add.u32 ${r(54)}, ${r(54)}, 2;
  add.f32 %f${n}, %f${n}, %f${n};
  add.u32 ${r(50)}, ${r(50)}, 1;
  setp.le.u32 %p2, ${r(50)}, %r3;
  @%p2 bra rounds${n};
  add.u32 %r30, %r30, ${r(52)};
  st.release.gpu.global.u32 [flags+${n * 4}], 1;
  bra done${n};`;
  const spin = (n: number, r = registers(n)): string => `spin${n}:
  add.u32 ${r(40)}, %r3, 11; add.u32 ${r(42)}, %r3, 22; add.u32 ${r(44)}, %r3, 33; add.u32 ${r(46)}, %r3, 44;
wait${n}:
  ld.acquire.gpu.global.u32 %r8, [flags+${n * 4}];
  setp.eq.u32 %p2, %r8, 0;
  @%p2 bra wait${n};
  mad.lo.u32 %r30, ${r(40)}, 7, %r30; mad.lo.u32 %r30, ${r(42)}, 5, %r30;
  mad.lo.u32 %r30, ${r(44)}, 3, %r30; mad.lo.u32 %r30, ${r(46)}, 2, %r30;
  bra done${n};`;
  const phase = (n: number, sides: readonly string[]): string =>
    `  @%p${n === 0 ? 1 : 3} bra spin${n};\n  bra loop${n};\n${sides.join('\n')}\ndone${n}:`;
  const found = await outcomesOf(
    `  and.b32 %r3, %gid, 31;\n  mov.u32 %r30, 0;\n  and.b32 %r9, %r3, 1;\n  setp.eq.u32 %p1, %r9, 0;\n  setp.ne.u32 %p3, %r9, 0;
${phase(0, [loop(0), spin(0)])}\n${phase(1, [spin(1), loop(1)])}
  cvt.u64.u32 %rd5, %r30;\n  st.global.u64 [%out], %rd5;`,
    { declarations: '.global .align 4 .b8 flags[8];', threads: 32, ways: ALL_WAYS },
  );
  const sum = (lane: number): number => {
    let [x, factor] = [lane, 1];
    for (let i = 0; i <= lane; i++, factor += 2) x = (Math.imul(x, factor) + 3) >>> 0;
    return (x + (lane + 11) * 7 + (lane + 22) * 5 + (lane + 33) * 3 + (lane + 44) * 2) >>> 0;
  };
  assert.deepEqual(found, numbers(32, sum));
});

test('groups that are stopped anywhere: between a vote and its outcome, on the way to a join', async () => {
  const loop = (n: number): string => `
loop${n}:
  xor.b32 %r10, %r3, %r5; and.b32 %r10, %r10, 1; setp.eq.u32 %p2, %r10, 0;
  vote.sync.ballot.b32 %r11, %p2, %r4;
  and.b32 %r11, %r11, %r4; popc.b32 %r12, %r11; add.u32 %r30, %r30, %r12;
  @%p2 bra even${n};
  add.u32 %r30, %r30, ${n};
  bra meet${n};
even${n}:
  add.u32 %r30, %r30, 9;
meet${n}:
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p3, %r5, 100;
  @%p3 bra loop${n};`;
  const found = await outcomesOf(
    `  and.b32 %r3, %gid, 31;\n  mov.u32 %r30, 0;\n  mov.u32 %r5, 0;\n  ld.volatile.global.u32 %r9, [%in];
  setp.lt.u32 %p1, %r3, 16;\n  selp.b32 %r4, 0xffff, 0xffff0000, %p1;\n  @%p1 bra second;
${loop(3)}\n  bra done;\nsecond:${loop(5)}\ndone:\n  cvt.u64.u32 %rd5, %r30;\n  st.global.u64 [%out], %rd5;`,
    { threads: 32, ways: ALL_WAYS },
  );
  assert.deepEqual(
    found,
    numbers(32, (lane) => 100 * 8 + 50 * 9 + 50 * (lane < 16 ? 5 : 3)),
  );
});

test('lanes that went to the end past a join do not come back to where they waited before', async () => {
  const found = await outcomesOf(
    `
  and.b32 %r3, %gid, 31;
  mov.u32 %r4, 0;
  setp.lt.u32 %p1, %r3, 8;
  @!%p1 bra joins;
  nanosleep.u32 10;
joins:
  add.u32 %r4, %r4, 100;
  and.b32 %r5, %r3, 1;
  setp.eq.u32 %p2, %r5, 0;
  @%p2 bra even;
  ld.global.u64 %rd5, [%out];
  cvt.u64.u32 %rd6, %r4;
  add.u64 %rd5, %rd5, %rd6;
  st.global.u64 [%out], %rd5;
  ret;
even:
  add.u32 %r4, %r4, 1000;
  cvt.u64.u32 %rd5, %r4;
  st.global.u64 [%out], %rd5;`,
    { threads: 32, ways: ALL_WAYS },
  );
  assert.deepEqual(
    found,
    numbers(32, (lane) => (lane % 2 === 0 ? 1100 : 100)),
  );
});

/** Lanes 0 to 15 go into a loop; the others wait until they are there, and are never in the same round. */
const inOtherRounds = (work: string, rounds: number): string => `
  and.b32 %r3, %gid, 31;
  mov.u32 %r5, 0;
  mov.u32 %r6, 0;
  setp.lt.u32 %p1, %r3, 16;
  @%p1 bra rounds;
wait:
  ${work}
  ld.volatile.global.u32 %r7, [flag];
  setp.eq.u32 %p2, %r7, 0;
  @%p2 bra wait;
rounds:
  activemask.b32 %r8;
  popc.b32 %r8, %r8;
  max.u32 %r6, %r6, %r8;
  st.volatile.global.u32 [flag], 1;
  ${work}
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p2, %r5, ${rounds};
  @%p2 bra rounds;
  cvt.u64.u32 %rd5, %r6;
  st.global.u64 [%out], %rd5;`;

test('groups that are stopped at one place at different times stay apart', async () => {
  const { T1 } = ALL_WAYS;
  for (const [work, rounds, ways] of [
    ['nanosleep.u32 10;', 400, ALL_WAYS],
    // Turns end at the begin of the loop, and are long.
    ['', 300_000, { T1: T1! }],
  ] as const) {
    const found = await outcomesOf(inOtherRounds(work, rounds), {
      ...{ declarations: '.global .u32 flag;', threads: 32, ways },
    });
    assert.deepEqual(
      found,
      numbers(32, () => 16),
    );
  }
});

async function failureOf(way: string, body: string, timeoutMs = 60_000): Promise<string> {
  const request = {
    ...{ texts: [{ text: kernelText(body), name: 'k.ptx' }], grid: [64], workgroup: [64], timeoutMs },
    args: [output(512), output(512), u32(64)],
  };
  return await runOn(ALL_WAYS[way]!, request).then(
    () => '',
    (error: Error) => error.message,
  );
}

const BRANCH = '  and.b32 %r3, %gid, 31;\n  setp.lt.u32 %p1, %r3, 12;\n  @%p1 bra there;\n';

for (const way of Object.keys(ALL_WAYS)) {
  test(`${way}: barriers at different places are a deadlock, with the place of every thread`, async () => {
    const found = await failureOf(way, `${BRANCH}  bar.sync 0;\n  bra done;\nthere:\n  bar.sync 0;\ndone:`);
    const [head, ...places] = found.split('\n');
    assert.match(head!, /^kernel 'k': deadlock: all threads that are left wait, by 'wave_park /);
    assert.match(head!, /workgroup \(0, 0, 0\), wave [01]/);
    for (const [lines, exec] of [
      ['28:3', 'fffff000'],
      ['31:3', 'fff'],
    ]) {
      const place = places.find((line) => line.includes(`k.ptx:${lines};`));
      assert.match(place ?? found, new RegExp(`waiting for lanes 0xffffffff at pc .*; EXEC 0x${exec}; workgroup`));
    }
  });
}

test('lanes that others do not join in time are named where the time is over, with those that spin', async () => {
  const source = `${BRANCH}spin:\n  ld.volatile.global.u32 %r4, [%in];\n  setp.eq.u32 %p2, %r4, 0;\n  @%p2 bra spin;
there:\n  shfl.sync.idx.b32 %r5, %r3, 0, 31, 0xffffffff;`;
  let found = '';
  // On a machine with much else to do, the time may be over before the lanes had their first turn.
  for (const limitMs of [300, 3_000, 30_000]) {
    found = await failureOf('T1', source, limitMs);
    if (found.includes('waiting for lanes')) break;
  }
  assert.match(found, /did not end within/);
  assert.match(found, /waiting for lanes 0xffffffff at pc .*k\.ptx:33:3; EXEC 0xfff;/);
  assert.match(found, /k\.ptx:(29|30|31):3; EXEC 0xfffff000;/);
});
