/** Scalar registers, and arithmetic on BigInt to compare with. */

export const VCC = 106;
export const M0 = 124;

/** `s6` or `s[6:7]`. */
export const sgprs = (first: number, bits: 32 | 64): string => (bits === 32 ? `s${first}` : `s[${first}:${first + 1}]`);

export const u = (bits: 32 | 64, value: bigint): bigint => BigInt.asUintN(bits, value);
export const s = (bits: 32 | 64, value: bigint): bigint => BigInt.asIntN(bits, value);
/** Bits of a value, lowest first. */
export const bitsOf = (bits: 32 | 64, value: bigint): number[] =>
  [...u(bits, value).toString(2).padStart(bits, '0')].reverse().map(Number);
/** The value of bits, lowest first. */
export const fromBits = (bits: readonly (number | boolean)[]): bigint =>
  BigInt(
    `0b${bits
      .map((bit) => (bit ? '1' : '0'))
      .reverse()
      .join('')}`,
  );

export const EDGES_32: readonly bigint[] = [
  0n,
  1n,
  2n,
  5n,
  31n,
  32n,
  0x1234_5678n,
  0x7fff_ffffn,
  0x8000_0000n,
  0x8000_0001n,
  0xffff_0000n,
  0xffff_fffen,
  0xffff_ffffn,
];
export const EDGES_64: readonly bigint[] = [
  0n,
  1n,
  63n,
  64n,
  0xffff_ffffn,
  0x1_0000_0000n,
  0x0123_4567_89ab_cdefn,
  0x7fff_ffff_ffff_ffffn,
  0x8000_0000_0000_0000n,
  0x8000_0000_0000_0001n,
  0xffff_ffff_0000_0000n,
  0xffff_ffff_ffff_ffffn,
];
