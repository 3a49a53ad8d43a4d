/** Lanes that make no access look like one that does, so that they ask for nothing else. */
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { captured } from '../../lowering/emitter.ts';
import { NIBBLE_SPREADS } from '../../machine/layout.ts';

/** Which lane each of a chunk looks like, in a fresh local; `nibble`: who makes an access, one at least. */
export function laneSpread(f: FunctionBuilder, nibble: Local): Local {
  f.get(nibble);
  f.i32(4);
  f.op('i32.shl');
  f.load('v128.load', NIBBLE_SPREADS);
  return captured(f);
}

/** Dwords of lanes, spread so, in a fresh local. */
export function spreadLanes(f: FunctionBuilder, lanes: Local, spread: Local): Local {
  f.get(lanes);
  f.get(spread);
  f.op('i8x16.relaxed_swizzle');
  return captured(f);
}
