import { type ByteReader, decodeUtf8 } from '../base/bytes.ts';
import { checkLimit } from '../base/limits.ts';

/** An entry of an offload bundle. */
export interface BundleEntry {
  /** e.g. `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+` or `host-x86_64-unknown-linux-gnu-`. */
  id: string;
  /** Shared with the bundle; empty for the host entry of a HIP fat binary. */
  bytes: Uint8Array;
  /** From the start of the bundle. */
  offset: number;
}

const MAGIC = '__CLANG_OFFLOAD_BUNDLE__';

/** Whether the bytes start with an uncompressed offload bundle. */
export function isBundle(bytes: Uint8Array): boolean {
  for (let index = 0; index < MAGIC.length; index++) {
    if (bytes[index] !== MAGIC.charCodeAt(index)) return false;
  }
  return true;
}

/**
 * Reads an uncompressed bundle (clang-offload-bundler, "Bundled Code Object Layout"): the magic, then the
 * count and per entry offset, size, length of the id (u64 each) and the id. `sizeBytes` is the end of the
 * last entry.
 */
export function readBundle(reader: ByteReader): { entries: BundleEntry[]; sizeBytes: number } {
  reader.offset = 0;
  if (!isBundle(reader.bytes)) reader.fail(`no offload bundle: the magic ${MAGIC} is missing`);
  reader.take(MAGIC.length, 'the magic');
  const entryCount = reader.size('number of bundle entries');
  checkLimit('bundleEntries', entryCount, { ...reader.source, offset: MAGIC.length });
  const entries: BundleEntry[] = [];
  let sizeBytes = reader.offset;
  for (let index = 0; index < entryCount; index++) {
    const offset = reader.size(`offset of bundle entry ${index}`);
    const entrySizeBytes = reader.size(`size of bundle entry ${index}`);
    const idSizeBytes = reader.size(`id length of bundle entry ${index}`);
    checkLimit('bundleIdBytes', idSizeBytes, { ...reader.source, offset: reader.offset });
    const at = reader.offset;
    const idBytes = reader.take(idSizeBytes, `id of bundle entry ${index}`);
    const id = decodeUtf8(idBytes) ?? reader.fail(`the id of bundle entry ${index} is not UTF-8`, at);
    reader.check(offset, entrySizeBytes, `bundle entry ${id}`);
    entries.push({ id, bytes: reader.bytes.subarray(offset, offset + entrySizeBytes), offset });
    sizeBytes = Math.max(sizeBytes, reader.offset, offset + entrySizeBytes);
  }
  return { entries, sizeBytes };
}
