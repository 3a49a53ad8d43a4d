/**
 * Runs code and what was made of it side by side: each wave must come to the same original instructions in
 * the same order, and find the same in every register that is live there. Both run on the reference executor,
 * whose schedule counts original instructions alone. They run one after the other, so that a digest stands
 * for what the first one found; where digests differ, both run again up to there.
 */
import type { ObservedWave, StepObserver } from '../src/emulator/reference/step-observer.ts';
import { registerNumber, stateNumber } from '../src/flow/steps.ts';
import type { LiveLanes, Step } from '../src/isa.ts';

/** One of the two. */
export interface Side {
  /** Runs all waves, which `observer` must see. */
  run(observer: StepObserver): void;
  /** The original address of the instruction at an offset in device memory; undefined for added ones. */
  originalAddress(offset: number): number | undefined;
  /**
   * What a dword of a register stands for, where the two need not have the same bits: addresses of code, such
   * as return addresses, become those of the original code. They are told by their low dwords, so that halves
   * of pairs and what was spilled to lanes count as well: a number that happens to be such an address is
   * taken for one, on both sides. Default: the dword itself.
   */
  meaning?(dword: number): number;
}

export interface Difference {
  /** `workgroup, wave`. */
  readonly wave: string;
  /** How many original instructions the wave had executed. */
  readonly index: number;
  /** Where the two were; undefined where the wave had ended. */
  readonly addresses: readonly [number | undefined, number | undefined];
  /** What was not the same: `v3 lane 5: 0x1 0x2`; empty where they went different ways. */
  readonly registers: readonly string[];
}

/** What is live before an original instruction. */
export type LiveAt = (originalAddress: number) => LiveLanes | undefined;

/** The first difference of the first wave that has one. */
export function compareSides(original: Side, rewritten: Side, liveAt: LiveAt): Difference | undefined {
  const [first, second] = [original, rewritten].map((side) => {
    const recorder = new Recorder(side, liveAt);
    side.run(recorder);
    return recorder;
  }) as [Recorder, Recorder]; // reason: two of two
  for (const wave of new Set([...first.ways.keys(), ...second.ways.keys()])) {
    const [a, b] = [first.ways.get(wave) ?? [], second.ways.get(wave) ?? []];
    const length = Math.max(a.length, b.length);
    let index = 0;
    while (index < length && a[index] === b[index]) index++;
    if (index === length) continue;
    const [x, y] = [original, rewritten].map((side) => snapshot(side, liveAt, wave, index)) as [Snapshot, Snapshot]; // reason: two of two
    // Where EXEC differs, so do the lanes that are looked at.
    const names = [...x.values.keys()].filter((name) => y.values.has(name));
    const isSameWay = x.address === y.address;
    const registers = names
      .filter((name) => isSameWay && x.values.get(name) !== y.values.get(name))
      .map((name) => `${name}: ${[x, y].map(({ values }) => `0x${values.get(name)?.toString(16)}`).join(' ')}`);
    return { wave, index, addresses: [x.address, y.address], registers };
  }
  return undefined;
}

const nameOf = ({ workgroup, index }: ObservedWave): string => `${workgroup.join(' ')}, ${index}`;

/** Takes a value: of a register or another part of the state, of which lane, or -1 where it has none. */
type Take = (file: string, number: number, lane: number, value: number) => void;

const textOf = (file: string, number: number, lane: number): string =>
  lane < 0 ? `${file}${number < 0 ? '' : number}` : `${file}${number} lane ${lane}`;

/** What is compared, value by value; this comes by for each lane of each register of each step. */
function visit(side: Side, wave: ObservedWave, live: LiveLanes, take: Take): void {
  const meaning = (dword: number): number => (side.meaning?.(dword) ?? dword) >>> 0;
  const exec = wave.state('exec');
  const masks = [Number(exec & 0xffffffffn), Number((exec >> 32n) & 0xffffffffn)];
  take('mode', -1, -1, Number(wave.state('mode')));
  const { scalars, rows, slots } = liveRegisters(live);
  // Where no lane holds anything that is live, as at the end, EXEC is taken for dead.
  const halves = rows.length === 0 ? 0 : wave.waveSize / 32;
  for (let half = 0; half < halves; half++) take('exec half ', half, -1, masks[half]!);
  for (const slot of slots) take(slot, -1, -1, Number(wave.state(slot)));
  for (const number of scalars) take('s', number, -1, meaning(wave.register('scalar', number)[0]!));
  for (const { file, number, active, inactive } of rows) {
    const row = wave.register(file, number);
    const letter = file === 'vector' ? 'v' : 'a';
    for (let lane = 0; lane < wave.waveSize; lane++) {
      const isActive = (masks[lane >> 5]! >>> (lane & 31)) & 1;
      if (isActive ? active : inactive) take(letter, number, lane, meaning(row[lane]!));
    }
  }
}

