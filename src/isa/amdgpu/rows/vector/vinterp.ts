/**
 * VINTERP: interpolation of parameters that stand in the lanes of a quad: P0 in lane 0, P10 in lane 1, P20 in
 * lane 2. RDNA3 ISA 12.3 and 16.13. Waiting for EXPcnt is not modelled: loads of parameters are done when
 * they are issued.
 */
import { TOWARD_ZERO } from '../../../../ir/float-bits.ts';
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row } from '../../encoding/row.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { row } from '../table/row.ts';

/** Source `field` of lane `position` of the own quad, as f32. */
function ofQuad(b: InstructionBuilder, field: string, type: OperandType, position: number): Value {
  const lane = b.or(b.and(b.laneId(), b.i32(~3)), b.i32(position));
  const value = b.readFrom(b.index(field), lane);
  return type === 'f16' ? b.f16.toF32(b.f16.input(value)) : value;
}

interface Rounded {
  readonly towardZero?: boolean;
}

/** P0 + I * P10. */
function firstPass(name: string, opcode: number, parameter: 'f16' | 'f32', { towardZero }: Rounded = {}): Row {
  const semantics: Semantics = (b, _p10, i) => {
    const { f32 } = towardZero ? b.rounding(TOWARD_ZERO) : b;
    return f32.fma(ofQuad(b, 'src0', parameter, 1), i!, ofQuad(b, 'src2', parameter, 0));
  };
  return row('VINTERP', name, { gfx11: opcode }, `=vdst:f32 src0:${parameter} src1:f32 src2:${parameter}`, semantics);
}

/** The sum of the first pass + J * P20. */
function secondPass(name: string, opcode: number, result: 'f16' | 'f32', { towardZero }: Rounded = {}): Row {
  const semantics: Semantics = (b, _p20, j, sum) => {
    const { f16, f32 } = towardZero ? b.rounding(TOWARD_ZERO) : b;
    const value = f32.fma(ofQuad(b, 'src0', result, 2), j!, sum!);
    return result === 'f32' ? value : b.f16.result(f16.fromF32(value));
  };
  return row('VINTERP', name, { gfx11: opcode }, `=vdst:${result} src0:${result} src1:f32 src2:f32`, semantics);
}

export const vinterpRows = (): readonly Row[] => [
  firstPass('v_interp_p10_f32', 0x00, 'f32'),
  secondPass('v_interp_p2_f32', 0x01, 'f32'),
  firstPass('v_interp_p10_f16_f32', 0x02, 'f16'),
  secondPass('v_interp_p2_f16_f32', 0x03, 'f16'),
  firstPass('v_interp_p10_rtz_f16_f32', 0x04, 'f16', { towardZero: true }),
  secondPass('v_interp_p2_rtz_f16_f32', 0x05, 'f16', { towardZero: true }),
];
