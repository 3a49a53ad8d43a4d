/**
 * Products of matrices in WebAssembly and in the evaluator, with and without fused multiply-adds, over
 * registers that overlap.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Builder } from '../../ir/builder.ts';
import { evaluate, type Machine } from '../../ir/evaluate.ts';
import type { MatrixProduct } from '../../ir/matrix-product.ts';
import type { Program, Value } from '../../ir/types.ts';
import { randomBits } from '../../isa/amdgpu/rows/vector.test-support.ts';
import { DEFAULT_MODE } from '../../isa/amdgpu/semantics/machine.test-support.ts';
import { denseProduct, sparseProduct, waveProduct } from '../../isa/amdgpu/semantics/matrix/matrix-layout.ts';
import type { FunctionBuilder } from '../../wasm/function.ts';
import { RECORD_OPERANDS, WAVE_VGPRS, waveSizeBytes } from '../machine/layout.ts';
import type { OperandForm } from '../machine/operand-places.ts';
import { HandlerState } from './handler-state.ts';
import { probeHost, softImports } from './host.ts';
import { emitMeaning, lowerHandler } from './lower.ts';
import { ModuleContext } from './module-context.ts';
import { RecordPlace } from './record-place.ts';

const PAGES = 4;
const RECORD = 64;
const WAVE = 1024;
const OPERANDS = { result: 0, left: 1, selectors: 2, right: 3, accumulators: 4 } as const;

/** What the accumulators are: registers as they are, numbers computed from them, or one constant. */
type Start = 'registers' | 'computed' | 'constant';

function programOf(product: MatrixProduct, waveSize: 32 | 64, start: Start): Program {
  const b = new Builder(waveSize, DEFAULT_MODE);
  const isPair = product.type === 'f64';
  const dword = (operand: number, i: number): Value => b.operand({ operand, dword: i }, true);
  const element = (operand: number, i: number): Value =>
    isPair ? b.pack(dword(operand, 2 * i), dword(operand, 2 * i + 1)) : dword(operand, i);
  const elements = (operand: number, count: number): Value[] =>
    Array.from({ length: count }, (_, i) => element(operand, i));
  const selectors = product.selects ? elements(OPERANDS.selectors, product.left).map((x) => b.and(x, b.i32(3))) : [];
  const accumulators = elements(OPERANDS.accumulators, product.results).map((x) => {
    if (start === 'registers') return x;
    if (start === 'computed') return isPair ? b.f64.neg(x) : b.f32.neg(x);
    return isPair ? b.f64.constant(-0) : b.f32.constant(1.5);
  });
  const left = elements(OPERANDS.left, product.left);
  const right = elements(OPERANDS.right, product.right);
  b.matrixProduct(product, left, right, accumulators, selectors).forEach((result, i) => {
    const dwords = isPair ? [b.low(result), b.high(result)] : [result];
    for (const [half, value] of dwords.entries()) {
      b.setOperand({ operand: OPERANDS.result, dword: i * dwords.length + half }, value, true);
    }
  });
  return b.finish();
}

/** Operands known when code is emitted, as in compiled code. */
class KnownPlace extends RecordPlace {
  readonly #f: FunctionBuilder;
  readonly #offsets: readonly number[];

  constructor(f: FunctionBuilder, offsets: readonly number[]) {
    super(f);
    this.#f = f;
    this.#offsets = offsets;
  }

  override parameter(operand: number): number | undefined {
    return this.#offsets[operand];
  }

  override pushParameter(operand: number): void {
    this.#f.i32(this.#offsets[operand]!);
  }
}

/** The handler's function, or with `offsets` one for these operands, and the memory it works on. */
function compile(program: Program, waveSize: 32 | 64, fused: boolean, offsets?: readonly number[]) {
  const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES, shared: true });
  const context = new ModuleContext({ ...probeHost(), fused }, { state: PAGES, device: PAGES });
  const spaces = { windowHi: 0, sharedApertureHi: 1, privateApertureHi: 2, waveSize };
  const kinds = Object.values(OPERANDS).map((): OperandForm => ({ kind: 'row' }));
  if (offsets) {
    const f = context.module.function(context.handlerType.parameters, context.handlerType.results);
    emitMeaning(new HandlerState({ f, context }, spaces, kinds, new KnownPlace(f, offsets)), program);
    f.i32(0);
    context.module.export('handler', f);
  } else {
    const handler = { key: 'product', program, operands: kinds };
    context.module.export('handler', lowerHandler(context, spaces, handler));
  }
  const table = new WebAssembly.Table({ element: 'anyfunc', initial: 1 });
  const imports = { env: { state: memory, memory, table, fault: () => {}, ...softImports } };
  const instance = new WebAssembly.Instance(new WebAssembly.Module(context.module.toBytes()), imports);
  return { memory, handler: instance.exports['handler'] as (record: number, wave: number) => number };
}

