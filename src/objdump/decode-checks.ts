/**
 * What LLVM 19 does not take for an instruction although the hardware's fields make one, and what it remarks: matters for bytes that no
 * compiler wrote as code, which --disassemble-all shows. Found by asking llvm-mc for every bit of every encoding.
 */
import type { Field, Format } from '../isa/amdgpu/formats.ts';
import { SPELLED } from '../isa/amdgpu/immediate-text.ts';
import type { Instruction } from '../isa/amdgpu/instruction.ts';
import { scalarText } from '../isa/amdgpu/registers.ts';
import { is16Bit, isFloat, type Row } from '../isa/amdgpu/row.ts';

const VGPR_COUNT = 256;
/** Groups of SGPRs end with s105, also where 102 and the following are other registers. */
const SGPR_COUNT = 106;
const FIRST_TTMP = 108;
const TTMP_COUNT = 16;
const M0_OR_NULL = 124;
const FIRST_CONSTANT = 128;
const LDS_DIRECT = 254;

/** Register fields that must be 0 in instructions without such an operand; the data fields of vector memory need not. */
const REGISTERS: Readonly<Record<string, RegExp>> = {
  DS: /^(addr|data0|data1|vdst)$/,
  VOP1: /^vdst$/,
  VOP3: /^src[012]$/,
  VOP3B: /^src[012]$/,
  VOP3P: /^src[12]$/,
};

const has = (row: Row, ...fields: readonly string[]): boolean =>
  row.operands.some((spec) => fields.includes(spec.field));

/** Bits for the sources that an instruction lacks. */
const absentSources = (row: Row): number =>
  [0, 1, 2].reduce((bits, source) => (has(row, `src${source}`) ? bits : bits | (1 << source)), 0);

/** LLVM gives the operands of a conditional move signs as if they were floats. */
const isFloatPart = (row: Row, source: string): boolean =>
  row.name === 'v_cndmask_b32' || row.operands.some(({ field, type }) => field === `src${source}` && isFloat(type));

/** Whether sources can have signs: floats, what counts as one for LLVM, and halves that op_sel selects. */
const hasSigns = (row: Row): boolean =>
  /^v_(dot|mov_b16)/.test(row.name) ||
  row.operands.some(
    ({ field, type }) => /^src[012]$/.test(field) && (isFloat(type) || (row.format === 'VOP3' && is16Bit(type))),
  );

const signBits = (row: Row): number => (row.name.startsWith('v_cvt_sr_') ? 0 : hasSigns(row) ? absentSources(row) : 7);

const saturates = (row: Row): boolean => row.flags.integerClamp === true || /sad_/.test(row.name);

const scalesResult = (row: Row): boolean =>
  /^v_(cvt|frexp)_/.test(row.name) || row.operands.some(({ access, type }) => access !== 'read' && isFloat(type));

/** Bits of one field that must be 0, counted from its lowest. */
function zeroBitsOf({ name, width }: Field, { row, format, families }: Instruction): number {
  const all = 2 ** width - 1;
  if (name === 'reserved') return all;
  if (REGISTERS[format.name]?.test(name)) {
    const isUsed = has(row, name) || (name === 'vdst' && has(row, 'sdst')) || (name === 'addr' && has(row, 'data'));
    return isUsed ? 0 : all;
  }
  switch (format.name) {
    case 'FLAT':
      // From gfx10 on, saddr of FLAT says that there is none.
      return name === 'lds' || (name === 'saddr' && families.includes('gfx9')) ? all : 0;
    case 'GLOBAL':
    case 'SCRATCH':
    case 'MUBUF':
      return name !== 'lds' || row.name === 'buffer_store_lds_dword' || loadsLds(row) ? 0 : all;
    case 'VOP3':
    case 'VOP3B':
      if (name === 'abs' || name === 'neg') return signBits(row);
      if (name === 'omod') return scalesResult(row) ? 0 : all;
      return name === 'clamp' && !hasSigns(row) && !scalesResult(row) && !saturates(row) ? all : 0;
    case 'VOP3P':
      return /^(neg|neg_hi|op_sel)$/.test(name) ? absentSources(row) : 0;
    case 'VOP1_DPP':
    case 'VOP2_DPP': {
      const source = /^src([01])_(neg|abs)$/.exec(name)?.[1];
      return source !== undefined && (signBits(row) >> Number(source)) & 1 ? all : 0;
    }
    case 'VOP1_SDWA':
    case 'VOP2_SDWA':
    case 'VOPC_SDWA': {
      const [, source, part] = /^src([01])_(neg|abs|sext)$/.exec(name) ?? [];
      return source !== undefined && (part === 'sext') === isFloatPart(row, source) ? all : 0;
    }
    case 'SMEM':
      return name === 'imm' && !has(row, 'offset') ? all : 0;
    case 'SOPP':
      return name === 'simm16' && row.operands.length === 0 && !SPELLED[row.name] ? all : 0;
    default:
      return 0;
  }
}

