/** GPUs that the `amdgpu` driver can open: emulated ones, or those of a machine. */
import type { Decompress } from '../../codeobject/compressed-bundle.ts';
import type { Occupancy } from '../../codeobject/occupancy.ts';
import type { Device } from '../../device/device.ts';
import type { DispatchStatistics } from '../../device/statistics.ts';
import type { CounterInfo } from '../backend/backend.ts';
import type { InstructionText } from '../executables/executable.ts';

/** Something that a GPU counts of each dispatch. */
export interface DispatchCounter extends CounterInfo {
  /** `occupancy`: of the kernel in this dispatch, where it is known. */
  readonly count: (statistics: DispatchStatistics, occupancy: Occupancy | undefined) => number;
}

/** Reads single instructions of code for a GPU. */
export interface InstructionReader {
  /** What stands at an offset of code for waves of a size; undefined for what is no instruction. */
  instructionAt(code: DataView, offset: number, waveSize: 32 | 64): InstructionText | undefined;
  /** As `KernelCode.segmentBytes`. */
  readonly segmentBytes: number;
}

/** A GPU that is not open yet. */
export interface AgentSource {
  /** `GPU-` and 16 hexadecimal digits; the same for the same GPU, always. */
  readonly uuid: string;
  /** What it is called: `gfx942 (emulated)`. */
  readonly name: string;
  /** Default: it counts nothing. */
  readonly counters?: readonly DispatchCounter[];
  /** Where it counts the executions of each instruction. */
  readonly instructions?: InstructionReader;
  /** Whether it traces waves. */
  readonly tracesWaves?: boolean;
  /**
   * Opens it for one logical device, which closes it. Its memory has addresses that no other GPU of the
   * provider has.
   */
  open(): Device | Promise<Device>;
}

/** Where the driver finds GPUs. */
export interface AgentProvider {
  /**
   * `target`: the processor that a URI asks for, empty for none. Throws NOT_FOUND for one that there is not.
   */
  list(target: string): readonly AgentSource[];
  /** For compressed bundles. */
  readonly decompress?: Decompress;
}

/** A UUID that is the same for the same text: 64 bits by FNV-1a. */
export function uuidOf(text: string): string {
  let hash = 0xcbf2_9ce4_8422_2325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100_0000_01b3n);
  }
  return `GPU-${hash.toString(16).padStart(16, '0')}`;
}
