/** Counted kernels as records: what stands in their code, the code itself, and what was counted. */
import type { CountedKernel, KernelCode, PlacedCodeObject } from '../hal/index.ts';
import {
  COUNTED_KERNELS,
  INSTRUCTION_COUNT_FLAG,
  INSTRUCTION_COUNTS,
  INSTRUCTIONS,
  NO_ADDRESS,
} from './format/instruction-records.ts';
import { INSTRUCTION_CONTROLS, numberOf } from './format/names.ts';
import type { RecordLayout, RecordOf } from './format/record-layout.ts';
import { EXECUTABLE_CODE_OBJECTS } from './format/records.ts';

type Add = <Layout extends RecordLayout>(layout: Layout, record: Partial<RecordOf<Layout>>) => void;

/** Where an instruction is in a file. */
interface FilePlace {
  readonly codeObjectId: bigint;
  readonly address: bigint;
}

/** Code objects of an executable have numbers from 1 on, the same on each device. */
export function filePlaceOf({ codeObjects }: Pick<KernelCode, 'codeObjects'>, pc: bigint): FilePlace {
  const index = codeObjects.findIndex(({ address, sizeBytes }) => pc >= address && pc < address + BigInt(sizeBytes));
  return { codeObjectId: BigInt(index + 1), address: pc - (codeObjects[index]?.loadDelta ?? 0n) };
}

export class InstructionRows {
  readonly #add: Add;
  /** Executables whose code objects were written, and the instructions that were. */
  readonly #told = new Map<bigint, Set<string>>();

  /** `add` takes the records. */
  constructor(add: Add) {
    this.#add = add;
  }

  kernel({ entry, deviceOrdinal, dispatchCount, waveCount, code, byPc }: CountedKernel, executableId: bigint): void {
    const kernel = { executableId, exportOrdinal: entry.ordinal, physicalDeviceOrdinal: deviceOrdinal };
    const { waveSize, segmentBytes } = code;
    const counts = { dispatchCount: BigInt(dispatchCount), waveCount: BigInt(waveCount) };
    this.#add(COUNTED_KERNELS, { ...kernel, waveSize, segmentBytes, ...counts });
    if (!this.#told.has(executableId)) this.#codeObjects(executableId, code.codeObjects);
    const told = this.#told.get(executableId)!;
    for (const [pc, { waves, lanes, taken, memory }] of [...byPc].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const place = filePlaceOf(code, pc);
      if (!told.has(keyOf(place))) this.#function(executableId, code, pc);
      this.#add(INSTRUCTION_COUNTS, {
        ...{ ...kernel, ...place, flags: INSTRUCTION_COUNT_FLAG.taken | (memory ? INSTRUCTION_COUNT_FLAG.memory : 0) },
        ...{ waveCount: BigInt(waves), laneCount: BigInt(lanes), takenCount: BigInt(taken) },
        ...(memory && {
          ...{ accessCount: BigInt(memory.accesses), byteCount: BigInt(memory.bytes) },
          ...{ segmentCount: BigInt(memory.segments), cycleCount: BigInt(memory.cycles) },
          conflictCount: BigInt(memory.conflicts),
        }),
      });
    }
  }

  #codeObjects(executableId: bigint, images: readonly PlacedCodeObject[]): void {
    this.#told.set(executableId, new Set());
    for (const [index, { bytes }] of images.entries()) {
      this.#add(EXECUTABLE_CODE_OBJECTS, { executableId, codeObjectId: BigInt(index + 1), image: bytes });
    }
  }

  /** All instructions of the function that one is in; of one in no function nothing is known. */
  #function(executableId: bigint, code: KernelCode, pc: bigint): void {
    const told = this.#told.get(executableId)!;
    const instructions = code.functionAt(pc);
    for (const each of instructions) {
      const place = filePlaceOf(code, each.pc);
      told.add(keyOf(place));
      const { text, sizeBytes, control, targetPc, className, source } = each;
      this.#add(INSTRUCTIONS, {
        ...{ executableId, ...place, text, sizeBytes, className },
        control: numberOf(INSTRUCTION_CONTROLS, control),
        targetAddress: targetPc === undefined ? NO_ADDRESS : filePlaceOf(code, targetPc).address,
        functionOffset: BigInt(each.function.offset),
        functionName: each.function.name,
        ...(source && { sourceFile: source.file, sourceLine: source.line, sourceColumn: source.column }),
      });
    }
    told.add(keyOf(filePlaceOf(code, pc)));
  }
}

const keyOf = ({ codeObjectId, address }: FilePlace): string => `${codeObjectId}/${address}`;
