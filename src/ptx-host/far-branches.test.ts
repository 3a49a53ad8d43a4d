/** Branches past many places where lanes could wait: all lanes at once, some of them, none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kernelText, numbers, outcomesOf, output, runOn, u32 } from './ptx-runs.test-support.ts';

const JOINS = 40;
const bitOf = (k: number): number => 1 << (k % 5);

/** Threads below `%r9` skip all additions, the others those of the bits of their number; twice. */
const SKIPS = `
  mov.u32 %r10, 0;
  mov.u32 %r12, 0;
again:
  setp.lt.u32 %p1, %r2, %r9;
  @%p1 bra far;
${Array.from(
  { length: JOINS },
  (_, k) => `
  and.b32 %r11, %r2, ${bitOf(k)};
  setp.ne.u32 %p2, %r11, 0;
  @%p2 bra L${k};
  add.u32 %r10, %r10, ${k + 1};
L${k}:`,
).join('')}
  setp.gt.u32 %p3, %r10, 100;
  @%p3 bra last;
  add.u32 %r10, %r10, 1000;
far:
  add.u32 %r10, %r10, 7;
last:
  add.u32 %r12, %r12, 1;
  setp.lt.u32 %p4, %r12, 2;
  @%p4 bra again;`;

const STORE = '\n  cvt.u64.u32 %rd2, %r10;\n  st.global.u64 [%out], %rd2;';
const KERNEL = `  ld.param.u32 %r9, [n];${SKIPS}${STORE}`;
const CALLED = `
  ld.param.u32 %r9, [n];
  { .param .b32 r; .param .b32 t; .param .b32 m;
    st.param.b32 [t], %r2; st.param.b32 [m], %r9;
    call (r), skips, (t, m);
    ld.param.b32 %r10, [r]; }${STORE}`;
const FUNCTION = `
.func (.param .b32 r) skips(.param .b32 t, .param .b32 m)
{
  .reg .pred %p<5>;
  .reg .b32 %r<13>;
  ld.param.b32 %r2, [t];
  ld.param.b32 %r9, [m];
${SKIPS}
  st.param.b32 [r], %r10;
  ret;
}`;

function expected(thread: number, limit: number): number {
  let sum = 0;
  for (let round = 0; round < 2; round++) {
    if (thread >= limit) {
      for (let k = 0; k < JOINS; k++) sum += (thread & bitOf(k)) === 0 ? k + 1 : 0;
      if (sum > 100) continue;
      sum += 1000;
    }
    sum += 7;
  }
  return sum;
}

for (const [where, body, declarations] of [
  ['a kernel', KERNEL, ''],
  ['a function', CALLED, FUNCTION],
] as const) {
  test(`in ${where} all lanes, some or none go past many joins, with the same results`, async () => {
    for (const n of [0, 16, 31, 64]) {
      assert.deepEqual(
        await outcomesOf(body, { declarations, n, threads: 64, block: 32 }),
        numbers(64, (i) => expected(i % 32, n)),
        `${n}`,
      );
    }
  });

  test(`in ${where} lanes that are all there do not look at the joins that they go past`, async () => {
    const text = kernelText(body, declarations);
    const { statistics } = await runOn(
      { executor: 'handlers' },
      { texts: [{ text, name: 'k.ptx' }], grid: [32], workgroup: [32], args: [output(256), output(256), u32(32)] },
    );
    assert.ok(statistics.instructions < 2 * JOINS, `${statistics.instructions} instructions`);
  });
}
