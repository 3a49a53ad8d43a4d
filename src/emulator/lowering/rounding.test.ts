/**
 * The rounded operations as WebAssembly, in the four rounding modes and three widths, against results by
 * definition.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Builder } from '../../ir/builder.ts';
import {
  ARITY,
  converted,
  expected,
  FLOAT_TYPES,
  MODES,
  type Mode,
  OPERATIONS,
  operandTuples,
  patterns,
  type RoundedType,
} from '../../ir/exact-rounding.test-support.ts';
import type { Value } from '../../ir/types.ts';
import { EMISSION } from './emission.ts';
import { captured, type Emitter, emitLanes, type Lanes, splat } from './emitter.ts';
import { probeHost, softImports } from './host.ts';
import { ModuleContext } from './module-context.ts';

interface Case {
  readonly name: string;
  readonly mode: Mode;
  readonly from: RoundedType;
  readonly to: RoundedType;
  readonly arity: number;
  readonly operands: fc.Arbitrary<bigint[]>;
  expect(operands: readonly bigint[]): bigint;
  compute(b: Builder, operands: readonly Value[]): Value;
}

const arithmetic = (type: RoundedType, mode: Mode): Case[] =>
  OPERATIONS.map((operation) => ({
    name: `${type} ${operation}, rounding ${mode}`,
    mode,
    from: type,
    to: type,
    arity: ARITY[operation],
    operands: operandTuples(operation, type),
    expect: (operands) => expected(operation, type, mode, operands),
    compute: (b, operands) => (b[type][operation] as (...values: readonly Value[]) => Value)(...operands),
  }));

function conversion(mode: Mode, from: RoundedType, to: RoundedType, compute: (b: Builder, x: Value) => Value): Case {
  return {
    name: `${from} to ${to}, rounding ${mode}`,
    mode,
    from,
    to,
    arity: 1,
    operands: fc.tuple(patterns(from)),
    expect: ([x]) => converted(from, to, mode, x!),
    compute: (b, [x]) => compute(b, x!),
  };
}

const CASES = MODES.flatMap((mode) => [
  ...FLOAT_TYPES.flatMap((type) => arithmetic(type, mode)),
  conversion(mode, 'f64', 'f32', (b, x) => b.f32.fromF64(x)),
  conversion(mode, 'f64', 'f16', (b, x) => b.f16.fromF64(x)),
  conversion(mode, 'f32', 'f16', (b, x) => b.f16.fromF32(x)),
]);

/** Operands stand at 0, 64 and 128, four lanes of 8 bytes each, the result at 192. */
const RESULT = 192;
const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
const view = new DataView(memory.buffer);

/** The dwords of four 64-bit lanes as operand values of the ir. */
function operandOf(b: Builder, type: RoundedType, operand: number): Value {
  const low = b.operand({ operand, dword: 0 }, true);
  return type === 'f64' ? b.pack(low, b.operand({ operand, dword: 1 }, true)) : low;
}

function loadDwords({ f }: Emitter, operand: number, dword: number): Lanes {
  f.i32(0);
  f.op('i32x4.splat');
  const lanes = captured(f);
  for (let lane = 0; lane < 4; lane++) {
    f.get(lanes);
    f.i32(0);
    f.load('i32.load', operand * 64 + lane * 8 + dword * 4);
    f.lane('i32x4.replace_lane', lane);
    f.set(lanes);
  }
  return [lanes];
}

function emit(e: Emitter, value: Value, done: ReadonlyMap<Value, Lanes>): Lanes {
  const { f } = e;
  const { leaf } = value;
  if (leaf.kind === 'operand') return loadDwords(e, leaf.at.operand, leaf.at.dword);
  if (leaf.kind === 'pure') {
    const args = value.args.map((arg) => ({ lanes: done.get(arg)! }));
    return emitLanes(e, leaf.op, EMISSION[leaf.op], args);
  }
  assert.equal(leaf.kind, 'const');
  const scalar = f.local(value.type === 'i64' ? 'i64' : 'i32');
  const constant = leaf.kind === 'const' ? leaf.value : 0n;
  if (value.type === 'i64') f.i64(BigInt.asIntN(64, constant));
  else f.i32(Number(constant));
  f.set(scalar);
  return splat(e, scalar, value.type as 'i1' | 'i32' | 'i64');
}

function build(fused: boolean): Record<string, () => void> {
  const context = new ModuleContext({ ...probeHost(), fused }, { state: 1, device: 1 });
  for (const { name, mode, from, arity, compute } of CASES) {
    const keep = { inputs: false, results: false };
    const b = new Builder(64, {
      round32: mode,
      round64: mode,
      flush32: keep,
      flush64: keep,
      ieee: true,
      dx10Clamp: true,
    });
    const result = compute(
      b,
      Array.from({ length: arity }, (_, operand) => operandOf(b, from, operand)),
    );
    const f = context.module.function([], []);
    const done = new Map<Value, Lanes>();
    for (const value of b.finish().values) done.set(value, emit({ f, context }, value, done));
    done.get(result)!.forEach((local, half) => {
      f.i32(0);
      f.get(local);
      f.store('v128.store', RESULT + half * 16);
    });
    context.module.export(name, f);
  }
  const table = new WebAssembly.Table({ element: 'anyfunc', initial: 1 });
  const env = { state: memory, memory, table, fault: () => {}, ...softImports };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(context.module.toBytes()), { env });
  return instance.exports as Record<string, () => void>;
}

const hex = (x: bigint): string => `0x${x.toString(16)}`;

for (const fused of [true, false]) {
  const exports = build(fused);
  for (const { name, to, operands, expect } of CASES) {
    test(`${name}: WebAssembly${fused ? '' : ' on a host without FMA'}`, () => {
      fc.assert(
        fc.property(fc.tuple(operands, operands, operands, operands), (lanes) => {
          lanes.forEach((tuple, lane) => {
            for (const [i, x] of tuple.entries()) view.setBigUint64(i * 64 + lane * 8, x, true);
          });
          exports[name]!();
          lanes.forEach((tuple, lane) => {
            const found =
              to === 'f64'
                ? view.getBigUint64(RESULT + lane * 8, true)
                : BigInt(view.getUint32(RESULT + lane * 4, true));
            assert.equal(hex(found), hex(expect(tuple)), `lane ${lane}: ${tuple.map(hex)}`);
          });
        }),
        { numRuns: fused ? 200 : 50 },
      );
    });
  }
}
