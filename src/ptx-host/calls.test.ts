/** Functions, called directly and through pointers, by all lanes and by some. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kernelText, outcomesOf, output, runOn, u32, WAYS } from './ptx-runs.test-support.ts';

const lanes = (count: number, value: (lane: number) => bigint | number): bigint[] =>
  Array.from({ length: count }, (_, i) => BigInt.asUintN(64, BigInt(value(i))));

const FUNCTIONS = `
.func (.param .b32 r) twice(.param .b32 a)
{
  .reg .b32 %x<3>;
  ld.param.b32 %x1, [a];
  add.u32 %x2, %x1, %x1;
  st.param.b32 [r], %x2;
  ret;
}
.func (.param .b32 r) fact(.param .b32 n)
{
  .reg .b32 %x<8>;
  .reg .pred %q;
  ld.param.b32 %x1, [n];
  setp.lt.u32 %q, %x1, 2;
  @%q bra one;
  sub.u32 %x2, %x1, 1;
  {
    .param .b32 p0;
    st.param.b32 [p0+0], %x2;
    .param .b32 r0;
    call.uni (r0), fact, (p0);
    ld.param.b32 %x3, [r0+0];
  }
  mul.lo.u32 %x4, %x3, %x1;
  st.param.b32 [r], %x4;
  ret;
one:
  st.param.b32 [r], 1;
  ret;
}
.func (.param .align 8 .b8 r[24]) sums(.param .align 8 .b8 s[16], .param .u8 k)
{
  .reg .b64 %y<6>;
  .reg .b32 %x<3>;
  mov.b64 %y0, s;
  ld.param.b64 %y1, [%y0];
  ld.param.b64 %y2, [s+8];
  ld.param.u8 %x1, [k];
  cvt.u64.u32 %y3, %x1;
  add.u64 %y4, %y1, %y2;
  add.u64 %y5, %y4, %y3;
  st.param.b64 [r], %y4;
  st.param.b64 [r+8], %y5;
  st.param.b64 [r+16], %y1;
  ret;
}
`;

test('functions of parameters and results, structs and recursion, with registers that live across calls', async () => {
  const found = await outcomesOf(
    `
    .param .b32 p, q;
    st.param.b32 [p], %gid;
    call (q), twice, (p);
    ld.param.b32 %r3, [q];
    and.b32 %r4, %gid, 7;
    { .param .b32 p0; .param .b32 r0;
      st.param.b32 [p0], %r4;
      call.uni (r0), fact, (p0);
      ld.param.b32 %r5, [r0]; }
    setp.gt.u32 %p1, %gid, 40;
    @%p1 call (%r3), twice, (%r3);
    { .param .align 8 .b8 s0[16]; .param .align 8 .b8 s1[24]; .param .b32 k;
      cvt.u64.u32 %rd5, %r3;
      st.param.v2.b64 [s0], {%rd5, 1000};
      st.param.b32 [k], 7;
      call (s1), sums, (s0, k);
      ld.param.b64 %rd6, [s1];
      ld.param.b64 %rd7, [s1+8];
      ld.param.b64 %rd8, [s1+16]; }
    sub.u64 %rd7, %rd7, %rd6;
    add.u64 %rd8, %rd8, %rd7;
    cvt.u32.u64 %r6, %rd8;
    mad.lo.u32 %r6, %r6, 10000, %r5;
    st.global.u32 [%out], %r6;`,
    { threads: 64, declarations: FUNCTIONS },
  );
  const fact = (n: number): number => (n < 2 ? 1 : n * fact(n - 1));
  assert.deepEqual(
    found,
    lanes(64, (i) => ((i > 40 ? 4 * i : 2 * i) + 7) * 10_000 + fact(i & 7)),
  );
});

test('lanes of a warp call different functions through pointers and meet behind them', async () => {
  const found = await outcomesOf(
    `
    and.b32 %r3, %gid, 3;
    mul.wide.u32 %rd5, %r3, 8;
    mov.u64 %rd6, table;
    add.u64 %rd6, %rd6, %rd5;
    ld.global.u64 %rd7, [%rd6];
    { .param .b32 p0; .param .b32 r0;
      st.param.b32 [p0], %r3;
      proto: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (r0), %rd7, (p0), proto;
      ld.param.b32 %r4, [r0]; }
    activemask.b32 %r5;
    popc.b32 %r5, %r5;
    add.u32 %r4, %r4, %gid;
    mad.lo.u32 %r4, %r5, 1000, %r4;
    mov.u64 %rd8, twice;
    targets: .calltargets twice, fact;
    call (%r6), %rd8, (%r4), targets;
    st.global.u32 [%out], %r6;`,
    {
      threads: 64,
      declarations: `${FUNCTIONS}
.func (.param .b32 r) count(.param .b32 n) {
  .reg .b32 %x<4>;
  activemask.b32 %x1;
  popc.b32 %x2, %x1;
  st.param.b32 [r], %x2;
  ret;
}
.global .u64 table[4] = {twice, fact, count, count};`,
    },
  );
  const value = (i: number): number => [0, 1, 16, 16][i & 3]!;
  assert.deepEqual(
    found,
    lanes(64, (i) => (value(i) + i + 32_000) * 2),
  );
});

test('lanes that end in a function, all of them and some, and recursion of different depth', async () => {
  const found = await outcomesOf(
    `
    st.global.u32 [%out], 5;
    and.b32 %r3, %gid, 15;
    call (%r4), deep, (%r3);
    st.global.u32 [%out], %r4;
    setp.lt.u32 %p1, %gid, 32;
    @%p1 bra.uni all;
    call quit;
    st.global.u32 [%out], 9;
all:
    add.u32 %r4, %r4, 100;
    st.global.u32 [%out], %r4;`,
    {
      threads: 96,
      block: 96,
      declarations: `
.func quit() .noreturn { exit; }
.func (.reg .u32 r) deep(.reg .u32 n) {
  .reg .pred %q;
  .reg .u32 %m;
  setp.eq.u32 %q, n, 7;
  @%q exit;
  setp.eq.u32 %q, n, 0;
  mov.u32 r, 0;
  @%q ret;
  setp.gt.u32 %q, n, 7;
  sub.u32 %m, n, 1;
  @%q sub.u32 %m, %m, 7;
  call (r), deep, (%m);
  add.u32 r, r, 1;
}`,
    },
  );
  const depth = (n: number): number => (n === 0 ? 0 : 1 + depth(n > 7 ? n - 8 : n - 1));
  const ends = (n: number): boolean => n === 7 || n === 15;
  assert.deepEqual(
    found,
    lanes(96, (i) => (ends(i & 15) ? 5 : depth(i & 15) + (i < 32 ? 100 : 0))),
  );
});

test('memory that a function takes while it runs', async () => {
  const found = await outcomesOf(
    `
    and.b32 %r3, %gid, 7;
    call (%r4), fill, (%r3);
    call (%r5), fill, (%gid);
    mad.lo.u32 %r4, %r5, 1000, %r4;
    st.global.u32 [%out], %r4;`,
    {
      threads: 64,
      declarations: `
.func (.param .b32 r) square(.param .b32 n) {
  .reg .b32 %x;
  .local .b32 l;
  ld.param.b32 %x, [n];
  mul.lo.u32 %x, %x, %x;
  st.local.b32 [l], %x;
  ld.local.b32 %x, [l];
  st.param.b32 [r], %x;
  ret;
}
.func (.param .b32 r) fill(.param .b32 n) {
  .reg .b32 %x<8>;
  .reg .b64 %y<8>;
  .reg .pred %q;
  ld.param.b32 %x1, [n];
  stacksave.u64 %y7;
  mul.wide.u32 %y1, %x1, 4;
  add.u64 %y1, %y1, 4;
  alloca.u64 %y2, %y1, 32;
  cvta.local.u64 %y3, %y2;
  mov.u32 %x2, 0;
again:
  mul.wide.u32 %y4, %x2, 4;
  add.u64 %y5, %y3, %y4;
  call (%x3), square, (%x2);
  st.u32 [%y5], %x3;
  add.u32 %x2, %x2, 1;
  setp.le.u32 %q, %x2, %x1;
  @%q bra again;
  ld.u32 %x4, [%y5];
  ld.local.u32 %x5, [%y2];
  add.u32 %x4, %x4, %x5;
  and.b64 %y2, %y2, 31;
  cvt.u32.u64 %x6, %y2;
  add.u32 %x4, %x4, %x6;
  stackrestore.u64 %y7;
  alloca.u64 %y2, %y1, 0;
  st.param.b32 [r], %x4;
  ret;
}`,
    },
  );
  assert.deepEqual(
    found,
    lanes(64, (i) => i * i * 1000 + (i & 7) * (i & 7)),
  );
});

test('vectors of registers are moved, and passed to functions and back', async () => {
  const found = await outcomesOf(
    `
    .reg .v2 .b32 pair<3>;
    .reg .v4 .u16 four;
    .reg .b64 whole;
    mov.u32 pair1.x, %gid;
    add.u32 pair1.y, %gid, 5;
    call (pair2), turned, (pair1);
    mov.v2.b32 {%r3, %r4}, pair2;
    mov.v2.b32 {%r3, %r4}, {%r4, %r3};
    cvt.u16.u32 %rs1, %r3;
    mov.v4.u16 four, {%rs1, 7, 8, 9};
    mov.v4.u16 four, {four.w, four.x, four.y, four.z};
    mov.b64 whole, four;
    cvt.u64.u32 %rd6, %r4;
    shl.b64 %rd6, %rd6, 48;
    xor.b64 whole, whole, %rd6;
    st.global.u64 [%out], whole;`,
    {
      threads: 64,
      declarations: `
.func (.reg .v2 .b32 r) turned(.reg .v2 .b32 p) {
  mov.b32 r.x, p.y;
  mov.b32 r.y, p.x;
  ret;
}`,
    },
  );
  // What was turned is turned again: the thread’s number is the first of two, and then the second of four.
  assert.deepEqual(
    found,
    Array.from({ length: 64 }, (_, i) => (8n << 48n) | (7n << 32n) | (BigInt(i) << 16n) | 9n).map(
      (word, i) => word ^ (BigInt(i + 5) << 48n),
    ),
  );
});

test('variables in functions are there once for all threads, each for its function alone', async () => {
  const found = await outcomesOf(
    `
    .global .u32 table[2] = {100, 200};
    call (%r3), one, (%gid);
    and.b32 %r4, %gid, 1;
    mul.wide.u32 %rd5, %r4, 4;
    mov.u64 %rd6, table;
    add.u64 %rd6, %rd6, %rd5;
    ld.global.u32 %r4, [%rd6];
    add.u32 %r3, %r3, %r4;
    st.global.u32 [%out], %r3;`,
    {
      threads: 64,
      declarations: `
.func (.param .b32 r) two(.param .b32 n) {
  .reg .b32 %x;
  ld.param.b32 %x, [n];
  shl.b32 %x, %x, 1;
  st.param.b32 [r], %x;
  ret;
}
.func (.param .b32 r) one(.param .b32 n) {
  .reg .b32 %x;
  .reg .b64 %f;
  .const .u64 table[1] = {two};
  ld.param.b32 %x, [n];
  ld.const.u64 %f, [table];
  p: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (%x), %f, (%x), p;
  st.param.b32 [r], %x;
  ret;
}`,
    },
  );
  assert.deepEqual(
    found,
    lanes(64, (i) => 2 * i + 100 + 100 * (i & 1)),
  );
});

test('variables of functions are aligned as they say, however long the frames before them are', async () => {
  const found = await outcomesOf(
    `
    .local .align 4 .b8 own[20];
    .local .align 64 .b8 wide[64];
    st.local.u32 [own], %gid;
    mov.u64 %rd5, wide;
    cvta.local.u64 %rd5, %rd5;
    cvt.u32.u64 %r3, %rd5;
    and.b32 %r3, %r3, 63;
    call (%r4), place, (%gid);
    add.u32 %r4, %r4, %r3;
    st.global.u32 [%out], %r4;`,
    {
      threads: 64,
      declarations: `
.func (.param .b32 r) place(.param .b32 n) {
  .reg .b32 %x<4>;
  .reg .b64 %y;
  .reg .pred %q;
  .local .align 1 .b8 one[3];
  .local .align 128 .b8 some[16];
  ld.param.b32 %x1, [n];
  mov.u64 %y, some;
  cvt.u32.u64 %x2, %y;
  and.b32 %x2, %x2, 127;
  and.b32 %x1, %x1, 3;
  setp.eq.u32 %q, %x1, 0;
  @%q bra end;
  sub.u32 %x1, %x1, 1;
  call (%x3), place, (%x1);
  add.u32 %x2, %x2, %x3;
end:
  st.param.b32 [r], %x2;
  ret;
}`,
    },
  );
  assert.deepEqual(
    found,
    lanes(64, () => 0),
  );
});

/** Runs a kernel of several texts, of which the first has it, on all executors. */
async function linked(...texts: string[]): Promise<number[]> {
  const request = {
    texts: texts.map((text, i) => ({ text, name: `${'abc'[i]}.ptx` })),
    ...{ grid: [4], workgroup: [4], args: [output(32), output(32), u32(4)] },
  };
  let first: number[] | undefined;
  for (const [name, options] of Object.entries(WAYS)) {
    const { outputs } = await runOn(options, request);
    const found = [...new BigUint64Array(outputs[0]!.bytes.slice().buffer)].map(Number);
    first ??= found;
    assert.deepEqual(found, first, name);
  }
  return first!;
}

