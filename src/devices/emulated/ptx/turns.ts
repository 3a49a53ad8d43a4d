/**
 * Lanes of a warp that parted go on in turns: the independent thread scheduling of processors from sm_70 on,
 * where threads of a warp may wait for each other. Lanes wait at joins, before instructions that need others,
 * or because others have their turn; in each case the row of joins says where they go on. The group that runs
 * goes on until it cannot, or used its budget up.
 */
import type { LanePlace, LaneTurns, TurnCause } from '../../../emulator/code/front-end.ts';
import { STATE_OFFSETS, WAVE_VGPRS } from '../../../emulator/machine/layout.ts';
import type { Memories } from '../../../emulator/machine/memory.ts';
import { readMachine } from '../../../ptx/machine/code.ts';
import { PLACES, WAITS, WAITS_MASK } from '../../../ptx/machine/places.ts';

const LANES = 32;
/** Where lanes give way with some of their budget left, this many times in a row the first place counts. */
const TURNS_BY_PLACE = 15;

/**
 * How often each group may give way before lanes go on that wait for it at a join: half as often each time
 * that this happens, down to the least number; once more each time that lanes join by themselves.
 */
const [MOST_PATIENCE, LEAST_PATIENCE] = [64, 4];

/** Lanes that go on together. */
interface Group {
  readonly key: string;
  readonly activation: number;
  /** Where they go on. */
  readonly offset: number;
  readonly waits: number;
  /** Of those that wait for others: whom they wait for. */
  readonly members: number;
  lanes: number;
}

const firstLane = (lanes: number): number => 31 - Math.clz32(lanes & -lanes);
const hex32 = (mask: number): string => `0x${(mask >>> 0).toString(16)}`;

class Warp {
  readonly #words: Int32Array;
  readonly #code: DataView;
  readonly #scalars: number;
  readonly #rows: number;

  constructor({ state, memory }: Memories, wave: number) {
    this.#words = state.words;
    this.#code = memory.view;
    this.#scalars = wave >> 2;
    this.#rows = (wave + WAVE_VGPRS) >> 2;
  }

  get exec(): number {
    return this.scalar({ first: STATE_OFFSETS.exec >> 2 });
  }

  setExec(lanes: number): void {
    this.setScalar({ first: STATE_OFFSETS.exec >> 2 }, lanes);
  }

  scalar({ first }: { readonly first: number }): number {
    return this.#words[this.#scalars + first]!;
  }

  setScalar({ first }: { readonly first: number }, value: number): void {
    this.#words[this.#scalars + first] = value;
  }

  row({ first }: { readonly first: number }, lane: number): number {
    return this.#words[this.#rows + first * LANES + lane]! >>> 0;
  }

  setRow({ first }: { readonly first: number }, lanes: number, value: number): void {
    for (const lane of lanesOf(lanes)) this.#words[this.#rows + first * LANES + lane] = value;
  }

  /** Those that are neither active nor ended, by where they go on together. */
  groups(waiting: number): readonly Group[] {
    const groups = new Map<string, Group>();
    for (const lane of lanesOf(waiting)) {
      const join = this.row(PLACES.join, lane);
      const waits = join & WAITS_MASK;
      const activation = this.row(PLACES.ownActivation, lane);
      const members = waits === WAITS.join ? 0 : this.row(PLACES.meeting, lane);
      const key = `${activation} ${join} ${members}`;
      const known = groups.get(key);
      if (known) known.lanes |= 1 << lane;
      else groups.set(key, { key, activation, offset: join - waits, waits, members, lanes: 1 << lane });
    }
    return [...groups.values()];
  }

