/**
 * Blocks in the order of the code, and how waves go from one to the next. Where lanes part, those of the side
 * that stands first go on, and the others wait at the other side: a *join*. Who comes to a join from before
 * waits there, too, and all that wait go on together; where nobody waits, the wave goes to the next join.
 */
import { PLACES } from '../machine/places.ts';
import type { PtxSource } from '../text/source.ts';
import { callCode } from './calls.ts';
import type { Exit, FlatBlock } from './flatten.ts';
import { type BlockAddress, type FunctionRegister, type Lir, lir, type RegisterGuard } from './lir.ts';
import { codeOrder } from './order.ts';
import { guardOf, type SelectionParts, selectCode } from './select.ts';
import { withStackAccesses } from './stack-addresses.ts';
import { type ScalarPlaces, type SelectedBlock, uniformRegisters, withScalars } from './uniform.ts';

const NO_SCALARS: ScalarPlaces = new Map();

/** So many joins, or more, lanes go past at once where they are all there are: to ask costs half a join. */
const FAR_JOINS = 3;

/** How a piece of code goes on, by places in the order. */
type Way =
  | { readonly kind: 'goto'; readonly target: number }
  | {
      readonly kind: 'branch';
      readonly condition: FunctionRegister;
      readonly isNegated: boolean;
      readonly taken: number;
      readonly other: number;
      readonly offset: number;
      /** The condition is in a scalar: all lanes go one way. */
      isUniform: boolean;
    }
  /** Those that called wait behind it until all have: the next piece. */
  | { readonly kind: 'called' }
  | { readonly kind: 'leave'; readonly offset: number }
  | { readonly kind: 'none' };

interface Piece {
  readonly code: readonly Lir[];
  readonly way: Way;
}

/** A block of code; `successors`: for what asks where registers are used. */
export interface LinearBlock {
  readonly code: readonly Lir[];
  readonly successors: readonly number[];
  /** Instructions before the place at which lanes go on that waited for the block. */
  readonly joinLength: number;
}

/** Code in its order. */
export interface LinearCode {
  readonly blocks: readonly LinearBlock[];
}

/** What is around the blocks of a function. */
export interface BodyParts extends SelectionParts {
  readonly isKernel: boolean;
  /** Whether it calls functions, in which lanes may end. */
  readonly calls: boolean;
  /** Whether lanes may wait for what others do, so that they have to give way to these. */
  readonly givesWay: boolean;
  /** Whether lanes may give way to others, so that these come to places first that stand behind. */
  readonly hasTurns: boolean;
  /** A register of its own. */
  readonly temporary: (dwords: 1 | 2) => FunctionRegister;
  readonly prologue: readonly Lir[];
  /** Of a function: how it goes back. Where a kernel ends, the lanes end. */
  readonly epilogue: readonly Lir[];
}

export function linearize(parts: BodyParts, blocks: readonly FlatBlock[]): LinearCode {
  const selected = withStackAccesses(blocks.map((block) => selectedBlock(parts, block)));
  const [start, ...others] = selected;
  const whole = [{ ...start!, code: [...parts.prologue, ...start!.code] }, ...others];
  // Functions that are called know nothing of the scalars of their callers.
  const scalars = parts.isKernel && !parts.calls ? uniformRegisters(whole, parts.givesWay) : NO_SCALARS;
  const pieces = piecesOf(parts, blocks, { selected, scalars });
  const joins = joinsOf(pieces, parts);
  const emitter = new Emitter(pieces, joins, { ...parts, scalars });
  const linear = pieces.map((_, place) => emitter.block(place));
  return { blocks: linear.map((block) => ({ ...block, code: withScalars(block.code, scalars, parts.temporary) })) };
}

/** Pieces behind those of the text, by their distance from the end of the function. */
const TURN = 2;
const LAST_PIECES = 3;
const endOf = ({ length }: readonly Piece[]): number => length - LAST_PIECES;

const successorsOf = (exit: Exit): readonly number[] =>
  exit.kind === 'goto' ? [exit.target] : exit.kind === 'branch' ? [exit.other, exit.taken] : [];

