/**
 * Packed and dot-product instructions: CDNA3 ISA 12.10, RDNA3 ISA 16.10. op_sel, op_sel_hi, neg and neg_hi
 * choose and negate halves.
 */
import { arithmetic, forTypes, type LaneContext, type LaneModel, type LaneModels } from './lane-context.ts';
import { Arithmetic, converted, type FloatType, flushed, NEAREST, signBit, signed, unsigned } from './numbers.ts';
import { limited, numberOf } from './vector-integers.ts';

const field = (c: LaneContext, name: string): number => c.fields[name] ?? 0;
const bit = (c: LaneContext, name: string, i: number): number => (field(c, name) >> i) & 1;
const selectsHigh = (c: LaneContext, i: number): number => (i === 2 ? field(c, 'op_sel_hi_2') : bit(c, 'op_sel_hi', i));

/** Elements of `width` bits of source `i` for the low and for the high result. */
function pair(c: LaneContext, i: number, x: bigint, width: 16 | 32, type?: FloatType): [bigint, bigint] {
  const at = (high: number): bigint => unsigned(width, x >> BigInt(high * width));
  // Outside VOP3P the halves stand in order.
  if (c.fields['op_sel_hi'] === undefined || i < 0) return [at(0), at(1)];
  const low = at(bit(c, 'op_sel', i));
  const high = at(selectsHigh(c, i));
  if (!type) return [low, high];
  const sign = signBit(type);
  return [bit(c, 'neg', i) ? low ^ sign : low, bit(c, 'neg_hi', i) ? high ^ sign : high];
}

type Halves = (c: LaneContext, ...halves: bigint[]) => bigint;

const packed =
  (width: 16 | 32, type: FloatType | undefined, compute: Halves, firstSource = 0): LaneModel =>
  (c, ...sources) => {
    const pairs = sources.map((x, i) => pair(c, i + firstSource, x, width, type));
    const [low, high] = [0, 1].map((at) => compute(c, ...pairs.map((each) => each[at]!)));
    return low! | (high! << BigInt(width));
  };

/** Of VOP3P floats: 0..1, a NaN 0 with DX10_CLAMP. */
function clampedFloat(c: LaneContext, type: 'f16' | 'f32', x: bigint): bigint {
  if (!c.fields['clamp']) return x;
  const f = arithmetic(c, type);
  const one = type === 'f16' ? 0x3c00n : 0x3f800000n;
  const nan = (x & (signBit(type) - 1n)) > (type === 'f16' ? 0x7c00n : 0x7f800000n);
  if (nan) return c.mode.dx10Clamp ? 0n : x;
  return x & signBit(type) ? 0n : f.unflushed.order(one, x) < 0 ? one : x;
}

const integers = (type: 'u16' | 'i16', exact: (...numbers: bigint[]) => bigint): LaneModel =>
  packed(16, undefined, (c, ...halves) => {
    const value = exact(...halves.map((x) => numberOf(type, x)));
    return c.fields['clamp'] ? limited(type, value) : unsigned(16, value);
  });

const floats = (type: 'f16' | 'f32', compute: Halves): LaneModel =>
  packed(type === 'f16' ? 16 : 32, type, (c, ...halves) => clampedFloat(c, type, compute(c, ...halves)));

const smaller = (x: bigint, y: bigint): bigint => (x < y ? x : y);
const larger = (x: bigint, y: bigint): bigint => (x > y ? x : y);

const packedModels: LaneModels = {
  ...forTypes(['u16', 'i16'] as const, (type) => ({
    [`v_pk_mad_${type}`]: integers(type, (x, y, z) => x! * y! + z!),
    [`v_pk_add_${type}`]: integers(type, (x, y) => x! + y!),
    [`v_pk_sub_${type}`]: integers(type, (x, y) => x! - y!),
    [`v_pk_max_${type}`]: integers(type, (x, y) => larger(x!, y!)),
    [`v_pk_min_${type}`]: integers(type, (x, y) => smaller(x!, y!)),
  })),
  v_pk_mul_lo_u16: integers('u16', (x, y) => x! * y!),
  v_pk_lshlrev_b16: packed(16, undefined, (_, x, y) => unsigned(16, y! << (x! & 15n))),
  v_pk_lshrrev_b16: packed(16, undefined, (_, x, y) => y! >> (x! & 15n)),
  v_pk_ashrrev_i16: packed(16, undefined, (_, x, y) => unsigned(16, signed(16, y!) >> (x! & 15n))),
  ...forTypes(['f16', 'f32'] as const, (type) => ({
    [`v_pk_fma_${type}`]: floats(type, (c, x, y, z) => arithmetic(c, type).fma(x!, y!, z!)),
    [`v_pk_add_${type}`]: floats(type, (c, x, y) => arithmetic(c, type).add(x!, y!)),
    [`v_pk_mul_${type}`]: floats(type, (c, x, y) => arithmetic(c, type).multiply(x!, y!)),
    [`v_pk_min_${type}`]: floats(type, (c, x, y) => arithmetic(c, type).extreme(x!, y!, true, c.mode.ieee)),
    [`v_pk_max_${type}`]: floats(type, (c, x, y) => arithmetic(c, type).extreme(x!, y!, false, c.mode.ieee)),
  })),
  v_pk_fmac_f16: packed(16, 'f16', (c, d, x, y) => arithmetic(c, 'f16').fma(x!, y!, d!), -1),
  v_pk_mov_b32: (c, x, y) => {
    // The low result is from src0, the high one from src1.
    const part = (value: bigint, high: number): bigint => unsigned(32, value >> BigInt(32 * high));
    return part(x!, bit(c, 'op_sel', 0)) | (part(y!, bit(c, 'op_sel', 1)) << 32n);
  },
};

