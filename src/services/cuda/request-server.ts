/**
 * Serves what CUDA code asks its runtime for while it runs: printf, malloc, free and assert. `poll` is called
 * between the slices of the device and never waits. All of the table is the kernel's to write. CUDA C++
 * Programming Guide: "Formatted Output", "Dynamic Global Memory Allocation and Operations", "Assertion".
 */
import { beforeNul } from '../../base/bytes.ts';
import { concatenate } from '../../base/concatenate.ts';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { guestAddress } from '../../device/guest-address.ts';
import type { DeviceMemory } from '../../device/memory.ts';
import { DeviceHeap } from '../../hsa/memory/device-heap.ts';
import { argumentAreaSizeBytes, readArguments, stringAddresses } from '../../printf/arguments.ts';
import { formatPrintf } from '../../printf/format.ts';
import { GLIBC_DIALECT, parseFormat } from '../../printf/parse.ts';
import type { Print } from '../hostcall/server.ts';
import {
  ANSWER,
  COPIES_OFFSET,
  COPY_BYTES,
  HEADER_BYTES,
  KIND,
  SLOT,
  SLOT_BYTES,
  SLOT_COUNT,
  STATE,
  TABLE_BYTES,
} from './layout.ts';

/** What `cudaLimitMallocHeapSize` is to begin with. */
const DEFAULT_HEAP_BYTES = 8 * 2 ** 20;
const MALLOC_ALIGNMENT_BYTES = 16;
/** Bytes of a string, of which a format may have as many. */
const MAX_STRING_BYTES = 65_536;

/** What a thread has to copy before it is served: the bytes come back. */
interface Copy {
  readonly from: bigint;
  readonly count: number;
  readonly isString: boolean;
}
/** A request that is being served; it ends with what the thread gets. */
type Service = Generator<Copy, bigint, Uint8Array>;

export interface RequestOptions {
  /** Default: nobody sees what kernels print. */
  readonly onPrint?: Print | undefined;
  /** Bytes that malloc gives out together. Default: 8 MiB, as CUDA's. */
  readonly heapBytes?: number | undefined;
}

export class RequestServer implements Disposable {
  readonly address: bigint;
  onPrint: Print;
  /** What the last assertion that failed said. */
  assertion: string | undefined;
  readonly #memory: DeviceMemory;
  readonly #heap: DeviceHeap;
  readonly #view: DataView;
  readonly #words: Int32Array;
  readonly #running = new Map<number, Service>();

  /** Throws LIMIT_EXCEEDED where there is not enough memory. */
  constructor(memory: DeviceMemory, { onPrint = () => {}, heapBytes = DEFAULT_HEAP_BYTES }: RequestOptions = {}) {
    this.#memory = memory;
    this.onPrint = onPrint;
    this.#heap = new DeviceHeap(memory, heapBytes);
    this.address = memory.allocate(TABLE_BYTES, { label: 'requests of kernels' });
    const { buffer, byteOffset } = memory.view(this.address, TABLE_BYTES);
    this.#view = new DataView(buffer, byteOffset, TABLE_BYTES);
    this.#words = new Int32Array(buffer, byteOffset, TABLE_BYTES / 4);
  }

  /** As before the first kernel: nothing is asked for, and nothing allocated. */
  reset(): void {
    this.#words.fill(0);
    this.#running.clear();
    this.#heap.clear();
    this.assertion = undefined;
  }

  [Symbol.dispose](): void {
    this.#heap.clear();
    this.#memory.free(this.address);
  }

