/** What is known at the places where payloads run. */
import { stateNumber } from '../../flow/steps.ts';
import { followingOffset } from '../../ir/step.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import { GprIndexStates } from '../../lift/gpr-index-mode.ts';
import { InFlight } from '../../lift/in-flight.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import { hasCounter } from '../machine/payload-waits.ts';
import type { PointState } from '../machine/register-plan.ts';
import type { Side } from '../tool/insertions.ts';

const SCC = 1n << BigInt(stateNumber('scc'));
const NO_COUNTERS: PointState['unknownInFlight'] = new Set();

/** The places of one function. Questions in the order of addresses cost least. */
export class PointStates {
  readonly #function: LiftedFunction;
  readonly #indexing: GprIndexStates;
  #steps: ReadonlyMap<number, AmdgpuStep> | undefined;

  constructor(lifted: LiftedFunction) {
    this.#function = lifted;
    this.#indexing = new GprIndexStates(lifted.blocks, lifted.graph);
  }

  /** The state, or why nothing can stand there. */
  at(step: AmdgpuStep, side: Side): PointState | string {
    const isBefore = side === 'before' || side === 'entry';
    const indexing = isBefore ? this.#indexing.before(step) : this.#indexing.after(step);
    if (indexing === 'unknown') return 'it is not known whether M0 completes the numbers of registers';
    const live = isBefore ? this.#function.liveBefore(step) : this.#function.liveAfter(step);
    const inFlight = this.#inFlightAt(step, side);
    return {
      live,
      isSccLive: (live.active & SCC) !== 0n,
      inFlight: inFlight.pending,
      // What is not known may be any counter of any target.
      unknownInFlight:
        inFlight.unknown.size === 0
          ? NO_COUNTERS
          : new Set([...inFlight.unknown].filter((each) => hasCounter(step.instruction.target, each))),
      gprIndexing: indexing === 'on',
    };
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
