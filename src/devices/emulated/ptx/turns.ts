/**
 * Lanes of a warp that parted go on in turns: the independent thread scheduling of processors from sm_70 on,
 * where threads of a warp may wait for each other. Lanes wait at joins, before instructions that need others,
 * or because others have their turn; in each case the row of joins says where they go on. The group that runs
 * goes on until it cannot, or used its budget up.
 */

import { assert } from '../../../base/errors.ts';
import type { LanePlace, LaneTurns, TurnCause } from '../../../emulator/code/front-end.ts';
import { STATE_OFFSETS, WAVE_VGPRS } from '../../../emulator/machine/layout.ts';
import type { Memories } from '../../../emulator/machine/memory.ts';
import { readMachine } from '../../../ptx/machine/code.ts';
import { PLACES, WAITS, WAITS_MASK } from '../../../ptx/machine/places.ts';

const LANES = 32;
/**
 * Where lanes give way with some of their budget left, the first place counts but for each so manieth time: a
 * prime, so that groups that meet again and again after some turns do not evade it.
 */
const TURNS_BY_PLACE = 17;

/**
 * How often each group may give way before lanes go on that wait for it at a join: half as often each time
 * that this happens, down to the least number; once more each time that lanes join by themselves.
 */
const [MOST_PATIENCE, LEAST_PATIENCE] = [64, 4];

/** Lanes that go on together. */
interface Group {
  /** Of those that meet at an instruction, the activation of some. */
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
      // What lanes do together is no matter of where they were called from.
      const key = `${waits === WAITS.here ? '' : activation} ${join} ${members}`;
      const known = groups.get(key);
      if (known) known.lanes |= 1 << lane;
      else groups.set(key, { activation, offset: join - waits, waits, members, lanes: 1 << lane });
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

  /** Lanes of several activations are active: they met at an instruction, and part behind it. */
  isMeeting(lanes: number): boolean {
    const [first, ...others] = [...lanesOf(lanes)].map((lane) => this.row(PLACES.ownActivation, lane));
    return others.some((activation) => activation !== first);
  }

  /** What groups have in common that meet wherever they are, and where each goes on behind it. */
  meetingOf({ offset, members }: Group): { readonly key: string; readonly behind: number } {
    const found = readMachine(this.#code, offset);
    assert(typeof found !== 'string', () => `lanes wait at ${hex32(offset)}, where no code is`);
    const { opcode, operands } = found.instruction;
    const constants = operands.map((operand) => (operand.kind === 'constant' ? operand.value : ''));
    return { key: `${opcode} ${constants.join(' ')} ${members}`, behind: offset + found.sizeBytes };
  }

  /** They wait for their turn together; those that were stopped at different times stay apart. */
  stop(lanes: number, offset: number, number: number): void {
    this.setRow(PLACES.join, lanes, offset | WAITS.turn);
    this.setRow(PLACES.meeting, lanes, number);
  }

  /** The same for those that stopped themselves. Whether they gave way to others. */
  numberStop(lanes: number, number: number): boolean {
    let givesWay = false;
    for (const lane of lanesOf(lanes)) {
      if ((this.row(PLACES.join, lane) & WAITS_MASK) !== WAITS.turn) continue;
      givesWay ||= this.row(PLACES.meeting, lane) !== 0;
      this.setRow(PLACES.meeting, 1 << lane, number);
    }
    return givesWay;
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

/** Groups that can go on; of those that wait for others at their instruction, where all have come. */
const runnable = (groups: readonly Group[], live: number): readonly Group[] =>
  groups.filter(({ waits, members, lanes }) => {
    if (waits === WAITS.anywhere) return false;
    return waits !== WAITS.here || (members & live & ~lanes) === 0;
  });

/** Groups that wait for each other wherever they are, once all have come. */
function metAnywhere(warp: Warp, groups: readonly Group[], live: number): readonly Group[] {
  const meetings = new Map<string, Group[]>();
  for (const group of groups) {
    if (group.waits !== WAITS.anywhere) continue;
    const { key } = warp.meetingOf(group);
    const meeting = meetings.get(key) ?? [];
    meeting.push(group);
    meetings.set(key, meeting);
  }
  for (const meeting of meetings.values()) {
    const come = meeting.reduce((all, { lanes }) => all | lanes, 0);
    if ((meeting[0]!.members & live & ~come) === 0) return meeting;
  }
  return [];
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
  const turns = warp.scalar(PLACES.turns) + 1;
  let givesWay = isSpent;
  if (isSpent) {
    // All are together: whoever waits at a join later waits anew.
    if (exec === live) warp.setScalar(PLACES.gaveWay, 0);
    if (exec === live || live === 0 || warp.isPair(cause.offset) || warp.isMeeting(exec & live)) return 'same';
    if (!warp.isAtJoin(cause.offset)) warp.stop(exec, cause.offset, turns);
  } else givesWay = warp.numberStop(exec & live, turns);
  warp.setScalar(PLACES.turns, turns);
  const all = warp.groups(live);
  const met = metAnywhere(warp, all, live);
  if (met.length > 0) return throughMeeting(warp, met, live, turns);
  const groups = runnable(all, live);
  if (groups.length === 0) {
    warp.setExec(0);
    return 'deadlock';
  }
  const able = withoutJoins(warp, groups, givesWay);
  const areAtJoins = groups.every(({ waits }) => waits === WAITS.join);
  const isByPlace = areAtJoins || (!givesWay && turns % TURNS_BY_PLACE !== 0);
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

/** One of the groups executes what they met for; the others go on behind it in their turns. */
function throughMeeting(warp: Warp, [first, ...others]: readonly Group[], live: number, turn: number): number {
  for (const group of others) warp.stop(group.lanes, warp.meetingOf(group).behind, turn);
  return warp.run(first!, live);
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
