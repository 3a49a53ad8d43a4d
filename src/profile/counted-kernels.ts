/**
 * What a profile says of the instructions of kernels: `--device_profiling_mode=instruction-counts`. Counts
 * are exact, and sums of all dispatches of a kernel on all devices.
 */
import type { InstructionControl } from '../hal/index.ts';
import {
  COUNTED_KERNELS,
  INSTRUCTION_COUNT_FLAG,
  INSTRUCTION_COUNTS,
  INSTRUCTIONS,
  NO_ADDRESS,
} from './format/instruction-records.ts';
import { INSTRUCTION_CONTROLS } from './format/names.ts';
import type { RecordOf } from './format/record-layout.ts';
import type { Profile } from './profile.ts';

/** An instruction, and what was counted of it; one that was never executed has counts of 0. */
export interface CountedInstruction {
  /** `codeObjectId` of the record `executable-code-objects` that has the file; 0: in none. */
  readonly codeObjectId: bigint;
  /** In that file, as disassemblers print it. */
  readonly address: bigint;
  readonly sizeBytes: number;
  /** As llvm-objdump prints it; empty where the code is in no function. */
  readonly text: string;
  /** `conditional`: goes on behind it, or at `targetAddress`. */
  readonly control: InstructionControl;
  /** Where a branch or a call of a fixed place leads. */
  readonly targetAddress: bigint | undefined;
  /** What kind of unit executes it: `valu`, `lds`, `vmem` and so on. */
  readonly className: string;
  readonly function: { readonly name: string; readonly offset: bigint } | undefined;
  /** From DWARF; `line` counts from 1, `column` is 0 where it is not known. */
  readonly source: { readonly file: string; readonly line: number; readonly column: number } | undefined;
  /** How often waves executed it. */
  readonly waves: bigint;
  /** Lanes that were active then, summed: at most `waves` times the wave size. */
  readonly lanes: bigint;
  /** How often it was a conditional branch that was taken. */
  readonly taken: bigint;
  /** What its lanes accessed; undefined where that was not counted, or they accessed nothing. */
  readonly memory: AccessedMemory | undefined;
}

/** Accesses of lanes to global memory and to the LDS, flat ones where they lead to. */
export interface AccessedMemory {
  /** Of waves, with at least one active lane; an instruction with two addresses makes two. */
  readonly accesses: bigint;
  /** That lanes asked for. */
  readonly bytes: bigint;
  /** Pieces of `segmentBytes` of global memory that were touched, each once for an access of a wave. */
  readonly segments: bigint;
  /** Of accesses to the LDS: cycles that they take, and those of them that bank conflicts cost. */
  readonly cycles: bigint;
  readonly conflicts: bigint;
}

/** A kernel with the instructions of all functions that its dispatches came to. */
export interface KernelInstructions {
  readonly executableId: bigint;
  readonly exportOrdinal: number;
  /** Its name, as in other reports. */
  readonly key: string;
  readonly waveSize: number;
  /** What global accesses are cut into: bytes of a cache line. 0: accesses were not counted. */
  readonly segmentBytes: number;
  readonly dispatchCount: bigint;
  /** Waves that were launched. */
  readonly waveCount: bigint;
  /** Executed instructions, once for each wave. */
  readonly executedCount: bigint;
  /** By code object and address. */
  readonly instructions: readonly CountedInstruction[];
}

type CountRecord = RecordOf<typeof INSTRUCTION_COUNTS>;
type InstructionRecord = RecordOf<typeof INSTRUCTIONS>;

const keyOf = ({ codeObjectId, address }: { codeObjectId: bigint; address: bigint }): string =>
  `${codeObjectId}/${address}`;

