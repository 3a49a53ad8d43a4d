/**
 * Memory that goes in and out of a device without a copy (iree_hal_external_buffer_t): bytes of the host, or
 * a range that the device knows by its address.
 */
import { invalidArgument } from '../core/status.ts';
import type { BufferParams } from './buffer-params.ts';

/** Memory for `LogicalDevice.importBuffer`; whoever gives it keeps it until the buffer is released. */
export type ExternalMemory =
  | { readonly kind: 'host'; readonly bytes: Uint8Array }
  | { readonly kind: 'device'; readonly address: bigint; readonly sizeBytes: number };

/** What a program imports: its own memory, or what another part of it has on the device. */
export type ImportSource =
  | SharedArrayBuffer
  | ArrayBuffer
  | ArrayBufferView
  | { readonly address: bigint; readonly sizeBytes: number };

export interface ImportParams extends BufferParams {
  /** Called once, when no operation needs the memory any more and the buffer is disposed. */
  readonly onRelease?: () => void;
}

/** Throws INVALID_ARGUMENT for what is no memory. */
export function externalMemory(source: ImportSource): ExternalMemory {
  if (ArrayBuffer.isView(source)) {
    return { kind: 'host', bytes: new Uint8Array(source.buffer, source.byteOffset, source.byteLength) };
  }
  if (source instanceof ArrayBuffer || source instanceof SharedArrayBuffer) {
    return { kind: 'host', bytes: new Uint8Array(source) };
  }
  const { address, sizeBytes } = source;
  if (typeof address === 'bigint' && Number.isSafeInteger(sizeBytes) && sizeBytes > 0) {
    return { kind: 'device', address, sizeBytes };
  }
  throw invalidArgument(`${sizeBytes} bytes at ${address} cannot be imported, expected a bigint and at least 1`);
}

/** What `HalBuffer.export` gives: the memory stays until it is disposed, whoever else gives it back. */
export class ExportedMemory implements Disposable {
  /** Live; undefined where the host does not see the memory. */
  readonly bytes: Uint8Array | undefined;
  /** Where kernels have it; undefined where kernels are functions of the host. */
  readonly address: bigint | undefined;
  readonly sizeBytes: number;
  #release: (() => void) | undefined;

  /** Use `HalBuffer.export`. */
  constructor(bytes: Uint8Array | undefined, address: bigint | undefined, sizeBytes: number, release: () => void) {
    this.bytes = bytes;
    this.address = address;
    this.sizeBytes = sizeBytes;
    this.#release = release;
  }

  [Symbol.dispose](): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}
