/** What four lanes' addresses of device memory are held against; whatever is not permitted goes elsewhere. */
import { and, gtU, ne, operation, type Push, push, sum } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { LaneArgument } from '../../lowering/emitter.ts';
import { validityOf } from '../../lowering/memory-access.ts';
import { MAY_READ, MAY_WRITE } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from './access-group.ts';
import { lanesMisalignment } from './alignment.ts';
import type { Hoisted } from './hoisted.ts';

export interface LaneAddresses {
  readonly group: AccessGroup;
  /** Low words of the lanes' addresses. */
  readonly low: Local;
  /** The same lane by lane, without the accesses' offsets. */
  readonly lanes: readonly Local[];
  readonly slow: BlockLabel;
  /** Absent, or in all lanes what low words must not be below, or the addition carried. */
  readonly floor: LaneArgument | undefined;
}

/** Where an index is added in 64 bits, only the index itself must not wrap between lanes. */
export const INDEX_REACH = 2 ** 30;

/** Whether an index that is extended to 64 bits is so far from 0 that that of another lane may wrap. */
export const isIndexFar = (index: Local, isSigned: boolean): Push =>
  isSigned ? gtU(sum(index, INDEX_REACH), 2 * INDEX_REACH) : gtU(index, INDEX_REACH);

export class AddressChecks {
  readonly #state: FunctionState;
  readonly #hoisted: Hoisted;

  constructor({ state, hoisted }: { readonly state: FunctionState; readonly hoisted: Hoisted }) {
    this.#state = state;
    this.#hoisted = hoisted;
  }

  /** `low`: the address of a lane, which says it for all of them, or of four. */
  refuseMisaligned({ alignmentBytes, misalignmentBytes }: AccessGroup, low: Local, slow: BlockLabel): void {
    if (alignmentBytes === 1) return;
    const { f } = this.#state;
    if (low.type === 'v128')
      push(f, operation('v128.any_true', lanesMisalignment(low, misalignmentBytes, alignmentBytes)));
    else push(f, and(misalignmentBytes === 0 ? low : sum(low, misalignmentBytes), alignmentBytes - 1));
    f.brIfRare(slow);
  }

  /** High words that are not those of device memory. */
  refuseOutside(high: LaneArgument, slow: BlockLabel): void {
    const { f, spaces } = this.#state;
    if (high.scalar) push(f, ne(high.scalar, spaces.windowHi));
    else {
      const outside = operation('v128.xor', high.lanes[0]!, this.#hoisted.window);
      push(f, operation('v128.any_true', outside));
    }
    f.brIfRare(slow);
  }

  /** Of lanes that are together, what is touched from the first one's address to the last one's. */
  refuseUnlessPermitted(group: AccessGroup, first: Local, spanBytes: number, slow: BlockLabel): void {
    this.#pushPermissions(first, group.min, group.max - 1 + spanBytes);
    this.#refuseWithout(group, slow);
  }

  /** Of lanes anywhere, every granule that they touch first or last. */
  refuseGather({ group, low, lanes, floor, slow }: LaneAddresses): void {
    const { f } = this.#state;
    const isOneDword = group.allDwords && group.max - group.min === 4 && (group.min & 3) === 0;
    const unaligned = operation('v128.and', low, operation('i32x4.splat', 3));
    const below = floor && operation('i32x4.lt_u', low, floor.lanes[0]!);
    if (isOneDword || below) {
      push(
        f,
        operation('v128.any_true', !isOneDword ? below! : below ? operation('v128.or', unaligned, below) : unaligned),
      );
      f.brIfRare(slow);
    }
    lanes.forEach((address, lane) => {
      this.#pushPermissions(address, group.min, isOneDword ? group.min : group.max - 1);
      if (lane > 0) f.op('i32.and');
    });
    this.#refuseWithout(group, slow);
  }

  /** Pushes the permissions that the granules of the first and the last byte have in common. */
  #pushPermissions(address: Local, first: number, last: number): void {
    const { f } = this.#state;
    const at = (offset: number): Push => validityOf(offset === 0 ? address : sum(address, offset));
    push(f, last === first ? at(first) : and(at(first), at(last)));
  }

  /** Takes permissions. */
  #refuseWithout({ writes }: AccessGroup, slow: BlockLabel): void {
    const { f } = this.#state;
    f.i32(writes ? MAY_WRITE : MAY_READ);
    f.op('i32.and');
    f.op('i32.eqz');
    f.brIfRare(slow);
  }
}