/** Whether all lanes of the wave that have not ended are there when it comes to the end. */
const endsAtOnce = ({ isKernel, calls }: BodyParts): boolean => isKernel && !calls;

/** The end of the function, and what is behind it: where no lane of it goes on, and the end of the wave. */
function lastPieces(parts: BodyParts, end: number): readonly Piece[] {
  const { isKernel, epilogue } = parts;
  const code = (...lines: Lir[]): Piece => ({ code: lines, way: { kind: 'none' } });
  const isOver = endsAtOnce(parts);
  const last = isOver ? [] : [lir('wave_more', [PLACES.live], 0, { target: end + TURN })];
  const leave = isOver ? [] : [lir('wave_leave', [PLACES.live], 0)];
  return [
    isKernel ? code(...leave) : code(...epilogue),
    code(...last, lir('wave_end', [], 0)),
    code(...(isOver ? [] : [lir('wave_turn', [], 0)])),
  ];
}

/** How many pieces a block becomes: where both ways of a branch lead back, one of them has one of its own. */
const sizeOf = ({ isCall }: FlatBlock, isDouble: boolean): number => (isCall ? 3 : isDouble ? 2 : 1);

function selectedCode(parts: BodyParts, code: FlatBlock['code']): readonly Lir[] {
  const selected: Lir[] = [];
  for (const each of code) selected.push(...selectCode(parts, each));
  return selected;
}

/** A call through a pointer becomes several pieces, of which none is looked at here. */
function selectedBlock(parts: BodyParts, { code, exit, isCall }: FlatBlock): SelectedBlock {
  return {
    code: isCall ? [] : selectedCode(parts, code),
    successors: successorsOf(exit),
    condition: exit.kind === 'branch' ? conditionOf(parts.source, exit).register : undefined,
  };
}

function piecesOf(
  parts: BodyParts,
  blocks: readonly FlatBlock[],
  { selected, scalars }: { readonly selected: readonly SelectedBlock[]; readonly scalars: ScalarPlaces },
): readonly Piece[] {
  const { source, frame, prologue } = parts;
  const { slots, target } = codeOrder(blocks.map(({ exit }) => successorsOf(exit)));
  const isDouble = slots.map((slot, index) => {
    const exit = slot.kind === 'block' ? blocks[slot.block]!.exit : undefined;
    return exit?.kind === 'branch' && slot.kind === 'block' && isBackTwice(exit, slot.block, index, target);
  });
  const places: number[] = [];
  const headers = new Map<number, number>();
  let end = 0;
  slots.forEach((slot, index) => {
    places.push(end);
    if (slot.kind === 'block') headers.set(slot.block, end);
    end += slot.kind === 'latch' ? 1 : sizeOf(blocks[slot.block]!, isDouble[index]!);
  });
  const pieces: Piece[] = [];
  slots.forEach((slot, index) => {
    if (slot.kind === 'latch') {
      pieces.push({ code: [], way: { kind: 'goto', target: headers.get(slot.header)! } });
      return;
    }
    const { code, exit, isCall } = blocks[slot.block]!;
    const first = index === 0 ? prologue : [];
    const to = (block: number): number => places[target(slot.block, block)]!;
    const way = wayOf(exit, { to, end, source, scalars });
    const next = places[index]! + 1;
    if (isCall) {
      const { before, call, behind } = callCode(source, code[0]!, frame);
      pieces.push({ code: [...first, ...before], way: { kind: 'goto', target: next } });
      pieces.push({ code: call, way: { kind: 'called' } });
      pieces.push({ code: behind, way });
      return;
    }
    const all = [...first, ...selected[slot.block]!.code];
    if (!isDouble[index] || way.kind !== 'branch') {
      pieces.push({ code: all, way });
      return;
    }
    pieces.push({ code: all, way: { ...way, taken: next } });
    pieces.push({ code: [], way: { kind: 'goto', target: way.taken } });
  });
  return [...pieces, ...lastPieces(parts, end)];
}

const isBackTwice = (
  { taken, other }: Extract<Exit, { kind: 'branch' }>,
  block: number,
  index: number,
  target: (from: number, to: number) => number,
): boolean => target(block, taken) <= index && target(block, other) <= index;

