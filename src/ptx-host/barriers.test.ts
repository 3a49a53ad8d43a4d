/** Barriers of blocks: their numbers, and what threads find out at them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { ALL_WAYS, kernelText, outcomesOf, output, runOn, u32, WAYS } from './ptx-runs.test-support.ts';

const DECLARATIONS = '.shared .align 4 .b32 tile[128];';

test('threads come to barriers of any number, and see what others stored before', async () => {
  const body = `
    mov.u32 %r9, tile;
    mad.lo.u32 %r10, %r2, 4, %r9;
    st.shared.u32 [%r10], %r2;
    bar.sync 3;
    sub.u32 %r11, 99, %r2;
    mad.lo.u32 %r10, %r11, 4, %r9;
    ld.shared.u32 %r12, [%r10];
    barrier.cta.sync.aligned 15;
    st.shared.u32 [%r10], 7;
    mov.u32 %r13, 2;
    bar.cta.sync %r13;
    ld.shared.u32 %r14, [%r10];
    mad.lo.u32 %r12, %r14, 1000, %r12;
    st.global.u32 [%out], %r12;`;
  const found = await outcomesOf(body, { declarations: DECLARATIONS, threads: 100 });
  assert.deepEqual(
    found,
    Array.from({ length: 100 }, (_, i) => BigInt(7000 + 99 - i)),
  );
});

test('votes at barriers, again and again, by warps that are not full, while others have ended', async () => {
  const body = `
    setp.ge.u32 %p1, %r2, 96;
    @%p1 ret;
    mov.u32 %r9, 0;
    mov.u32 %r10, 0;
  next:
    rem.u32 %r11, %r2, 5;
    setp.eq.u32 %p2, %r11, %r9;
    bar.red.popc.u32 %r12, 1, %p2;
    setp.lt.u32 %p3, %r2, 70;
    barrier.red.and.pred %p4, 0, %p3;
    barrier.cta.red.or.aligned.pred %p5, 2, !%p3;
    bar.red.and.pred %p6, 0, !%p1;
    bar.red.or.pred %p7, 1, %p1;
    mad.lo.u32 %r10, %r10, 100, %r12;
    selp.u32 %r13, 1, 0, %p4;
    selp.u32 %r14, 2, 0, %p5;
    selp.u32 %r15, 4, 0, %p6;
    selp.u32 %r16, 8, 0, %p7;
    add.u32 %r13, %r13, %r14;
    add.u32 %r15, %r15, %r16;
    add.u32 %r17, %r13, %r15;
    add.u32 %r9, %r9, 1;
    setp.lt.u32 %p2, %r9, 3;
    @%p2 bra next;
    mad.lo.u32 %r10, %r10, 100, %r17;
    st.global.u32 [%out], %r10;`;
  const found = await outcomesOf(body, { threads: 110 });
  const counts = [0, 1, 2].map((kind) => Array.from({ length: 96 }, (_, i) => i % 5).filter((i) => i === kind).length);
  const all = BigInt(((counts[0]! * 100 + counts[1]!) * 100 + counts[2]!) * 100 + 2 + 4);
  assert.deepEqual(
    found,
    Array.from({ length: 110 }, (_, i) => (i < 96 ? all : 0n)),
  );
});

test('lanes that came to a vote from different calls of a function vote together', async () => {
  const declarations = `
    .func (.reg .b32 count) ask(.reg .b32 x) {
      .reg .pred %q;
      setp.gt.u32 %q, x, 9;
      bar.red.popc.u32 count, 0, %q;
      ret;
    }`;
  const body = `
    and.b32 %r9, %r2, 1;
    setp.eq.u32 %p1, %r9, 0;
    @%p1 bra even;
    call (%r10), ask, (%r2);
    bra done;
  even:
    call (%r10), ask, (%r2);
  done:
    st.global.u32 [%out], %r10;`;
  const found = await outcomesOf(body, { declarations, threads: 64 });
  assert.deepEqual(new Set(found), new Set([54n]));
});

test('producers arrive and go on, consumers wait for them, at barriers of some warps', async () => {
  const body = `
    mov.u32 %r9, tile;
    and.b32 %r11, %r2, 31;
    setp.ge.u32 %p1, %r2, 64;
    mov.u32 %r20, 0;
    mov.u32 %r21, 0;
    @%p1 bra consume;
  produce:
    barrier.sync 2, 96;
    mad.lo.u32 %r12, %r20, 100, %r2;
    mad.lo.u32 %r10, %r2, 4, %r9;
    st.shared.u32 [%r10], %r12;
    bar.arrive 1, 96;
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p2, %r20, 10;
    @%p2 bra produce;
    st.global.u32 [%out], %r20;
    ret;
  consume:
    mov.u32 %r22, 2;
    barrier.cta.arrive.aligned %r22, 96;
    mov.u32 %r23, 96;
    bar.sync 1, %r23;
    mad.lo.u32 %r10, %r11, 8, %r9;
    ld.shared.v2.u32 {%r13, %r14}, [%r10];
    mad.lo.u32 %r21, %r21, 3, %r13;
    add.u32 %r21, %r21, %r14;
    add.u32 %r20, %r20, 1;
    setp.lt.u32 %p2, %r20, 10;
    @%p2 bra consume;
    st.global.u32 [%out], %r21;`;
  const found = await outcomesOf(body, { declarations: DECLARATIONS, threads: 96, ways: ALL_WAYS });
  const consumed = (lane: number): number => {
    let sum = 0;
    for (let round = 0; round < 10; round++) sum = sum * 3 + (round * 100 + 2 * lane) + (round * 100 + 2 * lane + 1);
    return sum;
  };
  assert.deepEqual(
    found,
    Array.from({ length: 96 }, (_, i) => BigInt(i < 64 ? 10 : consumed(i - 64))),
  );
});

test('barriers with guards are those of the lanes that have it, each at its own', async () => {
  const body = `
    mov.u32 %r9, tile;
    mad.lo.u32 %r10, %r2, 4, %r9;
    setp.lt.u32 %p1, %r2, 32;
    and.b32 %r12, %r2, 1;
    setp.eq.u32 %p2, %r12, 0;
    mov.u32 %r13, 0;
    st.shared.u32 [%r10], %r2;
    @%p2 barrier.sync 0;
    @!%p2 barrier.sync 0;
    @!%p1 ld.shared.u32 %r11, [%r10+-128];
    @%p1 ld.shared.u32 %r11, [%r10+128];
    @%p1 bar.arrive 1, 64;
    @!%p1 bar.sync 1, 64;
    @!%p1 bar.red.popc.u32 %r13, 2, 32, %p2;
    mad.lo.u32 %r11, %r11, 100, %r13;
    st.global.u32 [%out], %r11;`;
  const found = await outcomesOf(body, { declarations: DECLARATIONS, threads: 64, ways: ALL_WAYS });
  assert.deepEqual(
    found,
    Array.from({ length: 64 }, (_, i) => BigInt(i < 32 ? (i + 32) * 100 : (i - 32) * 100 + 16)),
  );
});

test('warps of a half vote by themselves, and all meet without a count though some have ended', async () => {
  const body = `
    setp.ge.u32 %p1, %r2, 128;
    @%p1 ret;
    shr.u32 %r9, %r2, 6;
    add.u32 %r9, %r9, 4;
    rem.u32 %r10, %r2, 3;
    setp.eq.u32 %p2, %r10, 0;
    barrier.red.popc.u32 %r11, %r9, 64, %p2;
    barrier.red.popc.aligned.u32 %r12, %r9, 64, !%p2;
    bar.sync 0;
    bar.red.popc.u32 %r13, 7, %p2;
    mad.lo.u32 %r11, %r11, 1000, %r12;
    mad.lo.u32 %r11, %r11, 1000, %r13;
    st.global.u32 [%out], %r11;`;
  const found = await outcomesOf(body, { threads: 160, ways: ALL_WAYS });
  const count = (from: number, to: number): number =>
    Array.from({ length: to - from }, (_, i) => from + i).filter((i) => i % 3 === 0).length;
  const of = (half: number): number => {
    const votes = count(64 * half, 64 * half + 64);
    return (votes * 1000 + 64 - votes) * 1000 + count(0, 128);
  };
  assert.deepEqual(
    found,
    Array.from({ length: 160 }, (_, i) => BigInt(i < 128 ? of(i >> 6) : 0)),
  );
});

const failureOf = async (way: string, body: string): Promise<string> =>
  await runOn(ALL_WAYS[way]!, {
    ...{ texts: [{ text: kernelText(body), name: 'k.ptx' }], grid: [96], workgroup: [96], timeoutMs: 60_000 },
    args: [output(768), output(768), u32(33)],
  }).then(
    () => '',
    ({ message }: Error) => message,
  );

for (const way of Object.keys(ALL_WAYS)) {
  test(`${way}: barriers to which too few come are a deadlock with all places, wrong counts a fault`, async () => {
    const parted = `  setp.lt.u32 %p1, %r2, 64;\n  @%p1 bra some;\n  bar.sync 2, 64;\nsome:\n  bar.sync 1, 96;`;
    const [head, ...places] = (await failureOf(way, parted)).split('\n');
    assert.match(
      head!,
      /^kernel 'k': deadlock: all threads that are left wait, by 'wave_numbered [12], (64|96)' at pc /,
    );
    assert.ok(
      places.some((line) => /^ *2 waves waiting at pc .* k\.ptx:29:3;.* waves 0 to 1$/.test(line)),
      places.join('\n'),
    );
    assert.ok(
      places.some((line) => /^ *1 wave waiting at pc .* k\.ptx:27:3;.* wave 2$/.test(line)),
      places.join('\n'),
    );
    const wrong = await failureOf(way, '  ld.param.u32 %r9, [n];\n  bar.sync 3, %r9;');
    assert.match(wrong, /barrier 3 of 33 threads: .* multiple of the warp's size.*wave_numbered/);
    const others = await failureOf(way, '  and.b32 %r9, %r2, 32;\n  add.u32 %r9, %r9, 64;\n  bar.sync 3, %r9;');
    assert.match(others, /barrier 3 of (64|96) threads: .* that of the others/);
  });
}

test('what is not there is refused with its line', async () => {
  for (const [line, code] of [
    ['bar.sync 1, 33;', 'BAD_INPUT'],
    ['bar.red.popc.u32 %r9, 1, 0, %p1;', 'BAD_INPUT'],
    ['bar.arrive 1;', 'BAD_INPUT'],
    ['barrier.arrive 1, 100;', 'BAD_INPUT'],
    ['bar.sync 16;', 'BAD_INPUT'],
    ['bar.red.and.pred %p2, 1;', 'BAD_INPUT'],
  ] as const) {
    const texts = [{ text: kernelText(`\n${line}`), name: 'k.ptx' }];
    await assert.rejects(
      runOn(WAYS['T0']!, { texts, args: [output(8), output(8), u32(1)], grid: [1], workgroup: [1] }),
      (error) => error instanceof WavewrightError && error.code === code && /k\.ptx:2\d/.test(error.message),
      line,
    );
  }
});
