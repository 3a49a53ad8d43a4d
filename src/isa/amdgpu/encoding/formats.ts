/**
 * Encoding formats: which bits identify a format, where its opcode is and where its fields are. One entry for
 * each layout; generations share an entry as long as the layout is the same. Sources: "AMD Instinct MI200
 * Instruction Set Architecture" chapter 13 (Microcode formats), CDNA3 ISA chapter 13.
 */

import { assert } from '../../../base/errors.ts';
import { type Extension, type Family, type Format, type FormatName, fields, format } from './format.ts';

export type { Extension, Family, Field, Format, FormatName } from './format.ts';

const FLAT_FIELDS = 'slc:17 glc:16 lds:13 offset:12:0 vdst:63:56 saddr:54:48 data:47:40 addr:39:32';
/** A field of width 0. */
const NO_OPCODE = 'op:-1:0';
const EXPORT_FIELDS = 'vm:12 done:11 compr:10 target:9:4 en:3:0 vsrc0:39:32 vsrc1:47:40 vsrc2:55:48 vsrc3:63:56';
const SDWA_FIELDS = 'src0:39:32 clamp:45 omod:47:46 src0_sel:50:48 src0_sext:51 src0_neg:52 src0_abs:53 src0_sgpr:55';
const SDWA_SRC1 = 'src1_sel:58:56 src1_sext:59 src1_neg:60 src1_abs:61 src1_sgpr:63';
const DPP_FIELDS =
  'src0:39:32 dpp_ctrl:48:40 bound_ctrl:51 src0_neg:52 src0_abs:53 src1_neg:54 src1_abs:55 bank_mask:59:56 row_mask:63:60';

const RDNA3_FLAT_FIELDS = 'slc:15 glc:14 dlc:13 offset:12:0 vdst:63:56 saddr:54:48 data:47:40 addr:39:32';
const RDNA3_BUFFER_FIELDS =
  'glc:14 dlc:13 slc:12 offset:11:0 soffset:63:56 idxen:55 offen:54 tfe:53 srsrc:52:48 vdata:47:40 vaddr:39:32';
const RDNA3_DPP_FIELDS = (at: 32 | 64): string =>
  `src0:${at + 7}:${at} dpp_ctrl:${at + 16}:${at + 8} fi:${at + 18} bound_ctrl:${at + 19} bank_mask:${at + 27}:${at + 24} row_mask:${at + 31}:${at + 28}`;
/** The marker differs with `fi`, in its bits 0 and 1. */
const DPP8_FIELDS = (at: 32 | 64): string => `fi:${at === 32 ? 1 : 33} src0:${at + 7}:${at} dpp8:${at + 31}:${at + 8}`;

/**
 * In the order in which a decoder must try them: VOP1 and VOPC before VOP2, whose pattern contains theirs;
 * the SDWA and DPP forms are chosen by the value of src0, not by a pattern.
 */
const GFX9_FORMATS: readonly Format[] = [
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
    'gds:16 offset:15:0 offset1:15:8 offset0:7:0 vdst:63:56 data1:55:48 data0:47:40 addr:39:32 data:39:32',
  ),
  format('FLAT', 8, '110111..........00', 'op:24:18', FLAT_FIELDS),
  format('SCRATCH', 8, '110111..........01', 'op:24:18', FLAT_FIELDS),
  format('GLOBAL', 8, '110111..........10', 'op:24:18', FLAT_FIELDS),
  format(
    'MUBUF',
    8,
    '111000',
    'op:24:18',
    'slc:17 lds:16 glc:14 idxen:13 offen:12 offset:11:0 soffset:63:56 tfe:55 srsrc:52:48 vdata:47:40 vaddr:39:32',
  ),
  format(
    'MTBUF',
    8,
    '111010',
    'op:18:15',
    'format:25:19 glc:14 idxen:13 offen:12 offset:11:0 soffset:63:56 tfe:55 slc:54 srsrc:52:48 vdata:47:40 vaddr:39:32',
  ),
  format(
    'MIMG',
    8,
    '111100',
    'op:24:18 op:0',
    'slc:25 lwe:17 tfe:16 r128:15 da:14 glc:13 unrm:12 dmask:11:8 d16:63 ssamp:57:53 srsrc:52:48 vdata:47:40 vaddr:39:32',
  ),
  format('EXP', 8, '110001', NO_OPCODE, EXPORT_FIELDS),
];

