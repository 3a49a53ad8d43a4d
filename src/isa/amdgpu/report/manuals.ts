/**
 * Where AMD's manuals describe instructions: the sections of their chapters "Instructions" and of some
 * formats.
 */
import type { Family, FormatName } from '../encoding/formats.ts';

interface Manual {
  readonly family: Family;
  readonly title: string;
  readonly chapter: number;
  /** Section of the chapter by format of the row. */
  readonly sections: Readonly<Partial<Record<FormatName, number>>>;
}

const SCALAR_AND_VECTOR = {
  SOP2: 1,
  SOPK: 2,
  SOP1: 3,
  SOPC: 4,
  SOPP: 5,
  SMEM: 6,
  VOP2: 7,
  VOP1: 8,
  VOPC: 9,
  VOP3P: 10,
} as const;

const MANUALS: readonly Manual[] = [
  {
    family: 'gfx940',
    title: 'CDNA3 ISA',
    chapter: 12,
    sections: {
      ...SCALAR_AND_VECTOR,
      VOP3P_MAI: 10,
      ...{ VOP3: 11, DS: 12, MUBUF: 13, MTBUF: 14, FLAT: 15, GLOBAL: 15, SCRATCH: 15 },
    },
  },
  {
    family: 'gfx90a',
    title: 'CDNA2 ISA',
    chapter: 12,
    sections: {
      ...SCALAR_AND_VECTOR,
      VOP3P_MAI: 10,
      ...{ VOP3: 11, DS: 12, MUBUF: 13, MTBUF: 14, MIMG: 15, FLAT: 16, GLOBAL: 16, SCRATCH: 16 },
    },
  },
  {
    family: 'gfx10',
    title: 'RDNA2 ISA',
    chapter: 12,
    sections: {
      ...SCALAR_AND_VECTOR,
      ...{ VOP3: 12, DS: 13, MUBUF: 14, MTBUF: 15, MIMG: 16, EXP: 17, FLAT: 18, GLOBAL: 18, SCRATCH: 18 },
    },
  },
  {
    family: 'gfx11',
    title: 'RDNA3 ISA',
    chapter: 16,
    sections: {
      ...SCALAR_AND_VECTOR,
      ...{ VOPD: 11, VOP3: 12, VINTERP: 13, LDSDIR: 14, DS: 15, MUBUF: 16, MTBUF: 17, MIMG: 18, EXP: 19 },
      ...{ FLAT: 20, GLOBAL: 20, SCRATCH: 20 },
    },
  },
];

/**
 * The section for a row of this format in the manual of the first of the families (own first) that has one:
 * `CDNA3 ISA 12.7`.
 */
export function manualSection(format: FormatName, families: readonly Family[]): string | undefined {
  const [manual] = families.flatMap((own) => MANUALS.filter(({ family }) => own === family));
  const section = manual?.sections[format];
  return section === undefined ? undefined : `${manual!.title} ${manual!.chapter}.${section}`;
}
