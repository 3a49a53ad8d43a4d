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
  /** What is live before instruction `#at` of the part that was walked last, or behind all of that. */
  #live: LaneWords | undefined;
  #at = 0;
  #walked: { readonly block: BasicBlock<I>; readonly first: number; readonly end: number } | undefined;
  /** What was in words before instructions changed them on the walk back: index and word in turn. */
  #log = new Int32Array(0);
  /** Where in it the changes of each instruction of the part end; those of the last one come first. */
  #logEnds = new Int32Array(0);
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
      lanes = this.#lanesOf(words);
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
   * What is live before an instruction, by its number in its block, or behind it; it holds until the next
   * question. Questions in the order of the instructions cost least.
   */
  read(block: BasicBlock<I>, index: number, side: 'before' | 'after'): LaneWords {
    if (side === 'after' && this.#effectsOf(block.instructions[index]!).ends) return new LaneWords(this.#places.count);
    return this.#liveAt(block, index, side === 'before' ? index : index + 1);
  }

  #aroundOf(instruction: I): { readonly before: LiveLanes; readonly after: LiveLanes } {
    let found = this.#around.get(instruction);
    if (!found) {
      const places = this.#found ?? new InstructionPlaces(this.#blocks);
      this.#found = places;
      assert(places.find(instruction), 'an instruction of the blocks');
      const { block, index } = places;
      const before = this.#lanesOf(this.read(block!, index, 'before').words);
      found = { before, after: this.#lanesOf(this.read(block!, index, 'after').words) };
      this.#around.set(instruction, found);
    }
    return found;
  }

  get #size(): number {
    return this.#places.count * 2;
  }

  #lanesOf(words: ArrayLike<number>): LiveLanes {
    const { count } = this.#places;
    return { active: setOf(words, 0, count), inactive: setOf(words, count, count * 2) };
  }

  #behindBlock({ index }: BasicBlock<I>): Int32Array {
    return this.#behind.slice(index * this.#size, (index + 1) * this.#size);
  }

  /** What is live at a place of the part of a block that an instruction is in. */
  #liveAt(block: BasicBlock<I>, index: number, place: number): LaneWords {
    const last = this.#walked;
    const isThere = last?.block === block && last.first <= index && index < last.end;
    const { first } = isThere ? last : this.#walkSegment(block, index);
    const live = this.#live!;
    const { words } = live;
    const log = this.#log;
    const ends = this.#logEnds;
    for (; this.#at < place; this.#at++) {
      const start = ends[this.#at - first + 1]!;
      for (let i = ends[this.#at - first]! - 2; i >= start; i -= 2) words[log[i]!] = log[i + 1]!;
    }
    if (this.#at > place) {
      this.#walk(block, words, this.#at, place);
      this.#at = place;
    }
    return live;
  }

  #walkSegment(block: BasicBlock<I>, index: number): { readonly first: number } {
    const first = index - (index % SEGMENT);
    const end = Math.min(first + SEGMENT, block.instructions.length);
    this.#live ??= new LaneWords(this.#places.count);
    const { words } = this.#live;
    words.set(this.#behindSegment(block, first / SEGMENT));
    const effects = this.#effectsIn(block);
    if (this.#logEnds.length <= end - first) this.#logEnds = new Int32Array(end - first + 1);
    let logged = 0;
    this.#logEnds[end - first] = 0;
    for (let at = end - 1; at >= first; at--) {
      logged = this.#logBefore(effects[at]!, words, logged);
      this.#goBack(effects[at]!, words);
      this.#logEnds[at - first] = logged;
    }
    this.#at = first;
    this.#walked = { block, first, end };
    return this.#walked;
  }

  /** Notes the words that an instruction is going to change. Returns where the log ends then. */
  #logBefore(
    { maskChange, isOpaque, ends, kills, reads, crossReads }: WordEffects,
    words: Words,
    from: number,
  ): number {
    const { count } = this.#places;
    const isAny = maskChange !== 'none' || isOpaque || ends;
    const most = isAny ? words.length * 2 : kills.length + reads.length + crossReads.length;
    if (from + most > this.#log.length) {
      const longer = new Int32Array((from + most) * 2);
      longer.set(this.#log);
      this.#log = longer;
    }
    const log = this.#log;
    let at = from;
    if (isAny) {
      for (let i = 0; i < words.length; i++) {
        log[at++] = i;
        log[at++] = words[i]!;
      }
      return at;
    }
    for (let i = 0; i < kills.length; i += 2) {
      log[at++] = kills[i]!;
      log[at++] = words[kills[i]!]!;
    }
    for (let i = 0; i < reads.length; i += 2) {
      log[at++] = reads[i]!;
      log[at++] = words[reads[i]!]!;
    }
    for (let i = 0; i < crossReads.length; i += 2) {
      log[at++] = count + crossReads[i]!;
      log[at++] = words[count + crossReads[i]!]!;
    }
    return at;
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
    for (let index = end - 1; index >= first; index--) this.#goBack(effects[index]!, words);
  }

  /** What is live behind an instruction becomes what is live before it. */
  #goBack(effects: WordEffects, words: Words): void {
    const { count, everything, rows } = this.#places;
    if (effects.ends) words.fill(0);
    else if (effects.isOpaque) for (let i = 0; i < count * 2; i++) words[i] = everything[i]!;
    else {
      const { maskChange, kills, reads, crossReads } = effects;
      if (maskChange !== 'none') changeMask(maskChange, words, rows);
      for (let i = 0; i < kills.length; i += 2) words[kills[i]!]! &= ~kills[i + 1]!;
      for (let i = 0; i < reads.length; i += 2) words[reads[i]!]! |= reads[i + 1]!;
      for (let i = 0; i < crossReads.length; i += 2) words[count + crossReads[i]!]! |= crossReads[i + 1]!;
    }
  }
}

/** Lanes that are taken off may come from the active ones, lanes that are added from the others. */
function changeMask(change: MaskChange, words: Words, rows: readonly number[]): void {
  const count = rows.length;
  for (let i = 0; i < count; i++) {
    const active = words[i]!;
    const inactive = words[count + i]!;
    if (change !== 'grows') words[i] = active | inactive;
    if (change !== 'shrinks') words[count + i] = inactive | (active & rows[i]!);
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
