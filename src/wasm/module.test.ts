import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import type { BlockLabel, FunctionBuilder } from './function.ts';
import { ModuleBuilder } from './module.ts';
import type { ValueType } from './types.ts';

type Exported = (...values: (number | bigint)[]) => number | bigint;

/** A module with one exported function `run`. */
function build(parameters: ValueType[], results: ValueType[], body: (f: FunctionBuilder) => void): Exported {
  const m = new ModuleBuilder();
  const f = m.function(parameters, results);
  body(f);
  m.export('run', f);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()));
  return instance.exports['run'] as Exported;
}

const internal = (what: RegExp) => (error: unknown) =>
  error instanceof WavewrightError && error.code === 'INTERNAL' && what.test(error.what);

test('constants keep every bit', () => {
  for (const value of [0, 63, 64, -64, -65, 127, 128, 8191, 8192, 0x7fff_ffff, -0x8000_0000, 0xdead_beef]) {
    assert.equal(build([], ['i32'], (f) => f.i32(value))(), value | 0);
  }
  for (const value of [0n, 63n, 64n, -64n, -65n, 1n << 31n, -(1n << 31n), (1n << 63n) - 1n, -(1n << 63n), 1n << 63n]) {
    assert.equal(build([], ['i64'], (f) => f.i64(value))(), BigInt.asIntN(64, value));
  }
  const f32 = build([], ['i32'], (f) => {
    f.f32bits(0xffa1_2345);
    f.op('i32.reinterpret_f32');
  });
  assert.equal(f32(), 0xffa1_2345 | 0);
  const f64 = build([], ['i64'], (f) => {
    f.f64bits(0x7ff4_0000_89ab_cdefn);
    f.op('i64.reinterpret_f64');
  });
  assert.equal(f64(), 0x7ff4_0000_89ab_cdefn);
});

test('v128 constants from words and from bytes are the same, lane 0 first', () => {
  const run = build([], ['i32'], (f) => {
    f.v128([1, 0xffff_ffff, 3, 0x8000_0004]);
    f.v128(Uint8Array.of(1, 0, 0, 0, 255, 255, 255, 255, 3, 0, 0, 0, 4, 0, 0, 128));
    f.op('i32x4.eq');
    f.op('i32x4.all_true');
    f.v128([7, 8, 9, 10]);
    f.v128([11, 12, 13, 14]);
    f.shuffle([4, 5, 6, 7, 16, 17, 18, 19, 0, 0, 0, 0, 0, 0, 0, 0]);
    f.lane('i32x4.extract_lane', 1);
    f.op('i32.add');
  });
  assert.equal(run(), 1 + 11);
});

test('a loop with nested blocks: labels become depths', () => {
  // Sum of the odd numbers below n, by continue and break.
  const sum = build(['i32'], ['i32'], (f) => {
    const i = f.local('i32');
    const total = f.local('i32');
    f.block(undefined, (done) => {
      f.loop(undefined, (next) => {
        f.get(i);
        f.get(f.param(0));
        f.op('i32.ge_s');
        f.brIf(done);
        f.block(undefined, (even) => {
          f.get(i);
          f.i32(1);
          f.op('i32.and');
          f.op('i32.eqz');
          f.brIf(even);
          f.get(total);
          f.get(i);
          f.op('i32.add');
          f.set(total);
        });
        f.get(i);
        f.i32(1);
        f.op('i32.add');
        f.set(i);
        f.br(next);
      });
    });
    f.get(total);
  });
  assert.equal(sum(0), 0);
  assert.equal(sum(11), 25);
});

test('if, else and br_table pick the right arm', () => {
  const pick = build(['i32'], ['i32'], (f) => {
    f.get(f.param(0));
    f.i32(0);
    f.op('i32.lt_s');
    f.if(
      'i32',
      () => f.i32(-1),
      () => {
        const arms: BlockLabel[] = [];
        const nest = (left: number) => {
          if (left === 0) {
            f.get(f.param(0));
            f.brTable(arms.slice(0, 2).reverse(), arms[2]!);
            return;
          }
          f.block(undefined, (label) => {
            arms.unshift(label);
            nest(left - 1);
          });
          f.i32(100 * left);
          f.return();
        };
        nest(3);
        f.unreachable();
      },
    );
  });
  assert.deepEqual(
    [-5, 0, 1, 2, 99].map((x) => pick(x)),
    [-1, 200, 100, 300, 300],
  );
});