/** f32 or f64 near one, zeros, denormals, and now and then an infinity or a NaN. */
function fill(registers: Uint32Array, type: MatrixProduct['type'], seed: number): void {
  randomBits(registers.length, seed).forEach((bits, i) => {
    const word = Number(bits & 0xffffffffn);
    const chooses = Number(bits >> 56n);
    if (type === 'i32' || (type === 'f64' && (i >> 6) % 2 === 0)) registers[i] = word;
    else if (chooses < 2) registers[i] = type === 'f32' ? 0x7f800000 + (word & 1) : 0x7ff00000;
    else if (chooses < 16) registers[i] = word & 0x800fffff;
    else registers[i] = type === 'f32' ? (word & 0x81ffffff) | 0x3e000000 : (word & 0x803fffff) | 0x3fc00000;
  });
}

function check(
  product: MatrixProduct,
  waveSize: 32 | 64,
  start: Start,
  fused: boolean,
  first: Record<keyof typeof OPERANDS, number>,
) {
  const offsets = Object.values(first).map((register) => WAVE_VGPRS + register * waveSize * 4);
  const program = programOf(product, waveSize, start);
  run(product, program, waveSize, first, compile(program, waveSize, fused));
  run(product, program, waveSize, first, compile(program, waveSize, fused, offsets));
}

function run(
  product: MatrixProduct,
  program: Program,
  waveSize: 32 | 64,
  first: Record<keyof typeof OPERANDS, number>,
  { memory, handler }: ReturnType<typeof compile>,
) {
  const registers = new Uint32Array(memory.buffer, WAVE + WAVE_VGPRS, 256 * waveSize);
  assert.ok(WAVE + waveSizeBytes(waveSize) <= memory.buffer.byteLength);
  fill(registers, product.type, 1);
  const expected = registers.slice();
  const at = (operand: number, dword: number, lane: number): number =>
    (Object.values(first)[operand]! + dword) * waveSize + lane;
  const machine = {
    readState: () => 1n,
    readOperand: ({ operand, dword }, lane) => expected[at(operand, dword, lane)]! | 0,
    writeOperand: ({ operand, dword }, lane, value) => {
      expected[at(operand, dword, lane)] = value;
    },
  } as Partial<Machine> as Machine; // reason: the program does nothing else
  evaluate(program, machine);
  const view = new DataView(memory.buffer);
  Object.values(first).forEach((register, operand) => {
    view.setUint32(RECORD + RECORD_OPERANDS + operand * 8, WAVE_VGPRS + register * waveSize * 4, true);
  });
  handler(RECORD, WAVE);
  assert.deepEqual(registers, expected);
}

const PRODUCTS: readonly (readonly [name: string, product: MatrixProduct, waveSize: 32 | 64])[] = [
  ['32x32x2 f32', denseProduct('f32', { m: 32, n: 32, k: 2, blocks: 1 }), 64],
  ['16x16x1 f32, 4 blocks', denseProduct('f32', { m: 16, n: 16, k: 1, blocks: 4 }), 64],
  ['4x4x4 f32, 16 blocks', denseProduct('f32', { m: 4, n: 4, k: 4, blocks: 16 }), 64],
  ['32x32x4 i32, 2 blocks', denseProduct('i32', { m: 32, n: 32, k: 4, blocks: 2 }), 64],
  ['16x16x4 f64', denseProduct('f64', { m: 16, n: 16, k: 4, blocks: 1 }), 64],
  ['4x4x4 f64, 4 blocks', denseProduct('f64', { m: 4, n: 4, k: 4, blocks: 4 }), 64],
  ['16x16x32 f32, sparse', sparseProduct('f32', { m: 16, n: 16, k: 32, blocks: 1 }), 64],
  ['32x32x32 i32, sparse', sparseProduct('i32', { m: 32, n: 32, k: 32, blocks: 1 }), 64],
  ['16x16x16 f32, wave32', waveProduct('f32', 32), 32],
  ['16x16x16 f32, wave64', waveProduct('f32', 64), 64],
  ['16x16x16 i32, wave32', waveProduct('i32', 32), 32],
];

for (const [name, product, waveSize] of PRODUCTS) {
  test(`${name}: handler and evaluator agree`, () => {
    const apart = { result: 0, left: 40, selectors: 60, right: 80, accumulators: 120 };
    for (const fused of [true, false]) {
      if (fused && !probeHost().fused) continue;
      for (const start of ['registers', 'computed', 'constant'] as const) check(product, waveSize, start, fused, apart);
    }
  });

  test(`${name}: the result takes the place of the accumulators, or a part of it`, () => {
    const { fused } = probeHost();
    const same = { result: 120, left: 40, selectors: 60, right: 80, accumulators: 120 };
    for (const by of [0, 1, -1]) check(product, waveSize, 'registers', fused, { ...same, result: 120 + by });
  });

  test(`${name}: the result lies over everything else`, () => {
    const { fused } = probeHost();
    const over = { result: 10, left: 11, selectors: 13, right: 9, accumulators: 12 };
    for (const start of ['registers', 'computed'] as const) check(product, waveSize, start, fused, over);
  });
}
