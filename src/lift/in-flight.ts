/**
 * Memory accesses in flight: registers that they may still write or read before each step, and the waits
 * after which they no longer do ("Data Dependency Resolution", CDNA2 ISA 4.4, RDNA2 ISA 4.4, RDNA3 ISA 5.6,
 * RDNA4 ISA 5.7). Stores take their data when they are issued; only exports and accesses to the GDS read
 * registers later, which EXP_CNT counts.
 */
import { type BasicBlock, blockGraph } from '../flow/blocks.ts';
import { solveDataFlow } from '../flow/data-flow.ts';
import type { FlowGraph } from '../flow/graph.ts';
import { registerNumber } from '../flow/steps.ts';
import type { Effects, RegisterRange, WaitCounter } from '../ir/effects.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

/** An access to a register that may not be over. */
export interface OpenAccess {
  readonly counter: WaitCounter;
  /** One of the steps that started the access: the last on some way. */
  readonly producer: AmdgpuStep;
  readonly register: number;
  readonly access: 'read' | 'write';
}

/** The same by what has to be waited for. */
export interface PendingAccess extends OpenAccess {
  /** A wait for the counter with at most this number left is enough. */
  readonly left: number;
}

export interface InFlightOptions {
  /** `nothing` for kernels; a function may be entered while anything is in flight. */
  readonly atEntry: 'nothing' | 'unknown';
  /**
   * What is in flight behind a call: `nothing` where callees wait for all before they return, as those do
   * that LLVM compiles; `followed` where the graph leads through callees.
   */
  readonly afterCalls: 'nothing' | 'unknown' | 'followed';
  /** What leaves nodes that stand for code which is not known; undefined for all others. */
  readonly behindNode?: (node: number) => InFlight | undefined;
  /** A step that is taken not to wait. */
  readonly without?: AmdgpuStep;
}

/** A kind of accesses that were started before what is analysed. */
const FROM_ELSEWHERE = 'unordered, from elsewhere';
/** No counter of any generation goes higher: beyond it ages need not be told apart. */
const MAX_AGE = 64;
const NO_NUMBERS: readonly number[] = [];
/** Counters of accesses that write or read registers. */
const REGISTER_COUNTERS: readonly WaitCounter[] = [
  ...(['vmcnt', 'lgkmcnt', 'expcnt'] as const),
  ...(['loadcnt', 'samplecnt', 'bvhcnt', 'dscnt', 'kmcnt'] as const),
];

/** Accesses of one kind are done in the order of their start, unless the kind is unordered. */
function kindOf({ instruction: { format, families } }: AmdgpuStep): string {
  if (format.name === 'FLAT' && families.includes('gfx9')) return 'unordered flat';
  if (format.name === 'SMEM') return 'unordered scalar';
  if (format.name === 'MIMG' && !families.includes('gfx9')) return 'image';
  if (format.name === 'DS' || format.name === 'VSAMPLE' || format.name.startsWith('SOP')) return format.name;
  return 'vector memory';
}

interface Entry extends OpenAccess {
  /** How many accesses of the counter were started before, from where the state began to count. */
  readonly order: number;
}

/** What a counter counts at a place. States share it. */
interface Counting {
  readonly kinds: ReadonlySet<string>;
  /** Accesses started so far, and the first of them that may still be in flight. */
  readonly issued: number;
  readonly oldest: number;
}

const NOT_COUNTING: Counting = { kinds: new Set(), issued: 0, oldest: 0 };

const onlyKinds = new Map<string, ReadonlySet<string>>();

/** The set of one kind; there are few. */
function onlyKind(kind: string): ReadonlySet<string> {
  let only = onlyKinds.get(kind);
  if (!only) {
    only = new Set([kind]);
    onlyKinds.set(kind, only);
  }
  return only;
}

const NO_ENTRIES: Entry[] = [];

const isSame = (a: Entry, b: Entry): boolean =>
  a.counter === b.counter && a.access === b.access && a.register === b.register;