  /** Lanes that are active, but wait in truth: they are on the way to a join, or at one. */
  isAtJoin(offset: number): boolean {
    let at = offset;
    for (let left = LANES; left > 0; left--) {
      const found = readMachine(this.#code, at);
      if (typeof found === 'string') return false;
      const { opcode, distance } = found.instruction;
      if (opcode === 'wave_gather' || opcode.startsWith('wave_join')) return true;
      if (opcode !== 'wave_goto') return false;
      at += distance!;
    }
    return false;
  }

  /** Whether the next instruction that computes reads what the wave did with the one before. */
  isPair(offset: number): boolean {
    // What it needs may come from the frame first.
    for (let [at, left] = [offset, LANES]; left > 0; left--) {
      const found = readMachine(this.#code, at);
      if (typeof found === 'string') return false;
      const { opcode } = found.instruction;
      if (opcode.startsWith('wave_voted')) return true;
      if (!opcode.startsWith('ld.local')) return false;
      at += found.sizeBytes;
    }
    return false;
  }

  isAtBarrier({ waits, offset }: Group): boolean {
    return waits === WAITS.here && this.behindBarrier(offset) !== undefined;
  }

  /** Behind the barrier of the workgroup at a place; undefined where another instruction stands. */
  behindBarrier(offset: number): number | undefined {
    const found = readMachine(this.#code, offset);
    return typeof found === 'string' || found.instruction.opcode !== 'wave_bar' ? undefined : offset + found.sizeBytes;
  }

  /** The active lanes wait for their turn, together, at the place that they have got to. */
  stop(lanes: number, offset: number): void {
    this.setRow(PLACES.join, lanes, offset | WAITS.turn);
    this.numberStop(lanes);
  }

  /** Those that were stopped at different times stay apart, until they meet at a join. */
  numberStop(lanes: number): void {
    const number = this.scalar(PLACES.turns);
    for (const lane of lanesOf(lanes)) {
      if ((this.row(PLACES.join, lane) & WAITS_MASK) === WAITS.turn) this.setRow(PLACES.meeting, 1 << lane, number);
    }
  }

  /** The group goes on. */
  run({ lanes, activation, offset }: Group, live: number): number {
    this.setExec(lanes);
    this.setScalar(PLACES.activation, activation);
    this.setScalar(PLACES.lastTurn, firstLane(lanes));
    // Those that wait at a join, too: who would have come past may be one of these.
    this.setScalar(PLACES.stopped, live & ~lanes);
    return offset;
  }
}

function* lanesOf(mask: number): Generator<number> {
  for (let lane = 0; lane < LANES; lane++) if ((mask >>> lane) & 1) yield lane;
}

/**
 * Groups that can go on; of those that wait for each other anywhere, all can once the last has come. To a
 * barrier lanes may come in several activations of a function.
 */
function runnable(warp: Warp, groups: readonly Group[], live: number): readonly Group[] {
  const meetingOf = (group: Group): string => {
    if (group.waits === WAITS.anywhere) return `anywhere ${group.members}`;
    return warp.isAtBarrier(group) ? `barrier ${group.offset}` : group.key;
  };
  const arrived = new Map<string, number>();
  for (const group of groups) arrived.set(meetingOf(group), (arrived.get(meetingOf(group)) ?? 0) | group.lanes);
  return groups.filter((group) => {
    if (group.waits === WAITS.join || group.waits === WAITS.turn) return true;
    return (group.members & live & ~arrived.get(meetingOf(group))!) === 0;
  });
}

/** The latest activation, at the place that stands first: so they meet the others where their ways join. */
const byPlace = (a: Group, b: Group): Group => {
  if (a.activation !== b.activation) return a.activation > b.activation ? a : b;
  return a.offset <= b.offset ? a : b;
};

/** The next one by its first lane. */
function inTurn(groups: readonly Group[], last: number): Group {
  const distance = ({ lanes }: Group): number => (firstLane(lanes) - last - 1 + LANES) % LANES;
  return groups.reduce((a, b) => (distance(a) <= distance(b) ? a : b));
}

function next(memories: Memories, wave: number, cause: TurnCause): number | 'same' | 'deadlock' {
  const warp = new Warp(memories, wave);
  const { exec } = warp;
  const isSpent = typeof cause === 'object';
  if (isSpent && warp.scalar(PLACES.givesWay) === 0) return 'same';
  if (cause === 'ended') warp.setScalar(PLACES.live, warp.scalar(PLACES.live) & ~exec);
  const live = warp.scalar(PLACES.live);
  if (cause === 'ended' && live === 0) {
    warp.setScalar(PLACES.stopped, 0);
    return 'same';
  }
  if (isSpent) {
    // All are together: whoever waits at a join later waits anew.
    if (exec === live) warp.setScalar(PLACES.gaveWay, 0);
    if (exec === live || live === 0 || warp.isPair(cause.offset)) return 'same';
    if (!warp.isAtJoin(cause.offset)) warp.stop(exec, cause.offset);
  } else warp.numberStop(exec & live);
  const groups = runnable(warp, warp.groups(live), live);
  if (groups.length === 0) {
    warp.setExec(0);
    return 'deadlock';
  }
  release(warp, groups);
  const turns = warp.scalar(PLACES.turns) + 1;
  warp.setScalar(PLACES.turns, turns);
  const napped = [...lanesOf(exec & live)].some((lane) => (warp.row(PLACES.join, lane) & WAITS_MASK) === WAITS.turn);
  const [first, ...others] = groups.filter((group) => warp.isAtBarrier(group));
  if (others.length > 0) return throughBarrier(warp, first!, others, live);
  const givesWay = isSpent || napped;
  const able = withoutJoins(warp, groups, givesWay);
  const areAtJoins = groups.every(({ waits }) => waits === WAITS.join);
  const isByPlace = areAtJoins || (!givesWay && turns % (TURNS_BY_PLACE + 1) !== 0);
  const chosen = isByPlace ? able.reduce(byPlace) : inTurn(able, warp.scalar(PLACES.lastTurn));
  return warp.run(chosen, live);
}

/**
 * Groups without those that wait at joins for others, unless there is nobody else, or others gave way again
 * and again while nobody came to a join or left one: then those at joins are what is waited for. So lanes
 * that parted for a moment are together again behind it, as much code takes for granted.
 */
function withoutJoins(warp: Warp, groups: readonly Group[], givesWay: boolean): readonly Group[] {
  const atJoins = groups.filter(({ waits }) => waits === WAITS.join);
  const others = groups.filter(({ waits }) => waits !== WAITS.join);
  if (atJoins.length === 0 || others.length === 0) return groups;
  const joined = atJoins.reduce((sum, { lanes, offset }) => (Math.imul(sum, 31) + lanes) ^ offset, 0);
  const patience = MOST_PATIENCE - warp.scalar(PLACES.impatience);
  const isSame = warp.scalar(PLACES.joined) === joined;
  const waited = isSame ? warp.scalar(PLACES.gaveWay) + Number(givesWay) : 0;
  const isOver = waited > patience * others.length;
  const changed = isOver ? Math.max(LEAST_PATIENCE, patience >> 1) : patience + Number(!isSame);
  warp.setScalar(PLACES.impatience, Math.max(0, MOST_PATIENCE - changed));
  warp.setScalar(PLACES.joined, joined);
  warp.setScalar(PLACES.gaveWay, isOver ? 0 : waited);
  return isOver ? atJoins : others;
}

/** The wave comes to the barrier once, by one of the groups; the others go on behind it in their turns. */
function throughBarrier(warp: Warp, first: Group, others: readonly Group[], live: number): number {
  for (const { lanes, offset } of others) warp.stop(lanes, warp.behindBarrier(offset)!);
  return warp.run(first, live);
}

/** All that waited for each other have come: they wait for nothing but their turn. */
function release(warp: Warp, groups: readonly Group[]): void {
  for (const { waits, lanes, offset } of groups) if (waits === WAITS.anywhere) warp.stop(lanes, offset);
}

function places(memories: Memories, wave: number, offset: number): readonly LanePlace[] {
  const warp = new Warp(memories, wave);
  const live = warp.scalar(PLACES.live) || warp.exec;
  const running = warp.isAtJoin(offset) ? 0 : warp.exec & live;
  const place = (lanes: number, at: number, note: string): LanePlace => ({
    ...{ lanes: BigInt(lanes >>> 0), offset: at, note },
  });
  const waiting = warp.groups(live & ~running).map(({ lanes, offset: at, waits, members }) => {
    if (waits === WAITS.join) return place(lanes, at, 'waiting at a join');
    if (waits === WAITS.turn) return place(lanes, at, 'waiting for its turn');
    return place(lanes, at, `waiting for lanes ${hex32(members & live)}`);
  });
  return running === 0 ? waiting : [place(running, offset, ''), ...waiting];
}

export const PTX_TURNS: Omit<LaneTurns, 'areShort'> = { stoppedScalar: PLACES.stopped.first, next, places };
