/**
 * Arrays of constructors and destructors over the relocatable objects of one agent, and the symbols that a linker defines for them
 * (System V ABI, "Initialization and Termination Functions"; the order is that of lld).
 */
import type { ArrayKind } from '../codeobject/link.ts';
import type { DeviceMemory } from './device.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

const ENTRY_BYTES = 8;
const BOUND = /^__(init_array|fini_array|preinit_array)_(start|end)$/;

interface ArrayEntry {
  readonly codeObject: LoadedCodeObject;
  readonly kind: ArrayKind;
  readonly linkedAddress: bigint;
  readonly priority: number;
}

export class FunctionArrays implements Disposable {
  readonly #entries: readonly ArrayEntry[];
  readonly #first: LoadedCodeObject | undefined;
  readonly #memory: DeviceMemory;
  readonly #address: bigint;

  /** `codeObjects`: in the order in which they were loaded. */
  constructor(codeObjects: readonly LoadedCodeObject[], memory: DeviceMemory) {
    const objects = codeObjects.filter(({ isRelocatable }) => isRelocatable);
    const entries = objects.flatMap((codeObject) =>
      codeObject.arrays.flatMap(({ kind, address, count, priority }) =>
        Array.from({ length: count }, (_, i): ArrayEntry => {
          return { codeObject, kind, linkedAddress: BigInt(address + i * ENTRY_BYTES), priority };
        }),
      ),
    );
    this.#entries = entries.toSorted((a, b) => a.kind.localeCompare(b.kind) || a.priority - b.priority);
    this.#first = objects[0];
    this.#memory = memory;
    const sizeBytes = entries.length * ENTRY_BYTES;
    this.#address = sizeBytes > 0 ? memory.allocate(sizeBytes, { label: 'arrays of constructors' }) : 0n;
  }

  count(kind: ArrayKind): number {
    return this.#entries.filter((each) => each.kind === kind).length;
  }

  /** What a linker defines under the name; undefined for all other names. */
  addressOf(name: string): bigint | undefined {
    if (name === '__dso_handle') return this.#first?.address;
    const [, kind, end] = BOUND.exec(name) ?? [];
    if (kind === undefined) return undefined;
    const start = this.#entries.findIndex((each) => each.kind === kind);
    if (start < 0) return 0n;
    const index = end === 'start' ? start : this.#entries.findLastIndex((each) => each.kind === kind) + 1;
    return this.#address + BigInt(index * ENTRY_BYTES);
  }

  /** When the code objects are relocated. */
  fill(): void {
    if (this.#entries.length === 0) return;
    const target = this.#memory.view(this.#address, this.#entries.length * ENTRY_BYTES);
    for (const [i, { codeObject, linkedAddress }] of this.#entries.entries()) {
      target.set(codeObject.view(linkedAddress, ENTRY_BYTES, 'an array of functions'), i * ENTRY_BYTES);
    }
  }

  [Symbol.dispose](): void {
    if (this.#entries.length > 0) this.#memory.free(this.#address);
  }
}
