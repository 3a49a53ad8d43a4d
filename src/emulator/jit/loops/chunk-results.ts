/**
 * What chunks leave when their loop ends: rows in the wave, and bits of masks that all chunks have in common.
 */

import { type ChunkPlace, pushFirstLane } from '../../lowering/chunk-place.ts';
import type { Chunk, LoopEnvironment } from './chunk-state.ts';

export function emitResults(environment: LoopEnvironment, chunks: readonly Chunk[]): void {
  clearMasks(environment);
  for (const chunk of chunks) {
    storeRows(environment, chunk);
    collectMasks(environment, chunk);
  }
}

/** What the groups that have left before this one had there: they have lost it in the meantime. */
export function clearMasks({ state: { f }, plan, masks, count, longest }: LoopEnvironment): void {
  for (const base of plan.cleared) {
    const bits = masks.get(base)!;
    f.i64(0n);
    f.get(bits);
    f.get(count);
    f.get(longest);
    f.op('i32.gt_u');
    f.select();
    f.set(bits);
  }
}

function storeRows({ state: { f }, plan }: LoopEnvironment, { place, rows, lanes }: Chunk): void {
  const { exec, writesExec } = plan.graph;
  for (const [offset, local] of rows) {
    const at = offset + place.offset * 4;
    f.get(place.pointer);
    f.get(local);
    if (!writesExec) {
      f.get(place.pointer);
      f.load('v128.load', at);
      f.get(lanes.get(exec)![0]!);
      f.op('v128.bitselect');
    }
    f.store('v128.store', at);
  }
}

/** Adds the bits of a chunk to a mask, which `pushBits` pushes. */
export function addMask(
  { state: { f }, plan, count, longest, masks }: LoopEnvironment,
  base: number,
  place: ChunkPlace,
  pushBits: () => void,
): void {
  const bits = masks.get(base)!;
  f.get(bits);
  pushBits();
  f.op('i64.extend_i32_u');
  pushFirstLane(f, place);
  f.op('i64.shl');
  if (plan.cleared.has(base)) {
    f.i64(0n);
    f.get(count);
    f.get(longest);
    f.op('i32.ge_u');
    f.select();
  }
  f.op('i64.or');
  f.set(bits);
}

function collectMasks(environment: LoopEnvironment, chunk: Chunk): void {
  const { state, tests } = environment;
  const { f } = state;
  for (const [base, local] of chunk.masks)
    addMask(environment, base, chunk.place, () => {
      f.get(local);
      f.op('i32x4.bitmask');
    });
  for (const [offset, local] of chunk.tests) {
    const any = tests.get(offset)!;
    f.get(any);
    f.get(local);
    f.op('v128.any_true');
    f.op('i32.or');
    f.set(any);
  }
}
