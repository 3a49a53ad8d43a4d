/**
 * Bits of an encoding that must have one value, because the instruction lacks what they say: signs of integers, a scale of something that
 * is no float, registers of operands that are not there. Hardware ignores most of them; LLVM 19, whose decoder is the measure here, takes
 * an encoding with such a bit for no instruction. Bits that it ignores are not named. Found by asking llvm-mc for every bit of every encoding.
 */

import { is16Bit, isFloat, type Row } from '../rows/row.ts';
import { SPELLED } from '../text/immediate-text.ts';
import { isGlobalOnly } from '../text/memory-modifiers.ts';
import { choosesHalves, selectsHalves } from '../text/modifier-text.ts';
import type { Encoding } from './decode.ts';
import type { Field } from './formats.ts';
import type { Target } from './targets.ts';

export interface FixedBits {
  /** Of each dword: the bits that are fixed, and the value that they have. */
  readonly masks: readonly number[];
  readonly values: readonly number[];
}

/** Register fields that must be 0 in instructions without such an operand; the data fields of vector memory need not. */
const REGISTERS: Readonly<Record<string, RegExp>> = {
  DS: /^(addr|data0|data1|vdst)$/,
  VOP1: /^vdst$/,
  VOP3: /^src[012]$/,
  VOP3B: /^src[012]$/,
  VOP3P: /^src[12]$/,
  VOPD: /^vsrc[xy]1$/,
};

/** Integer results that LLVM lets be scaled, alone and behind DPP. */
const SCALED_INTEGER = /^v_(cvt_(norm_)?[iu]\d+_f\d+|frexp_exp_i(32_f64|16_f16))$/;
/** Results that LLVM does not let be clamped, although there are floats or saturation. */
const NEVER_CLAMPED =
  /^v_(mul_lo_u16|(min|max|med)3_[iu]32|cvt_pk_[iu]16_[iu]32|cmpx?_class_\w+|cndmask_b\d+|dot2_b?f16_b?f16|cvt_(pk|sr)_b?f?fp?8_f32)$/;
/** Adding floats to memory, without a scope on CDNA2. */
const FLOAT_ATOMIC = /_atomic_((add|min|max)_f64|add_f32|pk_add_f16)$/;
/** Between lanes only: there is no other memory. */
const LDS_ONLY = /^ds_(b?permute_b32|nop|bvh_stack_rtn_b32)$/;

const has = (row: Row, ...fields: readonly string[]): boolean =>
  row.operands.some((spec) => fields.includes(spec.field));

/** Bits for the sources that an instruction lacks. */
const absentSources = (row: Row): number =>
  [0, 1, 2].reduce((bits, source) => (has(row, `src${source}`) ? bits : bits | (1 << source)), 0);

/** LLVM gives the operands of a conditional move signs as if they were floats. */
const isFloatPart = (row: Row, source: string): boolean =>
  row.name === 'v_cndmask_b32' || row.operands.some(({ field, type }) => field === `src${source}` && isFloat(type));

/** Whether sources can have signs: floats, what counts as one for LLVM, and halves that op_sel selects. */
const hasSigns = (row: Row, target: Target): boolean =>
  /^v_(dot|mov_b16|cndmask)/.test(row.name) ||
  row.operands.some(
    ({ field, type }) =>
      /^src[012]$/.test(field) &&
      (isFloat(type) || (is16Bit(type) && selectsHalves({ row, families: target.families }))),
  );

/** Bits of the sources that cannot have signs: masks, the classes to compare with, and all where none is a float. */
function unsignedSources(row: Row, target: Target): number {
  if (/^v_(cvt_sr_|permlane)/.test(row.name)) return 0;
  if (!hasSigns(row, target)) return 7;
  const hasMask = row.operands.some(({ field, type }) => field === 'src2' && type === 'mask');
  return absentSources(row) | (/^v_cmpx?_class_/.test(row.name) ? 2 : 0) | (hasMask ? 4 : 0);
}

const hasFloatResult = (row: Row): boolean =>
  row.name === 'v_cvt_pkrtz_f16_f32' || row.operands.some(({ access, type }) => access !== 'read' && isFloat(type));

const scalesResult = (row: Row): boolean => SCALED_INTEGER.test(row.name) || hasFloatResult(row);

