/** Where lanes of a wave access device memory when a loop that stores is entered. */
import {
  add64,
  assign,
  eqz,
  gtU64,
  ltU,
  operation,
  or,
  type Push,
  push,
  type Term,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, FunctionBuilder, Local } from '../../../wasm/function.ts';
import { lanesMisalignment } from '../regions/alignment.ts';
import { allocationAt } from '../regions/allocation-at.ts';
import { extremeLane } from './extreme-lane.ts';

/** Words of the addresses of four lanes, of accesses from a multiple of `alignmentBytes` on. */
export interface LanesAt {
  readonly low: Local;
  readonly high: Local;
  readonly floor: Local | undefined;
  readonly alignmentBytes: number;
  readonly misalignmentBytes: number;
}

/** The first and the last address of the lanes. */
export class LaneExtents {
  readonly #f: FunctionBuilder;
  readonly #least: Local;
  readonly #most: Local;
  /** Lanes that are not where they may be. */
  readonly #bad: Local;

  constructor(f: FunctionBuilder) {
    this.#f = f;
    [this.#least, this.#most, this.#bad] = [f.local('v128'), f.local('v128'), f.local('v128')];
    assign(f, this.#least, operation('i32x4.splat', -1));
    for (const local of [this.#most, this.#bad]) assign(f, local, operation('i32x4.splat', 0));
  }

  /** Of four lanes those of `mask`, the high word of whose addresses must be `windowHi`. */
  note({ low, high, floor, alignmentBytes, misalignmentBytes }: LanesAt, mask: Local, windowHi: Term): void {
    const f = this.#f;
    const refuse = (lanes: Push): void =>
      assign(f, this.#bad, operation('v128.or', this.#bad, operation('v128.and', lanes, mask)));
    refuse(operation('v128.xor', high, operation('i32x4.splat', windowHi)));
    // A sum that carried is below what the index was added to; the high word does not know of it.
    if (floor) refuse(operation('i32x4.lt_u', low, floor));
    if (alignmentBytes > 1) refuse(lanesMisalignment(low, misalignmentBytes, alignmentBytes));
    const orAll = operation('v128.or', low, operation('v128.not', mask));
    assign(f, this.#least, operation('i32x4.min_u', this.#least, orAll));
    assign(f, this.#most, operation('i32x4.max_u', this.#most, operation('v128.and', low, mask)));
  }

  /** The addresses, in fresh locals; goes to `otherwise` where a lane is not where it may be. */
  end(otherwise: BlockLabel): { readonly least: Local; readonly most: Local } {
    const f = this.#f;
    push(f, operation('v128.any_true', this.#bad));
    f.brIf(otherwise);
    const ends = {
      least: extremeLane(f, this.#least, ltU),
      most: extremeLane(f, this.#most, (a, b) => ltU(b, a)),
    };
    f.free(this.#least, this.#most, this.#bad);
    return ends;
  }
}

/** What lanes touch from their addresses on. */
interface Touched {
  readonly min: number;
  readonly max: number;
}

/**
 * Sets `allocation` to where the one starts in which all is that lanes store; goes to `otherwise` where it is
 * not in one, or not to be written.
 */
export function findStored(
  f: FunctionBuilder,
  { least, most }: { readonly least: Local; readonly most: Local },
  { min, max }: Touched,
  allocation: Local,
  otherwise: BlockLabel,
): void {
  const [begin, end, address] = [f.local('i64'), f.local('i64'), f.local('i32')];
  assign(f, begin, add64(zext64(least), BigInt(min)));
  assign(f, end, add64(zext64(most), BigInt(max)));
  push(f, gtU64(begin, 0xffffffffn));
  f.brIf(otherwise);
  assign(f, address, operation('i32.wrap_i64', begin));
  const found = allocationAt(f, address);
  assign(f, allocation, found.start);
  const isOutside = gtU64(operation('i64.sub', end, zext64(allocation)), zext64(found.sizeBytes));
  push(f, or(or(ltU(address, allocation), isOutside), eqz(found.permits({ writes: true }))));
  f.brIf(otherwise);
  found.release();
  f.free(begin, end, address);
}
