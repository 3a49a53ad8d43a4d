/** Which parts of a piece of memory are given out: offsets only, no bytes. */
import { alignUp } from '../../../base/align.ts';

/** Ranges of one slab. They do not overlap, and begin and end at multiples of the granule. */
export interface RangeAllocator {
  /** Bytes that a request takes. */
  takenBytes(sizeBytes: number): number;
  /** Offset of a free range, which is the caller's now; undefined where no free range is large enough. */
  allocate(sizeBytes: number): number | undefined;
  /** Takes a range back that `allocate` gave. */
  free(offsetBytes: number): void;
}

/** Blocks of one size; the one that was freed last is given out first. */
export class FixedBlocks implements RangeAllocator {
  readonly #blockBytes: number;
  readonly #count: number;
  readonly #free: number[] = [];
  /** Blocks from here on were never given out. */
  #fresh = 0;

  constructor(sizeBytes: number, blockBytes: number) {
    this.#blockBytes = blockBytes;
    this.#count = Math.floor(sizeBytes / blockBytes);
  }

  takenBytes(): number {
    return this.#blockBytes;
  }

  allocate(sizeBytes: number): number | undefined {
    if (sizeBytes > this.#blockBytes) return undefined;
    const offset = this.#free.pop();
    if (offset !== undefined || this.#fresh === this.#count) return offset;
    return this.#fresh++ * this.#blockBytes;
  }

  free(offsetBytes: number): void {
    this.#free.push(offsetBytes);
  }
}

/** All of the memory at once, or nothing. */
export class WholeRange implements RangeAllocator {
  readonly #sizeBytes: number;
  #isTaken = false;

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
  }

  takenBytes(): number {
    return this.#sizeBytes;
  }

  allocate(sizeBytes: number): number | undefined {
    if (this.#isTaken || sizeBytes > this.#sizeBytes) return undefined;
    this.#isTaken = true;
    return 0;
  }

  free(): void {
    this.#isTaken = false;
  }
}

/** A part of the slab, free or given out; neighbours of a free one are given out. */
interface Block {
  /** In granules, as the size. */
  readonly offset: number;
  size: number;
  isFree: boolean;
  /** The blocks beside it in memory. */
  before: Block | undefined;
  after: Block | undefined;
  /** The blocks beside it in the list of its class, while it is free. */
  previous: Block | undefined;
  next: Block | undefined;
}

/** Classes of sizes between two powers of two, as a power of two itself. */
const CLASS_BITS = 4;
const CLASSES = 2 ** CLASS_BITS;
/** Of first level 0 come sizes below `CLASSES`, each with a class of its own. */
const LEVELS = 33 - CLASS_BITS;
/** What one `TlsfRanges` can divide. */
export const MAX_GRANULES = 2 ** 32 - 1;

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits);
const floorLog2 = (value: number): number => 31 - Math.clz32(value);

function classOf(size: number): number {
  if (size < CLASSES) return size;
  const log2 = floorLog2(size);
  return (log2 - CLASS_BITS + 1) * CLASSES + ((size >>> (log2 - CLASS_BITS)) & (CLASSES - 1));
}

/**
 * Two-level segregated fit (Masmano and others, 2004): free ranges in lists by size, found by two bit maps.
 * Giving out and taking back cost the same for any number of ranges, except where only ranges of the
 * request's own class are left: these are looked through, so that what fits is found.
 */
export class TlsfRanges implements RangeAllocator {
  readonly #granuleBytes: number;
  readonly #heads: (Block | undefined)[] = new Array(LEVELS * CLASSES).fill(undefined);
  /** Which levels have a free block, and which classes of each level. */
  #levels = 0;
  readonly #classes = new Uint32Array(LEVELS);
  readonly #taken = new Map<number, Block>();

  /** Up to 2^32 - 1 granules; what is left behind the last whole one is not given out. */
  constructor(sizeBytes: number, granuleBytes: number) {
    this.#granuleBytes = granuleBytes;
    const size = Math.min(Math.floor(sizeBytes / granuleBytes), MAX_GRANULES);
    const links = { before: undefined, after: undefined, previous: undefined, next: undefined };
    if (size > 0) this.#insert({ offset: 0, size, isFree: true, ...links });
  }

  takenBytes(sizeBytes: number): number {
    return alignUp(Math.max(sizeBytes, 1), this.#granuleBytes);
  }

  allocate(sizeBytes: number): number | undefined {
    const size = this.takenBytes(sizeBytes) / this.#granuleBytes;
    const block = size > MAX_GRANULES ? undefined : this.#find(size);
    if (block === undefined) return undefined;
    this.#remove(block);
    if (block.size > size) {
      const { after } = block;
      const links = { before: block, after, previous: undefined, next: undefined };
      const rest: Block = { offset: block.offset + size, size: block.size - size, isFree: true, ...links };
      if (after !== undefined) after.before = rest;
      block.after = rest;
      block.size = size;
      this.#insert(rest);
    }
    block.isFree = false;
    this.#taken.set(block.offset, block);
    return block.offset * this.#granuleBytes;
  }

  free(offsetBytes: number): void {
    const offset = offsetBytes / this.#granuleBytes;
    let block = this.#taken.get(offset)!;
    this.#taken.delete(offset);
    const { before, after } = block;
    if (before?.isFree === true) {
      this.#remove(before);
      block = join(before, block);
    }
    if (after?.isFree === true) {
      this.#remove(after);
      block = join(block, after);
    }
    block.isFree = true;
    this.#insert(block);
  }

  #find(size: number): Block | undefined {
    // All blocks of the class of the size rounded up are large enough.
    const step = size < CLASSES ? 1 : 2 ** (floorLog2(size) - CLASS_BITS);
    const rounded = size + step - 1;
    const found = rounded > MAX_GRANULES ? undefined : this.#firstFrom(classOf(rounded));
    if (found !== undefined) return found;
    let block = this.#heads[classOf(size)];
    while (block !== undefined && block.size < size) block = block.next;
    return block;
  }

  /** A block of this class, or of the next one that has any. */
  #firstFrom(start: number): Block | undefined {
    let level = Math.floor(start / CLASSES);
    let classes = this.#classes[level]! & (-1 << (start % CLASSES));
    if (classes === 0) {
      const levels = this.#levels & (-1 << (level + 1));
      if (levels === 0) return undefined;
      level = lowestBit(levels);
      classes = this.#classes[level]!;
    }
    return this.#heads[level * CLASSES + lowestBit(classes)];
  }

  #insert(block: Block): void {
    const index = classOf(block.size);
    const next = this.#heads[index];
    block.previous = undefined;
    block.next = next;
    if (next !== undefined) next.previous = block;
    this.#heads[index] = block;
    const level = Math.floor(index / CLASSES);
    this.#classes[level]! |= 1 << (index % CLASSES);
    this.#levels |= 1 << level;
  }

  #remove({ previous, next, size }: Block): void {
    if (next !== undefined) next.previous = previous;
    if (previous !== undefined) {
      previous.next = next;
      return;
    }
    const index = classOf(size);
    this.#heads[index] = next;
    if (next !== undefined) return;
    const level = Math.floor(index / CLASSES);
    this.#classes[level]! &= ~(1 << (index % CLASSES));
    if (this.#classes[level] === 0) this.#levels &= ~(1 << level);
  }
}

/** Two neighbours as one block, which is the first of them. */
function join(first: Block, second: Block): Block {
  first.size += second.size;
  first.after = second.after;
  if (second.after !== undefined) second.after.before = first;
  return first;
}
