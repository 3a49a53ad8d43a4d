/** What threads of a warp do together that come one after the other, on all executors and with workers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_WAYS, numbers, outcomesOf } from './ptx-runs.test-support.ts';

test('bar.warp.sync of one group of lanes at two places, and shuffles that late lanes come to', async () => {
  const found = await outcomesOf(
    `
  and.b32 %r3, %gid, 31;
  shl.b32 %r4, %r3, 2;
  xor.b32 %r5, %r4, 64;
  setp.lt.u32 %p1, %r3, 16;
  @%p1 bra first;
  st.shared.u32 [tile+%r4], %r3;
  bar.warp.sync 0xffffffff;
  ld.shared.u32 %r6, [tile+%r5];
  bra done;
first:
  add.u32 %r7, %r3, 200;
  st.shared.u32 [tile+%r4], %r7;
  bar.warp.sync 0xffffffff;
  ld.shared.u32 %r6, [tile+%r5];
  add.u32 %r6, %r6, 1000;
  setp.eq.u32 %p2, %r3, 3;
  @%p2 exit;
done:
  activemask.b32 %r8;
  shfl.sync.bfly.b32 %r9, %r6, 1, 31, 0xffffffff;
  mad.lo.u32 %r10, %r9, 10000, %r6;
  cvt.u64.u32 %rd5, %r10;
  st.global.u64 [%out], %rd5;`
      .replaceAll('[tile+%r4]', '[%r4]')
      .replaceAll('[tile+%r5]', '[%r5]'),
    { declarations: '.shared .align 4 .b8 tile[128];', threads: 32, ways: ALL_WAYS },
  );
  const own = (lane: number): number => (lane < 16 ? 1000 + lane + 16 : 200 + lane - 16);
  assert.deepEqual(
    found,
    numbers(32, (lane) => (lane === 3 ? 0 : own(lane === 2 ? 3 : lane ^ 1) * 10_000 + own(lane))),
  );
});

test('a barrier in a function that lanes call from two places: the wave comes to it once', async () => {
  const found = await outcomesOf(
    `
  and.b32 %r3, %gid, 1;
  shl.b32 %r4, %gid, 2;
  xor.b32 %r5, %r4, 4;
  add.u32 %r6, %gid, 1000;
  st.shared.u32 [%r4], %r6;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra even;
  call.uni meet;
  ld.shared.u32 %r7, [%r5];
  bra done;
even:
  call.uni meet;
  ld.shared.u32 %r7, [%r5];
  add.u32 %r7, %r7, 10000;
done:
  cvt.u64.u32 %rd5, %r7;
  st.global.u64 [%out], %rd5;`,
    {
      declarations: '.shared .align 4 .b8 tile[256];\n.func meet() { bar.sync 0; ret; }',
      threads: 64,
      ways: ALL_WAYS,
    },
  );
  assert.deepEqual(
    found,
    numbers(64, (thread) => (thread ^ 1) + (thread % 2 === 0 ? 11_000 : 1000)),
  );
});

test('threads meet at shuffles, votes and barriers of a function that they call from different places', async () => {
  // At each of its depths the function adds what another lane has, and how many have much; in several rounds,
  // so that turns end anywhere.
  const found = await outcomesOf(
    `
  and.b32 %r3, %gid, 31;
  setp.lt.u32 %p1, %r3, 20;
  setp.lt.u32 %p2, %r3, 9;
  mov.u32 %r4, %r3;
  mov.u32 %r5, 0;
  ld.volatile.global.u32 %r6, [%in];
again:
  @%p1 bra some;
  { .param .b32 p; .param .b32 n; .param .b32 q; st.param.b32 [p], %r4; st.param.b32 [n], 3;
    call (q), sums, (p, n); ld.param.b32 %r4, [q]; }
  add.u32 %r4, %r4, 10000;
  bra done;
some:
  @%p2 bra few;
  { .param .b32 p; .param .b32 n; .param .b32 q; st.param.b32 [p], %r4; st.param.b32 [n], 3;
    call (q), sums, (p, n); ld.param.b32 %r4, [q]; }
  add.u32 %r4, %r4, 20000;
  bra done;
few:
  { .param .b32 p; .param .b32 n; .param .b32 q; st.param.b32 [p], %r4; st.param.b32 [n], 3;
    call (q), sums, (p, n); ld.param.b32 %r4, [q]; }
done:
  and.b32 %r4, %r4, 0xffff;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p3, %r5, 20;
  @%p3 bra again;
  cvt.u64.u32 %rd5, %r4;
  st.global.u64 [%out], %rd5;`,
    {
      declarations: `
.func (.param .b32 sum) sums(.param .b32 value, .param .b32 depth)
{
  .reg .b32 %v, %n, %w, %all;
  .reg .pred %p, %q;
  ld.param.b32 %v, [value];
  ld.param.b32 %n, [depth];
  setp.eq.u32 %p, %n, 0;
  @%p bra last;
  sub.u32 %n, %n, 1;
  { .param .b32 p; .param .b32 d; .param .b32 q; st.param.b32 [p], %v; st.param.b32 [d], %n;
    call (q), sums, (p, d); ld.param.b32 %v, [q]; }
last:
  shfl.sync.bfly.b32 %w, %v, 16, 31, 0xffffffff;
  add.u32 %v, %v, %w;
  bar.sync 0;
  setp.ge.u32 %q, %v, 30000;
  vote.sync.ballot.b32 %all, %q, 0xffffffff;
  popc.b32 %all, %all;
  add.u32 %v, %v, %all;
  st.param.b32 [sum], %v;
  ret;
}`,
      threads: 64,
      ways: ALL_WAYS,
    },
  );
  let values = Array.from({ length: 32 }, (_, lane) => lane);
  for (let round = 0; round < 20; round++) {
    for (let depth = 0; depth <= 3; depth++) {
      values = values.map((value, lane) => value + values[lane ^ 16]!);
      const many = values.filter((value) => value >= 30_000).length;
      values = values.map((value) => value + many);
    }
    values = values.map((value, lane) => (value + (lane >= 20 ? 10_000 : lane >= 9 ? 20_000 : 0)) & 0xffff);
  }
  assert.deepEqual(
    found,
    numbers(64, (thread) => values[thread & 31]!),
  );
});

test('barriers that are not aligned: threads of a warp come to different ones, and to a function', async () => {
  const found = await outcomesOf(
    `
  and.b32 %r3, %gid, 3;
  shl.b32 %r4, %gid, 2;
  xor.b32 %r5, %r4, 12;
  add.u32 %r6, %gid, 1000;
  st.shared.u32 [%r4], %r6;
  setp.eq.u32 %p1, %r3, 0;
  setp.eq.u32 %p2, %r3, 1;
  setp.eq.u32 %p3, %r3, 2;
  @%p1 bra first;
  @%p2 bra second;
  @%p3 bra third;
  barrier.sync 0;
  ld.shared.u32 %r7, [%r5];
  bra done;
first:
  barrier.sync 0;
  ld.shared.u32 %r7, [%r5];
  add.u32 %r7, %r7, 10000;
  bra done;
second:
  call.uni meet;
  ld.shared.u32 %r7, [%r5];
  add.u32 %r7, %r7, 20000;
  bra done;
third:
  call.uni meet;
  ld.shared.u32 %r7, [%r5];
  add.u32 %r7, %r7, 30000;
done:
  barrier.sync 0;
  st.shared.u32 [%r4], %r7;
  barrier.sync 0;
  ld.shared.u32 %r8, [%r5];
  mad.lo.u32 %r7, %r8, 100000, %r7;
  cvt.u64.u32 %rd5, %r7;
  st.global.u64 [%out], %rd5;`,
    {
      declarations: '.shared .align 4 .b8 tile[256];\n.func meet() { barrier.cta.sync 0; ret; }',
      threads: 64,
      ways: ALL_WAYS,
    },
  );
  const read = (thread: number): number => (thread ^ 3) + 1000 + [10_000, 20_000, 30_000, 0][thread & 3]!;
  assert.deepEqual(
    found,
    numbers(64, (thread) => (Math.imul(read(thread ^ 3), 100_000) + read(thread)) >>> 0),
  );
});

test('threads that come to a vote in different rounds of a loop, whose number is their own', async () => {
  // Odd lanes leave the first vote out: they come to each one a round later.
  const found = await outcomesOf(
    `
  and.b32 %r3, %gid, 1;
  mov.u32 %r4, 0;
  mov.u32 %r5, 0;
again:
  setp.eq.u32 %p1, %r4, 0;
  setp.eq.u32 %p2, %r3, 1;
  and.pred %p3, %p1, %p2;
  @%p3 bra next;
  setp.eq.u32 %p4, %r4, 1;
  vote.sync.ballot.b32 %r6, %p4, 0xffffffff;
  mad.lo.u32 %r5, %r5, 4, %r4;
  popc.b32 %r7, %r6;
  shl.b32 %r7, %r7, 16;
  add.u32 %r5, %r5, %r7;
next:
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p5, %r4, 4;
  @%p5 bra again;
  cvt.u64.u32 %rd5, %r5;
  st.global.u64 [%out], %rd5;`,
    { threads: 32, ways: ALL_WAYS },
  );
  // In the first vote odd lanes are in their round 1, in the second one even ones are.
  const sum = (rounds: readonly number[]): number => {
    let all = 0;
    rounds.forEach((round, vote) => {
      all = all * 4 + round + ((vote < 2 ? 16 : 0) << 16);
    });
    return all;
  };
  assert.deepEqual(
    found,
    numbers(32, (lane) => sum(lane % 2 === 0 ? [0, 1, 2, 3] : [1, 2, 3])),
  );
});

test('lanes are together behind a join in a function, though some called another one or waited on the way', async () => {
  // Behind the first shuffle lanes go on by calls; in each of the two some call a function before they join.
  const found = await outcomesOf(
    `
  and.b32 %r3, %gid, 31;
  setp.lt.u32 %p1, %r3, 20;
  @%p1 bra some;
  { .param .b32 p; .param .b32 q; st.param.b32 [p], %r3; call (q), parts, (p); ld.param.b32 %r4, [q]; }
  bra done;
some:
  { .param .b32 p; .param .b32 q; st.param.b32 [p], %r3; call (q), parts, (p); ld.param.b32 %r4, [q]; }
done:
  cvt.u64.u32 %rd5, %r4;
  st.global.u64 [%out], %rd5;`,
    {
      declarations: `
.func nothing() { ret; }
.func (.param .b32 r) parts(.param .b32 lane)
{
  .reg .b32 %lane, %bit, %lanes, %more;
  .reg .pred %p;
  ld.param.b32 %lane, [lane];
  bar.sync 0;
  and.b32 %bit, %lane, 1;
  setp.eq.u32 %p, %bit, 0;
  @%p bra even;
  add.u32 %bit, %bit, 1;
even:
  activemask.b32 %lanes;
  popc.b32 %lanes, %lanes;
  @%p bra past;
  call nothing;
past:
  activemask.b32 %more;
  popc.b32 %more, %more;
  mad.lo.u32 %lanes, %lanes, 100, %more;
  st.param.b32 [r], %lanes;
  ret;
}`,
      threads: 32,
      ways: ALL_WAYS,
    },
  );
  assert.deepEqual(
    found,
    numbers(32, (lane) => (lane < 20 ? 2020 : 1212)),
  );
});
