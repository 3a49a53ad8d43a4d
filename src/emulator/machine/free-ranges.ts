/**
 * Free address ranges of whole pages. Taking and giving back cost the same however many there are, but where
 * memory is nearly full.
 */
import { alignUp } from '../../base/align.ts';
import { assert } from '../../base/errors.ts';
import { PAGE_SIZE_BYTES } from './layout.ts';

/** Ranges of about the wanted size that are looked at before a larger one is cut. */
const MAX_TRIES = 16;
const BIN_COUNT = 21;

/** Bin of a range: those of bin n have at least 2^n pages and less than twice as many. */
const binOf = (sizeBytes: number): number => Math.floor(Math.log2(sizeBytes / PAGE_SIZE_BYTES));

/** Member of a ring; the ring's own member, which is no range, starts and ends it. */
class Range {
  readonly start: number;
  readonly end: number;
  previous: Range = this;
  next: Range = this;

  constructor(start: number, end: number) {
    this.start = start;
    this.end = end;
  }
}

export class FreeRanges {
  readonly #byStart = new Map<number, Range>();
  readonly #byEnd = new Map<number, Range>();
  /** The range that is free longest first, so that memory is used again late. */
  readonly #bins = Array.from({ length: BIN_COUNT }, () => new Range(0, 0));

  /**
   * Returns the start of `sizeBytes` (whole pages) at a multiple of `alignment`, undefined when no range has
   * them.
   */
  take(sizeBytes: number, alignment: number): number | undefined {
    const range = this.#find(sizeBytes, alignment);
    if (!range) return undefined;
    this.#remove(range);
    const start = alignUp(range.start, alignment);
    if (start > range.start) this.#add(range.start, start);
    if (start + sizeBytes < range.end) this.#add(start + sizeBytes, range.end);
    return start;
  }

  #find(sizeBytes: number, alignment: number): Range | undefined {
    const fits = (range: Range): boolean => alignUp(range.start, alignment) + sizeBytes <= range.end;
    const ownBin = binOf(sizeBytes);
    const first = this.#search(ownBin, fits, MAX_TRIES);
    if (first) return first;
    // Of the bins above this one every range is large enough, wherever it starts.
    for (let bin = binOf(sizeBytes + alignment - PAGE_SIZE_BYTES) + 1; bin < BIN_COUNT; bin++) {
      const { next } = this.#bins[bin]!;
      if (next !== this.#bins[bin]) return next;
    }
    for (let bin = ownBin; bin < BIN_COUNT; bin++) {
      const found = this.#search(bin, fits, Number.POSITIVE_INFINITY);
      if (found) return found;
    }
    return undefined;
  }

  #search(bin: number, fits: (range: Range) => boolean, maxTries: number): Range | undefined {
    const ring = this.#bins[bin]!;
    let range = ring.next;
    for (let tries = 0; range !== ring && tries < maxTries; tries++, range = range.next) if (fits(range)) return range;
    return undefined;
  }

  /** Joins the range with its free neighbours. `isNext`: it shall be the first of its size to be taken. */
  giveBack(start: number, end: number, isNext = false): void {
    assert(!this.#byStart.has(start), 'freed memory is in use once');
    const [before, after] = [this.#byEnd.get(start), this.#byStart.get(end)];
    if (before) this.#remove(before);
    if (after) this.#remove(after);
    this.#add(before?.start ?? start, after?.end ?? end, isNext);
  }

  #add(start: number, end: number, isFirst = false): void {
    const range = new Range(start, end);
    const ring = this.#bins[binOf(end - start)]!;
    range.previous = isFirst ? ring : ring.previous;
    range.next = range.previous.next;
    range.previous.next = range;
    range.next.previous = range;
    this.#byStart.set(start, range);
    this.#byEnd.set(end, range);
  }

  #remove(range: Range): void {
    range.previous.next = range.next;
    range.next.previous = range.previous;
    this.#byStart.delete(range.start);
    this.#byEnd.delete(range.end);
  }
}
