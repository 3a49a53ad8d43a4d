/** What is known at the places where payloads run. */
import { LaneWords } from '../../flow/lane-words.ts';
import { REGISTER_WORDS, stateNumber } from '../../flow/steps.ts';
import type { WaitCounter } from '../../ir/effects.ts';
import { followingOffset } from '../../ir/step.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import { InFlight } from '../../lift/in-flight.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import { hasCounter } from '../machine/payload-waits.ts';
import { NOTHING_IN_FLIGHT, type PointState } from '../machine/register-plan.ts';
import type { Side } from '../tool/insertions.ts';

const SCC = stateNumber('scc');
const NOTHING_LIVE = new LaneWords(REGISTER_WORDS);
const NO_COUNTERS: PointState['unknownInFlight'] = new Set();

/** The places of one function. Questions in the order of addresses cost least. */
export class PointStates {
  readonly #function: LiftedFunction;
  /** The answer to the last question. */
  readonly #state: { -readonly [K in keyof PointState]: PointState[K] } = {
    ...{ live: NOTHING_LIVE, isSccLive: false, gprIndexing: false },
    ...{ inFlight: NOTHING_IN_FLIGHT, unknownInFlight: NO_COUNTERS },
  };
  #unknown: { readonly all: readonly WaitCounter[]; readonly known: PointState['unknownInFlight'] } | undefined;
  #steps: ReadonlyMap<number, AmdgpuStep> | undefined;

  constructor(lifted: LiftedFunction) {
    this.#function = lifted;
  }

  /** The state, which holds until the next question, or why nothing can stand there. */
  at(step: AmdgpuStep, side: Side): PointState | string {
    const isBefore = side === 'before' || side === 'entry';
    const { gprIndexing } = this.#function;
    const indexing = isBefore ? gprIndexing.before(step) : gprIndexing.after(step);
    if (indexing === 'unknown') return 'it is not known whether M0 completes the numbers of registers';
    const live = this.#function.readLive(step, isBefore ? 'before' : 'after');
    const inFlight = this.#inFlightAt(step, side);
    const state = this.#state;
    state.live = live;
    state.isSccLive = live.isActive(SCC);
    state.inFlight = inFlight;
    state.unknownInFlight = this.#unknownIn(inFlight, step);
    state.gprIndexing = indexing === 'on';
    return state;
  }

  /** What is not known may be any counter of any target. Sets that are equal are one. */
  #unknownIn({ unknown }: InFlight, { instruction }: AmdgpuStep): PointState['unknownInFlight'] {
    if (unknown.size === 0) return NO_COUNTERS;
    const last = this.#unknown;
    if (last && last.all.length === unknown.size && last.all.every((each) => unknown.has(each))) return last.known;
    const all = [...unknown];
    const known = new Set(all.filter((each) => hasCounter(instruction.target, each)));
    this.#unknown = { all, known };
    return known;
  }

  /** Behind a step it is what may be in flight where that leads to, on all ways. */
  #inFlightAt(step: AmdgpuStep, side: Side): InFlight {
    if (side === 'before' || side === 'entry') return this.#function.inFlight(step);
    const place = side === 'taken' ? step.target : followingOffset(step);
    const { blocks } = this.#function;
    this.#steps ??= new Map(blocks.flatMap(({ instructions }) => instructions.map((each) => [each.offset, each])));
    const next = place === undefined ? undefined : this.#steps.get(place);
    return next ? this.#function.inFlight(next) : InFlight.unknown();
  }
}
