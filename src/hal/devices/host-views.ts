/** What the host writes to memory that it has in its hands, for recorders: found by comparing. */
import type { BufferAllocation, HeldBytes } from '../memory/buffer.ts';

/** Bytes that the host has written. */
export interface HostWrite {
  readonly allocation: BufferAllocation;
  /** In the allocation. */
  readonly offsetBytes: number;
  /** A copy. */
  readonly bytes: Uint8Array;
}

interface View {
  readonly held: HeldBytes;
  /** What they were when it was last looked. */
  readonly known: Uint8Array;
}

export class HostViews {
  readonly #views = new Set<View>();
  readonly #tell: (write: HostWrite) => void;

  constructor(tell: (write: HostWrite) => void) {
    this.#tell = tell;
  }

  /** From now on the host may write. Returns what ends that, and tells of what was written until then. */
  add(held: HeldBytes): () => void {
    if (!held.access.has('write')) return () => {};
    const view = { held, known: held.bytes.slice() };
    this.#views.add(view);
    return () => {
      if (!this.#views.delete(view)) return;
      // What is discarded has no known contents elsewhere.
      if (held.access.has('discard')) this.#told(view, 0, held.bytes.length);
      else this.#compare(view);
    };
  }

  /** Tells of what the host has written since it was last looked. */
  flush(): void {
    for (const view of this.#views) this.#compare(view);
  }

  /** What has changed since it was last looked, a device has changed. */
  refresh(): void {
    for (const { held, known } of this.#views) known.set(held.bytes);
  }

  /** The memory is gone. */
  forget(allocation: BufferAllocation): void {
    for (const view of this.#views) if (view.held.allocation === allocation) this.#views.delete(view);
  }

  #compare(view: View): void {
    const { known } = view;
    const { bytes } = view.held;
    let start = 0;
    while (start < known.length && known[start] === bytes[start]) start++;
    if (start === known.length) return;
    let end = known.length;
    while (known[end - 1] === bytes[end - 1]) end--;
    this.#told(view, start, end);
  }

  #told({ held, known }: View, start: number, end: number): void {
    if (start === end) return;
    const bytes = held.bytes.slice(start, end);
    known.set(bytes, start);
    this.#tell({ allocation: held.allocation, offsetBytes: held.offsetBytes + start, bytes });
  }
}
