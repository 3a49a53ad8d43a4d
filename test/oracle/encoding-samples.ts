/**
 * Encodings of every instruction with plausible operands and modifiers, for comparison with other tools.
 * Reproducible.
 */

import { encodeFields } from '../../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { type Family, type Field, generationOf } from '../../src/isa/amdgpu/encoding/formats.ts';
import type { Row } from '../../src/isa/amdgpu/encoding/row.ts';
import { targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';

export interface EncodingSample {
  readonly encoding: Encoding;
  readonly words: readonly number[];
}

/** Numbers 0 .. limit - 1 (mulberry32). */
export type Random = (limit: number) => number;

export function random(seed: number): Random {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

const pick = (r: Random, values: readonly number[]): number => values[r(values.length)]!;

const vgpr = (r: Random): number => pick(r, [2 * r(120), 2 * r(120), r(256)]);
const sgpr = (r: Random): number => pick(r, [2 * r(51), 4 * r(25), r(102), 102, 106, 107, 108, 124, 126]);
const scalarSource = (r: Random): number =>
  pick(r, [2 * r(51), r(102), 106, 107, 124, 126, 127, 128 + r(81), 240 + r(9), 235 + r(5), 251 + r(3), 255]);
const vectorSource = (r: Random): number =>
  pick(r, [256 + 2 * r(120), 256 + 2 * r(120), 256 + r(256), scalarSource(r)]);
const flag = (r: Random): number => pick(r, [0, 0, 1]);
const dppControl = (r: Random): number =>
  pick(r, [
    r(256),
    0x101 + r(15),
    0x111 + r(15),
    0x121 + r(15),
    0x130,
    0x134,
    0x138,
    0x13c,
    0x140 + r(4),
    0x150 + r(16),
    0x160 + r(16),
  ]);

/** How the value of a field is chosen, by its name; the first match counts. */
const CHOICES: readonly (readonly [name: RegExp, choose: (r: Random, width: number) => number])[] = [
  [/^(v(dst|src)[xy]\d?|vdst|vdata|vaddr|addr|data[01]?)$/, vgpr],
  [/^src[xy]?[012]$/, (r, width) => (width === 9 ? vectorSource(r) : pick(r, [2 * r(50), scalarSource(r)]))],
  [/^ssrc/, scalarSource],
  [/^soffset$/, (r) => pick(r, [r(102), r(102), 124, 128 + r(65)])],
  [/^saddr$/, (r) => pick(r, [0x7f, 2 * r(50), r(102)])],
  [/^s(dst|data)$/, sgpr],
  [/^(sbase|srsrc)$/, (r, width) => r(width === 6 ? 50 : 25)],
  [/^dst_unused$/, (r) => r(3)],
  [/_sel$/, (r, width) => (width === 3 ? r(7) : flag(r) * r(2 ** width))],
  [/^op_sel_hi/, (r, width) => pick(r, [2 ** width - 1, 2 ** width - 1, r(2 ** width)])],
  [/^dpp_ctrl$/, dppControl],
  [/^(omod|neg|abs|op_sel|neg_hi|cbsz|abid|blgp)$/, (r, width) => flag(r) * r(2 ** width)],
  [
    /./,
    (r, width) => (width === 1 ? flag(r) : pick(r, [0, r(2 ** width), r(2 ** width), r(Math.min(256, 2 ** width))])),
  ],
];

const REGISTER_FIELD =
  /^(v(dst|src)[xy]\d?|v(dst|data|addr)|s(dst|data|addr|rsrc|base|offset)|addr|data[01]?|s?src[012]|offset[01]?)$/;

/** Fields of registers that the instruction does not have must be zero. */
function isUsed({ row, format }: Encoding, { name }: Field, glc: boolean): boolean {
  if (!REGISTER_FIELD.test(name)) return true;
  const isDsOffset = format.name === 'DS' && name.startsWith('offset');
  return row.operands.some(({ field, writtenIf }) => {
    if (writtenIf === 'glc' && name === 'vdst' && !glc) return false;
    return field === name || (name === 'vdst' && field === 'sdst') || (isDsOffset && field.startsWith('offset'));
  });
}

function sampleWords(encoding: Encoding, r: Random, families: readonly Family[]): number[] {
  const { format, opcode } = encoding;
  const values: Record<string, number> = {};
  for (const field of format.fields) {
    // Fields that lie on others.
    if (format.name === 'DS' && (field.name === 'offset' || field.name === 'data')) continue;
    const choose = CHOICES.find(([name]) => name.test(field.name))![1];
    const value = choose(r, field.width);
    if (value !== 0 && isUsed(encoding, field, values['glc'] === 1)) values[field.name] = value;
  }
  // FLAT has no scalar address; from gfx10 on it says so.
  if (format.name === 'FLAT' && families.includes('gfx10')) values['saddr'] = families.includes('gfx11') ? 124 : 125;
  const words = encodeFields(format, opcode, values);
  const { wideLiterals } = generationOf(families);
  if (words.length > (wideLiterals ? 2 : 1)) return words;
  return [...words, pick(r, [r(2 ** 32), r(70), 0x3f800000, 0x12345678, 0x3e22f983, 0x3c00, 0xfffffff8])];
}

/**
 * `perEncoding` samples of every encoding of the rows on a processor; at least two dwords each, the last one
 * a literal or unused where a literal can follow.
 */
export function encodingSamples(
  perEncoding: number,
  seed: number,
  processor: string,
  rows: readonly Row[] = allRows(),
): EncodingSample[] {
  const r = random(seed);
  const target = targetFor(processor);
  return rows
    .flatMap((row) => encodingsOf(row, target))
    .flatMap((encoding) =>
      Array.from({ length: perEncoding }, () => ({
        encoding,
        words: sampleWords(encoding, r, target.families).map((word) => word >>> 0),
      })),
    );
}