/** A source of v_fma_mix: f32, or with op_sel_hi the half of op_sel as f16; neg_hi is its abs. */
function mixed(c: LaneContext, i: number, x: bigint): bigint {
  const sign = signBit('f32');
  const isHalf = selectsHigh(c, i) === 1;
  let value = x;
  if (isHalf)
    value = converted(
      'f16',
      'f32',
      NEAREST,
      arithmetic(c, 'f16').input(unsigned(16, x >> BigInt(16 * bit(c, 'op_sel', i)))),
    );
  if (bit(c, 'neg_hi', i)) value &= ~sign;
  return bit(c, 'neg', i) ? value ^ sign : value;
}

const mix = (c: LaneContext, ...sources: bigint[]): bigint => {
  const [x, y, z] = sources.map((source, i) => mixed(c, i, source));
  return arithmetic(c, 'f32').fma(x!, y!, z!);
};
const mixToF16: LaneModel = (c, ...sources) =>
  arithmetic(c, 'f16').result(converted('f32', 'f16', c.mode.round64, mix(c, ...sources)));

/**
 * Sums in order of f32, each rounded to nearest; denormals of sources and sums are flushed (CDNA2 ISA 6.4).
 */
function dotFloats(c: LaneContext, type: 'f16' | 'bf16', x: [bigint, bigint], y: [bigint, bigint], z: bigint): bigint {
  const f = arithmetic(c, 'f32').with(NEAREST).unflushed;
  const wide = (value: bigint): bigint => converted(type, 'f32', NEAREST, flushed(type, value));
  return [0, 1].reduce((sum, i) => flushed('f32', f.add(sum, f.multiply(wide(x[i]!), wide(y[i]!)))), z);
}

const elements = (x: bigint, width: number, isSigned: boolean): bigint[] =>
  Array.from({ length: 32 / width }, (_, i) => {
    const element = unsigned(width, x >> BigInt(i * width));
    return isSigned ? signed(width, element) : element;
  });

function dotIntegers(c: LaneContext, type: 'i32' | 'u32', xs: bigint[], ys: bigint[], z: bigint): bigint {
  const exact = xs.reduce((sum, x, i) => sum + x * ys[i]!, numberOf(type, z));
  return c.fields['clamp'] ? limited(type, exact) : unsigned(32, exact);
}

const dot =
  (type: 'i32' | 'u32', width: number): LaneModel =>
  (c, x, y, z) => {
    if (width === 16) {
      const part = (i: number, value: bigint): bigint[] =>
        pair(c, i, value, 16).map((half) => (type === 'i32' ? signed(16, half) : half));
      return dotIntegers(c, type, part(0, x!), part(1, y!), z!);
    }
    return dotIntegers(c, type, elements(x!, width, type === 'i32'), elements(y!, width, type === 'i32'), z!);
  };

const accumulating =
  (model: LaneModel): LaneModel =>
  (c, d, x, y) =>
    model(c, x!, y!, d!);

const mixedSigns =
  (width: number): LaneModel =>
  (c, x, y, z) =>
    dotIntegers(c, 'i32', elements(x!, width, bit(c, 'neg', 0) === 1), elements(y!, width, bit(c, 'neg', 1) === 1), z!);

const dotF16: LaneModel = (c, x, y, z) => dotFloats(c, 'f16', pair(c, 0, x!, 16, 'f16'), pair(c, 1, y!, 16, 'f16'), z!);

export const PACKED_MODELS: LaneModels = {
  ...packedModels,
  v_fma_mix_f32: mix,
  v_fma_mixlo_f16: mixToF16,
  v_fma_mixhi_f16: mixToF16,
  v_dot2_f32_f16: dotF16,
  v_dot2c_f32_f16: accumulating(dotF16),
  v_dot2_f32_bf16: (c, x, y, z) => dotFloats(c, 'bf16', pair(c, 0, x!, 16, 'bf16'), pair(c, 1, y!, 16, 'bf16'), z!),
  v_dot2_f16_f16: (c, x, y, z) => {
    const f = arithmetic(c, 'f16').with(NEAREST).unflushed;
    const [p, q] = [pair(c, 0, x!, 16), pair(c, 1, y!, 16)];
    return f.fma(p[1], q[1], f.fma(p[0], q[0], z!));
  },
  // Each step rounded once, without denormals (RDNA3 ISA 7.2.4).
  v_dot2_bf16_bf16: (c, x, y, z) => {
    const f = new Arithmetic('bf16', NEAREST, { inputs: true, results: true });
    const [p, q] = [pair(c, 0, x!, 16), pair(c, 1, y!, 16)];
    return f.fma(p[1], q[1], f.fma(p[0], q[0], z!));
  },
  v_dot2_i32_i16: dot('i32', 16),
  v_dot2_u32_u16: dot('u32', 16),
  v_dot4_i32_i8: dot('i32', 8),
  v_dot4_u32_u8: dot('u32', 8),
  v_dot8_i32_i4: dot('i32', 4),
  v_dot8_u32_u4: dot('u32', 4),
  v_dot2c_i32_i16: accumulating(dot('i32', 16)),
  v_dot4c_i32_i8: accumulating(dot('i32', 8)),
  v_dot8c_i32_i4: accumulating(dot('i32', 4)),
  v_dot4_i32_iu8: mixedSigns(8),
  v_dot8_i32_iu4: mixedSigns(4),
};
