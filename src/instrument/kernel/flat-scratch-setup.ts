/**
 * FLAT_SCRATCH as compilers set it up: the base of the queue's scratch and the offset of the wave's, which is
 * what preambles give it anyway. Writes that give it nothing else leave it to payloads as it is.
 */
import type { Kernel } from '../../codeobject/code-object.ts';
import { SGPR_FLAT_SCRATCH_LO } from '../../isa/amdgpu/encoding/registers.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import { evaluateUniform, ScalarState } from '../../lift/scalar-state.ts';
import { initialWithScratch } from './preamble.ts';

/** Base and offset: with a carry between the halves of the sum, and without. */
const TRIALS: readonly (readonly [base: bigint, offset: bigint])[] = [
  [0x4a6e_fff3_a21cn, 0x3d_91c8n],
  [0x2b91_1357_9ad4n, 0x1c_e6b4n],
];
const HALVES = [
  ['flatScratchLow', 0],
  ['flatScratchHigh', 1],
] as const;

/**
 * Instructions of a kernel's first block that write such halves, whatever the launch gave. None where
 * something else may come to that block later, when its registers hold something else.
 */
export function flatScratchSetup({ descriptor }: Kernel, root: LiftedFunction): ReadonlySet<AmdgpuStep> {
  const block = root.entryBlock;
  if (!block || root.isEnteredAgain) return new Set();
  const { values } = initialWithScratch(descriptor, block.instructions[0]!.instruction.target);
  const [base, offset] = [values.get('flatScratchInit'), values.get('scratchWaveOffset')];
  if (!base || !offset) return new Set();
  const [first, ...others] = TRIALS.map(([baseValue, offsetValue]) => {
    const state = new ScalarState();
    [state.registers[base.first], state.registers[base.first + 1]] = halvesOf(baseValue);
    state.registers[offset.first] = Number(offsetValue);
    return rightWrites(block.instructions, state, halvesOf(baseValue + offsetValue));
  });
  return others.reduce((both, each) => both.intersection(each), first!);
}

const halvesOf = (value: bigint): [low: number, high: number] => [
  Number(BigInt.asIntN(32, value)),
  Number(BigInt.asIntN(32, value >> 32n)),
];

/** Of some instructions in a row, those that write halves of FLAT_SCRATCH as they are to be. */
function rightWrites(
  steps: readonly AmdgpuStep[],
  state: ScalarState,
  wanted: readonly [low: number, high: number],
): ReadonlySet<AmdgpuStep> {
  const found = new Set<AmdgpuStep>();
  for (const step of steps) {
    const hardware = hardwareWrites(step, state);
    evaluateUniform(step, state, { pc: BigInt(step.offset), readConstant: () => undefined });
    const written = step.instruction.target.flatScratch === 'sgprs' ? scalarWrites(step, state) : hardware;
    if (written.length > 0 && written.every(([half, value]) => value === wanted[half])) found.add(step);
  }
  return found;
}

type Write = readonly [half: 0 | 1, value: number | undefined];

const scalarWrites = ({ effects }: AmdgpuStep, { registers }: ScalarState): Write[] =>
  HALVES.flatMap(([, half]) => {
    const register = SGPR_FLAT_SCRATCH_LO + half;
    const isWritten = effects.writes.some(
      ({ file, first, dwords }) => file === 'scalar' && first <= register && register < first + dwords,
    );
    return isWritten ? [[half, registers[register]] as const] : [];
  });

/** Where it is two hardware registers: what is written is known where it is a register as it is. */
const hardwareWrites = ({ meaning, instruction }: AmdgpuStep, { registers }: ScalarState): Write[] =>
  (meaning?.values ?? []).flatMap(({ leaf, args: [value] }) => {
    const [, half] = HALVES.find(([slot]) => leaf.kind === 'setState' && leaf.slot === slot) ?? [];
    if (half === undefined) return [];
    const from = value?.leaf.kind === 'operand' ? instruction.operand(value.leaf.at.operand) : undefined;
    return [[half, from?.kind === 'scalar' ? registers[from.register] : undefined] as const];
  });
