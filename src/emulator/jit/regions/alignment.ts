/** Addresses of lanes that are no multiples of what an access asks for. */
import { operation, type Push } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';

/**
 * Four lanes: by how many bytes each address is too high to be a multiple of `alignmentBytes`, a power of
 * two, once `offsetBytes` is added.
 */
export function lanesMisalignment(low: Local, offsetBytes: number, alignmentBytes: number): Push {
  const splat = (value: number): Push => operation('i32x4.splat', value);
  const moved = offsetBytes & (alignmentBytes - 1);
  const address = moved === 0 ? low : operation('i32x4.add', low, splat(moved));
  return operation('v128.and', address, splat(alignmentBytes - 1));
}