/** Formats of vector instructions that gfx10 and gfx11 have alike. */
const RDNA_VOP3_FORMATS: readonly Format[] = [
  format(
    'VOP3',
    8,
    '110101',
    'op:25:16',
    'clamp:15 op_sel:14:11 abs:10:8 vdst:7:0 neg:63:61 omod:60:59 src2:58:50 src1:49:41 src0:40:32',
  ),
  format(
    'VOP3B',
    8,
    '110101',
    'op:25:16',
    'clamp:15 sdst:14:8 vdst:7:0 neg:63:61 omod:60:59 src2:58:50 src1:49:41 src0:40:32',
  ),
  format(
    'VOP3P',
    8,
    '110011000',
    'op:22:16',
    'clamp:15 op_sel_hi_2:14 op_sel:13:11 neg_hi:10:8 vdst:7:0 neg:63:61 op_sel_hi:60:59 src2:58:50 src1:49:41 src0:40:32',
  ),
];

/** Their layout is the same on all targets. */
const isCommonFormat = ({ name }: Format): boolean => /^SOP|^VOP[12C]$/.test(name);

const RDNA_DS = format(
  'DS',
  8,
  '110110',
  'op:25:18',
  'gds:17 offset:15:0 offset1:15:8 offset0:7:0 vdst:63:56 data1:55:48 data0:47:40 addr:39:32 data:39:32',
);

const RDNA2_FLAT_FIELDS = 'slc:17 glc:16 lds:13 dlc:12 offset:11:0 vdst:63:56 saddr:54:48 data:47:40 addr:39:32';
const RDNA2_BUFFER_FIELDS =
  'dlc:15 glc:14 idxen:13 offen:12 offset:11:0 soffset:63:56 tfe:55 slc:54 srsrc:52:48 vdata:47:40 vaddr:39:32';

/** RDNA2 ISA chapter 13 "Microcode Formats". */
const GFX10_FORMATS: readonly Format[] = [
  ...GFX9_FORMATS.filter(isCommonFormat),
  format('SMEM', 8, '111101', 'op:25:18', 'glc:16 dlc:14 sdata:12:6 sbase:5:0 offset:52:32 soffset:63:57'),
  ...RDNA_VOP3_FORMATS,
  RDNA_DS,
  format('FLAT', 8, '110111..........00', 'op:24:18', RDNA2_FLAT_FIELDS),
  format('SCRATCH', 8, '110111..........01', 'op:24:18', RDNA2_FLAT_FIELDS),
  format('GLOBAL', 8, '110111..........10', 'op:24:18', RDNA2_FLAT_FIELDS),
  format('MUBUF', 8, '111000', 'op:25:18', `lds:16 ${RDNA2_BUFFER_FIELDS}`),
  format('MTBUF', 8, '111010', 'op:18:16 op:53', `format:25:19 ${RDNA2_BUFFER_FIELDS}`),
  format(
    'MIMG',
    8,
    '111100',
    'op:24:18 op:0',
    'slc:25 lwe:17 tfe:16 r128:15 glc:13 unrm:12 dmask:11:8 dlc:7 dim:5:3 nsa:2:1 d16:63 a16:62 ssamp:57:53 srsrc:52:48 vdata:47:40 vaddr:39:32',
  ),
  format('EXP', 8, '111110', NO_OPCODE, EXPORT_FIELDS),
];

