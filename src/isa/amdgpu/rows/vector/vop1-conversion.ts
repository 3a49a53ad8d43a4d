/**
 * VOP1: conversions between numbers. CDNA2 ISA 12.8. Numbers out of range saturate and NaN gives 0 (the ir
 * operations do so); the clamp bit of a conversion to integer only enables the inexact exception. What
 * v_cvt_f32_f64 rounds follows the f32 bits of FP_ROUND, as LLVM's VOP1Instructions.td has it (no
 * FPDPRounding).
 */
import type { Builder } from '../../../../ir/builder.ts';
import { NEAREST_EVEN } from '../../../../ir/float-bits.ts';
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';
import { normalizedI16, normalizedU16 } from '../../semantics/packing.ts';
import { type Opcodes, row } from '../table/row.ts';

function convert(name: string, opcodes: Opcodes, result: OperandType, source: OperandType, semantics: Semantics): Row {
  const flags: RowFlags = {
    ...(!/^f/.test(result) && { integerClamp: true }),
    ...((result === 'f64' || source === 'f64') && { noSdwa: true }),
  };
  return row('VOP1', name, opcodes, `=vdst:${result} src0:${source}`, semantics, flags);
}

/** The output modifiers scale an integer that a float becomes. */
const scaled = (original: Row): Row => ({ ...original, flags: { ...original.flags, scaled: 'wide' } });

const clampI32 = (b: Builder, x: Value, low: number, high: number): Value => b.minS(b.maxS(x, b.i32(low)), b.i32(high));

/** The sum with a half is rounded before it is cut. */
const nearestInteger: Semantics = (b, x) =>
  b.op('f32.toI32S', b.f32.floor(b.rounding(NEAREST_EVEN).f32.add(x!, b.f32.constant(0.5))));

const floorInteger: Semantics = (b, x) => b.op('f32.toI32S', b.f32.floor(x!));

/** The low four bits, signed, in sixteenths. */
const sixteenths: Semantics = (b, x) =>
  b.f32.mul(b.op('f32.fromI32S', b.shrS(b.shl(x!, 28), 28)), b.f32.constant(1 / 16));

const fromByte =
  (byte: number): Semantics =>
  (b, x) =>
    b.op('f32.fromI32U', b.bits(x, byte * 8, 8));

// biome-ignore format: one row per line, as the tables of the manual
export const vop1ConversionRows = (): readonly Row[] => [
  scaled(convert('v_cvt_i32_f64', { gfx9: 0x03, gfx10: 0x03 }, 'i32', 'f64', (b, x) => b.op('f64.toI32S', x))),
  convert('v_cvt_f64_i32', { gfx9: 0x04, gfx10: 0x04 }, 'f64', 'i32', (b, x) => b.op('f64.fromI32S', x)),
  convert('v_cvt_f32_i32', { gfx9: 0x05, gfx10: 0x05 }, 'f32', 'i32', (b, x) => b.f32.fromI32S(x)),
  convert('v_cvt_f32_u32', { gfx9: 0x06, gfx10: 0x06 }, 'f32', 'u32', (b, x) => b.f32.fromI32U(x)),
  scaled(convert('v_cvt_u32_f32', { gfx9: 0x07, gfx10: 0x07 }, 'u32', 'f32', (b, x) => b.op('f32.toI32U', x))),
  scaled(convert('v_cvt_i32_f32', { gfx9: 0x08, gfx10: 0x08 }, 'i32', 'f32', (b, x) => b.op('f32.toI32S', x))),
  convert('v_cvt_f16_f32', { gfx9: 0x0a, gfx10: 0x0a }, 'f16', 'f32', (b, x) => b.f16.result(b.f16.fromF32(b.f32.input(x)))),
  convert('v_cvt_f32_f16', { gfx9: 0x0b, gfx10: 0x0b }, 'f32', 'f16', (b, x) => b.f16.toF32(b.f16.input(x))),
  convert('v_cvt_rpi_i32_f32', { gfx9: 0x0c, gfx10: 0x0c, gfx11: ['v_cvt_nearest_i32_f32', 0x0c] }, 'i32', 'f32', nearestInteger),
  convert('v_cvt_flr_i32_f32', { gfx9: 0x0d, gfx10: 0x0d, gfx11: ['v_cvt_floor_i32_f32', 0x0d] }, 'i32', 'f32', floorInteger),
  convert('v_cvt_off_f32_i4', { gfx9: 0x0e, gfx10: 0x0e }, 'f32', 'b32', sixteenths),
  convert('v_cvt_f32_f64', { gfx9: 0x0f, gfx10: 0x0f }, 'f32', 'f64', (b, x) => b.f32.result(b.f32.fromF64(b.f64.input(x)))),
  convert('v_cvt_f64_f32', { gfx9: 0x10, gfx10: 0x10 }, 'f64', 'f32', (b, x) => b.op('f64.fromF32', b.f32.input(x))),
  convert('v_cvt_f32_ubyte0', { gfx9: 0x11, gfx10: 0x11 }, 'f32', 'u32', fromByte(0)),
  convert('v_cvt_f32_ubyte1', { gfx9: 0x12, gfx10: 0x12 }, 'f32', 'u32', fromByte(1)),
  convert('v_cvt_f32_ubyte2', { gfx9: 0x13, gfx10: 0x13 }, 'f32', 'u32', fromByte(2)),
  convert('v_cvt_f32_ubyte3', { gfx9: 0x14, gfx10: 0x14 }, 'f32', 'u32', fromByte(3)),
  scaled(convert('v_cvt_u32_f64', { gfx9: 0x15, gfx10: 0x15 }, 'u32', 'f64', (b, x) => b.op('f64.toI32U', x))),
  convert('v_cvt_f64_u32', { gfx9: 0x16, gfx10: 0x16 }, 'f64', 'u32', (b, x) => b.op('f64.fromI32U', x)),
  convert('v_cvt_f16_u16', { gfx9: 0x39, gfx10: 0x50 }, 'f16', 'u16', (b, x) => b.f16.fromF32(b.op('f32.fromI32U', b.bits(x, 0, 16)))),
  convert('v_cvt_f16_i16', { gfx9: 0x3a, gfx10: 0x51 }, 'f16', 'i16', (b, x) => b.f16.fromF32(b.op('f32.fromI32S', b.sext16(x)))),
  scaled(convert('v_cvt_u16_f16', { gfx9: 0x3b, gfx10: 0x52 }, 'u16', 'f16', (b, x) => b.minU(b.op('f32.toI32U', b.f16.toF32(x)), b.i32(0xffff)))),
  scaled(convert('v_cvt_i16_f16', { gfx9: 0x3c, gfx10: 0x53 }, 'i16', 'f16', (b, x) => clampI32(b, b.op('f32.toI32S', b.f16.toF32(x)), -0x8000, 0x7fff))),
  scaled(convert('v_cvt_norm_i16_f16', { gfx9: 0x4d, gfx10: 0x63 }, 'i16', 'f16', (b, x) => normalizedI16(b, 'f16', x))),
  scaled(convert('v_cvt_norm_u16_f16', { gfx9: 0x4e, gfx10: 0x64 }, 'u16', 'f16', (b, x) => normalizedU16(b, 'f16', x))),
];