const HEAD = '.version 7.8\n.target sm_70\n.address_size 64\n';

test('functions and variables of several texts are linked by their names', async () => {
  const main = kernelText(
    `
    call (%r3), own, (%gid);
    call (%r4), other, (%r3);
    ld.global.u32 %r5, [common];
    mov.u64 %rd5, other;
    call (%r6), %rd5, (1), p;
    p: .callprototype (.param .b32 _) _ (.param .b32 _);
    mad.lo.u32 %r4, %r5, 1000, %r4;
    mad.lo.u32 %r4, %r6, 100000, %r4;
    st.global.u32 [%out], %r4;`,
    `.extern .func (.param .b32 r) other(.param .b32 a);
.common .global .align 4 .b8 common[4];
.func (.param .b32 r) own(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 1; st.param.b32 [r], %x; ret; }
.weak .func (.param .b32 r) both(.param .b32 a) { st.param.b32 [r], 1; ret; }`,
  );
  const other = `${HEAD}
.common .global .align 4 .b8 common[16];
.func (.param .b32 r) own(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 10; st.param.b32 [r], %x; ret; }
.weak .func (.param .b32 r) both(.param .b32 a) { st.param.b32 [r], 2; ret; }
.visible .func (.param .b32 r) other(.param .b32 a) {
  .reg .b32 %x<4>;
  ld.param.b32 %x1, [a];
  call (%x2), own, (%x1);
  call (%x3), both, (%x1);
  st.global.b32 [common], 4;
  mad.lo.u32 %x2, %x3, 20, %x2;
  st.param.b32 [r], %x2;
  ret;
}`;
  const strong = `${HEAD}
.visible .func (.param .b32 r) both(.param .b32 a) { st.param.b32 [r], 3; ret; }
.alias third, both;
`;
  const weak = await linked(main, other);
  assert.deepEqual(
    weak,
    [0, 1, 2, 3].map((i) => 31 * 100_000 + 4000 + i + 1 + 10 + 20),
  );
  const found = await linked(main, other, strong);
  assert.deepEqual(
    found,
    [0, 1, 2, 3].map((i) => 71 * 100_000 + 4000 + i + 1 + 10 + 60),
  );
  await assert.rejects(linked(main, other, other), /^WavewrightError: .*'other' is defined twice/);
  await assert.rejects(linked(main), /nothing defines 'other'/);
  await assert.rejects(linked(kernelText('  call missing;')), /'missing' is no function/);
});

