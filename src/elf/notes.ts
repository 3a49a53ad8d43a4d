import { type ByteReader, decodeUtf8 } from '../base/bytes.ts';
import { checkLimit } from '../base/limits.ts';

/** A note record (System V ABI, "Note Section"). */
export interface ElfNote {
  /** The owner, without its NUL. */
  name: string;
  type: number;
  /** The descriptor bytes, shared with the input. */
  descriptor: Uint8Array;
  /** Section or segment that holds the record. */
  section: string;
}

/** Reads the records of a note section or segment; `alignmentBytes` 8 pads to 8 bytes, anything else to 4. */
export function readNotes(table: ByteReader, alignmentBytes: number, notes: ElfNote[]): void {
  const padding = alignmentBytes === 8 ? 8 : 4;
  const section = table.source.section ?? '';
  table.offset = 0;
  while (table.remaining > 0) {
    checkLimit('elfNotes', notes.length + 1, table.source);
    const at = table.offset;
    const nameSizeBytes = table.u32('n_namesz');
    const descriptorSizeBytes = table.u32('n_descsz');
    const type = table.u32('n_type');
    const nameBytes = table.take(nameSizeBytes, 'the name of a note');
    table.align(padding);
    const descriptor = table.take(descriptorSizeBytes, 'the descriptor of a note');
    table.align(padding);
    const nul = nameBytes.indexOf(0);
    const name = decodeUtf8(nul < 0 ? nameBytes : nameBytes.subarray(0, nul));
    notes.push({ name: name ?? table.fail('the name of a note is not UTF-8', at + 12), type, descriptor, section });
  }
}
