import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registerOf } from '../flow/steps.ts';
import { blocksOfText } from './blocks.test-support.ts';
import { InFlightAnalysis, type InFlightOptions, type PendingAccess } from './in-flight.ts';

const KERNEL: InFlightOptions = { atEntry: 'nothing', afterCalls: 'unknown' };

const textOf = ({ counter, left, register, access }: PendingAccess): string => {
  const [file, index] = registerOf(register);
  return `${file[0]}${index} ${access === 'read' ? 'read ' : ''}${counter} ${left}`;
};

/** What is in flight before each step whose text begins with `at`. */
function inFlight(source: string, at: string, { processor = 'gfx90a', options = KERNEL } = {}): string[] {
  const blocks = blocksOfText(source, processor);
  const analysis = new InFlightAnalysis(blocks, [blocks[0]!], options);
  return blocks.flatMap((block) =>
    block.instructions.flatMap((step, index) => {
      if (!step.text().startsWith(at)) return [];
      const state = analysis.before(block, index);
      return [...state.pending.map(textOf), ...[...state.unknown].map((counter) => `? ${counter}`)].join(', ');
    }),
  );
}

/** The waits that are missing, with the step that needs them. */
function needed(source: string, processor = 'gfx90a'): string[] {
  const blocks = blocksOfText(source, processor);
  const analysis = new InFlightAnalysis(blocks, [blocks[0]!], KERNEL);
  const found: string[] = [];
  for (const block of blocks) {
    for (const { step, state } of analysis.walk(block, true))
      found.push(...state.neededBefore(step).map((pending) => `${step.text()}: ${textOf(pending)}`));
  }
  return found;
}

const LOAD = 'global_load_dword';

test('a load is in flight until a wait leaves as many as were started behind it', () => {
  const loads = `${LOAD} v0, v[8:9], off\n ${LOAD} v1, v[8:9], off\n ${LOAD} v2, v[8:9], off\n`;
  assert.deepEqual(inFlight(`${loads} s_nop 0`, 's_nop'), ['v0 vmcnt 2, v1 vmcnt 1, v2 vmcnt 0']);
  assert.deepEqual(inFlight(`${loads} s_waitcnt vmcnt(1)\n s_nop 0`, 's_nop'), ['v2 vmcnt 0']);
  assert.deepEqual(needed(`${loads} s_waitcnt vmcnt(1)\n v_add_u32 v3, v1, v2`), [
    'v_add_u32_e32 v3, v1, v2: v2 vmcnt 0',
  ]);
});

test('stores count, and write nothing', () => {
  const code = `${LOAD} v0, v[8:9], off\n global_store_dword v[8:9], v5, off\n`;
  assert.deepEqual(inFlight(`${code} s_nop 0`, 's_nop'), ['v0 vmcnt 1']);
  const gfx11 = code.replaceAll('dword', 'b32');
  assert.deepEqual(inFlight(`${gfx11} s_nop 0`, 's_nop', { processor: 'gfx1100' }), ['v0 vmcnt 0']);
});

test('an invalidation is not taken for an access that a wait leaves', () => {
  const load = `${LOAD} v0, v[8:9], off\n buffer_wbinvl1_vol\n`;
  const use = 'v_mov_b32_e32 v3, v0';
  assert.deepEqual(needed(`${load} s_waitcnt vmcnt(1)\n ${use}`), [`${use}: v0 vmcnt 0`]);
  assert.deepEqual(needed(`${load} s_waitcnt vmcnt(0)\n ${use}`), []);
  assert.deepEqual(needed(`${load} ${LOAD} v1, v[8:9], off\n s_waitcnt vmcnt(1)\n ${use}`), []);
});

test('scalar loads are done in any order: none may be left', () => {
  const code = 's_load_dword s0, s[8:9], 0x0\n s_load_dword s1, s[8:9], 0x4\n';
  assert.deepEqual(inFlight(`${code} s_waitcnt lgkmcnt(1)\n s_nop 0`, 's_nop'), ['s0 lgkmcnt 0, s1 lgkmcnt 0']);
  assert.deepEqual(inFlight(`${code} s_waitcnt lgkmcnt(0)\n s_nop 0`, 's_nop'), ['']);
});

test('a flat load needs both of its counters', () => {
  const code = 'flat_load_dword v0, v[8:9]\n s_waitcnt vmcnt(0)\n s_nop 0';
  assert.deepEqual(inFlight(code, 's_nop'), ['v0 lgkmcnt 0']);
});

test('where ways meet, what is in flight on either is, by the nearest', () => {
  const code = `
    ${LOAD} v0, v[8:9], off
    s_cbranch_scc0 1f
    ${LOAD} v1, v[8:9], off
    ${LOAD} v2, v[8:9], off
  1:
    s_nop 0`;
  assert.deepEqual(inFlight(code, 's_nop'), ['v0 vmcnt 0, v1 vmcnt 1, v2 vmcnt 0']);
});

test('what was waited for on one way stays over where it meets another', () => {
  const code = `
    ${LOAD} v0, v[8:9], off
    s_waitcnt vmcnt(0)
    s_cbranch_scc0 1f
    ${LOAD} v1, v[8:9], off
    ${LOAD} v2, v[8:9], off
    ${LOAD} v3, v[8:9], off
  1:
    s_nop 0`;
  assert.deepEqual(inFlight(code, 's_nop'), ['v1 vmcnt 2, v2 vmcnt 1, v3 vmcnt 0']);
});

test('a loop carries what its end starts to its beginning', () => {
  const code = `
  1:
    s_nop 0
    v_add_u32 v1, v0, v1
    ${LOAD} v0, v[8:9], off
    s_cbranch_scc0 1b`;
  assert.deepEqual(inFlight(code, 's_nop'), ['v0 vmcnt 0']);
  assert.deepEqual(needed(code), ['v_add_u32_e32 v1, v0, v1: v0 vmcnt 0']);
});

test('writing what will be written is as wrong as reading it; parts in order are not', () => {
  const half = 'global_load_short_d16';
  assert.deepEqual(needed(`${half} v0, v[8:9], off\n ${half}_hi v0, v[8:9], off`), []);
  assert.deepEqual(needed(`${LOAD} v0, v[8:9], off\n v_mov_b32 v0, 0`), ['v_mov_b32_e32 v0, 0: v0 vmcnt 0']);
});

test('exports read late', () => {
  const code = 'exp mrt0 v0, v1, v2, v3\n v_mov_b32 v9, v1\n v_mov_b32 v1, 0';
  assert.deepEqual(needed(code, 'gfx1100'), ['v_mov_b32_e32 v1, 0: v1 read expcnt 0']);
});

test('what is in flight where code is entered, and behind a call, is unknown until all is waited for', () => {
  const unknown: InFlightOptions = { atEntry: 'unknown', afterCalls: 'nothing' };
  const code = 's_nop 0\n s_waitcnt vmcnt(0) expcnt(0)\n s_nop 1';
  const at = inFlight(code, 's_nop', { options: unknown });
  assert.ok(at[0]!.includes('? vmcnt'));
  assert.ok(!at[1]!.includes('? vmcnt') && at[1]!.includes('? lgkmcnt'));
  const call = 's_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)\n s_swappc_b64 s[30:31], s[4:5]\n s_nop 0';
  assert.ok(inFlight(call, 's_nop')[0]!.includes('? vmcnt'));
  assert.ok(!inFlight(call, 's_nop', { options: unknown })[0]!.includes('? vmcnt'));
});
