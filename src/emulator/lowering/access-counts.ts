/** Counting of what lanes access (`AccessCounter`): code has it only where it is asked for. */
import type { LeafOf, Value } from '../../ir/types.ts';
import { accessNumber } from '../machine/access-counter.ts';
import { type Emitter, extract, type LaneArgument } from './emitter.ts';
import type { HandlerState } from './handler-state.ts';
import { accessOf, isWide, type LaneAccess, pushActiveLanes } from './lane-memory.ts';

/** Whether lanes read or write memory. */
export const isLaneAccess = ({ leaf, lane }: Value): boolean =>
  lane && (leaf.kind === 'load' || leaf.kind === 'store' || leaf.kind === 'atomic');

/** Tells that an instruction with accesses begins. */
export function emitAccessBegin({ f, e: { context }, place }: HandlerState): void {
  if (!context.accesses) return;
  place.pushRecord();
  f.call(context.accesses.begin);
}

/** Tells of the active lanes of a chunk before they access; `index`: number of the access. */
export function emitAccessCount(
  e: Emitter,
  at: LaneAccess & { readonly chunkOffset: number },
  index: number,
  leaf: LeafOf<'load' | 'store' | 'atomic'>,
  args: readonly LaneArgument[],
): void {
  const { accesses } = e.context;
  if (!accesses) return;
  const { f } = e;
  const access = accessOf(leaf, 'read', args);
  const active = pushActiveLanes(f, at, access);
  f.i32(accessNumber(index, access.space, access.sizeBytes));
  f.get(at.chunk);
  f.i32(at.chunkOffset);
  f.op('i32.add');
  f.get(active);
  const wide = isWide(access.space);
  for (const part of ['low', 'high'] as const) {
    for (let lane = 0; lane < 4; lane++) {
      if (part === 'high' && !wide) {
        f.i32(0);
        continue;
      }
      extract(e, access.address.lanes, wide ? 'i64' : 'i32', lane);
      if (!wide) continue;
      if (part === 'high') {
        f.i64(32n);
        f.op('i64.shr_u');
      }
      f.op('i32.wrap_i64');
    }
  }
  f.call(accesses.chunk);
  f.free(active);
}