function conditionOf(source: PtxSource, { guard, scope, offset }: Extract<Exit, { kind: 'branch' }>): RegisterGuard {
  const instruction = { kind: 'instruction', guard, opcode: 'bra', operands: [], offset } as const;
  return guardOf(source, { instruction, scope })!;
}

interface Ways {
  readonly to: (block: number) => number;
  readonly end: number;
  readonly source: PtxSource;
  readonly scalars: ScalarPlaces;
}

function wayOf(exit: Exit, { to, end, source, scalars }: Ways): Way {
  switch (exit.kind) {
    case 'goto':
      return { kind: 'goto', target: to(exit.target) };
    case 'branch': {
      const { register, isNegated } = conditionOf(source, exit);
      const [taken, other, isUniform] = [to(exit.taken), to(exit.other), scalars.has(register.id)];
      return { kind: 'branch', condition: register, isNegated, taken, other, offset: exit.offset, isUniform };
    }
    case 'return':
      return { kind: 'goto', target: end };
    case 'exit':
      return { kind: 'leave', offset: exit.offset };
    case 'none':
      return { kind: 'none' };
  }
}

/** Places where lanes may wait; the end of a kernel is one, where nobody is asked. */
function joinsOf(pieces: readonly Piece[], parts: BodyParts): ReadonlySet<number> {
  for (;;) {
    const joins = joinsOfWays(pieces, parts);
    const before = joinsBefore(pieces.length, joins);
    const isFree = (target: number, place: number): boolean =>
      target <= place || (before[target]! === before[place + 1]! && !joins.has(target));
    let hasChanged = false;
    pieces.forEach(({ way }, place) => {
      if (way.kind !== 'branch' || !way.isUniform) return;
      if (isFree(way.taken, place) || isFree(way.other, place)) return;
      // Both ways lead to where others wait, which one branch cannot look after.
      way.isUniform = false;
      hasChanged = true;
    });
    if (!hasChanged) return joins;
  }
}

function joinsOfWays(pieces: readonly Piece[], { isKernel }: BodyParts): ReadonlySet<number> {
  const end = endOf(pieces);
  const joins = new Set<number>();
  pieces.forEach(({ way }, place) => {
    if (way.kind === 'called') for (const join of [place, place + 1]) joins.add(join);
    if (way.kind !== 'branch' || way.isUniform || way.taken === way.other) return;
    const later = Math.max(way.taken, way.other);
    if (later > place) joins.add(later);
  });
  // Who goes past a join has to wait behind it, which makes more joins: all of them further behind.
  const earliest = new Map<number, number>();
  pieces.forEach(({ way }, place) => {
    for (const target of forwardTargets(way, place)) if (!earliest.has(target)) earliest.set(target, place);
  });
  const before = new Uint32Array(pieces.length + 1);
  for (let place = 0; place < pieces.length; place++) {
    const from = earliest.get(place);
    if (from !== undefined && place !== end && before[place]! > before[from + 1]!) joins.add(place);
    before[place + 1] = before[place]! + (joins.has(place) ? 1 : 0);
  }
  const canBeEmpty = joins.size > 0 || pieces.some(({ way }) => way.kind === 'leave');
  if (!isKernel && canBeEmpty) joins.add(end);
  else joins.delete(end);
  return joins;
}

/** Places to which all lanes go that do not wait. */
function forwardTargets(way: Way, place: number): readonly number[] {
  if (way.kind === 'goto') return way.target > place ? [way.target] : [];
  if (way.kind !== 'branch') return [];
  if (way.isUniform) return [way.taken, way.other].filter((target) => target > place);
  const first = Math.min(way.taken, way.other);
  return first > place ? [first] : [];
}

/** How many joins stand before each place. */
function joinsBefore(size: number, joins: ReadonlySet<number>): Uint32Array {
  const before = new Uint32Array(size + 1);
  for (let place = 0; place < size; place++) before[place + 1] = before[place]! + (joins.has(place) ? 1 : 0);
  return before;
}

const PLAIN_CLASSES: ReadonlySet<string> = new Set(['integer', 'float', 'convert', 'move', 'memory']);

