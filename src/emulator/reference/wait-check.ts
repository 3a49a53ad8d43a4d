/**
 * Finds instructions that do not wait for what they need. Loads, atomics that return something and whatever
 * else counts in a wait counter give their results when a wait makes sure of it (flight-log.ts); a register
 * has random bits until then. Whoever reads or writes it earlier is reported, and goes on with what it should
 * have waited for, so that one run finds everything. Accesses of another wave to LDS that a store has not
 * reached are reported, too: the wave that stored went past a barrier without a wait.
 */
import type { RegisterFile, WaitCounter } from '../../ir/effects.ts';
import type { Machine } from '../../ir/evaluate.ts';
import type { Step } from '../../ir/step.ts';
import type { ObservedAccess, WatchedMachine, WaveIdentity } from '../code/watch.ts';
import { STATE_OFFSETS } from '../machine/layout.ts';
import type { SharedState } from '../machine/state-memory.ts';
import { DeferredMachine } from './deferred-machine.ts';
import { type AccessOrder, FlightLog, type Flying } from './flight-log.ts';
import { readUses, type UsedRegister, usesOf, type WaveRegisters, writtenUses } from './register-uses.ts';

/** Counters of LDS; a flat access counts in one of them and in one of vector memory. */
const LDS_COUNTERS: ReadonlySet<WaitCounter> = new Set(['lgkmcnt', 'dscnt']);
/** With `landing: 'random'`, something lands before one of so many instructions. */
const LANDING_ODDS = 8;

export interface WaitCheckOptions {
  /** Of the random values in registers, and of what lands when. Default 1. */
  readonly seed?: number;
  /**
   * `last`, the default: results land when a wait makes sure of it, which finds every wait that is missing on
   * the way that the wave took. `random`: or at any time before, as the order of their counters allows.
   */
  readonly landing?: 'last' | 'random';
}

/** An instruction that needs what an earlier one of its wave, or a store of another wave, has not done. */
export interface MissedWait {
  /**
   * `read`: it reads a register that `earlier` is still to write; `write`: it writes that; `source`: it
   * writes a register that `earlier` is still to read; `lds`: it accesses LDS that `earlier`, of another
   * wave, is still to write.
   */
  readonly kind: 'read' | 'write' | 'source' | 'lds';
  readonly step: Step;
  readonly earlier: Step;
  /** Undefined for `lds`. */
  readonly register: { readonly file: RegisterFile; readonly number: number } | undefined;
  /** What was to be waited for, all of it: of each counter, how many may be left at most. */
  readonly waits: ReadonlyMap<WaitCounter, number>;
  /** Who came to `step`. */
  readonly wave: WaveIdentity;
}

interface CheckedWave extends WaveRegisters {
  readonly identity: WaveIdentity;
  readonly inFlight: FlightLog;
}

/** What the instruction that runs now accessed. */
interface Accesses {
  readonly wave: CheckedWave;
  readonly step: Step;
  readonly spaces: Set<ObservedAccess['space']>;
  readonly stored: Set<number>;
  isAtomic: boolean;
}

/** What was missed, and where its wave stands. */
interface Missed {
  readonly earlier: Flying;
  readonly waits: FlightLog;
}

export class WaitCheck {
  readonly #state: SharedState;
  readonly #landing: 'last' | 'random';
  readonly #report: (missing: MissedWait) => void;
  readonly #reported = new Set<string>();
  readonly #waves = new Map<number, CheckedWave>();
  /** Dwords of LDS that a wave stored to, by their numbers in device memory. */
  readonly #stored = new Map<number, { readonly wave: CheckedWave; readonly flying: Flying }>();
  #accesses: Accesses | undefined;
  #random: number;

  /** `report` is told once of each two instructions that a register connects. */
  constructor(
    state: SharedState,
    { seed = 1, landing = 'last' }: WaitCheckOptions,
    report: (missing: MissedWait) => void,
  ) {
    this.#state = state;
    this.#landing = landing;
    this.#report = report;
    this.#random = seed | 0 || 1;
  }

