/** Modifiers of memory accesses: offsets, addressing modes, cache control, formats. */

import type { Draft } from '../encoding/encode.ts';
import type { FormatName } from '../encoding/formats.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { DATA_FORMATS, NUMBER_FORMATS, unifiedFormats } from '../semantics/buffer/buffer-formats.ts';
import { CACHE_POLICY } from './cache-policy.ts';
import { swizzle } from './immediate-text.ts';
import { flag, type Modifier, number, only, operandSpec } from './modifier.ts';
import { hexOffset } from './operand-text.ts';
import type { TextReader } from './reader/text-reader.ts';

const offset: Modifier = {
  print: (instruction) => {
    const spec = operandSpec(instruction, 'offset');
    if (!spec) return '';
    // LLVM prints the 13 bits of the field although FLAT uses 12 of them.
    const isUnsigned = instruction.format.name === 'FLAT' && !instruction.has('th');
    const value = isUnsigned ? instruction.field('offset') : instruction.immediate(spec);
    if (value === 0) return '';
    const isPattern = instruction.row.flags.offsetPattern === true;
    return ` offset:${isPattern ? swizzle.print(value, instruction.target) : value}`;
  },
  parse: (name, reader, draft) => {
    const spec = operandSpec(draft, 'offset');
    if (name !== 'offset' || !spec) return false;
    reader.expect(':');
    const pattern = draft.row.flags.offsetPattern ? swizzle.parse(reader, draft.target) : undefined;
    draft.set('offset', pattern ?? reader.integerIn(...draft.immediateRange(spec), 'offset'));
    return true;
  },
};

const pairOffset = (field: 'offset0' | 'offset1'): Modifier =>
  only((instruction) => operandSpec(instruction, field) !== undefined, number(field));

/** Of a scalar access: behind a register; alone it is an operand. */
const scalarOffset: Modifier = {
  print: (instruction) => {
    const spec = operandSpec(instruction, 'offset');
    const says = instruction.has('imm')
      ? instruction.field('imm')
      : instruction.has('th') || instruction.field('offset');
    if (!spec || !says || !hasScalarOffset(instruction)) return '';
    return ` offset:${hexOffset(instruction.immediate(spec))}`;
  },
  parse: (name, reader, draft) => {
    const spec = operandSpec(draft, 'offset');
    if (name !== 'offset' || !spec || !hasScalarOffset(draft)) return false;
    reader.expect(':');
    if (draft.has('imm')) draft.set('imm', 1);
    draft.set('offset', reader.integerIn(...draft.immediateRange(spec), 'offset'));
    return true;
  },
};

/** Whether a scalar access has a register for its offset, with room for an immediate. */
const hasScalarOffset = (instruction: Instruction): boolean =>
  operandSpec(instruction, 'soffset')?.type !== 'address'
    ? false
    : instruction.has('soffset_en')
      ? instruction.field('soffset_en') === 1
      : instruction.field('soffset') !== instruction.scalars.none;

/** Only of accesses that move data. */
const SCALAR_CACHE: readonly Modifier[] = [flag('glc'), flag('dlc'), ...CACHE_POLICY].map((modifier) =>
  only(({ row }) => {
    const [data, ...address] = row.operands;
    return data?.field === 'sdata' && data.file === 'scalar' && address.length > 0;
  }, modifier),
);

/**
 * Instructions of the GDS, which gfx90a does not have: there the bit belongs to the encoding of global wave
 * sync.
 */
const isGlobalOnly = ({ row }: Instruction): boolean => row.flags.gds === 'always';

const globalOnly: Modifier = only(isGlobalOnly, {
  print: () => ' gds',
  parse: (name) => name === 'gds',
  preset: (draft) => draft.set('gds', 1),
});

const globalDataShare: Modifier = only(
  (instruction) => instruction.target.hasGds && !isGlobalOnly(instruction),
  flag('gds'),
);

/** gfx12 has hints and scopes instead, of which `glc` is a bit. */
const FLAGS: readonly Modifier[] = [flag('glc'), flag('slc'), flag('dlc'), flag('scc')].map((modifier) =>
  only((instruction) => !instruction.has('th'), modifier),
);
const CACHE: readonly Modifier[] = [...FLAGS, ...CACHE_POLICY];
/** A load to the LDS says so last, a store from it (which has no data register) first. */
const lds = (isStore: boolean): Modifier =>
  only((instruction) => (operandSpec(instruction, 'vdata') === undefined) === isStore, flag('lds'));

