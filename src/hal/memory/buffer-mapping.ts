/** A buffer's bytes in the hands of the host (iree_hal_buffer_mapping_t). */
import type { FlagSet } from '../core/flag-set.ts';
import type { BufferAccess } from '../core/flags.ts';

/** The typed arrays that a mapping can be seen as. */
type ViewConstructor<View> = {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): View;
};

/** `using` ends it; the bytes are not to be used afterwards. */
export class BufferMapping implements Disposable {
  readonly access: FlagSet<BufferAccess>;
  /** Live. */
  readonly bytes: Uint8Array;
  #release: (() => void) | undefined;

  /** Use `HalBuffer.map`. */
  constructor(bytes: Uint8Array, access: FlagSet<BufferAccess>, release: () => void) {
    this.bytes = bytes;
    this.access = access;
    this.#release = release;
  }

  /** The bytes as whole elements, live: `mapping.as(Float32Array)`. */
  as<View>(type: ViewConstructor<View>): View {
    const { buffer, byteOffset, byteLength } = this.bytes;
    return new type(buffer, byteOffset, Math.floor(byteLength / type.BYTES_PER_ELEMENT));
  }

  [Symbol.dispose](): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}
