/**
 * Which kernel of the device library does a transfer, and how many elements it has: by alignment and length
 * alone. Fills and copies of anything else than a kernel's elements fall to the next wider rule.
 */
import { invalidArgument } from '../../core/status.ts';

export type FillKernel =
  | 'buffer_fill_x1'
  | 'buffer_fill_x2'
  | 'buffer_fill_x4'
  | 'buffer_fill_x8'
  | 'buffer_fill_block_x16'
  | 'buffer_fill_block_unaligned_x16';

export type CopyKernel =
  | 'buffer_copy_x1'
  | 'buffer_copy_block_x4'
  | 'buffer_copy_block_x8'
  | 'buffer_copy_block_x16'
  | 'buffer_copy_block_unaligned_x16';

/** A kernel with what it is told of the length. */
export interface TransferPlan<Kernel extends FillKernel | CopyKernel = FillKernel | CopyKernel> {
  readonly kernel: Kernel;
  /** Its elements, at least 1; bytes for the unaligned kernels. */
  readonly elementCount: number;
  /** How many loads and stores one lane alone would do. */
  readonly stepCount: number;
}

export interface FillRange {
  /** Where the GPU has the first byte. */
  readonly target: bigint;
  readonly sizeBytes: number;
  /** 1, 2, 4 or 8; target and size are multiples of it. */
  readonly patternBytes: number;
}

export interface CopyRange {
  readonly source: bigint;
  readonly target: bigint;
  readonly sizeBytes: number;
}

/** From so many bytes on, 16 bytes at once are worth a head and a tail. */
const MIN_UNALIGNED_BYTES = 128;
const BLOCK_BYTES = 16;
const FILLS: Readonly<Record<number, FillKernel>> = {
  1: 'buffer_fill_x1',
  2: 'buffer_fill_x2',
  4: 'buffer_fill_x4',
  8: 'buffer_fill_x8',
};

/** Each step does one element of so many bytes. */
function plan<Kernel extends FillKernel | CopyKernel>(
  kernel: Kernel,
  sizeBytes: number,
  elementBytes: number,
): TransferPlan<Kernel> {
  return { kernel, elementCount: sizeBytes / elementBytes, stepCount: sizeBytes / elementBytes };
}

/** Told of bytes; most steps do 16 of them. */
function unalignedPlan<Kernel extends FillKernel | CopyKernel>(
  kernel: Kernel,
  sizeBytes: number,
): TransferPlan<Kernel> {
  return { kernel, elementCount: sizeBytes, stepCount: Math.ceil(sizeBytes / BLOCK_BYTES) };
}

/** A number with a zero at its low end for each that size and addresses all have, up to 16. */
const lowBits = (sizeBytes: number, ...addresses: readonly bigint[]): number =>
  addresses.reduce((bits, address) => bits | Number(address & 15n), sizeBytes % BLOCK_BYTES);

/** Undefined: nothing is to be done. Throws INVALID_ARGUMENT for a range that the pattern does not fit. */
export function fillPlan({ target, sizeBytes, patternBytes }: FillRange): TransferPlan<FillKernel> | undefined {
  const low = lowBits(sizeBytes, target);
  const byPattern = FILLS[patternBytes];
  if (byPattern === undefined) throw invalidArgument(`a pattern of ${patternBytes} bytes, expected 1, 2, 4 or 8`);
  if (low % patternBytes !== 0) {
    throw invalidArgument(`${sizeBytes} bytes at ${target} are no multiples of a pattern of ${patternBytes} bytes`);
  }
  if (sizeBytes === 0) return undefined;
  if (low === 0) return plan('buffer_fill_block_x16', sizeBytes, BLOCK_BYTES);
  if (patternBytes <= 4 && low % 4 === 0) return plan('buffer_fill_x4', sizeBytes, 4);
  if (sizeBytes >= MIN_UNALIGNED_BYTES) return unalignedPlan('buffer_fill_block_unaligned_x16', sizeBytes);
  return plan(byPattern, sizeBytes, patternBytes);
}

/** Undefined: nothing is to be done. Throws INVALID_ARGUMENT for ranges that overlap. */
export function copyPlan({ source, target, sizeBytes }: CopyRange): TransferPlan<CopyKernel> | undefined {
  const size = BigInt(sizeBytes);
  if (sizeBytes > 0 && source < target + size && target < source + size) {
    throw invalidArgument(`a copy of ${sizeBytes} bytes to itself: those at ${source} and ${target} overlap`);
  }
  return copyWith(lowBits(sizeBytes, source, target), sizeBytes);
}

/** As `copyPlan`, from contents that 16 divides the address of and that nothing else has. */
export const updatePlan = (target: bigint, sizeBytes: number): TransferPlan<CopyKernel> | undefined =>
  copyWith(lowBits(sizeBytes, target), sizeBytes);

function copyWith(low: number, sizeBytes: number): TransferPlan<CopyKernel> | undefined {
  if (sizeBytes === 0) return undefined;
  if (low === 0) return plan('buffer_copy_block_x16', sizeBytes, BLOCK_BYTES);
  if (low % 8 === 0) return plan('buffer_copy_block_x8', sizeBytes, 8);
  if (low % 4 === 0) return plan('buffer_copy_block_x4', sizeBytes, 4);
  if (sizeBytes >= MIN_UNALIGNED_BYTES) return unalignedPlan('buffer_copy_block_unaligned_x16', sizeBytes);
  return plan('buffer_copy_x1', sizeBytes, 1);
}

/** A pattern as kernels get it: repeated up to 8 bytes, little-endian. */
export function repeatedPattern(pattern: Uint8Array): bigint {
  let value = 0n;
  for (let i = 7; i >= 0; i--) value = (value << 8n) | BigInt(pattern[i % pattern.length]!);
  return value;
}

/** Elements that a lane takes at once, of the kernels that take more than one. */
const PER_LANE = 4;
const WAVES_PER_COMPUTE_UNIT = 4;

/**
 * Workgroups of one wave each: as many as there are elements for, and no more than keep the GPU busy. Waves
 * go through whatever is left in strides of the grid.
 */
export function transferGroups({ stepCount }: TransferPlan, waveSize: number, computeUnitCount: number): number {
  const wanted = Math.ceil(stepCount / (waveSize * PER_LANE));
  return Math.min(wanted, WAVES_PER_COMPUTE_UNIT * computeUnitCount);
}
