import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Step } from '../../ir/step.ts';
import { bytesOf } from './encoding/encode.ts';
import { targetFor } from './encoding/targets.ts';
import { MODE_GPR_INDEX } from './semantics/gpr-index.ts';
import { AmdgpuStepReader } from './step.ts';
import { assembleInstruction } from './text/assembler/assemble.ts';

const MODE = 0x3f0;

/** The step of one instruction at byte 16 of its code. */
function stepOf(text: string, processor = 'gfx90a', mode = MODE): Step {
  const waveSize = targetFor(processor).waveSizes[0]!;
  const { words } = assembleInstruction(text, { target: targetFor(processor), waveSize });
  const code = new DataView(bytesOf([0, 0, 0, 0, ...words]).buffer);
  const step = new AmdgpuStepReader(processor, waveSize, mode).step(code, 16);
  assert.ok(typeof step !== 'string', text);
  return step;
}

/** Operands as short texts: a register with its number of dwords, or a constant. */
const operandsOf = (step: Step): string =>
  step.operands
    .map((operand) => {
      if (operand.kind === 'laneTable') return `table of ${operand.bytes.length}`;
      if (operand.kind === 'constant') return `0x${operand.value.toString(16)}`;
      const { file, first, dwords, isHighHalf, relative } = operand;
      return `${relative ? `${relative.role} from ` : ''}${file} ${first}:${dwords}${isHighHalf ? ' high' : ''}`;
    })
    .join(', ');

for (const [text, expected, processor] of [
  ['v_add_f64 v[0:1], v[2:3], 1.0', 'vector 0:2, vector 2:2, 0x3ff0000000000000'],
  ['v_accvgpr_read_b32 v3, a7', 'vector 3:1, accumulator 7:1'],
  ['s_mov_b64 exec, -1', 'scalar 126:2, 0xffffffffffffffff'],
  ['s_mov_b64 s[4:5], src_private_limit', 'scalar 4:2, 0x20000ffffffff'],
  ['v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf', 'vector 1:1, vector 2:1, table of 64'],
  ['v_add_f16_e32 v1.h, v2.h, v3.h', 'vector 1:1 high, vector 2:1 high, vector 3:1 high', 'gfx1100'],
  ['s_movrels_b64 s[2:3], s[4:5]', 'scalar 2:2, source from scalar 4:2'],
  ['global_atomic_add v0, v1, s[2:3]', '0x0, vector 0:1, vector 1:1, scalar 2:2, 0x0'],
  ['s_mov_b32 null, s1', '0x0, scalar 1:1', 'gfx1100'],
] as const) {
  test(`operands of ${text}`, () => {
    const step = stepOf(text, processor);
    assert.equal(operandsOf(step), expected);
    assert.equal(step.text(), text);
    assert.equal(step.illegal, undefined);
  });
}

for (const [text, control, target] of [
  ['v_mov_b32 v0, v1', 'next', undefined],
  ['s_branch 3', 'branch', 16 + 4 + 12],
  ['s_cbranch_scc0 65535', 'conditional', 16],
  ['s_call_b64 s[4:5], 1', 'call', 16 + 4 + 4],
  ['s_swappc_b64 s[30:31], s[4:5]', 'call', undefined],
  ['s_setpc_b64 s[30:31]', 'jump', undefined],
  ['s_endpgm', 'end', undefined],
] as const) {
  test(`control of ${text}`, () => {
    const step = stepOf(text);
    assert.deepEqual([step.control, step.target], [control, target]);
  });
}

test('steps that differ in numbers and constants alone have one key', () => {
  const key = (text: string, mode = MODE) => stepOf(text, 'gfx90a', mode).key;
  assert.equal(key('v_add_f32 v0, v1, v2'), key('v_add_f32 v9, v8, v7'));
  assert.equal(key('v_add_f32 v0, 1.0, v2'), key('v_add_f32 v9, 2.0, v7'));
  assert.equal(key('v_accvgpr_read_b32 v3, a7'), key('v_accvgpr_read_b32 v4, a9'));
  assert.notEqual(key('v_add_f32 v0, s1, v2'), key('v_add_f32 v9, v8, v7'));
  assert.notEqual(key('v_add_f32 v0, v1, v2'), key('v_add_f32 v0, v1, v2', 0x3ff));
  assert.notEqual(key('v_add_f32_e64 v0, v1, v2'), key('v_add_f32_e64 v0, v1, v2 clamp'));
});

test('MODE makes the registers of vector instructions relative to M0', () => {
  const step = stepOf('v_mov_b32 v1, v2', 'gfx90a', MODE | MODE_GPR_INDEX);
  assert.equal(operandsOf(step), 'destination from vector 1:1, source from vector 2:1');
  assert.equal(stepOf('s_mov_b32 s1, s2', 'gfx90a', MODE | MODE_GPR_INDEX).operands.length, 2);
});

test('bytes that are no instruction, and registers that do not exist', () => {
  const reader = new AmdgpuStepReader('gfx90a', 64, MODE);
  const code = (...words: number[]) => new DataView(bytesOf(words).buffer);
  assert.equal(reader.step(code(0xffffffff), 0), '0xffffffff is not a gfx90a instruction');
  assert.equal(reader.step(code(0xbf810000), 2), 'misaligned address');
  assert.equal(reader.step(code(0xbf810000), 4), 'the end of code is not a gfx90a instruction');
});
