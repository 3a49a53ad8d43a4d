/** Values of the wave as vectors. */
import type { Type } from '../../../ir/types.ts';
import type { Local } from '../../../wasm/function.ts';
import { type Lanes, splat } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import { usedBy } from './access-group.ts';
import { type BodyValues, resultNodes } from './body-values.ts';
import type { Node } from './node.ts';

/** Emits all values of the wave that a body reads, a fast one or not. */
export function splatsOf(
  state: FunctionState,
  values: BodyValues,
  isFast: boolean,
  scalar: (node: Node) => Local,
): ReadonlyMap<Node, Lanes> {
  const splats = new Map<Node, Lanes>();
  const add = (node: Node): void => {
    if (node.lane || splats.has(node)) return;
    splats.set(node, splat(state.e, scalar(node), node.type as Type));
  };
  for (const node of values.lanes) if (node.leaf.kind !== 'laneMask') usedBy(node, isFast).forEach(add);
  resultNodes(values).forEach(add);
  return splats;
}
