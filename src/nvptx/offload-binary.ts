/**
 * Offload binaries of LLVM: what clang-offload-packager writes, and clang's new offloading driver into the
 * section `.llvm.offloading` (LLVM, "Clang Offload Packager", "Binary Format"; llvm/Object/OffloadBinary.h).
 */
import { ByteReader, decodeUtf8 } from '../base/bytes.ts';
import { WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';

const MAGIC = [0x10, 0xff, 0x10, 0xad];
/** Version 1 holds one image, version 2 several. */
const MAX_VERSION = 2;
const HEADER_BYTES = 32;
const ENTRY_BYTES = 48;
const ALIGNMENT_BYTES = 8;
const MAX_STRINGS = 64;
const MAX_STRING_BYTES = 4096;
const OFFLOAD_KINDS: Readonly<Record<number, string>> = { 1: 'openmp', 2: 'cuda', 4: 'hip' };

export interface OffloadImage {
  /** `openmp`, `cuda`, `hip`, or a number. */
  readonly offloadKind: string;
  readonly triple: string;
  /** `sm_80`, `gfx90a`; empty where the file does not say. */
  readonly processor: string;
  readonly bytes: Uint8Array;
  /** From the start of the region that was read. */
  readonly offset: number;
}

export const isOffloadBinary = (bytes: Uint8Array): boolean => MAGIC.every((byte, index) => bytes[index] === byte);

/** The images of all offload binaries of a region, which linkers put one behind the other. */
export function readOffloadBinaries(region: ByteReader): OffloadImage[] {
  const images: OffloadImage[] = [];
  while (region.remaining > 0) {
    const start = region.offset;
    const rest = new ByteReader(region.bytes.subarray(start), region.source);
    const { found, sizeBytes } = readOffloadBinary(rest, start);
    images.push(...found);
    checkLimit('bundleEntries', images.length, region.source);
    region.offset = start + sizeBytes;
    region.align(ALIGNMENT_BYTES);
  }
  return images;
}

/** `start`: of the reader in its region. */
function readOffloadBinary(reader: ByteReader, start: number): { found: OffloadImage[]; sizeBytes: number } {
  if (!isOffloadBinary(reader.bytes)) reader.fail('no offload binary of LLVM: its magic is missing', 0);
  reader.take(MAGIC.length, 'the magic');
  const version = reader.u32('version of the offload binary');
  if (version < 1 || version > MAX_VERSION) {
    const what = `an offload binary of version ${version}, expected 1 to ${MAX_VERSION}`;
    throw new WavewrightError('UNSUPPORTED', what, { ...reader.source, offset: start });
  }
  const sizeBytes = reader.size('size of the offload binary');
  const entriesOffset = reader.size('offset of the entries');
  const last = reader.size('entries');
  if (sizeBytes < HEADER_BYTES) reader.fail(`an offload binary of ${sizeBytes} bytes`, 0);
  reader.check(0, sizeBytes, 'the offload binary');
  const whole = new ByteReader(reader.bytes.subarray(0, sizeBytes), reader.source);
  const count = version === 1 ? 1 : last;
  checkLimit('bundleEntries', count, reader.source);
  const found = Array.from({ length: count }, (_, index) => {
    const { offset, ...image } = readImage(whole, entriesOffset + index * ENTRY_BYTES, version);
    return { ...image, offset: start + offset };
  });
  return { found, sizeBytes };
}

function readImage(binary: ByteReader, at: number, version: number): OffloadImage {
  binary.check(at, ENTRY_BYTES, 'an entry');
  binary.offset = at;
  binary.take(2, 'kind of the image');
  const kind = binary.u16('kind of offloading');
  binary.take(4, 'flags');
  const stringsOffset = binary.size('offset of the strings');
  const stringCount = binary.size('number of strings');
  const offset = binary.size('offset of the image');
  const sizeBytes = binary.size('size of the image');
  const strings = readStrings(binary, stringsOffset, stringCount, version);
  binary.check(offset, sizeBytes, 'the image');
  return {
    offloadKind: OFFLOAD_KINDS[kind] ?? String(kind),
    ...{ triple: strings.get('triple') ?? '', processor: strings.get('arch') ?? '' },
    ...{ bytes: binary.bytes.subarray(offset, offset + sizeBytes), offset },
  };
}

function readStrings(binary: ByteReader, at: number, count: number, version: number): Map<string, string> {
  if (count > MAX_STRINGS) binary.fail(`${count} strings, expected at most ${MAX_STRINGS}`, at);
  const strings = new Map<string, string>();
  const entryBytes = version === 1 ? 16 : 24;
  binary.check(at, count * entryBytes, 'the strings');
  for (let index = 0; index < count; index++) {
    binary.offset = at + index * entryBytes;
    const [key, value] = [binary.size('a key'), binary.size('a value')];
    strings.set(stringAt(binary, key), stringAt(binary, value));
  }
  return strings;
}

function stringAt(binary: ByteReader, at: number): string {
  binary.check(at, 1, 'a string');
  const end = binary.bytes.subarray(at, at + MAX_STRING_BYTES).indexOf(0);
  const text = end < 0 ? undefined : decodeUtf8(binary.bytes.subarray(at, at + end));
  return text ?? binary.fail('a string without an end', at);
}
