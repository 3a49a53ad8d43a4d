/**
 * Integer operations. i32 values are JavaScript numbers in int32 form, i64 values are bigints in unsigned
 * 64-bit form, i1 is 0 or 1. Shift amounts are taken modulo the width.
 */
import { type Op, op } from './op.ts';

const u64 = (value: bigint): bigint => BigInt.asUintN(64, value);
const s64 = (value: bigint): bigint => BigInt.asIntN(64, value);
const bit = (condition: boolean): number => (condition ? 1 : 0);

const ctz32 = (a: number): number => (a === 0 ? 32 : 31 - Math.clz32(a & -a));

export function popcount32(a: number): number {
  let count = 0;
  for (let rest = a >>> 0; rest !== 0; rest &= rest - 1) count++;
  return count;
}

function leadingZeros64(a: bigint): number {
  const high = Number(a >> 32n);
  return high === 0 ? 32 + Math.clz32(Number(a & 0xffffffffn)) : Math.clz32(high);
}

const lowDword = (a: bigint): number => Number(BigInt.asIntN(32, a));
const highDword = (a: bigint): number => Number(BigInt.asIntN(32, a >> 32n));
const wide = (a: number): bigint => BigInt(a >>> 0);

export const INT_OPS = {
  'i32.add': op('i32', ['i32', 'i32'], (a: number, b: number) => (a + b) | 0),
  'i32.sub': op('i32', ['i32', 'i32'], (a: number, b: number) => (a - b) | 0),
  'i32.mul': op('i32', ['i32', 'i32'], (a: number, b: number) => Math.imul(a, b)),
  'i32.mulHiU': op('i32', ['i32', 'i32'], (a: number, b: number) => highDword(wide(a) * wide(b))),
  'i32.mulHiS': op('i32', ['i32', 'i32'], (a: number, b: number) => highDword(BigInt(a) * BigInt(b))),
  'i32.and': op('i32', ['i32', 'i32'], (a: number, b: number) => a & b),
  'i32.or': op('i32', ['i32', 'i32'], (a: number, b: number) => a | b),
  'i32.xor': op('i32', ['i32', 'i32'], (a: number, b: number) => a ^ b),
  'i32.shl': op('i32', ['i32', 'i32'], (a: number, b: number) => a << (b & 31)),
  'i32.shrU': op('i32', ['i32', 'i32'], (a: number, b: number) => (a >>> (b & 31)) | 0),
  'i32.shrS': op('i32', ['i32', 'i32'], (a: number, b: number) => a >> (b & 31)),
  'i32.minU': op('i32', ['i32', 'i32'], (a: number, b: number) => (a >>> 0 < b >>> 0 ? a : b)),
  'i32.maxU': op('i32', ['i32', 'i32'], (a: number, b: number) => (a >>> 0 > b >>> 0 ? a : b)),
  'i32.minS': op('i32', ['i32', 'i32'], (a: number, b: number) => Math.min(a, b)),
  'i32.maxS': op('i32', ['i32', 'i32'], (a: number, b: number) => Math.max(a, b)),
  'i32.clz': op('i32', ['i32'], (a: number) => Math.clz32(a)),
  'i32.ctz': op('i32', ['i32'], ctz32),
  'i32.popcnt': op('i32', ['i32'], popcount32),
  'i32.eq': op('i1', ['i32', 'i32'], (a: number, b: number) => bit(a === b)),
  'i32.ltU': op('i1', ['i32', 'i32'], (a: number, b: number) => bit(a >>> 0 < b >>> 0)),
  'i32.ltS': op('i1', ['i32', 'i32'], (a: number, b: number) => bit(a < b)),
  'i32.sext8': op('i32', ['i32'], (a: number) => (a << 24) >> 24),
  'i32.sext16': op('i32', ['i32'], (a: number) => (a << 16) >> 16),
  'i32.select': op('i32', ['i1', 'i32', 'i32'], (c: number, a: number, b: number) => (c ? a : b)),

  'i64.add': op('i64', ['i64', 'i64'], (a: bigint, b: bigint) => u64(a + b)),
  'i64.sub': op('i64', ['i64', 'i64'], (a: bigint, b: bigint) => u64(a - b)),
  'i64.mul': op('i64', ['i64', 'i64'], (a: bigint, b: bigint) => u64(a * b)),
  'i64.and': op('i64', ['i64', 'i64'], (a: bigint, b: bigint) => a & b),
  'i64.or': op('i64', ['i64', 'i64'], (a: bigint, b: bigint) => a | b),
  'i64.xor': op('i64', ['i64', 'i64'], (a: bigint, b: bigint) => a ^ b),
  'i64.shl': op('i64', ['i64', 'i32'], (a: bigint, b: number) => u64(a << BigInt(b & 63))),
  'i64.shrU': op('i64', ['i64', 'i32'], (a: bigint, b: number) => a >> BigInt(b & 63)),
  'i64.shrS': op('i64', ['i64', 'i32'], (a: bigint, b: number) => u64(s64(a) >> BigInt(b & 63))),
  'i64.clz': op('i32', ['i64'], leadingZeros64),
  'i64.ctz': op('i32', ['i64'], (a: bigint) => (a === 0n ? 64 : 63 - leadingZeros64(a & -a))),
  'i64.popcnt': op('i32', ['i64'], (a: bigint) => popcount32(lowDword(a)) + popcount32(highDword(a))),
  'i64.eq': op('i1', ['i64', 'i64'], (a: bigint, b: bigint) => bit(a === b)),
  'i64.ltU': op('i1', ['i64', 'i64'], (a: bigint, b: bigint) => bit(a < b)),
  'i64.ltS': op('i1', ['i64', 'i64'], (a: bigint, b: bigint) => bit(s64(a) < s64(b))),
  'i64.select': op('i64', ['i1', 'i64', 'i64'], (c: number, a: bigint, b: bigint) => (c ? a : b)),
  'i64.pack': op('i64', ['i32', 'i32'], (low: number, high: number) => wide(low) | (wide(high) << 32n)),
  'i64.low': op('i32', ['i64'], lowDword),
  'i64.high': op('i32', ['i64'], highDword),
  'i64.zext32': op('i64', ['i32'], wide),
  'i64.sext32': op('i64', ['i32'], (a: number) => u64(BigInt(a))),

  'i1.and': op('i1', ['i1', 'i1'], (a: number, b: number) => a & b),
  'i1.or': op('i1', ['i1', 'i1'], (a: number, b: number) => a | b),
  'i1.xor': op('i1', ['i1', 'i1'], (a: number, b: number) => a ^ b),
  'i1.not': op('i1', ['i1'], (a: number) => a ^ 1),
  /** A condition that is nearly never true: fast code takes it for false, and gives up where it is not. */
  'i1.rare': op('i1', ['i1'], (a: number) => a),
  /** 1 for true, 0 for false. */
  'i1.toI32': op('i32', ['i1'], (a: number) => a),
  /** -1 for true, 0 for false: what lanes hold for a condition in any case. */
  'i1.toMask': op('i32', ['i1'], (a: number) => -a | 0),
} as const satisfies Record<string, Op>;
