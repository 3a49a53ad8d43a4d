/** What conversations act on: the host side of a running program. */

import type { PrintfDialect } from '../../../printf/parse.ts';
import type { Conversation } from '../../host/conversation.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { StreamTable } from '../../host/streams.ts';
import type { ServerPort } from './port.ts';

/** How a program asked to end. */
export type Termination = { readonly kind: 'exit'; readonly status: number } | { readonly kind: 'abort' };

export interface RpcHost {
  readonly streams: StreamTable;
  readonly fileSystem: FileSystem;
  readonly printf: PrintfDialect;
  /** A zero-filled device allocation, 0 when memory is exhausted. */
  allocate(sizeBytes: number, alignmentBytes: number): bigint;
  /** Throws RPC_PROTOCOL for what `allocate` did not return. */
  free(address: bigint): void;
  /**
   * Runs a command as C's system does: its wait status, or -1 when none can be run. Absent: the program may
   * run none.
   */
  readonly system?: (command: string) => number | Promise<number>;
  /** Functions that HOST_CALL may name, by what the program takes for their address. */
  readonly hostFunctions?: ReadonlyMap<bigint, HostFunction>;
  /** Ends the program: nothing is served any more. */
  terminate(termination: Termination): void;
}

/** Takes the bytes that the program sent along; what it returns, modulo 2^64, is the program's result. */
export type HostFunction = (argument: Uint8Array) => bigint;

/** Serves one conversation on a port that the server owns. */
export type Handler = (port: ServerPort, host: RpcHost) => Conversation;