const clamps = (row: Row, target: Target): boolean =>
  !NEVER_CLAMPED.test(row.name) &&
  (hasSigns(row, target) || scalesResult(row) || row.flags.integerClamp === true || /sad_/.test(row.name));

const loadsLds = (row: Row): boolean => row.operands.some(({ writtenIf }) => writtenIf === 'vgpr');
const movesData = (row: Row): boolean => has(row, 'vdata');

const FREE = 0;
/** Bits of one field that are fixed, counted from its lowest, and their value. */
type Fixed = number | { readonly mask: number; readonly value: number };

function fixedInVop3({ name }: Field, all: number, { row }: Encoding, target: Target): Fixed {
  switch (name) {
    case 'abs':
    case 'neg':
      return unsignedSources(row, target);
    case 'omod':
      return scalesResult(row) ? FREE : all;
    case 'clamp':
      return clamps(row, target) ? FREE : all;
    case 'vdst':
      return row.operands.length === 0 ? all : FREE;
    case 'op_sel':
      return selectsHalves({ row, families: target.families }) ? absentSources(row) : FREE;
    default:
      return FREE;
  }
}

function fixedInPacked({ name }: Field, all: number, { row }: Encoding): Fixed {
  const sources = absentSources(row);
  const isMatrix = row.name.startsWith('v_wmma_');
  if (name === 'clamp') return isMatrix && hasFloatMatrix(row) ? all : FREE;
  if (name === 'op_sel' && !choosesHalves({ row })) return all;
  return /^(neg|neg_hi|op_sel)$/.test(name) ? (sources === 6 ? all : sources) : FREE;
}

const hasFloatMatrix = (row: Row): boolean => !row.name.includes('_i32_');

function fixedInMemory({ name }: Field, all: number, { row, format }: Encoding, { families }: Target): Fixed {
  const isCdna2 = families.includes('gfx90a') && !families.includes('gfx940');
  const isBuffer = format.name === 'MUBUF';
  const isCache = isBuffer && row.operands.length === 0;
  const hasScope = /^buffer_(wbl2|inv)$/.test(row.name);
  const isAtomic = row.name.includes('_atomic_');
  const isLdsStore = row.name === 'buffer_store_lds_dword';
  switch (name) {
    case 'lds':
      if (isLdsStore) return { mask: 1, value: 1 };
      return loadsLds(row) && format.name !== 'FLAT' ? FREE : all;
    case 'saddr':
      // From gfx10 on, the field says that FLAT has none.
      if (format.name !== 'FLAT') return FREE;
      return { mask: all, value: families.includes('gfx11') ? 124 : families.includes('gfx10') ? 125 : 0 };
    case 'idxen':
    case 'offen':
      return isCache || isLdsStore ? all : FREE;
    case 'acc':
      return isCache || isLdsStore || !has(row, 'vdst', 'data', 'vdata') ? all : FREE;
    case 'dlc':
      // gfx10 alone has no such bit for atomics.
      if (isBuffer && isAtomic && !families.includes('gfx11')) return all;
      return isCache ? all : FREE;
    case 'glc':
      // They return nothing.
      if (families.includes('gfx908') && !families.includes('gfx90a') && FLOAT_ATOMIC.test(row.name)) return all;
      return isCache && !hasScope ? all : FREE;
    case 'scc':
      if (isCache) return hasScope ? FREE : all;
      return isCdna2 && FLOAT_ATOMIC.test(row.name) ? all : FREE;
    case 'tfe':
      return isBuffer && movesData(row) && !isAtomic && !row.name.includes('_lds_') ? FREE : all;
    default:
      return FREE;
  }
}

function fixedInDs({ name }: Field, all: number, { row }: Encoding): Fixed {
  if (name === 'gds') return isGlobalOnly({ row }) ? { mask: 1, value: 1 } : LDS_ONLY.test(row.name) ? all : FREE;
  if (name === 'acc') return has(row, 'vdst', 'data', 'data0', 'data1') ? FREE : all;
  return name === 'offset' && row.operands.length === 0 ? all : FREE;
}

