/** Which registers of a kernel may serve payloads, and what is known of them at a point. */
import type { LiveLanes } from '../../flow/lane-words.ts';
import type { WaitCounter } from '../../ir/effects.ts';
import type { OpenAccess } from '../../lift/in-flight.ts';
import type { PhysicalRange } from './machine-code.ts';
import type { MemoryHome } from './vector-homes.ts';

/** Numbers of registers of one file: `used` <= `granted` <= `growable` <= `most`. */
export interface FileLimits {
  /** From here on the application uses none, in all code that the kernel reaches. */
  readonly used: number;
  /** From here on the wave has none as it is launched: registers below are granted in granules. */
  readonly granted: number;
  /** Up to here the kernel may be given more. */
  readonly growable: number;
  /** Up to here it costs waves that could run at the same time: for points that nothing else serves. */
  readonly most: number;
}

export interface RegisterPlan {
  readonly scalar: FileLimits;
  readonly vector: FileLimits;
  readonly accumulator: FileLimits;
  /** Private memory for what registers have, where points need it; a text says why there is none. */
  readonly memory?: MemoryHome | string | undefined;
  /** Registers that payloads keep for the whole kernel, such as the address of the tool's variables. */
  readonly reserved: readonly PhysicalRange[];
  /** Whether callers may be unknown code: accesses to any register may be in flight where it is entered. */
  readonly isOpen?: boolean;
}

/** What `InFlight` says of a place. */
export interface PointAccesses {
  readonly accesses: readonly Pick<OpenAccess, 'counter' | 'register' | 'access'>[];
  leftOf(access: Pick<OpenAccess, 'counter' | 'register' | 'access'>): number;
}

export const NOTHING_IN_FLIGHT: PointAccesses = { accesses: [], leftOf: () => 0 };

/** What is known where a payload is to run. */
export interface PointState {
  /** Over REGISTER_PLACES; `LaneWords` cost least. */
  readonly live: LiveLanes;
  readonly isSccLive: boolean;
  readonly inFlight: PointAccesses;
  /** Counters of accesses in flight of which it is not known which registers they use. */
  readonly unknownInFlight: ReadonlySet<WaitCounter>;
  /** Whether M0 completes the numbers of VGPRs here. */
  readonly gprIndexing: boolean;
}
