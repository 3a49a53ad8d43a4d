/**
 * VOP1: conversions between numbers. CDNA2 ISA 12.8. Numbers out of range saturate and NaN gives 0 (the ir operations do so);
 * the clamp bit of a conversion to integer only enables the inexact exception. What v_cvt_f32_f64 rounds follows the f32 bits of
 * FP_ROUND, as LLVM's VOP1Instructions.td has it (no FPDPRounding).
 */
import type { Builder } from '../../../../ir/builder.ts';
import { NEAREST_EVEN } from '../../../../ir/float-bits.ts';
import type { Value } from '../../../../ir/types.ts';
import { normalizedI16, normalizedU16 } from '../../semantics/packing.ts';
import { type Opcodes, type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';

function convert(name: string, opcodes: Opcodes, result: OperandType, source: OperandType, semantics: Semantics): Row {
  const flags: RowFlags = {
    ...(!/^f/.test(result) && { integerClamp: true }),
    ...((result === 'f64' || source === 'f64') && { noSdwa: true }),
  };
  return row('VOP1', name, opcodes, `=vdst:${result} src0:${source}`, semantics, flags);
}

const clampI32 = (b: Builder, x: Value, low: number, high: number): Value => b.minS(b.maxS(x, b.i32(low)), b.i32(high));

const fromByte =
  (byte: number): Semantics =>
  (b, x) =>
    b.op('f32.fromI32U', b.bits(x, byte * 8, 8));

export const VOP1_CONVERSION_ROWS: readonly Row[] = [
  convert('v_cvt_i32_f64', { gfx9: 3, gfx10: 3 }, 'i32', 'f64', (b, x) => b.op('f64.toI32S', x)),
  convert('v_cvt_f64_i32', { gfx9: 4, gfx10: 4 }, 'f64', 'i32', (b, x) => b.op('f64.fromI32S', x)),
  convert('v_cvt_f32_i32', { gfx9: 5, gfx10: 5 }, 'f32', 'i32', (b, x) => b.f32.fromI32S(x)),
  convert('v_cvt_f32_u32', { gfx9: 6, gfx10: 6 }, 'f32', 'u32', (b, x) => b.f32.fromI32U(x)),
  convert('v_cvt_u32_f32', { gfx9: 7, gfx10: 7 }, 'u32', 'f32', (b, x) => b.op('f32.toI32U', x)),
  convert('v_cvt_i32_f32', { gfx9: 8, gfx10: 8 }, 'i32', 'f32', (b, x) => b.op('f32.toI32S', x)),
  convert('v_cvt_f16_f32', { gfx9: 10, gfx10: 10 }, 'f16', 'f32', (b, x) =>
    b.f16.result(b.f16.fromF32(b.f32.input(x))),
  ),
  convert('v_cvt_f32_f16', { gfx9: 11, gfx10: 11 }, 'f32', 'f16', (b, x) => b.f16.toF32(b.f16.input(x))),
  convert('v_cvt_rpi_i32_f32', { gfx9: 12, gfx10: 12, gfx11: ['v_cvt_nearest_i32_f32', 12] }, 'i32', 'f32', (b, x) =>
    b.op('f32.toI32S', b.f32.floor(b.rounding(NEAREST_EVEN).f32.add(x, b.f32.constant(0.5)))),
  ),
  convert('v_cvt_flr_i32_f32', { gfx9: 13, gfx10: 13, gfx11: ['v_cvt_floor_i32_f32', 13] }, 'i32', 'f32', (b, x) =>
    b.op('f32.toI32S', b.f32.floor(x)),
  ),
  // The low four bits, signed, in sixteenths.
  convert('v_cvt_off_f32_i4', { gfx9: 14, gfx10: 14 }, 'f32', 'b32', (b, x) =>
    b.f32.mul(b.op('f32.fromI32S', b.shrS(b.shl(x, 28), 28)), b.f32.constant(1 / 16)),
  ),
  convert('v_cvt_f32_f64', { gfx9: 15, gfx10: 15 }, 'f32', 'f64', (b, x) =>
    b.f32.result(b.f32.fromF64(b.f64.input(x))),
  ),
  convert('v_cvt_f64_f32', { gfx9: 16, gfx10: 16 }, 'f64', 'f32', (b, x) => b.op('f64.fromF32', b.f32.input(x))),
  convert('v_cvt_f32_ubyte0', { gfx9: 17, gfx10: 17 }, 'f32', 'u32', fromByte(0)),
  convert('v_cvt_f32_ubyte1', { gfx9: 18, gfx10: 18 }, 'f32', 'u32', fromByte(1)),
  convert('v_cvt_f32_ubyte2', { gfx9: 19, gfx10: 19 }, 'f32', 'u32', fromByte(2)),
  convert('v_cvt_f32_ubyte3', { gfx9: 20, gfx10: 20 }, 'f32', 'u32', fromByte(3)),
  convert('v_cvt_u32_f64', { gfx9: 21, gfx10: 21 }, 'u32', 'f64', (b, x) => b.op('f64.toI32U', x)),
  convert('v_cvt_f64_u32', { gfx9: 22, gfx10: 22 }, 'f64', 'u32', (b, x) => b.op('f64.fromI32U', x)),
  convert('v_cvt_f16_u16', { gfx9: 57, gfx10: 80 }, 'f16', 'u16', (b, x) =>
    b.f16.fromF32(b.op('f32.fromI32U', b.bits(x, 0, 16))),
  ),
  convert('v_cvt_f16_i16', { gfx9: 58, gfx10: 81 }, 'f16', 'i16', (b, x) =>
    b.f16.fromF32(b.op('f32.fromI32S', b.sext16(x))),
  ),
  convert('v_cvt_u16_f16', { gfx9: 59, gfx10: 82 }, 'u16', 'f16', (b, x) =>
    b.minU(b.op('f32.toI32U', b.f16.toF32(x)), b.i32(0xffff)),
  ),
  convert('v_cvt_i16_f16', { gfx9: 60, gfx10: 83 }, 'i16', 'f16', (b, x) =>
    clampI32(b, b.op('f32.toI32S', b.f16.toF32(x)), -0x8000, 0x7fff),
  ),
  convert('v_cvt_norm_i16_f16', { gfx9: 77, gfx10: 99 }, 'i16', 'f16', (b, x) => normalizedI16(b, 'f16', x)),
  convert('v_cvt_norm_u16_f16', { gfx9: 78, gfx10: 100 }, 'u16', 'f16', (b, x) => normalizedU16(b, 'f16', x)),
];
