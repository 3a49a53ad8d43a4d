/** Code and what was made of it by hand, side by side: what differs is found and named. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineCode } from '../src/assembler/machine-code.test-support.ts';
import { EmulatorRig } from '../src/emulator/emulator-rig.test-support.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../src/isa/amdgpu/step.ts';
import { LaneLiveness, REGISTER_PLACES, registerLaneEffects, stepBlocks } from '../src/isa.ts';
import { compareSides, type Difference, type Side } from './side-by-side.ts';

const ORIGINAL = [
  'v_lshlrev_b32 v1, 2, v0',
  's_mov_b32 s4, 3',
  's_getpc_b64 s[6:7]',
  's_mov_b64 s[8:9], exec',
  'v_mov_b32 v2, 0',
  's_mov_b64 exec, 0xffff',
  '.Lloop: v_add_u32 v2, v2, v0',
  's_sub_u32 s4, s4, 1',
  's_cmp_lg_u32 s4, 0',
  's_nop 0',
  's_cbranch_scc1 .Lloop',
  's_mov_b64 exec, s[8:9]',
  's_mov_b32 s5, s6',
  's_cmp_eq_u32 s5, s6',
  'global_store_dword v1, v2, s[0:1]',
  's_endpgm',
];
const TEXT = (lines: readonly string[]): string => lines.join('\n');

function steps(code: Uint8Array): AmdgpuStep[] {
  const view = new DataView(code.buffer, code.byteOffset, code.length);
  const reader = new AmdgpuStepReader('gfx90a', 64, 0x3f0);
  const found: AmdgpuStep[] = [];
  for (let at = 0; at < code.length; at += found.at(-1)!.sizeBytes) {
    const step = reader.step(view, at);
    assert.ok(typeof step === 'object', String(step));
    found.push(step);
  }
  return found;
}

/** Puts `payload` before the original instruction with a number; the first difference. */
function differenceWith(before: number, payload: readonly string[], withMeaning = true): Difference | undefined {
  const original = machineCode(TEXT(ORIGINAL), 'gfx90a');
  const lines = ORIGINAL.toSpliced(before, 0, ...payload);
  // A payload in front of the loop's first instruction is part of the loop.
  if (before === 6) lines[6] = `.Lloop: ${payload[0]}`;
  if (before === 6) lines[6 + payload.length] = 'v_add_u32 v2, v2, v0';
  const rewritten = machineCode(TEXT(lines), 'gfx90a');
  const [oldSteps, newSteps] = [steps(original), steps(rewritten)];
  const byAddress = new Map(oldSteps.map((step) => [step.offset, step]));
  const liveness = new LaneLiveness(
    stepBlocks((at) => byAddress.get(at), [0]),
    registerLaneEffects,
    REGISTER_PLACES,
  );
  const kept = newSteps.toSpliced(before, payload.length);
  const oldOf = new Map(kept.map((step, i) => [step.offset, oldSteps[i]!.offset]));
  // Who comes to a payload comes to what stands behind it.
  const arrivals = new Map([[newSteps[before]!.offset, oldSteps[before]!.offset]]);
  const side = (code: Uint8Array, addresses: ReadonlyMap<number, number>): Side => {
    let entry = 0;
    const originalAddress = (offset: number): number | undefined => addresses.get(offset - entry);
    return {
      originalAddress,
      ...(withMeaning && {
        meaning: (dword: number) => addresses.get(dword - entry) ?? arrivals.get(dword - entry) ?? dword,
      }),
      run(observer) {
        using rig = new EmulatorRig({ observer });
        entry = rig.place(code);
        const dispatch = rig.launch({ gridSize: [128, 1, 1], workgroupSize: [128, 1, 1] });
        for (let i = 0; i < 100 && rig.emulator.advance(5) !== 'idle'; i++);
        assert.equal(dispatch.state, 'complete');
      },
    };
  };
  const own = new Map(oldSteps.map(({ offset }) => [offset, offset]));
  return compareSides(side(original, own), side(rewritten, oldOf), (at) => {
    const step = byAddress.get(at);
    return step && liveness.beforeInstruction(step);
  });
}

test('a payload that touches dead registers alone is not seen', () => {
  for (let before = 0; before < ORIGINAL.length; before++) {
    assert.equal(
      differenceWith(before, ['s_mov_b32 s20, 7', 'v_mov_b32 v9, 1']),
      undefined,
      `before ${ORIGINAL[before]}`,
    );
  }
  assert.equal(differenceWith(8, ['s_cmp_eq_u32 s4, s4']), undefined, 'SCC is dead there');
});

for (const [name, before, payload, registers] of [
  ['a scalar register', 5, ['s_mov_b32 s4, 4'], ['s4: 0x3 0x4']],
  ['SCC', 10, ['s_cmp_eq_u32 s4, 0x7777'], ['scc: 0x1 0x0']],
  ['a lane that is off', 7, ['s_mov_b32 s20, 5', 'v_writelane_b32 v2, s20, 63'], ['v2 lane 63: 0x0 0x5']],
  ['EXEC', 9, ['s_mov_b64 exec, 0x1'], ['exec half 0: 0xffff 0x1']],
  ['MODE', 9, ['s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0'], ['mode: 0x3f0 0x3c0']],
] as const) {
  test(`${name} that a payload changed is found behind it`, () => {
    const difference = differenceWith(before, payload);
    assert.deepEqual(difference?.registers, registers);
    assert.deepEqual([difference?.wave, difference?.index], ['0 0 0, 0', before]);
  });
}

test('another way is found', () => {
  const difference = differenceWith(10, ['s_cmp_lg_u32 0, 0', 's_cbranch_scc0 .Lend', '.Lend: s_cmp_eq_u32 0, 1']);
  assert.deepEqual([difference?.index, difference?.registers], [10, ['scc: 0x1 0x0']]);
  const { addresses, registers } = differenceWith(14, ['s_endpgm'])!;
  assert.equal(typeof addresses[0], 'number');
  assert.deepEqual([addresses[1], registers], [undefined, []]);
});

test('addresses of code are those of the original code', () => {
  assert.equal(differenceWith(1, ['s_nop 0']), undefined);
  assert.match(differenceWith(1, ['s_nop 0'], false)!.registers[0]!, /^s6: /);
});