const SLOTS = ['scc', 'flatScratchLow', 'flatScratchHigh'] as const;

interface LiveRegisters {
  readonly scalars: readonly number[];
  readonly slots: readonly (typeof SLOTS)[number][];
  readonly rows: readonly {
    readonly file: 'vector' | 'accumulator';
    readonly number: number;
    readonly active: boolean;
    readonly inactive: boolean;
  }[];
}

const known = new WeakMap<LiveLanes, LiveRegisters>();

function liveRegisters(live: LiveLanes): LiveRegisters {
  let registers = known.get(live);
  if (!registers) {
    const has = (set: bigint, number: number): boolean => ((set >> BigInt(number)) & 1n) === 1n;
    const numbers = Array.from({ length: 256 }, (_, number) => number);
    registers = {
      // EXEC and the trap registers are no business of liveness.
      scalars: [...numbers.slice(0, 108), 124].filter((number) => has(live.active, registerNumber('scalar', number))),
      slots: SLOTS.filter((slot) => has(live.active, stateNumber(slot))),
      rows: (['vector', 'accumulator'] as const)
        .flatMap((file) =>
          numbers.map((number) => {
            const bit = registerNumber(file, number);
            return { file, number, active: has(live.active, bit), inactive: has(live.inactive, bit) };
          }),
        )
        .filter(({ active, inactive }) => active || inactive),
    };
    known.set(live, registers);
  }
  return registers;
}

/** Follows the waves of one side. */
abstract class Follower implements StepObserver {
  readonly side: Side;
  readonly #liveAt: LiveAt;
  readonly #live = new Map<number, LiveLanes | undefined>();

  constructor(side: Side, liveAt: LiveAt) {
    this.side = side;
    this.#liveAt = liveAt;
  }

  isFree({ offset }: Step): boolean {
    return this.side.originalAddress(offset) === undefined;
  }

  beforeStep(wave: ObservedWave, { offset }: Step): void {
    const address = this.side.originalAddress(offset);
    if (address === undefined) return;
    if (!this.#live.has(address)) this.#live.set(address, this.#liveAt(address));
    this.comes(wave, address, this.#live.get(address) ?? NONE);
  }

  abstract comes(wave: ObservedWave, address: number, live: LiveLanes): void;
}

const NONE: LiveLanes = { active: 0n, inactive: 0n };

class Recorder extends Follower {
  /** Of each wave a digest for each original instruction, its address included. */
  readonly ways = new Map<string, number[]>();

  comes(wave: ObservedWave, address: number, live: LiveLanes): void {
    const name = nameOf(wave);
    const way = this.ways.get(name) ?? [];
    if (way.length === 0) this.ways.set(name, way);
    let [high, low] = [address, ~address];
    visit(this.side, wave, live, (_file, _number, _lane, value) => {
      high = Math.imul(high ^ value, 0x01000193) ^ (high >>> 15);
      low = Math.imul(low ^ value, 0x85ebca6b) ^ (low >>> 13);
    });
    way.push((high >>> 11) * 2 ** 32 + (low >>> 0));
  }
}

interface Snapshot {
  readonly address: number | undefined;
  readonly values: ReadonlyMap<string, number>;
}

function snapshot(side: Side, liveAt: LiveAt, name: string, index: number): Snapshot {
  const values = new Map<string, number>();
  let found: number | undefined;
  let count = 0;
  class Finder extends Follower {
    comes(wave: ObservedWave, address: number, live: LiveLanes): void {
      if (nameOf(wave) !== name || count++ !== index) return;
      found = address;
      visit(side, wave, live, (file, number, lane, value) => values.set(textOf(file, number, lane), value));
    }
  }
  side.run(new Finder(side, liveAt));
  return { address: found, values };
}