/** Whether it does nothing where no lane is active; loads whose address is in scalars are the wave's own. */
const isPlain = ({ form: { row }, operands, aside, callee }: Lir, scalars: ScalarPlaces): boolean =>
  PLAIN_CLASSES.has(row.className) &&
  row.control === 'next' &&
  aside === undefined &&
  callee === undefined &&
  !(row.className === 'memory' && operands.some((each) => each.kind === 'virtual' && scalars.has(each.id)));

const resumption = (block: number): BlockAddress => ({ kind: 'block', block });
/** Who goes back has not waited at the join there, so that it would not be asked for there. */
const backTo = resumption;

class Emitter {
  readonly #pieces: readonly Piece[];
  readonly #joins: ReadonlySet<number>;
  readonly #scalars: ScalarPlaces;
  /** The join at or behind each place; the end, where there is none. */
  readonly #nextJoin: Uint32Array;
  readonly #joinsBefore: Uint32Array;
  /** The branch at or behind each place that may lead back; the end, where there is none. */
  readonly #nextBack: Uint32Array;
  /** Whether the code of ends of loops does nothing without lanes. */
  readonly #harmless = new Map<number, boolean>();
  readonly #end: number;
  readonly #isKernel: boolean;
  /** Nobody asks where those are that came to the end. */
  readonly #isEndOver: boolean;

  constructor(
    pieces: readonly Piece[],
    joins: ReadonlySet<number>,
    parts: BodyParts & { readonly scalars: ScalarPlaces },
  ) {
    this.#pieces = pieces;
    this.#joins = joins;
    this.#scalars = parts.scalars;
    this.#joinsBefore = joinsBefore(pieces.length, joins);
    this.#end = endOf(pieces);
    this.#isKernel = parts.isKernel;
    this.#isEndOver = endsAtOnce(parts) && !parts.hasTurns;
    this.#nextJoin = new Uint32Array(pieces.length + 1).fill(this.#end + 1);
    this.#nextBack = new Uint32Array(pieces.length + 1).fill(this.#end);
    for (let place = this.#end; place >= 0; place--) {
      const { way } = pieces[place]!;
      const isBack = way.kind === 'branch' && Math.min(way.taken, way.other) <= place;
      this.#nextBack[place] = isBack ? place : this.#nextBack[place + 1]!;
      const isJoin = place === this.#end || joins.has(place);
      this.#nextJoin[place] = isJoin ? place : this.#nextJoin[place + 1]!;
    }
  }

