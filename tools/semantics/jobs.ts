/**
 * States before instructions: machine code and registers, for every encoding of the rows of a target that the
 * models know.
 */
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { dwordsOf, isFloat, type OperandSpec } from '../../src/isa/amdgpu/encoding/row.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { type Random, random } from '../../test/oracle/encoding-samples.ts';
import { hexOfDwords, type Recording } from '../../test/semantics/recorded.ts';
import { effectiveFields, encodedWords } from './encoded.ts';
import { randomValue, randomWord, seedOf } from './values.ts';

/** Lanes, or runs, of a recording; at most two lanes are off. */
export const COLUMNS = 22;
/** Rounding to nearest, denormals kept, DX10_CLAMP, IEEE. */
export const DEFAULT_MODE = 0x3f0;
const VCC = 106;

/** First register of each operand field; far enough apart for the widest operand. */
const REGISTERS: Readonly<Record<string, number>> = {
  ...{ vdst: 40, sdst: 40, src0: 8, src1: 12, src2: 16, ssrc0: 8, ssrc1: 12 },
  ...{ vdstx: 40, vdsty: 43, srcx0: 8, vsrcx1: 13, srcy0: 10, vsrcy1: 15 },
};
const MASK_SOURCE = 32;

/** Where an operand is. */
export interface Placed {
  readonly spec: OperandSpec;
  readonly file: 's' | 'v' | 'a' | 'constant';
  readonly first: number;
  readonly dwords: number;
  /** Of a constant. */
  readonly value: bigint;
}

export interface Job {
  readonly encoding: Encoding;
  readonly target: Target;
  readonly recording: Omit<Recording, 'source' | 'after' | 'targets' | 'tolerance'>;
  readonly operands: readonly Placed[];
  readonly fields: Readonly<Record<string, number>>;
  readonly columns: number;
}

/** Fields besides registers, and the mode. */
export interface Variant {
  readonly fields: Readonly<Record<string, number>>;
  readonly mode?: number;
}

const isScalar = ({ format }: Encoding): boolean => format.name.startsWith('S');

function place(encoding: Encoding, spec: OperandSpec, waveSize: 32 | 64, constants: Random): Placed {
  const { format } = encoding;
  const dwords = dwordsOf(spec.type, waveSize);
  if (spec.file === 'immediate') {
    const value =
      spec.type === 'literal32' ? randomValue(encoding.row.operands[0]!.type, 1, constants)[0]! : constants(65536);
    return { spec, file: 'constant', first: 0, dwords: 1, value: BigInt(value) };
  }
  const hasField =
    format.fields.some(({ name }) => name === spec.field) || (spec.field === 'sdst' && /^VOP3/.test(format.name));
  const first =
    spec.type === 'mask'
      ? !hasField
        ? VCC
        : spec.field === 'src2'
          ? MASK_SOURCE
          : REGISTERS['sdst']!
      : REGISTERS[spec.field]!;
  const file = spec.file === 'accumulator' ? 'a' : spec.file === 'scalar' ? 's' : 'v';
  return { spec, file, first, dwords, value: 0n };
}

/** Values of the register fields. */
function registerFields({ format }: Encoding, operands: readonly Placed[]): Record<string, number> {
  const values: Record<string, number> = {};
  for (const { spec, file, first, value } of operands) {
    const name =
      spec.field === 'sdst' && format.name.startsWith('VOP3') && format.name !== 'VOP3B' ? 'vdst' : spec.field;
    const located = format.fields.find((candidate) => candidate.name === name);
    if (!located) continue;
    if (file === 'constant') values[name] = Number(value);
    else if (name === 'vdsty') values[name] = first >> 1;
    else values[name] = located.width === 9 && file !== 's' ? 256 + first : first;
  }
  // VOP3B forms behind a DPP dword have their mask in a field of their own.
  if (format.fields.some(({ name }) => name === 'sdst') && values['sdst'] === undefined) {
    const mask = operands.find(({ spec }) => spec.field === 'sdst');
    if (mask) values['sdst'] = mask.first;
  }
  return values;
}

/**
 * The division steps are defined for numbers whose products stay in the range; v_div_fixup looks at the
 * special cases of numerator and denominator itself.
 */
