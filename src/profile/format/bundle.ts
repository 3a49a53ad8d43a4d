/**
 * `.ireeprof` bundles, version 1.6: a header, then records with chunks of data (iree/hal/utils/profile_file.h
 * at IREE b42f44c0d9). The length in the header is 0 until the session ends.
 */
import type { BundleTarget } from '../../base/bundle-target.ts';
import { ByteReader } from '../../base/bytes.ts';
import { FILE_HEADER_BYTES, fileHeader, readFileHeader } from '../../base/iree-file-header.ts';
import { hex } from '../../base/text.ts';
import { NO_ORDINAL } from './record-layout.ts';

export type { BundleTarget };

export const BUNDLE_VERSION = { major: 1, minor: 6 } as const;
const KIND = { magic: 0x4650_5249, letters: 'IRPF', version: BUNDLE_VERSION, noun: 'profile' } as const;
const RECORD_HEADER_BYTES = 104;
const CONTENT_TYPE_PREFIX = 'application/vnd.iree.hal.profile.';
const TRUNCATED = 1n;

export const BUNDLE_RECORD_TYPES = { 'session-begin': 1, chunk: 2, 'session-end': 3 } as const;
export type BundleRecordType = keyof typeof BUNDLE_RECORD_TYPES;

/** What a record says of itself; what is not said is 0, no ordinal, nothing. */
export interface BundleRecordHeader {
  readonly sessionId: bigint;
  readonly streamId: bigint;
  readonly eventId: bigint;
  readonly executableId: bigint;
  readonly commandBufferId: bigint;
  readonly physicalDeviceOrdinal: number;
  readonly queueOrdinal: number;
  /** Records of the chunk that were lost; the chunk is marked as truncated then. */
  readonly droppedCount: bigint;
  /** Of the end of a session: a number of `HAL_STATUS`, or 0. */
  readonly sessionStatus: number;
  readonly name: string;
}

export interface BundleRecord extends BundleRecordHeader {
  /** From 0 on, over all records of the file. */
  readonly index: number;
  /** Undefined: a type that this version does not know. */
  readonly type: BundleRecordType | undefined;
  readonly typeValue: number;
  /** Of IREE's content types what stands behind their common part, others whole. */
  readonly contentType: string;
  readonly chunkFlags: bigint;
  readonly isTruncated: boolean;
  /** Of the record, header included. */
  readonly sizeBytes: number;
  /** A view of the file. */
  readonly payload: Uint8Array;
  /** Of the payload in the file. */
  readonly payloadOffset: number;
}

export interface Bundle {
  readonly versionMinor: number;
  readonly headerBytes: number;
  /** As long as the file says, which may be shorter than the bytes. */
  readonly sizeBytes: number;
  /** Whether the session ended: the file knows its length. */
  readonly isComplete: boolean;
  /** In the order of the file. Throws BAD_INPUT where a record is damaged. */
  records(): Generator<BundleRecord>;
}

const contentTypeOf = (text: string): string =>
  text.startsWith(CONTENT_TYPE_PREFIX) ? text.slice(CONTENT_TYPE_PREFIX.length) : text;

/** A content type as files have it; those that no dot is in are IREE's without their common part. */
export const fullContentType = (contentType: string): string =>
  /^[a-z-]+$/.test(contentType) ? CONTENT_TYPE_PREFIX + contentType : contentType;

/** Throws BAD_INPUT for what is no bundle, UNSUPPORTED for one of another major version. */
export function readProfileBundle(file: Uint8Array, name?: string): Bundle {
  const source = name === undefined ? {} : { file: name };
  const { minor, headerBytes, sizeBytes, isComplete } = readFileHeader(file, KIND, source);
  return {
    versionMinor: minor,
    headerBytes,
    sizeBytes,
    isComplete,
    *records() {
      for (let [at, index] = [headerBytes, 0]; at < sizeBytes; index++) {
        const { record, next } = readRecord(file.subarray(0, sizeBytes), at, index, source);
        yield record;
        at = next;
      }
    },
  };
}

const TEXT = new TextDecoder();

