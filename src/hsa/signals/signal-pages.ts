/** Memory of signals, 64 to a page; pages are freed at the end of the runtime. */

import type { DeviceMemory } from '../../device/memory.ts';
import type { Agent } from '../objects/agent.ts';
import { SIGNAL } from '../objects/layouts.ts';
import { withStatus } from '../objects/status.ts';
import { initializeSignal, type Progress, Signal } from './signal.ts';

const SIGNALS_PER_PAGE = 4096 / SIGNAL.sizeBytes;

/** Gives signals their 64 bytes of a device's memory. */
export class SignalPages {
  readonly #memory: DeviceMemory;
  readonly #free: bigint[] = [];
  readonly #pages: bigint[] = [];

  constructor(memory: DeviceMemory) {
    this.#memory = memory;
  }

  create(initial: bigint, runtime: Progress, consumers: readonly Agent[]): Signal {
    if (this.#free.length === 0) {
      const page = withStatus('OUT_OF_RESOURCES', () => this.#memory.allocate(4096, { label: 'signals' }));
      this.#pages.push(page);
      for (let slot = SIGNALS_PER_PAGE - 1; slot >= 0; slot--) this.#free.push(page + BigInt(slot * SIGNAL.sizeBytes));
    }
    const address = this.#free.pop()!;
    initializeSignal(this.#memory, address, initial);
    return new Signal(this.#memory, address, runtime, () => this.#free.push(address), consumers);
  }

  free(): void {
    for (const page of this.#pages) this.#memory.free(page);
    this.#pages.length = 0;
    this.#free.length = 0;
  }
}
