/** Functions with more live registers than there are rows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomesOf } from './ptx-runs.test-support.ts';

const COUNT = 180;
const each = (line: (i: number) => string): string => Array.from({ length: COUNT }, (_, i) => line(i)).join('\n');

test('registers that find no row: narrow, wide, predicates, guarded, over calls, shuffles and branches', async () => {
  const threads = 64;
  const found = await outcomesOf(
    `
  .reg .b32 %a<${COUNT}>;
  .reg .b64 %b<${COUNT}>;
  .reg .pred %q<${COUNT}>;
  .reg .b32 %members;
  ${each((i) => `mad.lo.u32 %a${i}, %gid, ${i}, ${i * i};`)}
  ${each((i) => `mul.wide.u32 %b${i}, %a${i}, 3;`)}
  ${each((i) => `setp.gt.u32 %q${i}, %a${i}, ${i * i + 20 * i};`)}
  mov.u32 %members, 0xffffffff;
  mov.u32 %r10, 0;
again:
  ${each((i) => `@%q${i} add.u32 %a${i}, %a${i}, 1;`)}
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p1, %r10, 2;
  @%p1 bra again;
  { .param .b32 p; .param .b32 q; st.param.b32 [p], %a${COUNT - 1};
    call (q), next, (p); ld.param.b32 %a0, [q]; }
  setp.gt.u32 %p2, %gid, 40;
  @%p2 bra past;
  add.u64 %b7, %b7, 5;
past:
  shfl.sync.bfly.b32 %a1, %a2, 1, 31, %members;
  vote.sync.ballot.b32 %a3, %q5, %members;
  mov.u64 %rd5, 0;
  ${each((i) => `cvt.u64.u32 %rd6, %a${i};\n  xor.b64 %rd5, %rd5, %rd6;\n  mad.lo.u64 %rd5, %rd5, 31, %b${i};`)}
  st.global.u64 [%out], %rd5;`,
    {
      threads,
      declarations: `.func (.param .b32 r) next(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, 9;
  st.param.b32 [r], %x; ret; }`,
    },
  );
  const isOn = (gid: number, i: number): boolean => gid * i > 20 * i;
  const a = (gid: number, i: number): number => gid * i + i * i + (isOn(gid, i) ? 2 : 0);
  const expected = Array.from({ length: threads }, (_, gid) => {
    let sum = 0n;
    for (let i = 0; i < COUNT; i++) {
      const first = gid - (gid % 32);
      let ballot = 0;
      for (let lane = 0; lane < 32; lane++) if (isOn(first + lane, 5)) ballot += 2 ** lane;
      const special = [a(gid, COUNT - 1) + 9, a(gid ^ 1, 2), a(gid, 2), ballot][i];
      const narrow = special ?? a(gid, i);
      const wide = 3 * (gid * i + i * i) + (i === 7 && gid <= 40 ? 5 : 0);
      sum = BigInt.asUintN(64, (sum ^ BigInt(narrow)) * 31n + BigInt(wide));
    }
    return sum;
  });
  assert.deepEqual(found, expected);
});

test('guards and members without rows, and what a shuffle gives, where threads come to it in different rounds', async () => {
  const threads = 32;
  const wide = Array.from({ length: 260 }, (_, i) => i);
  const found = await outcomesOf(
    `
  .reg .b64 %b<260>;
  .reg .b32 %members, %value, %other, %round, %odd, %end;
  .reg .pred %guard;
  ${wide.map((i) => `mul.wide.u32 %b${i}, %gid, ${i};`).join('\n')}
  mov.u32 %members, 0xffffffff;
  mov.u32 %value, %gid;
  mov.u32 %round, 0;
  mov.u32 %other, 0;
  and.b32 %odd, %gid, 1;
  add.u32 %end, %odd, 4;
  setp.gt.u32 %guard, %gid, 20;
again:
  setp.lt.u32 %p1, %round, %odd;
  @%p1 bra next;
  @%guard add.u32 %value, %value, 5;
  shfl.sync.bfly.b32 %other, %value, 1, 31, %members;
  mad.lo.u32 %value, %other, 3, %value;
next:
  add.u32 %round, %round, 1;
  setp.lt.u32 %p2, %round, %end;
  @%p2 bra again;
  mov.u64 %rd5, 0;
  ${wide.map((i) => `add.u64 %rd5, %rd5, %b${i};`).join('\n')}
  @%guard add.u32 %value, %value, %round;
  add.u32 %value, %value, %odd;
  add.u32 %value, %value, %end;
  add.u32 %value, %value, %other;
  add.u32 %value, %value, %members;
  cvt.u64.u32 %rd6, %value;
  add.u64 %rd5, %rd5, %rd6;
  st.global.u64 [%out], %rd5;`,
    { threads },
  );
  const isOn = (lane: number): boolean => lane > 20;
  let values = Array.from({ length: threads }, (_, lane) => lane);
  let others = values;
  for (let round = 0; round < 4; round++) {
    values = values.map((value, lane) => value + (isOn(lane) ? 5 : 0));
    others = values.map((_, lane) => values[lane ^ 1]!);
    values = values.map((value, lane) => value + 3 * others[lane]!);
  }
  const sum = wide.reduce((a, b) => a + b, 0);
  const expected = values.map((value, lane) => {
    const [odd, end] = [lane & 1, 4 + (lane & 1)];
    return BigInt(lane * sum + value + (isOn(lane) ? end : 0) + odd + end + others[lane]! - 1);
  });
  assert.deepEqual(found, expected);
});
