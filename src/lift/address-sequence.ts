/**
 * Addresses that code makes of its own one: s_getpc_b64, then a literal of 64 bits added in two halves (LLVM
 * "User Guide for AMDGPU Backend", relocations R_AMDGPU_REL32_LO and _HI). What an addition is, its meaning
 * tells.
 */
import { followingOffset } from '../ir/step.ts';
import type { Program } from '../ir/types.ts';
import type { Instruction } from '../isa/amdgpu/encoding/instruction.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import type { CodeImage } from './code-image.ts';
import { evaluateUniform, makesOwnAddress, ScalarState } from './scalar-state.ts';

export interface AddressSequence {
  readonly getpc: AmdgpuStep;
  /**
   * The steps that add the low and the high half of the distance, and see the values in between alone;
   * undefined where that is done otherwise. Other literals in them make another address.
   */
  readonly low: AmdgpuStep | undefined;
  readonly high: AmdgpuStep | undefined;
  /** The address that is made; undefined without both additions. */
  readonly target: number | undefined;
  readonly isCode: boolean;
  /** Whether the file has relocations for the literals. */
  readonly isRelocated: boolean;
}

/** Between s_getpc_b64 and the additions; compilers put other instructions there at times, but few. */
const MAX_STEPS_BETWEEN = 32;

export const isGetPc = makesOwnAddress;

/** The first of the registers that a call leaves the return address in, or s_getpc_b64 its own. */
export const addressPairOf = ({ effects }: AmdgpuStep): number | undefined =>
  effects.writes.find(({ file, dwords }) => file === 'scalar' && dwords === 2)?.first;

/** `read` gives the step at an address. */
export function addressSequence(
  getpc: AmdgpuStep,
  read: (place: number) => AmdgpuStep | undefined,
  image: CodeImage,
): AddressSequence {
  const nothing = { getpc, low: undefined, high: undefined, target: undefined, isCode: false };
  const first = addressPairOf(getpc);
  const found = first === undefined ? undefined : findAdditions(getpc, first, read);
  if (!found) return { ...nothing, isRelocated: false };
  const { low, high } = found;
  const [lowPart, highPart] = [low, high].map(({ instruction }) => addend(instruction));
  if ([low, high].some(({ offset, sizeBytes }) => image.isRelocated(offset, sizeBytes))) {
    return { ...nothing, low, high, isRelocated: false };
  }
  const distance = (BigInt(highPart!) << 32n) | BigInt(lowPart! >>> 0);
  const target = Number(BigInt.asUintN(64, BigInt(followingOffset(getpc)) + distance));
  return {
    ...{ getpc, low, high, target, isCode: image.isCode(target) },
    isRelocated: [low, high].some((step) => image.hasStaticRelocation(followingOffset(step) - 4)),
  };
}

/** Both in the block of s_getpc_b64, on its registers, which nothing else touches in between. */
function findAdditions(
  getpc: AmdgpuStep,
  first: number,
  read: (place: number) => AmdgpuStep | undefined,
): { readonly low: AmdgpuStep; readonly high: AmdgpuStep } | undefined {
  let low: AmdgpuStep | undefined;
  let place = followingOffset(getpc);
  for (let count = 0; count < MAX_STEPS_BETWEEN; count++) {
    const step = read(place);
    if (step?.control !== 'next') return undefined;
    place = followingOffset(step);
    if (!low) {
      if (adds(step, first, false)) low = step;
      else if (touches(step, first) && !extendsSign(step, first + 1)) return undefined;
    } else if (adds(step, first + 1, true)) {
      return { low, high: step };
    } else if (touches(step, first) || step.effects.writesState.has('scc')) {
      return undefined;
    }
  }
  return undefined;
}

function touches({ effects }: AmdgpuStep, first: number): boolean {
  const { reads, writes, readsAnyOf, writesAnyOf } = effects;
  if (readsAnyOf.has('scalar') || writesAnyOf.has('scalar')) return true;
  return [...reads, ...writes].some(
    (range) => range.file === 'scalar' && range.first < first + 2 && first < range.first + range.dwords,
  );
}

/** The constant that an instruction adds, as a signed number of 32 bits. */
function addend(instruction: Instruction): number | undefined {
  for (const index of instruction.row.operands.keys()) {
    const operand = instruction.operand(index);
    if (operand.kind === 'constant') return Number(BigInt.asIntN(32, operand.value));
  }
  return undefined;
}

/**
 * gfx12 gives 48 bits of an address, whose sign code puts into the others: that leaves a correct address as
 * it is.
 */
function extendsSign(step: AmdgpuStep, register: number): boolean {
  if (step.instruction.row.operands.length !== 2) return false;
  return [0, 1, 0x7fff, -1, -0x8000].every((sample) => {
    const state = new ScalarState();
    state.registers[register] = sample;
    evaluateUniform(step, state, NO_CONTEXT);
    const known = state.registers.filter((value) => value !== undefined);
    return known.length === 1 && state.registers[register] === sample;
  });
}

const SAMPLES = [0, 0x7fff_fff0, -0x8000_0000, -1, 0x1234_5678];
const NO_CONTEXT = { pc: 0n, readConstant: () => undefined };

/** By what instructions do, without and with the carry: whether that is an addition. */
const additions = new WeakMap<Program, Map<boolean, boolean>>();

/**
 * Whether an instruction adds a constant to a register, and SCC where `withCarry`, and leaves the carry in
 * SCC.
 */
function adds(step: AmdgpuStep, register: number, withCarry: boolean): boolean {
  const { instruction, meaning } = step;
  const { operands } = instruction.row;
  if (!meaning || operands.length !== 3 || addend(instruction) === undefined) return false;
  const isThere = (index: number): boolean => {
    const operand = instruction.operand(index);
    return operand.kind === 'scalar' && operand.register === register && instruction.dwords(index) === 1;
  };
  const places = [...operands.keys()].filter(isThere).map((index) => instruction.access(index));
  if (places.toSorted().join() !== 'read,write') return false;
  const known = additions.get(meaning) ?? new Map<boolean, boolean>();
  additions.set(meaning, known);
  let isAddition = known.get(withCarry);
  if (isAddition === undefined) {
    isAddition = SAMPLES.every((constant) => addsConstant(step, register, { withCarry, constant }));
    known.set(withCarry, isAddition);
  }
  return isAddition;
}

/** The same of one constant in place of the instruction's. */
function addsConstant(
  step: AmdgpuStep,
  register: number,
  { withCarry, constant }: { readonly withCarry: boolean; readonly constant: number },
): boolean {
  const state = new ScalarState();
  return SAMPLES.every((sample) =>
    [0, 1].every((scc) => {
      state.registers[register] = sample;
      state.scc = scc;
      evaluateUniform(step, state, { ...NO_CONTEXT, constant });
      const sum = (sample >>> 0) + (constant >>> 0) + (withCarry ? scc : 0);
      return state.registers[register] === (sum | 0) && state.scc === (sum >= 2 ** 32 ? 1 : 0);
    }),
  );
}
