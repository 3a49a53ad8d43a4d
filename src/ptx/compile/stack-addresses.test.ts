/** Accesses through registers that are known to point to the stack. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepsOf } from './compiled-code.test-support.ts';

/** Loads and stores of a kernel with 16 bytes on its stack: `%rd1` is their generic address. */
function accessesOf(body: string): string[] {
  const text = `.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 out)
{
  .local .align 8 .b8 depot[16];
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  mov.u64 %rd0, depot;
  cvta.local.u64 %rd1, %rd0;
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 3;
${body}
  ret;
}
`;
  const accesses = stepsOf(text).map((step) => step.text());
  return accesses
    .filter((line) => /\b(ld|st)\./.test(line))
    .map((line) => line.replaceAll(/(?<!\.)\bv(?!4\b)[\d[\]:v]*/g, 'v'));
}

test('accesses through generic addresses of the stack are accesses of local memory', () => {
  const found = accessesOf(`
  add.s64 %rd2, %rd1, 8;
  add.s64 %rd3, %rd2, -4;
  mov.u64 %rd4, %rd3;
  st.u32 [%rd1+12], %r0;
  @%p0 st.v2.u32 [%rd2], {%r0, %r0};
  ld.volatile.u8 %r1, [%rd4+1];
  ld.relaxed.sys.u64 %rd5, [%rd1];`);
  assert.deepEqual(found, [
    'st.local.u32 v4, 12, v',
    '@v st.local.v2.u32 v4, 8, v, v',
    'ld.volatile.local.u8 v, v4, 5',
    'ld.relaxed.sys.local.u64 v, v4, 0',
  ]);
});

test('accesses of local memory name their place in the frame', () => {
  const found = accessesOf('cvta.to.local.u64 %rd2, %rd1; ld.local.u32 %r1, [%rd2+4]; st.local.u32 [%rd0], %r1;');
  assert.deepEqual(found, ['ld.local.u32 v, v4, 4', 'st.local.u32 v4, 0, v']);
});

test('what may point elsewhere keeps its generic address', () => {
  const found = accessesOf(`
  mov.u64 %rd2, %rd1;
  @%p0 ld.param.u64 %rd2, [out];
  @%p0 mov.u64 %rd3, %rd1;
  add.u64 %rd4, %rd1, %rd1;
  cvta.local.u64 %rd5, %rd1;
  st.u32 [%rd2], %r0;
  st.u32 [%rd3], %r0;
  st.u32 [%rd4], %r0;
  st.u32 [%rd5], %r0;
  st.local.u32 [%rd1], %r0;`);
  assert.deepEqual(found.slice(1), [...Array.from({ length: 4 }, () => 'st.u32 v, 0, v'), 'st.local.u32 v, 0, v']);
});
