/** Dispatches of a recording, for queues and command buffers. */
import { WavewrightError } from '../../base/errors.ts';
import type { QueueDispatch } from '../../hal/index.ts';
import { DISPATCH_CALL_FLAG } from '../format/names.ts';
import type { BufferRefRecord } from '../format/payload-kinds.ts';
import type { PayloadOf } from '../format/payload-layout.ts';
import type { DISPATCH_CALL } from '../format/payloads.ts';
import type { ReplayedThings } from './replayed-things.ts';

/** IREE's flag for counts that memory has when the command is recorded, too. */
const STATIC_INDIRECT_PARAMETERS = 2;
const ALLOW_INLINE_EXECUTION = 32;
const { dynamicIndirectParameters, customDirectArguments, dynamicIndirectArguments } = DISPATCH_CALL_FLAG;
const KNOWN_FLAGS =
  dynamicIndirectParameters |
  customDirectArguments |
  dynamicIndirectArguments |
  STATIC_INDIRECT_PARAMETERS |
  ALLOW_INLINE_EXECUTION;

/** `refOf`: what a range of the recording is here. Throws BAD_INPUT, UNSUPPORTED for other flags. */
export function dispatchOf<Ref>(
  things: ReplayedThings,
  payload: PayloadOf<typeof DISPATCH_CALL>,
  refOf: (ref: BufferRefRecord) => Ref,
): QueueDispatch<Ref> {
  const { executableId, exportOrdinal, flags, workgroupCount, workgroupSize, workgroupCountRef } = payload;
  const { constants, dynamicWorkgroupLocalMemory: dynamicGroupSizeBytes } = payload;
  if ((flags & ~KNOWN_FLAGS) !== 0) throw new WavewrightError('UNSUPPORTED', `a dispatch with flags ${flags}`);
  const isIndirect = (flags & (dynamicIndirectParameters | STATIC_INDIRECT_PARAMETERS)) !== 0;
  const bindings = payload.bindings.map(refOf);
  const entry = things.of('executable', executableId).exportAt(exportOrdinal);
  const common = {
    entry,
    groups: isIndirect ? { from: refOf(workgroupCountRef) } : workgroupCount,
    ...(workgroupSize.some((size) => size !== 0) && { workgroupSize }),
    dynamicGroupSizeBytes,
  };
  if ((flags & dynamicIndirectArguments) !== 0) {
    const [from, ...rest] = bindings;
    if (from === undefined) throw new WavewrightError('BAD_INPUT', 'a dispatch without the buffer of its arguments');
    return { ...common, arguments: { from }, bindings: rest };
  }
  if ((flags & customDirectArguments) !== 0) return { ...common, arguments: constants, bindings };
  return { ...common, constants, bindings };
}
