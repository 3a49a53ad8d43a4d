/**
 * Blocks in the order of the code, and how waves go from one to the next. Where lanes part, those of the side
 * that stands first go on, and the others wait at the other side: a *join*. Who comes to a join from before
 * waits there, too, and all that wait go on together; where nobody waits, the wave goes to the next join.
 */
import { PLACES } from '../machine/places.ts';
import type { PtxSource } from '../text/source.ts';
import type { Exit, FlatBlock } from './flatten.ts';
import { constant, type Lir, type LirOperand, lir } from './lir.ts';
import { codeOrder } from './order.ts';
import { guardOf, PARTED, selectCode } from './select.ts';

/** How a piece of code goes on, by places in the order. */
type Way =
  | { readonly kind: 'goto'; readonly target: number }
  | {
      readonly kind: 'branch';
      readonly condition: LirOperand;
      readonly isNegated: boolean;
      readonly taken: number;
      readonly other: number;
      readonly offset: number;
    }
  | { readonly kind: 'end' }
  | { readonly kind: 'leave'; readonly offset: number }
  | { readonly kind: 'none' };

interface Piece {
  readonly code: readonly Lir[];
  readonly way: Way;
}

/** Code in its order; `successors`: of each block, for what asks where registers are used. */
export interface LinearCode {
  readonly blocks: readonly { readonly code: readonly Lir[]; readonly successors: readonly number[] }[];
}

/** Of a kernel: where it ends, the wave ends. */
export function linearize(source: PtxSource, blocks: readonly FlatBlock[]): LinearCode {
  const pieces = piecesOf(source, blocks);
  const joins = joinsOf(pieces);
  const emitter = new Emitter(pieces, joins);
  return { blocks: pieces.map((_, place) => emitter.block(place)) };
}

const successorsOf = (exit: Exit): readonly number[] =>
  exit.kind === 'goto' ? [exit.target] : exit.kind === 'branch' ? [exit.other, exit.taken] : [];

/** The end of the kernel stands last, and behind it where lanes end that should have been together. */
function piecesOf(source: PtxSource, blocks: readonly FlatBlock[]): readonly Piece[] {
  const { slots, target } = codeOrder(blocks.map(({ exit }) => successorsOf(exit)));
  const pieces: Piece[] = [];
  /** Where each slot's piece is: an edge between two ways back takes one of its own. */
  const extra = slots.map((slot) => {
    const exit = slot.kind === 'block' ? blocks[slot.block]!.exit : undefined;
    return (
      exit?.kind === 'branch' && slot.kind === 'block' && isBackTwice(exit, slot.block, slots.indexOf(slot), target)
    );
  });
  const places: number[] = [];
  let next = 0;
  for (const isDouble of extra) {
    places.push(next);
    next += isDouble ? 2 : 1;
  }
  const end = next;
  slots.forEach((slot, index) => {
    if (slot.kind === 'latch') {
      const header = slots.findIndex((each) => each.kind === 'block' && each.block === slot.header);
      pieces.push({ code: [], way: { kind: 'goto', target: places[header]! } });
      return;
    }
    const { code, exit } = blocks[slot.block]!;
    const selected = [...(index === 0 ? [begin()] : []), ...code.flatMap((each) => selectCode(source, each))];
    const to = (block: number): number => places[target(slot.block, block)]!;
    const way = wayOf(source, exit, to, end);
    if (!extra[index] || way.kind !== 'branch') {
      pieces.push({ code: selected, way });
      return;
    }
    pieces.push({ code: selected, way: { ...way, taken: places[index]! + 1 } });
    pieces.push({ code: [], way: { kind: 'goto', target: way.taken } });
  });
  pieces.push({ code: [], way: { kind: 'end' } });
  pieces.push({ code: [lir('trap.parted', [], 0)], way: { kind: 'none' } });
  return pieces;
}

const begin = (): Lir => lir('wave_begin', [PLACES.live, PLACES.activation], 0);

const isBackTwice = (
  { taken, other }: Extract<Exit, { kind: 'branch' }>,
  block: number,
  index: number,
  target: (from: number, to: number) => number,
): boolean => target(block, taken) <= index && target(block, other) <= index;

function wayOf(source: PtxSource, exit: Exit, to: (block: number) => number, end: number): Way {
  switch (exit.kind) {
    case 'goto':
      return { kind: 'goto', target: to(exit.target) };
    case 'branch': {
      const { guard, scope, offset } = exit;
      const instruction = { kind: 'instruction', guard, opcode: 'bra', operands: [], offset } as const;
      const { register, isNegated } = guardOf(source, { instruction, scope })!;
      return { kind: 'branch', condition: register, isNegated, taken: to(exit.taken), other: to(exit.other), offset };
    }
    case 'return':
      return { kind: 'goto', target: end };
    case 'exit':
      return { kind: 'leave', offset: exit.offset };
    case 'none':
      return { kind: 'none' };
  }
}

