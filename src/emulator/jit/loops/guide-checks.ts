/** What is asked in each iteration of the addresses of the guide, which says where all lanes are. */
import { and, assign, eqz, geU, gtU, ltU, ne, type Push, push, sub, sum } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { validityOf } from '../../lowering/memory-access.ts';
import { MAY_READ } from '../../machine/layout.ts';
import type { AccessGroup } from '../regions/access-group.ts';
import { type AddressChecks, isIndexFar } from '../regions/address-checks.ts';
import { mayBeIn } from '../regions/allocation-at.ts';
import type { PermittedRanges } from '../regions/permitted-ranges.ts';
import type { LoopEnvironment } from './chunk-state.ts';
import type { LoopValues } from './loop-values.ts';
import type { GuideAddress, GuideIndex } from './side-by-side.ts';

/** First and last byte of what is not longer are not in two allocations, between which is a hole. */
export const MAX_SPAN_BYTES = 1024;

/** How far stores go on, at most, beside what lanes span: what seems to be more is a way back. */
const MAX_STEP_BYTES = 2 ** 30;

/** Bytes from the guide to the lanes: the least, and the most. */
interface Distances {
  readonly least: Local;
  readonly most: Local;
}

/** Where the guide accesses memory in a group of accesses. */
export interface GuidePlace extends Distances {
  readonly address: GuideAddress;
  /** Of a store: where that of the guide was in the last iteration. */
  readonly last: Local | undefined;
  /** Its indices at which all that lanes access is known to be permitted: so many, from `first` on. */
  readonly known: { readonly first: Local; readonly count: Local } | undefined;
}

/** Emits what is computed for rare checks alone, for `use`, which comes where these are. */
export type Rarely = (use: (values: LoopValues) => void) => void;

/** Bytes from the first one that the lanes touch to that behind the last one. */
export const spanOf = ({ min, max }: AccessGroup, { least, most }: Distances): Push => sum(sub(most, least), max - min);

export class GuideChecks {
  readonly #environment: LoopEnvironment;
  readonly #ranges: PermittedRanges;
  readonly #checks: AddressChecks;

  constructor(environment: LoopEnvironment, ranges: PermittedRanges, checks: AddressChecks) {
    this.#environment = environment;
    this.#ranges = ranges;
    this.#checks = checks;
  }

  /** Whether one index says all of an address. */
  mayKnow(group: AccessGroup, { indexed }: GuideAddress): boolean {
    const isAligned = indexed !== undefined && 2 ** indexed.shift >= group.alignmentBytes;
    return isAligned && !group.writes && this.#ranges.has(group);
  }

  /** Goes to `slow` where an access of a lane may not be permitted. */
  check(
    places: Iterable<readonly [AccessGroup, GuidePlace]>,
    values: LoopValues,
    slow: BlockLabel,
    rarely: Rarely,
  ): void {
    const { f } = this.#environment.state;
    const looked = new Set<string>();
    for (const [group, place] of places) {
      const { known, address } = place;
      if (!known) {
        this.#checkAll(group, place, values, slow, looked);
        continue;
      }
      const [{ value }] = address.indices as [GuideIndex];
      const index = values.local(value);
      push(f, geU(sub(index, known.first), known.count));
      f.ifRare(() =>
        rarely((all) => {
          this.#checkAll(group, place, all, slow, new Set());
          this.#ranges.findIndices(group, values.local(address.low), { ...address.indexed!, index }, known);
        }),
      );
    }
  }

  /** `looked`: what was asked of indices. */
  #checkAll(group: AccessGroup, place: GuidePlace, values: LoopValues, slow: BlockLabel, looked: Set<string>): void {
    const { f, spaces } = this.#environment.state;
    const { address, last } = place;
    const [low, high] = [values.local(address.low), values.local(address.high)];
    push(f, ne(high, spaces.windowHi));
    f.brIfRare(slow);
    if (address.floor) {
      push(f, ltU(low, values.local(address.floor)));
      f.brIfRare(slow);
    }
    for (const { value, isSigned } of address.indices) {
      const key = `${value.id} ${isSigned}`;
      if (looked.has(key)) continue;
      looked.add(key);
      push(f, isIndexFar(values.local(value), isSigned));
      f.brIfRare(slow);
    }
    this.#checks.refuseMisaligned(group, low, slow);
    if (last) this.#refuseOverlap(low, last, spanOf(group, place), slow);
    if (this.#ranges.has(group)) this.#refuseForbidden(group, place, low, slow);
  }

  #refuseForbidden(group: AccessGroup, { least, most }: GuidePlace, low: Local, slow: BlockLabel): void {
    const { state, storedAllocation } = this.#environment;
    const { f } = state;
    const isUnknown = eqz(this.#ranges.permitsGuide(group, low));
    push(f, isUnknown);
    if (group.writes) {
      // All is in one allocation, that of the first iteration.
      f.brIfRare(slow);
      return;
    }
    f.ifRare(() => {
      const first = validityOf(sum(low, least, group.min));
      const last = validityOf(sum(low, most, group.max - 1));
      push(f, eqz(and(and(first, last), MAY_READ)));
      f.brIfRare(slow);
      this.#ranges.learnGuide(group, low, least, most, storedAllocation);
      if (storedAllocation) {
        push(f, mayBeIn(sum(low, least, group.min), storedAllocation));
        f.brIfRare(slow);
      }
      push(f, and(gtU(sub(most, least), MAX_SPAN_BYTES), isUnknown));
      f.brIfRare(slow);
    });
  }

  /** Goes to `slow` unless all lanes store behind what they stored in the last iteration. */
  #refuseOverlap(low: Local, last: Local, span: Push, slow: BlockLabel): void {
    const { f } = this.#environment.state;
    push(f, gtU(sub(sub(low, last), span), MAX_STEP_BYTES));
    f.brIfRare(slow);
    assign(f, last, low);
  }
}
