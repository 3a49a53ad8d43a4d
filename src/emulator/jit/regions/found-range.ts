/** Where loads at found places may be (found-loads.ts). */
import { operation, type Push } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import type { AccessGroup } from './access-group.ts';
import type { Node } from './node.ts';

/** Which indices of a group lead into one allocation, once that is known. */
export interface FoundRange {
  readonly index: Node;
  /** The first of them in each lane, and how many there are behind it. */
  readonly first: Local;
  readonly behind: Local;
  /** The allocation. */
  readonly start: Local;
  readonly end: Local;
}

/** `groups`: of loads at found places. */
export function newFoundRanges(f: FunctionBuilder, groups: Iterable<AccessGroup>): Map<AccessGroup, FoundRange> {
  const rangeOf = (group: AccessGroup): FoundRange => ({
    index: group.parts.indexed!.index,
    ...{ first: f.local('v128'), behind: f.local('v128') },
    ...{ start: f.local('i32'), end: f.local('i32') },
  });
  return new Map([...groups].map((group) => [group, rangeOf(group)]));
}

/** Which lanes' indices are in the range. */
export const isInRange = ({ first, behind }: FoundRange, indices: Local): Push =>
  operation('i32x4.le_u', operation('i32x4.sub', indices, first), behind);
