/**
 * Floating point of the scalar unit, since gfx11.5: the results of the vector instructions, without modifiers
 * of the operands. A result of 16 bits clears the other half of its register. RDNA3.5 ISA 6.8.
 */
import type { FloatBuilder } from '../../../../ir/float-builder.ts';
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row } from '../../encoding/row.ts';
import { maximum, minimum } from '../../semantics/float-rules.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { f16TowardZero, packHalves } from '../../semantics/packing.ts';
import { row } from '../table/row.ts';
import { FLOAT_TESTS } from '../vector/vopc.ts';

type ScalarFloat = 'f32' | 'f16';
type Operation = (f: FloatBuilder, x: Value, y: Value, b: InstructionBuilder) => Value;

const TYPES: readonly ScalarFloat[] = ['f32', 'f16'];

/** Opcodes of the forms for f32 and f16. */
const unary = (name: string, opcodes: Readonly<Record<ScalarFloat, number>>, operation: Operation): Row[] =>
  TYPES.map((type) =>
    row('SOP1', `s_${name}_${type}`, { gfx115: opcodes[type] }, `=sdst:${type} ssrc0:${type}`, (b, x) =>
      operation(b.float(type), x, x, b),
    ),
  );

/** gfx12 calls the minimum and maximum that prefer numbers so. */
const binary = (
  name: string,
  opcodes: Readonly<Record<ScalarFloat, number>>,
  operation: Operation,
  since: 'gfx115' | 'gfx12' = 'gfx115',
): Row[] =>
  TYPES.map((type) =>
    row(
      'SOP2',
      `s_${name}_${type}`,
      {
        [since]: opcodes[type],
        ...(/^m(in|ax)$/.test(name) && { gfx12: [`s_${name}_num_${type}`, opcodes[type]] as const }),
      },
      `=sdst:${type} ssrc0:${type} ssrc1:${type}`,
      (b, x, y) => operation(b.float(type), x, y, b),
    ),
  );

const convert = (
  name: string,
  opcode: number,
  result: OperandType,
  source: OperandType,
  semantics: (b: InstructionBuilder, x: Value) => Value,
): Row => row('SOP1', `s_cvt_${name}`, { gfx115: opcode }, `=sdst:${result} ssrc0:${source}`, semantics);

const fromHalf = (b: InstructionBuilder, x: Value): Value => b.f16.toF32(b.f16.input(x));

/** Without the constant results, which the scalar unit lacks. */
const compares = (type: ScalarFloat, first: number): Row[] =>
  FLOAT_TESTS.flatMap(([name, test], i) => {
    if (name === 'f' || name === 'tru') return [];
    return row('SOPC', `s_cmp_${name}_${type}`, { gfx115: first + i }, `ssrc0:${type} ssrc1:${type}`, (b, x, y) =>
      b.setScc(test(b, b.float(type), x, y)),
    );
  });

// biome-ignore format: one row per line, as the tables of the manual
export const scalarFloatRows = (): readonly Row[] => [
  ...unary('ceil', { f32: 0x60, f16: 0x6b }, (f, x) => f.ceil(x)),
  ...unary('floor', { f32: 0x61, f16: 0x6c }, (f, x) => f.floor(x)),
  ...unary('trunc', { f32: 0x62, f16: 0x6d }, (f, x) => f.trunc(x)),
  ...unary('rndne', { f32: 0x63, f16: 0x6e }, (f, x) => f.nearest(x)),
  convert('f32_i32', 0x64, 'f32', 'i32', (b, x) => b.f32.fromI32S(x)),
  convert('f32_u32', 0x65, 'f32', 'u32', (b, x) => b.f32.fromI32U(x)),
  convert('i32_f32', 0x66, 'i32', 'f32', (b, x) => b.op('f32.toI32S', x)),
  convert('u32_f32', 0x67, 'u32', 'f32', (b, x) => b.op('f32.toI32U', x)),
  convert('f16_f32', 0x68, 'f16', 'f32', (b, x) => b.f16.result(b.f16.fromF32(b.f32.input(x)))),
  convert('f32_f16', 0x69, 'f32', 'f16', fromHalf),
  convert('hi_f32_f16', 0x6a, 'f32', 'b32', (b, x) => fromHalf(b, b.shrU(x, 16))),
  ...compares('f32', 0x40),
  ...compares('f16', 0x50),
  ...binary('add', { f32: 0x40, f16: 0x49 }, (f, x, y) => f.add(x, y)),
  ...binary('sub', { f32: 0x41, f16: 0x4a }, (f, x, y) => f.sub(x, y)),
  ...binary('min', { f32: 0x42, f16: 0x4b }, (f, x, y) => f.min(x, y)),
  ...binary('max', { f32: 0x43, f16: 0x4c }, (f, x, y) => f.max(x, y)),
  ...binary('minimum', { f32: 0x4f, f16: 0x51 }, (f, x, y, b) => minimum(b, f, x, y), 'gfx12'),
  ...binary('maximum', { f32: 0x50, f16: 0x52 }, (f, x, y, b) => maximum(b, f, x, y), 'gfx12'),
  ...binary('mul', { f32: 0x44, f16: 0x4d }, (f, x, y) => f.mul(x, y)),
  row('SOP2', 's_fmaak_f32', { gfx115: 0x45 }, '=sdst:f32 ssrc0:f32 ssrc1:f32 literal:literal32', (b, x, y, literal) => b.f32.fma(x!, y!, literal!)),
  row('SOP2', 's_fmamk_f32', { gfx115: 0x46 }, '=sdst:f32 ssrc0:f32 literal:literal32 ssrc1:f32', (b, x, literal, y) => b.f32.fma(x!, literal!, y!)),
  ...TYPES.map((type, i) =>
    row('SOP2', `s_fmac_${type}`, { gfx115: [71, 78][i]! }, `+sdst:${type} ssrc0:${type} ssrc1:${type}`, (b, d, x, y) =>
      b.float(type).fma(x!, y!, d!),
    ),
  ),
  row('SOP2', 's_cvt_pk_rtz_f16_f32', { gfx115: 0x48 }, '=sdst:b32 ssrc0:f32 ssrc1:f32', (b, x, y) => packHalves(b, f16TowardZero(b, x!), f16TowardZero(b, y!))),
];
