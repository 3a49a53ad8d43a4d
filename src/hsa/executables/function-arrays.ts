/**
 * Arrays of constructors and destructors over the relocatable objects of one agent, and the symbols that a
 * linker defines for them (System V ABI, "Initialization and Termination Functions"; the order is that of
 * lld).
 */

import type { DeviceMemory } from '../../device/memory.ts';
import type { ArrayPart } from '../../linker/link.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

const ENTRY_BYTES = 8;
const BOUND = /^__(init_array|fini_array|preinit_array)_(start|end)$/;

interface PlacedPart extends ArrayPart {
  readonly codeObject: LoadedCodeObject;
  /** Where the part begins in the memory of all arrays. */
  readonly offset: number;
}

export class FunctionArrays implements Disposable {
  readonly #parts: readonly PlacedPart[];
  readonly #first: LoadedCodeObject | undefined;
  readonly #memory: DeviceMemory;
  readonly #sizeBytes: number;
  readonly #address: bigint;

  /** `codeObjects`: in the order in which they were loaded. Throws LIMIT_EXCEEDED. */
  constructor(codeObjects: readonly LoadedCodeObject[], memory: DeviceMemory) {
    const objects = codeObjects.filter(({ isRelocatable }) => isRelocatable);
    const parts = objects
      .flatMap((codeObject) => codeObject.arrays.map((part) => ({ ...part, codeObject })))
      .sort((a, b) => a.kind.localeCompare(b.kind) || a.priority - b.priority);
    let sizeBytes = 0;
    this.#parts = parts.map((part) => {
      const offset = sizeBytes;
      sizeBytes += part.count * ENTRY_BYTES;
      return { ...part, offset };
    });
    this.#first = objects[0];
    this.#memory = memory;
    this.#sizeBytes = sizeBytes;
    this.#address = sizeBytes > 0 ? memory.allocate(sizeBytes, { label: 'arrays of constructors' }) : 0n;
  }

  /** What a linker defines under the name; undefined for all other names. */
  addressOf(name: string): bigint | undefined {
    if (name === '__dso_handle') return this.#first?.address;
    const [, kind, end] = BOUND.exec(name) ?? [];
    if (kind === undefined) return undefined;
    const parts = this.#parts.filter((each) => each.kind === kind);
    const [first, last] = [parts[0], parts.at(-1)];
    if (!first || !last) return 0n;
    return this.#address + BigInt(end === 'start' ? first.offset : last.offset + last.count * ENTRY_BYTES);
  }

  /** Writes the arrays; the code objects are relocated by then. */
  fill(): void {
    if (this.#sizeBytes === 0) return;
    const target = this.#memory.view(this.#address, this.#sizeBytes);
    for (const { codeObject, address, count, offset } of this.#parts) {
      target.set(codeObject.view(BigInt(address), count * ENTRY_BYTES, 'an array of functions'), offset);
    }
  }

  [Symbol.dispose](): void {
    if (this.#sizeBytes > 0) this.#memory.free(this.#address);
  }
}
