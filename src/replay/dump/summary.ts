/** What a recording holds and needs. */
import { payloadOf, type ReplayFile } from '../format/file.ts';
import { FILE_REFERENCE, FILE_VALIDATION, operationName, RECORD_TYPES } from '../format/names.ts';
import { FILE_OBJECT, QUEUE_READ } from '../format/payloads.ts';

interface FileTotal {
  count: number;
  bytes: number;
}

export interface ReplaySummary {
  readonly records: number;
  readonly objects: number;
  readonly operations: number;
  readonly unsupported: number;
  readonly scopeBegins: number;
  readonly scopeEnds: number;
  readonly files: number;
  readonly references: Readonly<
    Record<'external_path' | 'inline_bytes' | 'captured_ranges' | 'unknown', Readonly<FileTotal>>
  >;
  readonly validations: Readonly<Record<'identity' | 'digest' | 'none' | 'unknown', number>>;
  readonly capturedReadBytes: number;
  /** It needs no file but itself. */
  readonly isHermetic: boolean;
  readonly isEnvironmentReferenced: boolean;
  readonly isStrictReplaySupported: boolean;
}

const keyOf = <Name extends string>(table: Readonly<Record<Name, number>>, value: number): Name | undefined =>
  // reason: a key of the table
  (Object.keys(table) as Name[]).find((name) => table[name] === value);

/** Throws BAD_INPUT for a damaged payload of a file or a read. */
export function summaryOf(file: ReplayFile): ReplaySummary {
  const total = (): FileTotal => ({ count: 0, bytes: 0 });
  const references = { external_path: total(), inline_bytes: total(), captured_ranges: total(), unknown: total() };
  const validations = { identity: 0, digest: 0, none: 0, unknown: 0 };
  const count = (type: number) => file.records.filter((record) => record.type === type).length;
  const named = (name: string) =>
    file.records.filter(({ type, operation }) => type === RECORD_TYPES.operation && operationName(operation) === name)
      .length;
  let capturedReadBytes = 0;
  for (const record of file.records) {
    if (record.type === RECORD_TYPES.operation && record.payloadType === QUEUE_READ.type) {
      capturedReadBytes += payloadOf(file, record, QUEUE_READ).capturedData.length;
    }
    if (record.type !== RECORD_TYPES.object || record.payloadType !== FILE_OBJECT.type) continue;
    const { referenceType, validationType, reference, fileLength } = payloadOf(file, record, FILE_OBJECT);
    const kind = keyOf(FILE_REFERENCE, referenceType);
    const entry = references[kind === undefined || kind === 'none' ? 'unknown' : kind];
    entry.count++;
    entry.bytes += kind === 'inline_bytes' ? reference.length : fileLength;
    validations[keyOf(FILE_VALIDATION, validationType) ?? 'unknown']++;
  }
  const isEnvironmentReferenced = references.external_path.count > 0;
  const unsupported = count(RECORD_TYPES.unsupported);
  return {
    records: file.records.length,
    objects: count(RECORD_TYPES.object),
    operations: count(RECORD_TYPES.operation),
    unsupported,
    scopeBegins: named('replay.scope_begin'),
    scopeEnds: named('replay.scope_end'),
    files: Object.values(references).reduce((sum, each) => sum + each.count, 0),
    ...{ references, validations, capturedReadBytes },
    isHermetic: !isEnvironmentReferenced && references.unknown.count === 0,
    isEnvironmentReferenced,
    isStrictReplaySupported: unsupported === 0 && references.unknown.count === 0 && validations.unknown === 0,
  };
}
