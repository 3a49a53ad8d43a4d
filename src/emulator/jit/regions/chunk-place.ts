/** Where code of one chunk of 4 lanes finds its lanes, and what follows from that alone. */
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { captured } from '../../lowering/emitter.ts';
import { NIBBLE_MASKS } from '../../machine/layout.ts';

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
  f.i32(4);
  f.op('i32.shl');
  f.load('v128.load', NIBBLE_MASKS);
  return captured(f);
}

/** Pushes the number of the chunk's first lane as i64. */
export function pushFirstLane(f: FunctionBuilder, { chunk, offset }: ChunkPlace): void {
  f.get(chunk);
  f.op('i64.extend_i32_u');
  if (offset === 0) return;
  f.i64(BigInt(offset));
  f.op('i64.add');
}
