/**
 * How pure operations become WebAssembly. An operation is written once, for 4 lanes (`simd`) or for one
 * (`scalar`); the other form follows: scalar code is repeated for each lane, SIMD code is run on lane 0 of a
 * splat.
 *
 * A lane value is a list of v128 locals: one for i1 (all ones or zero in each 32-bit lane) and i32, two for
 * i64 (lanes 0 and 1, lanes 2 and 3). A scalar is one i32 or i64 local; i1 is 0 or 1.
 */
import { OPS, type OpName } from '../../ir/ops.ts';
import type { Type } from '../../ir/types.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import type { PlainName } from '../../wasm/opcodes.ts';
import type { ModuleContext } from './module-context.ts';

export type Lanes = readonly Local[];

/** An argument of a 4-lane operation: its lanes, and the scalar it was splat from when it is uniform. */
export interface LaneArgument {
  readonly lanes: Lanes;
  readonly scalar?: Local;
}

export interface Emitter {
  readonly f: FunctionBuilder;
  readonly context: ModuleContext;
  /**
   * Where the NaN lanes of results are looked for later, all at once: gets a vector that has a NaN where the
   * result has one.
   */
  readonly deferNan?: (width: 'f32x4' | 'f64x2', result: Local) => void;
}

/** Pushes the result from scalar locals. */
export type ScalarEmission = (e: Emitter, args: readonly Local[]) => void;
/** Returns fresh locals with the result. */
export type SimdEmission = (e: Emitter, args: readonly LaneArgument[]) => Lanes;

export interface Emission {
  readonly scalar?: ScalarEmission;
  readonly simd?: SimdEmission;
}

export const wasmType = (type: Type): 'i32' | 'i64' => (type === 'i64' ? 'i64' : 'i32');

/** Pops the vector on top of the stack into a fresh local. */
export function captured(f: FunctionBuilder): Local {
  const local = f.local('v128');
  f.set(local);
  return local;
}

/** Splats a scalar local into fresh lanes. */
export function splat({ f }: Emitter, scalar: Local, type: Type): Lanes {
  if (type === 'i1') f.i32(0); // the mask of a condition is its negation: 0 or all ones
  f.get(scalar);
  if (type === 'i1') f.op('i32.sub');
  f.op(type === 'i64' ? 'i64x2.splat' : 'i32x4.splat');
  const lanes = captured(f);
  return type === 'i64' ? [lanes, lanes] : [lanes];
}

/** Pushes lane `lane` (0..3) of a value as a scalar. */
export function extract({ f }: Emitter, lanes: Lanes, type: Type, lane: number): void {
  if (type === 'i64') {
    f.get(lanes[lane >> 1]!);
    f.lane('i64x2.extract_lane', lane & 1);
    return;
  }
  f.get(lanes[0]!);
  f.lane('i32x4.extract_lane', lane);
  if (type === 'i1') {
    f.i32(1);
    f.op('i32.and');
  }
}

/** Replaces lane `lane` of `target` by the scalar in `value`; the condition of an i1 becomes a mask. */
export function insert({ f }: Emitter, target: Lanes, type: Type, lane: number, value: Local): void {
  const local = type === 'i64' ? target[lane >> 1]! : target[0]!;
  f.get(local);
  if (type === 'i1') f.i32(0);
  f.get(value);
  if (type === 'i1') f.op('i32.sub');
  if (type === 'i64') f.lane('i64x2.replace_lane', lane & 1);
  else f.lane('i32x4.replace_lane', lane);
  f.set(local);
}

export const freshLanes = ({ f }: Emitter, type: Type): Lanes =>
  type === 'i64' ? [f.local('v128'), f.local('v128')] : [f.local('v128')];

/** `simd` of an operation that is one instruction on each v128 of its operands. */
export function vector(name: PlainName): SimdEmission {
  return ({ f }, args) =>
    args[0]!.lanes.map((_, half) => {
      for (const arg of args) f.get(arg.lanes[half]!);
      f.op(name);
      return captured(f);
    });
}

export function scalar(...names: PlainName[]): ScalarEmission {
  return ({ f }, args) => {
    for (const arg of args) f.get(arg);
    for (const name of names) f.op(name);
  };
}

/** Pushes the result of an operation on scalars. */
export function emitScalar(e: Emitter, name: OpName, emission: Emission, args: readonly Local[]): void {
  if (emission.scalar) {
    emission.scalar(e, args);
    return;
  }
  const { params, result } = OPS[name];
  const lanes = args.map((arg, i) => ({ lanes: splat(e, arg, params[i]!), scalar: arg }));
  extract(e, emission.simd!(e, lanes), result, 0);
}

/** Result of an operation on lanes, in fresh locals. */
export function emitLanes(e: Emitter, name: OpName, emission: Emission, args: readonly LaneArgument[]): Lanes {
  if (emission.simd) return emission.simd(e, args);
  const { params, result } = OPS[name];
  const { f } = e;
  const target = freshLanes(e, result);
  const value = f.local(wasmType(result));
  const scalars = params.map((param) => f.local(wasmType(param)));
  for (let lane = 0; lane < 4; lane++) {
    params.forEach((param, i) => {
      const { lanes, scalar: uniform } = args[i]!;
      if (uniform) f.get(uniform);
      else extract(e, lanes, param, lane);
      f.set(scalars[i]!);
    });
    emission.scalar!(e, scalars);
    f.set(value);
    insert(e, target, result, lane, value);
  }
  f.free(value, ...scalars);
  return target;
}