const isFiniteOnly = (name: string, { field, access }: OperandSpec): boolean =>
  access === 'read' && (/^v_div_(scale|fmas)/.test(name) || (name.startsWith('v_div_fixup') && field === 'src0'));

const EXPONENT: Readonly<Record<string, number>> = { f16: 0x7c00, f32: 0x7f800000, f64: 0x7ff00000 };

/** Not larger than 4 where `isSmall`. */
function finite(type: string, make: () => number[], isSmall: boolean): number[] {
  const mask = EXPONENT[type]!;
  const limit = isSmall ? (mask >>> 1) + (type === 'f32' ? 0x01000000 : 0x00200000) : mask;
  for (;;) {
    const value = make();
    const sign = type === 'f16' ? 0x7fff : 0x7fffffff;
    if ((value.at(-1)! & sign) < limit) return value;
  }
}

/** v_div_scale scales its first source, which is the denominator or the numerator. */
function chooseScaled(registers: Record<string, string>, operands: readonly Placed[], columnCount: number): void {
  const [value, denominator, numerator] = ['src0', 'src1', 'src2'].map(
    (field) => operands.find(({ spec }) => spec.field === field)!,
  );
  for (let i = 0; i < value!.dwords; i++) {
    const text = ({ first }: Placed): string => registers[`v${first + i}`]!;
    const columns = Array.from({ length: columnCount }, (_, column) =>
      text(column % 2 ? denominator! : numerator!).slice(column * 8, column * 8 + 8),
    );
    registers[`v${value!.first + i}`] = columns.join('');
  }
}

export const textOfWords = (words: readonly number[]): string =>
  words
    .map((word) => [0, 8, 16, 24].map((shift) => ((word >>> shift) & 255).toString(16).padStart(2, '0')).join(''))
    .join('');

/** Lanes that are on: all columns but two. */
const execOf = (r: Random, columns: number): number => (2 ** columns - 1) & ~(1 << r(columns)) & ~(1 << r(columns));

/** How large a state is, at most 32 columns, and which one of its kind. */
export interface Extent {
  readonly columns: number;
  readonly seed: string;
}

export function jobOf(
  encoding: Encoding,
  target: Target,
  waveSize: 32 | 64,
  { fields, mode }: Variant,
  { columns: columnCount, seed }: Extent = { columns: COLUMNS, seed: '' },
): Job {
  const { row, format } = encoding;
  const text = `${row.name} ${format.name} ${JSON.stringify(fields)} ${mode ?? ''}${waveSize}${seed}`;
  const r = random(seedOf(text));
  const scalar = isScalar(encoding);
  // Constants are part of the code, which is the same whatever the seed.
  const constants = random(encoding.opcode);
  const separate = row.operands.map((spec) => place(encoding, spec, waveSize, constants));
  // The two instructions of VOPD share a literal.
  const literal = separate.find(({ spec }) => spec.type === 'literal32');
  const operands = separate.map((each) => (each.spec.type === 'literal32' ? { ...each, value: literal!.value } : each));
  const registers: Record<string, string> = {};
  for (const { spec, file, first, dwords } of operands) {
    if (file === 'constant') continue;
    const columns = (file === 's' && !scalar) || spec.type === 'mask' ? 1 : columnCount;
    const make = (): number[] => randomValue(spec.type, dwords, r);
    const values = Array.from({ length: columns }, () =>
      isFiniteOnly(row.name, spec) ? finite(spec.type, make, row.name.startsWith('v_div_fmas')) : make(),
    );
    for (let i = 0; i < dwords; i++) registers[`${file}${first + i}`] ??= hexOfDwords(values.map((value) => value[i]!));
  }
  if (row.name.startsWith('v_div_scale')) chooseScaled(registers, operands, columnCount);
  const wide = waveSize === 64;
  registers['exec'] = hexOfDwords(scalar ? [randomWord(r), wide ? randomWord(r) : 0] : [execOf(r, columnCount), 0]);
  registers['scc'] = hexOfDwords(Array.from({ length: scalar ? columnCount : 1 }, () => r(2)));
  registers[`s${VCC}`] ??= hexOfDwords([randomWord(r)]);
  registers[`s${VCC + 1}`] ??= hexOfDwords([wide ? randomWord(r) : 0]);
  const words = encodedWords(encoding, target, { ...registerFields(encoding, operands), ...fields });
  const effective = effectiveFields(encoding, words, fields);
  if (literal) words.push(Number(literal.value));
  const recording = {
    ...{ name: encoding.name, code: textOfWords(words), waveSize, mode: mode ?? DEFAULT_MODE },
    ...{ columns: scalar ? ('waves' as const) : ('lanes' as const), before: { registers } },
  };
  return { encoding, target, recording, operands, fields: effective, columns: columnCount };
}

