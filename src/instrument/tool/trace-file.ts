/**
 * Traces of memory accesses in files. All numbers are little-endian: the bytes `WWMT`, the version 1 and the
 * size of the JSON that follows, 32 bits each; the JSON, `{ points, lost }` with the address, function, line,
 * text, kind, space and size of each access in the code, padded with spaces to a multiple of 16 bytes of the
 * file; then 16 bytes for each lane that made an access: its address, 64 bits; the number of the access in
 * bits 0 to 23 and the lane in bits 24 to 31 of the next 32; and 32 bits that are the same for all lanes that
 * accessed together.
 */
import { alignUp } from '../../base/align.ts';
import { ByteReader } from '../../base/bytes.ts';
import { WavewrightError } from '../../base/errors.ts';
import { lineText } from './attribution.ts';
import { type AccessPoint, decodeRecords, encodeRecords, type TraceContents, type TraceRecord } from './lane-trace.ts';

/** An access in the code. */
export interface TracePoint {
  readonly address: number;
  readonly function: string;
  readonly line: string;
  readonly text: string;
  readonly kind: string;
  readonly space: string;
  readonly sizeBytes: number;
}

export interface TraceFile {
  readonly points: readonly TracePoint[];
  readonly records: readonly TraceRecord[];
  /** Records for which there was no room, as text of an integer. */
  readonly lost: string;
}

const MAGIC = 0x544d_5757;
const VERSION = 1;
const HEADER_BYTES = 12;
const ALIGNMENT_BYTES = 16;

export function encodeTraceFile(points: readonly AccessPoint[], { records, lost }: TraceContents): Uint8Array {
  const described = points.map(
    ({ instruction, access: { kind, space, sizeBytes } }): TracePoint => ({
      ...{ address: instruction.address, function: instruction.block.function.name, line: lineText(instruction) },
      ...{ text: instruction.step.text(), kind, space, sizeBytes },
    }),
  );
  const json = new TextEncoder().encode(JSON.stringify({ points: described, lost: `${lost}` }));
  const start = alignUp(HEADER_BYTES + json.length, ALIGNMENT_BYTES);
  const body = encodeRecords(records);
  const bytes = new Uint8Array(start + body.length).fill(0x20, HEADER_BYTES, start);
  const view = new DataView(bytes.buffer);
  for (const [i, word] of [MAGIC, VERSION, start - HEADER_BYTES].entries()) view.setUint32(4 * i, word, true);
  bytes.set(json, HEADER_BYTES);
  bytes.set(body, start);
  return bytes;
}

/** Throws BAD_INPUT for what `encodeTraceFile` does not write. */
export function readTraceFile(bytes: Uint8Array, file: string): TraceFile {
  const reader = new ByteReader(bytes, { file });
  if (reader.u32('the magic of a trace') !== MAGIC) reader.fail('no trace of memory accesses', 0);
  const version = reader.u32('the version of a trace');
  if (version !== VERSION) reader.fail(`a trace of version ${version}, expected ${VERSION}`, 4);
  const jsonBytes = reader.u32('the size of what describes the accesses');
  const header = headerOf(reader.take(jsonBytes, 'what describes the accesses'), file);
  if (reader.remaining % ALIGNMENT_BYTES !== 0) reader.fail('a record that is cut off');
  const records = decodeRecords(reader.take(reader.remaining, 'records'));
  const unknown = records.find(({ point }) => point >= header.points.length);
  if (unknown) reader.fail(`a record of access ${unknown.point}, of ${header.points.length}`);
  return { ...header, records };
}

function headerOf(bytes: Uint8Array, file: string): Pick<TraceFile, 'points' | 'lost'> {
  const fail = (): never => {
    throw new WavewrightError('BAD_INPUT', 'a trace whose description of accesses is not readable', { file });
  };
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return fail();
  }
  return isHeader(parsed) ? parsed : fail();
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function isHeader(value: unknown): value is Pick<TraceFile, 'points' | 'lost'> {
  if (!isRecord(value) || typeof value.lost !== 'string' || !Array.isArray(value.points)) return false;
  return value.points.every(
    (point) =>
      isRecord(point) &&
      ['address', 'sizeBytes'].every((name) => typeof point[name] === 'number') &&
      ['function', 'line', 'text', 'kind', 'space'].every((name) => typeof point[name] === 'string'),
  );
}
