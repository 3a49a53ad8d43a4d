/**
 * How LLVM spells what follows the operands, format by format and both ways. A modifier is one object: the
 * text of its fields in an instruction, and what that text sets in a draft.
 */

import { hex } from '../../../base/text.ts';
import type { Draft } from '../encoding/encode.ts';
import type { FormatName } from '../encoding/formats.ts';
import { generationOf } from '../encoding/formats.ts';
import { isPackedOperation, selectsHalves, sourceCount, usesHalfSelects } from '../encoding/half-selects.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { controlsOf, PLAIN_LANE_CONTROLS } from '../encoding/lane-control.ts';
import { CACHE_CONTROL, MEMORY_MODIFIERS, SCOPE } from './memory-modifiers.ts';
import { bitList, flag, type Modifier, number, only, operandSpec, parseBits } from './modifier.ts';
import type { TextReader } from './reader/text-reader.ts';

const SCALES = ['', 'mul:2', 'mul:4', 'div:2'];

const outputScale: Modifier = {
  print: (instruction) => {
    const scale = SCALES[instruction.field('omod')]!;
    return scale && ` ${scale}`;
  },
  parse: (name, reader, draft) => {
    if ((name !== 'mul' && name !== 'div') || !draft.has('omod')) return false;
    reader.expect(':');
    const factor = reader.integerIn(1, 4, name);
    const scale = SCALES.indexOf(`${name}:${factor}`);
    if (scale < 0 && factor !== 1) reader.fail('expected mul:2, mul:4 or div:2');
    draft.set('omod', Math.max(scale, 0));
    return true;
  },
};

/** Bits of sources that have both halves: LLVM does not show them. */
const packedSources = ({ row }: Instruction): number =>
  row.operands.some(({ field, type }) => field === 'src0' && type.startsWith('v2')) ? 3 : 0;

const selectCount = ({ row }: Instruction): number => (row.flags.opSelText === 'all' ? 3 : sourceCount(row));

const halfSelect: Modifier = only(({ row, families }) => selectsHalves(row, families), {
  print: (instruction) => {
    const bits = instruction.field('op_sel');
    const count = selectCount(instruction);
    const shown = ((bits & (2 ** count - 1)) | ((bits >> 3) << count)) & ~packedSources(instruction);
    return bits === 0 || (shown === 0 && packedSources(instruction)) ? '' : bitList('op_sel', shown, count + 1);
  },
  parse: (name, reader, draft) => {
    if (name !== 'op_sel' || !draft.has('op_sel')) return false;
    const count = selectCount(draft);
    const bits = parseBits(reader, count + 1, name);
    draft.set('op_sel', (bits & (2 ** count - 1)) | ((bits >> count) << 3));
    return true;
  },
});

const fourSelects: Modifier = {
  print: (instruction) => {
    const bits = instruction.field('op_sel');
    return bits === 0 ? '' : bitList('op_sel', bits, 4);
  },
  parse: (name, reader, draft) => {
    if (name !== 'op_sel' || !draft.has('op_sel')) return false;
    draft.set('op_sel', parseBits(reader, 4, name));
    return true;
  },
};

/** Fetch inactive and bound_ctrl of v_permlane. */
const rowPermutation: Modifier = only(({ row }) => row.flags.opSelText === 'permutation', {
  print: (instruction) => {
    const bits = instruction.field('op_sel') & 3;
    return bits === 0 ? '' : bitList('op_sel', bits, 2);
  },
  parse: (name, reader, draft) => {
    if (name !== 'op_sel') return false;
    draft.set('op_sel', parseBits(reader, 2, name));
    return true;
  },
});

/**
 * Bits of op_sel as the number of a byte: of the result, or of the source, whose bits are the other way
 * round.
 */
const byteOfHalves = ({ row }: Pick<Instruction, 'row'>, bits: number): number =>
  row.flags.opSelText === 'resultByte' ? bits >> 2 : ((bits & 1) << 1) | ((bits >> 1) & 1);

const selectsByte = ({ row: { flags } }: Pick<Instruction, 'row'>): boolean =>
  flags.opSelText === 'resultByte' || flags.opSelText === 'sourceByte';

