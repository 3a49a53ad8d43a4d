/**
 * What is left of a wave, or of a row of it, where lanes are at no equal distances or some are off: a
 * function of its own, which most waves of most programs never call.
 */
import type { Local } from '../../../wasm/function.ts';
import type { AccessGroup } from './access-group.ts';
import type { BodyValues } from './body-values.ts';
import { ChunkBody, type ChunkEnvironment } from './chunk-body.ts';
import { ChunkCursor } from './chunk-cursor.ts';
import { ChunkWays } from './chunk-ways.ts';
import { Hoisted } from './hoisted.ts';
import type { Node } from './node.ts';
import { PermittedRanges } from './permitted-ranges.ts';
import { RegionPart, uniformOf } from './region-part.ts';
import { slowPart } from './slow-part.ts';

/**
 * Emits a call for the chunks from lane `chunk` on that have lanes of `exec`, up to `last` or further, and
 * leaves the lane on the stack up to which all is done.
 */
export type OtherChunks = (lanes: { readonly chunk: Local; readonly last: Local; readonly exec: Local }) => void;

/** What chunks compute: all there is, and what is usual. */
interface OtherValues {
  readonly all: BodyValues;
  readonly usually: BodyValues;
}

export function otherChunks(
  caller: ChunkEnvironment,
  { all, usually }: OtherValues,
  groups: ReadonlyMap<Node, AccessGroup>,
): OtherChunks {
  const parameters = ['i32', 'i32', 'i64'] as const;
  const options = {
    name: 'others',
    isFast: true,
    uniform: uniformOf(all, false),
    parameters,
    results: ['i32'],
  } as const;
  const part = new RegionPart(caller, usually, options, ({ state, environment, values, parameters, own }) => {
    const { f } = state;
    const [chunk, last, exec] = parameters as [Local, Local, Local];
    const hoisted = new Hoisted(f);
    hoisted.emit(state, new Set(groups.values()));
    const ranges = new PermittedRanges(state, environment.ranges);
    const body = new ChunkBody(environment, values, { hoisted, groups, ranges, linear: undefined });
    const slow = slowPart(environment, own(all));
    const at = new ChunkCursor(state);
    f.get(chunk);
    at.goToPushed();
    new ChunkWays(state, at, () => exec).emit(body, (nibble) => slow(at.chunk, nibble), last);
    f.get(at.chunk);
  });
  return ({ chunk, last, exec }) => part.call([chunk, last, exec]);
}
