/**
 * Which registers anything still reads. Scalar registers as usual. A row of a vector register that is
 * overwritten is dead only in the lanes that are active then, so that lanes that are off are looked at apart;
 * a change of the mask of active lanes that only takes lanes off, or only adds some, says which of them
 * become the others. Where control leaves the blocks, everything is live, unless it ends.
 */
import { assert } from '../base/errors.ts';
import type { MaskChange } from '../ir/effects.ts';
import { type BasicBlock, blockGraph } from './blocks.ts';
import { solveDataFlow } from './data-flow.ts';
import type { FlowGraph } from './graph.ts';
import { InstructionPlaces } from './instruction-places.ts';
import { LaneWords, type LiveLanes, NO_WORDS, setOf, type WordMasks, wordCountOf, wordMasks } from './lane-words.ts';

export interface LaneEffects {
  /** Scalars, and rows in the active lanes. */
  readonly reads: bigint;
  /** Rows that are read in other lanes than the active ones. */
  readonly crossReads: bigint;
  readonly scalarWrites: bigint;
  /** Rows that are written in all active lanes. */
  readonly rowWrites: bigint;
  readonly maskChange: MaskChange;
  /** Whether it reads registers that only running it tells. */
  readonly isOpaque: boolean;
  /** Whether nothing runs behind it. */
  readonly ends: boolean;
}

/** All places, and those of them that are rows. */
export interface PlaceSets {
  readonly everything: bigint;
  readonly rows: bigint;
}

const NOTHING: LiveLanes = { active: 0n, inactive: 0n };
/** Of one block the sets at so many instructions are kept; of a longer one, those at every so many others. */
const SEGMENT = 1024;

/** What an instruction changes in the words of a point. */
interface WordEffects {
  readonly maskChange: MaskChange;
  readonly isOpaque: boolean;
  readonly ends: boolean;
  readonly kills: WordMasks;
  readonly reads: WordMasks;
  readonly crossReads: WordMasks;
}

const wordEffects = new WeakMap<LaneEffects, WordEffects>();

function wordEffectsOf(effects: LaneEffects): WordEffects {
  let known = wordEffects.get(effects);
  if (!known) {
    const { maskChange, isOpaque, ends, reads, crossReads, scalarWrites, rowWrites } = effects;
    known = {
      ...{ maskChange, isOpaque, ends },
      kills: wordMasks(scalarWrites | rowWrites),
      reads: wordMasks(reads | crossReads),
      crossReads: crossReads === 0n ? NO_WORDS : wordMasks(crossReads),
    };
    wordEffects.set(effects, known);
  }
  return known;
}

/** The words of all places, and of the rows among them. */
interface PlaceWords {
  readonly count: number;
  /** Of `active`, then of `inactive`. */
  readonly everything: readonly number[];
  readonly nothing: readonly number[];
  readonly rows: readonly number[];
  /** Of sets that were asked for: most are constants. */
  readonly known: WeakMap<LiveLanes, readonly number[]>;
}

const placeWords = new WeakMap<PlaceSets, PlaceWords>();

function placeWordsOf(places: PlaceSets): PlaceWords {
  let known = placeWords.get(places);
  if (!known) {
    const count = wordCountOf(places.everything);
    const everything = LaneWords.of({ active: places.everything, inactive: places.rows }, count).words;
    const nothing = new Array<number>(count * 2).fill(0);
    known = {
      count,
      everything: [...everything],
      nothing,
      rows: [...everything.subarray(count)],
      known: new WeakMap(),
    };
    placeWords.set(places, known);
  }
  return known;
}

export interface LaneLivenessOptions<I> {
  /** What is live where control leaves a block for somewhere else; everything by default. */
  readonly outsideOf?: (block: BasicBlock<I>) => LiveLanes;
  /** That of the blocks, where it is known already. */
  readonly graph?: FlowGraph;
}

/** Which words of sets change backwards through instructions. */
type Words = number[] | Int32Array;

