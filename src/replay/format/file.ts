/**
 * `.ireereplay` files, version 1.0: a header, then records, each with a payload (iree/hal/replay/format.h and
 * file_reader.c at IREE b42f44c0d9). The length in the header is 0 until the recording ends.
 */
import type { BundleTarget } from '../../base/bundle-target.ts';
import { ByteReader, type ByteSource } from '../../base/bytes.ts';
import { WavewrightError } from '../../base/errors.ts';
import { FILE_HEADER_BYTES, fileHeader, readFileHeader } from '../../base/iree-file-header.ts';
import { checkLimit } from '../../base/limits.ts';
import { hex } from '../../base/text.ts';
import {
  isOwnNote,
  OBJECT_TYPES,
  type ObjectType,
  operationCode,
  operationName,
  RECORD_OPTIONAL,
  RECORD_TYPES,
  type RecordType,
  recordTypeName,
} from './names.ts';
import type { PayloadLayout, PayloadOf } from './payload-layout.ts';
import { OWN, payloadTypeName } from './payloads.ts';

export const REPLAY_VERSION = { major: 1, minor: 0 } as const;
const KIND = { magic: 0x5052_5249, letters: 'IRRP', version: REPLAY_VERSION, noun: 'recording' } as const;
const RECORD_HEADER_BYTES = 96;
/** Where the second reserved field of the header of a record stands. */
const RESERVED_AT = 88;

/** What a record says of itself; what is not said is 0. */
export interface ReplayRecordHeader {
  readonly threadId: bigint;
  readonly deviceId: number;
  readonly objectId: number;
  readonly relatedObjectId: number;
  readonly objectType: number;
  readonly operation: number;
  /** A number of `HAL_STATUS`, or 0: what the call returned. */
  readonly status: number;
}

export interface ReplayRecord extends ReplayRecordHeader {
  /** From 0 on, over all records of the file. */
  readonly ordinal: number;
  /** A number of `RECORD_TYPES`, or one that this version does not know. */
  readonly type: number;
  readonly flags: number;
  readonly payloadType: number;
  /** Of the record, header included. */
  readonly sizeBytes: number;
  /** Of the record in the file. */
  readonly offset: number;
  /** A view of the file. */
  readonly payload: Uint8Array;
  readonly payloadOffset: number;
}

export interface ReplayFile {
  readonly name: string;
  readonly versionMinor: number;
  readonly headerBytes: number;
  /** As long as the file says, which may be shorter than the bytes. */
  readonly sizeBytes: number;
  /** Whether the recording ended: the file knows its length. */
  readonly isComplete: boolean;
  readonly records: readonly ReplayRecord[];
}

/**
 * Reads the frame of a file. Throws BAD_INPUT for what is no recording or a damaged one, UNSUPPORTED for
 * another major version and for records that must not be skipped and that this version does not know,
 * LIMIT_EXCEEDED for too many records.
 */
export function readReplayFile(file: Uint8Array, name = 'recording'): ReplayFile {
  const { minor, headerBytes, sizeBytes, isComplete } = readFileHeader(file, KIND, { file: name });
  const valid = file.subarray(0, sizeBytes);
  const records: ReplayRecord[] = [];
  for (let at = headerBytes; at < sizeBytes; at += records.at(-1)!.sizeBytes) {
    checkLimit('replayRecords', records.length + 1, { file: name });
    records.push(readRecord(valid, at, records.length, { file: name }));
  }
  return { name, versionMinor: minor, headerBytes, sizeBytes, isComplete, records };
}

function readRecord(file: Uint8Array, start: number, ordinal: number, source: ByteSource): ReplayRecord {
  const reader = new ByteReader(file, { ...source, section: `record ${ordinal}` });
  reader.offset = start;
  const fail = (what: string, offset: number): never => reader.fail(what, start + offset);
  const left = file.length - start;
  if (left < RECORD_HEADER_BYTES) fail(`${left} bytes are left, a record has at least ${RECORD_HEADER_BYTES}`, 0);
  const sizeBytes = reader.size('the length of the record');
  const payloadBytes = reader.size('the length of the payload');
  const sequence = reader.size('the sequence ordinal');
  const threadId = reader.u64('the thread');
  const deviceId = reader.size('the device');
  const objectId = reader.size('the object');
  const relatedObjectId = reader.size('the related object');
  const headerBytes = reader.u32('the length of the header');
  const type = reader.u16('the type of the record');
  const flags = reader.u16('the flags of the record');
  const payloadType = reader.u32('the type of the payload');
  const objectType = reader.u32('the type of the object');
  const operation = reader.u32('the operation');
  const status = reader.u32('the status');
  const reserved = [reader.u32('a reserved field')];
  // Between the two is padding, which IREE's recorder leaves as it comes.
  reader.offset = start + RESERVED_AT;
  reserved.push(reader.size('a reserved field'));
  if ((flags & ~RECORD_OPTIONAL) !== 0) fail(`flags ${hex(flags)}, expected 0 or 1`, 62);
  if (reserved.some((each) => each !== 0)) fail('reserved fields that are not 0', 80);
  if (sizeBytes > left) fail(`${sizeBytes} bytes, ${left} are left`, 0);
  if (headerBytes < RECORD_HEADER_BYTES || headerBytes > sizeBytes) {
    fail(`a header of ${headerBytes} bytes in a record of ${sizeBytes}`, 56);
  }
  if (headerBytes + payloadBytes !== sizeBytes) {
    fail(`a header of ${headerBytes} and a payload of ${payloadBytes} bytes, it has ${sizeBytes}`, 8);
  }
  if (sequence !== ordinal) fail(`a sequence ordinal of ${sequence}, expected ${ordinal}`, 16);
  if (recordTypeName(type) === 'unknown' && (flags & RECORD_OPTIONAL) === 0) {
    const what = `a record of type ${type}, which this version does not know and must not skip`;
    throw new WavewrightError('UNSUPPORTED', what, { ...reader.source, offset: start });
  }
  return {
    ...{ ordinal, type, flags, payloadType, sizeBytes, threadId, deviceId, objectId, relatedObjectId },
    ...{ objectType, operation, status, offset: start, payloadOffset: start + headerBytes },
    payload: file.subarray(start + headerBytes, start + sizeBytes),
  };
}