/** RDNA3 ISA chapter 15 "Microcode Formats". */
const GFX11_FORMATS: readonly Format[] = [
  ...GFX9_FORMATS.filter(isCommonFormat),
  format('SMEM', 8, '111101', 'op:25:18', 'glc:14 dlc:13 sdata:12:6 sbase:5:0 offset:52:32 soffset:63:57'),
  ...RDNA_VOP3_FORMATS,
  format(
    'VOPD',
    8,
    '110010',
    // The opcodes of the two halves, X above Y.
    'op:25:17',
    'vsrcx1:16:9 srcx0:8:0 vdstx:63:56 vdsty:55:49 vsrcy1:48:41 srcy0:40:32',
  ),
  format(
    'VINTERP',
    8,
    '11001101',
    'op:22:16',
    'clamp:15 op_sel:14:11 waitexp:10:8 vdst:7:0 neg:63:61 src2:58:50 src1:49:41 src0:40:32',
  ),
  format('LDSDIR', 4, '11001110', 'op:21:20', 'reserved:23:22 wait_vdst:19:16 attr:15:8 vdst:7:0'),
  RDNA_DS,
  format('FLAT', 8, '110111........00', 'op:24:18', `${RDNA3_FLAT_FIELDS} reserved:55`),
  format('SCRATCH', 8, '110111........01', 'op:24:18', `${RDNA3_FLAT_FIELDS} sve:55`),
  format('GLOBAL', 8, '110111........10', 'op:24:18', `${RDNA3_FLAT_FIELDS} reserved:55`),
  format('MUBUF', 8, '111000', 'op:25:18', RDNA3_BUFFER_FIELDS),
  format('MTBUF', 8, '111010', 'op:18:15', `format:25:19 ${RDNA3_BUFFER_FIELDS}`),
  format(
    'MIMG',
    8,
    '111100',
    'op:25:18',
    'lwe:54 tfe:53 r128:15 a16:16 d16:17 glc:14 dlc:13 slc:12 dmask:11:8 unrm:7 dim:4:2 nsa:0 ssamp:62:58 srsrc:52:48 vdata:47:40 vaddr:39:32',
  ),
  format(
    'EXP',
    8,
    '111110',
    NO_OPCODE,
    'en:3:0 target:9:4 done:11 row:13 vsrc0:39:32 vsrc1:47:40 vsrc2:55:48 vsrc3:63:56',
  ),
];

const GFX12_CACHE = 'scope:51:50 th:54:52 glc:52';
const GFX12_FLAT_FIELDS = `saddr:6:0 vdst:39:32 ${GFX12_CACHE} data:62:55 addr:71:64 offset:95:72`;
const GFX12_BUFFER_FIELDS = `soffset:6:0 tfe:22 vdata:39:32 srsrc:49:41 ${GFX12_CACHE} offen:62 idxen:63 vaddr:71:64 offset:95:72`;
const GFX12_IMAGE_FIELDS = `dim:2:0 r128:4 d16:5 a16:6 dmask:25:22 vdata:39:32 rsrc:49:41 ${GFX12_CACHE}`;

/**
 * RDNA4 ISA chapter 15 "Microcode Formats": vector memory accesses have 12 bytes. What the manual calls
 * VBUFFER is MUBUF and, typed, MTBUF; VFLAT, VGLOBAL and VSCRATCH are FLAT, GLOBAL and SCRATCH; VIMAGE is
 * MIMG. The low bit of the temporal hint of an atomic is \`glc\`.
 */
