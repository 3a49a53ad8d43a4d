/**
 * A part of a region as a function of its own, which many waves never call: then it costs what would call it
 * no registers, and the engine does not compile it.
 */
import type { Type } from '../../../ir/types.ts';
import type { Local } from '../../../wasm/function.ts';
import type { ValueType } from '../../../wasm/types.ts';
import { wasmType } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import { usedBy } from './access-group.ts';
import { type BodyValues, resultNodes } from './body-values.ts';
import type { ChunkEnvironment } from './chunk-body.ts';
import { constantOf } from './graph.ts';
import type { Node } from './node.ts';
import { splatsOf } from './splats.ts';

/** Parameters of a part's own stand behind the wave and the literals. */
const FIRST_OWN = 2;

export interface PartOptions {
  readonly name: string;
  /** Whether its body is one that gives up. */
  readonly isFast: boolean;
  /** Values of the wave that it reads besides those of its body. */
  readonly uniform?: readonly Node[];
  /** Its own parameters and results. */
  readonly parameters: readonly ValueType[];
  readonly results: readonly ValueType[];
}

/** What a part's code is made of. */
export interface PartContents {
  readonly state: FunctionState;
  readonly environment: ChunkEnvironment;
  readonly values: BodyValues;
  /** Its own parameters. */
  readonly parameters: readonly Local[];
  /** Other values of the caller that collect the same masks, with the part's. */
  readonly own: (values: BodyValues) => BodyValues;
}

export class RegionPart {
  readonly #caller: ChunkEnvironment;
  readonly #part: FunctionState;
  /** Values of the wave that the part is given. */
  readonly #scalars: readonly Node[];
  /** Masks of the caller, which the part adds to. */
  readonly #ballots: readonly Local[];

  /** `emit` leaves the part's own results on the stack. */
  constructor(
    caller: ChunkEnvironment,
    values: BodyValues,
    { name, isFast, uniform: others = [], parameters, results }: PartOptions,
    emit: (contents: PartContents) => void,
  ) {
    this.#caller = caller;
    this.#ballots = [...values.ballots.keys()];
    const uniform = [...new Set([...uniformOf(values, isFast), ...others])];
    this.#scalars = uniform.filter((node) => constantOf(node) === undefined);
    const scalarTypes = this.#scalars.map(({ type }) => wasmType(type as Type));
    const masks = this.#ballots.map((): ValueType => 'i64');
    this.#part = caller.state.part(name, [...parameters, ...scalarTypes, ...masks], [...results, ...masks]);
    const { f } = this.#part;
    const params = Array.from({ length: parameters.length + scalarTypes.length + masks.length }, (_, i) =>
      f.param(FIRST_OWN + i),
    );
    const first = params.splice(0, parameters.length);
    const locals = new Map(this.#scalars.map((node) => [node, params.shift()!]));
    for (const node of uniform) if (!locals.has(node)) locals.set(node, this.#constant(node));
    const scalar = (node: Node): Local => locals.get(node)!;
    const splats = splatsOf(this.#part, values, isFast, scalar);
    const own = (values: BodyValues): BodyValues => {
      const conditions = [...values.ballots.values()];
      return { ...values, ballots: new Map(params.map((mask, i) => [mask, conditions[i]!])) };
    };
    const environment = { ...caller, state: this.#part, scalar, splat: (node: Node) => splats.get(node)! };
    emit({ state: this.#part, environment, values: own(values), parameters: first, own });
    for (const mask of params) f.get(mask);
  }

  #constant(node: Node): Local {
    const { f } = this.#part;
    const local = f.local(wasmType(node.type as Type));
    const value = constantOf(node)!;
    if (node.type === 'i64') f.i64(value);
    else f.i32(Number(value));
    f.set(local);
    return local;
  }

  /** Emits a call, which leaves the part's own results on the stack. */
  call(parameters: readonly Local[]): void {
    const { state, scalar } = this.#caller;
    const { f, wave, literalBase } = state;
    const values = [wave, literalBase, ...parameters, ...this.#scalars.map(scalar), ...this.#ballots];
    for (const value of values) f.get(value);
    f.call(this.#part.f);
    for (const ballot of this.#ballots.toReversed()) f.set(ballot);
  }
}

/** Values of the wave that a body reads. */
export function uniformOf(values: BodyValues, isFast: boolean): readonly Node[] {
  const used = [...values.lanes.flatMap((node) => usedBy(node, isFast)), ...resultNodes(values)];
  return [...new Set(used.filter((node) => !node.lane))];
}