const loadsLds = (row: Row): boolean => row.operands.some(({ writtenIf }) => writtenIf === 'vgpr');

function zeroMasks(instruction: Instruction): number[] {
  const masks = [0, 0, 0];
  for (const field of instruction.format.fields) {
    masks[field.low >> 5]! |= zeroBitsOf(field, instruction) << (field.low & 31);
  }
  return masks;
}

const masksByFormat = new Map<Format, Map<Row, readonly number[]>>();

/** The bits of each dword that must be 0. */
function masksOf(instruction: Instruction): readonly number[] {
  const { row, format } = instruction;
  let byRow = masksByFormat.get(format);
  if (!byRow) {
    byRow = new Map();
    masksByFormat.set(format, byRow);
  }
  let masks = byRow.get(row);
  if (!masks) {
    masks = zeroMasks(instruction);
    byRow.set(row, masks);
  }
  return masks;
}

/** Whether LLVM decodes the instruction at byte `at` of `code`. */
export function isAccepted(instruction: Instruction, code: DataView, at: number): boolean {
  const masks = masksOf(instruction);
  for (let dword = 0; dword * 4 < instruction.format.sizeBytes; dword++) {
    if (code.getUint32(at + dword * 4, true) & masks[dword]!) return false;
  }
  // A load to the LDS has no register that could be an accumulator.
  if (instruction.field('lds') === 1 && instruction.field('acc') === 1) return false;
  return instruction.row.operands.every((_, index) => isNamed(instruction, index));
}

/** Whether a register operand has a number that names registers, all of which exist. */
function isNamed(instruction: Instruction, index: number): boolean {
  const operand = instruction.operand(index);
  const dwords = instruction.dwords(index);
  if (operand.kind === 'vector') {
    const { operands, flags } = instruction.row;
    const isHighResult =
      operands[index]!.field === 'vdst' && instruction.namesHalf(index) && instruction.isHighHalf(index);
    return operand.register + dwords <= VGPR_COUNT && (!isHighResult || flags.spellsHalves === true);
  }
  if (operand.kind !== 'scalar' && operand.kind !== 'special') return true;
  const encoded = instruction.encoded(index);
  if (dwords === 1 && encoded < FIRST_CONSTANT) return true;
  // LLVM shows the pair where four registers should be.
  const named =
    scalarText(encoded, Math.min(dwords, 2), instruction.scalars) ?? scalarText(encoded, dwords, instruction.scalars);
  if (named === undefined) return false;
  if (dwords === 1) return true;
  if (encoded === LDS_DIRECT || encoded === M0_OR_NULL) return instruction.row.operands[index]!.type === 'mask';
  const { first, count } = scalarGroup(encoded, instruction.scalars.sgprCount);
  if (count === 0) return true;
  return first - (first % (dwords === 2 ? 2 : 4)) + dwords <= count;
}

/** The number of a scalar register in its file and the size of that; 0 for special registers. */
function scalarGroup(encoded: number, sgprCount: number): { first: number; count: number; name: string } {
  if (encoded < sgprCount) return { first: encoded, count: SGPR_COUNT, name: 'SGPR' };
  const first = encoded - FIRST_TTMP;
  return { first, count: first >= 0 && first < TTMP_COUNT ? TTMP_COUNT : 0, name: 'TTMP' };
}

/** LLVM's comment on scalar register groups that start where no group can; empty when there are none. */
export function alignmentRemark(instruction: Instruction): string {
  let remark = '';
  const { operands } = instruction.row;
  for (let index = 0; index < operands.length; index++) {
    const { file } = operands[index]!;
    if (file !== 'scalar' && file !== 'any') continue;
    const dwords = instruction.dwords(index);
    if (dwords < 2 || instruction.operand(index).kind !== 'scalar') continue;
    const { first, count, name } = scalarGroup(instruction.encoded(index), instruction.scalars.sgprCount);
    if (count === 0 || first % (dwords === 2 ? 2 : 4) === 0) continue;
    remark += `Warning: ${name}_${dwords * 32}: scalar reg isn't aligned ${first}`;
  }
  return remark && ` ; ${remark}`;
}
