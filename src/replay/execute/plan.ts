/** A recording as steps: everything that can be known of it without a device is checked once, and first. */
import { WavewrightError } from '../../base/errors.ts';
import { isSkipped, payloadOf, type ReplayFile, type ReplayRecord } from '../format/file.ts';
import { OBJECT_TYPES, operationName, RECORD_TYPES } from '../format/names.ts';
import { OWN, PAYLOADS } from '../format/payloads.ts';
import { PASSED_OVER, REPLAY_LAYOUTS } from './operations.ts';
import { ownProblem } from './own-shapes.ts';

export interface ReplayStep {
  readonly record: ReplayRecord;
  /** `device.queue_fill`, `note.contents`, or `object.device`. */
  readonly name: string;
  /** Of the layout that `REPLAY_LAYOUTS` names. */
  readonly payload: unknown;
}

/** Something of a recording that cannot be replayed. */
export interface ReplayFinding {
  readonly ordinal: number;
  readonly message: string;
}

export interface ReplayPlan {
  readonly file: ReplayFile;
  readonly steps: readonly ReplayStep[];
  /** Devices that it was recorded on, in the order in which they were wrapped. */
  readonly devices: readonly RecordedDevice[];
  /** Whether it says when operations ended; IREE's recordings do not. */
  readonly hasEnds: boolean;
  /** Nothing where all of it can be replayed. */
  readonly findings: readonly ReplayFinding[];
  /** Names of its scopes, in the order of their first begin. */
  readonly scopes: readonly string[];
}

/** What a recording says of a device; IREE's say nothing. */
export interface RecordedDevice {
  readonly uri?: string;
  readonly queues?: number;
  /** Of the code of each physical device. */
  readonly formats?: readonly string[];
}

/** Throws BAD_INPUT for damaged payloads; what cannot be replayed is a finding. */
export function planReplay(file: ReplayFile): ReplayPlan {
  const steps: ReplayStep[] = [];
  const findings: ReplayFinding[] = [];
  const devices: RecordedDevice[] = [];
  const scopes = new Set<string>();
  const places = new Map<number, number>();
  for (const record of file.records) {
    const name = nameOf(record);
    const finding = problemOf(record, name);
    if (finding !== undefined) findings.push({ ordinal: record.ordinal, message: finding });
    if (name === undefined || finding !== undefined || PASSED_OVER.has(name)) continue;
    const step = { record, name, payload: readPayload(file, record, name) };
    steps.push(step);
    if (name === 'object.device') places.set(record.objectId, devices.push({}) - 1);
    if (name === 'note.device' && record.status === 0) {
      // reason: its shape was checked
      devices[places.get(record.deviceId) ?? 0] = (step.payload as OwnPayload<RecordedDevice>).told;
    }
    // reason: the layout of scopes
    if (name === 'replay.scope_begin' && record.status === 0) scopes.add((step.payload as { name: string }).name);
  }
  const hasEnds = steps.some(({ name }) => name === 'note.operation_ended');
  return { file, steps, devices, hasEnds, findings, scopes: [...scopes] };
}

/** Undefined for what says nothing that matters to a replay. */
function nameOf({ type, objectType, operation }: ReplayRecord): string | undefined {
  if (type === RECORD_TYPES.operation) return operationName(operation);
  if (type !== RECORD_TYPES.object) return undefined;
  if (operation !== 0) return operationName(operation);
  return objectType === OBJECT_TYPES.device ? 'object.device' : undefined;
}

function problemOf(record: ReplayRecord, name: string | undefined): string | undefined {
  if (record.status !== 0 || isSkipped(record)) return undefined;
  if (record.type === RECORD_TYPES.unsupported) return `${operationName(record.operation)} was not recorded as a whole`;
  if (record.type === RECORD_TYPES.blob) return 'bytes of a kind that this version does not read';
  if (record.type !== RECORD_TYPES.operation || name === undefined) return undefined;
  if (name === 'unknown') return `an operation of number ${record.operation}, which this version does not know`;
  return REPLAY_LAYOUTS.has(name) || PASSED_OVER.has(name) ? undefined : `${name} cannot be replayed`;
}

function readPayload(file: ReplayFile, record: ReplayRecord, name: string): unknown {
  // A call that failed has none, and makes nothing.
  if (record.status !== 0) return undefined;
  const layout = REPLAY_LAYOUTS.get(name);
  if (layout === undefined || layout === 'none') return undefined;
  if (layout === OWN) return readOwn(file, record, name);
  if (layout !== 'any') return payloadOf(file, record, layout);
  const found = PAYLOADS.get(record.payloadType);
  return found && payloadOf(file, record, found);
}

/** What a record of ours tells, with its bytes. */
export interface OwnPayload<Told> {
  readonly told: Told;
  readonly data: Uint8Array;
}

function readOwn(file: ReplayFile, record: ReplayRecord, name: string): OwnPayload<unknown> {
  const { json, data } = payloadOf(file, record, OWN);
  const fail = (what: string): never => {
    const place = { file: file.name, section: `record ${record.ordinal}`, offset: record.payloadOffset };
    throw new WavewrightError('BAD_INPUT', `${name}: ${what}`, place);
  };
  const told = parsed(json);
  if (told === undefined) fail('what it tells is no JSON');
  const problem = ownProblem(name, told);
  if (problem !== undefined) fail(problem);
  return { told, data };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
