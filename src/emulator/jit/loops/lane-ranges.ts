/**
 * Where loads of one lane after the other are permitted: of each group of loads one range of addresses of 64
 * bits, which is asked with a single comparison, whether an address is in the window, too. What was learned
 * is forgotten when the code is left (see PermittedRanges).
 */
import {
  add64,
  and,
  assign,
  geU,
  loadFrom,
  ne,
  operation,
  push,
  select,
  sub,
  sum,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from '../regions/access-group.ts';
import { allocationAt } from '../regions/allocation-at.ts';

const FIRST = 0;
const COUNT = 8;

interface Opening {
  readonly state: FunctionState;
  readonly giveUp: BlockLabel;
  readonly missed: ReadonlyMap<AccessGroup, BlockLabel>;
}

/** What is known while a lane runs. */
interface Range {
  readonly place: number;
  readonly first: Local;
  readonly count: Local;
  /** An address that is not in it. */
  readonly other: Local;
}

export class LaneRanges {
  readonly #ranges = new Map<AccessGroup, Range>();

  /** Emits what comes before the code: nothing is known. */
  emit({ f, wave, rangePlaces }: FunctionState, groups: Iterable<AccessGroup>): void {
    const all = [...new Set(groups)];
    if (all.length === 0) return;
    const clear = (places: readonly number[]): void => {
      for (const place of places) {
        f.get(wave);
        f.i64(0n);
        f.store('i64.store', place + COUNT);
      }
    };
    const places = rangePlaces.open(all.length, clear, true);
    for (const [i, group] of all.entries())
      this.#ranges.set(group, {
        place: places[i]!,
        first: f.local('i64'),
        count: f.local('i64'),
        other: f.local('i64'),
      });
  }

  release({ f }: FunctionState): void {
    for (const { first, count, other } of this.#ranges.values()) f.free(first, count, other);
  }

  /** A lane begins. */
  begin({ f, wave }: FunctionState): void {
    for (const { place, first, count } of this.#ranges.values()) {
      assign(f, first, loadFrom('i64.load', wave, place + FIRST));
      assign(f, count, loadFrom('i64.load', wave, place + COUNT));
    }
  }

  /**
   * Pushes the low word of an address, less `offset`, of which all loads of the group are permitted; where
   * `active` is 0, the address is 0.
   */
  open(
    { state: { f }, giveUp, missed }: Opening,
    group: AccessGroup,
    address: Local,
    offset: number,
    active?: Local,
  ): void {
    const { first, count, other } = this.#ranges.get(group)!;
    assign(f, other, offset === 0 ? address : operation('i64.sub', address, BigInt(offset)));
    const isOutside = operation('i64.ge_u', operation('i64.sub', other, first), count);
    push(f, active ? and(isOutside, active) : isOutside);
    f.brIfRare(missed.get(group)!);
    const low = operation('i32.wrap_i64', other);
    const { alignmentBytes, misalignmentBytes } = group;
    if (alignmentBytes > 1) {
      const misalignment = and(misalignmentBytes === 0 ? low : sum(low, misalignmentBytes), alignmentBytes - 1);
      push(f, active ? and(ne(misalignment, 0), active) : misalignment);
      f.brIfRare(giveUp);
    }
    push(f, active ? and(low, sub(0, active)) : low);
  }

  /** Makes `iterations` no more than those for which an address that grows by `step` stays in the range. */
  bound({ state: { f }, missed }: Opening, group: AccessGroup, begin: Local, step: number, iterations: Local): void {
    const { first, count, other } = this.#ranges.get(group)!;
    const behind = f.local('i64');
    assign(f, other, begin);
    assign(f, behind, operation('i64.sub', begin, first));
    push(f, operation('i64.ge_u', behind, count));
    f.brIfRare(missed.get(group)!);
    const rest = operation('i64.sub', operation('i64.sub', count, 1n), behind);
    const log2 = Math.log2(step);
    const steps = Number.isInteger(log2)
      ? operation('i64.shr_u', rest, BigInt(log2))
      : operation('i64.div_u', rest, BigInt(step));
    assign(f, behind, add64(steps, 1n));
    const isLess = operation('i64.lt_u', behind, zext64(iterations));
    assign(f, iterations, select(operation('i32.wrap_i64', behind), iterations, isLess));
    f.free(behind);
  }

  /** Makes the allocation the range that an address is in which was not in the range, if there is one. */
  lookUp({ f, wave, spaces }: FunctionState, group: AccessGroup, none: BlockLabel): void {
    const { min, max } = group;
    const { place, other: base } = this.#ranges.get(group)!;
    const first = f.local('i32');
    assign(f, first, sum(operation('i32.wrap_i64', base), min));
    const { start, sizeBytes, permits, release } = allocationAt(f, first);
    const set = (at: number, push64: () => void): void => {
      f.get(wave);
      push64();
      f.store('i64.store', place + at);
    };
    // An extent of nothing, or of what may not be read, is no range.
    push(f, and(permits(group), geU(sizeBytes, max - min)));
    f.op('i32.eqz');
    f.brIfRare(none);
    set(FIRST, () => {
      push(f, operation('i64.or', zext64(start), operation('i64.shl', zext64(spaces.windowHi), 32n)));
      f.i64(BigInt(min));
      f.op('i64.sub');
    });
    set(COUNT, () => push(f, operation('i64.sub', zext64(sizeBytes), BigInt(max - min - 1))));
    release();
    f.free(first);
  }
}