test('freed locals are reused by type', () => {
  const m = new ModuleBuilder();
  const f = m.function(['i32'], []);
  const first = f.local('v128');
  f.free(first);
  const second = f.local('v128');
  const other = f.local('i32');
  assert.equal(second.index, first.index);
  assert.equal(other.index, 2);
  assert.equal(f.localCount, 2);
  f.get(other);
  f.set(other);
  assert.throws(() => f.get(first), internal(/used after it was freed/));
  assert.throws(() => f.free(first), internal(/cannot be freed/));
  assert.throws(() => f.free(f.param(0)), internal(/cannot be freed/));
  assert.throws(() => f.param(1), internal(/1 parameters/));
  f.free(second);
  assert.equal(f.local('i64').type, 'i64');
  assert.ok(WebAssembly.validate(m.toBytes()));
});

test('a branch out of a closed block is refused', () => {
  const f = new ModuleBuilder().function([], []);
  let closed: BlockLabel | undefined;
  f.block(undefined, (label) => {
    closed = label;
  });
  f.block(undefined, () => assert.throws(() => f.br(closed!), internal(/not open/)));
});

test('immediates out of range are refused', () => {
  const f = new ModuleBuilder().function([], []);
  assert.throws(() => f.v128(new Uint8Array(15)), internal(/16 bytes/));
  assert.throws(() => f.shuffle([1, 2]), internal(/16 indices/));
  assert.throws(() => f.load('i32.load', -1), internal(/offset/));
  assert.throws(() => new ModuleBuilder().importMemory('a', 'b', { minPages: 1, shared: true }), internal(/maximum/));
});

/** Stores, copies and adds in memory, calls the third element of the table, and adds the result to 1. */
function storingFunction(m: ModuleBuilder, add: FunctionBuilder): FunctionBuilder {
  const store = m.function(['i32'], ['i32']);
  store.get(store.param(0));
  store.v128([1, 2, 3, 4]);
  store.store('v128.store', 16);
  store.get(store.param(0));
  store.get(store.param(0));
  store.v128([0, 0, 0, 0]);
  store.loadLane('v128.load32_lane', 24, 2);
  store.loadLane('v128.store32_lane', 32, 2);
  store.atomicFence();
  store.i32(64);
  store.get(store.param(0));
  store.i32(36);
  store.memoryCopy();
  store.i32(80);
  store.i32(7);
  store.i32(8);
  store.memoryFill();
  store.get(store.param(0));
  store.i32(39);
  store.atomic('i32.atomic.rmw.add', 32);
  store.drop();
  store.get(store.param(0));
  store.get(store.param(0));
  store.i32(2);
  store.i32(0);
  store.callIndirect(add.type);
  store.i32(0);
  store.i32(1);
  store.select();
  store.call(add);
  return store;
}

test('imports, shared memory, tables, element segments, direct, indirect and tail calls', () => {
  const m = new ModuleBuilder();
  m.importMemory('env', 'memory', { minPages: 1, maxPages: 4, shared: true });
  m.importTable('env', 'table', { min: 4 });
  const report = m.importFunction('env', 'report', ['i32', 'i32'], ['i32']);

  const add = m.function(['i32', 'i32'], ['i32'], 'add');
  add.get(add.param(0));
  add.get(add.param(1));
  add.op('i32.add');
  const viaImport = m.function(['i32', 'i32'], ['i32']);
  viaImport.get(viaImport.param(0));
  viaImport.get(viaImport.param(1));
  viaImport.returnCall(report);
  m.elements(2, [add, viaImport]);

  const binary = m.type(['i32', 'i32'], ['i32']);
  assert.equal(binary, add.type);
  const run = m.function(['i32', 'i32', 'i32'], ['i32']);
  run.get(run.param(0));
  run.get(run.param(1));
  run.get(run.param(2));
  run.returnCallIndirect(binary);
  m.export('run', run);

  const store = storingFunction(m, add);
  m.export('store', store);

  const memory = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
  const table = new WebAssembly.Table({ element: 'anyfunc', initial: 4 });
  const seen: number[][] = [];
  const reported = (a: number, b: number) => {
    seen.push([a, b]);
    return a * b;
  };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()), {
    env: { memory, table, report: reported },
  });
  const call = exports['run'] as Exported;
  assert.equal(call(20, 3, 2), 23);
  assert.equal(call(20, 3, 3), 60);
  assert.deepEqual(seen, [[20, 3]]);
  assert.throws(() => call(1, 1, 1), WebAssembly.RuntimeError);
  table.set(0, table.get(2));
  assert.equal((exports['store'] as Exported)(0), 2);
  const words = new Int32Array(memory.buffer);
  assert.deepEqual([...words.slice(4, 9)], [1, 2, 3, 4, 3 + 39]);
  assert.deepEqual([...words.slice(16, 23)], [0, 0, 0, 0, 0x0707_0707, 0x0707_0707, 3]);
});

