/**
 * Matrices in registers and their product, computed element by element from the formulas of the manuals,
 * which say where an element lies (CDNA3 ISA 7.1.4); the instructions' own layouts go the other way, from the
 * lane to the element.
 */
import assert from 'node:assert/strict';
import { F32, F64, fusedMultiplyAdd, isNan } from '../../../../ir/float-bits.ts';
import type { FloatMode } from '../../../../ir/float-builder.ts';
import { encode, type FieldValues } from '../../encoding/encode.test-support.ts';
import { DEFAULT_MODE, type TestWave } from '../../semantics/machine.test-support.ts';
import { f32, fromF16, randomBits } from '../vector.test-support.ts';

export interface Product {
  readonly name: string;
  readonly processor: string;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly blocks: number;
  readonly left: string;
  readonly right: string;
  readonly sum: 'f32' | 'f64' | 'i32';
  readonly sparse: boolean;
}

const CDNA2_BLOCKS: Readonly<Record<string, number>> = {
  '32x32x1f32': 2,
  '16x16x1f32': 4,
  '4x4x1f32': 16,
  '32x32x2f32': 1,
  '16x16x4f32': 1,
  '32x32x4f16': 2,
  '16x16x4f16': 4,
  '4x4x4f16': 16,
  '32x32x8f16': 1,
  '16x16x16f16': 1,
  '32x32x4i8': 2,
  '16x16x4i8': 4,
  '4x4x4i8': 16,
  '32x32x8i8': 1,
  '16x16x16i8': 1,
  '32x32x4bf16_1k': 2,
  '16x16x4bf16_1k': 4,
  '4x4x4bf16_1k': 16,
  '32x32x8bf16_1k': 1,
  '16x16x16bf16_1k': 1,
  '32x32x2bf16': 2,
  '16x16x2bf16': 4,
  '4x4x2bf16': 16,
  '32x32x4bf16': 1,
  '16x16x8bf16': 1,
  '16x16x4f64': 1,
  '4x4x4f64': 4,
};

/** What the instruction's name says. */
export function productOf(name: string, processor: string): Product {
  const match = /^v_s?mfmac?_([a-z]\d+)_((\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?([a-z]+\d+)(?:_1k|_([a-z]+8))?)$/.exec(name);
  assert.ok(match, name);
  const [, sum, size, m, n, k, blocks, left, right] = match;
  return {
    name,
    processor,
    m: Number(m),
    n: Number(n),
    k: Number(k),
    blocks: CDNA2_BLOCKS[size!] ?? Number(blocks ?? 1),
    left: left!,
    right: right ?? left!,
    sum: sum as Product['sum'], // reason: the names have no other
    sparse: name.startsWith('v_smfmac'),
  };
}

const widthOf = (format: string): number => Number(format.replace(/\D+/, ''));
const f32Bits = (value: number): bigint => f32(value);
const isDenormal32 = (bits: bigint): boolean => (bits & 0x7f800000n) === 0n;
const flushed32 = (bits: bigint): bigint => (isDenormal32(bits) ? bits & 0x80000000n : bits);

/** CDNA3 ISA 7.2: sign, 4 or 5 bits of exponent with bias 8 or 16; 0x80 is the NaN. */
function smallFloat(format: 'fp8' | 'bf8', bits: number): bigint {
  if (bits === 0x80) return 0x7fc00000n;
  const [fractionBits, bias] = format === 'fp8' ? [3, 8] : [2, 16];
  const exponent = (bits & 0x7f) >> fractionBits;
  const fraction = (bits & (2 ** fractionBits - 1)) / 2 ** fractionBits;
  const magnitude = exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias);
  return f32Bits(bits & 0x80 ? -magnitude : magnitude);
}

/** An f32 with 10 bits of fraction, to nearest even. */
function reduced(bits: bigint): bigint {
  if ((bits & 0x7f800000n) === 0x7f800000n) return bits;
  const [low, kept] = [bits & 0x1fffn, bits & ~0x1fffn];
  const roundsUp = low > 0x1000n || (low === 0x1000n && (bits & 0x2000n) !== 0n);
  return roundsUp ? kept + 0x2000n : kept;
}

/** Element as f32 or f64 bits, or as an integer. */
function elementValue(product: Product, mode: FloatMode, format: string, bits: bigint): bigint {
  const flushesHalves = product.processor === 'gfx90a';
  switch (format) {
    case 'f16': {
      const value = f32Bits(fromF16(bits));
      return flushesHalves && (bits & 0x7c00n) === 0n ? value & 0x80000000n : value;
    }
    case 'bf16':
      return flushesHalves ? flushed32(bits << 16n) : bits << 16n;
    case 'f32':
      return mode.flush32.inputs ? flushed32(bits) : bits;
    case 'xf32':
      return reduced(bits);
    case 'fp8':
    case 'bf8':
      return smallFloat(format, Number(bits));
    case 'i8':
      return BigInt.asIntN(8, bits);
    default:
      return bits;
  }
}

