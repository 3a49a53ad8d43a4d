/** The memory of a queue for arguments: a ring of blocks of 64 bytes, which completion gives back. */
import type { Agent } from '../../hsa/objects/agent.ts';
import type { Runtime } from '../../hsa/runtime/runtime.ts';
import { HalError, withHalStatus } from '../core/status.ts';
import { BlockRing } from './block-ring.ts';

export const KERNARG_BLOCK_BYTES = 64;

/** Where arguments of one kernel lie. */
export interface KernargSpan {
  /** In the memory of the ring. */
  readonly offsetBytes: number;
  readonly address: bigint;
  /** Given back together with all before it. */
  readonly end: number;
}

export class KernargRing implements Disposable {
  /** All of the ring, live. */
  readonly data: DataView;
  readonly bytes: Uint8Array;
  readonly #ring: BlockRing;
  readonly #runtime: Runtime;
  readonly #address: bigint;
  readonly #free: () => void;

  /** Throws RESOURCE_EXHAUSTED where there is no memory for it. */
  constructor(runtime: Runtime, agent: Agent, blockCount: number) {
    const sizeBytes = blockCount * KERNARG_BLOCK_BYTES;
    const pool = runtime.cpuAgent.pool('kernarg', agent);
    this.#ring = new BlockRing(blockCount);
    this.#runtime = runtime;
    this.#address = withHalStatus(() => pool.allocate(sizeBytes, { label: 'kernel arguments' }));
    this.#free = () => pool.free(this.#address);
    this.bytes = runtime.view(this.#address, sizeBytes);
    this.data = new DataView(this.bytes.buffer, this.bytes.byteOffset, sizeBytes);
  }

  get usedCount(): number {
    return this.#ring.usedCount;
  }

  /** Undefined where there is no room now. Throws RESOURCE_EXHAUSTED for more than the ring ever has. */
  reserve(sizeBytes: number): KernargSpan | undefined {
    const count = Math.ceil(sizeBytes / KERNARG_BLOCK_BYTES);
    if (count > this.#ring.capacity) {
      const most = `a ring of ${this.#ring.capacity} blocks of ${KERNARG_BLOCK_BYTES}`;
      throw new HalError('RESOURCE_EXHAUSTED', `${sizeBytes} bytes of arguments do not fit in ${most}`);
    }
    const position = this.#ring.reserve(count);
    if (position === undefined) return undefined;
    const offsetBytes = this.#ring.index(position) * KERNARG_BLOCK_BYTES;
    return { offsetBytes, address: this.#address + BigInt(offsetBytes), end: position + count };
  }

  /** Everything up to `end` of a span is back. */
  release(end: number): void {
    this.#ring.release(end);
  }

  /** The span that was reserved last is not needed. */
  cancel({ end }: KernargSpan, sizeBytes: number): void {
    this.#ring.cancel(end - Math.ceil(sizeBytes / KERNARG_BLOCK_BYTES));
  }

  [Symbol.dispose](): void {
    if (this.#runtime.lifetime.isLive) this.#free();
  }
}