const byteNumber: Modifier = only(selectsByte, {
  print: (instruction) => {
    const byte = byteOfHalves(instruction, instruction.field('op_sel'));
    return byte === 0 ? '' : ` byte_sel:${byte}`;
  },
  parse: (name, reader, draft) => {
    if (name !== 'byte_sel' || !draft.has('op_sel')) return false;
    reader.expect(':');
    const byte = reader.integerIn(0, 3, 'byte');
    draft.set('op_sel', draft.row.flags.opSelText === 'resultByte' ? byte << 2 : byteOfHalves(draft, byte));
    return true;
  },
});

const byteSelect: Modifier = only(({ row }) => row.flags.opSelText === 'four', fourSelects);

/** VOP3P: a bit for each source, where not all are 0. */
const packedBits = (text: string, field: string): Modifier => ({
  print: (instruction) => {
    const count = sourceCount(instruction.row);
    const bits = instruction.field(field) & (2 ** count - 1);
    return bits === 0 ? '' : bitList(text, bits, count);
  },
  parse: (name, reader, draft) => {
    if (name !== text) return false;
    draft.set(field, parseBits(reader, sourceCount(draft.row), name));
    return true;
  },
});

/**
 * VOP3P: which half the high result is made of, usually the high one; the bits of sources that are not there
 * are set.
 */
const highHalves: Modifier = {
  print: (instruction) => {
    const count = sourceCount(instruction.row);
    const bits = instruction.field('op_sel_hi') | (instruction.field('op_sel_hi_2') << 2);
    const all = 2 ** count - 1;
    return ((bits ^ usualHighHalves(instruction)) & all) === 0 ? '' : bitList('op_sel_hi', bits, count);
  },
  parse: (name, reader, draft) => {
    if (name !== 'op_sel_hi') return false;
    const count = sourceCount(draft.row);
    setHighHalves(draft, parseBits(reader, count, name) | (usualHighHalves(draft) & ~(2 ** count - 1)));
    return true;
  },
  preset: (draft) => setHighHalves(draft, usualHighHalves(draft)),
};

const usualHighHalves = ({ row }: Instruction): number => (row.flags.mixed ? 0 : 7);

function setHighHalves(draft: Draft, bits: number): void {
  draft.set('op_sel_hi', bits & 3);
  draft.set('op_sel_hi_2', bits >> 2);
}

const isSparse = ({ row }: Instruction): boolean => row.flags.opSelText === 'indexKey';
const INDEX_KEYS = 4;
const saysHalves = (instruction: Instruction): boolean => usesHalfSelects(instruction.row) && !isSparse(instruction);
/** Mixed-precision operations have their signs on the sources. */
const hasSigns = ({ row }: Instruction): boolean => isPackedOperation(row) && !row.flags.mixed;

/** Which of the sets of indices in src2 a sparse product of gfx12 uses. */
const indexKey: Modifier = only(isSparse, {
  print: (instruction) => {
    const key = instruction.field('op_sel') & (INDEX_KEYS - 1);
    return key === 0 ? '' : ` index_key:${key}`;
  },
  parse: (name, reader, draft) => {
    if (name !== 'index_key') return false;
    reader.expect(':');
    draft.set('op_sel', reader.integerIn(0, INDEX_KEYS - 1, name));
    return true;
  },
});

const PACKED: readonly Modifier[] = [
  indexKey,
  only(saysHalves, packedBits('op_sel', 'op_sel')),
  { ...only(saysHalves, highHalves), preset: highHalves.preset! },
  only(hasSigns, packedBits('neg_lo', 'neg')),
  only(hasSigns, packedBits('neg_hi', 'neg_hi')),
  only(({ row }) => isPackedOperation(row), flag('clamp')),
];

const SELECTIONS = ['BYTE_0', 'BYTE_1', 'BYTE_2', 'BYTE_3', 'WORD_0', 'WORD_1', 'DWORD'];
/** The reserved 3 goes by the name of 0. */
const UNUSED = ['UNUSED_PAD', 'UNUSED_SEXT', 'UNUSED_PRESERVE', 'UNUSED_PAD'];

