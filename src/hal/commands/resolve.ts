/** Recorded commands with the buffers of one execution: what a driver is told to do. */
import type { BackendCommand } from '../backend/command.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { checkPattern } from '../memory/buffer.ts';
import { type BufferRange, bytesOfRange, rangesOverlap, storageOf } from '../memory/buffer-ref.ts';
import { isSlot, type RecordedCommand, type RecordedRef } from './command-buffer.ts';
import { readGroups } from './queue-dispatch.ts';

/** Buffers by slot. */
export type BoundTable = readonly BufferRange[];

/** Throws OUT_OF_RANGE where a slot holds less than the command uses. */
export function resolveRef(ref: RecordedRef, table: BoundTable): BufferRange {
  if (!isSlot(ref)) return ref;
  const range = table[ref.slot];
  if (range === undefined) throw invalidArgument(`slot ${ref.slot} has no buffer`);
  const left = range.sizeBytes - ref.offsetBytes;
  const sizeBytes = ref.sizeBytes ?? left;
  if (sizeBytes >= 0 && sizeBytes <= left) {
    return { buffer: range.buffer, offsetBytes: range.offsetBytes + ref.offsetBytes, sizeBytes };
  }
  const what = `${sizeBytes} bytes at ${ref.offsetBytes} of slot ${ref.slot}, which holds ${range.sizeBytes}`;
  throw new HalError('OUT_OF_RANGE', what);
}

/** A command that a driver runs. */
export type WorkCommand = Extract<RecordedCommand, { kind: 'fill' | 'copy' | 'update' | 'dispatch' }>;

/** Throws FAILED_PRECONDITION where memory is not there, INVALID_ARGUMENT where buffers do not fit. */
export function resolveCommand(command: WorkCommand, table: BoundTable): BackendCommand {
  const at = (ref: RecordedRef) => resolveRef(ref, table);
  switch (command.kind) {
    case 'fill': {
      const { pattern } = command;
      const range = at(command.target);
      checkPattern(pattern, [pattern.length], range.buffer.offsetBytes + range.offsetBytes, range.sizeBytes);
      return { kind: 'fill', pattern, target: storageOf(range) };
    }
    case 'copy': {
      const [source, target] = [at(command.source), at(command.target)];
      if (source.sizeBytes !== target.sizeBytes || rangesOverlap(source, target)) {
        throw invalidArgument(`a copy of ${source.sizeBytes} to ${target.sizeBytes} bytes, or to itself`);
      }
      return { kind: 'copy', source: storageOf(source), target: storageOf(target) };
    }
    case 'update':
      return { kind: 'update', contents: command.contents, target: storageOf(at(command.target)) };
    case 'dispatch': {
      const { dispatch, groups, bindings } = command;
      const isKnown = !('offsetBytes' in groups);
      const counts = isKnown ? groups : readGroups(storageOf(at(groups)), dispatch);
      return { kind: 'dispatch', ...dispatch, groups: counts, bindings: bindings.map((ref) => storageOf(at(ref))) };
    }
  }
}

/** Whether the word of a condition is not 0 now. */
export function conditionOf(ref: RecordedRef, table: BoundTable): boolean {
  const bytes = bytesOfRange(storageOf(resolveRef(ref, table)));
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true) !== 0;
}
