/**
 * The chunks of a wave of which some lanes are off, of a region that is too long for a second body in its
 * place: the fast body with masks, which most waves never call.
 */
import { assign, ne64, operation, type Push, push, zext64 } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import type { AccessGroup } from './access-group.ts';
import type { BodyValues } from './body-values.ts';
import type { ChunkEnvironment } from './chunk-body.ts';
import { ChunkCursor } from './chunk-cursor.ts';
import { type ApartLanes, lanesPart } from './lanes-part.ts';
import type { Node } from './node.ts';

/** Whether a region's lanes can go through such a part: chunks may change memory in their order only. */
export const mayBeMasked = (lanes: readonly Node[]): boolean =>
  lanes.every(({ leaf }) => leaf.kind !== 'atomic' && leaf.kind !== 'store');

/** Lanes of chunks of which others are off. */
function lanesOfPartialChunks(exec: Local): Push {
  const pairs = operation('i64.and', exec, operation('i64.shr_u', exec, 1n));
  const chunks = operation(
    'i64.and',
    operation('i64.and', pairs, operation('i64.shr_u', pairs, 2n)),
    0x1111111111111111n,
  );
  return operation('i64.and', exec, operation('i64.xor', operation('i64.mul', chunks, 15n), -1n));
}

export function maskedPart(
  caller: ChunkEnvironment,
  values: BodyValues,
  groups: ReadonlyMap<Node, AccessGroup>,
): ApartLanes {
  const call = lanesPart('masked', caller, values, groups, ({ state, lanes, body }) => {
    const { f } = state;
    const at = new ChunkCursor(state);
    const [nibble, left] = [f.local('i32'), f.local('i64')];
    assign(f, left, 0n);
    at.goToFirst();
    f.block(undefined, (end) =>
      f.loop(undefined, (again) => {
        at.skipInactive(lanes, end);
        at.setNibble(nibble, lanes, 15);
        const mask = at.maskOf(nibble);
        f.block(undefined, (next) => {
          f.block(undefined, (giveUp) => {
            body.emitFast({ chunk: at.chunk, pointer: at.pointer, offset: 0 }, giveUp, mask, nibble);
            f.br(next);
          });
          const bits = operation('i64.shl', zext64(nibble), zext64(at.chunk));
          assign(f, left, operation('i64.or', left, bits));
        });
        at.advance();
        at.pushIsBeforeEnd();
        f.brIf(again);
      }),
    );
    f.get(left);
  });
  return {
    lanes: lanesOfPartialChunks,
    ifWorth(f, lanes, emit) {
      push(f, ne64(lanes, 0n));
      f.ifRare(emit);
    },
    call,
  };
}
