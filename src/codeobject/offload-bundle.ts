import { alignUp } from '../base/align.ts';
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
/** The number of entries, and offset, size and length of the id of each: 64 bits. */
const [COUNT_BYTES, ENTRY_HEADER_BYTES] = [8, 24];

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

/** A bundle of these entries, each at a multiple of `alignmentBytes`; the inverse of `readBundle`. */
export function writeBundle(entries: readonly Pick<BundleEntry, 'id' | 'bytes'>[], alignmentBytes: number): Uint8Array {
  const ids = entries.map(({ id }) => new TextEncoder().encode(id));
  const headerBytes = ids.reduce((sum, id) => sum + ENTRY_HEADER_BYTES + id.length, MAGIC.length + COUNT_BYTES);
  let end = headerBytes;
  const places = entries.map(({ bytes }) => {
    const at = alignUp(end, alignmentBytes);
    end = at + bytes.length;
    return at;
  });
  const bundle = new Uint8Array(end);
  const view = new DataView(bundle.buffer);
  bundle.set(new TextEncoder().encode(MAGIC));
  view.setBigUint64(MAGIC.length, BigInt(entries.length), true);
  let at = MAGIC.length + COUNT_BYTES;
  for (const [i, { bytes }] of entries.entries()) {
    const id = ids[i]!;
    [places[i]!, bytes.length, id.length].forEach((value, field) => {
      view.setBigUint64(at + field * 8, BigInt(value), true);
    });
    bundle.set(id, at + ENTRY_HEADER_BYTES);
    bundle.set(bytes, places[i]!);
    at += ENTRY_HEADER_BYTES + id.length;
  }
  return bundle;
}
