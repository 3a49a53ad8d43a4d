/** The C client of `client.c` and our server on one WebAssembly memory. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { MemoryFileSystem } from '../../../src/loader/host/memory-file-system.ts';
import { StreamTable } from '../../../src/loader/host/streams.ts';
import type { Generation } from '../../../src/loader/rpc/protocol/generation.ts';
import { rpcLayout } from '../../../src/loader/rpc/protocol/layout.ts';
import { RpcServer, type ServerHost } from '../../../src/loader/rpc/server.ts';
import { LLVM_DIALECT } from '../../../src/printf/parse.ts';

const MEMORY_PAGES = 64;
/** Behind the client's own data. */
const BUFFER_OFFSET = 2 ** 21;

export interface ClientExports {
  configure(...values: number[]): void;
  run(steps: number, limit: number): number;
  busy(): number;
  failed(): number;
}

/** Compiles the client. */
export function compileClient(): WebAssembly.Module {
  const options = ['--target=wasm32', '-O2', '-nostdlib', '-matomics', '-mbulk-memory'];
  const linker = ['--no-entry', '--import-memory', '--shared-memory', `--max-memory=${MEMORY_PAGES * 65_536}`];
  const { status, stdout, stderr } = spawnSync(
    'clang-19',
    [...options, ...linker.map((option) => `-Wl,${option}`), path.join(import.meta.dirname, 'client.c'), '-o', '-'],
    { maxBuffer: 2 ** 24 },
  );
  assert.equal(status, 0, String(stderr));
  return new WebAssembly.Module(stdout);
}

export interface Talk {
  readonly generation: Generation;
  readonly laneCount: 32 | 64;
  readonly portCount: number;
  readonly waveCount: number;
  readonly seed: number;
  /** Conversations to finish. */
  readonly conversations: number;
}

/** Steps of waves between two turns of the server. */
export const STEPS = 200;

/** A client and our server on one buffer. */
function connect(module: WebAssembly.Module, options: Talk) {
  const { generation, laneCount, portCount, waveCount, seed } = options;
  const memory = new WebAssembly.Memory({ initial: MEMORY_PAGES, maximum: MEMORY_PAGES, shared: true });
  const layout = rpcLayout(generation, portCount, laneCount);
  const buffer = memory.buffer as unknown as SharedArrayBuffer; // reason: the memory is shared
  assert.ok(BUFFER_OFFSET + layout.sizeBytes <= buffer.byteLength);
  const server = new RpcServer(
    generation,
    layout,
    new Uint8Array(buffer, BUFFER_OFFSET, layout.sizeBytes),
    createHost(),
  );
  const { mailboxA, mailboxB, headers, packets } = layout;
  const selfTests = generation.name === 'P23' ? 0x6300_8000 : 0x8001;
  const configuration = [
    ...[portCount, laneCount, generation.opcodeBits, generation.opcodeClass, selfTests, waveCount, seed],
    ...[mailboxA, mailboxB, headers, packets].map((offset) => BUFFER_OFFSET + offset),
  ];
  return { module, memory, server, configuration };
}

function expectSuccess(failed: number, { seed }: Talk): void {
  assert.equal(failed, 0, `conversation and line of the expectation that failed; seed ${seed}`);
}

/**
 * Lets the client talk in turns with the server; the number of conversations. Fails when one of them is not
 * as expected, or when they hang.
 */
export function talk(module: WebAssembly.Module, options: Talk): number {
  const { conversations } = options;
  const { memory, server, configuration } = connect(module, options);
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  const client = exports as unknown as ClientExports; // reason: the module exports these
  client.configure(...configuration);
  let done = 0;
  for (let idle = 0; done < conversations || client.busy() > 0; ) {
    const before = done;
    done = client.run(STEPS, conversations);
    const served = server.poll();
    expectSuccess(client.failed(), options);
    idle = served > 0 || done > before ? 0 : idle + 1;
    assert.ok(idle < 10_000, `the conversations hang after ${done}`);
  }
  while (server.poll() > 0);
  server.expectIdle('the client');
  return done;
}

/**
 * Words that the thread of a client tells: conversations that are over, what failed, and whether it has
 * ended.
 */
export const THREAD_WORDS = { done: 0, failed: 1, ended: 2 } as const;

export interface ClientThread {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  readonly configuration: readonly number[];
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly conversations: number;
}

const HANG_MS = 60_000;

/** As `talk`, with the client in a thread of its own. */
export async function race(module: WebAssembly.Module, options: Talk): Promise<number> {
  const { conversations } = options;
  const { memory, server, configuration } = connect(module, options);
  const words = new Int32Array(new SharedArrayBuffer(12));
  const word = (name: keyof typeof THREAD_WORDS) => Atomics.load(words, THREAD_WORDS[name]);
  const workerData: ClientThread = { module, memory, configuration, words, conversations };
  const thread = new Worker(path.join(import.meta.dirname, 'client-thread.ts'), { workerData });
  let failure: unknown;
  thread.on('error', (error) => {
    failure = error;
  });
  try {
    let lastMs = performance.now();
    for (let polls = 0; word('ended') === 0; polls++) {
      if (server.poll() > 0) lastMs = performance.now();
      else if (polls % 1024 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (failure) throw failure;
      assert.ok(performance.now() < lastMs + HANG_MS, `the conversations hang after ${word('done')}`);
    }
    expectSuccess(word('failed'), options);
    while (server.poll() > 0);
    server.expectIdle('the client');
    return word('done');
  } finally {
    await thread.terminate();
  }
}

/** Endless input of one character, output that is dropped, and memory that is not there. */
function createHost(): ServerHost {
  const stdin = {
    read: (into: Uint8Array) => {
      into.fill(0x5a);
      return into.length;
    },
  };
  const allocated = new Set<bigint>();
  let next = 0n;
  return {
    streams: new StreamTable({ stdin, stdout: () => undefined, stderr: () => undefined }),
    fileSystem: new MemoryFileSystem(),
    printf: LLVM_DIALECT,
    terminated: false,
    terminate: () => undefined,
    allocate: (_sizeBytes, alignmentBytes) => {
      next = (next / BigInt(alignmentBytes) + 1n) * BigInt(alignmentBytes);
      allocated.add(next);
      return next;
    },
    free: (address) => assert.ok(allocated.delete(address), `0x${address.toString(16)} is not allocated`),
  };
}
