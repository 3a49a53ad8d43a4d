/** The heap of device malloc, which outlives kernels that are to see each other's allocations. */
import { DeviceHeap } from '../hsa/memory/device-heap.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import type { Runtime } from '../hsa/runtime/runtime.ts';

/**
 * The state of ROCm's allocator on the device (`__ockl_dm_alloc`): zeros are an empty heap, which asks the
 * host for its first slab.
 */
export const HEAP_STATE_SIZE_BYTES = 128 * 2 ** 10;

/** The allocator's state, which kernels find through `hidden_heap_v1`, and the slabs that it asked for. */
export class KernelHeap implements Disposable {
  readonly memory: DeviceHeap;
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  #state: bigint | undefined;

  /** `maxBytes`: of all slabs together. Default: what the device has. */
  constructor(runtime: Runtime, agent: Agent, maxBytes?: number) {
    this.#runtime = runtime;
    this.#agent = agent;
    this.memory = new DeviceHeap(agent.pool('coarse-grained'), maxBytes);
  }

  /** Allocated when it is first asked for. Throws LIMIT_EXCEEDED. */
  get stateAddress(): bigint {
    this.#state ??= this.#pool.allocate(HEAP_STATE_SIZE_BYTES, { label: 'heap of kernels' });
    return this.#state;
  }

  /** Frees what kernels left allocated. */
  clear(): void {
    if (this.#state !== undefined) this.#runtime.view(this.#state, HEAP_STATE_SIZE_BYTES).fill(0);
    this.memory.clear();
  }

  [Symbol.dispose](): void {
    this.memory.clear();
    if (this.#state !== undefined) this.#pool.free(this.#state);
    this.#state = undefined;
  }

  get #pool() {
    return this.#runtime.cpuAgent.pool('fine-grained', this.#agent);
  }
}