/** Elements by position: `at(block, row, column)`. */
export type Matrix = (block: number, i: number, j: number) => bigint;

/** Fills matrices with patterns of their formats. */
export function randomMatrix(format: string, seed: number, fill: 'finite' | 'edges'): Matrix {
  const pool = randomBits(4096, seed);
  return (block, i, j) => {
    const at = (Math.imul(block * 64 + i, 67) + j) & 4095;
    const random = pool[at]!;
    const chooses = Number((random >> 50n) & 63n);
    if (fill === 'edges' && chooses < 2) {
      const edges: Record<string, bigint[]> = {
        f64: [0x7ff0000000000000n, 0xfff0000000000000n, 0x7ff0000000000001n, 0x7fefffffffffffffn],
        f32: [0x7f800000n, 0xff800000n, 0x7f800001n, 0x7f7fffffn],
        f16: [0x7c00n, 0xfc00n, 0x7c01n, 0x7bffn],
        bf16: [0x7f80n, 0xff80n, 0x7f81n, 0x7f7fn],
      };
      const list = edges[format === 'xf32' ? 'f32' : format];
      if (list) return list[Number(random & 3n)]!;
    }
    const sign = random & 1n;
    const bits = random >> 1n;
    // Zeros, denormals and numbers around one; a few far away.
    const exponent = (bias: bigint): bigint => {
      if (chooses < 4) return 0n;
      return bias + ((random >> 60n) & 7n) - (chooses < 8 ? bias / 2n : 4n);
    };
    const zero = chooses === 3;
    if (format === 'f64') return (sign << 63n) | (exponent(1023n) << 52n) | (zero ? 0n : bits & 0xfffffffffffffn);
    if (format === 'f16') return (sign << 15n) | (exponent(15n) << 10n) | (zero ? 0n : bits & 0x3ffn);
    if (format === 'bf16') return (sign << 15n) | (exponent(127n) << 7n) | (zero ? 0n : bits & 0x7fn);
    if (format === 'f32' || format === 'xf32') {
      return (sign << 31n) | (exponent(127n) << 23n) | (zero ? 0n : bits & 0x7fffffn);
    }
    return BigInt.asUintN(format === 'i32' ? 32 : 8, bits);
  };
}

type ItemPlace = readonly [item: number, lane: number];

/** Puts an element of `width` bits into registers of a lane. */
export function putItem(wave: TestWave, first: number, [item, lane]: ItemPlace, width: number, bits: bigint): void {
  if (width === 64) {
    putItem(wave, first, [2 * item, lane], 32, bits & 0xffffffffn);
    putItem(wave, first, [2 * item + 1, lane], 32, bits >> 32n);
    return;
  }
  const perRegister = 32 / width;
  const register = wave.vgprs[first + Math.floor(item / perRegister)]!;
  const shift = (item % perRegister) * width;
  const mask = width === 32 ? -1 : ((1 << width) - 1) << shift;
  register[lane] = (register[lane]! & ~mask) | ((Number(bits) << shift) & mask);
}

function item(wave: TestWave, first: number, lane: number, index: number, width: 32 | 64): bigint {
  const dword = (i: number): bigint => BigInt.asUintN(32, BigInt(wave.vgprs[first + i]![lane]!));
  return width === 32 ? dword(index) : dword(2 * index) | (dword(2 * index + 1) << 32n);
}

const cut = Math.floor;

/**
 * Item and lane of C[b, i, j] and D[b, i, j]: CDNA3 ISA 7.1.4.2; in f64 AMD's matrix instruction calculator.
 */
export function outputPlace({ m, n, blocks, sum }: Product, b: number, i: number, j: number): ItemPlace {
  if (sum === 'f64') {
    const rows = 64 / (n * blocks);
    return [cut(i / rows), j + n * (b + blocks * (i % rows))];
  }
  const bI = Math.ceil(64 / ((n * m) / 4));
  const mI = 64 / bI / n;
  const g = m / (4 * mI);
  return [(i % 4) + 4 * (cut(i / (4 * mI)) + g * cut(b / bI)), j + n * ((cut(i / 4) % mI) + mI * (b % bI))];
}

/** Item and lane of A[b, i, k], or of B[b, k, j] with `size` n: CDNA3 ISA 7.1.4.1. */
export function inputPlace(
  { blocks, size, k }: { readonly blocks: number; readonly size: number; readonly k: number },
  b: number,
  i: number,
  at: number,
): ItemPlace {
  const kL = (k * size * blocks) / 64;
  return [at % kL, i + size * (b + blocks * cut(at / kL))];
}

