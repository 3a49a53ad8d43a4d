/**
 * Formats of typed buffer accesses by number: sizes of the components from the highest down, and how their
 * bits are read. CDNA2 ISA 9.1.8 (data and number format), RDNA2 ISA 8.1.8 and RDNA3 ISA 10.7 (one number for
 * both).
 */
import type { Target } from '../../encoding/targets.ts';

export const KINDS = ['UNORM', 'SNORM', 'USCALED', 'SSCALED', 'UINT', 'SINT', 'FLOAT'] as const;
export type Kind = (typeof KINDS)[number];

export interface BufferFormat {
  /** Bits of the components, highest first; names of formats have them in this order. */
  readonly bits: readonly number[];
  readonly kind: Kind;
}

const INTEGERS = KINDS.slice(0, 6);
const WHOLE: readonly Kind[] = ['UINT', 'SINT', 'FLOAT'];

type Group = readonly [bits: string, kinds: readonly Kind[]];

const SMALL: readonly Group[] = [
  ['8', INTEGERS],
  ['16', KINDS],
  ['8_8', INTEGERS],
  ['32', WHOLE],
  ['16_16', KINDS],
];
const LARGE: readonly Group[] = [
  ['8_8_8_8', INTEGERS],
  ['32_32', WHOLE],
  ['16_16_16_16', KINDS],
  ['32_32_32', WHOLE],
  ['32_32_32_32', WHOLE],
];
const PACKED_GFX10: readonly Group[] = [
  ['10_11_11', KINDS],
  ['11_11_10', KINDS],
  ['10_10_10_2', INTEGERS],
  ['2_10_10_10', INTEGERS],
];
const PACKED_GFX11: readonly Group[] = [
  ['10_11_11', ['FLOAT']],
  ['11_11_10', ['FLOAT']],
  ['10_10_10_2', ['UNORM', 'SNORM', 'UINT', 'SINT']],
  ['2_10_10_10', INTEGERS],
];

/** Names by number from 1 on; 0 is invalid. */
const names = (groups: readonly Group[]): readonly string[] => [
  'BUF_FMT_INVALID',
  ...groups.flatMap(([bits, kinds]) => kinds.map((kind) => `BUF_FMT_${bits}_${kind}`)),
];

const GFX10 = names([...SMALL, ...PACKED_GFX10, ...LARGE]);
const GFX11 = names([...SMALL, ...PACKED_GFX11, ...LARGE]);

/** gfx9, low bits of the format. */
export const DATA_FORMATS: readonly string[] = [
  ...[
    'INVALID',
    '8',
    '16',
    '8_8',
    '32',
    '16_16',
    '10_11_11',
    '11_11_10',
    '10_10_10_2',
    '2_10_10_10',
    '8_8_8_8',
    '32_32',
  ],
  ...['16_16_16_16', '32_32_32', '32_32_32_32', 'RESERVED_15'],
].map((name) => `BUF_DATA_FORMAT_${name}`);

/** gfx9, high bits of the format. */
export const NUMBER_FORMATS: readonly string[] = [...INTEGERS, 'RESERVED_6', 'FLOAT'].map(
  (kind) => `BUF_NUM_FORMAT_${kind}`,
);

/** Where a format is one number, the names of all; undefined where it has two parts. */
export const unifiedFormats = ({ bufferResources }: Target): readonly string[] | undefined =>
  ({ split: undefined, unified: GFX10, wide: GFX11 })[bufferResources];

/** A format as the numbers of instructions and resources name it. */
export interface NumberedFormat extends BufferFormat {
  readonly number: number;
}

const RDNA_NAME = /^BUF_FMT_([\d_]+)_([A-Z]+)$/;
const bitsOf = (text: string): number[] => text.split('_').map(Number);

function unified(names: readonly string[]): NumberedFormat[] {
  return names.flatMap((name, number) => {
    const parts = RDNA_NAME.exec(name);
    return parts ? [{ number, bits: bitsOf(parts[1]!), kind: parts[2] as Kind }] : [];
  });
}

/**
 * Data format in bits 0..3, number format in 4..6. What gfx10 has no number for is not a format of gfx9
 * either.
 */
const GFX9 = unified(GFX10).map(({ bits, kind }) => ({
  number:
    DATA_FORMATS.indexOf(`BUF_DATA_FORMAT_${bits.join('_')}`) | (NUMBER_FORMATS.indexOf(`BUF_NUM_FORMAT_${kind}`) << 4),
  bits,
  kind,
}));
const NUMBERED = { split: GFX9, unified: unified(GFX10), wide: unified(GFX11) };

/** All formats of a target. */
export const numberedFormats = ({ bufferResources }: Target): readonly NumberedFormat[] => NUMBERED[bufferResources];