const GFX12_FORMATS: readonly Format[] = [
  ...GFX11_FORMATS.filter(
    ({ name }) => !/^(SMEM|VINTERP|LDSDIR|DS|FLAT|SCRATCH|GLOBAL|MUBUF|MTBUF|MIMG|EXP)$/.test(name),
  ),
  format('SMEM', 8, '111101', 'op:18:13', 'scope:22:21 th:24:23 sdata:12:6 sbase:5:0 offset:55:32 soffset:63:57'),
  format(
    'VINTERP',
    8,
    '11001101',
    'op:20:16',
    'clamp:15 op_sel:14:11 waitexp:10:8 vdst:7:0 neg:63:61 src2:58:50 src1:49:41 src0:40:32',
  ),
  format('LDSDIR', 4, '11001110', 'op:21:20', 'wait_vm_vsrc:23 wait_va_vdst:19:16 attr:15:8 vdst:7:0'),
  format(
    'DS',
    8,
    '110110',
    'op:25:18',
    'offset:15:0 offset1:15:8 offset0:7:0 vdst:63:56 data1:55:48 data0:47:40 addr:39:32 data:39:32',
  ),
  format('FLAT', 12, '11101100', 'op:21:14', GFX12_FLAT_FIELDS),
  format('SCRATCH', 12, '11101101', 'op:21:14', `${GFX12_FLAT_FIELDS} sve:49`),
  format('GLOBAL', 12, '11101110', 'op:21:14', GFX12_FLAT_FIELDS),
  format('MTBUF', 12, '110001....1000', 'op:17:14', `format:61:55 ${GFX12_BUFFER_FIELDS}`),
  format('MUBUF', 12, '110001', 'op:21:14', `format:61:55 ${GFX12_BUFFER_FIELDS}`),
  format(
    'MIMG',
    12,
    '110100',
    'op:21:14',
    `${GFX12_IMAGE_FIELDS} tfe:55 vaddr4:63:56 vaddr0:71:64 vaddr1:79:72 vaddr2:87:80 vaddr3:95:88`,
  ),
  format(
    'VSAMPLE',
    12,
    '111001',
    'op:21:14',
    `${GFX12_IMAGE_FIELDS} tfe:3 unrm:13 lwe:40 samp:63:55 vaddr0:71:64 vaddr1:79:72 vaddr2:87:80 vaddr3:95:88`,
  ),
  ...GFX11_FORMATS.filter(({ name }) => name === 'EXP'),
];

const gfx9Format = (name: FormatName): Format => GFX9_FORMATS.find((candidate) => candidate.name === name)!;

/** The same bits with other fields: each of `list` takes the place of the one with its name or position. */
function changed(name: FormatName, list: string): Format {
  const original = gfx9Format(name);
  const others = fields(list);
  const kept = original.fields.filter(
    ({ name, low }) => !others.some((other) => other.name === name || other.low === low),
  );
  return { ...original, fields: [...kept, ...others] };
}

/**
 * Cache bits by their names on CDNA3 (CDNA3 ISA 9.1.10 and 10.1); loads to the LDS are instructions of their
 * own.
 */
const GFX940_FLAT = 'glc=sc0:16 slc=nt:17 scc=sc1:25 acc:55';
/** CDNA2: a bit for coherence with other devices, and accumulators as data. */
const GFX90A_FLAT = 'scc:25 acc:55';

/** Layouts of single families in place of those of their generation. */
const FAMILY_FORMATS: Readonly<Partial<Record<Family, readonly Format[]>>> = {
  gfx90a: [
    changed('DS', 'acc:25'),
    changed('FLAT', GFX90A_FLAT),
    changed('GLOBAL', GFX90A_FLAT),
    changed('SCRATCH', GFX90A_FLAT),
    changed('MUBUF', 'scc:15 acc:55'),
    changed('MTBUF', 'scc:53 acc:55'),
  ],
  gfx940: [
    changed('FLAT', `${GFX940_FLAT} reserved:13`),
    changed('GLOBAL', `${GFX940_FLAT} reserved:13`),
    changed('SCRATCH', `${GFX940_FLAT} sve:13`),
    changed('MUBUF', 'glc=sc0:14 slc=nt:17 scc=sc1:15 acc:55'),
    changed('MTBUF', 'glc=sc0:14 slc=nt:54 scc=sc1:53 acc:55'),
  ],
};

