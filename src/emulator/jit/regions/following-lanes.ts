/**
 * Accesses of four lanes whose values follow each other without a gap, at linear addresses that are
 * permitted.
 */
import { and, assign, eq, eqz, leU, loadFrom, mul, or, type Push, push, type Term } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import type { DwordPair } from '../../lowering/dword-pairs.ts';
import { EVEN_DWORDS, ODD_DWORDS, shuffleDwords } from '../../lowering/int-emission.ts';
import { DEVICE_MEMORY, NIBBLE_SPREADS } from '../../machine/layout.ts';
import type { AccessGroup } from './access-group.ts';
import type { LaneStore } from './lane-accesses.ts';

/** Bytes from lane to lane where each lane loads what the lane before does, but for a dword. */
const OVERLAP_BYTES = 4;

type LanesOfAccesses = Pick<AccessGroup, 'writes' | 'unitBytes' | 'allWhole'>;

/** Whether lanes may load dwords of which their neighbors load some, too. */
export const mayOverlap = ({ writes, unitBytes, allWhole }: LanesOfAccesses): boolean =>
  !writes && allWhole && unitBytes !== OVERLAP_BYTES;

/** Whether vectors are made of each dword by itself, where lanes overlap or are the same. */
export const isByDword = (group: LanesOfAccesses): boolean =>
  mayOverlap(group) && (group.unitBytes === 0 || group.unitBytes > 8);

const areOverlapping = (stride: Local): Push => eq(stride, OVERLAP_BYTES);

/**
 * Whether vectors are made of lanes at such a distance, in a unit of which a value has `unit`: they follow
 * each other, or, of a load, are the same or overlap. Of each dword by itself the unit is a byte.
 */
export function isFollowing(step: Local, unit: number, group: LanesOfAccesses): Term {
  if (isByDword(group)) return or(areOverlapping(step), eqz(step));
  const overlap = (unit * OVERLAP_BYTES) / group.unitBytes;
  const ifOverlapping = mayOverlap(group) && Number.isInteger(overlap) ? eq(step, overlap) : undefined;
  const own = group.writes ? eq(step, unit) : unit === 1 ? leU(step, 1) : or(eq(step, unit), eqz(step));
  return ifOverlapping ? or(own, ifOverlapping) : own;
}

/**
 * Swizzle that makes each lane's value of a vector where lanes are `stride` bytes apart: `unitBytes`, its
 * own; 0, that of the first lane. With `isAny` another stride gives some swizzle.
 */
export function followingSpread(stride: Local, unitBytes: number, isAny: boolean): Push {
  const [ofAll, ofFirst] = [15 * 16, 1 * 16];
  const entry = mul(stride, (ofAll - ofFirst) / unitBytes);
  return loadFrom('v128.load', isAny ? and(entry, ofAll - ofFirst) : entry, NIBBLE_SPREADS + ofFirst);
}

/** The values of four lanes that follow each other, of 4 bytes at most. */
export function pushFollowing(f: FunctionBuilder, address: Local, offset: number, sizeBytes: number): void {
  f.get(address);
  switch (sizeBytes) {
    case 1:
      f.load('v128.load32_zero', offset, DEVICE_MEMORY);
      f.op('i16x8.extend_low_i8x16_u');
      f.op('i32x4.extend_low_i16x8_u');
      return;
    case 2:
      f.load('v128.load16x4_u', offset, DEVICE_MEMORY);
      return;
    default:
      f.load('v128.load', offset, DEVICE_MEMORY);
  }
}

const PACKED_BYTES = [0, 4, 8, 12, ...new Array<number>(12).fill(0)];
const PACKED_HALVES = [0, 1, 4, 5, 8, 9, 12, 13, ...new Array<number>(8).fill(0)];
const LOW_PAIRS = shuffleDwords(0, 4, 1, 5);
const HIGH_PAIRS = shuffleDwords(2, 6, 3, 7);

/** Sizes are 1, 2, 4 and 8. */
export function storeFollowing(f: FunctionBuilder, address: Local, { offset, data, sizeBytes }: LaneStore): void {
  const [first, second = first] = data as [Local, ...Local[]];
  f.get(address);
  f.get(first);
  if (sizeBytes === 4) f.store('v128.store', offset, DEVICE_MEMORY);
  else if (sizeBytes === 8) {
    f.get(second);
    f.shuffle(LOW_PAIRS);
    f.store('v128.store', offset, DEVICE_MEMORY);
    f.get(address);
    f.get(first);
    f.get(second);
    f.shuffle(HIGH_PAIRS);
    f.store('v128.store', offset + 16, DEVICE_MEMORY);
  } else {
    f.get(first);
    f.shuffle(sizeBytes === 1 ? PACKED_BYTES : PACKED_HALVES);
    f.loadLane(sizeBytes === 1 ? 'v128.store32_lane' : 'v128.store64_lane', offset, 0, DEVICE_MEMORY);
  }
}

/**
 * Sets the low and the high dwords of values of 8 bytes; each lane gets that of the lane that `swizzle` says,
 * if it is there.
 */
export function loadFollowingPair(
  f: FunctionBuilder,
  address: Local,
  at: number,
  swizzle: Local | undefined,
  [low, high]: DwordPair,
): void {
  const first = f.local('v128');
  for (const [half, vector] of [first, high].entries()) {
    f.get(address);
    f.load('v128.load', at + half * 16, DEVICE_MEMORY);
    f.set(vector);
  }
  for (const [dword, pattern] of [
    [low, EVEN_DWORDS],
    [high, ODD_DWORDS],
  ] as const) {
    f.get(first);
    f.get(high);
    f.shuffle(pattern);
    if (swizzle) {
      f.get(swizzle);
      f.op('i8x16.relaxed_swizzle');
    }
    f.set(dword);
  }
  f.free(first);
}

/**
 * Emits loads of dwords of lanes that are the same, or of which each has as its next dword what the next lane
 * has. `ways`: how pairs are loaded of lanes that are the same, and of lanes that are neither.
 */
export function loadDwords(
  f: FunctionBuilder,
  { address, stride }: { readonly address: Local; readonly stride: Local | undefined },
  dwords: readonly { readonly result: Local; readonly at: number }[],
  ways?: { readonly same: () => void; readonly others: () => void },
): void {
  const all = (name: 'v128.load' | 'v128.load32_splat'): void => {
    for (const { result, at } of dwords) assign(f, result, loadFrom(name, address, at, DEVICE_MEMORY));
  };
  const overlapping = (): void => all('v128.load');
  const others = (): void => {
    push(f, areOverlapping(stride!));
    f.if(undefined, overlapping, ways!.others);
  };
  push(f, eqz(stride!));
  f.if(undefined, ways?.same ?? (() => all('v128.load32_splat')), ways ? others : overlapping);
}