/** Number of the format that need not be written: 8 bits, unsigned and normalized. */
const USUAL_FORMAT = 1;

function parseFormat(reader: TextReader, draft: Draft): number {
  const unified = unifiedFormats(draft.target);
  if (!reader.accept('[')) return reader.integerIn(0, draft.limit('format'), 'format');
  let format = USUAL_FORMAT;
  do {
    reader.skipBlanks();
    const at = reader.position;
    const name = reader.word() ?? '';
    if (unified) format = unified.indexOf(name);
    else if (DATA_FORMATS.includes(name)) format = (format & ~15) | DATA_FORMATS.indexOf(name);
    else format = NUMBER_FORMATS.includes(name) ? (format & 15) | (NUMBER_FORMATS.indexOf(name) << 4) : -1;
    if (format < 0) reader.fail('expected the name of a buffer format', at);
  } while (!unified && reader.accept(','));
  reader.expect(']');
  return format;
}

/** Of typed buffer accesses: by name, in two parts on gfx9. */
const bufferFormat: Modifier = {
  print: (instruction) => {
    const format = instruction.field('format');
    if (format === USUAL_FORMAT) return '';
    const unified = unifiedFormats(instruction.target);
    const parts = unified
      ? [unified[format]]
      : [
          ...((format & 15) === USUAL_FORMAT ? [] : [DATA_FORMATS[format & 15]]),
          ...(format >> 4 === 0 ? [] : [NUMBER_FORMATS[format >> 4]]),
        ];
    return parts.includes(undefined) ? ` format:${format}` : ` format:[${parts.join(',')}]`;
  },
  parse: (name, reader, draft) => {
    if (name !== 'format') return false;
    reader.expect(':');
    draft.set('format', parseFormat(reader, draft));
    return true;
  },
  preset: (draft) => draft.set('format', USUAL_FORMAT),
};

/** Always printed. */
const waitFor = (field: string): Modifier => ({
  ...number(field),
  print: (instruction) => (instruction.has(field) ? ` ${field}:${instruction.field(field)}` : ''),
});

const BUFFER: readonly Modifier[] = [flag('idxen'), flag('offen'), offset];

/** FLAT has no scalar address; from gfx10 on the field says so. */
const noScalarAddress: Modifier = {
  print: () => '',
  parse: () => false,
  preset: (draft) => {
    if (draft.target.flatNamesNoScalar) draft.set('saddr', draft.scalars.none);
  },
};

/** Accesses without a format have the field from gfx12 on; LLVM puts the usual one there. */
const unusedFormat: Modifier = {
  print: () => '',
  parse: () => false,
  preset: (draft) => {
    if (draft.has('format')) draft.set('format', USUAL_FORMAT);
  },
};

/** Of instructions that write back or invalidate caches on gfx12. */
export const CACHE_CONTROL: readonly Modifier[] = [...CACHE_POLICY, noScalarAddress];

const GLOBAL: readonly Modifier[] = [offset, ...CACHE, flag('lds')];
const hasScope = ({ target, row }: Instruction): boolean => row.operands.length === 0 && target.cacheScopes;

/** Writing back and invalidating caches: CDNA3 says up to which scope. */
export const SCOPE: readonly Modifier[] = [flag('glc'), flag('scc')].map((modifier) => only(hasScope, modifier));

export const MEMORY_MODIFIERS: Readonly<Partial<Record<FormatName, readonly Modifier[]>>> = {
  SMEM: [scalarOffset, ...SCALAR_CACHE],
  DS: [offset, pairOffset('offset0'), pairOffset('offset1'), globalOnly, globalDataShare],
  FLAT: [...GLOBAL, noScalarAddress],
  GLOBAL,
  SCRATCH: GLOBAL,
  MUBUF: [unusedFormat, ...BUFFER, lds(true), ...CACHE, lds(false), flag('tfe')],
  MTBUF: [bufferFormat, ...BUFFER, ...CACHE],
  EXP: [flag('done'), flag('compr'), flag('vm'), flag('row', 'row_en')],
  LDSDIR: [waitFor('wait_vdst'), waitFor('wait_va_vdst'), waitFor('wait_vm_vsrc')],
};