function numbersOf(ranges: readonly RegisterRange[]): number[] {
  const numbers: number[] = [];
  for (const { file, first, dwords } of ranges) {
    for (let index = first; index < first + dwords; index++) numbers.push(registerNumber(file, index));
  }
  return numbers;
}

/** What a step starts. */
interface Start {
  readonly kind: string;
  /** Registers by number. */
  readonly written: readonly number[];
  /** What exports and the like read, when they count. */
  readonly read: readonly number[];
}

/** Steps of one encoding share their effects. */
const starts = new WeakMap<Effects, Start>();

function startOf(step: AmdgpuStep): Start {
  const { effects } = step;
  let start = starts.get(effects);
  if (!start) {
    const read = effects.reads.filter(({ file }) => file !== 'scalar');
    start = { kind: kindOf(step), written: numbersOf(effects.writes), read: numbersOf(read) };
    starts.set(effects, start);
  }
  return start;
}

/** What is in flight at one place. A state that is handed out holds until its walk goes on. */
export class InFlight {
  readonly #entries = new Map<number, Entry[]>();
  readonly #counting = new Map<WaitCounter, Counting>();
  /** Accesses whose registers are not known: of images, and from before what is analysed. */
  readonly #unknown = new Set<WaitCounter>();
  /** All of them, until something changes. */
  #all: readonly Entry[] | undefined;

  static unknown(): InFlight {
    const state = new InFlight();
    state.#forget();
    return state;
  }

  /** Counters of accesses in flight of which it is not known what they write: 0 may be left of them. */
  get unknown(): ReadonlySet<WaitCounter> {
    return this.#unknown;
  }

  /** Counters of accesses that may have been started before what is analysed. */
  get fromElsewhere(): readonly WaitCounter[] {
    return [...this.#counting].flatMap(([counter, { kinds }]) => (kinds.has(FROM_ELSEWHERE) ? [counter] : []));
  }

  /** All registers that accesses in flight may still write or read; the list stays as it is. */
  get accesses(): readonly OpenAccess[] {
    if (!this.#all) {
      // Most registers have one entry: a list that grows would take memory again and again.
      const all = this.#entries.size === 0 ? NO_ENTRIES : new Array<Entry>(this.#entries.size);
      let count = 0;
      this.#entries.forEach((entries) => {
        for (let i = 0; i < entries.length; i++) {
          if (!this.#isOver(entries[i]!)) all[count++] = entries[i]!;
        }
      });
      if (all !== NO_ENTRIES) all.length = count;
      this.#all = all;
    }
    return this.#all;
  }

  get pending(): readonly PendingAccess[] {
    return [...this.#entries.values()].flatMap((entries) => entries.flatMap((each) => this.#pending(each) ?? []));
  }

  /** A wait for the counter of one of `accesses` with at most this number left is enough. */
  leftOf({ counter, register, access }: Pick<OpenAccess, 'counter' | 'register' | 'access'>): number {
    const isIt = (each: Entry): boolean => each.counter === counter && each.access === access;
    return this.#left(this.#entries.get(register)!.find(isIt)!);
  }

  /** What has to be over before registers may be read, or written. */
  neededFor(ranges: readonly RegisterRange[], access: 'read' | 'write'): PendingAccess[] {
    return [...new Set(numbersOf(ranges))].flatMap((register) =>
      (this.#entries.get(register) ?? []).flatMap((entry) => {
        if (access === 'read' && entry.access === 'read') return [];
        return this.#pending(entry) ?? [];
      }),
    );
  }

  /** What has to be over before the step, and is not yet, also when it has waited itself. */
  neededBefore(step: AmdgpuStep): PendingAccess[] {
    const effects = step.effects;
    const kind = kindOf(step);
    const written = new Set(numbersOf(effects.writes));
    // Accesses that are done in the order of their start may write a register one after the other, each a
    // part of it.
    const isInOrder = ({ counter, access, register }: PendingAccess): boolean =>
      access === 'write' && written.has(register) && effects.counters.has(counter) && this.#isOrdered(counter, kind);
    const reads = this.neededFor(effects.reads, 'read');
    const writes = this.neededFor(effects.writes, 'write');
    return [...reads, ...writes].filter((pending) => !isInOrder(pending));
  }