/** Instructions of a kernel whose lanes call a function from two places, which does some things. */
async function instructionsOf(way: string, ...things: readonly string[]): Promise<number> {
  const call = 'call parts, (p);';
  const body = `  setp.lt.u32 %p1, %gid, 7;
  .param .b32 p;
  st.param.b32 [p], %gid;
  @%p1 bra few;
  ${call}
  bra done;
few:
  ${call}
done:`;
  const declarations = `.func nothing() { ret; }
.func parts(.param .b32 lane) {
  .reg .b32 %lane;
  .reg .pred %p;
  ${things.join('\n')}
  ret;
}`;
  const { statistics } = await runOn(WAYS[way]!, {
    ...{ texts: [{ text: kernelText(body, declarations), name: 'k.ptx' }], grid: [64], workgroup: [32] },
    args: [output(512), output(512), u32(64)],
  });
  return statistics.instructions;
}

test('lanes that waited for others or were in a function part and join at no more cost', async () => {
  const part = `ld.param.b32 %lane, [lane]; and.b32 %lane, %lane, 1; setp.eq.u32 %p, %lane, 0; @%p bra even;
    add.u32 %lane, %lane, 1;\neven:`;
  const alone = await instructionsOf('T0', part);
  for (const before of ['bar.sync 0;', 'call nothing;']) {
    const without = await instructionsOf('T0', before);
    assert.equal((await instructionsOf('T0', before, part)) - without, alone - (await instructionsOf('T0')), before);
  }
});