/** Values of src0 that announce a dword more. */
export const EXTENSION_MARKERS: Readonly<Record<number, Extension>> = {
  233: 'DPP8',
  // Also reads lanes that EXEC turns off.
  234: 'DPP8',
  249: 'SDWA',
  250: 'DPP',
};
const EXTENSION_MARKER: Readonly<Record<Extension, number>> = { DPP8: 233, SDWA: 249, DPP: 250 };

/** The form of `original` whose src0 stands in an added dword. */
function extended(original: Format, extension: Extension, fieldText: string): Format {
  const kept = original.fields.filter((field) => field.name !== 'src0');
  const { low } = original.fields.find((field) => field.name === 'src0')!;
  return {
    ...original,
    marker: { low, value: EXTENSION_MARKER[extension] },
    name: `${original.name}_${extension}` as FormatName,
    sizeBytes: original.sizeBytes === 4 ? 8 : 12,
    fields: [...kept, ...fields(fieldText)],
  };
}

export const SRC_LITERAL = 255;

export interface EncodingGeneration {
  /** In the order in which a decoder must try them. */
  readonly primary: readonly Format[];
  /** Formats that another one's src0 announces. */
  readonly extended: readonly Format[];
  /** Where an opcode of a primary format appears in VOP3. */
  readonly vop3Base: Readonly<Partial<Record<FormatName, number>>>;
  /** Instructions of 8 bytes may have a literal constant too. */
  readonly wideLiterals: boolean;
  /** A 16-bit result leaves the other half of its register as it was, whatever the instruction. */
  readonly keepsHalves: boolean;
  /**
   * VOP1, VOP2 and VOPC name halves of v0..v127 where operands have 16 bits: bit 7 says high (RDNA3 ISA 7.4).
   */
  readonly namesHalves: boolean;
  /** Fields of sources that a wide vector instruction lacks may hold the constant 0, which LLVM 23 writes. */
  readonly idleSources: boolean;
  /** LDS instructions that return nothing may name a result all the same: programs for gfx11 do. */
  readonly idleLdsResults: boolean;
  /** Atomics of buffers have the bit `dlc`. */
  readonly atomicDlc: boolean;
  /** Which scalar memory instructions have bits for caches. */
  readonly scalarCacheBits: 'all' | 'loads';
  /** LLVM calls the dword 0 `v_illegal`. */
  readonly namesZero: boolean;
  /** In text `bound_ctrl:0` sets the bit, as it did before it could be written as it is encoded. */
  readonly oldBoundControl: boolean;
}

const GFX9: EncodingGeneration = {
  primary: GFX9_FORMATS,
  extended: [
    extended(gfx9Format('VOP1'), 'SDWA', `${SDWA_FIELDS} dst_sel:42:40 dst_unused:44:43 reserved:61:56 reserved:63`),
    extended(gfx9Format('VOP2'), 'SDWA', `${SDWA_FIELDS} dst_sel:42:40 dst_unused:44:43 ${SDWA_SRC1}`),
    extended(
      gfx9Format('VOPC'),
      'SDWA',
      `src0:39:32 sdst:46:40 sdst_en:47 src0_sel:50:48 src0_sext:51 src0_neg:52 src0_abs:53 src0_sgpr:55 ${SDWA_SRC1}`,
    ),
    extended(gfx9Format('VOP1'), 'DPP', DPP_FIELDS),
    extended(gfx9Format('VOP2'), 'DPP', DPP_FIELDS),
  ],
  // CDNA2 ISA 13.3.4.
  vop3Base: { VOPC: 0, VOP2: 0x100, VOP1: 0x140 },
  wideLiterals: false,
  keepsHalves: false,
  namesHalves: false,
  idleSources: false,
  idleLdsResults: false,
  atomicDlc: false,
  scalarCacheBits: 'all',
  namesZero: false,
  oldBoundControl: true,
};

/** The SDWA forms, which gfx11 does not have. */
const SDWA_FORMATS: readonly Format[] = GFX9.extended.filter(({ name }) => name.endsWith('_SDWA'));

