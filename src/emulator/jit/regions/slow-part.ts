/** The slow body of a region's chunks, which has one chunk for each call. Most chunks never need it. */
import type { Local } from '../../../wasm/function.ts';
import { pushNibbleMask } from '../../lowering/chunk-place.ts';
import { captured } from '../../lowering/emitter.ts';
import type { BodyValues } from './body-values.ts';
import { ChunkBody, type ChunkEnvironment } from './chunk-body.ts';
import { RegionPart } from './region-part.ts';

/** The result emits a call for the chunk whose first lane is `chunk`. */
export function slowPart(caller: ChunkEnvironment, values: BodyValues): (chunk: Local, nibble: Local) => void {
  const options = { name: 'slow', isFast: false, parameters: ['i32', 'i32'], results: [] } as const;
  const part = new RegionPart(caller, values, options, ({ state, environment, values, parameters }) => {
    const { f, wave } = state;
    const [chunk, nibble] = parameters as [Local, Local];
    const pointer = f.local('i32');
    f.get(wave);
    f.get(chunk);
    f.i32(2);
    f.op('i32.shl');
    f.op('i32.add');
    f.set(pointer);
    pushNibbleMask(f, nibble);
    const mask = captured(f);
    new ChunkBody(environment, values).emitSlow({ chunk, pointer, offset: 0 }, nibble, mask);
  });
  return (chunk, nibble) => part.call([chunk, nibble]);
}
