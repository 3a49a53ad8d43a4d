/**
 * Memory that the host and a GPU share (pinned), memory of the GPU itself, and what running kernels ask for.
 */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { CopiedMemory, RunningHeap } from '../../device/driver.ts';
import type { MemorySource } from '../native/host-memory.ts';
import type { CudaContext } from './context.ts';

/** CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_DEVICEMAP. */
const PORTABLE_AND_MAPPED = 3;

/** Pages that the driver pins: kernels and the host use them at once, at the same addresses. */
export class PinnedMemory implements MemorySource {
  readonly #context: CudaContext;

  constructor(context: CudaContext) {
    this.#context = context;
  }

  allocate(sizeBytes: number): bigint {
    const context = this.#context;
    const { library } = context;
    context.expectUsable();
    const ask = (out: Uint8Array) => library.call.cuMemHostAlloc(out, BigInt(sizeBytes), PORTABLE_AND_MAPPED);
    const address = library.word(ask, `${sizeBytes} bytes of pinned memory`);
    try {
      this.#expectSame(address);
      return address;
    } catch (error) {
      library.call.cuMemFreeHost(address);
      throw error;
    }
  }

  /** One address for both sides is what everything else counts on. */
  #expectSame(address: bigint): void {
    const { library, name } = this.#context;
    const ask = (out: Uint8Array) => library.call.cuMemHostGetDevicePointer_v2(out, address, 0);
    const seen = library.word(ask, 'cuMemHostGetDevicePointer_v2');
    if (seen === address) return;
    const what = `${name} sees pinned memory of ${hex(address)} at ${hex(seen)}, expected one address for both`;
    throw new WavewrightError('UNSUPPORTED', what);
  }

  free(base: bigint): void {
    const { isUsable, library } = this.#context;
    if (!isUsable) return;
    this.#context.enter();
    this.#context.check(library.call.cuMemFreeHost(base), 'cuMemFreeHost');
  }
}

/**
 * Memory of the GPU. Nothing is allocated or freed while a kernel runs: the driver would wait for its end.
 */
export class GpuMemory implements CopiedMemory {
  readonly #context: CudaContext;
  readonly #live = new Set<bigint>();

  constructor(context: CudaContext) {
    this.#context = context;
  }

  allocate(sizeBytes: number): bigint {
    const context = this.#context;
    context.expectUsable();
    const { library } = context;
    const ask = (out: Uint8Array) => library.call.cuMemAlloc_v2(out, BigInt(sizeBytes));
    const address = library.word(ask, `${sizeBytes} bytes of GPU memory`);
    this.#live.add(address);
    context.check(library.call.cuMemsetD8Async(address, 0, BigInt(sizeBytes), context.copies), 'cuMemsetD8Async');
    this.#finish('cuMemsetD8Async');
    return address;
  }

  free(address: bigint): void {
    const context = this.#context;
    if (!context.isUsable || !this.#live.delete(address)) return;
    context.enter();
    context.check(context.library.call.cuMemFree_v2(address), 'cuMemFree_v2');
  }

  write(address: bigint, bytes: Uint8Array): void {
    const context = this.#context;
    context.expectUsable();
    if (bytes.length === 0) return;
    const { call } = context.library;
    const result = call.cuMemcpyHtoDAsync_v2(address, bytes, BigInt(bytes.length), context.copies);
    context.check(result, 'cuMemcpyHtoDAsync_v2');
    this.#finish('cuMemcpyHtoDAsync_v2');
  }

  read(address: bigint, sizeBytes: number): Uint8Array {
    const context = this.#context;
    context.expectUsable();
    const bytes = new Uint8Array(sizeBytes);
    if (sizeBytes === 0) return bytes;
    const { call } = context.library;
    const result = call.cuMemcpyDtoHAsync_v2(bytes, address, BigInt(sizeBytes), context.copies);
    context.check(result, 'cuMemcpyDtoHAsync_v2');
    this.#finish('cuMemcpyDtoHAsync_v2');
    return bytes;
  }

  freeAll(): void {
    for (const address of this.#live) this.free(address);
  }

  #finish(what: string): void {
    const { library, copies } = this.#context;
    this.#context.check(library.call.cuStreamSynchronize(copies), what);
  }
}

/**
 * `malloc` of kernels: the driver serves it in the order of a stream, beside the kernel that waits for it.
 */
export class StreamHeap implements RunningHeap {
  readonly #context: CudaContext;
  readonly #live = new Set<bigint>();

  constructor(context: CudaContext) {
    this.#context = context;
  }

  /** It is not filled with zeros: that would be a kernel, for which the running one may leave no room. */
  allocate(sizeBytes: number): bigint {
    const context = this.#context;
    context.expectUsable();
    const { library, copies } = context;
    const ask = (out: Uint8Array) => library.async.cuMemAllocAsync(out, BigInt(sizeBytes), copies);
    const address = library.word(ask, `${sizeBytes} bytes for malloc`);
    context.check(library.call.cuStreamSynchronize(copies), 'cuMemAllocAsync');
    this.#live.add(address);
    return address;
  }

  free(address: bigint): void {
    const context = this.#context;
    if (!context.isUsable || !this.#live.delete(address)) return;
    context.enter();
    context.check(context.library.async.cuMemFreeAsync(address, context.copies), 'cuMemFreeAsync');
  }

  freeAll(): void {
    for (const address of this.#live) this.free(address);
  }
}
