import assert from 'node:assert/strict';
import { test } from 'node:test';
import wabtFactory from 'wabt';
import type { FunctionBuilder } from './function.ts';
import { ModuleBuilder } from './module.ts';
import { ATOMIC_ACCESS, CONTROL, LANE, LANE_ACCESS, LOAD, PLAIN, STORE } from './opcodes.ts';

const FEATURES = {
  simd: true,
  relaxed_simd: true,
  threads: true,
  bulk_memory: true,
  tail_call: true,
  sat_float_to_int: true,
  sign_extension: true,
  multi_memory: true,
};

const wabt = await wabtFactory();

function keys<T extends object>(table: T): (keyof T & string)[] {
  return Object.keys(table) as (keyof T & string)[]; // reason: Object.keys forgets the keys of a literal table
}

/**
 * The lines that wabt prints for a function body. Its reader does not check types, so operands may be
 * missing.
 */
function disassemble(body: (f: FunctionBuilder) => void): string[] {
  const m = new ModuleBuilder();
  m.importMemory('env', 'memory', { minPages: 1 });
  m.importMemory('env', 'other', { minPages: 1 });
  m.importTable('env', 'table', { min: 0 });
  const f = m.function(['i32'], []);
  body(f);
  const module = wabt.readWasm(m.toBytes(), FEATURES);
  const text = module.toText({ foldExprs: false });
  module.destroy();
  const lines = text.split('\n').map((line) => line.trim());
  const start = lines.findIndex((line) => line.startsWith('(func'));
  return lines.slice(start + 1, -1).map((line) => line.replace(/\)+$/, ''));
}

test('wabt reads every plain instruction back under its own name', () => {
  const names = keys(PLAIN);
  const lines = disassemble((f) => {
    for (const name of names) f.op(name);
  });
  assert.deepEqual(lines, names);
});

test('wabt reads every lane instruction back', () => {
  const names = keys(LANE);
  const lines = disassemble((f) => {
    for (const name of names) f.lane(name, 1);
  });
  assert.deepEqual(
    lines,
    names.map((name) => `${name} 1`),
  );
});

test('wabt reads every memory instruction back, with natural alignment and its offset', () => {
  const lines = disassemble((f) => {
    for (const name of keys(LOAD)) f.load(name, 300);
    for (const name of keys(STORE)) f.store(name, 300);
    for (const name of keys(ATOMIC_ACCESS)) f.atomic(name, 300);
    for (const name of keys(LANE_ACCESS)) f.loadLane(name, 300, 1);
  });
  // wabt prints align= only where it differs from the natural one.
  assert.deepEqual(lines, [
    ...[...keys(LOAD), ...keys(STORE), ...keys(ATOMIC_ACCESS)].map((name) => `${name} offset=300`),
    ...keys(LANE_ACCESS).map((name) => `${name} offset=300 1`),
  ]);
});

test('wabt reads accesses of a second memory back', () => {
  const lines = disassemble((f) => {
    f.load('i64.load', 300, 1);
    f.store('v128.store', 300, 1);
    f.atomic('i32.atomic.rmw.cmpxchg', 300, 1);
    f.loadLane('v128.load32_lane', 300, 2, 1);
    f.memoryFill(1);
    f.memoryCopy(1);
  });
  assert.deepEqual(lines, [
    'i64.load 1 offset=300',
    'v128.store 1 offset=300',
    // wabt reads the index of an atomic's memory, but does not print it.
    'i32.atomic.rmw.cmpxchg offset=300',
    'v128.load32_lane 1 offset=300 2',
    'memory.fill 1',
    'memory.copy 1 1',
  ]);
});

test('wabt reads everything that a method encodes back', () => {
  const lines = disassemble((f) => {
    f.i32(-5);
    f.i64(-6n);
    f.f32bits(0x3f80_0000);
    f.f64bits(0x3ff0_0000_0000_0000n);
    f.v128([1, 2, 3, 4]);
    f.shuffle([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 31]);
    f.get(f.param(0));
    f.set(f.param(0));
    f.tee(f.param(0));
    f.memoryCopy();
    f.memoryFill();
    f.atomicFence();
    f.drop();
    f.select();
    f.call(f);
    f.returnCall(f);
    f.callIndirect(f.type);
    f.returnCallIndirect(f.type);
    f.return();
    f.unreachable();
    f.block('i32', (outer) =>
      f.loop(undefined, (inner) =>
        f.if('v128', (innermost) => {
          f.br(innermost);
          f.brIf(inner);
          f.brTable([outer, innermost], inner);
        }),
      ),
    );
  });
  assert.deepEqual(lines, [
    'i32.const -5',
    'i64.const -6',
    'f32.const 0x1p+0 (;=1;',
    'f64.const 0x1p+0 (;=1;',
    'v128.const i32x4 0x00000001 0x00000002 0x00000003 0x00000004',
    'i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 31',
    'local.get 0',
    'local.set 0',
    'local.tee 0',
    'memory.copy',
    'memory.fill',
    'atomic.fence',
    'drop',
    'select',
    'call 0',
    'return_call 0',
    'call_indirect (type 0',
    'return_call_indirect (type 0',
    'return',
    'unreachable',
    'block (result i32)  ;; label = @1',
    'loop  ;; label = @2',
    'if (result v128)  ;; label = @3',
    'br 0 (;@3;',
    'br_if 1 (;@2;',
    'br_table 2 (;@1;) 0 (;@3;) 1 (;@2;',
    'end',
    'end',
    'end',
  ]);
});

test('no two instructions share an opcode', () => {
  const accesses = [LOAD, STORE, LANE_ACCESS, ATOMIC_ACCESS].flatMap((table) => Object.values(table));
  const opcodes = [
    ...[CONTROL, PLAIN, LANE].flatMap((table) => Object.values(table)),
    ...accesses.map(({ opcode }) => opcode),
  ];
  assert.equal(new Set(opcodes).size, opcodes.length);
  assert.ok(opcodes.length > 480, `${opcodes.length} instructions`);
});
