import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
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

/** All that steps say of themselves, but for what they do. */
const facts = (step: Step) => {
  const { offset, sizeBytes, operands, illegal, control, target, key, classIndex } = step;
  return { offset, sizeBytes, operands, illegal, control, target, key, classIndex, text: step.text() };
};

test('what one reader decoded another one takes over', () => {
  for (const [processor, texts] of Object.entries({
    gfx90a: [
      ...['s_mov_b64 exec, -1', 's_mov_b64 s[4:5], src_private_limit', 's_mov_b32 s1, 0x12345678', 's_branch 5'],
      ...['s_cbranch_scc1 -3', 's_call_b64 s[30:31], 7', 's_setpc_b64 s[30:31]', 's_endpgm', 's_mov_b32 s101, s3'],
      ...['v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf', 's_movrels_b64 s[2:3], s[4:5]'],
      ...['v_fma_f32 v255, |v1|, -v2, 0.5', 'v_accvgpr_read_b32 v3, a7', 'global_load_dword v1, v[2:3], off offset:4'],
      ...[
        's_mov_b64 s[100:101], s[2:3]',
        'v_mad_u64_u32 v[2:3], vcc, s1, v5, v[6:7]',
        'v_add_f64 v[254:255], v[2:3], 1.0',
      ],
    ],
    gfx1100: ['v_add_f16_e32 v1.h, v2.h, v3.h', 's_mov_b32 null, s1', 'v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v2'],
  })) {
    const waveSize = targetFor(processor).waveSizes[0]!;
    const words = texts.flatMap((text) => assembleInstruction(text, { target: targetFor(processor), waveSize }).words);
    const code = new DataView(bytesOf(words).buffer);
    const steps = (reader: AmdgpuStepReader): ReturnType<typeof facts>[] => {
      const found = [];
      for (let offset = 0; offset < code.byteLength; ) {
        const step = reader.step(code, offset);
        if (typeof step === 'string') break;
        found.push(facts(step));
        offset += step.sizeBytes;
      }
      return found;
    };
    const reader = new AmdgpuStepReader(processor, waveSize, MODE);
    assert.deepEqual(reader.takeDecoded(), []);
    const expected = steps(reader);
    assert.ok(expected.length >= texts.length);
    const other = new AmdgpuStepReader(processor, waveSize, MODE);
    other.takeDecoded();
    other.recall(JSON.parse(JSON.stringify(reader.takeDecoded())));
    assert.deepEqual(steps(other), expected);
    assert.deepEqual(other.takeDecoded(), [], 'nothing was decoded');
  }
});

test('so it is of any words', () => {
  const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  let illegal = 0;
  for (const processor of ['gfx90a', 'gfx942', 'gfx1100', 'gfx1200']) {
    const waveSize = targetFor(processor).waveSizes[0]!;
    const [reader, other] = [0, 1].map(() => new AmdgpuStepReader(processor, waveSize, MODE));
    reader!.takeDecoded();
    fc.assert(
      fc.property(word, word, word, (...words) => {
        const code = new DataView(bytesOf(words).buffer);
        const step = reader!.step(code, 0);
        if (typeof step === 'string') return;
        other!.recall(JSON.parse(JSON.stringify(reader!.takeDecoded())));
        const recalled = other!.step(code, 0);
        assert.ok(typeof recalled !== 'string');
        assert.deepEqual(facts(recalled), facts(step));
        illegal += Number(step.illegal !== undefined);
      }),
      { numRuns: 3000, examples: [[0x7f68a231, 0, 0]] },
    );
  }
  assert.ok(illegal > 0, 'registers that do not exist are among them');
});
