/** Addresses, file offsets and segments of a code object that is being linked. */
import { alignUp } from '../base/align.ts';
import { assert } from '../base/errors.ts';
import {
  PF_R,
  PF_W,
  PF_X,
  PT_DYNAMIC,
  PT_GNU_RELRO,
  PT_GNU_STACK,
  PT_LOAD,
  PT_NOTE,
  PT_PHDR,
  SHF_EXECINSTR,
  SHF_WRITE,
  SHT_NOBITS,
  SHT_NOTE,
} from '../elf/constants.ts';
import { FILE_HEADER_SIZE_BYTES, SEGMENT_HEADER_SIZE_BYTES, type SegmentToWrite } from '../elf/writer.ts';
import type { InputSection, OutputSection } from './link-inputs.ts';
import { LINKER_TABLES } from './link-tables.ts';

/** Segments of different access do not share a page. */
const PAGE_BYTES = 0x1000;
/** Room for the headers of all segments that there can be. */
const MAX_SEGMENTS = 9;
const READ_WRITE = PF_R | PF_W;
const READ_EXECUTE = PF_R | PF_X;

const isWritable = ({ flags }: OutputSection): boolean => (flags & SHF_WRITE) !== 0n;
const isCode = ({ flags }: OutputSection): boolean => (flags & SHF_EXECINSTR) !== 0n;
const isNote = ({ type }: OutputSection): boolean => type === SHT_NOTE;
const hasBytes = ({ type }: OutputSection): boolean => type !== SHT_NOBITS;
/** What only relocations write. */
const isRelro = ({ name }: OutputSection): boolean =>
  /^\.(data\.rel\.ro|bss\.rel\.ro|(pre)?init_array|fini_array|dynamic|got)$/.test(name);

/**
 * Gives the sections of the inputs and the tables of the linker their places, in the order of lld: read-only,
 * code, relocated once, writable.
 */
export function layOut(inputs: readonly OutputSection[], tables: ReadonlyMap<string, OutputSection>): OutputSection[] {
  const own = (names: readonly string[]): OutputSection[] => names.flatMap((name) => tables.get(name) ?? []);
  const readOnly = inputs.filter((section) => !isWritable(section) && !isCode(section));
  const writable = inputs.filter(isWritable);
  const plain = writable.filter((section) => !isRelro(section));
  const groups: OutputSection[][] = [
    [...readOnly.filter(isNote), ...own(LINKER_TABLES.readOnly), ...readOnly.filter((section) => !isNote(section))],
    inputs.filter(isCode),
    [...writable.filter(isRelro), ...own(LINKER_TABLES.relocatedOnce)],
    [...plain.filter(hasBytes), ...plain.filter((section) => !hasBytes(section))],
  ];
  let offset = FILE_HEADER_SIZE_BYTES + MAX_SEGMENTS * SEGMENT_HEADER_SIZE_BYTES;
  let page = 0;
  for (const group of groups) {
    const last = group.at(-1);
    if (!last) continue;
    offset = placeGroup(group, offset, page);
    page = alignUp(last.address + last.sizeBytes, PAGE_BYTES);
  }
  const outputs = groups.flat();
  for (const [index, output] of outputs.entries()) output.index = index + 1;
  return outputs;
}

/**
 * Addresses and file offsets are equal modulo the page, so that a segment can be mapped. Returns the end in
 * the file.
 */
function placeGroup(group: readonly OutputSection[], start: number, page: number): number {
  let offset = start;
  let address: number | undefined;
  for (const output of group) {
    if (output.parts.length > 0) output.sizeBytes = layParts(output.parts);
    if (address === undefined) {
      offset = alignUp(offset, output.alignmentBytes);
      address = alignUp(page + (offset % PAGE_BYTES), output.alignmentBytes);
      offset += (((address - offset) % PAGE_BYTES) + PAGE_BYTES) % PAGE_BYTES;
    } else {
      const next = alignUp(address, output.alignmentBytes);
      offset += next - address;
      address = next;
    }
    output.address = address;
    output.offset = offset;
    for (const part of output.parts) part.address += address;
    address += output.sizeBytes;
    if (hasBytes(output)) offset += output.sizeBytes;
  }
  return offset;
}

/** Offsets of parts in their section; returns its size. */
function layParts(parts: readonly InputSection[]): number {
  let end = 0;
  for (const part of parts) {
    part.address = alignUp(end, part.section.alignmentBytes);
    end = part.address + part.section.sizeBytes;
  }
  return end;
}

/** One segment around `sections`, none when there are none. */
function segment(
  type: number,
  flags: number,
  sections: readonly OutputSection[],
  alignmentBytes: number,
): SegmentToWrite[] {
  const [first, last] = [sections[0], sections.at(-1)];
  if (!first || !last) return [];
  const inFile = sections.filter(hasBytes).at(-1);
  const fileSizeBytes = inFile ? inFile.offset + inFile.sizeBytes - first.offset : 0;
  const memorySizeBytes = last.address + last.sizeBytes - first.address;
  const place = { offset: first.offset, address: BigInt(first.address) };
  return [{ type, flags, ...place, fileSizeBytes, memorySizeBytes, alignmentBytes }];
}

/** The segments around sections that have their places; the headers belong to the first. */
export function segmentsOf(outputs: readonly OutputSection[]): SegmentToWrite[] {
  const readOnly = outputs.filter((output) => !isWritable(output) && !isCode(output));
  const relro = outputs.filter(isRelro);
  const data = outputs.filter((output) => isWritable(output) && !isRelro(output));
  const [first] = segment(PT_LOAD, PF_R, readOnly, PAGE_BYTES);
  assert(first, 'the dynamic symbols are read-only');
  const headers = {
    ...{ ...first, offset: 0, address: 0n },
    fileSizeBytes: first.fileSizeBytes + first.offset,
    memorySizeBytes: first.memorySizeBytes + first.offset,
  };
  const nowhere = { offset: 0, address: 0n, fileSizeBytes: 0, memorySizeBytes: 0, alignmentBytes: 0 };
  const others = [
    headers,
    ...segment(PT_LOAD, READ_EXECUTE, outputs.filter(isCode), PAGE_BYTES),
    ...segment(PT_LOAD, READ_WRITE, relro, PAGE_BYTES),
    ...segment(PT_LOAD, READ_WRITE, data, PAGE_BYTES),
    ...segment(
      PT_DYNAMIC,
      READ_WRITE,
      outputs.filter(({ name }) => name === '.dynamic'),
      8,
    ),
    ...segment(PT_GNU_RELRO, PF_R, relro, 1),
    { type: PT_GNU_STACK, flags: READ_WRITE, ...nowhere },
    ...segment(PT_NOTE, PF_R, outputs.filter(isNote), 4),
  ];
  const sizeBytes = (others.length + 1) * SEGMENT_HEADER_SIZE_BYTES;
  const place = { offset: FILE_HEADER_SIZE_BYTES, address: BigInt(FILE_HEADER_SIZE_BYTES), alignmentBytes: 8 };
  return [{ type: PT_PHDR, flags: PF_R, ...place, fileSizeBytes: sizeBytes, memorySizeBytes: sizeBytes }, ...others];
}
