/**
 * Two dwords of each lane that are read or written at once, so that a value of 64 bits is whole for other
 * threads, as it is for other waves of the hardware.
 */
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { DEVICE_MEMORY } from '../machine/layout.ts';
import { EVEN_DWORDS, ODD_DWORDS, shuffleDwords } from './int-emission.ts';

/** Vectors of the low and of the high dwords. */
export type DwordPair = readonly [low: Local, high: Local];

/** Sets the dwords of four lanes at `lanes` + `at`; of one lane for all where there is one. */
export function loadPair(f: FunctionBuilder, lanes: readonly Local[], at: number, [low, high]: DwordPair): void {
  const [first, second] = [f.local('v128'), f.local('v128')];
  const isBroadcast = lanes.length === 1;
  for (const [i, half] of (isBroadcast ? [first] : [first, second]).entries()) {
    f.get(lanes[2 * i]!);
    f.load(isBroadcast ? 'v128.load64_splat' : 'v128.load64_zero', at, DEVICE_MEMORY);
    f.set(half);
    if (isBroadcast) continue;
    f.get(lanes[2 * i + 1]!);
    f.get(half);
    f.loadLane('v128.load64_lane', at, 1, DEVICE_MEMORY);
    f.set(half);
  }
  for (const [dword, pattern] of [
    [low, EVEN_DWORDS],
    [high, ODD_DWORDS],
  ] as const) {
    f.get(first);
    f.get(isBroadcast ? first : second);
    f.shuffle(pattern);
    f.set(dword);
  }
  f.free(first, second);
}

/** Vectors of the pairs of lanes 0 and 1, and of lanes 2 and 3, in fresh locals: for `storePair`. */
export function pairsOf(f: FunctionBuilder, low: Local, high: Local): readonly [Local, Local] {
  const pairs = [f.local('v128'), f.local('v128')] as const;
  for (const [i, pair] of pairs.entries()) {
    f.get(low);
    f.get(high);
    f.shuffle(shuffleDwords(2 * i, 2 * i + 4, 2 * i + 1, 2 * i + 5));
    f.set(pair);
  }
  return pairs;
}

/** Stores a lane's pair at `address` + `at`. */
export function storePair(
  f: FunctionBuilder,
  pairs: readonly [Local, Local],
  lane: number,
  address: Local,
  at: number,
): void {
  f.get(address);
  f.get(pairs[lane >> 1]!);
  f.loadLane('v128.store64_lane', at, lane & 1, DEVICE_MEMORY);
}
