/** Encodings of the scalar formats and arithmetic on BigInt to compare with. CDNA2 ISA 13.1 and 13.2. */

export const sop1 = (opcode: number, sdst: number, ssrc0: number): number =>
  0xbe800000 | (sdst << 16) | (opcode << 8) | ssrc0;
export const sop2 = (opcode: number, sdst: number, ssrc0: number, ssrc1: number): number =>
  0x80000000 | (opcode << 23) | (sdst << 16) | (ssrc1 << 8) | ssrc0;
export const sopc = (opcode: number, ssrc0: number, ssrc1: number): number =>
  0xbf000000 | (opcode << 16) | (ssrc1 << 8) | ssrc0;
export const sopk = (opcode: number, sdst: number, simm16: number): number =>
  0xb0000000 | (opcode << 23) | (sdst << 16) | (simm16 & 0xffff);
export const sopp = (opcode: number, simm16 = 0): number => 0xbf800000 | (opcode << 16) | (simm16 & 0xffff);

export const EXEC = 126;
export const VCC = 106;
export const M0 = 124;
/** ssrc: a literal follows. */
export const LITERAL = 255;

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
