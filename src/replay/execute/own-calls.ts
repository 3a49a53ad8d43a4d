/** Our own operations, and what the recording says of the run that it was made of. */
import { ERROR_CODES, type ErrorCode, WavewrightError } from '../../base/errors.ts';
import { HalError, type HalStatus, HOST_CALL_FLAGS, type HostCallFlag, type PoolOptions } from '../../hal/index.ts';
import type { ReplayRecord } from '../format/file.ts';
import type { BufferRefRecord, TimepointRecord } from '../format/payload-kinds.ts';
import { digestText } from '../record/contents-note.ts';
import { commandsOf, deviceOf, orderOf } from './calls.ts';
import { loadRecorded } from './executables.ts';
import type { OperationNote, ReplayRun } from './run.ts';

type Result = Promise<void> | undefined | void;
interface Own<Told> {
  readonly told: Told;
  readonly data: Uint8Array;
}
type OwnCall<Told> = (run: ReplayRun, record: ReplayRecord, own: Own<Told>) => Result;

/** What the host does, does or sees when all has ended that had ended. */
const settled =
  <Told>(act: OwnCall<Told>): OwnCall<Told> =>
  (run, record, own) => {
    const pending = run.settle();
    return pending === undefined ? act(run, record, own) : pending.then(() => act(run, record, own));
  };

interface Failure {
  readonly status: HalStatus | null;
  /** Of an error that has no status. */
  readonly code?: ErrorCode;
  readonly message: string;
}

function errorOf({ status, code, message }: Failure): Error {
  if (status !== null) return new HalError(status, message);
  return code !== undefined && code in ERROR_CODES ? new WavewrightError(code, message) : new Error(message);
}

interface HostCall {
  readonly queue: number;
  readonly waits: readonly TimepointRecord[];
  readonly signals: readonly TimepointRecord[];
  readonly flags: readonly HostCallFlag[];
}

