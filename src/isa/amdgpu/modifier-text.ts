/** How LLVM spells what follows the operands, format by format. */
import type { FormatName } from './formats.ts';
import { swizzleText } from './immediate-text.ts';
import type { Instruction } from './instruction.ts';
import { hex, hexOffset, isMixed } from './operand-text.ts';
import { is16Bit } from './row.ts';

/** Text with its leading space, or nothing. */
type Modifier = (instruction: Instruction) => string;

const when =
  (field: string, text?: string): Modifier =>
  (instruction) =>
    instruction.field(field) ? ` ${text ?? instruction.fieldText(field)}` : '';

const offset: Modifier = (instruction) => {
  const { row, format } = instruction;
  const spec = row.operands.find(({ field }) => field === 'offset');
  if (!spec) return '';
  // LLVM prints the 13 bits of the field although FLAT uses 12 of them.
  const value = format.name === 'FLAT' ? instruction.field('offset') : instruction.immediate(spec);
  if (value === 0) return '';
  return ` offset:${row.name === 'ds_swizzle_b32' ? swizzleText(value) : value}`;
};

const pairOffset =
  (field: 'offset0' | 'offset1'): Modifier =>
  (instruction) => {
    const isPair = instruction.row.operands.some((spec) => spec.field === field);
    return isPair && instruction.field(field) ? ` ${field}:${instruction.field(field)}` : '';
  };

const outputScale: Modifier = (instruction) => ['', ' mul:2', ' mul:4', ' div:2'][instruction.field('omod')]!;

const sourceCount = ({ row }: Instruction): number => row.operands.filter(({ field }) => /^src\d$/.test(field)).length;

const bitList = (name: string, bits: number, count: number): string =>
  ` ${name}:[${Array.from({ length: count }, (_, i) => (bits >> i) & 1).join(',')}]`;

/** VOP3: a bit for each source and one for the destination, of instructions that are not promoted from another format. */
const halfSelect: Modifier = (instruction) => {
  const bits = instruction.field('op_sel');
  const { row } = instruction;
  if (bits !== 0 && row.name.startsWith('v_cvt_sr_')) return bitList('op_sel', bits, 4);
  const selects =
    row.format === 'VOP3' && row.operands.some(({ type }) => is16Bit(type)) && !row.name.includes('_legacy_');
  if (bits === 0 || !selects) return '';
  const count = sourceCount(instruction);
  return bitList('op_sel', (bits & (2 ** count - 1)) | ((bits >> 3) << count), count + 1);
};

/** VOP3P: a bit for each source where they are not all as usual. Mixed-precision operations have their signs on the sources. */
const packed: Modifier = (instruction) => {
  const count = sourceCount(instruction);
  if (count === 1) return ''; // a move of an accumulator
  const all = 2 ** count - 1;
  const list = (name: string, bits: number, usual: number): string =>
    (bits & all) === usual ? '' : bitList(name, bits, count);
  const highHalves = instruction.field('op_sel_hi') | (instruction.field('op_sel_hi_2') << 2);
  const mixed = isMixed(instruction);
  const halves = list('op_sel', instruction.field('op_sel'), 0) + list('op_sel_hi', highHalves, mixed ? 0 : all);
  const signs = list('neg_lo', instruction.field('neg'), 0) + list('neg_hi', instruction.field('neg_hi'), 0);
  return halves + (mixed ? '' : signs) + when('clamp')(instruction);
};

const SELECTIONS = ['BYTE_0', 'BYTE_1', 'BYTE_2', 'BYTE_3', 'WORD_0', 'WORD_1', 'DWORD'];
/** The reserved 3 goes by the name of 0. */
const UNUSED = ['UNUSED_PAD', 'UNUSED_SEXT', 'UNUSED_PRESERVE', 'UNUSED_PAD'];

const selection =
  (field: string, names: readonly string[]): Modifier =>
  (instruction) =>
    instruction.has(field) && !(field.startsWith('dst') && instruction.row.flags.noSdwaDestination)
      ? ` ${field}:${names[instruction.field(field)] ?? instruction.field(field)}`
      : '';

/** Of a source that the instruction has. */
const sourceSelection =
  (source: 'src0' | 'src1'): Modifier =>
  (instruction) =>
    instruction.row.operands.some(({ field }) => field === source)
      ? selection(`${source}_sel`, SELECTIONS)(instruction)
      : '';

