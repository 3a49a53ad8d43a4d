/** Accesses of four lanes, one lane after the other, at linear addresses that are permitted. */
import { and, or, type Push, shrU } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { pairsOf, storePair } from '../../lowering/dword-pairs.ts';
import { DEVICE_MEMORY, PAGE_SIZE_BYTES, UNUSED_BYTES, UNUSED_START } from '../../machine/layout.ts';

/** One dword, or less. */
export function loadLanes(
  f: FunctionBuilder,
  result: Local,
  lanes: readonly Local[],
  at: number,
  sizeBytes: number,
): void {
  if (sizeBytes >= 4) {
    f.get(lanes[0]!);
    f.load('v128.load32_zero', at, DEVICE_MEMORY);
  } else f.v128([0, 0, 0, 0]);
  f.set(result);
  for (let lane = sizeBytes >= 4 ? 1 : 0; lane < 4; lane++) {
    f.get(lanes[lane]!);
    f.get(result);
    if (sizeBytes === 1) f.loadLane('v128.load8_lane', at, lane * 4, DEVICE_MEMORY);
    else if (sizeBytes === 2) f.loadLane('v128.load16_lane', at, lane * 2, DEVICE_MEMORY);
    else f.loadLane('v128.load32_lane', at, lane, DEVICE_MEMORY);
    f.set(result);
  }
}

/** Runs `body`, with `nibble` where the lane is on. */
export function ifActive(f: FunctionBuilder, lane: number, nibble: Local | undefined, body: () => void): void {
  if (!nibble) {
    body();
    return;
  }
  f.get(nibble);
  f.i32(1 << lane);
  f.op('i32.and');
  f.if(undefined, body);
}

/** What lanes store: the dwords of each lane's value, or its `sizeBytes` 1 or 2, behind its own address. */
export interface LaneStore {
  readonly offset: number;
  readonly data: readonly Local[];
  readonly sizeBytes: number;
}

/** Of lanes that write the same place the last one counts. */
export function storeLanes(
  f: FunctionBuilder,
  lanes: readonly Local[],
  { offset, data, sizeBytes }: LaneStore,
  nibble?: Local,
): void {
  const pairs = data.flatMap((dword, i) => (i % 2 === 1 ? [pairsOf(f, data[i - 1]!, dword)] : []));
  for (const [lane, address] of lanes.entries()) {
    ifActive(f, lane, nibble, () => {
      for (const [i, pair] of pairs.entries()) storePair(f, pair, lane, address, offset + i * 8);
      for (const [i, dword] of data.entries()) {
        if (i < pairs.length * 2) continue;
        const at = offset + i * 4;
        f.get(address);
        f.get(dword);
        if (sizeBytes === 1) f.loadLane('v128.store8_lane', at, lane * 4, DEVICE_MEMORY);
        else if (sizeBytes === 2) f.loadLane('v128.store16_lane', at, lane * 2, DEVICE_MEMORY);
        else f.loadLane('v128.store32_lane', at, lane, DEVICE_MEMORY);
      }
    });
  }
  for (const pair of pairs) f.free(...pair);
}

/** So far from UNUSED_START, at most, lanes store that are off, and so far accesses may reach from there. */
export const UNUSED_PLACES_BYTES = UNUSED_BYTES / 2;
const CACHE_LINE_BYTES = 64;

/** Where lanes of a wave store that are off: mostly, waves of other threads have another cache line. */
export function unusedPlace(wave: Local): Push {
  const line = shrU(wave, Math.log2(PAGE_SIZE_BYTES / CACHE_LINE_BYTES));
  return or(and(line, UNUSED_PLACES_BYTES - CACHE_LINE_BYTES), UNUSED_START);
}