export const REGISTERS = { vdst: 64, src0: 4, src1: 12, src2: 64 } as const;
const INDICES = 20;

export interface Operands {
  readonly a: Matrix;
  readonly b: Matrix;
  readonly c: Matrix;
  /**
   * Of a sparse A: which columns of 4 * group are stored as elements 2 * group and 2 * group + 1 of a row.
   */
  readonly index?: (i: number, stored: number) => number;
}

/**
 * Puts the matrices where the instruction expects them. A sparse A has k / 2 columns; its indices go to set
 * `set`.
 */
export function place(wave: TestWave, product: Product, { a, b, c, index }: Operands, set = 0): void {
  const { m, n, k, blocks, left, right, sparse, sum } = product;
  const columns = sparse ? k / 2 : k;
  const stored = (columns * m) / 64;
  for (let block = 0; block < blocks; block++) {
    for (let at = 0; at < columns; at++) {
      for (let i = 0; i < m; i++) {
        const [where, lane] = inputPlace({ blocks, size: m, k: columns }, block, i, at);
        putItem(wave, REGISTERS.src0, [where, lane], widthOf(left), a(block, i, at));
        if (index) putItem(wave, INDICES, [set * stored + where, lane], 2, BigInt(index(i, at)));
      }
    }
    for (let at = 0; at < k; at++) {
      for (let j = 0; j < n; j++) {
        putItem(
          wave,
          REGISTERS.src1,
          inputPlace({ blocks, size: n, k }, block, j, at),
          widthOf(right),
          b(block, at, j),
        );
      }
    }
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        putItem(wave, REGISTERS.vdst, outputPlace(product, block, i, j), sum === 'f64' ? 64 : 32, c(block, i, j));
      }
    }
  }
}

export function result(wave: TestWave, product: Product, block: number, i: number, j: number): bigint {
  const [where, lane] = outputPlace(product, block, i, j);
  return item(wave, REGISTERS.vdst, lane, where, product.sum === 'f64' ? 64 : 32);
}

/** D[block, i, j] on bit patterns. */
export function expected(
  product: Product,
  operands: Operands,
  mode: FloatMode,
  [block, i, j]: readonly [block: number, i: number, j: number],
): bigint {
  const { k, left, right, sum, sparse, processor } = product;
  const isCdna2 = processor === 'gfx90a';
  const halves = isCdna2 && (left === 'f16' || left === 'bf16');
  const value = (format: string, bits: bigint): bigint => elementValue(product, mode, format, bits);
  let total = operands.c(block, i, j);
  if (halves || (isCdna2 && left === 'f32' && mode.flush32.inputs)) total = flushed32(total);
  for (let at = 0; at < (sparse ? k / 2 : k); at++) {
    const row = operands.index ? 4 * cut(at / 2) + operands.index(i, at) : at;
    const x = value(left, operands.a(block, i, at));
    const y = value(right, operands.b(block, row, j));
    if (sum === 'i32') total = BigInt.asUintN(32, total + x * y);
    else total = fusedMultiplyAdd(x, y, total, sum === 'f32' ? F32 : F64);
  }
  if (sum === 'i32') return total;
  if (isNan(total, sum === 'f32' ? F32 : F64)) return sum === 'f32' ? 0x7fc00000n : 0x7ff8000000000000n;
  return halves || (isCdna2 && left === 'f32' && mode.flush32.results) ? flushed32(total) : total;
}

/** Runs the instruction; EXEC is 1 lane, which must not matter. */
export function execute(wave: TestWave, product: Product, fields: FieldValues = {}, mode = DEFAULT_MODE): void {
  const src2 = 256 + (product.sparse ? INDICES : REGISTERS.src2);
  const operands = { vdst: REGISTERS.vdst, src0: 256 + REGISTERS.src0, src1: 256 + REGISTERS.src1, src2 };
  wave.exec = 0x10n;
  wave.run(encode(product.name, { ...operands, ...fields }, 'VOP3P_MAI', product.processor), product.processor, mode);
}

/** Compares every element of D. */
export function compare(
  wave: TestWave,
  product: Product,
  model: (block: number, i: number, j: number) => bigint,
): void {
  for (let block = 0; block < product.blocks; block++) {
    for (let i = 0; i < product.m; i++) {
      for (let j = 0; j < product.n; j++) {
        const [found, wanted] = [result(wave, product, block, i, j), model(block, i, j)];
        if (found === wanted) continue;
        assert.fail(
          `${product.name} D[${block}, ${i}, ${j}]: 0x${found.toString(16)}, expected 0x${wanted.toString(16)}`,
        );
      }
    }
  }
}
