/**
 * Encoding formats: which bits identify a format, where its opcode is and where its fields are. One entry for each layout;
 * generations share an entry as long as the layout is the same.
 * Sources: "AMD Instinct MI200 Instruction Set Architecture" chapter 13 (Microcode formats), CDNA3 ISA chapter 13.
 */

/** Groups of targets with the same instruction encodings; a target searches its own first, then its ancestors. */
export type Family = 'gfx9' | 'gfx90a' | 'gfx940';

export interface Field {
  readonly name: string;
  /** How LLVM spells it where that is not its name. */
  readonly text?: string;
  /** Lowest bit, counted over the whole instruction, first dword first. */
  readonly low: number;
  readonly width: number;
}

export type FormatName =
  | 'SOP1'
  | 'SOP2'
  | 'SOPC'
  | 'SOPK'
  | 'SOPP'
  | 'SMEM'
  | 'VOP1'
  | 'VOP2'
  | 'VOPC'
  | 'VOP3'
  | 'VOP3B'
  | 'VOP3P'
  | 'VOP3P_MAI'
  | 'DS'
  | 'FLAT'
  | 'GLOBAL'
  | 'SCRATCH'
  | 'MUBUF'
  | 'VOP1_SDWA'
  | 'VOP2_SDWA'
  | 'VOPC_SDWA'
  | 'VOP1_DPP'
  | 'VOP2_DPP';

export interface Format {
  readonly name: FormatName;
  readonly sizeBytes: 4 | 8;
  /** Bits of the first dword that identify the format. */
  readonly mask: number;
  readonly value: number;
  readonly opcode: Field;
  readonly fields: readonly Field[];
}

/** `name:high:low` or `name:bit`, separated by spaces, `name=text:bit` with LLVM's spelling; bits from 32 on are in the second dword. */
function fields(list: string): Field[] {
  return list.split(' ').map((part) => {
    const [names, high, low] = part.split(':');
    const [name, text] = names!.split('=');
    const lowBit = Number(low ?? high);
    return { name: name!, low: lowBit, width: Number(high) - lowBit + 1, ...(text !== undefined && { text }) };
  });
}

function format(name: FormatName, sizeBytes: 4 | 8, pattern: string, opcode: string, fieldText: string): Format {
  const bits = pattern.padEnd(32, '.');
  return {
    name,
    sizeBytes,
    mask: Number.parseInt(bits.replaceAll('0', '1').replaceAll('.', '0'), 2) >>> 0,
    value: Number.parseInt(bits.replaceAll('.', '0'), 2) >>> 0,
    opcode: fields(opcode)[0]!,
    fields: fields(fieldText),
  };
}

const FLAT_FIELDS = 'scc:25 slc:17 glc:16 lds:13 offset:12:0 vdst:63:56 acc:55 saddr:54:48 data:47:40 addr:39:32';
const SDWA_FIELDS = 'src0:39:32 clamp:45 omod:47:46 src0_sel:50:48 src0_sext:51 src0_neg:52 src0_abs:53 src0_sgpr:55';
const SDWA_SRC1 = 'src1_sel:58:56 src1_sext:59 src1_neg:60 src1_abs:61 src1_sgpr:63';
const DPP_FIELDS =
  'src0:39:32 dpp_ctrl:48:40 bound_ctrl:51 src0_neg:52 src0_abs:53 src1_neg:54 src1_abs:55 bank_mask:59:56 row_mask:63:60';

/**
 * In the order in which a decoder must try them: VOP1 and VOPC before VOP2, whose pattern contains theirs; the SDWA and DPP
 * forms are chosen by the value of src0, not by a pattern.
 */