/** A range is one control for each number of lanes, in the low bits. */
const DPP_CONTROLS: readonly (readonly [first: number, last: number, name: string])[] = [
  [0x101, 0x10f, 'row_shl'],
  [0x111, 0x11f, 'row_shr'],
  [0x121, 0x12f, 'row_ror'],
  [0x130, 0x130, 'wave_shl:1'],
  [0x134, 0x134, 'wave_rol:1'],
  [0x138, 0x138, 'wave_shr:1'],
  [0x13c, 0x13c, 'wave_ror:1'],
  [0x140, 0x140, 'row_mirror'],
  [0x141, 0x141, 'row_half_mirror'],
  [0x142, 0x142, 'row_bcast:15'],
  [0x143, 0x143, 'row_bcast:31'],
  [0x150, 0x15f, 'row_newbcast'],
];

const laneControl: Modifier = (instruction) => {
  const control = instruction.field('dpp_ctrl');
  if (control <= 0xff) return ` quad_perm:[${[0, 2, 4, 6].map((shift) => (control >> shift) & 3).join(',')}]`;
  const found = DPP_CONTROLS.find(([first, last]) => control >= first && control <= last);
  if (!found) return ` dpp_ctrl:${hex(control)}`;
  const [first, last, name] = found;
  return first === last ? ` ${name}` : ` ${name}:${control & 15}`;
};

const masks: Modifier = (instruction) =>
  ` row_mask:${hex(instruction.field('row_mask'))} bank_mask:${hex(instruction.field('bank_mask'))}`;

/** Behind a register; alone it is an operand. */
const scalarOffset: Modifier = (instruction) => {
  const spec = instruction.row.operands.find(({ field }) => field === 'offset');
  if (!spec || instruction.field('imm') === 0 || instruction.field('soffset_en') === 0) return '';
  return ` offset:${hexOffset(instruction.immediate(spec))}`;
};

/** Only of accesses that move data. */
const scalarCache: Modifier = (instruction) => {
  const [data, ...address] = instruction.row.operands;
  return data?.field === 'sdata' && data.file === 'scalar' && address.length > 0 ? when('glc')(instruction) : '';
};

/** gfx90a has no GDS; the bit belongs to the encoding of global wave sync. */
const isGlobalSync: Modifier = (instruction) => (instruction.row.name.startsWith('ds_gws_') ? ' gds' : '');

const CACHE: readonly Modifier[] = [when('glc'), when('slc'), when('scc')];
/** A load to the LDS says so last, a store from it (which has no data register) first. */
const lds =
  (isStore: boolean): Modifier =>
  (instruction) =>
    instruction.row.operands.some(({ field }) => field === 'vdata') === isStore ? '' : when('lds')(instruction);

const FLAT: readonly Modifier[] = [offset, ...CACHE, when('lds')];
const SDWA: readonly Modifier[] = [
  when('clamp'),
  outputScale,
  selection('dst_sel', SELECTIONS),
  selection('dst_unused', UNUSED),
  sourceSelection('src0'),
  sourceSelection('src1'),
];
const DPP: readonly Modifier[] = [laneControl, masks, when('bound_ctrl', 'bound_ctrl:1')];
const VOP3: readonly Modifier[] = [halfSelect, when('clamp'), outputScale];

/** Signs of the sources where the matrix is of f64 (CDNA3). */
const broadcast: Modifier = (instruction) => {
  const value = instruction.field('blgp');
  if (value === 0) return '';
  return /^v_mfma_.*_f64$/.test(instruction.row.name) ? bitList('neg', value, 3) : ` blgp:${value}`;
};

/** Writing back and invalidating caches: CDNA3 says up to which scope. */
const scope: Modifier = (instruction) =>
  instruction.families.includes('gfx940') ? when('glc')(instruction) + when('scc')(instruction) : '';

const MODIFIERS: Readonly<Partial<Record<FormatName, readonly Modifier[]>>> = {
  SMEM: [scalarOffset, scalarCache],
  VOP3,
  VOP3B: VOP3,
  VOP3P: [packed],
  VOP3P_MAI: [
    (instruction) => (instruction.field('cbsz') ? ` cbsz:${instruction.field('cbsz')}` : ''),
    (instruction) => (instruction.field('abid') ? ` abid:${instruction.field('abid')}` : ''),
    broadcast,
  ],
  VOP1_SDWA: SDWA,
  VOP2_SDWA: SDWA,
  VOPC_SDWA: SDWA,
  VOP1_DPP: DPP,
  VOP2_DPP: DPP,
  DS: [offset, pairOffset('offset0'), pairOffset('offset1'), isGlobalSync],
  FLAT,
  GLOBAL: FLAT,
  SCRATCH: FLAT,
  MUBUF: [when('idxen'), when('offen'), offset, lds(true), ...CACHE, lds(false)],
};

export function modifierText(instruction: Instruction): string {
  const { row, format } = instruction;
  if (row.operands.length === 0) return format.name === 'MUBUF' ? scope(instruction) : '';
  return (MODIFIERS[format.name] ?? []).map((modifier) => modifier(instruction)).join('');
}
