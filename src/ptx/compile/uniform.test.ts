/** Which registers of kernels are scalars, and what that makes of branches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepsOf } from './compiled-code.test-support.ts';

/** Instructions of a kernel `k(.u64 out, .u32 n)`, with the files of their operands: `add.s32 s v`. */
function codeOf(body: string): string[] {
  const text = `.version 7.8
.target sm_70
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .reg .pred %p<9>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %tid.x;
${body}
}
`;
  return stepsOf(text).map((step) => {
    const files = step.operands.map((each) => (each.kind === 'register' ? each.file[0] : 'c'));
    return [step.text().split(' ')[0], ...files].join(' ');
  });
}

const COUNTED = `
  mov.u32 %r2, 0;
loop:
  add.u32 %r1, %r1, %r2;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, %r0;
  @%p0 bra loop;
  bra.uni end;
end:
`;
const STORE = '  ld.param.u64 %rd0, [out];\n  st.global.u32 [%rd0], %r1;\n  ret;';

test('a loop that a parameter bounds moves the whole wave', () => {
  const code = codeOf(`${COUNTED}${STORE}`);
  assert.deepEqual(code.slice(4, 8), ['add.u32 v v s', 'add.u32 s s c', 'setp.lt.u32 s c s s', 'wave_when s']);
  assert.ok(!code.some((line) => /wave_(join|split|loop)/.test(line)), code.join('\n'));
});

test('the way out of a loop and the way back, each a branch, become one', () => {
  const code = codeOf(
    `${COUNTED.replace('@%p0 bra loop;\n  bra.uni end;', '@!%p0 bra end;\n  bra.uni loop;')}${STORE}`,
  );
  const ways = code.filter((line) => line.startsWith('wave_') && !/begin|end/.test(line));
  assert.deepEqual(ways, ['wave_when s']);
});

test('empty blocks that lead to each other are compiled as they are', () => {
  const code = codeOf(`  bra one;\ntwo:\n  bra one;\none:\n  bra two;`);
  assert.ok(code.includes('wave_goto'), code.join('\n'));
});

test('a counter of a loop that lanes leave one by one is their own', () => {
  const code = codeOf(`
  mov.u32 %r2, 0;
loop:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, %r1;
  @%p0 bra loop;
  mov.u32 %r1, %r2;
${STORE}`);
  assert.ok(code.includes('add.u32 v v c') && code.some((line) => line.startsWith('wave_loop')), code.join('\n'));
});

test('lanes that end at once leave the others together', () => {
  const early = 'setp.ge.u32 %p1, %r1, %r0;\n@%p1 bra over;';
  const code = codeOf(`${early}${COUNTED}${STORE.replace('ret;', '\nover:\nret;')}`);
  assert.ok(code.includes('add.u32 s s c') && code.some((line) => line.startsWith('wave_when')), code.join('\n'));
});

test('where some lanes alone write, the register is no scalar', () => {
  const some = 'setp.ge.u32 %p1, %r1, %r0;\n@%p1 bra over;\nmov.u32 %r3, 7;\nover:\nadd.u32 %r1, %r1, %r3;';
  assert.ok(codeOf(`${some}\n${STORE}`).includes('add.u32 v v v'));
});

test('lanes that take turns have no scalars', () => {
  const wait = 'again:\nld.volatile.global.u32 %r4, [%rd3];\nsetp.ne.u32 %p1, %r4, %r1;\n@%p1 bra again;';
  const code = codeOf(`  ld.param.u64 %rd3, [out];\n${wait}${COUNTED}${STORE}`);
  assert.ok(!code.some((line) => line.includes('wave_when')), code.join('\n'));
});

test('what takes no scalars gets copies', () => {
  const code = codeOf(`  shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;\n${STORE}`);
  assert.ok(
    code.some((line) => /^shfl\S* v c v/.test(line)),
    code.join('\n'),
  );
  const own = code.slice(0, code.indexOf('wave_end'));
  assert.equal(own.filter((line) => line === 'mov.b32 v s').length, 1, code.join('\n'));
});

test('what is computed of a register that nothing writes is of lanes, as that register is', () => {
  const code = codeOf('  cvt.u32.u64 %r2, %rd2;\n  add.u32 %r3, %r0, 1;\n  selp.u32 %r4, %r2, %r3, %p5;\n  ret;');
  const [converted, added, chosen] = ['cvt.', 'add.', 'selp.'].map((name) =>
    code.find((line) => line.startsWith(name)),
  );
  assert.match(converted!, / v v$/);
  assert.match(added!, / s s c$/);
  assert.match(chosen!, /^selp\S* v /);
});