test('every kind of access reaches the memory that it names', () => {
  const m = new ModuleBuilder();
  for (const name of ['first', 'second']) m.importMemory('env', name, { minPages: 1, maxPages: 1, shared: true });
  const f = m.function([], []);
  const at = (address: number, push: () => void): void => {
    f.i32(address);
    push();
  };
  at(0, () => f.v128([1, 2, 3, 4]));
  f.store('v128.store', 16, 1);
  at(0, () => at(0, () => f.load('i32.load', 20, 1)));
  f.store('i32.store', 0);
  at(0, () => at(0, () => f.v128([0, 0, 0, 0])));
  f.loadLane('v128.load32_lane', 24, 1, 1);
  f.loadLane('v128.store32_lane', 4, 1);
  at(8, () => at(0, () => f.i32(39)));
  f.atomic('i32.atomic.rmw.add', 28, 1);
  f.store('i32.store', 0);
  at(40, () => at(16, () => f.i32(4)));
  f.memoryCopy(1);
  at(44, () => at(5, () => f.i32(1)));
  f.memoryFill(1);
  m.export('run', f);
  const [first, second] = [0, 1].map(() => new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })) as [
    WebAssembly.Memory,
    WebAssembly.Memory,
  ];
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()), { env: { first, second } });
  (exports['run'] as () => void)();
  assert.deepEqual([...new Int32Array(first.buffer, 0, 16)], [2, 3, 4, ...new Array<number>(13).fill(0)]);
  assert.deepEqual([...new Int32Array(second.buffer, 0, 12)], [0, 0, 0, 0, 1, 2, 3, 43, 0, 0, 1, 5]);
});

test('an import after a definition is refused, because it would shift every index', () => {
  const m = new ModuleBuilder();
  m.function([], []);
  assert.throws(() => m.importFunction('env', 'late', [], []), internal(/after a function was defined/));
});

test('big bodies: lengths and local indices of several bytes', () => {
  const m = new ModuleBuilder();
  const f = m.function([], ['i32']);
  const locals = Array.from({ length: 300 }, () => f.local('i32'));
  f.i32(0);
  for (let i = 0; i < 100_000; i++) {
    f.tee(locals[i % 300]!);
    f.get(locals[i % 300]!);
    f.op('i32.or');
  }
  m.export('run', f);
  assert.ok(f.codeSizeBytes > 500_000);
  const bytes = m.toBytes();
  assert.ok(WebAssembly.validate(bytes));
  assert.ok(bytes.length < f.codeSizeBytes + 64, 'locals of one type are declared together');
});

test('named functions show in stack traces', () => {
  const m = new ModuleBuilder();
  m.function([], []).unreachable();
  const f = m.function([], [], 'v_add_u32');
  f.unreachable();
  m.export('run', f);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(m.toBytes()));
  assert.throws(exports['run'] as () => void, (error: unknown) =>
    String((error as Error).stack).includes('at v_add_u32'),
  );
});

test('rare branches have hints at their places', () => {
  const m = new ModuleBuilder();
  m.importFunction('e', 'other', [], []);
  m.function([], []).return();
  const f = m.function(['i32'], ['i32']);
  m.export('run', f);
  const twice = f.local('i64');
  f.i64(300n);
  f.set(twice);
  f.get(f.param(0));
  f.ifRare(() => f.unreachable());
  f.block(undefined, (end) => {
    f.get(f.param(0));
    f.brIfRare(end);
    f.get(f.param(0));
    f.brIf(end);
  });
  f.get(f.param(0));
  const bytes = m.toBytes();
  const module = new WebAssembly.Module(bytes);
  const instance = new WebAssembly.Instance(module, { e: { other: () => {} } });
  assert.equal((instance.exports['run'] as Exported)(0), 0);
  const [section] = WebAssembly.Module.customSections(module, 'metadata.code.branch_hint');
  const hints = [...new Uint8Array(section!)];
  const [functions, index, count, first, , , second] = hints;
  assert.deepEqual([functions, index, count], [1, 2, 2], 'one function, of which imports count too');
  assert.deepEqual(hints, [1, 2, 2, first, 1, 0, second, 1, 0], 'both mostly not taken');
  // The body ends the module: its last bytes are the end, local.get 0, and the end of the block.
  const size = f.codeSizeBytes + 1 + 3;
  const body = bytes.subarray(bytes.length - size);
  assert.deepEqual([...body.subarray(0, 3)], [1, 1, 0x7e], 'declarations of one i64');
  assert.deepEqual([body[first!], body[second!]], [0x04, 0x0d], 'an if, and a br_if');
  assert.deepEqual(WebAssembly.Module.customSections(new WebAssembly.Module(plain()), 'metadata.code.branch_hint'), []);
});

/** A module without hints. */
function plain(): Uint8Array<ArrayBuffer> {
  const m = new ModuleBuilder();
  m.function([], []).return();
  return m.toBytes();
}
