/**
 * The chunks of a wave of which few lanes are on, here and there: four of these go through the fast body
 * together, wherever they are. The last of them stands for those that a full chunk would need.
 */
import {
  add64,
  assign,
  gtU,
  mul,
  ne64,
  operation,
  type Push,
  push,
  select,
  shl,
  shrU,
  sum,
  type Term,
} from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import type { AccessGroup } from './access-group.ts';
import type { BodyValues } from './body-values.ts';
import type { ChunkEnvironment } from './chunk-body.ts';
import { type ApartLanes, lanesPart } from './lanes-part.ts';
import type { Node } from './node.ts';

/** Values of lanes that depend on what is next to a lane, or that it may not do twice. */
const UNFIT = new Set<Node['leaf']['kind']>(['laneByte', 'atomic']);

/** Whether the lanes of a region can be packed. */
export const mayBePacked = (lanes: readonly Node[], groups: ReadonlyMap<Node, AccessGroup>): boolean =>
  lanes.every(({ leaf }) => !UNFIT.has(leaf.kind)) && [...groups.values()].every(({ space }) => space !== 'private');

/** Whether lanes that are off stand between those that are on. */
const hasGaps = (exec: Local): Push => {
  const lowest = operation('i64.and', exec, operation('i64.sub', 0n, exec));
  return ne64(operation('i64.and', exec, add64(exec, lowest)), 0n);
};

/** Whether lanes that are on are in so many chunks that they are better packed. */
function isSparse(exec: Local): Push {
  const pairs = operation('i64.or', exec, operation('i64.shr_u', exec, 1n));
  const nibbles = operation('i64.or', pairs, operation('i64.shr_u', pairs, 2n));
  const chunks = count(operation('i64.and', nibbles, 0x1111111111111111n));
  const packed = shrU(sum(count(exec), 3), 2);
  // Rows of lanes here and there cost about half as much as the rest of a body.
  return gtU(shl(chunks, 1), mul(packed, 3));
}

const count = (mask: Term): Push => operation('i32.wrap_i64', operation('i64.popcnt', mask));

export function packedPart(
  caller: ChunkEnvironment,
  values: BodyValues,
  groups: ReadonlyMap<Node, AccessGroup>,
): ApartLanes {
  const call = lanesPart('packed', caller, values, groups, ({ state, lanes: rest, body }) => {
    const { f, wave } = state;
    const own = (): Local => f.local('i32');
    const [lanes, pointers] = [
      [own(), own(), own(), own()],
      [own(), own(), own(), own()],
    ];
    const bits = lanes.map(() => f.local('i64'));
    const before = f.local('i64');
    f.block(undefined, (end) => {
      f.loop(undefined, (again) => {
        assign(f, before, rest);
        for (const [i, lane] of lanes.entries()) {
          const next = operation('i32.wrap_i64', operation('i64.ctz', rest));
          assign(f, lane, i === 0 ? next : select(lanes[i - 1]!, next, operation('i64.eqz', rest)));
          assign(f, bits[i]!, rest);
          assign(f, rest, operation('i64.and', rest, operation('i64.sub', rest, 1n)));
          assign(f, bits[i]!, operation('i64.xor', bits[i]!, rest));
          assign(f, pointers[i]!, sum(wave, shl(lane, 2)));
        }
        f.block(undefined, (giveUp) => {
          const place = { chunk: lanes[0]!, pointer: pointers[0]!, offset: 0, packed: { lanes, pointers, bits } };
          body.emitFast(place, giveUp);
          push(f, operation('i64.eqz', rest));
          f.brIf(end);
          f.br(again);
        });
        assign(f, rest, before);
      });
    });
    f.get(rest);
  });
  return {
    lanes: (exec) => (f) => f.get(exec),
    ifWorth(f, exec, emit) {
      push(f, hasGaps(exec));
      f.if(undefined, () => {
        push(f, isSparse(exec));
        f.ifRare(emit);
      });
    },
    call,
  };
}
