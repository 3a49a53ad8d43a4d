import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Step } from '../ir/step.ts';
import { bytesOf } from '../isa/amdgpu/encoding/encode.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import { AmdgpuStepReader } from '../isa/amdgpu/step.ts';
import { assembleInstruction } from '../isa/amdgpu/text/assembler/assemble.ts';
import { LaneLiveness } from './lane-liveness.ts';
import { ReachingDefinitions } from './reaching-definitions.ts';
import { REGISTER_PLACES, registerDefinitions, registerLaneEffects, registerNumber, stepBlocks } from './steps.ts';

/** The blocks of lines of one dword each, from the first on. */
function blocksOf(text: string) {
  const context = { target: targetFor('gfx90a'), waveSize: 64 } as const;
  const words = text.split('\n').flatMap((line) => assembleInstruction(line.trim(), context).words);
  const code = new DataView(bytesOf(words).buffer);
  const reader = new AmdgpuStepReader('gfx90a', 64, 0);
  return stepBlocks((offset) => reader.step(code, offset), [0]);
}

const offsets = (steps: Iterable<Step>): number[] => [...steps].map(({ offset }) => offset);

test('branches, calls and ends cut code into blocks; what is not reached is in none', () => {
  const blocks = blocksOf(`s_cbranch_scc0 2
    s_swappc_b64 s[30:31], s[4:5]
    s_branch 0xfffd
    s_setpc_b64 s[30:31]
    s_endpgm`);
  const shown = blocks.map(({ instructions, next, target, leaves }) => [
    offsets(instructions),
    next?.index,
    target?.index,
    leaves,
  ]);
  assert.deepEqual(shown, [
    [[0], 1, 3, false],
    [[4], 2, undefined, true],
    [[8], undefined, 0, false],
    [[12], undefined, undefined, true],
  ]);
});

test('control that runs into no instruction leaves the blocks', () => {
  const [block, ...others] = blocksOf('s_nop 0');
  assert.deepEqual([block?.leaves, others.length], [true, 0]);
});

test('registers are defined in part by vector instructions, all of them by calls', () => {
  const before = (text: string, index: number, register: number) => {
    const blocks = blocksOf(text);
    const steps = blocks.flatMap(({ instructions }) => instructions);
    const definitions = new ReachingDefinitions(blocks, blocks.slice(0, 1), registerDefinitions);
    const { instructions, fromOutside } = definitions.before(steps[index]!, register);
    return [...offsets(instructions), fromOutside];
  };
  const scalar = registerNumber('scalar', 5);
  assert.deepEqual(before('s_mov_b64 s[4:5], 0\ns_mov_b32 s5, 1\ns_mov_b32 s0, s5\ns_endpgm', 2, scalar), [4, false]);
  assert.deepEqual(before('s_mov_b32 s5, 1\ns_swappc_b64 s[30:31], s[6:7]\ns_endpgm', 2, scalar), [4, 0, false]);
  const vector = registerNumber('vector', 5);
  assert.deepEqual(before('v_mov_b32 v5, 1\ns_endpgm', 1, vector), [0, true]);
});

test('a row is dead in active lanes before it is written, and read in others by moves across lanes', () => {
  const live = (text: string, register: number) => {
    const blocks = blocksOf(text);
    const { active, inactive } = new LaneLiveness(blocks, registerLaneEffects, REGISTER_PLACES).before(blocks[0]!);
    const bit = 1n << BigInt(register);
    return [active, inactive].map((set) => (set & bit) !== 0n);
  };
  const v1 = registerNumber('vector', 1);
  assert.deepEqual(live('v_mov_b32 v0, v1\ns_endpgm', v1), [true, false]);
  assert.deepEqual(live('v_mov_b32 v1, 0\nv_mov_b32 v0, v1\ns_endpgm', v1), [false, false]);
  assert.deepEqual(live('v_mov_b32 v1, 0\ns_mov_b64 exec, -1\nv_mov_b32 v0, v1\ns_endpgm', v1), [false, true]);
  assert.deepEqual(live('v_readlane_b32 s0, v1, 3\ns_endpgm', v1), [true, true]);
  assert.deepEqual(live('s_mov_b32 s1, 0\ns_mov_b32 s0, s1\ns_endpgm', registerNumber('scalar', 1)), [false, false]);
  assert.deepEqual(live('s_movrels_b32 s0, s1\ns_endpgm', registerNumber('scalar', 9)), [true, false]);
});