  /**
   * Answers what threads ask for by now, in their order; how many. Throws GPU_FAULT for addresses that are
   * none, LIMIT_EXCEEDED for a text that is too long.
   */
  poll(): number {
    const posted: { readonly slot: number; readonly number: number }[] = [];
    for (let i = 0; i < SLOT_COUNT; i++) {
      const slot = HEADER_BYTES + i * SLOT_BYTES;
      if (Atomics.load(this.#words, (slot + SLOT.state) >> 2) !== STATE.posted) continue;
      posted.push({ slot, number: this.#view.getUint32(slot + SLOT.number, true) });
    }
    posted.sort((a, b) => a.number - b.number);
    for (const { slot } of posted) this.#answer(slot);
    return posted.length;
  }

  #answer(slot: number): void {
    const view = this.#view;
    let service = this.#running.get(slot);
    let step: IteratorResult<Copy, bigint>;
    if (service) {
      const at = copyOffset(slot);
      step = service.next(new Uint8Array(view.buffer, view.byteOffset + at, COPY_BYTES).slice());
    } else {
      service = this.#serve(slot);
      step = service.next(new Uint8Array());
    }
    if (step.done) {
      this.#running.delete(slot);
      view.setUint32(slot + SLOT.command, ANSWER.done, true);
      view.setBigUint64(slot + SLOT.result, BigInt.asUintN(64, step.value), true);
    } else {
      this.#running.set(slot, service);
      const { from, count, isString } = step.value;
      view.setUint32(slot + SLOT.command, isString ? ANSWER.copyString : ANSWER.copy, true);
      view.setBigUint64(slot + SLOT.from, from, true);
      view.setBigUint64(slot + SLOT.to, this.address + BigInt(copyOffset(slot)), true);
      view.setUint32(slot + SLOT.count, count, true);
    }
    Atomics.store(this.#words, (slot + SLOT.state) >> 2, STATE.answered);
  }

  #serve(slot: number): Service {
    const argument = (index: number): bigint => this.#view.getBigUint64(slot + SLOT.arguments + 8 * index, true);
    const given = Array.from({ length: 7 }, (_, i) => argument(i));
    const kind = this.#view.getUint32(slot + SLOT.kind, true);
    switch (kind) {
      case KIND.printf:
        return this.#printf(given[0]!, given[1]!);
      case KIND.malloc:
        return this.#malloc(given[0]!);
      case KIND.free:
        return this.#free(given[0]!);
      case KIND.assert:
        return this.#assert(given);
      default:
        throw new WavewrightError('GPU_FAULT', `a kernel asks its runtime for ${kind}, which is nothing`);
    }
  }

  /** How many arguments were printed, -1 without a format. */
  *#printf(format: bigint, area: bigint): Service {
    if (format === 0n) return -1n;
    const sections = parseFormat(yield* this.#string(format), GLIBC_DIALECT);
    const values = readArguments(
      sections,
      yield* this.#bytes(area, argumentAreaSizeBytes(sections, 'natural')),
      'natural',
    );
    const strings: Uint8Array[] = [];
    for (const address of stringAddresses(sections, values)) strings.push(yield* this.#string(address));
    this.onPrint('stdout', formatPrintf(sections, values, strings, GLIBC_DIALECT));
    return BigInt(sections.filter(({ conversion }) => (conversion?.argumentSizeBytes ?? 0) > 0).length);
  }

  // biome-ignore lint/correctness/useYield: it needs nothing of the thread
  *#malloc(sizeBytes: bigint): Service {
    if (sizeBytes === 0n || sizeBytes > BigInt(Number.MAX_SAFE_INTEGER)) return 0n;
    return this.#heap.allocate(Number(sizeBytes), MALLOC_ALIGNMENT_BYTES);
  }

  // biome-ignore lint/correctness/useYield: it needs nothing of the thread
  *#free(address: bigint): Service {
    if (address === 0n) return 0n;
    try {
      this.#heap.free(address);
    } catch (error) {
      // Of other programs it is their protocol that is broken.
      if (error instanceof WavewrightError) throw new WavewrightError('GPU_FAULT', error.what);
      throw error;
    }
    return 0n;
  }

  *#assert([message = 0n, file = 0n, name = 0n, ...numbers]: readonly bigint[]): Service {
    const [what, where, who] = [yield* this.#string(message), yield* this.#string(file), yield* this.#string(name)];
    const [line, tidZ, tidX, tidY, ctaidX, ctaidY, ctaidZ] = numbers.flatMap((each) => [
      each & 0xffffffffn,
      each >> 32n,
    ]);
    const [condition, path, called] = [what, where, who].map((bytes) => new TextDecoder().decode(bytes));
    const place = `block: [${ctaidX},${ctaidY},${ctaidZ}], thread: [${tidX},${tidY},${tidZ}]`;
    this.assertion = `${path}:${line}: ${called}: ${place} Assertion \`${condition}' failed.`;
    this.onPrint('stderr', new TextEncoder().encode(`${this.assertion}\n`));
    return 0n;
  }

  /** Device memory is read here, other memory by the thread. */
  *#bytes(from: bigint, sizeBytes: number): Generator<Copy, Uint8Array, Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < sizeBytes; at += COPY_BYTES) {
      const count = Math.min(COPY_BYTES, sizeBytes - at);
      const copied: Uint8Array = yield { from: from + BigInt(at), count, isString: false };
      pieces.push(copied.subarray(0, count));
    }
    return concatenate(pieces);
  }

  /** Without its NUL. */
  *#string(address: bigint): Generator<Copy, Uint8Array, Uint8Array> {
    if (address === 0n) return new Uint8Array();
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < MAX_STRING_BYTES; at += COPY_BYTES) {
      const piece: Uint8Array =
        this.#peek(address + BigInt(at)) ?? (yield { from: address + BigInt(at), count: COPY_BYTES, isString: true });
      const text = beforeNul(piece);
      pieces.push(text);
      if (text.length < COPY_BYTES) return concatenate(pieces);
    }
    const what = `a string of more than ${MAX_STRING_BYTES} bytes at ${hex(address)}`;
    throw new WavewrightError('LIMIT_EXCEEDED', what);
  }

  /** Bytes of device memory that may hold a string; undefined where they are not all there. */
  #peek(address: bigint): Uint8Array | undefined {
    return this.#memory.guestView(guestAddress(address), COPY_BYTES, 'read')?.slice();
  }
}

const copyOffset = (slot: number): number => COPIES_OFFSET + ((slot - HEADER_BYTES) / SLOT_BYTES) * COPY_BYTES;
