/**
 * Source operand encodings (8 or 9 bits) of gfx9: SGPRs and special registers, inline constants, VGPRs.
 * CDNA2 ISA chapter 13.1, table "SSRC0"; values 0..127 address the scalar register file directly.
 */
import type { OperandType } from './row.ts';

/** Registers of each vector file, and of the scalar file: SGPRs and what stands behind them. */
export const VECTOR_REGISTER_COUNT = 256;
export const SCALAR_REGISTER_COUNT = 128;
export const SGPR_VCC_LO = 106;
/** Where FLAT_SCRATCH is SGPRs (`Target.flatScratch`), the first of two. */
export const SGPR_FLAT_SCRATCH_LO = 102;
/** Where wave state keeps M0, on every target. */
export const SGPR_M0 = 124;
export const SGPR_EXEC_LO = 126;

/** Encodings of scalar operands that generations place differently. */
export interface ScalarFile {
  /** SGPRs that can be named: s0 .. */
  readonly sgprCount: number;
  readonly m0: number;
  /** The register that reads as 0; gfx9 has none. */
  readonly null: number | undefined;
  /** What says that an address has no scalar part. */
  readonly none: number;
  /** What says that a scratch address has no vector part either. */
  readonly nothing?: number;
  /** Sources that other generations have. */
  readonly missing: readonly number[];
}

const SRC_POPS_EXITING_WAVE_ID = 239;
export const SRC_VCCZ = 251;
export const SRC_EXECZ = 252;
/** CDNA2 ISA 13.1; RDNA2 and RDNA3 ISA, "Scalar source operands"; RDNA3 ISA 15.1 for what is missing. */
export const SCALARS_GFX9: ScalarFile = { sgprCount: 102, m0: 124, null: undefined, none: 0x7f, missing: [] };
export const SCALARS_GFX10: ScalarFile = { sgprCount: 106, m0: 124, null: 125, none: 125, nothing: 127, missing: [] };
export const SCALARS_GFX11: ScalarFile = {
  sgprCount: 106,
  m0: 125,
  null: 124,
  none: 124,
  missing: [SRC_POPS_EXITING_WAVE_ID, SRC_VCCZ, SRC_EXECZ],
};
export const SRC_SCC = 253;
export const SRC_LDS_DIRECT = 254;

/** src_shared_base, src_shared_limit, src_private_base, src_private_limit: 64 bits. */
const SRC_SHARED_BASE = 235;
const SRC_PRIVATE_LIMIT = 238;
export const isAperture = (encoding: number): boolean => encoding >= SRC_SHARED_BASE && encoding <= SRC_PRIVATE_LIMIT;

/** High dwords of the flat apertures, as amdkfd of the Linux kernel sets them on gfx9 and later. */
export const SHARED_APERTURE_HI = 0x10000;
export const PRIVATE_APERTURE_HI = 0x20000;

/** The first or the last byte of an aperture. */
export function apertureBound(encoding: number): bigint {
  const isLimit = ((encoding - SRC_SHARED_BASE) & 1) === 1;
  const high = encoding < SRC_SHARED_BASE + 2 ? SHARED_APERTURE_HI : PRIVATE_APERTURE_HI;
  return (BigInt(high) << 32n) | (isLimit ? 0xffff_ffffn : 0n);
}

const FLOAT_CONSTANTS: Readonly<Record<number, number>> = {
  240: 0.5,
  241: -0.5,
  242: 1,
  243: -1,
  244: 2,
  245: -2,
  246: 4,
  247: -4,
  248: 1 / (2 * Math.PI),
};
/** 1/(2*pi) in each width, as the manual gives it: not the rounding of the f64 value in every width. */
const INV_2PI: Readonly<Record<16 | 32 | 64, bigint>> = { 16: 0x3118n, 32: 0x3e22f983n, 64: 0x3fc45f306dc9c882n };

const view = new DataView(new ArrayBuffer(8));

/**
 * Width in bits that constants take for an operand type. Packed 16-bit integers get floats in f32 form
 * (LLVM's AMDGPUBaseInfo on inline constants of packed instructions).
 */
export function constantBits(type: OperandType): 16 | 32 | 64 {
  if (type.endsWith('16') && type !== 'v2b16' && type !== 'v2bf16') return 16;
  // b256 is the accumulator of v_mfma_f64_16x16x4_f64; no other b256 source can be a constant.
  const isWide = type.endsWith('64') && !type.startsWith('wave');
  return isWide || type === 'mask' || type === 'b256' ? 64 : 32;
}

/** Whether `encoding` is an inline constant: 128..208, 240..248. */
export const isInlineConstant = (encoding: number): boolean =>
  (encoding >= 128 && encoding <= 208) || FLOAT_CONSTANTS[encoding] !== undefined;