export class LaneLiveness<I> {
  readonly #blocks: readonly BasicBlock<I>[];
  readonly #places: PlaceWords;
  readonly #effectsOf: (instruction: I) => LaneEffects;
  /** Behind each block, words after words. */
  readonly #behind: Int32Array;
  /** Sets that are asked for by block and by instruction. */
  readonly #before = new Map<BasicBlock<I>, LiveLanes>();
  readonly #around = new Map<I, { readonly before: LiveLanes; readonly after: LiveLanes }>();
  #found: InstructionPlaces<I> | undefined;
  readonly #effects: (readonly WordEffects[])[] = [];
  /** Before the instructions of a part of a block, and behind the last: for questions in order. */
  #rows: Int32Array | undefined;
  #walked: { readonly block: BasicBlock<I>; readonly first: number; readonly end: number } | undefined;
  /** Of the longer block that was walked last: behind its segments. */
  #segments: { readonly block: BasicBlock<I>; readonly ends: readonly Words[] } | undefined;

  constructor(
    blocks: readonly BasicBlock<I>[],
    effectsOf: (instruction: I) => LaneEffects,
    places: PlaceSets,
    { outsideOf, graph = blockGraph(blocks, blocks.slice(0, 1)) }: LaneLivenessOptions<I> = {},
  ) {
    this.#blocks = blocks;
    this.#effectsOf = effectsOf;
    this.#places = placeWordsOf(places);
    const { count, nothing, everything } = this.#places;
    const size = count * 2;
    const { known } = this.#places;
    const wordsOf = (lanes: LiveLanes | undefined): readonly number[] => {
      if (!lanes) return everything;
      const words = known.get(lanes) ?? [...LaneWords.of(lanes, count).words];
      known.set(lanes, words);
      return words;
    };
    const behind = (block: BasicBlock<I>, live: readonly number[]): number[] =>
      block.leaves || (!block.next && !block.target) ? union(live, wordsOf(outsideOf?.(block))) : live.slice();
    const { incoming } = solveDataFlow<readonly number[]>(graph, {
      direction: 'backward',
      nothing,
      outside: nothing,
      join: (a, b) => (a === nothing ? b : b === nothing ? a : union(a, b)),
      equals: isEqual,
      transfer: (index, live) => {
        const block = blocks[index]!;
        const words = behind(block, live);
        this.#walk(block, words, block.instructions.length, 0);
        return words;
      },
    });
    this.#behind = new Int32Array(size * blocks.length);
    for (const block of blocks) this.#behind.set(behind(block, incoming[block.index]!), block.index * size);
  }

  before(block: BasicBlock<I>): LiveLanes {
    let lanes = this.#before.get(block);
    if (!lanes) {
      const words = this.#behindBlock(block);
      this.#walk(block, words, block.instructions.length, 0);
      lanes = this.#lanesOf(words, 0);
      this.#before.set(block, lanes);
    }
    return lanes;
  }

  beforeInstruction(instruction: I): LiveLanes {
    return this.#aroundOf(instruction).before;
  }

  after(instruction: I): LiveLanes {
    return this.#aroundOf(instruction).after;
  }

  /**
   * `into` becomes what is live before an instruction, by its number in its block, or behind it. Questions in
   * the order of the instructions cost least.
   */
  read(block: BasicBlock<I>, index: number, side: 'before' | 'after', into: LaneWords): void {
    if (side === 'after' && this.#effectsOf(block.instructions[index]!).ends) {
      into.words.fill(0);
      return;
    }
    const { words } = into;
    const at = this.#rowOf(block, index) + (side === 'before' ? 0 : words.length);
    const rows = this.#rows!;
    for (let i = 0; i < words.length; i++) words[i] = rows[at + i]!;
  }

  #aroundOf(instruction: I): { readonly before: LiveLanes; readonly after: LiveLanes } {
    let found = this.#around.get(instruction);
    if (!found) {
      const places = this.#found ?? new InstructionPlaces(this.#blocks);
      this.#found = places;
      assert(places.find(instruction), 'an instruction of the blocks');
      const at = this.#rowOf(places.block!, places.index);
      const after = this.#effectsOf(instruction).ends ? NOTHING : this.#lanesOf(this.#rows!, at + this.#size);
      found = { before: this.#lanesOf(this.#rows!, at), after };
      this.#around.set(instruction, found);
    }
    return found;
  }