test('executors count the same instructions where lanes part and call', async () => {
  const ways = Object.keys(WAYS);
  const counts = await Promise.all(ways.map((way) => instructionsOf(way, 'call nothing;')));
  assert.equal(new Set(counts).size, 1, counts.join(', '));
});

test('predicates are parameters and results in registers', async () => {
  const found = await outcomesOf(
    `setp.gt.u32 %p1, %gid, 9;
    call (%p2, %p3), choose, (%p1, %gid);
    selp.u32 %r3, 10, 0, %p2;
    @%p3 add.u32 %r3, %r3, 1;
    @!%p1 add.u32 %r3, %r3, 100;
    st.global.u32 [%out], %r3;`,
    {
      threads: 32,
      declarations: `.func (.reg .pred r, .reg .pred q) choose(.reg .pred p, .reg .u32 x)
{
  .reg .u32 %y;
  and.b32 %y, x, 1;
  setp.ne.u32 q, %y, 0;
  @p setp.lt.u32 r, x, 20;
  @!p setp.eq.u32 r, x, 5;
  ret;
}`,
    },
  );
  assert.deepEqual(
    found,
    lanes(32, (i) => ((i > 9 ? i < 20 : i === 5) ? 10 : 0) + (i & 1) + (i > 9 ? 0 : 100)),
  );
});
