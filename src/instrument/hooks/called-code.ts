/**
 * Hooks that are called as the compiler wrote them: what the functions that a call may reach overwrite, how
 * much stack they take, and why some are never called.
 */
import { registerNumber, registerOf, registerSet } from '../../flow/steps.ts';
import { SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import { CALL_REGISTERS } from '../../lift/calling-convention.ts';
import { analyzeFunction, type FunctionAnalysis } from '../../lift/function-analysis.ts';
import type { LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';
import { type Rejected, whyNeverRun } from './hook-code.ts';
import type { Marker } from './intrinsics.ts';

/** What a call of a function may do. */
export interface CalledCode {
  /** Each register that may be written, but for VCC, M0, EXEC: neighbours are one range. */
  readonly clobbers: readonly PhysicalRange[];
  /** Of a lane. */
  readonly stackBytes: number;
  readonly writesMode: boolean;
  /** Those among its instructions. */
  readonly markers: readonly Marker[];
  /** What is read that has not been written, over REGISTER_PLACES; nothing where calls are not known. */
  readonly reads: bigint;
}

/**
 * What code may take whose frames are not known, such as that of a function that calls itself: as much as
 * LLVM assumes there (AMDGPUResourceUsageAnalysis).
 */
const ASSUMED_STACK_BYTES = 16_384;

/**
 * What a call of the function at an address of the hooks' image does, or why it is never called. Markers, by
 * their addresses, write registers as instructions do.
 */
export function calledCode(
  code: LiftedCode,
  address: number,
  markers: ReadonlyMap<number, Marker>,
): CalledCode | Rejected {
  const entry = code.functionAt(address);
  if (!entry?.entryBlock) return { rejected: 'has no code' };
  const reached = entry.reaches();
  // A pointer leads to code of the hooks' file: there is no other way to have one.
  const functions = reached.isComplete ? reached.functions : new Set([entry, ...code.functions]);
  const { processor } = code.codeObject.target;
  const steps = [...functions].flatMap(({ blocks }) => blocks.flatMap(({ instructions }) => instructions));
  for (const step of steps) {
    const why = whyNeverRun(step, processor);
    if (why !== undefined) return { rejected: `${why} ('${step.text()}', in code that it calls)` };
  }
  const isRecursive = [...functions].some((each) => [...each.callees].some((callee) => reachesBack(callee, each)));
  const frames = [...functions].map((each) => frameOf(code, each));
  const isKnown = reached.isComplete && !isRecursive && frames.every(({ isStackKnown }) => isStackKnown);
  const sum = frames.reduce((total, { stackBytes }) => total + stackBytes, 0);
  const own = steps.flatMap(({ offset }) => markers.get(offset) ?? []);
  const made = own.flatMap(({ registers }) => registers.filter(({ role }) => role !== 'read'));
  return {
    clobbers: mergedWrites(steps, made, targetFor(processor).scalars.sgprCount),
    stackBytes: sum + (isKnown ? 0 : ASSUMED_STACK_BYTES),
    writesMode: steps.some(({ effects }) => effects.writesState.has('mode')),
    markers: own,
    reads: reached.isComplete ? readsOf(entry) & ~registerSet(made) : 0n,
  };
}

const reachesBack = (from: LiftedFunction, to: LiftedFunction): boolean => from.reaches().functions.has(to);

/** What a function itself has of the stack. */
const frameOf = ({ codeObject }: LiftedCode, { entry, endAddress, waveSize }: LiftedFunction): FunctionAnalysis =>
  analyzeFunction({
    bytes: codeObject.elf.read(BigInt(entry), endAddress - entry, 'a function of hooks'),
    ...{ address: BigInt(entry), processor: codeObject.target.processor, waveSize },
    readConstant: () => undefined,
  });

function readsOf(entry: LiftedFunction): bigint {
  const first = entry.entryBlock!.instructions[0]!;
  // What callees read is found on the way.
  entry.liveBefore(first);
  entry.findReads();
  return entry.reads!.active;
}

/** The numbered registers that steps write; neighbours become one range. */
function mergedWrites(
  steps: readonly AmdgpuStep[],
  made: readonly PhysicalRange[],
  sgprCount: number,
): PhysicalRange[] {
  const numbers = new Set<number>();
  // Masks of 32 lanes have no high half: it is a register like others.
  const isPlainHalf = (i: number): boolean => i === SGPR_VCC_LO + 1 && steps[0]?.instruction.waveSize === 32;
  const add = ({ file, first, dwords }: PhysicalRange): void => {
    for (let i = first; i < first + dwords; i++) {
      if (file !== 'scalar' || i < sgprCount || isPlainHalf(i)) numbers.add(registerNumber(file, i));
    }
  };
  for (const { effects } of steps) effects.writes.forEach(add);
  made.forEach(add);
  add({ file: 'scalar', first: CALL_REGISTERS.returnAddress, dwords: 2 });
  add({ file: 'scalar', first: CALL_REGISTERS.stackPointer, dwords: 1 });
  return rangesOf(numbers);
}

/** Registers by `registerNumber`, neighbours as one range. */
export function rangesOf(numbers: Iterable<number>): PhysicalRange[] {
  const ranges: { file: PhysicalRange['file']; first: number; dwords: number }[] = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const [file, first] = registerOf(number);
    const last = ranges.at(-1);
    if (last?.file === file && last.first + last.dwords === first) last.dwords++;
    else ranges.push({ file, first, dwords: 1 });
  }
  return ranges;
}
