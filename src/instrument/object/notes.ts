/** The notes of a code object, written anew because the metadata among them grew. */
import { alignUp } from '../../base/align.ts';
import { concatenate } from '../../base/concatenate.ts';
import { METADATA_NOTE_NAME, METADATA_NOTE_TYPE } from '../../codeobject/code-object.ts';
import { PT_NOTE, SHF_ALLOC, SHT_NOTE } from '../../elf/constants.ts';
import type { ElfEdit } from '../../elf/edit.ts';
import type { ElfSegment } from '../../elf/header.ts';
import type { ElfNote } from '../../elf/notes.ts';
import { type DynamicTablesToWrite, moveSegment } from './dynamic-tables.ts';

const NOTE_ALIGNMENT_BYTES = 4;
const HEADER_BYTES = 12;

export const isMetadata = ({ name, type }: ElfNote): boolean =>
  name === METADATA_NOTE_NAME && type === METADATA_NOTE_TYPE;

/** A note record (System V ABI, "Note Section"), padded to `alignmentBytes`. */
export function encodeNote({ name, type, descriptor }: ElfNote, alignmentBytes: number): Uint8Array {
  const nameBytes = new TextEncoder().encode(`${name}\0`);
  const descriptorAt = alignUp(HEADER_BYTES + nameBytes.length, alignmentBytes);
  const bytes = new Uint8Array(alignUp(descriptorAt + descriptor.length, alignmentBytes));
  const view = new DataView(bytes.buffer);
  view.setUint32(0, nameBytes.length, true);
  view.setUint32(4, descriptor.length, true);
  view.setUint32(8, type, true);
  bytes.set(nameBytes, HEADER_BYTES);
  bytes.set(descriptor, descriptorAt);
  return bytes;
}

/**
 * Puts the notes of segments that hold metadata into `tables`, changed. The result moves the headers there,
 * once the segment of the tables is known.
 */
export function rewriteNotes(
  edit: ElfEdit,
  tables: DynamicTablesToWrite,
  change: (metadata: Uint8Array) => Uint8Array,
): (into: ElfSegment) => void {
  const moves: ((into: ElfSegment) => void)[] = [];
  for (const segment of edit.segments.filter(({ type }) => type === PT_NOTE)) {
    const notes = edit.elf.notes.filter(({ section }) => section === `PT_NOTE segment ${segment.index}`);
    if (!notes.some(isMetadata)) continue;
    const alignmentBytes = Math.max(NOTE_ALIGNMENT_BYTES, segment.alignmentBytes === 8 ? 8 : 0);
    const changed = notes.map((note) => (isMetadata(note) ? { ...note, descriptor: change(note.descriptor) } : note));
    const bytes = concatenate(changed.map((note) => encodeNote(note, alignmentBytes)));
    const section = { name: '.note', type: SHT_NOTE, flags: SHF_ALLOC, alignmentBytes };
    const at = tables.addBytes(`.notes ${segment.index}`, bytes, section);
    const old = edit.sections.find(({ type, address }) => type === SHT_NOTE && address === segment.virtualAddress);
    moves.push((into) => {
      moveSegment(segment, into, at, bytes.length);
      if (!old) return;
      old.address = segment.virtualAddress;
      old.offset = segment.offset;
      old.sizeBytes = bytes.length;
    });
  }
  return (into) => {
    for (const move of moves) move(into);
  };
}
