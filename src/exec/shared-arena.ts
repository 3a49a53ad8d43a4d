/**
 * The memory of an emulated device as a file in memory, which an application maps at the addresses that its
 * kernels use. The emulator's own state lies elsewhere. The first page, which the device hands to nobody and
 * no kernel reaches, has the words that both runtimes wake each other by.
 */
import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import type { LinuxCalls } from './libc.ts';
import { CONTROL_WORDS } from './protocol.ts';

const { closeSync } = process.getBuiltinModule('node:fs');

const WINDOW_BYTES = 2 ** 32;
const PAGE_BYTES = 4096;

const offsetOf = (address: bigint): bigint => address % BigInt(WINDOW_BYTES);

export class SharedArena implements Disposable {
  /** The high word of the addresses of a device with index 0. */
  static readonly firstWindow = 0x7f00;
  readonly file: number;
  /** Words of `CONTROL_WORDS`. */
  readonly control: Int32Array<SharedArrayBuffer>;
  /** Where the memory is in this process. */
  readonly address: bigint;
  readonly #linux: LinuxCalls;

  /** `device` is new: what its memory holds goes. Throws IO. */
  constructor(linux: LinuxCalls, { memory, name }: Device) {
    const first = memory.allocate(PAGE_BYTES, { label: 'arena' });
    const { buffer } = memory.view(first, PAGE_BYTES);
    memory.free(first);
    if (buffer.byteLength !== WINDOW_BYTES) {
      const what = `${name} has ${buffer.byteLength} bytes of addresses`;
      throw new WavewrightError('LIMIT_EXCEEDED', `${what}, expected ${WINDOW_BYTES}`, {
        hint: 'address space is limited (ulimit -v)',
      });
    }
    this.file = linux.createMemoryFile('wavewright', WINDOW_BYTES);
    this.#linux = linux;
    this.address = linux.addressOf(buffer);
    linux.mapPages(this.address, WINDOW_BYTES, this.file, 0);
    this.control = new Int32Array(buffer, 0, PAGE_BYTES / 4);
  }

  /**
   * Lets whole pages of the device's memory be those of another file, from `offset` on, until `unmap`. Throws
   * IO.
   */
  map(address: bigint, sizeBytes: number, file: number, offset: number): void {
    this.#linux.mapPages(this.address + offsetOf(address), sizeBytes, file, offset);
  }

  /** Throws IO. */
  unmap(address: bigint, sizeBytes: number): void {
    const offset = offsetOf(address);
    this.#linux.mapPages(this.address + offset, sizeBytes, this.file, Number(offset));
  }

  /** Copies that the application made. */
  get copies(): { readonly count: bigint; readonly bytes: bigint } {
    const { buffer } = this.control;
    const words = new BigUint64Array(buffer, 0, PAGE_BYTES / 8);
    const at = (word: number): bigint => Atomics.load(words, word / 2);
    return { count: at(CONTROL_WORDS.copies), bytes: at(CONTROL_WORDS.copiedBytes) };
  }

  [Symbol.dispose](): void {
    closeSync(this.file);
  }
}
