import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Evaluated } from '../../ir/op.ts';
import { OP_NAMES, OPS, type OpName } from '../../ir/ops.ts';
import type { Type } from '../../ir/types.ts';
import { EMISSION } from './emission.ts';
import { emitLanes, emitScalar, splat, wasmType } from './emitter.ts';
import { probeHost, softImports } from './host.ts';
import { ModuleContext } from './module-context.ts';

const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
const view = new DataView(memory.buffer);
const sizeOf = (type: Type): number => (type === 'i64' ? 32 : 16);

/** A module with `lanes_i` and `scalar_i` for each operation: arguments at 0, 32, 64, result at 128. */
function build(fused: boolean): Record<string, () => void> {
  const context = new ModuleContext({ ...probeHost(), fused }, { state: 1, device: 1 });
  OP_NAMES.forEach((name, index) => {
    const { params, result } = OPS[name];
    const vectors = context.module.function([], []);
    const args = params.map((type, i) => ({
      lanes: Array.from({ length: sizeOf(type) / 16 }, (_, half) => {
        const local = vectors.local('v128');
        vectors.i32(0);
        vectors.load('v128.load', i * 32 + half * 16);
        vectors.set(local);
        return local;
      }),
    }));
    emitLanes({ f: vectors, context }, name, EMISSION[name], args).forEach((local, half) => {
      vectors.i32(0);
      vectors.get(local);
      vectors.store('v128.store', 128 + half * 16);
    });
    context.module.export(`lanes ${index}`, vectors);

    const scalars = context.module.function([], []);
    const locals = params.map((type, i) => {
      const local = scalars.local(wasmType(type));
      scalars.i32(0);
      scalars.load(type === 'i64' ? 'i64.load' : 'i32.load', i * 32);
      if (type === 'i1') {
        scalars.i32(1);
        scalars.op('i32.and');
      }
      scalars.set(local);
      return local;
    });
    scalars.i32(0);
    emitScalar({ f: scalars, context }, name, EMISSION[name], locals);
    scalars.store(result === 'i64' ? 'i64.store' : 'i32.store', 128);
    context.module.export(`scalar ${index}`, scalars);

    // The last argument uniform, as a shift amount often is.
    const mixed = context.module.function([], []);
    const last = params.length - 1;
    const uniform = mixed.local(wasmType(params[last]!));
    mixed.i32(0);
    mixed.load(params[last] === 'i64' ? 'i64.load' : 'i32.load', last * 32);
    if (params[last] === 'i1') {
      mixed.i32(1);
      mixed.op('i32.and');
    }
    mixed.set(uniform);
    const e = { f: mixed, context };
    const mixedArgs = params.map((type, i) => {
      if (i === last) return { lanes: splat(e, uniform, type), scalar: uniform };
      const lanes = Array.from({ length: sizeOf(type) / 16 }, (_, half) => {
        const local = mixed.local('v128');
        mixed.i32(0);
        mixed.load('v128.load', i * 32 + half * 16);
        mixed.set(local);
        return local;
      });
      return { lanes };
    });
    emitLanes(e, name, EMISSION[name], mixedArgs).forEach((local, half) => {
      mixed.i32(0);
      mixed.get(local);
      mixed.store('v128.store', 128 + half * 16);
    });
    context.module.export(`mixed ${index}`, mixed);
  });
  const imports = {
    state: memory,
    memory,
    table: new WebAssembly.Table({ element: 'anyfunc', initial: 1 }),
    fault: () => {},
    ...softImports,
  };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(context.module.toBytes()), { env: imports });
  return instance.exports as Record<string, () => void>;
}

function put(type: Type, argument: number, lane: number, value: Evaluated): void {
  if (type === 'i64') view.setBigUint64(argument * 32 + lane * 8, value as bigint, true);
  else view.setInt32(argument * 32 + lane * 4, type === 'i1' ? -Number(value) : Number(value), true);
}

