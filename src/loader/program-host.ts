import { WavewrightError } from '../base/errors.ts';
import type { MemoryPool } from '../hsa/memory-pool.ts';
import type { PrintfDialect } from '../printf/parse.ts';
import type { FileSystem } from './file-system.ts';
import type { HostFunction, RpcHost, Termination } from './rpc/host.ts';
import type { ServerHost } from './rpc/server.ts';
import { type StandardStreams, type StreamLimits, StreamTable } from './streams.ts';

/** What a running program has of this host: streams, files, and the memory that it asked for. */
export interface ProgramHostOptions {
  readonly streams: StandardStreams;
  readonly fileSystem: FileSystem;
  readonly limits?: StreamLimits & { readonly heapBytes?: number };
  /** The signal says that nobody waits for the command any more. */
  readonly system?: (command: string, signal: AbortSignal) => number | Promise<number>;
  readonly hostFunctions?: ReadonlyMap<bigint, HostFunction>;
}

export class ProgramHost implements ServerHost {
  readonly streams: StreamTable;
  readonly fileSystem: FileSystem;
  readonly printf: PrintfDialect;
  readonly system?: NonNullable<RpcHost['system']>;
  readonly hostFunctions?: ReadonlyMap<bigint, HostFunction>;
  readonly #over = new AbortController();
  readonly #pool: MemoryPool;
  readonly #maxHeapBytes: number;
  /** Sizes in bytes by address. */
  readonly #allocated = new Map<bigint, number>();
  #heapBytes = 0;
  #termination: Termination | undefined;

  constructor(options: ProgramHostOptions, printf: PrintfDialect, pool: MemoryPool) {
    this.streams = new StreamTable(options.streams, options.limits);
    this.fileSystem = options.fileSystem;
    const { system } = options;
    if (system) this.system = (command) => system(command, this.#over.signal);
    if (options.hostFunctions) this.hostFunctions = options.hostFunctions;
    this.printf = printf;
    this.#pool = pool;
    this.#maxHeapBytes = options.limits?.heapBytes ?? Number.POSITIVE_INFINITY;
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
    if (this.#heapBytes + sizeBytes > this.#maxHeapBytes) return 0n;
    try {
      const address = this.#pool.allocate(sizeBytes, { alignmentBytes, label: 'malloc' });
      this.#allocated.set(address, sizeBytes);
      this.#heapBytes += sizeBytes;
      return address;
    } catch (error) {
      if (error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED') return 0n;
      throw error;
    }
  }

  free(address: bigint): void {
    const sizeBytes = this.#allocated.get(address);
    if (sizeBytes === undefined) {
      throw new WavewrightError('RPC_PROTOCOL', `free of 0x${address.toString(16)}, which malloc did not return`);
    }
    this.#allocated.delete(address);
    this.#heapBytes -= sizeBytes;
    this.#pool.free(address, { isByHost: false });
  }

  /** Closes all files, ends commands and frees what the program left allocated. */
  close(): void {
    this.#over.abort();
    this.streams.closeAll();
    for (const address of this.#allocated.keys()) this.#pool.free(address);
    this.#allocated.clear();
  }
}