const DPP_SIGNS = 'src0_neg:52 src0_abs:53 src1_neg:54 src1_abs:55';

/** RDNA2 ISA 13.3: DPP behind instructions of 4 bytes other than comparisons. */
const GFX10: EncodingGeneration = {
  primary: GFX10_FORMATS,
  extended: [
    ...SDWA_FORMATS,
    ...GFX10_FORMATS.filter(({ name }) => /^VOP[12]$/.test(name)).flatMap((original) => [
      extended(original, 'DPP', `${RDNA3_DPP_FIELDS(32)} ${DPP_SIGNS}`),
      extended(original, 'DPP8', DPP8_FIELDS(32)),
    ]),
  ],
  vop3Base: { VOPC: 0, VOP2: 0x100, VOP1: 0x180 },
  wideLiterals: true,
  keepsHalves: true,
  namesHalves: false,
  idleSources: true,
  idleLdsResults: false,
  atomicDlc: false,
  scalarCacheBits: 'all',
  namesZero: true,
  oldBoundControl: true,
};

/** RDNA3 ISA 15.3.8 and 15.3.9: behind VOP3 the signs of the sources are those of VOP3. */
const GFX11: EncodingGeneration = {
  primary: GFX11_FORMATS,
  extended: GFX11_FORMATS.filter(({ name }) => /^VOP(1|2|C|3|3B|3P)$/.test(name)).flatMap((original) => {
    const at = original.sizeBytes === 4 ? 32 : 64;
    const signs = at === 32 ? ` ${DPP_SIGNS}` : '';
    return [extended(original, 'DPP', RDNA3_DPP_FIELDS(at) + signs), extended(original, 'DPP8', DPP8_FIELDS(at))];
  }),
  // RDNA3 ISA 15.3.5.
  vop3Base: { VOPC: 0, VOP2: 0x100, VOP1: 0x180 },
  wideLiterals: true,
  keepsHalves: true,
  namesHalves: true,
  idleSources: true,
  idleLdsResults: true,
  atomicDlc: true,
  scalarCacheBits: 'loads',
  namesZero: true,
  oldBoundControl: false,
};

/** RDNA4 ISA 15.3. */
const GFX12: EncodingGeneration = { ...GFX11, primary: GFX12_FORMATS };

const GENERATIONS: Readonly<Partial<Record<Family, EncodingGeneration>>> = {
  gfx9: GFX9,
  gfx10: GFX10,
  gfx11: GFX11,
  gfx12: GFX12,
};

/** The encoding generation of a target with these families, own first. */
export function generationOf(families: readonly Family[]): EncodingGeneration {
  const owner = families.find((family) => GENERATIONS[family] !== undefined);
  assert(owner, () => `families ${families.join(', ')} belong to a generation`);
  return GENERATIONS[owner]!;
}

/**
 * The primary formats of a target with these families (own first), in the order in which a decoder must try
 * them.
 */
export function formatsOf(families: readonly Family[]): Format[] {
  return generationOf(families).primary.map(({ name }) => formatByName(name, families));
}

const OLDEST: readonly Family[] = ['gfx9'];
const formatsByFamilies = new WeakMap<readonly Family[], ReadonlyMap<FormatName, Format>>();

/** The layout that targets with these families (own first) have for a format of theirs. */
export function formatByName(name: FormatName, families: readonly Family[] = OLDEST): Format {
  let formats = formatsByFamilies.get(families);
  if (!formats) {
    const { primary, extended } = generationOf(families);
    const own = families.flatMap((family) => FAMILY_FORMATS[family] ?? []);
    // The first of a name counts.
    formats = new Map([...own, ...primary, ...extended].toReversed().map((format) => [format.name, format]));
    formatsByFamilies.set(families, formats);
  }
  const found = formats.get(name);
  assert(found, () => `${families[0]} has format ${name}`);
  return found;
}
