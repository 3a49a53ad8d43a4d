/**
 * Where the stack of a kernel begins, in code that keeps to LLVM's calling convention: s32 is the stack
 * pointer, the kernel sets it to the size of its own frame before anything reads it, and what is called has
 * its frames from there on (LLVM "User Guide for AMDGPU Backend", "Non-Kernel Functions").
 */
import type { CodeObject, Kernel } from '../../codeobject/code-object.ts';
import type { Effects, RegisterRange } from '../../ir/effects.ts';
import { overlaps } from '../../isa/amdgpu/effects/operand-ranges.ts';
import type { Target } from '../../isa/amdgpu/encoding/targets.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import { CALL_REGISTERS } from '../../lift/calling-convention.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import { evaluateUniform, ScalarState } from '../../lift/scalar-state.ts';
import { assembledWords } from '../layout/assembled-words.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';

const { stackPointer: STACK_POINTER, framePointer: FRAME_POINTER } = CALL_REGISTERS;

/** The stack pointer, and where functions keep the beginning of their frames. */
export const STACK_REGISTERS: PhysicalRange = {
  ...{ file: 'scalar', first: STACK_POINTER, dwords: FRAME_POINTER + 1 - STACK_POINTER },
};

export interface StackStart {
  /** Sets the stack pointer, before anything else names it. */
  readonly step: AmdgpuStep;
  /** Of each lane's private memory, what is below the stack: the kernel's own frame. */
  readonly startBytes: number;
  /** What the stack pointer counts for a byte of a lane: where it counts the bytes of all lanes, many. */
  readonly unitsPerByte: number;
}

/** `reached`: the functions that the kernel may run. Undefined where it is not seen how the stack begins. */
export function stackStart(
  { elf }: CodeObject,
  { descriptor }: Kernel,
  root: LiftedFunction,
  reached: Iterable<LiftedFunction>,
): StackStart | undefined {
  const block = root.entryBlock;
  if (!block || root.isEnteredAgain) return undefined;
  const state = new ScalarState();
  for (const step of block.instructions) {
    const { effects, offset, sizeBytes } = step;
    evaluateUniform(step, state, { pc: BigInt(offset), readConstant: () => undefined });
    if (!namesStack(effects)) continue;
    const value = state.registers[STACK_POINTER];
    const unitsPerByte = unitsIn(step.instruction.target, root.waveSize, reached);
    const isLoaded = elf.dynamicRelocations.some(({ offset: place }) => {
      return offset <= Number(place) && Number(place) < offset + sizeBytes;
    });
    if (!setsStackAlone(effects) || value === undefined || unitsPerByte === undefined || isLoaded) return undefined;
    const startBytes = (value >>> 0) / unitsPerByte;
    return Number.isInteger(startBytes) && startBytes <= descriptor.privateSegmentFixedSizeBytes
      ? { step, startBytes, unitsPerByte }
      : undefined;
  }
  return undefined;
}

/** The instruction that sets the stack pointer, when the stack is to begin elsewhere. */
export const stackStartWords = ({ step, unitsPerByte }: StackStart, startBytes: number): readonly number[] =>
  assembledWords(`s_mov_b32 s${STACK_POINTER}, ${startBytes * unitsPerByte}`, step.instruction);

const isStack = (range: RegisterRange): boolean => overlaps(range, { ...STACK_REGISTERS, dwords: 1 });
const namesStack = ({ reads, writes, readsAnyOf, writesAnyOf }: Effects): boolean =>
  reads.some(isStack) || writes.some(isStack) || readsAnyOf.has('scalar') || writesAnyOf.has('scalar');

/** Whether a step does nothing but set the stack pointer. */
const setsStackAlone = ({ writes, writesState, writesAnyOf, memory }: Effects): boolean =>
  writes.length === 1 && writes[0]!.dwords === 1 && writesState.size + writesAnyOf.size + memory.length === 0;

/** As its accesses have it; undefined where they differ. */
function unitsIn(target: Target, waveSize: number, functions: Iterable<LiftedFunction>): number | undefined {
  if (target.flatScratch === 'architected') return 1;
  const found = new Set<number>();
  for (const { blocks } of functions) {
    for (const { instructions } of blocks) {
      for (const { effects } of instructions) {
        const { memory, reads } = effects;
        if (memory.length === 0 || !reads.some((range) => overlaps(range, STACK_REGISTERS))) continue;
        found.add(memory.some(({ space }) => space === 'private') ? 1 : waveSize);
      }
    }
  }
  const [units = waveSize, ...others] = found;
  return others.length === 0 ? units : undefined;
}
