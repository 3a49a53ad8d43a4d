/** Blocks of arguments, used again when their dispatch is complete. */
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';

export interface KernargBlock {
  readonly address: bigint;
  readonly bytes: Uint8Array;
}

/** The blocks that are kept for later, of each size. */
const MAX_KEPT = 1024;

export class KernargBlocks implements Disposable {
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  readonly #free = new Map<number, KernargBlock[]>();

  constructor(runtime: Runtime, agent: Agent) {
    this.#runtime = runtime;
    this.#agent = agent;
  }

  /** Holds whatever it held before. Throws LIMIT_EXCEEDED. */
  take(sizeBytes: number): KernargBlock {
    const kept = this.#free.get(sizeBytes)?.pop();
    if (kept !== undefined) return kept;
    const address = this.#pool.allocate(sizeBytes, { label: 'kernel arguments' });
    return { address, bytes: this.#runtime.view(address, sizeBytes) };
  }

  give(block: KernargBlock): void {
    const sizeBytes = block.bytes.length;
    const blocks = this.#free.get(sizeBytes) ?? [];
    this.#free.set(sizeBytes, blocks);
    if (blocks.length < MAX_KEPT) blocks.push(block);
    else this.#pool.free(block.address, { isByHost: false });
  }

  [Symbol.dispose](): void {
    for (const blocks of this.#free.values()) for (const { address } of blocks) this.#pool.free(address);
    this.#free.clear();
  }

  get #pool() {
    return this.#runtime.cpuAgent.pool('kernarg', this.#agent);
  }
}
