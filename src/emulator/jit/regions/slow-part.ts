/**
 * The slow body of a region's chunks as a function of its own, which has one chunk for each call. Most chunks
 * never need it: it then costs what calls it no registers, and is not compiled at all.
 */
import type { Type } from '../../../ir/types.ts';
import type { Local } from '../../../wasm/function.ts';
import type { ValueType } from '../../../wasm/types.ts';
import { pushNibbleMask } from '../../lowering/chunk-place.ts';
import { captured, wasmType } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import { usedBy } from './access-group.ts';
import { type BodyValues, ChunkBody, type ChunkEnvironment } from './chunk-body.ts';
import { constantOf } from './graph.ts';
import type { Node } from './node.ts';
import { splatsOf } from './splats.ts';

/** Parameters behind those of each part. */
const [CHUNK, NIBBLE, FIRST_VALUE] = [2, 3, 4];

export class SlowPart {
  readonly #caller: ChunkEnvironment;
  readonly #part: FunctionState;
  /** Values of the wave that the part is given. */
  readonly #scalars: readonly Node[];
  /** Masks of the caller, which the part adds to. */
  readonly #ballots: readonly Local[];

  constructor(caller: ChunkEnvironment, values: BodyValues) {
    this.#caller = caller;
    this.#ballots = [...values.ballots.keys()];
    const uniform = uniformOf(values);
    this.#scalars = uniform.filter((node) => constantOf(node) === undefined);
    const scalarTypes = this.#scalars.map(({ type }) => wasmType(type as Type));
    const masks = this.#ballots.map((): ValueType => 'i64');
    this.#part = caller.state.part('slow', ['i32', 'i32', ...scalarTypes, ...masks], masks);
    this.#emit(values, uniform);
  }

  #emit(values: BodyValues, uniform: readonly Node[]): void {
    const state = this.#part;
    const { f, wave } = state;
    const [chunk, nibble] = [f.param(CHUNK), f.param(NIBBLE)];
    const locals = new Map(this.#scalars.map((node, i) => [node, f.param(FIRST_VALUE + i)]));
    for (const node of uniform) {
      const constant = constantOf(node);
      if (constant === undefined) continue;
      const local = f.local(wasmType(node.type as Type));
      if (node.type === 'i64') f.i64(constant);
      else f.i32(Number(constant));
      f.set(local);
      locals.set(node, local);
    }
    const scalar = (node: Node): Local => locals.get(node)!;
    const splats = splatsOf(state, values, false, scalar);
    const masks = this.#ballots.map((_, i) => f.param(FIRST_VALUE + this.#scalars.length + i));
    const conditions = [...values.ballots.values()];
    const ballots = new Map(masks.map((mask, i) => [mask, conditions[i]!]));
    const pointer = f.local('i32');
    f.get(wave);
    f.get(chunk);
    f.i32(2);
    f.op('i32.shl');
    f.op('i32.add');
    f.set(pointer);
    pushNibbleMask(f, nibble);
    const mask = captured(f);
    const environment = { ...this.#caller, state, scalar, splat: (node: Node) => splats.get(node)! };
    new ChunkBody(environment, { ...values, ballots }).emitSlow({ chunk, pointer, offset: 0 }, nibble, mask);
    for (const each of masks) f.get(each);
  }

  /** Emits a call for the chunk whose first lane is `chunk`. */
  call(chunk: Local, nibble: Local): void {
    const { state, scalar } = this.#caller;
    const { f, wave, literalBase } = state;
    const values = [wave, literalBase, chunk, nibble, ...this.#scalars.map(scalar), ...this.#ballots];
    for (const value of values) f.get(value);
    f.call(this.#part.f);
    for (const ballot of this.#ballots.toReversed()) f.set(ballot);
  }
}

/** Values of the wave that a slow body reads. */
function uniformOf({ lanes, rows, ballots }: BodyValues): readonly Node[] {
  const used = [...lanes.flatMap((node) => usedBy(node, false)), ...rows.values(), ...ballots.values()];
  return [...new Set(used.filter((node) => !node.lane))];
}
