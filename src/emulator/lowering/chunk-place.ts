/** Where code of one chunk of 4 lanes finds its lanes, and what follows from that alone. */
import { and, push, select } from '../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { NIBBLE_MASKS } from '../machine/layout.ts';
import { captured } from './emitter.ts';

/** The chunk that code is emitted for. */
export interface ChunkPlace {
  /** Number of the first lane of the chunk, less `offset`. */
  readonly chunk: Local;
  /** The wave's address plus 4 bytes for each lane below `chunk`. */
  readonly pointer: Local;
  readonly offset: number;
  /** Where the lanes are of several chunks; the rest is of no use then. */
  readonly packed?: PackedLanes;
}

/** Four lanes of a wave, in order; the last ones may be the same. */
export interface PackedLanes {
  readonly lanes: readonly Local[];
  /** The wave's address plus 4 bytes for each lane before one. */
  readonly pointers: readonly Local[];
  /** Their bits in a mask of all lanes; 0 of one that is there already. */
  readonly bits: readonly Local[];
}

/** The chunk's part of a row. */
export function rowOf(f: FunctionBuilder, { pointer, offset, packed }: ChunkPlace, row: number): Local {
  if (!packed) {
    f.get(pointer);
    f.load('v128.load', row + offset * 4);
    return captured(f);
  }
  const [first, ...others] = packed.pointers as [Local, ...Local[]];
  f.get(first);
  f.load('v128.load32_zero', row);
  const lanes = captured(f);
  for (const [i, lane] of others.entries()) {
    f.get(lane);
    f.get(lanes);
    f.loadLane('v128.load32_lane', row, i + 1);
    f.set(lanes);
  }
  return lanes;
}

/** Stores the chunk's part of a row, of all its lanes or of those of a mask. */
export function storeRow(f: FunctionBuilder, place: ChunkPlace, row: number, value: Local, mask?: Local): void {
  const { pointer, offset, packed } = place;
  if (packed) {
    for (const [i, lane] of packed.pointers.entries()) {
      f.get(lane);
      f.get(value);
      f.loadLane('v128.store32_lane', row, i);
    }
    return;
  }
  const at = row + offset * 4;
  f.get(pointer);
  f.get(value);
  if (mask) {
    f.get(pointer);
    f.load('v128.load', at);
    f.get(mask);
    f.op('v128.bitselect');
  }
  f.store('v128.store', at);
}

export function laneIdsOf(f: FunctionBuilder, { chunk, offset, packed }: ChunkPlace): Local {
  if (packed) {
    f.get(packed.lanes[0]!);
    f.op('i32x4.splat');
    for (const [i, lane] of packed.lanes.entries()) {
      if (i === 0) continue;
      f.get(lane);
      f.lane('i32x4.replace_lane', i);
    }
    return captured(f);
  }
  f.get(chunk);
  f.op('i32x4.splat');
  f.v128([0, 1, 2, 3].map((lane) => lane + offset) as [number, number, number, number]);
  f.op('i32x4.add');
  return captured(f);
}

/** Pushes the bit of a lane in a mask of all lanes. */
export function pushLaneBit(f: FunctionBuilder, bits: Local, lane: Local): void {
  f.get(bits);
  f.get(lane);
  f.op('i64.extend_i32_u');
  f.op('i64.shr_u');
  f.op('i32.wrap_i64');
  f.i32(1);
  f.op('i32.and');
}

/** Mask of the chunk's lanes from a mask of all lanes. */
export function maskOf(f: FunctionBuilder, place: ChunkPlace, bits: Local): Local {
  const { packed } = place;
  if (packed) {
    for (const [i, lane] of packed.lanes.entries()) {
      pushLaneBit(f, bits, lane);
      f.i32(i);
      f.op('i32.shl');
      if (i > 0) f.op('i32.or');
    }
  } else {
    f.get(bits);
    pushFirstLane(f, place);
    f.op('i64.shr_u');
    f.op('i32.wrap_i64');
    f.i32(15);
    f.op('i32.and');
  }
  loadNibbleMask(f);
  return captured(f);
}

/** Pushes a mask of all lanes from the bits of the chunk's. */
export function pushLaneBits(f: FunctionBuilder, place: ChunkPlace, bits: Local): void {
  const { packed } = place;
  if (!packed) {
    f.get(bits);
    f.op('i64.extend_i32_u');
    pushFirstLane(f, place);
    f.op('i64.shl');
    return;
  }
  for (const [i, bit] of packed.bits.entries()) {
    push(f, select(bit, 0n, and(bits, 1 << i)));
    if (i > 0) f.op('i64.or');
  }
}

/** Pushes the mask of the lanes whose bits `nibble` has. */
export function pushNibbleMask(f: FunctionBuilder, nibble: Local): void {
  f.get(nibble);
  loadNibbleMask(f);
}

function loadNibbleMask(f: FunctionBuilder): void {
  f.i32(4);
  f.op('i32.shl');
  f.load('v128.load', NIBBLE_MASKS);
}

/** Pushes the number of the chunk's first lane as i64. */
export function pushFirstLane(f: FunctionBuilder, { chunk, offset }: ChunkPlace): void {
  f.get(chunk);
  f.op('i64.extend_i32_u');
  if (offset === 0) return;
  f.i64(BigInt(offset));
  f.op('i64.add');
}

/** A byte of a table for each lane of the chunk; pops the table's address. */
export function laneBytesOf(f: FunctionBuilder, { chunk, offset }: ChunkPlace): Local {
  f.get(chunk);
  f.op('i32.add');
  f.load('v128.load32_zero', offset);
  f.op('i16x8.extend_low_i8x16_u');
  f.op('i32x4.extend_low_i16x8_u');
  return captured(f);
}

/** The row at `row` of the wave, for each lane of a chunk in the lane that `index` holds. */
export function gatherRow(
  f: FunctionBuilder,
  { wave, waveSize }: { readonly wave: Local; readonly waveSize: 32 | 64 },
  row: number,
  index: Local,
): Local {
  const result = f.local('v128');
  for (let lane = 0; lane < 4; lane++) {
    f.get(wave);
    f.get(index);
    f.lane('i32x4.extract_lane', lane);
    pushLaneOffset(f, waveSize);
    f.op('i32.add');
    f.get(result);
    f.loadLane('v128.load32_lane', row, lane);
    f.set(result);
  }
  return result;
}

/** Replaces the number of a lane, which may be too large, by the lane's offset in a row. */
export function pushLaneOffset(f: FunctionBuilder, waveSize: 32 | 64): void {
  f.i32(waveSize - 1);
  f.op('i32.and');
  f.i32(2);
  f.op('i32.shl');
}
