/**
 * Runs vector instructions on many operands at once, one tuple in each active lane, against a model on bit
 * patterns.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FloatMode } from '../../../ir/float-builder.ts';
import { encode, type FieldValues } from '../encoding/encode.test-support.ts';
import { encodingsOf } from '../encoding/encodings.ts';
import type { Format, FormatName } from '../encoding/formats.ts';
import { dwordsOf, type OperandSpec } from '../encoding/row.ts';
import { targetFor } from '../encoding/targets.ts';
import { DEFAULT_MODE, TestWave } from '../semantics/machine.test-support.ts';
import { allRows } from './index.ts';

/**
 * Registers that the operands get; masks stand in s[20:21] (sdst) and s[22:23] (src2) where the encoding lets
 * them.
 */
const REGISTERS: Readonly<Record<string, number>> = { src0: 4, src1: 8, src2: 12, vdst: 16, sdst: 20 };
const SRC2_MASK = 22;
const VCC = 106;
/** Lanes with tuples: some in each row, bank and half. */
const ACTIVE = 0xf0f3_5a7e_9ec5_ffb9n;
const ACTIVE_LANES = Array.from({ length: 64 }, (_, lane) => lane).filter((lane) => (ACTIVE >> BigInt(lane)) & 1n);
const UNTOUCHED = 0x5eed_5eed;

export interface Options {
  /** Encoding to use, default the first of the row. */
  readonly format?: FormatName;
  /** Modifiers. */
  readonly fields?: FieldValues;
  readonly mode?: FloatMode;
  /** What `vdst` holds before, where the row does not read it. */
  readonly before?: bigint;
  /** Dword after the encoding. */
  readonly literal?: number;
  /** Default gfx90a. */
  readonly processor?: string;
}

/**
 * Bit pattern of the vector result and the lane's bit of the mask result; undefined where the row has none.
 */
export type Result = readonly [value: bigint | undefined, mask?: boolean];

export const FLUSHING: FloatMode = {
  ...DEFAULT_MODE,
  flush32: { inputs: true, results: true },
  flush64: { inputs: true, results: true },
};

const u32 = (value: bigint): bigint => BigInt.asUintN(32, value);

function fieldValues(operands: readonly OperandSpec[], format: Format, fields: FieldValues): FieldValues {
  const formatName = format.name;
  const values: Record<string, number> = {};
  for (const { field, type } of operands) {
    const name = field === 'sdst' && /^VOP3(_|$)/.test(formatName) ? 'vdst' : field;
    const location = format.fields.find((candidate) => candidate.name === name);
    if (!location) continue;
    const register = field === 'src2' && type === 'mask' ? SRC2_MASK : REGISTERS[field]!;
    values[name] = location.width === 9 && type !== 'mask' ? 256 + register : register;
  }
  if (formatName.endsWith('_SDWA')) {
    for (const name of ['src0_sel', 'src1_sel', 'dst_sel']) {
      if (format.fields.some((field) => field.name === name)) values[name] = 6;
    }
    if (formatName === 'VOPC_SDWA') values['sdst_en'] = 1;
  }
  return { ...values, ...fields };
}

function setRegisters(wave: TestWave, first: number, lane: number, dwords: number, bits: bigint): void {
  for (let dword = 0; dword < dwords; dword++) {
    wave.vgprs[first + dword]![lane] = Number(BigInt.asIntN(32, bits >> BigInt(32 * dword)));
  }
}

function registers(wave: TestWave, first: number, lane: number, dwords: number): bigint {
  const values = Array.from({ length: dwords }, (_, dword) => u32(BigInt(wave.vgprs[first + dword]![lane]!)));
  return values.reduce((bits, value, dword) => bits | (value << BigInt(32 * dword)), 0n);
}

/** Puts a tuple into the lane's registers; returns the bit of its mask source. */
function setSources(wave: TestWave, operands: readonly OperandSpec[], lane: number, tuple: readonly bigint[]): bigint {
  const sources = operands.filter(({ access, file }) => access !== 'write' && file !== 'immediate');
  let mask = 0n;
  sources.forEach(({ field, type }, i) => {
    if (type === 'mask') mask = tuple[i]!;
    else setRegisters(wave, REGISTERS[field]!, lane, dwordsOf(type, 64), tuple[i]!);
  });
  return mask;
}

