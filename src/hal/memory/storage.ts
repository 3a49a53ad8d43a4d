/** The bytes behind buffers, wherever they are. */

/** Memory of a device, or of the host where a device works on that. */
export interface BufferStorage {
  readonly sizeBytes: number;
  /** Where kernels have it; undefined where kernels are functions of the host. */
  readonly address: bigint | undefined;
  /** Its bytes, live, for whoever is allowed to see them. Throws where the host cannot. */
  bytes(): Uint8Array;
  /** For memory of pools: whether a `dealloca` of it was submitted and is going to free it. */
  expectFree?(isExpected: boolean): void;
  /** Called once. */
  free(): void;
}

/** Memory of the host, which also kernels of the host use. */
export class HostStorage implements BufferStorage {
  readonly address = undefined;
  readonly sizeBytes: number;
  readonly #bytes: Uint8Array;
  readonly #free: () => void;

  constructor(sizeBytes: number, free: () => void = () => {}) {
    this.sizeBytes = sizeBytes;
    this.#bytes = new Uint8Array(new SharedArrayBuffer(sizeBytes));
    this.#free = free;
  }

  bytes(): Uint8Array {
    return this.#bytes;
  }

  free(): void {
    this.#free();
  }
}
