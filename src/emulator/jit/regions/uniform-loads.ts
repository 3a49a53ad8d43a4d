/** Loads of four lanes at one address that the wave has: nothing is to be found out about the lanes. */
import { assert } from '../../../base/errors.ts';
import { assign, geU, gtU, ne, or, push, sum } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { LaneArgument } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import { type AccessGroup, addressNodes } from './access-group.ts';
import type { AddressChecks } from './address-checks.ts';
import type { Hoisted } from './hoisted.ts';
import type { Node } from './node.ts';

/** Where such loads are. */
export interface UniformPlace {
  /** One linear address for all of them. */
  readonly lanes: readonly [Local];
  /** The offset that it stands for. */
  readonly origin: number;
}

export interface UniformEnvironment {
  readonly state: FunctionState;
  readonly hoisted: Hoisted;
  argument(node: Node): LaneArgument;
}

export const isUniform = (group: AccessGroup): boolean =>
  !group.writes && group.space !== 'private' && addressNodes(group).every(({ lane }) => !lane);

/** Checks the loads; goes to `slow` where not all are permitted, or their address is not plain. */
export function openUniform(
  { state, hoisted, argument }: UniformEnvironment,
  checks: AddressChecks,
  group: AccessGroup,
  slow: BlockLabel,
): UniformPlace {
  const { f, spaces, context } = state;
  const { space, min, max } = group;
  const { low, high, floor } = group.parts;
  assert(!floor, 'what has a floor has an index of lanes');
  const scalarOf = (node: Node): Local => argument(node).scalar!;
  checks.refuseMisaligned(group, scalarOf(low), slow);
  const address = f.local('i32');
  if (space === 'lds') {
    // A sum that is an address may have a constant that the rest, below 0, is behind.
    assign(f, address, sum(scalarOf(low), min));
    if (context.checksAccesses) {
      const size = hoisted.sizeBytes('lds');
      push(f, or(geU(address, size), gtU(sum(address, max - min), size)));
      f.brIfRare(slow);
    }
    assign(f, address, sum(address, hoisted.base('lds')));
    return { lanes: [address], origin: min };
  }
  assign(f, address, scalarOf(low));
  if (high && (context.checksAccesses || space === 'flat')) {
    push(f, ne(scalarOf(high), spaces.windowHi));
    f.brIfRare(slow);
  }
  if (context.checksAccesses) checks.refuseUnlessPermitted(group, address, 0, slow);
  return { lanes: [address], origin: 0 };
}