const DPP_CONTROLS = {
  gfx9: [0x1b, 0xb1, 0x101, 0x111, 0x12f, 0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143, 0x153],
  wide: [0x150, 0x157],
  gfx11: [0x1b, 0xb1, 0x101, 0x113, 0x12f, 0x140, 0x141, 0x152, 0x165],
} as const;

function dppFields(encoding: Encoding, target: Target, r: Random): Record<string, number> {
  const { row, format } = encoding;
  if (format.name.endsWith('_DPP8')) return { dpp8: randomWord(r) & 0xffffff, fi: r(2) };
  const isWide = row.operands.some(({ type }) => /64$/.test(type));
  const controls = target.families.includes('gfx11')
    ? DPP_CONTROLS.gfx11
    : isWide
      ? DPP_CONTROLS.wide
      : DPP_CONTROLS.gfx9;
  const masks = r(2) ? { bank_mask: 15, row_mask: 15 } : { bank_mask: 1 + r(15), row_mask: 3 };
  return {
    dpp_ctrl: controls[r(controls.length)]!,
    bound_ctrl: r(2),
    ...masks,
    ...(target.families.includes('gfx11') && { fi: r(2) }),
  };
}

function sdwaFields({ row, format }: Encoding, r: Random): Record<string, number> {
  const values: Record<string, number> = {};
  const has = (name: string): boolean => format.fields.some((field) => field.name === name);
  for (const field of ['src0', 'src1']) {
    const spec = row.operands.find((candidate) => candidate.field === field);
    if (!has(`${field}_sel`)) continue;
    values[`${field}_sel`] = spec ? (/f32/.test(spec.type) ? r(7) : r(6)) : 6;
    if (!spec) continue;
    if (isFloat(spec.type)) Object.assign(values, { [`${field}_neg`]: r(2), [`${field}_abs`]: r(2) });
    else values[`${field}_sext`] = r(2);
  }
  if (has('dst_sel')) {
    values['dst_sel'] = row.flags.noSdwaDestination ? 6 : r(7);
    values['dst_unused'] = values['dst_sel'] === 6 ? 0 : r(3);
  }
  if (has('sdst_en')) values['sdst_en'] = 1;
  return values;
}

/** Sources that are floats may be negated and made positive. */
function modifierVariants({ row, opcode }: Encoding): Variant[] {
  const sources = row.operands.filter(({ access, type }) => access !== 'write' && isFloat(type));
  const result = row.operands[0];
  if (sources.length === 0 || /class|cndmask|dot/.test(row.name)) return [];
  if (row.format === 'VOPC' && opcode % 2 === 1) return [];
  const variants: Variant[] = [{ fields: { neg: 1, abs: 2 } }];
  if (!result || !/^f/.test(result.type) || row.flags.integerClamp) return variants;
  const isApproximate = /_(rcp|rcp_iflag|rsq|sqrt|exp|log|sin|cos|div_\w+|trig_preop)_|dot/.test(row.name);
  variants.push({ fields: { clamp: 1, neg: 2, abs: 1 } });
  // All denormals flushed, rounding up or down, IEEE off, which lets the output be scaled.
  if (!isApproximate)
    variants.push({ fields: { omod: 1 + (row.name.length % 3) }, mode: row.name.length % 2 ? 0x105 : 0x10a });
  return variants;
}

const packedFields = (row: Encoding['row'], r: Random): Record<string, number> => {
  const fields: Record<string, number> = { op_sel: r(8), op_sel_hi: r(4), op_sel_hi_2: r(2) };
  const isMix = /_mix/.test(row.name);
  if (isMix || row.operands.some(({ type }) => type === 'v2f16' || type === 'v2f32'))
    Object.assign(fields, { neg: r(8), neg_hi: r(8) });
  return fields;
};