  /** As all methods, of Watch. */
  waveStarts(base: number, identity: WaveIdentity): void {
    this.#waves.get(base)?.inFlight.forget();
    const inFlight = new FlightLog((flying, isNeeded) => this.#land(flying, isNeeded));
    this.#waves.set(base, { base, waveSize: identity.waveSize, identity, inFlight });
  }

  execute(base: number, step: Step, machine: WatchedMachine, evaluate: (machine: Machine) => void): void {
    const wave = this.#waves.get(base)!;
    const { inFlight } = wave;
    const { counters, waits } = step.effects;
    for (const [counter, atMost] of waits) inFlight.wait(counter, atMost);
    if (this.#landing === 'random') this.#landSome(inFlight);
    this.#accesses = { wave, step, spaces: new Set(), stored: new Set(), isAtomic: false };
    if (inFlight.flying.length > 0) this.#check('read', wave, step, readUses(step, wave, machine));
    if (counters.size > 0) this.#depart(wave, step, machine, evaluate);
    else {
      if (inFlight.flying.length > 0) this.#check('write', wave, step, writtenUses(step, wave, machine));
      evaluate(machine);
    }
    if (step.control === 'end') inFlight.forget();
  }

  accessed(_base: number, { access, space, place, sizeBytes }: ObservedAccess): void {
    const accesses = this.#accesses!;
    const { wave, step, spaces, stored } = accesses;
    spaces.add(space);
    if (space !== 'lds') return;
    if (access === 'atomic') accesses.isAtomic = true;
    for (let dword = place >>> 2; dword <= (place + sizeBytes - 1) >>> 2; dword++) {
      const known = this.#stored.get(dword);
      // Atomics of several waves need no order.
      const isMissing = known && known.wave !== wave && !(known.flying.isAtomic && access === 'atomic');
      if (isMissing) {
        const missed = { earlier: known.flying, waits: known.wave.inFlight };
        this.#miss({ ...missed, kind: 'lds', step, register: undefined, wave: wave.identity });
        known.wave.inFlight.complete(known.flying);
      }
      if (access !== 'read') stored.add(dword);
    }
  }

  /** Runs an instruction that counts until it is done. */
  #depart(wave: CheckedWave, step: Step, machine: WatchedMachine, evaluate: (machine: Machine) => void): void {
    const { inFlight } = wave;
    const coming = (address: number): number | undefined =>
      inFlight.flying.findLast(({ results }) => results.has(address))?.results.get(address);
    const deferred = new DeferredMachine(machine, coming);
    evaluate(deferred);
    const { spaces, stored, isAtomic } = this.#accesses!;
    const kinds = ordersOf(step, spaces);
    const isInOrder = (earlier: Flying): boolean => inFlight.completesBefore(earlier, kinds);
    if (inFlight.flying.length > 0) this.#check('write', wave, step, writtenUses(step, wave, machine), isInOrder);
    const { results, rows } = deferred;
    const flying = inFlight.issue({ step, results, rows, sources: NONE, stored, isAtomic, kinds });
    for (const address of results.keys()) this.#state.view.setInt32(address, this.#next(), true);
    for (const dword of stored) this.#stored.set(dword, { wave, flying });
    this.#keepSources(wave, step);
  }

  /** What expcnt counts besides results: exports and accesses to global data share read registers late. */
  #keepSources(wave: CheckedWave, step: Step): void {
    const { counters, reads, writes } = step.effects;
    if (!counters.has('expcnt') || (counters.size === 1 && writes.length > 0)) return;
    const vectors = reads.filter(({ file }) => file !== 'scalar');
    const sources = new Set(vectors.flatMap((range) => usesOf(range, 'active', wave).map(({ row }) => row)));
    const kinds = new Map([['expcnt', 'any'] as const]);
    wave.inFlight.issue({ step, sources, kinds, results: new Map(), rows: NONE, stored: NONE, isAtomic: false });
  }

