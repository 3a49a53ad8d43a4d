/** A server and a client on one buffer, without a device. */
import assert from 'node:assert/strict';
import { WavewrightError } from '../../base/errors.ts';
import { MemoryFileSystem } from '../host/memory-file-system.ts';
import { type StandardStreams, StreamTable } from '../host/streams.ts';
import { type ClientPort, RpcClient, type Spin } from './client.test-support.ts';
import { GENERATIONS, type Generation } from './protocol/generation.ts';
import type { Termination } from './protocol/host.ts';
import { rpcLayout } from './protocol/layout.ts';
import { OPCODES, type OpcodeName } from './protocol/opcodes.ts';
import { RpcServer, type ServerHost, type ServerOptions } from './server.ts';

export const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
export const bytes = (string: string) => new TextEncoder().encode(string);
export const cString = (string: string) => bytes(`${string}\0`);

/** A function that HOST_CALL may name: minus the size of its argument. */
export const HOST_FUNCTION = 0x4000n;

export interface Bench {
  readonly generation: Generation;
  /** The shared part starts at 4096. */
  readonly buffer: SharedArrayBuffer;
  readonly laneCount: number;
  readonly client: RpcClient;
  readonly server: RpcServer;
  readonly files: MemoryFileSystem;
  readonly out: { stdout: string; stderr: string; order: string[] };
  readonly allocated: Map<bigint, { sizeBytes: number; alignmentBytes: number }>;
  readonly host: ServerHost & { termination: Termination | undefined };
  /** Runs waves against the server until all are done; every turn steps each wave once and polls. */
  run(...waves: Spin[]): void;
  /** One wave's conversation: opens a port, and checks and closes it in the end. */
  call(name: OpcodeName, lanes: readonly number[], talk: (port: ClientPort) => Spin, from?: number): Spin;
}

/** Standard streams with `stdin` as input, unless `read` gives it, and with output that is kept. */
function recordedStreams(stdin = '', read?: StandardStreams['stdin']['read']) {
  const out = { stdout: '', stderr: '', order: [] as string[] };
  let input = bytes(stdin);
  const streams = new StreamTable({
    stdin: {
      read:
        read ??
        ((into) => {
          const count = Math.min(into.length, input.length, 5);
          into.set(input.subarray(0, count));
          input = input.slice(count);
          return count;
        }),
    },
    stdout: (chunk) => {
      out.stdout += text(chunk);
      out.order.push(`out:${text(chunk)}`);
    },
    stderr: (chunk) => {
      out.stderr += text(chunk);
      out.order.push(`err:${text(chunk)}`);
    },
  });
  return { out, streams };
}

export function setUp(
  options: {
    generation?: Generation;
    laneCount?: 32 | 64;
    portCount?: number;
    stdin?: string;
    /** In place of `stdin`. */
    read?: StandardStreams['stdin']['read'];
    server?: ServerOptions;
  } = {},
): Bench {
  const { generation = GENERATIONS.P20, laneCount = 64, portCount = 8 } = options;
  const layout = rpcLayout(generation, portCount, laneCount);
  // Not at the start of the buffer, to see offsets that are forgotten.
  const base = 4096;
  const buffer = new SharedArrayBuffer(base + layout.sizeBytes);
  const at = (offset: number) => base + offset;
  const view = {
    buffer,
    portCount,
    mailboxA: at(layout.mailboxA),
    mailboxB: at(layout.mailboxB),
    headers: at(layout.headers),
    packets: at(layout.packets),
  };
  const { out, streams } = recordedStreams(options.stdin, options.read);
  const files = new MemoryFileSystem();
  const allocated: Bench['allocated'] = new Map();
  let nextAddress = 0x10_0000n;
  const host: Bench['host'] = {
    streams,
    fileSystem: files,
    printf: generation.printf,
    system: (command) => 256 * command.length,
    hostFunctions: new Map([[HOST_FUNCTION, (argument) => BigInt(-argument.length)]]),
    termination: undefined,
    get terminated() {
      return this.termination !== undefined;
    },
    terminate(termination) {
      this.termination = termination;
    },
    allocate(sizeBytes, alignmentBytes) {
      if (sizeBytes > 2 ** 30) return 0n;
      nextAddress += 0x10_0000n;
      allocated.set(nextAddress, { sizeBytes, alignmentBytes });
      return nextAddress;
    },
    free(address) {
      if (!allocated.delete(address)) throw new WavewrightError('RPC_PROTOCOL', 'not allocated');
    },
  };
  const server = new RpcServer(
    generation,
    layout,
    new Uint8Array(buffer, base, layout.sizeBytes),
    host,
    options.server,
  );
  const client = new RpcClient(generation, view, laneCount);
  return {
    generation,
    buffer,
    laneCount,
    client,
    server,
    files,
    out,
    allocated,
    host,
    run(...waves) {
      let running = waves;
      for (let turn = 0; running.length > 0 && !host.terminated; turn++) {
        assert.ok(turn < 100_000, 'the conversation hangs');
        running = running.filter((wave) => !wave.next().done);
        server.poll();
      }
      server.poll();
    },
    *call(name, lanes, talk, from) {
      const port = yield* client.open(generation.opcodeClass + OPCODES[name], lanes, from);
      yield* talk(port);
      port.close();
    },
  };
}