function fixedInSdwa({ name }: Field, all: number, { row }: Encoding): Fixed {
  if (name === 'dst_sel') return row.flags.noSdwaDestination ? { mask: all, value: 6 } : FREE;
  if (name === 'omod') return hasFloatResult(row) ? FREE : all;
  const [, source, part] = /^src([01])_(neg|abs|sext)$/.exec(name) ?? [];
  return source !== undefined && (part === 'sext') === isFloatPart(row, source) ? all : FREE;
}

function fixedInDpp({ name }: Field, all: number, { row }: Encoding, target: Target): Fixed {
  const source = /^src([01])_(neg|abs)$/.exec(name)?.[1];
  return source !== undefined && (unsignedSources(row, target) >> Number(source)) & 1 ? all : FREE;
}

/** Scalar accesses have cache bits, on gfx11 those that move data. */
function hasCacheBits({ row: { operands } }: Encoding, { families }: Target): boolean {
  const [data, address] = operands;
  return !families.includes('gfx11') || (data?.field === 'sdata' && data.file === 'scalar' && address !== undefined);
}

function fixedOf(field: Field, encoding: Encoding, target: Target): Fixed {
  const { row, format } = encoding;
  const { name } = field;
  const all = 2 ** field.width - 1;
  if (name === 'reserved') return all;
  const layout = format.name.replace(/_DPP8?$/, '');
  const isWide = layout.startsWith('VOP3');
  if (REGISTERS[isWide ? layout : format.name]?.test(name)) {
    const isUsed = has(row, name) || (name === 'vdst' && has(row, 'sdst')) || (name === 'addr' && has(row, 'data'));
    // Programs for gfx11 have a register that receives nothing.
    const isIdle = format.name === 'DS' && name === 'vdst' && target.families.includes('gfx11');
    return isUsed || (isIdle && has(row, 'data0')) || isIdleSource(field, encoding, target) ? FREE : all;
  }
  if (layout === 'VOP3' || layout === 'VOP3B') return fixedInVop3(field, all, encoding, target);
  if (layout === 'VOP3P') return fixedInPacked(field, all, encoding);
  if (format.name !== layout) return fixedInDpp(field, all, encoding, target);
  switch (format.name) {
    case 'FLAT':
    case 'GLOBAL':
    case 'SCRATCH':
    case 'MUBUF':
    case 'MTBUF':
      return fixedInMemory(field, all, encoding, target);
    case 'DS':
      return fixedInDs(field, all, encoding);
    case 'VOP1_SDWA':
    case 'VOP2_SDWA':
    case 'VOPC_SDWA':
      return fixedInSdwa(field, all, encoding);
    case 'VOP3P_MAI':
      return name === 'blgp' && row.name.startsWith('v_smfmac_') ? all : FREE;
    case 'VINTERP':
      return name === 'op_sel' && !row.operands.some(({ type }) => is16Bit(type)) ? all : FREE;
    case 'SMEM':
      if (name === 'imm') return has(row, 'offset') ? FREE : all;
      return /^[gd]lc$/.test(name) && !hasCacheBits(encoding, target) ? all : FREE;
    case 'SOPP':
      return name === 'simm16' && row.operands.length === 0 && !SPELLED[row.name] ? all : FREE;
    default:
      return FREE;
  }
}

/** Whether a field is that of a source which a wide vector instruction lacks: from gfx10 on LLVM 23 writes the constant 0, 128, into it. */
export function isIdleSource(
  { name }: Field,
  { row, format }: Pick<Encoding, 'row' | 'format'>,
  { families }: Target,
): boolean {
  const isWide = /^VOP3(B|P)?(_DPP8?)?$/.test(format.name);
  return isWide && /^src[012]$/.test(name) && !has(row, name) && families.includes('gfx10');
}

/** The fixed bits of an encoding, besides those that identify it. */
export function fixedBits(encoding: Encoding, target: Target): FixedBits {
  const masks = new Array<number>(encoding.format.sizeBytes / 4).fill(0);
  const values = [...masks];
  for (const field of encoding.format.fields) {
    const fixed = fixedOf(field, encoding, target);
    const { mask, value } = typeof fixed === 'number' ? { mask: fixed, value: 0 } : fixed;
    masks[field.low >> 5]! |= mask << (field.low & 31);
    values[field.low >> 5]! |= value << (field.low & 31);
  }
  return { masks, values };
}