  /** The step waits. */
  wait(step: AmdgpuStep): void {
    const { waits } = step.effects;
    if (waits.size === 0) return;
    for (const [counter, left] of waits) {
      if (left === 0) this.#unknown.delete(counter);
      const counting = this.#counting.get(counter);
      if (!counting || (left > 0 && !this.#isOrdered(counter))) continue;
      const oldest = Math.max(counting.oldest, counting.issued - left);
      this.#counting.set(counter, { ...counting, oldest, kinds: left === 0 ? NOT_COUNTING.kinds : counting.kinds });
    }
    this.#all = undefined;
    this.#dropOver();
  }

  #dropOver(): void {
    this.#entries.forEach((entries, register) => {
      if (entries.length === 1 ? !this.#isOver(entries[0]!) : !entries.some((each) => this.#isOver(each))) return;
      const left = entries.length === 1 ? [] : entries.filter((each) => !this.#isOver(each));
      if (left.length === 0) this.#entries.delete(register);
      else this.#entries.set(register, left);
    });
  }

  /** The step starts an access. */
  start(step: AmdgpuStep): void {
    const { counters, writesAnyOf } = step.effects;
    if (counters.size === 0) return;
    this.#all = undefined;
    const { kind, written, read } = startOf(step);
    for (let i = 0; i < written.length; i++) this.#entries.delete(written[i]!);
    for (const counter of counters) {
      const { kinds, issued, oldest } = this.#counting.get(counter) ?? NOT_COUNTING;
      const withKind = kinds.has(kind) ? kinds : kinds.size === 0 ? onlyKind(kind) : new Set([...kinds, kind]);
      this.#counting.set(counter, { kinds: withKind, issued: issued + 1, oldest });
      if (writesAnyOf.size > 0) this.#unknown.add(counter);
      const isRead = counter === 'expcnt' && step.instruction.format.name !== 'LDSDIR';
      const registers = isRead ? read : written;
      for (let i = 0; i < registers.length; i++) {
        const register = registers[i]!;
        this.#add({ register, counter, access: isRead ? 'read' : 'write', producer: step, order: issued });
      }
    }
  }

  /** A call: whatever it did is in flight, or nothing. */
  call(after: 'nothing' | 'unknown'): void {
    this.#all = undefined;
    this.#entries.clear();
    this.#counting.clear();
    this.#unknown.clear();
    if (after === 'unknown') this.#forget();
  }

  /** A copy that walks may change; lists of entries are shared, as they never change. */
  clone(): InFlight {
    const copy = new InFlight();
    this.#counting.forEach((counting, counter) => {
      copy.#counting.set(counter, counting);
    });
    this.#entries.forEach((entries, register) => {
      copy.#entries.set(register, entries.some((each) => this.#age(each) > MAX_AGE) ? this.#aged(entries) : entries);
    });
    this.#unknown.forEach((counter) => {
      copy.#unknown.add(counter);
    });
    return copy;
  }

  /** What is in flight here or there; the state itself where the other one adds nothing. */
  join(other: InFlight): InFlight {
    if (this.#isNothing) return other;
    if (other === this || other.#isNothing) return this;
    const joined = this.clone();
    joined.#meet(other);
    return joined;
  }

  /** Nothing was ever started. */
  get #isNothing(): boolean {
    return this.#counting.size === 0 && this.#unknown.size === 0;
  }

  equals(other: InFlight): boolean {
    if (other === this) return true;
    if (this.#entries.size !== other.#entries.size || this.#unknown.size !== other.#unknown.size) return false;
    for (const counter of this.#unknown) if (!other.#unknown.has(counter)) return false;
    if (!this.#hasKindsOf(other) || !other.#hasKindsOf(this)) return false;
    for (const [register, entries] of this.#entries) {
      const others = other.#entries.get(register);
      if (others?.length !== entries.length) return false;
      for (const entry of entries) {
        const same = others.find((each) => isSame(each, entry));
        if (!same || Math.min(this.#age(entry), MAX_AGE) !== Math.min(other.#age(same), MAX_AGE)) return false;
      }
    }
    return true;
  }

  #hasKindsOf(other: InFlight): boolean {
    for (const [counter, { kinds }] of other.#counting) {
      const own = this.#counting.get(counter)?.kinds;
      for (const kind of kinds) if (!own?.has(kind)) return false;
    }
    return true;
  }

  /** How many accesses of its counter were started since, and itself. */
  #age({ counter, order }: Entry): number {
    return this.#counting.get(counter)!.issued - order;
  }

  #aged(entries: readonly Entry[]): Entry[] {
    return entries.map((each) => {
      const age = this.#age(each);
      return age > MAX_AGE ? { ...each, order: each.order + age - MAX_AGE } : each;
    });
  }

  /** Adds what is in flight in another state, to one that has nothing that is over. */
  #meet(other: InFlight): void {
    this.#all = undefined;
    for (const [counter, theirs] of other.#counting) {
      const own = this.#counting.get(counter) ?? NOT_COUNTING;
      const issued = Math.max(own.issued, theirs.issued);
      const oldest = Math.min(own.oldest + issued - own.issued, theirs.oldest + issued - theirs.issued);
      this.#moveTo(counter, issued);
      this.#counting.set(counter, { kinds: new Set([...own.kinds, ...theirs.kinds]), issued, oldest });
    }
    for (const entries of other.#entries.values()) {
      for (const entry of entries) {
        const pending = other.#pending(entry);
        if (!pending) continue;
        const age = other.#counting.get(entry.counter)!.issued - entry.order;
        this.#add({ ...entry, order: this.#counting.get(entry.counter)!.issued - Math.min(age, MAX_AGE) });
      }
    }
    for (const counter of other.#unknown) this.#unknown.add(counter);
  }

  #forget(): void {
    for (const counter of REGISTER_COUNTERS) {
      this.#unknown.add(counter);
      this.#counting.set(counter, { ...NOT_COUNTING, kinds: new Set([FROM_ELSEWHERE]) });
    }
  }

  #isOrdered(counter: WaitCounter, also?: string): boolean {
    const { kinds } = this.#counting.get(counter) ?? NOT_COUNTING;
    if (kinds.size > 1) return false;
    const [kind = also] = kinds;
    return kind !== undefined && (also ?? kind) === kind && !kind.startsWith('unordered');
  }

  #isOver({ counter, order }: Entry): boolean {
    return order < this.#counting.get(counter)!.oldest;
  }

  #left({ counter, order }: Entry): number {
    return this.#isOrdered(counter) ? this.#counting.get(counter)!.issued - order - 1 : 0;
  }

  #pending(entry: Entry): PendingAccess | undefined {
    const { counter, register, access, producer } = entry;
    return this.#isOver(entry) ? undefined : { counter, left: this.#left(entry), producer, register, access };
  }

  /** Keeps of two accesses the later one. */
  #add(entry: Entry): void {
    const others = this.#entries.get(entry.register);
    if (!others) {
      this.#entries.set(entry.register, [entry]);
      return;
    }
    const same = others.find((other) => isSame(other, entry));
    if (same && same.order >= entry.order) return;
    this.#entries.set(entry.register, [...others.filter((other) => other !== same), entry]);
  }

  /** Counts from elsewhere, so that `issued` accesses were started so far. */
  #moveTo(counter: WaitCounter, issued: number): void {
    const by = issued - (this.#counting.get(counter) ?? NOT_COUNTING).issued;
    if (by === 0) return;
    for (const [register, entries] of this.#entries) {
      const moved = entries.map((entry) => (entry.counter === counter ? { ...entry, order: entry.order + by } : entry));
      this.#entries.set(register, moved);
    }
  }
}

