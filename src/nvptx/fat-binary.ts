/**
 * Fat binaries of CUDA: PTX and cubins for several processors in one piece. The format is not documented;
 * what stands here was seen in what nvcc 13 and its fatbinary write, and holds for older ones as far as
 * loaders of other projects know it.
 */
import { ByteReader } from '../base/bytes.ts';
import { WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';
import { hex } from '../base/text.ts';
import type { Decompress } from '../codeobject/compressed-bundle.ts';
import { expandLz4Block } from './lz4-block.ts';

const MAGIC = 0xba55_ed50;
const VERSION = 1;
const MIN_ENTRY_HEADER_BYTES = 64;
const KINDS: Readonly<Record<number, FatBinaryEntry['kind']>> = { 1: 'ptx', 2: 'cubin' };
/** Bits of an entry's flags. */
const [FLAG_LZ4, FLAG_ZSTD] = [0x2000n, 0x8000n];

export interface FatBinaryEntry {
  readonly kind: 'ptx' | 'cubin';
  /** `sm_80`: of PTX the virtual architecture. */
  readonly processor: string;
  /** Of PTX its version, of a cubin that of its format. */
  readonly version: string;
  readonly compression: 'lz4' | 'zstd' | undefined;
  /** From the start of the region that was read. */
  readonly offset: number;
  /** As it stands in the file, without padding. */
  readonly storedSizeBytes: number;
  readonly sizeBytes: number;
  /** Throws BAD_INPUT, UNSUPPORTED without a decompressor, LIMIT_EXCEEDED. */
  expand(decompress: Decompress | undefined): Uint8Array;
}

export interface FatBinary {
  /** From the start of the region that was read. */
  readonly offset: number;
  readonly entries: readonly FatBinaryEntry[];
}

export const isFatBinary = (bytes: Uint8Array): boolean =>
  bytes.length >= 4 && new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true) === MAGIC;

/** All fat binaries of a region, which linkers put one behind the other, with zeros between them. */
export function readFatBinaries(region: ByteReader): FatBinary[] {
  const found: FatBinary[] = [];
  for (;;) {
    while (region.remaining > 0 && region.bytes[region.offset] === 0) region.offset++;
    if (region.remaining === 0) return found;
    found.push(readFatBinary(region));
    checkLimit('bundleEntries', found.length, region.source);
  }
}

function readFatBinary(region: ByteReader): FatBinary {
  const offset = region.offset;
  const magic = region.u32('magic of a fat binary');
  if (magic !== MAGIC) region.fail(`the magic is ${hex(magic)}, expected ${hex(MAGIC)}, a fat binary of CUDA`, offset);
  const version = region.u16('version of the fat binary');
  if (version !== VERSION) {
    const what = `a fat binary of version ${version}, expected ${VERSION}`;
    throw new WavewrightError('UNSUPPORTED', what, { ...region.source, offset });
  }
  const headerSizeBytes = region.u16('size of the header');
  const bodySizeBytes = region.size('size of the fat binary');
  const start = offset + headerSizeBytes;
  region.check(start, bodySizeBytes, 'the fat binary');
  const end = start + bodySizeBytes;
  const entries: FatBinaryEntry[] = [];
  for (region.offset = start; region.offset < end; ) {
    const entry = readEntry(region, end);
    if (entry) entries.push(entry);
    checkLimit('bundleEntries', entries.length, region.source);
  }
  return { offset, entries };
}

/** Undefined for an entry that is neither PTX nor a cubin. */
function readEntry(region: ByteReader, end: number): FatBinaryEntry | undefined {
  const at = region.offset;
  if (end - at < MIN_ENTRY_HEADER_BYTES) region.fail('the header of an entry goes beyond the fat binary', at);
  const kind = KINDS[region.u16('kind of an entry')];
  region.take(2, 'entry version');
  const headerSizeBytes = region.u32('size of the header of an entry');
  const paddedSizeBytes = region.size('size of an entry');
  const compressedSizeBytes = region.u32('compressed size of an entry');
  region.take(4, 'offset of the options');
  const minor = region.u16('version of an entry');
  const major = region.u16('version of an entry');
  const processor = `sm_${region.u32('processor of an entry')}`;
  region.take(8, 'name of an entry');
  const flags = region.u64('flags of an entry');
  region.take(8, 'reserved');
  const expandedSizeBytes = region.size('expanded size of an entry');
  if (headerSizeBytes < MIN_ENTRY_HEADER_BYTES || headerSizeBytes + paddedSizeBytes > end - at) {
    region.fail(`an entry of ${headerSizeBytes} and ${paddedSizeBytes} bytes, ${end - at} are left`, at);
  }
  region.offset = at + headerSizeBytes;
  const payload = region.take(paddedSizeBytes, 'entry');
  if (kind === undefined) return undefined;
  const compression = flags & FLAG_ZSTD ? 'zstd' : flags & FLAG_LZ4 ? 'lz4' : undefined;
  const storedSizeBytes = compression ? compressedSizeBytes : paddedSizeBytes;
  if (storedSizeBytes > paddedSizeBytes || (!compression && compressedSizeBytes > 0)) {
    region.fail(`an entry of ${compressedSizeBytes} compressed bytes with flags ${hex(flags)}`, at);
  }
  const offset = at + headerSizeBytes;
  const sizeBytes = compression ? expandedSizeBytes : paddedSizeBytes;
  const stored = new ByteReader(payload.subarray(0, storedSizeBytes), region.source);
  return {
    ...{ kind, processor, version: `${major}.${minor}`, compression, offset, storedSizeBytes, sizeBytes },
    expand: (decompress) => expand(stored, compression, sizeBytes, decompress),
  };
}

function expand(
  stored: ByteReader,
  compression: FatBinaryEntry['compression'],
  sizeBytes: number,
  decompress: Decompress | undefined,
): Uint8Array {
  if (!compression) return stored.bytes;
  checkLimit('ptxCharacters', sizeBytes, stored.source);
  if (compression === 'lz4') {
    stored.offset = 0;
    return expandLz4Block(stored, sizeBytes);
  }
  if (!decompress) {
    const hint = 'pass a decompressor, e.g. nodeDecompress';
    throw new WavewrightError('UNSUPPORTED', 'the fat binary is compressed (zstd)', { ...stored.source, hint });
  }
  let bytes: Uint8Array;
  try {
    bytes = decompress('zstd', stored.bytes, sizeBytes);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WavewrightError('BAD_INPUT', `the zstd data cannot be expanded: ${reason}`, { ...stored.source, cause });
  }
  if (bytes.length !== sizeBytes)
    stored.fail(`an entry expands to ${bytes.length} bytes, its header says ${sizeBytes}`);
  return bytes;
}
