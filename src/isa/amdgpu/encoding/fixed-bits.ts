/**
 * Bits of an encoding that must have one value, because the instruction lacks what they say: signs of
 * integers, a scale of something that is no float, registers of operands that are not there. Hardware ignores
 * most of them; LLVM 19, whose decoder is the measure here, takes an encoding with such a bit for no
 * instruction. Bits that it ignores are not named. Found by asking llvm-mc for every bit of every encoding.
 */

import type { Encoding } from './encodings.ts';
import type { Field } from './format.ts';
import { generationOf } from './formats.ts';
import { selectsHalves, usesHalfSelects } from './half-selects.ts';
import { is16Bit, isAtomic, isFloat, type Row } from './row.ts';
import type { Target } from './targets.ts';

export interface FixedBits {
  /** Of each dword: the bits that are fixed, and the value that they have. */
  readonly masks: readonly number[];
  readonly values: readonly number[];
}

/**
 * Register fields that must be 0 in instructions without such an operand; the data fields of vector memory
 * need not.
 */
const REGISTERS: Readonly<Record<string, RegExp>> = {
  DS: /^(addr|data0|data1|vdst)$/,
  VOP1: /^vdst$/,
  VOP3: /^src[012]$/,
  VOP3B: /^src[012]$/,
  VOP3P: /^src[12]$/,
  VOPD: /^vsrc[xy]1$/,
};

const has = (row: Row, ...fields: readonly string[]): boolean =>
  row.operands.some((spec) => fields.includes(spec.field));

/** Bits for the sources that an instruction lacks. */
const absentSources = (row: Row): number =>
  [0, 1, 2].reduce((bits, source) => (has(row, `src${source}`) ? bits : bits | (1 << source)), 0);

/** LLVM gives the operands of a conditional move signs as if they were floats. */
const isFloatPart = (row: Row, source: string): boolean =>
  row.flags.signs === 'floats' || row.operands.some(({ field, type }) => field === `src${source}` && isFloat(type));

/** Whether sources can have signs: floats, what counts as one for LLVM, and halves that op_sel selects. */
const hasSigns = (row: Row, target: Target): boolean =>
  row.flags.signs === 'floats' ||
  row.operands.some(
    ({ field, type }) =>
      /^src[012]$/.test(field) && (isFloat(type) || (is16Bit(type) && selectsHalves(row, target.families))),
  );

/**
 * Bits of the sources that cannot have signs: masks, the classes to compare with, and all where none is a
 * float.
 */
function unsignedSources(row: Row, target: Target): number {
  if (row.flags.signs === 'any') return 0;
  if (!hasSigns(row, target)) return 7;
  const hasMask = row.operands.some(({ field, type }) => field === 'src2' && type === 'mask');
  return absentSources(row) | (row.flags.signs === 'first' ? 2 : 0) | (hasMask ? 4 : 0);
}

const hasFloatResult = (row: Row): boolean =>
  row.flags.scaled === 'always' || row.operands.some(({ access, type }) => access !== 'read' && isFloat(type));

const scalesResult = (row: Row): boolean => row.flags.scaled !== undefined || hasFloatResult(row);

function clamps(row: Row, target: Target): boolean {
  const { clampBit, integerClamp } = row.flags;
  if (clampBit !== undefined) return clampBit === 'always';
  return hasSigns(row, target) || scalesResult(row) || integerClamp === true;
}

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
      return selectsHalves(row, target.families) ? absentSources(row) : FREE;
    default:
      return FREE;
  }
}

function fixedInPacked({ name }: Field, all: number, { row }: Encoding): Fixed {
  const sources = absentSources(row);
  if (name === 'clamp') return row.flags.clampBit === 'never' ? all : FREE;
  if (name === 'op_sel' && !usesHalfSelects(row)) return all;
  return /^(neg|neg_hi|op_sel)$/.test(name) ? (sources === 6 ? all : sources) : FREE;
}

function fixedInMemory({ name }: Field, all: number, { row, format }: Encoding, target: Target): Fixed {
  const isBuffer = format.name === 'MUBUF';
  const isCache = isBuffer && row.operands.length === 0;
  const { scoped: hasScope = false, storesLds = false, floatAtomic = false } = row.flags;
  if (floatAtomic && name === target.noFloatAtomicBit) return all;
  switch (name) {
    case 'lds':
      if (storesLds) return { mask: 1, value: 1 };
      return loadsLds(row) && format.name !== 'FLAT' ? FREE : all;
    case 'saddr':
      // From gfx10 on, the field says that FLAT has none.
      if (format.name !== 'FLAT') return FREE;
      return { mask: all, value: target.flatNamesNoScalar ? target.scalars.none : 0 };
    case 'idxen':
    case 'offen':
      return isCache || storesLds ? all : FREE;
    case 'acc':
      return isCache || storesLds || !has(row, 'vdst', 'data', 'vdata') ? all : FREE;
    case 'dlc':
      if (isBuffer && isAtomic(row) && !generationOf(target.families).atomicDlc) return all;
      return isCache ? all : FREE;
    case 'glc':
    case 'scc':
      return isCache && !hasScope ? all : FREE;
    case 'tfe':
      return isBuffer && movesData(row) && !isAtomic(row) ? FREE : all;
    default:
      return FREE;
  }
}

function fixedInDs({ name }: Field, all: number, { row }: Encoding): Fixed {
  if (name === 'gds')
    return row.flags.gds === 'always' ? { mask: 1, value: 1 } : row.flags.gds === 'never' ? all : FREE;
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

function hasCacheBits({ row: { operands } }: Encoding, { families }: Target): boolean {
  const [data, address] = operands;
  const isAlways = generationOf(families).scalarCacheBits === 'all';
  return isAlways || (data?.field === 'sdata' && data.file === 'scalar' && address !== undefined);
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
    const isIdle = format.name === 'DS' && name === 'vdst' && generationOf(target.families).idleLdsResults;
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
      return name === 'blgp' && row.flags.sparse ? all : FREE;
    case 'VINTERP':
      return name === 'op_sel' && !row.operands.some(({ type }) => is16Bit(type)) ? all : FREE;
    case 'SMEM':
      if (name === 'imm') return has(row, 'offset') ? FREE : all;
      return /^[gd]lc$/.test(name) && !hasCacheBits(encoding, target) ? all : FREE;
    case 'SOPP':
      return name === 'simm16' && row.operands.length === 0 && !row.flags.spelled ? all : FREE;
    default:
      return FREE;
  }
}

/** Whether a field is that of a source which a wide vector instruction lacks, and may hold anything. */
export function isIdleSource(
  { name }: Field,
  { row, format }: Pick<Encoding, 'row' | 'format'>,
  { families }: Target,
): boolean {
  const isWide = /^VOP3(B|P)?(_DPP8?)?$/.test(format.name);
  return isWide && /^src[012]$/.test(name) && !has(row, name) && generationOf(families).idleSources;
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
