/**
 * Where accesses of any lanes are permitted, as far as code that goes round many times has learned: of each
 * group of accesses one range of device memory, against which four lanes' addresses are held at once. An
 * address outside it is looked up as usual, and its allocation becomes the range.
 *
 * What was learned is forgotten when the code is left, so that memory that is freed meanwhile is not used
 * again before (see Grace).
 */
import {
  and,
  assign,
  loadFrom,
  ne,
  operation,
  type Push,
  select,
  shl,
  shrU,
  sub,
  zext64,
} from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { GRANULE_SIZE_BYTES, MAY_READ, MAY_WRITE, PAGE_EXTENTS, PAGE_SIZE_BYTES } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from './access-group.ts';

/**
 * Low words of addresses at which all accesses of the group are permitted: from `first` on, so many. Vectors
 * hold signed numbers, both less by 2^31, since those are compared with fewer instructions.
 */
interface Range {
  readonly first: Local;
  readonly count: Local;
}

const SIGN = -0x80000000;
const PAGE_LOG2 = Math.log2(PAGE_SIZE_BYTES);

export class PermittedRanges {
  readonly #state: FunctionState;
  readonly #ranges = new Map<AccessGroup, Range>();

  constructor(state: FunctionState) {
    this.#state = state;
  }

  /** Emits what comes before the code: nothing is known of these groups. */
  emit(groups: Iterable<AccessGroup>): void {
    const { f } = this.#state;
    for (const group of groups) {
      if (this.#ranges.has(group)) continue;
      const range = { first: f.local('v128'), count: f.local('v128') };
      this.#ranges.set(group, range);
      assign(f, range.first, operation('i32x4.splat', SIGN));
      assign(f, range.count, operation('i32x4.splat', SIGN));
    }
  }

  has(group: AccessGroup): boolean {
    return this.#ranges.has(group);
  }

  /** In which lanes an address is in the range, if the high word is that of device memory. */
  permitted(group: AccessGroup, low: Local): Push {
    const { first, count } = this.#ranges.get(group)!;
    return operation('i32x4.gt_s', count, operation('i32x4.sub', low, first));
  }

  /** Makes the allocation around a permitted address the range. */
  learn(group: AccessGroup, address: Local): void {
    const { f } = this.#state;
    const { first, count } = this.#ranges.get(group)!;
    const [pair, extent, places] = [f.local('i64'), f.local('i32'), f.local('i64')];
    assign(f, pair, loadFrom('i64.load', shl(shrU(address, PAGE_LOG2), 3), PAGE_EXTENTS));
    assign(f, extent, operation('i32.wrap_i64', operation('i64.shr_u', pair, 32n)));
    const start = operation('i32.wrap_i64', pair);
    assign(f, first, operation('i32x4.splat', sub(start, (group.min + SIGN) | 0)));
    // All that is accessed behind the first byte must be there, too.
    const behind = BigInt(group.max - group.min - 1);
    const sizeBytes = zext64(and(extent, -GRANULE_SIZE_BYTES));
    assign(f, places, operation('i64.sub', sizeBytes, behind));
    const isRange = and(operation('i64.gt_s', places, 0n), ne(and(extent, group.writes ? MAY_WRITE : MAY_READ), 0));
    const number = select(operation('i32.wrap_i64', places), 0, isRange);
    assign(f, count, operation('i32x4.splat', sub(number, SIGN)));
    f.free(pair, extent, places);
  }

  release(): void {
    for (const { first, count } of this.#ranges.values()) this.#state.f.free(first, count);
    this.#ranges.clear();
  }
}