  #land(flying: Flying, isNeeded: boolean): void {
    if (isNeeded) for (const [address, value] of flying.results) this.#state.view.setInt32(address, value, true);
    for (const dword of flying.stored) if (this.#stored.get(dword)?.flying === flying) this.#stored.delete(dword);
  }

  #landSome(inFlight: FlightLog): void {
    if (this.#next() % LANDING_ODDS !== 0) return;
    const { next } = inFlight;
    if (next.length > 0) inFlight.complete(next[(this.#next() >>> 0) % next.length]!);
  }

  /**
   * Reports the registers that are not ready, and makes them so. `isAllowed`: what need not be waited for.
   */
  #check(
    kind: 'read' | 'write',
    wave: CheckedWave,
    step: Step,
    uses: readonly UsedRegister[],
    isAllowed: (earlier: Flying) => boolean = () => false,
  ): void {
    for (const use of uses) {
      for (const earlier of [...wave.inFlight.flying]) {
        if (earlier.tickets.size === 0 || isAllowed(earlier)) continue;
        const isSource = kind === 'write' && earlier.sources.has(use.row);
        if (!isSource && !this.#touches(wave, earlier, use)) continue;
        const missed = { earlier, waits: wave.inFlight };
        this.#miss({ ...missed, kind: isSource ? 'source' : kind, step, register: use, wave: wave.identity });
        wave.inFlight.complete(earlier);
      }
    }
  }

  #touches({ base, waveSize }: CheckedWave, { rows, results }: Flying, { file, row, lanes }: UsedRegister): boolean {
    if (!rows.has(row)) return false;
    if (file === 'scalar' || lanes === 'all') return true;
    const { view } = this.#state;
    for (let lane = 0; lane < waveSize; lane++) {
      const exec = view.getUint32(base + STATE_OFFSETS.exec + (lane >> 5) * 4, true);
      if ((exec >>> (lane & 31)) & 1 && results.has(row + lane * 4)) return true;
    }
    return false;
  }

  #miss({ earlier, waits, ...found }: Omit<MissedWait, 'earlier' | 'waits'> & Missed): void {
    const { kind, register, step } = found;
    const name = register && `${register.file} ${register.number}`;
    const key = `${kind} ${step.offset} ${earlier.step.offset} ${name}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#report({ ...found, earlier: earlier.step, waits: waits.missing(earlier) });
  }

  /** Xorshift, of 32 bits. */
  #next(): number {
    this.#random ^= this.#random << 13;
    this.#random ^= this.#random >>> 17;
    this.#random ^= this.#random << 5;
    return this.#random;
  }
}

const NONE: ReadonlySet<number> = new Set();

/** The counters that say when an instruction has completed, with its order in each. */
function ordersOf({ effects }: Step, accessed: ReadonlySet<ObservedAccess['space']>): Map<WaitCounter, AccessOrder> {
  const { counters, memory, writes } = effects;
  const spaces = new Set<string>(memory.map(({ space }) => space));
  // Vector memory and LDS give nothing to scalar registers.
  const isScalar = writes.some(({ file }) => file === 'scalar');
  const isVector = ['global', 'private'].some((space) => spaces.has(space));
  const order = isScalar ? 'any' : isVector ? 'vector' : spaces.has('lds') ? 'lds' : 'any';
  const isMixed = accessed.has('lds') && accessed.size > 1;
  const orders = new Map<WaitCounter, AccessOrder>();
  for (const counter of counters) {
    const isOfLds = LDS_COUNTERS.has(counter);
    if (spaces.has('flat')) {
      const isLed = isOfLds ? accessed.has('lds') : accessed.size === 0 || !accessed.has('lds') || isMixed;
      if (isLed) orders.set(counter, isMixed ? 'any' : isOfLds ? 'lds' : 'vector');
    } else if (counter !== 'expcnt' || counters.size === 1) orders.set(counter, order);
  }
  return orders;
}