/** Results for every tuple; its numbers are the sources in the row's order, a mask source as 0 or 1. */
export function run(name: string, tuples: readonly (readonly bigint[])[], options: Options = {}): Result[] {
  const { processor = 'gfx90a' } = options;
  const target = targetFor(processor);
  const encodings = allRows().flatMap((row) => encodingsOf(row, target));
  const encoding = encodings.find(
    (each) =>
      (each.name === name || each.row.name === name) &&
      (options.format === undefined || each.format.name === options.format),
  );
  assert.ok(encoding, name);
  const { row, format } = encoding;
  const words = encode(encoding.name, fieldValues(row.operands, format, options.fields ?? {}), format.name, processor);
  if (options.literal !== undefined) words.push(options.literal);
  const vdst = row.operands.find(({ field }) => field === 'vdst');
  const hasMask = row.operands.some(({ field }) => field === 'sdst');
  const namesMask = /^VOP3(_|$)/.test(format.name) || format.fields.some((field) => field.name === 'sdst');
  const [result, maskResult] = [REGISTERS['vdst']!, namesMask ? REGISTERS['sdst']! : VCC];
  const wave = new TestWave();
  const results: Result[] = [];
  for (let start = 0; start < tuples.length; start += ACTIVE_LANES.length) {
    const chunk = tuples.slice(start, start + ACTIVE_LANES.length);
    for (const register of wave.vgprs) register.fill(UNTOUCHED);
    for (const lane of ACTIVE_LANES) setRegisters(wave, result, lane, 1, options.before ?? BigInt(UNTOUCHED));
    const bits = chunk.map((tuple, i) => setSources(wave, row.operands, ACTIVE_LANES[i]!, tuple));
    const maskSource = bits.reduce((mask, bit, i) => mask | (bit << BigInt(ACTIVE_LANES[i]!)), 0n);
    wave.vcc = maskSource;
    wave.setPair(SRC2_MASK, maskSource);
    wave.exec = ACTIVE;
    wave.run(words, processor, options.mode);
    const mask = hasMask ? wave.pair(maskResult) : 0n;
    chunk.forEach((_, i) => {
      const lane = ACTIVE_LANES[i]!;
      const value = vdst && registers(wave, result, lane, dwordsOf(vdst.type, 64));
      results.push(hasMask ? [value, ((mask >> BigInt(lane)) & 1n) === 1n] : [value]);
    });
    assert.equal(mask & ~ACTIVE, 0n, `${name}: mask of lanes that are off`);
    for (let lane = 0; lane < 64; lane++) {
      if (ACTIVE_LANES.includes(lane)) continue;
      assert.equal(wave.vgprs[result]![lane], UNTOUCHED, `${name}: lane ${lane} is off`);
    }
  }
  return results;
}

const hex = (values: readonly (bigint | boolean | undefined)[]): string =>
  values.map((value) => (typeof value === 'bigint' ? `0x${value.toString(16)}` : String(value))).join(', ');

/** Compares `run` with a model; a model of an instruction without mask gives the value only. */
export function expectAll(
  name: string,
  tuples: readonly (readonly bigint[])[],
  model: (...sources: bigint[]) => bigint | Result,
  options: Options = {},
): void {
  const results = run(name, tuples, options);
  results.forEach((result, i) => {
    const expected = model(...tuples[i]!);
    const what = `${name}(${hex(tuples[i]!)})`;
    assert.equal(hex(result), hex(typeof expected === 'bigint' ? [expected] : expected), what);
  });
}

/** A test of one instruction. */
export function check(...args: Parameters<typeof expectAll>): void {
  test(`${args[0]}${args[3]?.format ? ` as ${args[3].format}` : ''}`, () => expectAll(...args));
}

