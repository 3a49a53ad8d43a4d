/** The host side of a running program: streams, files, commands, and the memory that it asked for. */
import { DeviceHeap, type HeapMemory } from '../hsa/memory/device-heap.ts';
import type { PrintfDialect } from '../printf/parse.ts';
import type { FileSystem } from './host/file-system.ts';
import { type StandardStreams, type StreamLimits, StreamTable } from './host/streams.ts';
import type { HostFunction, RpcHost, Termination } from './rpc/protocol/host.ts';
import type { ServerHost } from './rpc/server.ts';

/** What the caller of a program gives it. */
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
  readonly #heap: DeviceHeap;
  #termination: Termination | undefined;

  constructor(options: ProgramHostOptions, printf: PrintfDialect, memory: HeapMemory) {
    this.streams = new StreamTable(options.streams, options.limits);
    this.fileSystem = options.fileSystem;
    const { system } = options;
    if (system) this.system = (command) => system(command, this.#over.signal);
    if (options.hostFunctions) this.hostFunctions = options.hostFunctions;
    this.printf = printf;
    this.#heap = new DeviceHeap(memory, options.limits?.heapBytes);
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
    return this.#heap.allocate(sizeBytes, alignmentBytes);
  }

  free(address: bigint): void {
    this.#heap.free(address);
  }

  /** Closes all files, ends commands and frees what the program left allocated. */
  close(): void {
    this.#over.abort();
    this.streams.closeAll();
    this.#heap.clear();
  }
}
