/** What is asked of memory (iree_hal_buffer_params_t), and what devices have of it. */
import type { FlagInput, FlagSet } from '../core/flag-set.ts';
import {
  BUFFER_USAGE,
  type BufferAccess,
  type BufferCompatibility,
  type BufferUsage,
  type BufferUsages,
  MEMORY_ACCESS,
  MEMORY_TYPES,
  type MemoryType,
  type MemoryTypes,
} from '../core/flags.ts';
import { invalidArgument } from '../core/status.ts';

export interface BufferParams {
  /** Default `optimal`: the allocator chooses. */
  readonly memoryType?: FlagInput<MemoryType>;
  /** Default `default`: transfers and storage of kernels. */
  readonly usage?: FlagInput<BufferUsage>;
  /** Default `all`. */
  readonly access?: FlagInput<BufferAccess>;
  /** A power of two. Default: what the device needs. */
  readonly minAlignmentBytes?: number;
  /** What errors call the buffer. */
  readonly label?: string;
  /** The physical device in whose memory it lies. Default: that of the queue of an `alloca`, else 0. */
  readonly deviceOrdinal?: number;
}

/** The parameters with all that was left open filled in. */
export interface ResolvedParams {
  readonly memoryType: MemoryTypes;
  readonly usage: BufferUsages;
  readonly access: FlagSet<BufferAccess>;
  readonly minAlignmentBytes: number;
  readonly label: string;
  readonly deviceOrdinal: number;
}

/** Throws INVALID_ARGUMENT. */
export function resolveParams(params: BufferParams = {}): ResolvedParams {
  const { minAlignmentBytes = 1, label = 'buffer', deviceOrdinal = 0 } = params;
  if (!Number.isSafeInteger(minAlignmentBytes) || !Number.isInteger(Math.log2(minAlignmentBytes))) {
    throw invalidArgument(`an alignment of ${minAlignmentBytes} bytes, expected a power of two`);
  }
  const orDefault = <Name extends string>(set: FlagSet<Name>, otherwise: FlagSet<Name>): FlagSet<Name> =>
    set.bits === 0 ? otherwise : set;
  return {
    memoryType: orDefault(MEMORY_TYPES.set(params.memoryType ?? []), MEMORY_TYPES.set('optimal')),
    usage: orDefault(BUFFER_USAGE.set(params.usage ?? []), BUFFER_USAGE.set('default')),
    access: orDefault(MEMORY_ACCESS.set(params.access ?? []), MEMORY_ACCESS.set('all')),
    minAlignmentBytes,
    label,
    deviceOrdinal,
  };
}

/** A kind of memory that a device allocates from, in the order in which it prefers them. */
export interface Heap {
  readonly memoryType: MemoryTypes;
  /** What its buffers may be used for. */
  readonly usage: BufferUsages;
  readonly maxAllocationBytes: number;
  readonly minAlignmentBytes: number;
  /** Whether kernels are slower there than in another heap of the device. */
  readonly isSlow: boolean;
}

/** What a device makes of wished parameters. */
export interface Compatibility {
  /** Empty where the device has no such memory. */
  readonly flags: FlagSet<BufferCompatibility>;
  /** What the buffer would be: at least what was asked for. */
  readonly params: ResolvedParams;
  readonly sizeBytes: number;
  /** Where it would lie. */
  readonly heapIndex: number | undefined;
}