/**
 * What is in flight before each step of blocks, over all ways through them: from entries on along the blocks,
 * or as a graph says whose nodes they are.
 */
export class InFlightAnalysis {
  readonly #entering: readonly InFlight[];
  /** By block, the numbers of the steps that may wait for anything, or start it. */
  readonly #changing: readonly (readonly number[])[];
  readonly #options: InFlightOptions;
  /**
   * Where the last question was, so that questions in order cost no more than a walk; with a copy of the
   * state that the block is entered with, once something has changed it.
   */
  #last: { readonly block: BasicBlock<AmdgpuStep>; index: number; changes: number; state: InFlight } | undefined;

  constructor(
    blocks: readonly BasicBlock<AmdgpuStep>[],
    where: readonly BasicBlock<AmdgpuStep>[] | FlowGraph,
    options: InFlightOptions,
  ) {
    this.#options = options;
    const graph = 'successors' in where ? where : blockGraph(blocks, where);
    this.#changing = blocks.map((block) => this.#changesIn(block));
    const { incoming } = solveDataFlow<InFlight>(graph, {
      direction: 'forward',
      nothing: new InFlight(),
      outside: options.atEntry === 'nothing' ? new InFlight() : InFlight.unknown(),
      join: (a, b) => a.join(b),
      equals: (a, b) => a.equals(b),
      transfer: (node, state) => {
        const fixed = options.behindNode?.(node);
        if (fixed) return fixed;
        const changes = this.#changing[node] ?? NO_NUMBERS;
        if (changes.length === 0) return state;
        const after = state.clone();
        for (let i = 0; i < changes.length; i++) this.#pass(after, blocks[node]!.instructions[changes[i]!]!);
        return after;
      },
    });
    this.#entering = incoming;
  }

