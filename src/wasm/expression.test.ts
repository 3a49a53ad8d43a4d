import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteWriter } from './bytes.ts';
import {
  add64,
  and,
  assign,
  gtU64,
  laneOf,
  loadFrom,
  ltU,
  mul,
  operation,
  push,
  select,
  shrU,
  sub,
  sum,
  tee,
  zext64,
} from './expression.ts';
import type { FunctionBuilder } from './function.ts';
import { ModuleBuilder } from './module.ts';

function functionOf(body: (f: FunctionBuilder) => void): { bytes: Uint8Array; run: (...values: number[]) => number } {
  const m = new ModuleBuilder();
  m.importMemory('env', 'memory', { minPages: 1 });
  const f = m.function(['i32', 'i32'], ['i32']);
  body(f);
  m.export('run', f);
  const out = new ByteWriter(64);
  f.writeTo(out);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()), {
    env: { memory: new WebAssembly.Memory({ initial: 1 }) },
  });
  return { bytes: out.view().slice(), run: instance.exports['run'] as (...values: number[]) => number };
}

test('a formula is emitted as one would by hand: operands first, from left to right', () => {
  const formula = functionOf((f) => push(f, sum(f.param(0), mul(and(f.param(1), 0xff), 12), 7)));
  const byHand = functionOf((f) => {
    f.get(f.param(0));
    f.get(f.param(1));
    f.i32(0xff);
    f.op('i32.and');
    f.i32(12);
    f.op('i32.mul');
    f.op('i32.add');
    f.i32(7);
    f.op('i32.add');
  });
  assert.deepEqual(formula.bytes, byHand.bytes);
  assert.equal(formula.run(1000, 0x302), 1000 + 2 * 12 + 7);
});

test('a value that is kept on the way is computed once', () => {
  const { run } = functionOf((f) => {
    const kept = f.local('i32');
    push(f, select(tee(kept, shrU(f.param(0), 4)), 99, ltU(kept, 10)));
  });
  assert.deepEqual([run(0x50), run(0xa0)], [5, 99]);
});

test('numbers of 64 bits, memory, lanes and locals', () => {
  const { run } = functionOf((f) => {
    const total = f.local('i32');
    const low = laneOf(operation('i32x4.splat', f.param(0)), 3);
    assign(f, total, sum(low, loadFrom('i32.load', 8, 16)));
    push(f, sub(total, gtU64(add64(zext64(f.param(1)), 1n), 0xffff_ffffn)));
  });
  assert.deepEqual([run(40, -1), run(40, 5)], [39, 40]);
});