/** Places where lanes may wait; the end of the kernel is one, where nobody is asked. */
function joinsOf(pieces: readonly Piece[]): ReadonlySet<number> {
  const end = pieces.length - 2;
  const joins = new Set<number>();
  pieces.forEach(({ way }, place) => {
    if (way.kind !== 'branch' || way.taken === way.other) return;
    const later = Math.max(way.taken, way.other);
    if (later > place) joins.add(later);
  });
  // Who goes past a join has to wait behind it, which makes more joins.
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    const before = joinsBefore(pieces.length, joins);
    pieces.forEach(({ way }, place) => {
      for (const target of forwardTargets(way, place)) {
        if (target === end || joins.has(target)) continue;
        if (before[target]! - before[place + 1]! > 0) {
          joins.add(target);
          hasChanged = true;
        }
      }
    });
  }
  joins.delete(end);
  return joins;
}

/** Places to which all lanes go that do not wait. */
function forwardTargets(way: Way, place: number): readonly number[] {
  if (way.kind === 'goto') return way.target > place ? [way.target] : [];
  if (way.kind !== 'branch') return [];
  const first = Math.min(way.taken, way.other);
  return first > place ? [first] : [];
}

/** How many joins stand before each place. */
function joinsBefore(size: number, joins: ReadonlySet<number>): Uint32Array {
  const before = new Uint32Array(size + 1);
  for (let place = 0; place < size; place++) before[place + 1] = before[place]! + (joins.has(place) ? 1 : 0);
  return before;
}

class Emitter {
  readonly #pieces: readonly Piece[];
  readonly #joins: ReadonlySet<number>;
  /** The join at or behind each place; the end, where there is none. */
  readonly #nextJoin: Uint32Array;
  readonly #end: number;

  constructor(pieces: readonly Piece[], joins: ReadonlySet<number>) {
    this.#pieces = pieces;
    this.#joins = joins;
    this.#end = pieces.length - 2;
    this.#nextJoin = new Uint32Array(pieces.length + 1).fill(this.#end);
    for (let place = this.#end - 1; place >= 0; place--) {
      this.#nextJoin[place] = joins.has(place) ? place : this.#nextJoin[place + 1]!;
    }
  }

  /** A block of the code, with all that decides who runs it and where they go. */
  block(place: number): { readonly code: readonly Lir[]; readonly successors: readonly number[] } {
    const { code, way } = this.#pieces[place]!;
    const lines: Lir[] = [];
    if (this.#joins.has(place)) lines.push(...this.#join(place));
    for (const line of code) lines.push(line.target === PARTED ? { ...line, target: this.#end + 1 } : line);
    lines.push(...this.#way(way, place));
    return { code: lines, successors: this.#successors(way) };
  }

  #join(place: number): readonly Lir[] {
    return [
      lir('wave_gather', [PLACES.live, PLACES.activation], 0),
      lir('wave_join', [constant(place), PLACES.join], 0, { target: this.#nextJoin[place + 1]! }),
    ];
  }

  /** Where lanes go, each for itself: what registers they need there is what counts. */
  #successors(way: Way): readonly number[] {
    if (way.kind === 'goto') return [way.target];
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
      case 'end':
        return [lir('wave_end', [], 0)];
      case 'none':
        return [];
    }
  }

  #jump(target: number, place: number): readonly Lir[] {
    return target === place + 1 ? [] : [lir('wave_goto', [], 0, { target })];
  }

  /** All active lanes go to a place; before it some may wait at joins. */
  #goto(target: number, place: number): readonly Lir[] {
    if (target <= place) return this.#jump(target, place);
    const next = this.#nextJoin[place + 1]!;
    if (next > target || (next === target && !this.#joins.has(target))) return this.#jump(target, place);
    const wait = target === this.#end ? [] : [lir('wave_wait', [constant(target), PLACES.join], 0)];
    return [...wait, ...this.#jump(next, place)];
  }

  #branch(way: Extract<Way, { kind: 'branch' }>, place: number): readonly Lir[] {
    const { condition, isNegated, taken, other, offset } = way;
    const next = this.#nextJoin[place + 1]!;
    const [first, later] = taken < other ? [taken, other] : [other, taken];
    const isTaken = (target: number): boolean => target === taken;
    /** Whether the opposite of the predicate leads there. */
    const suffix = (target: number): string => (isTaken(target) === isNegated ? '.not' : '');
    const operands = [condition, constant(later), PLACES.join];
    if (first <= place) {
      return [lir(`wave_loop${suffix(first)}`, operands, offset, { target: first }), ...this.#jump(next, place)];
    }
    return [lir(`wave_split${suffix(later)}`, operands, offset, { target: next }), ...this.#goto(first, place)];
  }
}
