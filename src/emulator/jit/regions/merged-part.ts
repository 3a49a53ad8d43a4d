/**
 * Merged regions as a function of their own, which the engine compiles when a wave comes by whose lanes are
 * all on.
 */
import { push } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import type { FunctionRef } from '../../../wasm/types.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { Region } from './region.ts';
import { isEntryExec, isNotFull, RegionLowering } from './region-lowering.ts';

/**
 * Emits a call of it, and `emitOne` of each of the regions for waves that go another way: of most of these
 * some lanes are off, and EXEC tells. The result is the condition of the last region's branch, if it has one.
 */
export function emitMerged(
  state: FunctionState,
  merged: Region,
  regions: readonly Region[],
  emitOne: (region: Region) => Local | undefined,
): Local {
  const { f, wave, literalBase } = state;
  const condition = f.local('i32');
  const part = mergedPart(state, merged);
  f.block(undefined, (done) => {
    f.block(undefined, (otherwise) => {
      if (isEntryExec(merged.exec!)) {
        push(f, isNotFull(state));
        f.brIf(otherwise);
      }
      f.get(wave);
      f.get(literalBase);
      f.call(part);
      f.set(condition);
      f.brIf(done);
    });
    for (const region of regions) {
      const own = emitOne(region);
      if (!own) continue;
      f.get(own);
      f.set(condition);
      f.free(own);
    }
  });
  return condition;
}

/**
 * (wave, literals) -> whether the regions are done, and the condition of their branch. Where they are not,
 * nothing has changed.
 */
function mergedPart(caller: FunctionState, region: Region): FunctionRef {
  const state = caller.part('merged', [], ['i32', 'i32']);
  const { f } = state;
  f.block(undefined, (otherwise) => {
    const condition = new RegionLowering(state, region).emit(otherwise);
    f.i32(1);
    if (condition) f.get(condition);
    else f.i32(0);
    f.return();
  });
  f.i32(0);
  f.i32(0);
  return f;
}