export const GFX9_FORMATS: readonly Format[] = [
  format('SOP1', 4, '101111101', 'op:15:8', 'sdst:22:16 ssrc0:7:0'),
  format('SOPC', 4, '101111110', 'op:22:16', 'ssrc1:15:8 ssrc0:7:0'),
  format('SOPP', 4, '101111111', 'op:22:16', 'simm16:15:0'),
  format('SOPK', 4, '1011', 'op:27:23', 'sdst:22:16 simm16:15:0'),
  format('SOP2', 4, '10', 'op:29:23', 'sdst:22:16 ssrc1:15:8 ssrc0:7:0'),
  format(
    'SMEM',
    8,
    '110000',
    'op:25:18',
    'imm:17 glc:16 nv:15 soffset_en:14 sdata:12:6 sbase:5:0 offset:52:32 soffset:63:57',
  ),
  format('VOP1', 4, '0111111', 'op:16:9', 'vdst:24:17 src0:8:0'),
  format('VOPC', 4, '0111110', 'op:24:17', 'src1:16:9 src0:8:0'),
  format('VOP2', 4, '0', 'op:30:25', 'vdst:24:17 src1:16:9 src0:8:0'),
  format(
    'VOP3P',
    8,
    '110100111',
    'op:22:16',
    'clamp:15 op_sel_hi_2:14 op_sel:13:11 neg_hi:10:8 vdst:7:0 neg:63:61 op_sel_hi:60:59 src2:58:50 src1:49:41 src0:40:32',
  ),
  format(
    'VOP3P_MAI',
    8,
    '110100111',
    'op:22:16',
    'acc_cd:15 abid:14:11 cbsz:10:8 vdst:7:0 blgp:63:61 acc_ab:60:59 src2:58:50 src1:49:41 src0:40:32',
  ),
  format(
    'VOP3',
    8,
    '110100',
    'op:25:16',
    'clamp:15 op_sel:14:11 abs:10:8 vdst:7:0 neg:63:61 omod:60:59 src2:58:50 src1:49:41 src0:40:32',
  ),
  format(
    'VOP3B',
    8,
    '110100',
    'op:25:16',
    'clamp:15 sdst:14:8 vdst:7:0 neg:63:61 omod:60:59 src2:58:50 src1:49:41 src0:40:32',
  ),
  format(
    'DS',
    8,
    '110110',
    'op:24:17',
    'acc:25 gds:16 offset:15:0 offset1:15:8 offset0:7:0 vdst:63:56 data1:55:48 data0:47:40 addr:39:32 data:39:32',
  ),
  format('FLAT', 8, '110111..........00', 'op:24:18', FLAT_FIELDS),
  format('SCRATCH', 8, '110111..........01', 'op:24:18', FLAT_FIELDS),
  format('GLOBAL', 8, '110111..........10', 'op:24:18', FLAT_FIELDS),
  format(
    'MUBUF',
    8,
    '111000',
    'op:24:18',
    'slc:17 lds:16 scc:15 glc:14 idxen:13 offen:12 offset:11:0 soffset:63:56 acc:55 srsrc:52:48 vdata:47:40 vaddr:39:32',
  ),
];

const base = (name: FormatName): Format => GFX9_FORMATS.find((candidate) => candidate.name === name)!;

/** The same bits with other fields: each of `list` takes the place of the one with its name or position. */
function changed(name: FormatName, list: string): Format {
  const original = base(name);
  const others = fields(list);
  const kept = original.fields.filter(
    ({ name, low }) => !others.some((other) => other.name === name || other.low === low),
  );
  return { ...original, fields: [...kept, ...others] };
}

/** Cache bits by their names on CDNA3 (CDNA3 ISA 9.1.10 and 10.1); loads to the LDS are instructions of their own. */
const GFX940_CACHE = 'glc=sc0:16 slc=nt:17 scc=sc1:25';

/** Layouts of single families in place of those of gfx9. */
const FAMILY_FORMATS: Readonly<Partial<Record<Family, readonly Format[]>>> = {
  gfx940: [
    changed('FLAT', `${GFX940_CACHE} reserved:13`),
    changed('GLOBAL', `${GFX940_CACHE} reserved:13`),
    changed('SCRATCH', `${GFX940_CACHE} sve:13`),
    changed('MUBUF', 'glc=sc0:14 slc=nt:17 scc=sc1:15'),
  ],
};

/** The primary formats of a target with these families (own first), in the order in which a decoder must try them. */
export function formatsOf(families: readonly Family[]): Format[] {
  return GFX9_FORMATS.map(({ name }) => formatByName(name, families));
}

const extended = (name: FormatName, from: FormatName, fieldText: string): Format => {
  const original = base(from);
  const kept = original.fields.filter((field) => field.name !== 'src0');
  return { ...original, name, sizeBytes: 8, fields: [...kept, ...fields(fieldText)] };
};

export const SRC0_SDWA = 249;
export const SRC0_DPP = 250;
export const SRC_LITERAL = 255;

export const EXTENDED_FORMATS: Readonly<Partial<Record<FormatName, Format>>> = {
  VOP1_SDWA: extended('VOP1_SDWA', 'VOP1', `${SDWA_FIELDS} dst_sel:42:40 dst_unused:44:43`),
  VOP2_SDWA: extended('VOP2_SDWA', 'VOP2', `${SDWA_FIELDS} dst_sel:42:40 dst_unused:44:43 ${SDWA_SRC1}`),
  VOPC_SDWA: extended(
    'VOPC_SDWA',
    'VOPC',
    `src0:39:32 sdst:46:40 sdst_en:47 src0_sel:50:48 src0_sext:51 src0_neg:52 src0_abs:53 src0_sgpr:55 ${SDWA_SRC1}`,
  ),
  VOP1_DPP: extended('VOP1_DPP', 'VOP1', DPP_FIELDS),
  VOP2_DPP: extended('VOP2_DPP', 'VOP2', DPP_FIELDS),
};

export function formatByName(name: FormatName, families: readonly Family[] = []): Format {
  const own = families.flatMap((family) => FAMILY_FORMATS[family] ?? []).find((candidate) => candidate.name === name);
  return own ?? EXTENDED_FORMATS[name] ?? base(name);
}
