import type { ByteReader } from '../base/bytes.ts';
import { WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';

export type CompressionMethod = 'zlib' | 'zstd';

/**
 * Expands `data`; must throw when it does not give `uncompressedSizeBytes` or fewer bytes. Injected, because
 * Node and browsers have different means; `nodeDecompress` is Node's.
 */
export type Decompress = (method: CompressionMethod, data: Uint8Array, uncompressedSizeBytes: number) => Uint8Array;

/** The header of a compressed bundle. */
export interface CompressedBundleHeader {
  version: 1 | 2 | 3;
  method: CompressionMethod;
  headerSizeBytes: number;
  /** Header and data; version 1 does not say, so it is all that follows. */
  totalSizeBytes: number;
  uncompressedSizeBytes: number;
  /** First half of the MD5 of the uncompressed bundle. */
  hash: bigint;
}

const MAGIC = 'CCOB';
const METHODS: readonly CompressionMethod[] = ['zlib', 'zstd'];

/** Whether the bytes start with a compressed offload bundle. */
export function isCompressedBundle(bytes: Uint8Array): boolean {
  for (let index = 0; index < MAGIC.length; index++) {
    if (bytes[index] !== MAGIC.charCodeAt(index)) return false;
  }
  return true;
}

/**
 * Reads the header (clang-offload-bundler, "Compressed Offload Bundles"): magic, version u16, method u16,
 * total size (u32 in version 2, u64 in 3, absent in 1), uncompressed size (u32, u64 in version 3), hash u64.
 */
export function readCompressedBundleHeader(reader: ByteReader): CompressedBundleHeader {
  reader.offset = 0;
  if (!isCompressedBundle(reader.bytes)) reader.fail(`no compressed offload bundle: the magic ${MAGIC} is missing`);
  reader.take(MAGIC.length, 'the magic');
  const version = reader.u16('version of the compressed bundle');
  if (version !== 1 && version !== 2 && version !== 3) {
    const what = `compressed offload bundle of version ${version}, expected 1, 2 or 3`;
    throw new WavewrightError('UNSUPPORTED', what, { ...reader.source, offset: 4 });
  }
  const methodNumber = reader.u16('compression method');
  const method =
    METHODS[methodNumber] ?? reader.fail(`compression method ${methodNumber}, expected 0 (zlib) or 1 (zstd)`, 6);
  const sizeField = (what: string) => (version === 3 ? reader.size(what) : reader.u32(what));
  const totalSizeBytes = version === 1 ? reader.length : sizeField('total size of the compressed bundle');
  const uncompressedSizeBytes = sizeField('uncompressed size of the compressed bundle');
  const hash = reader.u64('hash of the compressed bundle');
  const headerSizeBytes = reader.offset;
  if (totalSizeBytes < headerSizeBytes) {
    reader.fail(`the total size ${totalSizeBytes} is less than the header's ${headerSizeBytes} bytes`, 8);
  }
  reader.check(0, totalSizeBytes, 'the compressed bundle');
  return { version, method, headerSizeBytes, totalSizeBytes, uncompressedSizeBytes, hash };
}

/** The uncompressed bundle. Errors: `UNSUPPORTED` without a decompressor, `LIMIT_EXCEEDED`, `BAD_INPUT`. */
export function expandCompressedBundle(
  reader: ByteReader,
  header: CompressedBundleHeader,
  decompress: Decompress | undefined,
): Uint8Array {
  const { method, uncompressedSizeBytes, headerSizeBytes, totalSizeBytes } = header;
  const at = { ...reader.source, offset: headerSizeBytes };
  checkLimit('decompressedBytes', uncompressedSizeBytes, at);
  if (decompress === undefined) {
    const hint = 'pass a decompressor, e.g. nodeDecompress';
    throw new WavewrightError('UNSUPPORTED', `the offload bundle is compressed (${method})`, { ...at, hint });
  }
  let bytes: Uint8Array;
  try {
    bytes = decompress(method, reader.bytes.subarray(headerSizeBytes, totalSizeBytes), uncompressedSizeBytes);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WavewrightError('BAD_INPUT', `the ${method} data cannot be expanded: ${reason}`, { ...at, cause });
  }
  if (bytes.length !== uncompressedSizeBytes) {
    reader.fail(
      `the bundle expands to ${bytes.length} bytes, its header says ${uncompressedSizeBytes}`,
      headerSizeBytes,
    );
  }
  return bytes;
}