/** Value of inline constant `encoding`, as 64 bits. Undefined when it is not one. */
export function inlineConstant(encoding: number, type: OperandType): bigint | undefined {
  if (encoding >= 128 && encoding <= 192) return BigInt(encoding - 128);
  if (encoding >= 193 && encoding <= 208) return BigInt.asUintN(64, BigInt(192 - encoding));
  const float = FLOAT_CONSTANTS[encoding];
  if (float === undefined) return undefined;
  // The high half of an f32.
  if (type === 'bf16') return inlineConstant(encoding, 'f32')! >> 16n;
  const bits = constantBits(type);
  if (encoding === 248) return INV_2PI[bits];
  if (bits === 64) {
    view.setFloat64(0, float);
    return view.getBigUint64(0);
  }
  if (bits === 16) {
    view.setFloat16(0, float);
    return BigInt(view.getUint16(0));
  }
  view.setFloat32(0, float);
  return BigInt(view.getUint32(0));
}

/**
 * A 32-bit literal widened to the operand (CDNA2 ISA 5.1): sign-extended for signed, the high half for f64,
 * else zero-extended.
 */
export function literalConstant(literal: number, type: OperandType): bigint {
  if (type === 'f64') return BigInt(literal >>> 0) << 32n;
  if (type === 'i64') return BigInt.asUintN(64, BigInt(literal | 0));
  return BigInt(literal >>> 0);
}

const PAIRS: Readonly<Record<number, string>> = { 102: 'flat_scratch', 104: 'xnack_mask', 106: 'vcc', 126: 'exec' };
const SINGLE: Readonly<Record<number, string>> = {
  235: 'src_shared_base',
  236: 'src_shared_limit',
  237: 'src_private_base',
  238: 'src_private_limit',
  239: 'src_pops_exiting_wave_id',
  251: 'src_vccz',
  252: 'src_execz',
  253: 'src_scc',
  254: 'src_lds_direct',
};

export const FIRST_TTMP = 108;
const TTMP_COUNT = 16;
/** Groups of SGPRs end with s105, also where 102 and the following are other registers. */
const GROUPED_SGPR_COUNT = 106;

/** The number of a scalar register in its file and the size of that; 0 for special registers. */
export function scalarGroup(
  encoded: number,
  { sgprCount }: ScalarFile,
): { readonly first: number; readonly count: number; readonly name: string } {
  if (encoded < sgprCount) return { first: encoded, count: GROUPED_SGPR_COUNT, name: 'SGPR' };
  const first = encoded - FIRST_TTMP;
  return { first, count: first >= 0 && first < TTMP_COUNT ? TTMP_COUNT : 0, name: 'TTMP' };
}

/** By the names of the text, and by those without `src_`. A special value has no number of registers. */
const SCALAR_NAMES = new Map<string, { encoding: number; count: number | undefined }>([
  ...Object.entries(PAIRS).flatMap(([first, name]) =>
    [
      [name, 0, 2],
      [`${name}_lo`, 0, 1],
      [`${name}_hi`, 1, 1],
    ].map(
      ([text, offset, count]) =>
        [String(text), { encoding: Number(first) + Number(offset), count: Number(count) }] as const,
    ),
  ),
  ...Object.entries(SINGLE).flatMap(([encoding, name]) =>
    [name, name.replace('src_', '')].map((text) => [text, { encoding: Number(encoding), count: undefined }] as const),
  ),
]);

/** VCC, EXEC, src_scc, ...; not M0 and NULL, whose encodings differ between targets. */
export function scalarByName(
  name: string,
): { readonly encoding: number; readonly count: number | undefined } | undefined {
  return SCALAR_NAMES.get(name);
}

const range = (prefix: string, first: number, count: number): string =>
  count === 1 ? `${prefix}${first}` : `${prefix}[${first}:${first + count - 1}]`;

export const vgprText = (first: number, count: number, accumulator: boolean): string =>
  range(accumulator ? 'a' : 'v', first, count);

/** Groups of SGPRs start at a multiple of 2, larger ones of 4. */
const aligned = (encoding: number, dwords: number): number => encoding & ~(dwords > 2 ? 3 : dwords - 1);

/** Scalar register or special value as LLVM prints it; undefined when the encoding names none. */
export function scalarText(encoding: number, dwords: number, scalars: ScalarFile): string | undefined {
  if (encoding < scalars.sgprCount) return range('s', aligned(encoding, dwords), dwords);
  if (encoding === scalars.m0) return 'm0';
  if (encoding === scalars.null || encoding === 125) return 'null';
  const pair = PAIRS[encoding & ~1];
  if (pair !== undefined) {
    if (dwords === 2 && (encoding & 1) === 0) return pair;
    return dwords === 1 ? `${pair}_${encoding & 1 ? 'hi' : 'lo'}` : undefined;
  }
  if (encoding >= 108 && encoding <= 123) return range('ttmp', aligned(encoding, dwords) - 108, dwords);
  return SINGLE[encoding];
}