/** Kernels of which instructions were counted, in the order of the file. Throws BAD_INPUT. */
export function countedKernels(profile: Profile): KernelInstructions[] {
  const kernelOf = (of: { executableId: bigint; exportOrdinal: number }) => `${of.executableId}/${of.exportOrdinal}`;
  const counts = Map.groupBy(profile.all(INSTRUCTION_COUNTS), kernelOf);
  const code = Map.groupBy(profile.all(INSTRUCTIONS), ({ executableId }) => executableId);
  const kernels = Map.groupBy(profile.all(COUNTED_KERNELS), kernelOf);
  return [...kernels].map(([kernel, records]) => {
    const { executableId, exportOrdinal, waveSize, segmentBytes } = records[0]!;
    const instructions = countedOf(code.get(executableId) ?? [], counts.get(kernel) ?? []);
    return {
      ...{ executableId, exportOrdinal, waveSize, segmentBytes, instructions },
      key: profile.keyOf(executableId, exportOrdinal),
      dispatchCount: records.reduce((sum, each) => sum + each.dispatchCount, 0n),
      waveCount: records.reduce((sum, each) => sum + each.waveCount, 0n),
      executedCount: instructions.reduce((sum, { waves }) => sum + waves, 0n),
    };
  });
}

/** The instructions of the functions that something was counted in, and those of no function. */
function countedOf(code: readonly InstructionRecord[], records: readonly CountRecord[]): CountedInstruction[] {
  const counts = Map.groupBy(records, keyOf);
  const places = new Map(code.map((each) => [keyOf(each), each]));
  const startOf = ({ codeObjectId, address, functionOffset }: InstructionRecord) =>
    keyOf({ codeObjectId, address: address - functionOffset });
  const reached = new Set([...counts.keys()].flatMap((key) => (places.has(key) ? [startOf(places.get(key)!)] : [])));
  const listed = [...places.values()].filter((each) => reached.has(startOf(each)));
  const unknown = [...counts.values()].filter(([first]) => !places.has(keyOf(first!))).map(([first]) => first!);
  return [...listed.map(instructionOf), ...unknown.map(unknownAt)]
    .map((each) => ({ ...each, ...sumOf(counts.get(keyOf(each)) ?? []) }))
    .toSorted((a, b) => Number(a.codeObjectId - b.codeObjectId || a.address - b.address));
}

type Counts = Pick<CountedInstruction, 'waves' | 'lanes' | 'taken' | 'memory'>;

function sumOf(records: readonly CountRecord[]): Counts {
  const sum = (of: (record: CountRecord) => bigint): bigint => records.reduce((total, each) => total + of(each), 0n);
  const isAccess = records.some(({ flags }) => (flags & INSTRUCTION_COUNT_FLAG.memory) !== 0);
  return {
    waves: sum(({ waveCount }) => waveCount),
    lanes: sum(({ laneCount }) => laneCount),
    taken: sum(({ takenCount }) => takenCount),
    memory: isAccess
      ? {
          accesses: sum(({ accessCount }) => accessCount),
          bytes: sum(({ byteCount }) => byteCount),
          segments: sum(({ segmentCount }) => segmentCount),
          cycles: sum(({ cycleCount }) => cycleCount),
          conflicts: sum(({ conflictCount }) => conflictCount),
        }
      : undefined,
  };
}

type Place = Omit<CountedInstruction, keyof Counts>;

function instructionOf(record: InstructionRecord): Place {
  const { codeObjectId, address, sizeBytes, text, className, control, targetAddress } = record;
  const { functionName, functionOffset, sourceFile, sourceLine, sourceColumn } = record;
  return {
    ...{ codeObjectId, address, sizeBytes, text, className },
    control: INSTRUCTION_CONTROLS[control] ?? 'next',
    targetAddress: targetAddress === NO_ADDRESS ? undefined : targetAddress,
    function: { name: functionName, offset: functionOffset },
    source: sourceLine === 0 ? undefined : { file: sourceFile, line: sourceLine, column: sourceColumn },
  };
}

/** Code that no symbol is for. */
const unknownAt = ({ codeObjectId, address }: CountRecord): Place => ({
  ...{ codeObjectId, address, sizeBytes: 0, text: '', className: '', control: 'next' },
  ...{ targetAddress: undefined, function: undefined, source: undefined },
});