/** The host's function is whatever the recording says that it did. */
const hostCall: OwnCall<HostCall> = (run, record, { told: { queue, waits, signals, flags } }) => {
  const { order, controller } = orderOf(run, { waitSemaphores: waits, signalSemaphores: signals });
  const [begin, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // A call that nobody waits for may fail.
  end.promise.catch(() => {});
  const call = (): Promise<void> => {
    begin.resolve();
    return end.promise;
  };
  const submission = deviceOf(run, record)
    .queue(queue)
    .hostCall({ ...order, call, flags: HOST_CALL_FLAGS.set(flags) });
  const replayed = {
    begun: begin.promise,
    end: (failure: Error | undefined) => (failure === undefined ? end.resolve() : end.reject(failure)),
  };
  return run.operation(record.ordinal, { submission, controller, hostCall: replayed });
};

interface Contents {
  readonly offset: number;
  readonly length: number;
  readonly digest: string;
}

/** Throws nothing: what is not there differs. */
function compare(
  run: ReplayRun,
  { ordinal }: ReplayRecord,
  own: Own<Contents>,
  what: string,
  found?: Uint8Array,
): void {
  run.compared(differenceOf(own, what, found), ordinal);
}

function differenceOf({ told, data }: Own<Contents>, what: string, found: Uint8Array | undefined): string | undefined {
  const { offset, length, digest } = told;
  if (found === undefined) return `${what} is not there`;
  if (found.length !== length) return `${what}: ${found.length} bytes at ${offset}, there were ${length}`;
  if (digestText(found) === digest) return undefined;
  const at = data.length === length ? data.findIndex((byte, i) => byte !== found[i]) : -1;
  if (at < 0) return `${what}: bytes differ within ${length} at ${offset}`;
  return `${what}: byte ${offset + at} is ${found[at]}, it was ${data[at]}`;
}

const contents: OwnCall<Contents> = (run, record, own) => {
  const { offset, length } = own.told;
  const buffer = run.things.buffers.get(record.objectId);
  const isThere = buffer !== undefined && ['committed', 'deallocating'].includes(buffer.state);
  const bytes = isThere ? buffer.allocation.storage.bytes().subarray(buffer.offsetBytes) : undefined;
  compare(run, record, own, `buffer ${record.objectId}`, bytes?.subarray(offset, offset + length));
};

const fileWritten: OwnCall<Contents & { readonly operation: number }> = async (run, record, own) => {
  const { offset, length, operation } = own.told;
  await run.ended(operation);
  const file = run.things.of('file', record.objectId);
  // What a file takes whose transfers are in the recording is not kept.
  if (file.file !== undefined) compare(run, record, own, `file ${record.objectId}`, file.writtenAt(offset, length));
};

const importRange: OwnCall<{ readonly offsetBytes: number; readonly sizeBytes: number; readonly params: object }> = (
  run,
  record,
  { told: { offsetBytes, sizeBytes, params } },
) => {
  const { storage } = run.things.of('buffer', record.objectId).allocation;
  const address = (storage.address ?? 0n) + BigInt(offsetBytes);
  const buffer = deviceOf(run, record).importBuffer({ address, sizeBytes }, params);
  run.things.set(record.relatedObjectId, buffer);
};

interface LinkedCode {
  readonly format: string;
  readonly pieces: readonly number[];
  readonly constants: readonly { readonly name: string; readonly sizeBytes: number }[];
  readonly metadataBytes: number;
}

const prepareLinked: OwnCall<LinkedCode> = (run, record, { told, data }) => {
  let at = 0;
  const take = (sizeBytes: number): Uint8Array => {
    at += sizeBytes;
    return data.subarray(at - sizeBytes, at);
  };
  const pieces = told.pieces.map(take);
  const constants = Object.fromEntries(told.constants.map(({ name, sizeBytes }) => [name, take(sizeBytes)] as const));
  const metadata = take(told.metadataBytes);
  const executableId = record.relatedObjectId;
  const code = { executableId, format: told.format, pieces, constants, metadata };
  run.things.set(executableId, loadRecorded(deviceOf(run, record), code, run.options.substitute));
};

/** By name. */
export const OWN_CALLS: Readonly<Record<string, OwnCall<never>>> = {
  'device.queue_host_call': hostCall,
  'semaphore.signal': settled<{ readonly value: number }>((run, { objectId }, { told: { value } }) => {
    run.things.of('semaphore', objectId).signal(value);
  }),
  'semaphore.fail': settled<Failure>((run, { objectId }, { told }) => {
    run.things.of('semaphore', objectId).fail(new HalError(told.status ?? 'UNKNOWN', told.message));
  }),
  'device.create_pool': (run, record, { told }: Own<PoolOptions>) => {
    run.things.set(record.relatedObjectId, deviceOf(run, record).createPool(told));
  },
  'device.import_range': importRange,
  'device.prepare_linked': prepareLinked,
  'device.abort_operation': settled<{ readonly operation: number }>((run, _, { told }) => {
    run.operationOf(told.operation).controller?.abort();
  }),
  'device.close': settled<{ readonly how: 'at once' | 'when idle' }>((run, record, { told }) => {
    const device = deviceOf(run, record);
    if (told.how === 'at once') device[Symbol.dispose]();
    else void device[Symbol.asyncDispose]();
  }),
  'device.host_call_begin': settled<{ readonly operation: number }>(
    (run, _, { told }) => run.operationOf(told.operation).hostCall?.begun,
  ),
  'device.host_call_end': settled<{ readonly operation: number; readonly failure?: Failure }>((run, _, { told }) => {
    run.operationOf(told.operation).hostCall?.end(told.failure && errorOf(told.failure));
  }),
  'executable.variable': (run, record, own: Own<{ readonly name: string; readonly deviceOrdinal: number }>) => {
    const { name, deviceOrdinal } = own.told;
    const variable = run.things.of('executable', record.objectId).variable(name, deviceOrdinal);
    run.things.set(record.relatedObjectId, variable);
  },
  'file.transfer_end': settled<{ readonly operation: number; readonly count?: number } & Partial<Failure>>(
    (run, _, { told, data }) => run.operationOf(told.operation).file?.give({ ...told, data }),
  ),
  'command_buffer.if': (run, { objectId }, { told }: Own<{ readonly condition: BufferRefRecord }>) =>
    commandsOf(run, objectId).own['command_buffer.if'](told),
  'command_buffer.else': (run, { objectId }) => commandsOf(run, objectId).own['command_buffer.else'](),
  'command_buffer.while': (run, { objectId }, { told }: Own<{ readonly condition: BufferRefRecord }>) =>
    commandsOf(run, objectId).own['command_buffer.while'](told),
  'command_buffer.end_block': (run, { objectId }) => commandsOf(run, objectId).own['command_buffer.end_block'](),
  'command_buffer.execute': (
    run,
    { objectId },
    { told }: Own<{ readonly commandBuffer: number; readonly bindings: readonly BufferRefRecord[] }>,
  ) => commandsOf(run, objectId).own['command_buffer.execute'](told),
  'note.device': () => {},
  'note.operation': (run, _, { told }: Own<OperationNote>) => {
    run.note = { ...run.note, ...told };
  },
  'note.operation_started': settled<{ readonly operation: number }>((run, _, { told }) => run.started(told.operation)),
  'note.operation_ended': (run, { ordinal }, { told }: Own<{ readonly operation: number; readonly status: number }>) =>
    run.toldEnd(ordinal, told.operation, told.status),
  'note.host_waited': settled<object>(() => {}),
  'note.contents': (run, record, own: Own<Contents>) =>
    run.verifies ? settled(contents)(run, record, own) : undefined,
  'note.file_written': (run, record, own: Own<Contents & { readonly operation: number }>) =>
    run.verifies ? settled(fileWritten)(run, record, own) : undefined,
  'note.released': settled<object>((run, { objectId }) => {
    const thing = run.things.find(objectId);
    if (thing !== undefined && Symbol.dispose in thing) (thing as Disposable)[Symbol.dispose]();
  }),
};
