import { WavewrightError } from '../base/errors.ts';
import type { MemoryPool } from '../hsa/memory-pool.ts';
import type { FileSystem } from './file-system.ts';
import type { PrintfDialect } from './printf/parse.ts';
import type { Termination } from './rpc/host.ts';
import type { ServerHost } from './rpc/server.ts';
import type { StreamTable } from './streams.ts';

/** What a running program has of this host: streams, files, and the memory that it asked for. */
export class ProgramHost implements ServerHost {
  readonly streams: StreamTable;
  readonly fileSystem: FileSystem;
  readonly printf: PrintfDialect;
  readonly #pool: MemoryPool;
  readonly #allocated = new Set<bigint>();
  #termination: Termination | undefined;

  constructor(streams: StreamTable, fileSystem: FileSystem, printf: PrintfDialect, pool: MemoryPool) {
    this.streams = streams;
    this.fileSystem = fileSystem;
    this.printf = printf;
    this.#pool = pool;
  }

  get termination(): Termination | undefined {
    return this.#termination;
  }

  get terminated(): boolean {
    return this.#termination !== undefined;
  }

  terminate(termination: Termination): void {
    this.#termination = termination;
  }

  allocate(sizeBytes: number, alignmentBytes: number): bigint {
    try {
      const address = this.#pool.allocate(sizeBytes, { alignmentBytes, label: 'malloc' });
      this.#allocated.add(address);
      return address;
    } catch (error) {
      if (error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED') return 0n;
      throw error;
    }
  }

  free(address: bigint): void {
    if (!this.#allocated.delete(address)) {
      throw new WavewrightError('RPC_PROTOCOL', `free of 0x${address.toString(16)}, which malloc did not return`);
    }
    this.#pool.free(address);
  }

  /** Closes all files and frees what the program left allocated. */
  close(): void {
    this.streams.closeAll();
    for (const address of this.#allocated) this.#pool.free(address);
    this.#allocated.clear();
  }
}
