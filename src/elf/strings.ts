import { type ByteReader, decodeUtf8 } from '../base/bytes.ts';
import { hex } from '../base/text.ts';

/** The name at a byte offset of a string table; throws `BAD_INPUT` (`what` says whose name it is). */
export type StringTable = (offset: number, what: string) => string;

/** Opens a string table: NUL-terminated UTF-8 names (System V ABI, "String Table"). */
export function readStringTable(table: ByteReader): StringTable {
  const { bytes } = table;
  // One decode for the whole table makes a name a cheap slice; that needs byte offset = character offset, so
  // pure ASCII.
  const text = bytes.every((byte) => byte < 0x80) ? decodeUtf8(bytes) : undefined;
  return (offset, what) => {
    if (offset === 0 && bytes.length === 0) return '';
    if (offset >= bytes.length) table.fail(`${what} is at ${hex(offset)}, beyond the end of the table`, offset);
    const end = bytes.indexOf(0, offset);
    if (end < 0) table.fail(`${what} has no terminating NUL`, offset);
    if (text !== undefined) return text.slice(offset, end);
    return decodeUtf8(bytes.subarray(offset, end)) ?? table.fail(`${what} is not UTF-8`, offset);
  };
}
