/** The base that indices of lanes are added to, in 64 bits. */
import { add64, operation, type Push, sub, zext64 } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { IndexedAddress, Node } from './node.ts';

/** The same for addresses that have the same base. */
export const baseKey = ({ baseLow, baseHigh }: IndexedAddress): string => `${baseLow.id},${baseHigh.id}`;

/** Address of the base less that of the window, 64 bits. */
export function baseInWindow(
  { spaces }: FunctionState,
  { baseLow, baseHigh }: IndexedAddress,
  scalar: (node: Node) => Local,
): Push {
  const high = sub(scalar(baseHigh), spaces.windowHi);
  return add64(operation('i64.shl', zext64(high), 32n), zext64(scalar(baseLow)));
}
