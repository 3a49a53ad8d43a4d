/** Register contents by operand type: edges of the type, neighbours, random bits. */
import type { OperandType } from '../../src/isa/amdgpu/encoding/row.ts';
import type { Random } from '../../test/oracle/encoding-samples.ts';

const F32 = [
  ...[0, 0x80000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0490fdb, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001],
  ...[0xffc12345, 1, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3effffff, 0x3f000000, 0x3fc00000],
  ...[0x4b000001, 0x4f000000, 0xcf000000, 0x4effffff, 0x5f000000, 0x33800000, 0x3f7fffff, 0x42f60000],
];
const F16 = [
  ...[0, 0x8000, 0x3c00, 0xbc00, 0x4000, 0xc248, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe12, 1, 0x8001, 0x03ff, 0x0400],
  ...[0x7bff, 0xfbff, 0x3800, 0x3bff, 0x3e00, 0x6401, 0x1400, 0x57b0, 0x77ff],
];
const BF16 = [
  ...[0, 0x8000, 0x3f80, 0xbf80, 0x4000, 0xc049, 0x7f80, 0xff80, 0x7fc0, 0x7f81, 0xffc1, 1, 0x8001, 0x007f, 0x0080],
  ...[0x7f7f, 0xff7f, 0x3f00, 0x3f7f, 0x3fc0],
];
const F64 = [
  ...[0n, 1n << 63n, 0x3ff0000000000000n, 0xbff0000000000000n, 0x4000000000000000n, 0xc00921fb54442d18n],
  ...[0x7ff0000000000000n, 0xfff0000000000000n, 0x7ff8000000000000n, 0x7ff0000000000001n, 0xfff8123456789abcn, 1n],
  ...[0x8000000000000001n, 0x000fffffffffffffn, 0x0010000000000000n, 0x7fefffffffffffffn, 0xffefffffffffffffn],
  ...[0x3fe0000000000000n, 0x3fdfffffffffffffn, 0x41dfffffffc00000n, 0x41e0000000000000n, 0xc1e0000000000000n],
  ...[0x41efffffffe00000n, 0x4340000000000001n],
];
const INTEGERS = [
  ...[0, 1, 2, 3, 7, 8, 15, 16, 23, 24, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000],
  ...[0x7fffff, 0x800000, 0xffffff, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x01234567, 0x89abcdef],
];

/** A seed for each text. */
export const seedOf = (text: string): number =>
  [...text].reduce<number>((hash, letter) => (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0, 7);

export const randomWord = (r: Random): number => (r(65536) * 65536 + r(65536)) >>> 0;
const pick = <T>(r: Random, values: readonly T[]): T => values[r(values.length)]!;

const f16 = (r: Random): number =>
  r(3) > 0 ? pick(r, F16) : pick(r, [r(65536), 0x3800 + r(0x1000), 0xb800 + r(0x1000)]);
const bf16 = (r: Random): number => (r(3) === 0 ? pick(r, BF16) : pick(r, [0x3f00 + r(0x200), 0xbf00 + r(0x200)]));

function dwordOf(type: OperandType, r: Random): number {
  if (type === 'f32' || type === 'v2f32') {
    const near = 0x3f000000 + r(0x1800000) + (r(2) << 31);
    return (r(5) === 0 ? randomWord(r) : r(2) === 0 ? near : pick(r, F32)) >>> 0;
  }
  if (type === 'v2bf16' || type === 'bf16') return (bf16(r) | (bf16(r) << 16)) >>> 0;
  if (/f16$/.test(type)) return (f16(r) | (f16(r) << 16)) >>> 0;
  if (/16$/.test(type))
    return ((pick(r, INTEGERS) & 0xffff) | (pick(r, [randomWord(r), pick(r, INTEGERS) << 16]) & 0xffff0000)) >>> 0;
  return r(3) === 0 ? randomWord(r) : pick(r, INTEGERS);
}

/** Dwords of an operand value, low first. */
export function randomValue(type: OperandType, dwords: number, r: Random): number[] {
  if (type !== 'f64') return Array.from({ length: dwords }, () => dwordOf(type, r));
  const any = (BigInt(randomWord(r)) << 32n) | BigInt(randomWord(r));
  const near = (BigInt(r(2)) << 63n) + 0x3fe0000000000000n + (BigInt(r(0x400000)) << 32n) + BigInt(randomWord(r));
  const bits = r(5) === 0 ? any : r(2) === 0 ? near : pick(r, F64);
  return [Number(bits & 0xffffffffn), Number(bits >> 32n)];
}