  /**
   * The steps of a block, each with what is in flight before it and, with `hasWaited`, behind its own waits.
   */
  *walk(block: BasicBlock<AmdgpuStep>, hasWaited = false): Generator<InFlightPlace> {
    const state = this.#entering[block.index]!.clone();
    for (const step of block.instructions) {
      if (!hasWaited) yield { step, state };
      this.#wait(state, step);
      if (hasWaited) yield { step, state };
      this.#start(state, step);
    }
  }

  /** What is in flight before a step, by its number in its block; it holds until the next question. */
  before(block: BasicBlock<AmdgpuStep>, index: number): InFlight {
    let last = this.#last;
    if (last?.block !== block || last.index > index) {
      last = { block, index: 0, changes: 0, state: this.#entering[block.index]! };
      this.#last = last;
    }
    last.index = index;
    const changing = this.#changing[block.index]!;
    for (; changing[last.changes]! < index; last.changes++) {
      if (last.changes === 0) last.state = last.state.clone();
      this.#pass(last.state, block.instructions[changing[last.changes]!]!);
    }
    return last.state;
  }

  #changesIn({ instructions }: BasicBlock<AmdgpuStep>): readonly number[] {
    const numbers: number[] = [];
    for (let number = 0; number < instructions.length; number++) {
      const { effects, control } = instructions[number]!;
      if (effects.waits.size > 0 || effects.counters.size > 0 || control === 'call') numbers.push(number);
    }
    return numbers;
  }

  #pass(state: InFlight, step: AmdgpuStep): void {
    this.#wait(state, step);
    this.#start(state, step);
  }

  #wait(state: InFlight, step: AmdgpuStep): void {
    if (step !== this.#options.without) state.wait(step);
  }

  #start(state: InFlight, step: AmdgpuStep): void {
    const { afterCalls } = this.#options;
    if (step.control === 'call' && afterCalls !== 'followed') state.call(afterCalls);
    state.start(step);
  }
}

export interface InFlightPlace {
  readonly step: AmdgpuStep;
  readonly state: InFlight;
}
