/** Archives (`.a`) as GNU and LLVM's ar write them (System V ABI, "Archive File"; GNU's names and index). */
import { ByteReader } from '../base/bytes.ts';
import { WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';

export interface ArchiveMember {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** What the archive's index says that the member defines; empty without an index. */
  readonly indexedSymbols: readonly string[];
}

const MAGIC = '!<arch>\n';
const THIN_MAGIC = '!<thin>\n';
const HEADER_BYTES = 60;
/** Ends of the fields of a header: name, date, owner, group, mode, size. */
const [NAME_END, SIZE_START, SIZE_END] = [16, 48, 58];

const textOf = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

export const isArchive = (bytes: Uint8Array): boolean =>
  [MAGIC, THIN_MAGIC].includes(textOf(bytes.subarray(0, MAGIC.length)));

/**
 * The members that are files, in their order. Throws BAD_INPUT, UNSUPPORTED for an archive that only names
 * its files.
 */
export function readArchive(bytes: Uint8Array, file: string): ArchiveMember[] {
  const reader = new ByteReader(bytes, { file });
  if (textOf(reader.take(MAGIC.length, 'the magic')) === THIN_MAGIC) {
    const hint = 'name its files, or make it without --thin';
    throw new WavewrightError('UNSUPPORTED', 'a thin archive, whose members are elsewhere', { file, hint });
  }
  const members: { readonly name: string; readonly bytes: Uint8Array; readonly offset: number }[] = [];
  let longNames = '';
  let index: ReadonlyMap<number, readonly string[]> = new Map();
  while (reader.remaining > 0) {
    checkLimit('archiveMembers', members.length + 1, { file });
    const offset = reader.offset;
    const header = textOf(reader.take(HEADER_BYTES, 'header of a member'));
    const sizeText = header.slice(SIZE_START, SIZE_END).trimEnd();
    if (!/^\d+$/.test(sizeText) || !header.endsWith('`\n')) reader.fail('this is no header of a member', offset);
    const name = header.slice(0, NAME_END).trimEnd();
    const content = reader.take(Number(sizeText), `member ${name}`);
    if (reader.offset % 2 === 1 && reader.remaining > 0) reader.take(1, 'padding');
    if (name === '/' || name === '/SYM64/') index = readIndex(new ByteReader(content, { file, section: name }), name);
    else if (name === '//') longNames = textOf(content);
    else members.push({ name: longName(name, longNames), bytes: content, offset });
  }
  return members.map(({ name, bytes: content, offset }) => {
    return { name, bytes: content, indexedSymbols: index.get(offset) ?? [] };
  });
}

/** Names end in a slash; longer ones stand in a table, at the offset behind it. */
function longName(name: string, table: string): string {
  const at = /^\/(\d+)$/.exec(name)?.[1];
  return (at === undefined ? name : (table.slice(Number(at)).split('\n')[0] ?? '')).replace(/\/$/, '');
}

/** Big-endian: a count, offsets of members, names. */
function readIndex(reader: ByteReader, name: string): ReadonlyMap<number, readonly string[]> {
  const isWide = name !== '/';
  const number = (): number => {
    const bytes = reader.take(isWide ? 8 : 4, 'number of the index');
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return isWide ? Number(view.getBigUint64(0)) : view.getUint32(0);
  };
  const count = number();
  checkLimit('elfSymbols', count, reader.source);
  const offsets: number[] = [];
  for (let i = 0; i < count; i++) offsets.push(number());
  const names = new TextDecoder().decode(reader.take(reader.remaining, 'names')).split('\0');
  const index = new Map<number, string[]>();
  for (const [i, offset] of offsets.entries()) {
    const symbols = index.get(offset) ?? [];
    symbols.push(names[i] ?? '');
    index.set(offset, symbols);
  }
  return index;
}
