/**
 * How IREE's profiles and recordings begin: 24 bytes with what they are, the version, and how long they are,
 * which is 0 until they end (iree/hal/profiling/bundle.h and iree/hal/replay/format.h at IREE b42f44c0d9).
 */
import { ByteReader } from './bytes.ts';
import { WavewrightError } from './errors.ts';
import { hex } from './text.ts';

export const FILE_HEADER_BYTES = 24;

/** A kind of file. */
export interface IreeFileKind {
  readonly magic: number;
  /** The same as text. */
  readonly letters: string;
  readonly version: { readonly major: number; readonly minor: number };
  /** For errors, such as 'profile'. */
  readonly noun: string;
}

export interface IreeFileHeader {
  readonly minor: number;
  readonly headerBytes: number;
  /** Of what is valid. */
  readonly sizeBytes: number;
  /** Whether the file ended: it knows its length. */
  readonly isComplete: boolean;
}

/** Throws BAD_INPUT for what is no such file, UNSUPPORTED for one of another major version. */
export function readFileHeader(
  file: Uint8Array,
  { magic, letters, version, noun }: IreeFileKind,
  source: { readonly file?: string },
): IreeFileHeader {
  const reader = new ByteReader(file, { ...source, section: 'file header' });
  const fail = (what: string, offset: number): never => reader.fail(what, offset);
  const found = reader.u32('the magic number');
  if (found !== magic) fail(`${hex(found)} is not the magic number of a ${noun} (${letters})`, 0);
  const [major, minor] = [reader.u16('the major version'), reader.u16('the minor version')];
  if (major !== version.major) {
    const what = `${noun}s of version ${major}.${minor}, expected ${version.major}`;
    throw new WavewrightError('UNSUPPORTED', what, source);
  }
  const headerBytes = reader.u32('the length of the header');
  const flags = reader.u32('the flags');
  const lengthBytes = reader.size('the length of the file');
  if (headerBytes < FILE_HEADER_BYTES || headerBytes > file.length) {
    fail(`a header of ${headerBytes} bytes in a file of ${file.length}`, 8);
  }
  if (flags !== 0) fail(`flags ${hex(flags)}, expected 0`, 12);
  if (lengthBytes !== 0 && (lengthBytes < headerBytes || lengthBytes > file.length)) {
    fail(`a length of ${lengthBytes} bytes, the file has ${file.length}`, 16);
  }
  const isComplete = lengthBytes !== 0;
  return { minor, headerBytes, sizeBytes: isComplete ? lengthBytes : file.length, isComplete };
}

/** `lengthBytes`: of the whole file, 0 while that is not known. */
export function fileHeader({ magic, version }: IreeFileKind, lengthBytes: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(FILE_HEADER_BYTES));
  view.setUint32(0, magic, true);
  view.setUint16(4, version.major, true);
  view.setUint16(6, version.minor, true);
  view.setUint32(8, FILE_HEADER_BYTES, true);
  view.setBigUint64(16, BigInt(lengthBytes), true);
  return new Uint8Array(view.buffer);
}