/** Whether a record is skipped: one that may be, of a type that this version does not know. */
export const isSkipped = ({ type }: ReplayRecord): boolean => recordTypeName(type) === 'unknown';

/**
 * The payload of a record, which must be of a layout. Throws BAD_INPUT.
 */
export function payloadOf<Layout extends PayloadLayout>(
  file: Pick<ReplayFile, 'name' | 'versionMinor'>,
  record: ReplayRecord,
  layout: Layout,
): PayloadOf<Layout> {
  const place = { file: file.name, offset: record.payloadOffset };
  if (record.payloadType !== layout.type) {
    const found = `${payloadTypeName(record.payloadType)} (${record.payloadType})`;
    const what = `${operationName(record.operation)} has a payload of type ${found}, expected ${layout.name}`;
    throw new WavewrightError('BAD_INPUT', what, { ...place, section: `record ${record.ordinal}` });
  }
  return layout.decode(record.payload, place, file.versionMinor > REPLAY_VERSION.minor);
}

type Header = Partial<Omit<ReplayRecordHeader, 'objectType' | 'operation'>> & { readonly objectType?: ObjectType };

export class ReplayWriter {
  readonly #target: BundleTarget;
  #sizeBytes = FILE_HEADER_BYTES;
  #count = 0;

  constructor(target: BundleTarget) {
    this.#target = target;
    target.append(fileHeader(KIND, 0));
  }

  /** The ordinal of the next record. */
  get nextOrdinal(): number {
    return this.#count;
  }

  session(): void {
    this.#write('session', 0, {}, 0, []);
  }

  object<Layout extends PayloadLayout>(header: Header, layout?: Layout, payload?: Partial<PayloadOf<Layout>>): void {
    this.#write('object', 0, header, layout?.type ?? 0, layout?.encode(payload ?? {}) ?? []);
  }

  /** Returns the ordinal of the record. */
  operation<Layout extends PayloadLayout>(
    name: string,
    header: Header,
    layout?: Layout,
    payload?: Partial<PayloadOf<Layout>>,
  ): number {
    const code = operationCode(name);
    const type = isOwnNote(code) ? 'object' : 'operation';
    return this.#write(type, code, header, layout?.type ?? 0, layout?.encode(payload ?? {}) ?? []);
  }

  /** A record of ours: what it tells as JSON, and bytes. */
  own(name: string, header: Header, told: unknown, data: Uint8Array = new Uint8Array()): number {
    return this.operation(name, header, OWN, { json: JSON.stringify(told), data });
  }

  unsupported(name: string, header: Header): void {
    this.#write('unsupported', operationCode(name), header, 0, []);
  }

  #write(
    type: RecordType,
    operation: number,
    header: Header,
    payloadType: number,
    payload: readonly Uint8Array[],
  ): number {
    const ordinal = this.#count++;
    const head = recordHeader(type, { ordinal, operation, payloadType }, header, payload);
    for (const part of [head, ...payload]) {
      // Who writes later keeps the bytes: these may be the program's.
      this.#target.append(part === head ? part : part.slice());
      this.#sizeBytes += part.length;
    }
    return ordinal;
  }

  /** Nothing comes any more: the header has the length. */
  end(): void {
    this.#target.restart(fileHeader(KIND, this.#sizeBytes));
  }
}

function recordHeader(
  type: RecordType,
  { ordinal, operation, payloadType }: { ordinal: number; operation: number; payloadType: number },
  header: Header,
  payload: readonly Uint8Array[],
): Uint8Array {
  const payloadBytes = payload.reduce((sum, { length }) => sum + length, 0);
  const view = new DataView(new ArrayBuffer(RECORD_HEADER_BYTES));
  const { deviceId = 0, objectId = 0, relatedObjectId = 0, threadId = 0n, objectType, status = 0 } = header;
  const longs = [RECORD_HEADER_BYTES + payloadBytes, payloadBytes, ordinal, threadId, deviceId, objectId];
  for (const [i, each] of [...longs, relatedObjectId].entries()) view.setBigUint64(8 * i, BigInt(each), true);
  view.setUint32(56, RECORD_HEADER_BYTES, true);
  view.setUint16(60, RECORD_TYPES[type], true);
  view.setUint16(62, isOwnNote(operation) ? RECORD_OPTIONAL : 0, true);
  const words = [payloadType, objectType === undefined ? 0 : OBJECT_TYPES[objectType], operation, status];
  for (const [i, each] of words.entries()) view.setUint32(64 + 4 * i, each, true);
  return new Uint8Array(view.buffer);
}
