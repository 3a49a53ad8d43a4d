/** Payloads in the words of dumps: bytes are shown as ranges of the file. */
import type { JsonValue } from '../../base/json.ts';
import { decodeMetadata } from '../format/executable-metadata.ts';
import { payloadOf, type ReplayFile, type ReplayRecord } from '../format/file.ts';
import { FILE_REFERENCE, FILE_VALIDATION } from '../format/names.ts';
import type { BufferRefRecord, TimepointRecord } from '../format/payload-kinds.ts';
import type { PayloadField, PayloadLayout } from '../format/payload-layout.ts';
import { EXECUTABLE_PREPARE, FILE_OBJECT, OWN, PAYLOADS, REPLAY_SCOPE } from '../format/payloads.ts';

/** Bytes in the file. */
export const rangeJson = (offset: number, length: number): JsonValue => ({
  ...{ offset, length, uncompressed_length: length, compression_type: 0, digest_type: 0 },
});

const WHOLE = 2n ** 64n - 1n;

/** A payload, read. */
interface Shown {
  readonly layout: PayloadLayout;
  readonly values: Readonly<Record<string, unknown>>;
  /** Of what stands behind the fields, by name. */
  readonly ranges: ReadonlyMap<string, { readonly offset: number; readonly length: number; readonly count: number }>;
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function shown(file: ReplayFile, record: ReplayRecord): Shown | undefined {
  const layout = PAYLOADS.get(record.payloadType);
  if (layout === undefined) return undefined;
  const values: Readonly<Record<string, unknown>> = payloadOf(file, record, layout);
  let offset = record.payloadOffset + layout.sizeBytes;
  const ranges = new Map<string, { offset: number; length: number; count: number }>();
  for (const { name, sizeBytes, width } of layout.tailRanges(record.payload, { offset: record.payloadOffset })) {
    ranges.set(name, { offset, length: sizeBytes, count: sizeBytes / width });
    offset += sizeBytes;
  }
  return { layout, values, ranges };
}

/** `wait_semaphores` are counted by `wait_semaphore_count`, `data` is measured by `data_length`. */
const countName = (name: string, { kind }: PayloadField): string =>
  kind === 'data' || kind === 'text' ? `${snake(name)}_length` : `${snake(name).replace(/s$/, '')}_count`;

/** What a field is called, undefined where a dump does not have it. */
function nameIn(how: 'json' | 'text', name: string, field: PayloadField, otherwise: string): string | undefined {
  if (how in field) return field[how];
  return otherwise === '' ? snake(name) : otherwise;
}

const refJson = ({ bufferId, offset, length, slot }: BufferRefRecord): JsonValue => ({
  buffer_id: bufferId,
  offset,
  length: length ?? WHOLE,
  buffer_slot: slot,
});
const refText = ({ bufferId, offset, length, slot }: BufferRefRecord): string =>
  `{buffer_id=${bufferId} offset=${offset} length=${length ?? WHOLE} slot=${slot}}`;

/** Undefined for a record without a payload; null for one of a kind that this version does not know. */
export function payloadJson(file: ReplayFile, record: ReplayRecord): JsonValue | undefined {
  if (record.payloadType === 0) return undefined;
  const payload = shown(file, record);
  if (payload === undefined) return null;
  const { layout, values, ranges } = payload;
  if (layout === REPLAY_SCOPE) return { name: String(values['name']) };
  if (layout === OWN) {
    const { offset, length } = ranges.get('data')!;
    return { ...ownJson(String(values['json'])), ...(length > 0 && { data_range: rangeJson(offset, length) }) };
  }
  const [numbers, refs, elements]: Record<string, JsonValue>[] = [{}, {}, {}];
  const spans = Array.from(
    ranges,
    ([name, { offset, length }]) => [`${snake(name)}_range`, rangeJson(offset, length)] as const,
  );
  for (const [name, field] of Object.entries(layout.fields)) {
    const range = ranges.get(name);
    if (range !== undefined) {
      const key = nameIn('json', name, field, countName(name, field));
      if (key !== undefined) numbers![key] = range.count;
      if ('elements' in field) elements![field.elements!] = elementsJson(values[name]);
    } else if (field.kind === 'bufferRef') {
      refs![snake(name)] = refJson(values[name] as BufferRefRecord); // reason: the kind of the field
    } else {
      const key = nameIn('json', name, field, '');
      if (key !== undefined) Object.assign(numbers!, fieldJson(key, values[name]));
    }
  }
  return { ...numbers, ...refs, ...Object.fromEntries(spans), ...elements, ...metadataJson(file, payload) };
}

function ownJson(text: string): Readonly<Record<string, JsonValue>> {
  try {
    const value: unknown = JSON.parse(text);
    // reason: what is parsed is JSON
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, JsonValue>;
  } catch {}
  return { damaged: text };
}

/** A field, and for some the name of its value. */
function fieldJson(key: string, value: unknown): Record<string, JsonValue> {
  if (value instanceof Uint8Array) return { digest_fnv1a64: digestText(value) };
  const cell = value as JsonValue; // reason: numbers and lists of numbers are left
  const name = nameOfValue(key, value);
  return { [key]: cell, ...(name !== undefined && { [`${key}_name`]: name }) };
}

function nameOfValue(key: string, value: unknown): string | undefined {
  const table = key === 'reference_type' ? FILE_REFERENCE : key === 'validation_type' ? FILE_VALIDATION : undefined;
  if (table === undefined) return undefined;
  return Object.entries(table).find(([, each]) => each === value)?.[0] ?? 'unknown';
}

const digestText = (digest: Uint8Array): string => {
  const view = new DataView(digest.buffer, digest.byteOffset, digest.byteLength);
  return `0x${view.getBigUint64(0, true).toString(16).padStart(16, '0')}`;
};

const elementsJson = (value: unknown): JsonValue =>
  // reason: dumps show the elements of these kinds alone
  (value as readonly (TimepointRecord | BufferRefRecord)[]).map((each) =>
    'semaphoreId' in each ? { semaphore_id: each.semaphoreId, value: each.value } : refJson(each),
  );

function metadataJson(file: ReplayFile, { layout, values, ranges }: Shown): Readonly<Record<string, JsonValue>> {
  const found = metadataCounts(file, layout, values, ranges.get('metadata')?.offset ?? 0);
  if (found === undefined) return {};
  return { metadata_export_count: found.exports, metadata_parameter_count: found.parameters };
}

function metadataCounts(file: ReplayFile, layout: PayloadLayout, values: Shown['values'], offset: number) {
  if (layout !== EXECUTABLE_PREPARE) return undefined;
  const bytes = values['metadata'] as Uint8Array; // reason: the table says so
  const exports = decodeMetadata(bytes, { file: `${file.name}, from ${offset} on` });
  return (
    exports && {
      exports: exports.length,
      parameters: exports.reduce((sum, { parameters }) => sum + parameters.length, 0),
    }
  );
}

/** `key=value`, in the order of iree-dump-replay. */
export function payloadText(file: ReplayFile, record: ReplayRecord): string[] {
  const { layout, values, ranges } = shown(file, record)!;
  if (layout === REPLAY_SCOPE) return [`name="${String(values['name'])}"`];
  if (layout === OWN) return [String(values['json'])];
  const [numbers, refs, elements]: string[][] = [[], [], []];
  const spans = Array.from(ranges, ([name, range]) => rangeText(layout, name, range)).flat();
  for (const [name, field] of orderedFields(layout)) {
    const range = ranges.get(name);
    if (range !== undefined) {
      const key = nameIn('text', name, field, countName(name, field));
      if (key !== undefined) numbers!.push(`${key}=${range.count}`);
      if ('elements' in field) elements!.push(`${field.elements}=[${elementsText(values[name])}]`);
    } else if (field.kind === 'bufferRef') {
      refs!.push(`${snake(name)}=${refText(values[name] as BufferRefRecord)}`); // reason: the kind of the field
    } else {
      const key = nameIn('text', name, field, '');
      if (key !== undefined) (field.isLast === true ? elements! : numbers!).push(fieldText(key, field, values[name]));
    }
  }
  const counts = metadataCounts(file, layout, values, ranges.get('metadata')?.offset ?? 0);
  const metadata =
    counts === undefined ? [] : [`metadata_exports=${counts.exports}`, `metadata_parameters=${counts.parameters}`];
  return [...numbers!, ...spans, ...refs!, ...elements!, ...metadata];
}

/** The text of a file object has an order of its own. */
const FILE_TEXT_ORDER =
  'queueAffinity fileLength access flags handleType referenceType fileDevice fileInode fileMtimeNs validationType digestType digest reference';

const orderedFields = (layout: PayloadLayout): (readonly [string, PayloadField])[] =>
  layout === FILE_OBJECT
    ? FILE_TEXT_ORDER.split(' ').map((name) => [name, layout.fields[name]!] as const)
    : Object.entries(layout.fields);

/** Text of a dispatch has no ranges of semaphores, and short names of them elsewhere. */
function rangeText(layout: PayloadLayout, name: string, { offset, length }: { offset: number; length: number }) {
  if (layout.fields[name]!.kind !== 'timepoints') return [`${snake(name)}_range=[${offset}, +${length}]`];
  if (layout.name === 'dispatch') return [];
  return [`${snake(name).replace('_semaphores', '')}_range=[${offset}, +${length}]`];
}

function fieldText(key: string, field: PayloadField, value: unknown): string {
  if (value instanceof Uint8Array) return `digest_fnv1a64=${digestText(value)}`;
  if (Array.isArray(value)) return `${key}=[${value.join(',')}]`;
  const name = nameOfValue(key, value);
  if (name !== undefined) return `${key}=${name}(${String(value)})`;
  if (field.digits === undefined) return `${key}=${String(value)}`;
  return `${key}=0x${(value as number | bigint).toString(16).padStart(field.digits, '0')}`; // reason: flags are numbers
}

const elementsText = (value: unknown): string =>
  // reason: dumps show the elements of these kinds alone
  (value as readonly (TimepointRecord | BufferRefRecord)[])
    .map((each) => ('semaphoreId' in each ? `{semaphore_id=${each.semaphoreId} value=${each.value}}` : refText(each)))
    .join(',');
