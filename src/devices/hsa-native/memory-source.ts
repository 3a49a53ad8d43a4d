/** Fine-grained system memory that code may be put into. */
import { WavewrightError } from '../../base/errors.ts';
import type { MemorySource } from '../native/host-memory.ts';
import type { HsaLibrary } from './library.ts';

const EXECUTABLE = 4;

export class HsaMemorySource implements MemorySource {
  readonly #library: HsaLibrary;
  readonly #pool: bigint;
  readonly #agent: bigint;

  constructor(library: HsaLibrary, pool: bigint, agent: bigint) {
    this.#library = library;
    this.#pool = pool;
    this.#agent = agent;
  }

  allocate(sizeBytes: number): bigint {
    const { call } = this.#library;
    const out = new Uint8Array(8);
    const status = call.hsa_amd_memory_pool_allocate(this.#pool, BigInt(sizeBytes), EXECUTABLE, out);
    if (status !== 0) throw new WavewrightError('LIMIT_EXCEEDED', `out of memory for the GPU: ${sizeBytes} bytes`);
    const address = new DataView(out.buffer).getBigUint64(0, true);
    const agents = new Uint8Array(BigUint64Array.of(this.#agent).buffer);
    this.#library.check(call.hsa_amd_agents_allow_access(1, agents, 0n, address), 'hsa_amd_agents_allow_access');
    return address;
  }

  free(base: bigint): void {
    this.#library.check(this.#library.call.hsa_amd_memory_pool_free(base), 'hsa_amd_memory_pool_free');
  }
}
