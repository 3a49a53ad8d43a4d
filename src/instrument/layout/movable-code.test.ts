/** Which code may stand elsewhere: what depends on code that may not stays with it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import { findMovableCode } from './movable-code.ts';

const PROCESSOR = 'gfx90a';
const context = { target: targetFor(PROCESSOR), waveSize: 64 } as const;
/** A dword that is no instruction. */
const NONE = 0xffff_ffff;

/** Of code at 0, an instruction or a dword each: the entries that move, and why the others stay. */
function found(code: readonly (string | number)[], entries: readonly number[], comesBack = true) {
  const dwords = code.flatMap((each) => (typeof each === 'number' ? each : assembleInstruction(each, context).words));
  const view = new DataView(Uint32Array.from(dwords).buffer);
  const reader = new AmdgpuStepReader(PROCESSOR, 64, 0);
  const moved = findMovableCode({
    read: (address) => reader.step(view, address),
    isCode: (address) => address >= 0 && address < view.byteLength,
    isFiller: (address) => view.getUint32(address, true) === 0,
    comesBack: () => comesBack,
    obstacle: (step) => (step.text().startsWith('s_sleep') ? 'sleeps' : undefined),
    entries,
  });
  return {
    moves: [...moved.entries],
    stays: [...moved.kept].map(([entry, { address, reason }]) => `${entry}: ${address} ${reason}`),
    blocks: moved.blocks.map(({ instructions }) => instructions[0]!.offset),
  };
}

test('an obstacle keeps all that branches to it, and no other code', () => {
  const code = ['s_cbranch_scc0 1', 's_endpgm', 's_sleep 1', 's_endpgm', 's_nop 0', 's_endpgm'];
  assert.deepEqual(found(code, [0, 16]), { moves: [16], stays: ['0: 8 sleeps'], blocks: [16] });
});

test('an obstacle in a function keeps who calls it by a displacement', () => {
  const code = ['s_call_b64 s[30:31], 1', 's_endpgm', 's_sleep 1', 's_setpc_b64 s[30:31]'];
  assert.deepEqual(found(code, [0, 8]), { moves: [], stays: ['0: 8 sleeps', '8: 8 sleeps'], blocks: [] });
});

test('a branch that leads to no code stays', () => {
  assert.deepEqual(found(['s_cbranch_scc0 100', 's_endpgm'], [0]).stays, [
    '0: 0 leads to 0x194, which is no known code',
  ]);
});

test('code that runs on into what is no instruction stays, but for what linkers fill with and its end', () => {
  assert.match(found(['s_nop 0', NONE], [0]).stays.join(), /^0: 4 /);
  assert.deepEqual(found(['s_nop 0', 0], [0]).moves, [0]);
  assert.deepEqual(found(['s_nop 0'], [0]).moves, [0]);
});

test('what stands behind a call that does not come back keeps nothing', () => {
  const code = ['s_call_b64 s[30:31], 2', 's_sleep 1', 's_endpgm', 's_endpgm'];
  assert.deepEqual(found(code, [0, 12]), { moves: [], stays: ['0: 4 sleeps', '12: 4 sleeps'], blocks: [] });
  assert.deepEqual(found(code, [0, 12], false), { moves: [0, 12], stays: [], blocks: [0, 12] });
});