function readRecord(
  file: Uint8Array,
  start: number,
  index: number,
  source: { file?: string },
): { record: BundleRecord; next: number } {
  const reader = new ByteReader(file, { ...source, section: `record ${index}` });
  reader.offset = start;
  const fail = (what: string, offset: number): never => reader.fail(what, start + offset);
  if (file.length - start < RECORD_HEADER_BYTES) {
    fail(`${file.length - start} bytes are left, a record has at least ${RECORD_HEADER_BYTES}`, 0);
  }
  const recordBytes = reader.size('the length of the record');
  const payloadBytes = reader.size('the length of the payload');
  const [sessionId, streamId, eventId, executableId, commandBufferId] = Array.from({ length: 5 }, () =>
    reader.u64('an id'),
  ) as [bigint, bigint, bigint, bigint, bigint]; // reason: as many as there are
  const headerBytes = reader.u32('the length of the header');
  const contentTypeBytes = reader.u32('the length of the content type');
  const nameBytes = reader.u32('the length of the name');
  const physicalDeviceOrdinal = reader.u32('the device');
  const queueOrdinal = reader.u32('the queue');
  reader.offset += 4;
  const chunkFlags = reader.u64('the flags of the chunk');
  const droppedCount = reader.u64('the number of dropped records');
  const sessionStatus = reader.u32('the status of the session');
  const type = reader.u16('the type of the record');
  const flags = reader.u16('the flags of the record');
  if (flags !== 0) fail(`flags ${hex(flags)}, expected 0`, 102);
  if (recordBytes > file.length - start) fail(`${recordBytes} bytes, ${file.length - start} are left`, 0);
  if (headerBytes < RECORD_HEADER_BYTES || headerBytes > recordBytes) {
    fail(`a header of ${headerBytes} bytes in a record of ${recordBytes}`, 56);
  }
  if (headerBytes + contentTypeBytes + nameBytes + payloadBytes !== recordBytes) {
    fail(`its parts have ${headerBytes + contentTypeBytes + nameBytes + payloadBytes} bytes, it has ${recordBytes}`, 0);
  }
  const nameAt = start + headerBytes + contentTypeBytes;
  const payloadOffset = nameAt + nameBytes;
  const [found] = Object.entries(BUNDLE_RECORD_TYPES).find(([, value]) => value === type) ?? [];
  const record: BundleRecord = {
    index,
    type: found as BundleRecordType | undefined, // reason: a key of the table
    contentType: contentTypeOf(TEXT.decode(file.subarray(start + headerBytes, nameAt))),
    name: TEXT.decode(file.subarray(nameAt, payloadOffset)),
    ...{ sessionId, streamId, eventId, executableId, commandBufferId, physicalDeviceOrdinal, queueOrdinal },
    ...{ typeValue: type, chunkFlags, sizeBytes: recordBytes },
    ...{ isTruncated: (chunkFlags & TRUNCATED) !== 0n, droppedCount, sessionStatus },
    payload: file.subarray(payloadOffset, payloadOffset + payloadBytes),
    payloadOffset,
  };
  return { record, next: start + recordBytes };
}

export class BundleWriter {
  readonly #target: BundleTarget;
  #sizeBytes = FILE_HEADER_BYTES;

  constructor(target: BundleTarget) {
    this.#target = target;
    target.append(fileHeader(KIND, 0));
  }

  /** `contentType`: one of IREE's without the common part, or another one whole, which has a dot. */
  record(
    type: BundleRecordType,
    contentType: string,
    header: Partial<BundleRecordHeader> = {},
    payload: readonly Uint8Array[] = [],
  ): void {
    const bytes = recordHeader(type, fullContentType(contentType), header, payload);
    for (const each of [bytes, ...payload]) {
      this.#target.append(each);
      this.#sizeBytes += each.length;
    }
  }

  /** Nothing comes any more: the header has the length. */
  end(): void {
    this.#target.restart(fileHeader(KIND, this.#sizeBytes));
  }
}

function recordHeader(
  type: BundleRecordType,
  contentType: string,
  given: Partial<BundleRecordHeader>,
  payload: readonly Uint8Array[],
): Uint8Array {
  const [typeBytes, nameBytes] = [contentType, given.name ?? ''].map((text) => new TextEncoder().encode(text));
  const payloadBytes = payload.reduce((sum, { length }) => sum + length, 0);
  const out = new Uint8Array(RECORD_HEADER_BYTES + typeBytes!.length + nameBytes!.length);
  const view = new DataView(out.buffer);
  const { droppedCount = 0n, physicalDeviceOrdinal = NO_ORDINAL, queueOrdinal = NO_ORDINAL } = given;
  const { sessionId = 0n, streamId = 0n, eventId = 0n, executableId = 0n, commandBufferId = 0n } = given;
  const lengths = [BigInt(out.length + payloadBytes), BigInt(payloadBytes)];
  for (const [i, each] of [...lengths, sessionId, streamId, eventId, executableId, commandBufferId].entries()) {
    view.setBigUint64(8 * i, each, true);
  }
  const sizes = [RECORD_HEADER_BYTES, typeBytes!.length, nameBytes!.length, physicalDeviceOrdinal, queueOrdinal];
  for (const [i, each] of sizes.entries()) view.setUint32(56 + 4 * i, each, true);
  view.setBigUint64(80, droppedCount > 0n ? TRUNCATED : 0n, true);
  view.setBigUint64(88, droppedCount, true);
  view.setUint32(96, given.sessionStatus ?? 0, true);
  view.setUint16(100, BUNDLE_RECORD_TYPES[type], true);
  out.set(typeBytes!, RECORD_HEADER_BYTES);
  out.set(nameBytes!, RECORD_HEADER_BYTES + typeBytes!.length);
  return out;
}