const DOT_OF_DWORDS = /^v_dot[48]/;

function packedVariants(encoding: Encoding, r: Random): Variant[] {
  const { row } = encoding;
  if (/accvgpr/.test(row.name)) return [{ fields: {} }];
  if (/_iu[48]$/.test(row.name)) return [1, 2, 3].map((neg) => ({ fields: { neg, clamp: neg & 1 } }));
  if (DOT_OF_DWORDS.test(row.name)) return [{ fields: {} }, { fields: { clamp: 1 } }];
  if (row.name === 'v_pk_mov_b32') return [0, 1, 2, 3].map((op_sel) => ({ fields: { op_sel, op_sel_hi: 3 } }));
  const straight = { op_sel_hi: 3, op_sel_hi_2: 1 };
  const clamps = row.flags.integerClamp && !/shl|shr/.test(row.name);
  const isDot = row.name.includes('dot');
  return [
    { fields: straight },
    ...(isDot ? [] : [{ fields: packedFields(row, r) }]),
    ...(clamps ? [{ fields: { ...straight, clamp: 1 } }] : []),
  ];
}

/** The forms of an encoding that are recorded. */
function variants(encoding: Encoding, target: Target, r: Random): Variant[] {
  const { row, format } = encoding;
  const isOwn = row.format === format.name || format.name === 'VOP3B';
  if (format.name.endsWith('_SDWA')) return [{ fields: sdwaFields(encoding, r) }];
  if (/_DPP8?$/.test(format.name)) return [{ fields: dppFields(encoding, target, r) }];
  if (format.name === 'VOP3P') return packedVariants(encoding, r);
  if (!/^VOP3/.test(format.name)) return [{ fields: {} }];
  const plain: Variant[] =
    isOwn || (/VOPC|VOP2/.test(row.format) && row.operands.some(({ type }) => type === 'mask')) ? [{ fields: {} }] : [];
  const saturates = row.flags.integerClamp && /_(add|sub|mad|mul_[iu]32|sad|msad|subrev)/.test(row.name);
  if (format.name === 'VOP3B') return [...plain, ...(row.flags.integerClamp ? [{ fields: { clamp: 1 } }] : [])];
  return [
    ...plain,
    ...(saturates ? [{ fields: { clamp: 1 } }] : []),
    ...modifierVariants(encoding),
    ...halfVariants(encoding, target),
  ];
}

/** op_sel where operands have 16 bits. */
function halfVariants({ row }: Encoding, target: Target): Variant[] {
  const is16 = (field: string): boolean =>
    row.operands.some((spec) => spec.field === field && /^(b|u|i|f|bf)16$/.test(spec.type));
  const bits = ['src0', 'src1', 'src2', 'vdst']
    .map((field, i) => (is16(field) ? 1 << i : 0))
    .reduce((x, y) => x | y, 0);
  const natively = row.format === 'VOP3' && (row.flags.keepsHighHalf || target.families.includes('gfx11'));
  const all = target.families.includes('gfx11') || natively;
  return bits && all ? [{ fields: { op_sel: bits & 9 } }] : [];
}

const FORMATS = /^(SOP[12CK]|VOP(1|2|C|3|3B|3P|D)|VOP(1|2|C)_(SDWA|DPP|DPP8)|VOP3P?_(DPP|DPP8)|VINTERP)$/;

/** The extended forms of VOP3 and VOPC are sampled: what SDWA and DPP do is the same for all. */
const isSampled = ({ format, opcode }: Encoding): boolean => {
  if (/^VOP3P?_DPP/.test(format.name)) return opcode % 8 === 0;
  return !format.name.startsWith('VOPC_') || opcode % 2 === 0;
};

export function* encodingVariants(
  processor: string,
): Generator<{ encoding: Encoding; target: Target; variant: Variant }> {
  const target = targetFor(processor);
  for (const row of allRows()) {
    if (!row.semantics || row.flags.terminator) continue;
    for (const encoding of encodingsOf(row, target)) {
      if (!FORMATS.test(encoding.format.name) || !isSampled(encoding)) continue;
      const r = random(encoding.opcode * 131 + row.name.length);
      for (const variant of variants(encoding, target, r)) yield { encoding, target, variant };
    }
  }
}
