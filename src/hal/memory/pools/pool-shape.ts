/** The kinds of pools: what a program says of one, and what follows for its slabs. */
import { alignUp } from '../../../base/align.ts';
import { invalidArgument } from '../../core/status.ts';
import type { BufferParams } from '../buffer-params.ts';
import { FixedBlocks, MAX_GRANULES, type RangeAllocator, TlsfRanges, WholeRange } from './range-allocator.ts';

/**
 * Memory type and usage are what its buffers can have, `minAlignmentBytes` (256) is what they are aligned to
 * and sized by.
 */
export interface PoolCommonOptions extends BufferParams {
  /** What the pool takes of the device at most. Default: no limit but the device's. */
  readonly maxBytes?: number;
}

/** Every buffer is an allocation of its own; the pool counts, and keeps to its budget. */
export interface PassThroughPoolOptions extends PoolCommonOptions {
  readonly kind: 'pass-through';
}

/** Buffers of any size up to a slab; more slabs are taken as needed. */
export interface TlsfPoolOptions extends PoolCommonOptions {
  readonly kind: 'tlsf';
  /** Default: 16 MiB, or what the device gives at once. */
  readonly slabBytes?: number;
}

/** Buffers of up to one size, and so many of them. */
export interface FixedBlockPoolOptions extends PoolCommonOptions {
  readonly kind: 'fixed-block';
  readonly blockBytes: number;
  readonly blockCount: number;
}

export type PoolOptions = PassThroughPoolOptions | TlsfPoolOptions | FixedBlockPoolOptions;

/** What the kinds of pools differ by. */
export interface PoolShape {
  /** Whether a slab serves several reservations, and stays when it is empty. */
  readonly isShared: boolean;
  readonly maxSlabs: number;
  readonly maxRequestBytes: number;
  slabBytes(requestBytes: number): number;
  ranges(slabBytes: number): RangeAllocator;
}

const DEFAULT_SLAB_BYTES = 2 ** 24;

/** Throws INVALID_ARGUMENT. */
export function checkSize(name: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw invalidArgument(`${name} of a pool is ${value}, expected an integer from 1`);
}

/** `maxBytes`: of one allocation. Throws INVALID_ARGUMENT. */
export function poolShape(options: PoolOptions, granuleBytes: number, maxBytes: number): PoolShape {
  switch (options.kind) {
    case 'pass-through': {
      const maxRequestBytes = Math.floor(maxBytes / granuleBytes) * granuleBytes;
      const slabBytes = (bytes: number) => alignUp(Math.max(bytes, 1), granuleBytes);
      const ranges = (bytes: number) => new WholeRange(bytes);
      return { isShared: false, maxSlabs: Number.POSITIVE_INFINITY, maxRequestBytes, slabBytes, ranges };
    }
    case 'tlsf': {
      const fitting = Math.floor(Math.min(DEFAULT_SLAB_BYTES, maxBytes) / granuleBytes) * granuleBytes;
      const { slabBytes = fitting } = options;
      checkSize('slabBytes', slabBytes);
      const size = alignUp(slabBytes, granuleBytes);
      if (size / granuleBytes > MAX_GRANULES) {
        throw invalidArgument(`a slab of ${size} bytes, expected at most ${MAX_GRANULES} times ${granuleBytes}`);
      }
      const ranges = (bytes: number) => new TlsfRanges(bytes, granuleBytes);
      const maxSlabs = Number.POSITIVE_INFINITY;
      return { isShared: true, maxSlabs, maxRequestBytes: size, slabBytes: () => size, ranges };
    }
    case 'fixed-block': {
      const { blockBytes, blockCount } = options;
      checkSize('blockBytes', blockBytes);
      checkSize('blockCount', blockCount);
      const size = alignUp(blockBytes, granuleBytes);
      const ranges = (bytes: number) => new FixedBlocks(bytes, size);
      const slabBytes = () => size * blockCount;
      return { isShared: true, maxSlabs: 1, maxRequestBytes: size, slabBytes, ranges };
    }
    default:
      // reason: programs without types get here
      throw invalidArgument(`no pool of kind '${String((options as { kind?: unknown }).kind)}'`, {
        hint: 'there is pass-through, tlsf, fixed-block',
      });
  }
}