  get #size(): number {
    return this.#places.count * 2;
  }

  #lanesOf(words: ArrayLike<number>, at: number): LiveLanes {
    const { count } = this.#places;
    return { active: setOf(words, at, at + count), inactive: setOf(words, at + count, at + count * 2) };
  }

  #behindBlock({ index }: BasicBlock<I>): Int32Array {
    return this.#behind.slice(index * this.#size, (index + 1) * this.#size);
  }

  /** Where in `#rows` the words before an instruction are; behind them are those behind it. */
  #rowOf(block: BasicBlock<I>, index: number): number {
    const walked = this.#walked;
    const isThere = walked?.block === block && walked.first <= index && index < walked.end;
    const { first } = isThere ? walked : this.#walkSegment(block, index);
    return (index - first) * this.#size;
  }

  #walkSegment(block: BasicBlock<I>, index: number): { readonly first: number } {
    const size = this.#size;
    const first = index - (index % SEGMENT);
    const end = Math.min(first + SEGMENT, block.instructions.length);
    const length = (end - first + 1) * size;
    if (!this.#rows || this.#rows.length < length) this.#rows = new Int32Array(length);
    const rows = this.#rows;
    rows.set(this.#behindSegment(block, first / SEGMENT), length - size);
    const effects = this.#effectsIn(block);
    for (let at = end - 1; at >= first; at--) {
      const row = (at - first) * size;
      rows.copyWithin(row, row + size, row + size * 2);
      this.#goBack(effects[at]!, rows, row);
    }
    this.#walked = { block, first, end };
    return this.#walked;
  }

  #behindSegment(block: BasicBlock<I>, segment: number): Words {
    const { length } = block.instructions;
    if (length <= SEGMENT) return this.#behindBlock(block);
    if (this.#segments?.block !== block) {
      const words = this.#behindBlock(block);
      const ends: Words[] = [];
      for (let end = length; end > 0; ) {
        ends.unshift(words.slice());
        const first = end - 1 - ((end - 1) % SEGMENT);
        this.#walk(block, words, end, first);
        end = first;
      }
      this.#segments = { block, ends };
    }
    return this.#segments.ends[segment]!;
  }

  #effectsIn({ index, instructions }: BasicBlock<I>): readonly WordEffects[] {
    let known = this.#effects[index];
    if (!known) {
      known = instructions.map((each) => wordEffectsOf(this.#effectsOf(each)));
      this.#effects[index] = known;
    }
    return known;
  }

  /** Backwards through the instructions from before `end` to `first`. */
  #walk(block: BasicBlock<I>, words: Words, end: number, first: number): void {
    const effects = this.#effectsIn(block);
    for (let index = end - 1; index >= first; index--) this.#goBack(effects[index]!, words, 0);
  }

  /** The words from `at` on, of what is live behind an instruction, become those before it. */
  #goBack(effects: WordEffects, words: Words, at: number): void {
    const { count, everything, rows } = this.#places;
    if (effects.ends) words.fill(0, at, at + count * 2);
    else if (effects.isOpaque) for (let i = 0; i < count * 2; i++) words[at + i] = everything[i]!;
    else {
      const { maskChange, kills, reads, crossReads } = effects;
      if (maskChange !== 'none') changeMask(maskChange, words, at, rows);
      for (let i = 0; i < kills.length; i += 2) words[at + kills[i]!]! &= ~kills[i + 1]!;
      for (let i = 0; i < reads.length; i += 2) words[at + reads[i]!]! |= reads[i + 1]!;
      for (let i = 0; i < crossReads.length; i += 2) words[at + count + crossReads[i]!]! |= crossReads[i + 1]!;
    }
  }
}

/** Lanes that are taken off may come from the active ones, lanes that are added from the others. */
function changeMask(change: MaskChange, words: Words, at: number, rows: readonly number[]): void {
  const count = rows.length;
  for (let i = 0; i < count; i++) {
    const active = words[at + i]!;
    const inactive = words[at + count + i]!;
    if (change !== 'grows') words[at + i] = active | inactive;
    if (change !== 'shrinks') words[at + count + i] = inactive | (active & rows[i]!);
  }
}

function union(a: readonly number[], b: readonly number[]): number[] {
  const words = a.slice();
  for (let i = 0; i < words.length; i++) words[i]! |= b[i]!;
  return words;
}

function isEqual(a: readonly number[], b: readonly number[]): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
