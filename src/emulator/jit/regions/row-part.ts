/**
 * Rows of 16 lanes of which some are off, but all have addresses at equal distances: such are the borders of
 * arrays and tiles. Their accesses are checked together, as those of full rows are, loads are vectors, and
 * lanes that are on store one by one. That is a function of its own, which other waves never call.
 */
import { assign, operation, push, shl, shrU, sum, type Term } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { type AccessGroup, isAheadOfChunk, uniformBehind } from './access-group.ts';
import { type BodyValues, ChunkBody, type ChunkEnvironment } from './chunk-body.ts';
import { ChunkCursor } from './chunk-cursor.ts';
import { Hoisted } from './hoisted.ts';
import { LinearAccesses } from './linear-accesses.ts';
import type { Node } from './node.ts';
import { PermittedRanges } from './permitted-ranges.ts';
import { RegionPart } from './region-part.ts';

const ROW_CHUNKS = 4;
/** Lanes that are on from which looking at all of a row pays. */
const MIN_LANES = 6;

/** Whether so many lanes of a row are on. */
export const isWorthRow = (bits: Local): Term => operation('i32.ge_u', operation('i32.popcnt', bits), MIN_LANES);

/**
 * Whether rows of a region can go through such a part, with no access that is opened chunk by chunk, and some
 * that cost more to open than those in LDS.
 */
export function mayBeRows(groups: ReadonlyMap<Node, AccessGroup>): boolean {
  const all = [...groups.values()];
  return (
    all.every((group) => group.space !== 'private' && isAheadOfChunk(group)) && all.some(({ space }) => space !== 'lds')
  );
}

/**
 * The result emits a call for the row whose first lane is `chunk`, of which those of `bits` are on, and
 * leaves the lane on the stack up to which all is done: what comes then goes another way.
 */
export function rowPart(
  caller: ChunkEnvironment,
  values: BodyValues,
  groups: ReadonlyMap<Node, AccessGroup>,
): (chunk: Local, bits: Local) => void {
  const uniform = [...groups.values()].flatMap(uniformBehind);
  const options = { name: 'row', isFast: true, uniform, parameters: ['i32', 'i32'], results: ['i32'] } as const;
  const part = new RegionPart(caller, values, options, ({ state, environment, values, parameters }) => {
    const { f, wave } = state;
    const [first, bits] = parameters as [Local, Local];
    const all = new Set(groups.values());
    const hoisted = new Hoisted(f);
    hoisted.emit(state, all);
    const linear = new LinearAccesses({ state, hoisted, scalar: environment.scalar }, all);
    const fastly = { hoisted, groups, ranges: new PermittedRanges(state), linear };
    const body = new ChunkBody(environment, values, fastly);
    const at = new ChunkCursor(state);
    const nibble = f.local('i32');
    const place = { chunk: at.chunk, pointer: at.pointer, offset: 0 };
    assign(f, at.chunk, first);
    assign(f, at.pointer, sum(wave, shl(first, 2)));
    f.block(undefined, (giveUp) => {
      linear.emit(ROW_CHUNKS, at.chunk, (i) => body.evaluate({ ...place, offset: i * 4 }, linear.terms.nodes), giveUp);
      f.loop(undefined, (again) => {
        assign(f, nibble, operation('i32.and', bits, 15));
        f.block(undefined, (next) => {
          f.block(undefined, (skip) => {
            push(f, operation('i32.eqz', nibble));
            f.brIf(skip);
            const mask = at.maskOf(nibble);
            body.emitFast(place, giveUp, mask, nibble);
            f.free(mask);
            f.br(next);
          });
          linear.advance();
        });
        at.advance();
        assign(f, bits, shrU(bits, 4));
        push(f, operation('i32.ne', at.chunk, sum(first, ROW_CHUNKS * 4)));
        f.brIf(again);
      });
    });
    f.get(at.chunk);
  });
  return (chunk, bits) => part.call([chunk, bits]);
}
