/** Where code of one chunk of 4 lanes finds its lanes, and what follows from that alone. */
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
}

/** The chunk's part of a row. */
export function rowOf(f: FunctionBuilder, { pointer, offset }: ChunkPlace, row: number): Local {
  f.get(pointer);
  f.load('v128.load', row + offset * 4);
  return captured(f);
}

export function laneIdsOf(f: FunctionBuilder, { chunk, offset }: ChunkPlace): Local {
  f.get(chunk);
  f.op('i32x4.splat');
  f.v128([0, 1, 2, 3].map((lane) => lane + offset) as [number, number, number, number]);
  f.op('i32x4.add');
  return captured(f);
}

/** Mask of the chunk's lanes from a mask of all lanes. */
export function maskOf(f: FunctionBuilder, place: ChunkPlace, bits: Local): Local {
  f.get(bits);
  pushFirstLane(f, place);
  f.op('i64.shr_u');
  f.op('i32.wrap_i64');
  f.i32(15);
  f.op('i32.and');
  loadNibbleMask(f);
  return captured(f);
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
