/** Code that a program loads, as records. */

import { concatenate } from '../../base/concatenate.ts';
import type { HalExecutable } from '../../hal/executables/executable.ts';
import type { CodeLoadOptions, ExportInfo } from '../../hal/index.ts';
import { type ExportMetadata, encodeMetadata } from '../format/executable-metadata.ts';
import { EXECUTABLE_CACHE_OBJECT, EXECUTABLE_PREPARE } from '../format/payloads.ts';
import { ANY_QUEUE, type ThingRecords } from './thing-records.ts';

/** Kinds of parameters, as their numbers. */
export const PARAMETER_TYPES = { constant: 0, binding: 1 } as const;
const EXPORT_FLAG_DYNAMIC_SIZE = 2n;
const PARAMETER_FLAG_READ_ONLY = 1;

/** What exports take: what a substitute must take, too. */
export function metadataOf(exports: readonly ExportInfo[]): ExportMetadata[] {
  return exports.map(({ workgroupSize, constantCount, bindingCount, parameters }) => ({
    flags: workgroupSize === undefined ? EXPORT_FLAG_DYNAMIC_SIZE : 0n,
    workgroupSize: workgroupSize ?? [1, 1, 1],
    ...{ constantCount, bindingCount },
    parameters: parameters.map(({ kind, offsetBytes, sizeBytes, isReadOnly }) => ({
      offset: Math.min(offsetBytes, 0xffff),
      flags: isReadOnly === true ? PARAMETER_FLAG_READ_ONLY : 0,
      type: PARAMETER_TYPES[kind],
      size: Math.min(sizeBytes, 0xff),
    })),
  }));
}

export class ExecutableRecords {
  readonly #things: ThingRecords;
  #cacheId: number | undefined;

  constructor(things: ThingRecords) {
    this.#things = things;
  }

  loaded(executable: HalExecutable, code: unknown, { constants = {} }: CodeLoadOptions): void {
    const { context, deviceId } = this.#things;
    this.#cacheId ??= this.#things.create(
      'device.create_executable_cache',
      'executable_cache',
      this,
      EXECUTABLE_CACHE_OBJECT,
      { identifier: 'wavewright' },
    );
    const relatedObjectId = context.ids.take(executable);
    const header = { deviceId, objectId: this.#cacheId, relatedObjectId, objectType: 'executable_cache' } as const;
    const metadata = encodeMetadata(metadataOf(executable.code.exports));
    const pieces = Array.isArray(code) ? code : [code];
    const isBytes = pieces.every((piece) => piece instanceof Uint8Array);
    const names = Object.keys(constants);
    if (names.length === 0 && (pieces.length === 1 || !isBytes)) {
      // Functions of the host are not in the file: a replay gets them from whoever runs it.
      context.writer.operation('executable_cache.prepare_executable', header, EXECUTABLE_PREPARE, {
        queueAffinity: ANY_QUEUE,
        format: executable.format,
        ...(isBytes && { data: pieces[0] }),
        metadata,
      });
    } else {
      const values = Object.values(constants).map(
        (value) => new Uint8Array(value.buffer, value.byteOffset, value.byteLength),
      );
      const bytes = isBytes ? [...pieces, ...values] : values;
      const told = {
        format: executable.format,
        pieces: isBytes ? pieces.map((piece: Uint8Array) => piece.length) : [],
        constants: names.map((name, i) => ({ name, sizeBytes: values[i]!.length })),
        metadataBytes: metadata.length,
      };
      context.writer.own('device.prepare_linked', header, told, concatenate([...bytes, metadata]));
    }
    const objectId = relatedObjectId;
    context.writer.object({ deviceId, objectId, objectType: 'executable' });
  }
}
