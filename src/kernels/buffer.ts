/** Memory of a device with elements of one type. */
import { WavewrightError } from '../base/errors.ts';
import {
  arrayOf,
  elementBytes,
  isTypedArray,
  type TypedArray,
  type TypedArrayName,
  type TypedArrays,
  valueText,
} from './elements.ts';

/** The memory of a buffer: where its bytes are, and what gives them back. */
export interface BufferMemory {
  readonly address: bigint;
  /** Live bytes. Throws USAGE after the context was disposed. */
  view(): Uint8Array<SharedArrayBuffer>;
  free(): void;
}

/** Use `Context.buffer`. `using` frees it; the context frees those that are left. */
export class DeviceBuffer<Name extends TypedArrayName = TypedArrayName> implements Disposable {
  /**
   * The typed array that it was made of and is read as: `Float32Array`; of a buffer of bytes, `Uint8Array`.
   */
  readonly elements: Name;
  /** Elements. */
  readonly length: number;
  readonly sizeBytes: number;
  #memory: BufferMemory | undefined;

  constructor(memory: BufferMemory, elements: Name, length: number, sizeBytes: number) {
    this.#memory = memory;
    this.elements = elements;
    this.length = length;
    this.sizeBytes = sizeBytes;
  }

  /** On the device. Throws USAGE once the buffer is freed, as everything here. */
  get address(): bigint {
    return this.#live.address;
  }

  /** A copy of what it holds now. */
  read(): TypedArrays[Name] {
    return arrayOf(this.elements, this.#live.view());
  }

  /**
   * Copies `contents`, an array of the same type, to the elements from `start` on. Throws USAGE for what does
   * not fit.
   */
  write(contents: TypedArray<Name>, start = 0): void {
    const view = this.#live.view();
    if (!isTypedArray(contents) || contents[Symbol.toStringTag] !== this.elements) {
      throw new WavewrightError('USAGE', `${valueText(contents)} for a buffer of ${this.elements}`);
    }
    if (!Number.isInteger(start) || start < 0 || start + contents.length > this.length) {
      const what = `${contents.length} elements from number ${start} on, the buffer has ${this.length}`;
      throw new WavewrightError('USAGE', what);
    }
    view.set(elementBytes(contents), start * contents.BYTES_PER_ELEMENT);
  }

  get #live(): BufferMemory {
    if (this.#memory !== undefined) return this.#memory;
    throw new WavewrightError('USAGE', `a buffer of ${this.length} ${this.elements} elements that was freed`);
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    this.#memory?.free();
    this.#memory = undefined;
  }
}