const selection = (field: string, names: readonly string[], usual: string): Modifier => ({
  print: (instruction) => ` ${field}:${names[instruction.field(field)] ?? instruction.field(field)}`,
  parse: (name, reader, draft) => {
    if (name !== field) return false;
    reader.expect(':');
    reader.skipBlanks();
    const at = reader.position;
    const value = names.indexOf(reader.word() ?? '');
    if (value < 0) reader.fail(`expected one of ${names.join(', ')}`, at);
    draft.set(field, value);
    return true;
  },
  preset: (draft) => draft.set(field, names.indexOf(usual)),
});

const destinationSelection = (field: string, names: readonly string[], usual: string): Modifier =>
  only(
    (instruction) => instruction.has(field) && !instruction.row.flags.noSdwaDestination,
    selection(field, names, usual),
  );

/** Without a choice the destination is the whole register. */
const wholeDestination: Modifier = only(
  (instruction) => instruction.has('dst_sel') && instruction.row.flags.noSdwaDestination === true,
  { ...selection('dst_sel', SELECTIONS, 'DWORD'), print: () => '', parse: () => false },
);

/** Of a source that the instruction has. */
const sourceSelection = (source: 'src0' | 'src1'): Modifier =>
  only(
    (instruction) => operandSpec(instruction, source) !== undefined,
    selection(`${source}_sel`, SELECTIONS, 'DWORD'),
  );

function parseLaneControl(name: string, reader: TextReader, draft: Draft): number | undefined {
  if (name === 'quad_perm') {
    reader.expect(':');
    const lanes = reader.list(4, 3, name);
    if (lanes.length !== 4) reader.fail('expected four lanes');
    return lanes.reduce((control, lane, i) => control | (lane << (2 * i)), 0);
  }
  const plain = PLAIN_LANE_CONTROLS[name];
  if (plain !== undefined) return plain;
  const named = controlsOf(draft.families).filter((control) => control.name === name);
  if (named.length === 0) return undefined;
  reader.expect(':');
  reader.skipBlanks();
  const at = reader.position;
  const lanes = Number(reader.integer());
  const found = named.find(({ first, last }) => lanes >= first && lanes <= last);
  if (!found) return reader.fail(`${name} cannot be ${lanes}`, at);
  return found.base + (found.fixed === undefined ? lanes : 0);
}

/** A reserved control. */
const NO_CONTROL = 0x1ff;

const laneControl: Modifier = {
  print: (instruction) => {
    const control = instruction.field('dpp_ctrl');
    if (control <= 0xff) return ` quad_perm:[${[0, 2, 4, 6].map((shift) => (control >> shift) & 3).join(',')}]`;
    const plain = Object.entries(PLAIN_LANE_CONTROLS).find(([, value]) => value === control)?.[0];
    if (plain !== undefined) return ` ${plain}`;
    for (const { name, base, first, last, fixed } of controlsOf(instruction.families)) {
      if (fixed !== undefined && control === base) return ` ${name}:${fixed}`;
      if (fixed === undefined && control >= base + first && control <= base + last) return ` ${name}:${control - base}`;
    }
    return ` dpp_ctrl:${hex(control)}`;
  },
  parse: (name, reader, draft) => {
    const control = parseLaneControl(name, reader, draft);
    if (control === undefined) return false;
    draft.set('dpp_ctrl', control);
    return true;
  },
  preset: (draft) => draft.set('dpp_ctrl', NO_CONTROL),
  missing: (draft) =>
    draft.field('dpp_ctrl') === NO_CONTROL ? 'expected a lane control, such as row_shl:1' : undefined,
};

/** Which rows or banks are written, always printed; all of them without it. */
const mask = (field: 'row_mask' | 'bank_mask'): Modifier => ({
  ...number(field),
  print: (instruction) => ` ${field}:${hex(instruction.field(field))}`,
  preset: (draft) => draft.set(field, 15),
});

/** The old spelling `bound_ctrl:0` means the same. */
const boundControl: Modifier = {
  print: (instruction) => (instruction.field('bound_ctrl') ? ' bound_ctrl:1' : ''),
  parse: (name, reader, draft) => {
    if (name !== 'bound_ctrl') return false;
    reader.expect(':');
    const value = reader.integerIn(0, 1, name);
    draft.set(name, generationOf(draft.families).oldBoundControl ? 1 : value);
    return true;
  },
};