/** Every combination of the lists. */
export function combinations(...lists: readonly (readonly bigint[])[]): bigint[][] {
  return lists.reduce<bigint[][]>(
    (tuples, list) => tuples.flatMap((tuple) => list.map((value) => [...tuple, value])),
    [[]],
  );
}

// Floating point as bit patterns

const view = new DataView(new ArrayBuffer(8));

export function f32(value: number): bigint {
  view.setFloat32(0, value);
  return BigInt(view.getUint32(0));
}

export function f64(value: number): bigint {
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

export function f16(value: number): bigint {
  view.setFloat16(0, value);
  return BigInt(view.getUint16(0));
}

export function fromF32(bits: bigint): number {
  view.setUint32(0, Number(u32(bits)));
  return view.getFloat32(0);
}

export function fromF64(bits: bigint): number {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

export function fromF16(bits: bigint): number {
  view.setUint16(0, Number(bits & 0xffffn));
  return view.getFloat16(0);
}

/** Zeros, denormals, ties, limits, infinities, quiet and signalling NaNs. */
export const F32_EDGES: readonly bigint[] = [
  0x00000000n,
  0x80000000n,
  0x00000001n,
  0x807fffffn,
  0x00800000n,
  0x80800001n,
  0x3f800000n,
  0xbf800000n,
  0x3f000000n,
  0xbfc00000n,
  0x40200000n,
  0x4b000001n,
  0xcf000000n,
  0x4effffffn,
  0x4f800000n,
  0x7f7fffffn,
  0xff7fffffn,
  0x7f800000n,
  0xff800000n,
  0x7fc00001n,
  0xffe12345n,
  0x7f800001n,
];
export const F64_EDGES: readonly bigint[] = [
  0n,
  1n << 63n,
  1n,
  0x800fffffffffffffn,
  0x0010000000000000n,
  0x3ff0000000000000n,
  0xbff8000000000000n,
  0x3fe0000000000000n,
  0xc1e0000000200000n,
  0x41dfffffffc00000n,
  0x41effffffff00000n,
  0x4340000000000001n,
  0x7fefffffffffffffn,
  0x7ff0000000000000n,
  0xfff0000000000000n,
  0x7ff8000000000001n,
  0x7ff0000000000001n,
];
export const F16_EDGES: readonly bigint[] = [
  0x0000n,
  0x8000n,
  0x0001n,
  0x83ffn,
  0x0400n,
  0x3c00n,
  0xbc00n,
  0x3800n,
  0xbe00n,
  0x4100n,
  0x7bffn,
  0xfbffn,
  0x7c00n,
  0xfc00n,
  0x7e01n,
  0x7c01n,
];

const QUIET_NAN = { f16: 0x7e00n, f32: 0x7fc00000n, f64: 0x7ff8000000000000n } as const;
const QUIET_BIT = { f16: 0x200n, f32: 0x400000n, f64: 0x8000000000000n } as const;
const READ = { f16: fromF16, f32: fromF32, f64: fromF64 } as const;
const WRITE = { f16, f32, f64 } as const;

/**
 * Correctly rounded: NaN sources come out quieted, the first one first; an invalid operation gives the
 * positive NaN.
 */
export function rounded(
  type: 'f16' | 'f32' | 'f64',
  compute: (...x: number[]) => number,
): (...bits: bigint[]) => bigint {
  return (...bits) => {
    const nan = bits.find((x) => Number.isNaN(READ[type](x)));
    if (nan !== undefined) return nan | QUIET_BIT[type];
    const value = compute(...bits.map(READ[type]));
    return Number.isNaN(value) ? QUIET_NAN[type] : WRITE[type](value);
  };
}

/** Pseudo-random 64-bit patterns, the same in every run. */
export function randomBits(count: number, seed = 1): bigint[] {
  let state = BigInt(seed) * 0x9e3779b97f4a7c15n;
  return Array.from({ length: count }, () => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return BigInt.asUintN(64, (state ^ (state >> 29n)) * 0xbf58476d1ce4e5b9n) ^ (state >> 32n);
  });
}
