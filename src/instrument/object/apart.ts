/**
 * New code as a code object of its own, which is loaded beside the original one and goes on with its data:
 * addresses that lead to what stays count from a symbol that the loader defines.
 */
import { WavewrightError } from '../../base/errors.ts';
import { type CodeObject, type Kernel, METADATA_NOTE_NAME, METADATA_NOTE_TYPE } from '../../codeobject/code-object.ts';
import { KERNEL_DESCRIPTOR_SIZE_BYTES } from '../../codeobject/kernel-descriptor.ts';
import {
  ET_DYN,
  PF_R,
  PT_NOTE,
  SHF_ALLOC,
  SHN_UNDEF,
  SHT_NOTE,
  SHT_STRTAB,
  STB_GLOBAL,
  STB_LOCAL,
  STT_FUNC,
  STT_NOTYPE,
  STV_DEFAULT,
} from '../../elf/constants.ts';
import { ElfEdit } from '../../elf/edit.ts';
import { parseElf } from '../../elf/elf.ts';
import { type ElfSymbol, isDefined } from '../../elf/symbols.ts';
import { writeElf } from '../../elf/writer.ts';
import type { LaidOutCode, LiteralRelocation } from '../layout/lay-out.ts';
import {
  type DynamicSymbol,
  DynamicTablesToWrite,
  literalRelocation,
  moveSegment,
  newSymbol,
  symbolOfFile,
} from './dynamic-tables.ts';
import { type ChangedKernels, changeMetadata } from './kernel-changes.ts';
import { encodeNote, isMetadata } from './notes.ts';
import { descriptorOf } from './redirect.ts';
import type { addVariables, VariableToAdd } from './variables.ts';

/** The address of image address 0 of the loaded original: the loader defines it. */
export const ORIGINAL = 'wavewright.original';
const NAMES = '.shstrtab';
const NOTE_ALIGNMENT_BYTES = 4;

/** A file like that of the original code, with nothing in it. Its segments begin at `firstAddress`. */
export function openApart({ elf, name }: CodeObject, firstAddress: number): ElfEdit {
  const { machine, osAbi, abiVersion, flags } = elf.header;
  const sections = [{ name: NAMES, type: SHT_STRTAB, flags: 0n, bytes: new Uint8Array(0), alignmentBytes: 1 }];
  const file = { type: ET_DYN, machine, osAbi, abiVersion, flags, segments: [], sections, nameSection: NAMES };
  return new ElfEdit(parseElf(writeElf(file), name), firstAddress);
}

/** A kernel as it is launched with its new code. */
export interface ApartKernel {
  /** Changed, but for the entry. */
  readonly kernel: Kernel;
  readonly entry: number;
}

/** The descriptors of kernels, which lead to code that ends at `end`. */
export const apartDescriptors = (kernels: readonly ApartKernel[], end: number): VariableToAdd[] =>
  kernels.map(({ kernel, entry }) => ({
    symbol: kernel.symbol.name,
    ...{ sizeBytes: KERNEL_DESCRIPTOR_SIZE_BYTES, alignmentBytes: KERNEL_DESCRIPTOR_SIZE_BYTES },
    bytes: (address) => descriptorOf(kernel.descriptor, address, entry, end),
  }));

export interface ApartCode {
  /** Its code as it is loaded: relocations do not change it any more. */
  readonly codeObject: CodeObject;
  readonly laidOut: LaidOutCode;
  /** Index of the section that holds the new code. */
  readonly sectionIndex: number;
  readonly newEntries: ReadonlyMap<number, number>;
  readonly kernels: readonly ApartKernel[];
  readonly changes: ChangedKernels;
  readonly variables: ReturnType<typeof addVariables>;
}

/** Writes what a loader reads; the segment that has it. */
export function addApartTables(edit: ElfEdit, code: ApartCode) {
  const tables = new DynamicTablesToWrite(edit, edit.segmentTableBytes(MORE_SEGMENTS));
  const original = newSymbol({
    ...{ name: ORIGINAL, binding: STB_GLOBAL, type: STT_NOTYPE, visibility: STV_DEFAULT },
    ...{ section: SHN_UNDEF, value: 0n, sizeBytes: 0n },
  });
  const relocations = code.laidOut.relocations.map((each) => relocationOf(each, original, code));
  tables.add([...functionSymbols(code), original, ...code.variables.values()], relocations);
  const notes = metadataNotes(code);
  const section = { name: '.note', type: SHT_NOTE, flags: SHF_ALLOC, alignmentBytes: NOTE_ALIGNMENT_BYTES };
  const notesAt = notes.length > 0 ? tables.addBytes('.notes', notes, section) : 0;
  const segment = edit.addSegment(PF_R, tables.bytes());
  tables.install(segment);
  if (notes.length > 0) {
    const header = { ...segment, type: PT_NOTE, alignmentBytes: NOTE_ALIGNMENT_BYTES };
    edit.segments.push(header);
    moveSegment(header, segment, notesAt, notes.length);
    edit.addLoadedSection(section, segment, notesAt, notes.length);
  }
  return segment;
}

/** Room for more program headers than are added. */
const MORE_SEGMENTS = 4;

/** The relocation of a literal. Throws UNSUPPORTED for one that the loader of the original code fills in. */
function relocationOf(literal: LiteralRelocation, original: DynamicSymbol, { variables, codeObject }: ApartCode) {
  const symbol = literal.symbol === ORIGINAL ? original : variables.get(literal.symbol);
  if (symbol) return literalRelocation(literal, symbol);
  const what = `code that is loaded apart, with a literal of '${literal.symbol}'`;
  throw new WavewrightError('UNSUPPORTED', what, { file: codeObject.name });
}

/** Names of new code, for messages alone. */
function functionSymbols({ codeObject, newEntries, laidOut, sectionIndex }: ApartCode): DynamicSymbol[] {
  const { elf } = codeObject;
  const known = new Set<string>();
  return [...elf.dynamicSymbols, ...elf.symbols].flatMap((symbol: ElfSymbol) => {
    const value = symbol.type === STT_FUNC ? newEntries.get(Number(symbol.value)) : undefined;
    if (value === undefined || known.has(symbol.name) || !isDefined(symbol)) return [];
    known.add(symbol.name);
    const sizeBytes = BigInt(laidOut.map.newSizeOf(Number(symbol.value), symbol.sizeBytes));
    const moved = { value: BigInt(value), sizeBytes, section: sectionIndex, binding: STB_LOCAL, version: 0 };
    return [{ ...symbolOfFile(symbol), ...moved, oldIndex: undefined }];
  });
}

function metadataNotes({ codeObject, changes, kernels }: ApartCode): Uint8Array {
  const { elf, target } = codeObject;
  const isKept = (symbol: string): boolean => kernels.some(({ kernel }) => kernel.symbol.name === symbol);
  const found = elf.notes.find(isMetadata);
  if (!found) return new Uint8Array(0);
  const descriptor = changeMetadata(found.descriptor, changes, target.processor, isKept);
  return encodeNote({ ...found, name: METADATA_NOTE_NAME, type: METADATA_NOTE_TYPE, descriptor }, NOTE_ALIGNMENT_BYTES);
}