/** The lane of its group of eight that each lane reads. */
const groupLanes: Modifier = {
  print: (instruction) => {
    const lanes = instruction.field('dpp8');
    return ` dpp8:[${Array.from({ length: 8 }, (_, i) => (lanes >> (3 * i)) & 7).join(',')}]`;
  },
  parse: (name, reader, draft) => {
    if (name !== 'dpp8') return false;
    reader.expect(':');
    const lanes = reader.list(8, 7, name);
    if (lanes.length !== 8) reader.fail('expected eight lanes');
    draft.set(
      name,
      lanes.reduce((all, lane, i) => all | (lane << (3 * i)), 0),
    );
    return true;
  },
};

const SDWA: readonly Modifier[] = [
  flag('clamp'),
  outputScale,
  destinationSelection('dst_sel', SELECTIONS, 'DWORD'),
  destinationSelection('dst_unused', UNUSED, 'UNUSED_PRESERVE'),
  wholeDestination,
  sourceSelection('src0'),
  sourceSelection('src1'),
];
const fetchInactive: Modifier = only((instruction) => instruction.has('fi'), number('fi'));
const DPP: readonly Modifier[] = [laneControl, mask('row_mask'), mask('bank_mask'), boundControl, fetchInactive];
const DPP8: readonly Modifier[] = [groupLanes, fetchInactive];
const VOP3: readonly Modifier[] = [rowPermutation, byteSelect, byteNumber, halfSelect, flag('clamp'), outputScale];
/** Always printed. */
const waitForExports: Modifier = {
  ...number('waitexp', 'wait_exp'),
  print: (instruction) => ` wait_exp:${instruction.field('waitexp')}`,
};

const isDoubleProduct = ({ row, target }: Instruction): boolean =>
  row.flags.doubles === true && target.negatesDoubleProducts;

/** Signs of the sources where the matrix is of f64 (CDNA3). */
const productSigns: Modifier = only(isDoubleProduct, {
  print: (instruction) => (instruction.field('blgp') ? bitList('neg', instruction.field('blgp'), 3) : ''),
  parse: (name, reader, draft) => {
    if (name !== 'neg') return false;
    draft.set('blgp', parseBits(reader, 3, name));
    return true;
  },
});

const MODIFIERS: Readonly<Partial<Record<FormatName, readonly Modifier[]>>> = {
  ...MEMORY_MODIFIERS,
  VOP3,
  VOP3B: VOP3,
  VOP3P: PACKED,
  VOP3P_MAI: [
    number('cbsz'),
    number('abid'),
    productSigns,
    only((instruction) => !isDoubleProduct(instruction), number('blgp')),
  ],
  VOP1_SDWA: SDWA,
  VOP2_SDWA: SDWA,
  VOPC_SDWA: SDWA,
  VOP1_DPP: DPP,
  VOP2_DPP: DPP,
  VOPC_DPP: DPP,
  VOP3_DPP: [...VOP3, ...DPP],
  VOP3B_DPP: [...VOP3, ...DPP],
  VOP3P_DPP: [...PACKED, ...DPP],
  VOP1_DPP8: DPP8,
  VOP2_DPP8: DPP8,
  VOPC_DPP8: DPP8,
  VOP3_DPP8: [...VOP3, ...DPP8],
  VOP3B_DPP8: [...VOP3, ...DPP8],
  VOP3P_DPP8: [...PACKED, ...DPP8],
  VINTERP: [flag('clamp'), fourSelects, waitForExports],
};

/** In the order in which they are printed; source text may have them in any. */
export function modifiersOf(instruction: Instruction): readonly Modifier[] {
  const { row, format } = instruction;
  if (row.operands.length === 0) return format.name === 'MUBUF' ? SCOPE : format.name === 'GLOBAL' ? CACHE_CONTROL : [];
  return MODIFIERS[format.name] ?? [];
}

export function modifierText(instruction: Instruction): string {
  let text = '';
  for (const { print } of modifiersOf(instruction)) text += print(instruction);
  return text;
}
