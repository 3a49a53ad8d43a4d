/** What our own records tell, field by field: recordings may hold anything. */
import { ERROR_CODES } from '../../base/errors.ts';
import { HAL_STATUS, HOST_CALL_FLAGS } from '../../hal/index.ts';

type Check = (value: unknown) => boolean;

const isIndex: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0; // reason: it is a number then
const isText: Check = (value) => typeof value === 'string';
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);

/** Fields that may be missing have a `?` behind their name. */
type Shape = Readonly<Record<string, Check>>;

/** What of a value is not as its shape says; undefined where all is. */
function problemIn(value: unknown, shape: Shape): string | undefined {
  if (!isObject(value)) return 'it is no object';
  for (const [key, check] of Object.entries(shape)) {
    const name = key.replace('?', '');
    const field = value[name];
    if (field === undefined ? !key.endsWith('?') : !check(field)) return `'${name}' is ${JSON.stringify(field)}`;
  }
  return undefined;
}

const hasShape =
  (shape: Shape): Check =>
  (value) =>
    problemIn(value, shape) === undefined;

const isRef = hasShape({ bufferId: isIndex, offset: isIndex, 'length?': isIndex, slot: isIndex });
const isTimepoint = hasShape({ semaphoreId: isIndex, value: isIndex });
const isStatus = isOneOf(null, ...Object.keys(HAL_STATUS));
const isFailure = hasShape({ status: isStatus, message: isText, 'code?': isOneOf(...Object.keys(ERROR_CODES)) });
const CONTENTS: Shape = { offset: isIndex, length: isIndex, digest: isText };
const OPERATION: Shape = { operation: isIndex };
const CONDITION: Shape = { condition: isRef };

export const OWN_SHAPES: Readonly<Record<string, Shape>> = {
  'device.queue_host_call': {
    queue: isIndex,
    waits: isListOf(isTimepoint),
    signals: isListOf(isTimepoint),
    flags: isListOf(isOneOf(...HOST_CALL_FLAGS.names)),
  },
  'semaphore.signal': { value: isIndex },
  'semaphore.fail': { status: isStatus, message: isText },
  'device.create_pool': { kind: isText },
  'device.import_range': { offsetBytes: isIndex, sizeBytes: isIndex, params: isObject },
  'device.prepare_linked': {
    format: isText,
    pieces: isListOf(isIndex),
    constants: isListOf(hasShape({ name: isText, sizeBytes: isIndex })),
    metadataBytes: isIndex,
  },
  'device.abort_operation': OPERATION,
  'device.close': { how: isText },
  'device.host_call_begin': OPERATION,
  'device.host_call_end': { ...OPERATION, 'failure?': isFailure },
  'executable.variable': { name: isText, deviceOrdinal: isIndex },
  // What a file claims may be no count at all, which makes the operation fail.
  'file.transfer_end': { ...OPERATION, 'count?': () => true, 'status?': isStatus, 'message?': isText },
  'command_buffer.if': CONDITION,
  'command_buffer.while': CONDITION,
  'command_buffer.execute': { commandBuffer: isIndex, bindings: isListOf(isRef) },
  'note.device': { 'uri?': isText, 'queues?': isIndex, 'formats?': isListOf(isText) },
  'note.operation': { 'pool?': isIndex, 'abort?': isOneOf('before', 'later'), 'fileOffset?': isText },
  'note.operation_started': OPERATION,
  'note.operation_ended': { ...OPERATION, status: isIndex },
  'note.contents': CONTENTS,
  'note.file_written': { ...CONTENTS, ...OPERATION },
};

/** What is wrong with what a record tells, if something is. */
export const ownProblem = (name: string, told: unknown): string | undefined => problemIn(told, OWN_SHAPES[name] ?? {});