  /** A block of the code, with all that decides who runs it and where they go. */
  block(place: number): LinearBlock {
    const { code, way } = this.#pieces[place]!;
    const lines: Lir[] = [];
    if (this.#joins.has(place)) lines.push(...this.#join(place));
    const joinLength = lines.length;
    lines.push(...code);
    lines.push(...this.#way(way, place));
    return { code: lines, joinLength, successors: this.#successors(way, place) };
  }

  /** In a kernel all lanes are of one activation. */
  #join(place: number): readonly Lir[] {
    const { live, join, ownActivation, activation } = PLACES;
    const here = [resumption(place), join];
    const target = this.#nextJoin[place + 1]!;
    return [
      lir('wave_gather', [live], 0),
      this.#isKernel
        ? lir('wave_join', here, 0, { target })
        : lir('wave_join.own', [...here, ownActivation, activation], 0, { target }),
    ];
  }

  /** Where lanes go, each for itself: what registers they need there is what counts. */
  #successors(way: Way, place: number): readonly number[] {
    if (way.kind === 'goto') return [way.target];
    if (way.kind === 'called') return [place, place + 1];
    return way.kind === 'branch' ? [way.taken, way.other] : [];
  }

  #way(way: Way, place: number): readonly Lir[] {
    switch (way.kind) {
      case 'goto':
        return this.#goto(way.target, place);
      case 'branch':
        return way.taken === way.other ? this.#goto(way.taken, place) : this.#branch(way, place);
      case 'leave':
        return [lir('wave_leave', [PLACES.live], way.offset), ...this.#jump(this.#nextJoin[place + 1]!, place)];
      case 'called':
        return [this.#wait(place + 1), ...this.#jump(place, place)];
      case 'none':
        return [];
    }
  }

  #jump(target: number, place: number): readonly Lir[] {
    return target === place + 1 ? [] : [lir('wave_goto', [], 0, { target })];
  }

  /** All active lanes go to a place; before it some may wait at joins. */
  #goto(target: number, place: number): readonly Lir[] {
    if (target <= place) return [lir('wave_goto', [], 0, { target: backTo(target) })];
    const next = this.#nextJoin[place + 1]!;
    if (next > target || (next === target && !this.#joins.has(target))) return this.#jump(target, place);
    if (target === this.#end && this.#isEndOver) return this.#jump(next, place);
    const whole = lir('wave_whole', [PLACES.live], 0, { target: resumption(target) });
    return [...(this.#isFar(target, place) ? [whole] : []), this.#wait(target), ...this.#jump(next, place)];
  }

  /** Whether many joins stand between a place and one behind it. */
  #isFar(target: number, place: number): boolean {
    return this.#joinsBefore[target]! - this.#joinsBefore[place + 1]! >= FAR_JOINS;
  }

  /**
   * The end of the loop around a place from which lanes leave it: where that harms nothing, a wave without
   * lanes goes there, so that the loop has one way out and can run chunk by chunk.
   */
  #latchOf(place: number, outside: number): number | undefined {
    const latch = this.#nextBack[place + 1]!;
    const { way, code } = this.#pieces[latch]!;
    if (latch >= outside || latch >= this.#nextJoin[place + 1]! || way.kind !== 'branch') return undefined;
    // Without lanes a branch that the wave takes as a whole could lead back for ever.
    const isAround = Math.min(way.taken, way.other) <= place && !way.isUniform;
    if (!isAround) return undefined;
    const isHarmless = this.#harmless.get(latch) ?? code.every((line) => isPlain(line, this.#scalars));
    this.#harmless.set(latch, isHarmless);
    return isHarmless ? latch : undefined;
  }

  #wait(target: number): Lir {
    return lir('wave_wait', [resumption(target), PLACES.join], 0);
  }

  #branch(way: Extract<Way, { kind: 'branch' }>, place: number): readonly Lir[] {
    if (way.isUniform) return this.#when(way, place);
    const { condition, isNegated, taken, other, offset } = way;
    const next = this.#nextJoin[place + 1]!;
    const [first, later] = taken < other ? [taken, other] : [other, taken];
    const isTaken = (target: number): boolean => target === taken;
    /** Whether the opposite of the predicate leads there. */
    const suffix = (target: number): string => (isTaken(target) === isNegated ? '.not' : '');
    const operands = [condition, resumption(later), PLACES.join];
    const far = lir(`wave_far${suffix(later)}`, [condition, PLACES.live], offset, { target: resumption(later) });
    const farther = this.#isFar(later, place) ? [far] : [];
    if (first <= place) {
      const back = lir(`wave_loop${suffix(first)}`, operands, offset, { target: backTo(first) });
      return [...farther, back, ...this.#jump(next, place)];
    }
    const latch = this.#latchOf(place, later);
    const split =
      latch === place + 1
        ? lir(`wave_part${suffix(later)}`, operands, offset)
        : lir(`wave_split${suffix(later)}`, operands, offset, { target: latch ?? next });
    return [...farther, split, ...this.#goto(first, place)];
  }

  /** All go one way: the branch itself goes where nobody waits before, back if that is one of the ways. */
  #when(
    { condition, isNegated, taken, other, offset }: Extract<Way, { kind: 'branch' }>,
    place: number,
  ): readonly Lir[] {
    const isFree = (target: number): boolean =>
      target <= place || (this.#nextJoin[place + 1]! >= target && !this.#joins.has(target));
    const isOther = !isFree(taken) || (other <= place && taken > place);
    const [first, second] = isOther ? [other, taken] : [taken, other];
    const suffix = isOther === isNegated ? '' : '.not';
    const target = first <= place ? backTo(first) : first;
    return [lir(`wave_when${suffix}`, [condition], offset, { target }), ...this.#goto(second, place)];
  }
}
