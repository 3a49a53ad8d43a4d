/**
 * Sets of places as 32-bit words, for analyses that go through all of the code: a word that stays as it was
 * costs nothing.
 */

/** Sets of places, scalars and rows, as bits. */
export interface LiveLanes {
  /** Read before they are overwritten: scalars, and rows in a lane that is active here. */
  readonly active: bigint;
  /** Rows that are read, before they are overwritten, in a lane that is off here. */
  readonly inactive: bigint;
}

const WORD_BITS = 32;
const WIDE_BITS = 64n;

/** How many words hold the places of a set. */
export const wordCountOf = (places: bigint): number => Math.ceil(places.toString(16).length / (WORD_BITS / 4));

/** Visits the words of a set that are not 0, from the lowest on. */
function forEachWord(places: bigint, visit: (index: number, word: number) => void): void {
  let index = 0;
  for (let rest = places; rest !== 0n; rest >>= WIDE_BITS, index += 2) {
    const wide = BigInt.asUintN(64, rest);
    if (wide === 0n) continue;
    const low = Number(wide & 0xffff_ffffn) | 0;
    const high = Number(wide >> 32n) | 0;
    if (low !== 0) visit(index, low);
    if (high !== 0) visit(index + 1, high);
  }
}

/** Live places of one point, in words that may be read and written again and again. */
export class LaneWords implements LiveLanes {
  /** Those of `active`, then as many of `inactive`. */
  readonly words: Int32Array;
  readonly wordCount: number;

  constructor(wordCount: number) {
    this.wordCount = wordCount;
    this.words = new Int32Array(wordCount * 2);
  }

  /** What has words already stays the same object. */
  static of(lanes: LiveLanes, wordCount: number): LaneWords {
    if (lanes instanceof LaneWords) return lanes;
    const made = new LaneWords(wordCount);
    const { words } = made;
    forEachWord(lanes.active, (index, word) => {
      words[index] = word;
    });
    forEachWord(lanes.inactive, (index, word) => {
      words[wordCount + index] = word;
    });
    return made;
  }

  isActive(place: number): boolean {
    return ((this.words[place >>> 5]! >>> (place & (WORD_BITS - 1))) & 1) === 1;
  }

  get active(): bigint {
    return setOf(this.words, 0, this.wordCount);
  }

  get inactive(): bigint {
    return setOf(this.words, this.wordCount, this.words.length);
  }
}

/** The set of the words from `first` to before `end`. */
export function setOf(words: ArrayLike<number>, first: number, end: number): bigint {
  let set = 0n;
  let last = end;
  while (last > first && words[last - 1] === 0) last--;
  for (let index = last - 1; index >= first; index--) set = (set << 32n) | BigInt(words[index]! >>> 0);
  return set;
}

/** Words that an instruction changes: pairs of an index and a mask. */
export type WordMasks = readonly number[];

export const NO_WORDS: WordMasks = [];

/** The words of a set that are not 0. */
export function wordMasks(places: bigint): WordMasks {
  if (places === 0n) return NO_WORDS;
  const masks: number[] = [];
  forEachWord(places, (index, word) => masks.push(index, word));
  return masks;
}