function take(type: Type, lane: number, mask: boolean): Evaluated {
  if (type === 'i64') return view.getBigUint64(128 + lane * 8, true);
  const bits = view.getInt32(128 + lane * 4, true);
  return type === 'i1' && mask && bits === -1 ? 1 : bits;
}

const EDGES_32 = [
  0,
  1,
  2,
  15,
  16,
  31,
  32,
  33,
  63,
  64,
  -1,
  0x7fffffff,
  -0x80000000,
  0x3f800000,
  0xbf800000 | 0,
  0x7f800000,
  0xff800000 | 0,
  0x7fc00001,
  0x7f800001,
  0xffc12345 | 0,
  0xff812345 | 0,
  0x00000001,
  0x807fffff | 0,
  0x00800000,
  0x4f000000,
  0xcf000000 | 0,
  0x4f800000,
  0x3effffff,
  0x3f000000,
  0x3fc00000,
  0x40200000,
  0x33000000,
  0x38800000,
  0x387fffff,
  0x477fe000,
  0x477ff000,
  0x7c00,
  0x7c01,
  0x7e00,
  0x03ff,
  0x0400,
  0x8001,
  0xfe01,
  0x8000,
];
const EDGES_64 = [
  0n,
  1n,
  0xffffffffn,
  0x100000000n,
  0x7fffffffffffffffn,
  0x8000000000000000n,
  0xffffffffffffffffn,
  0x3ff0000000000000n,
  0xbff0000000000000n,
  0x7ff0000000000000n,
  0xfff0000000000000n,
  0x7ff8000000000001n,
  0x7ff0000000000001n,
  0xfff4567812345678n,
  0x0000000000000001n,
  0x000fffffffffffffn,
  0x0010000000000000n,
  0x41dfffffffc00000n,
  0xc1e0000000000000n,
  0x41f0000000000000n,
  0x3fe0000000000000n,
  0x36a0000000000000n,
  0x3690000000000000n,
  0x3690000000000001n,
  0x47efffffe0000000n,
  0x47efffffefffffffn,
];

const arbitrary = (type: Type): fc.Arbitrary<Evaluated> => {
  if (type === 'i1') return fc.constantFrom(0, 1);
  if (type === 'i32') return fc.oneof(fc.constantFrom(...EDGES_32), fc.integer());
  return fc.oneof(fc.constantFrom(...EDGES_64), fc.bigInt({ min: 0n, max: 0xffffffffffffffffn }));
};

const evaluateOp = (name: OpName, args: readonly Evaluated[]): Evaluated =>
  (OPS[name].evaluate as (...values: readonly Evaluated[]) => Evaluated)(...args);

for (const fused of [true, false]) {
  const exports = build(fused);
  for (const [index, name] of OP_NAMES.entries()) {
    if (!fused && !name.endsWith('.fma')) continue;
    test(`${name}: WebAssembly gives the evaluator's result${fused ? '' : ' on a host without FMA'}`, () => {
      const { params, result } = OPS[name];
      const lanes = fc.tuple(...[0, 1, 2, 3].map(() => fc.tuple(...params.map(arbitrary))));
      fc.assert(
        fc.property(lanes, (rows) => {
          rows.forEach((row, lane) => {
            params.forEach((type, i) => {
              put(type, i, lane, row[i]!);
            });
          });
          exports[`lanes ${index}`]!();
          rows.forEach((row, lane) => {
            assert.equal(take(result, lane, true), evaluateOp(name, row), `lane ${lane} of ${name}(${row})`);
          });
          exports[`mixed ${index}`]!();
          rows.forEach((row, lane) => {
            const args = [...row.slice(0, -1), rows[0]!.at(-1)!];
            assert.equal(take(result, lane, true), evaluateOp(name, args), `uniform last argument: ${name}(${args})`);
          });
          exports[`scalar ${index}`]!();
          assert.equal(take(result, 0, false), evaluateOp(name, rows[0]!), `scalar ${name}(${rows[0]})`);
        }),
        { numRuns: 300 },
      );
    });
  }
}
