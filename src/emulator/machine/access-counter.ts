/**
 * What lanes access, by instruction, on one thread: code tells of each chunk of lanes, and when an
 * instruction begins. Only where it is asked for.
 */
import { ldsCycles, segmentCount } from '../../base/wave-access.ts';
import type { MemorySpace } from '../../ir/types.ts';

/**
 * Of accesses that lanes made to global memory and to the LDS, flat ones where they lead to; an instruction
 * with two addresses makes two.
 */
export interface AccessCounts {
  /** Of a wave, with at least one lane. */
  readonly accesses: number;
  /** That its lanes asked for. */
  readonly bytes: number;
  /** Pieces of global memory that were touched, each once for an access. */
  readonly segments: number;
  /** Of the LDS: cycles that accesses took, and those of them that bank conflicts cost. */
  readonly cycles: number;
  readonly conflicts: number;
}

export const NO_ACCESSES: AccessCounts = { accesses: 0, bytes: 0, segments: 0, cycles: 0, conflicts: 0 };

export const sumOfAccesses = (a: AccessCounts, b: AccessCounts): AccessCounts => ({
  accesses: a.accesses + b.accesses,
  bytes: a.bytes + b.bytes,
  segments: a.segments + b.segments,
  cycles: a.cycles + b.cycles,
  conflicts: a.conflicts + b.conflicts,
});

const ACCESS_SPACES: readonly MemorySpace[] = ['global', 'flat', 'lds', 'private'];

const ACCESS_SIZES = 256;

/** Tells of an access: its number in the instruction, its space, and bytes of a lane, which are few. */
export const accessNumber = (index: number, space: MemorySpace, sizeBytes: number): number =>
  (index * ACCESS_SPACES.length + ACCESS_SPACES.indexOf(space)) * ACCESS_SIZES + sizeBytes;

/** One access of the instruction that runs. */
interface OpenAccess {
  readonly isLds: boolean;
  readonly sizeBytes: number;
  readonly lanes: number[];
  readonly addresses: number[];
}

export interface AccessCounterOptions {
  /** What global memory is cut into. */
  readonly segmentBytes: number;
  readonly sharedApertureHi: number;
  readonly privateApertureHi: number;
}

const CHUNK_LANES = 4;

export class AccessCounter {
  readonly #options: AccessCounterOptions;
  /** By the record of the instruction. */
  #counts = new Map<number, AccessCounts>();
  #record = 0;
  /** By the number of the access in the instruction, and whether it leads to the LDS. */
  readonly #open = new Map<number, OpenAccess>();

  constructor(options: AccessCounterOptions) {
    this.#options = options;
  }

  /** The instruction of a record begins. */
  readonly begin = (record: number): void => {
    this.#finish();
    this.#record = record;
  };

  /**
   * Active lanes of a chunk make an access (`accessNumber`): low and high dwords of their addresses; the
   * address of LDS is an offset.
   */
  readonly chunk = (access: number, chunk: number, active: number, ...dwords: readonly number[]): void => {
    const sizeBytes = access % ACCESS_SIZES;
    const space = ACCESS_SPACES[Math.floor(access / ACCESS_SIZES) % ACCESS_SPACES.length]!;
    for (let lane = 0; lane < CHUNK_LANES; lane++) {
      if (((active >> lane) & 1) === 0) continue;
      this.lane(access, { space, sizeBytes }, chunk + lane, [dwords[lane]!, dwords[CHUNK_LANES + lane]!]);
    }
  };

  /** `access`: brings the accesses of an instruction apart. */
  lane(
    access: number,
    { space, sizeBytes }: { readonly space: MemorySpace; readonly sizeBytes: number },
    lane: number,
    [low, high]: readonly [low: number, high: number],
  ): void {
    const { sharedApertureHi, privateApertureHi } = this.#options;
    const isIn = (apertureHi: number): boolean => space === 'flat' && high >>> 0 === apertureHi >>> 0;
    if (space === 'private' || isIn(privateApertureHi)) return;
    const isLds = space === 'lds' || isIn(sharedApertureHi);
    const key = 2 * access + (isLds ? 1 : 0);
    let open = this.#open.get(key);
    if (open === undefined) {
      open = { isLds, sizeBytes, lanes: [], addresses: [] };
      this.#open.set(key, open);
    }
    open.lanes.push(lane);
    open.addresses.push(low >>> 0);
  }

  /** The instruction that runs does not come to its end. */
  discard(): void {
    this.#open.clear();
  }

  #finish(): void {
    if (this.#open.size === 0) return;
    let counts = this.#counts.get(this.#record) ?? NO_ACCESSES;
    for (const { isLds, sizeBytes, lanes, addresses } of this.#open.values()) {
      const { cycles, needed } = isLds ? ldsCycles(lanes, addresses, sizeBytes) : { cycles: 0, needed: 0 };
      counts = sumOfAccesses(counts, {
        accesses: 1,
        bytes: lanes.length * sizeBytes,
        segments: isLds ? 0 : segmentCount(addresses, sizeBytes, this.#options.segmentBytes),
        cycles,
        conflicts: cycles - needed,
      });
    }
    this.#counts.set(this.#record, counts);
    this.#open.clear();
  }

  /** By record; they are forgotten. */
  take(): ReadonlyMap<number, AccessCounts> {
    this.#finish();
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }
}
