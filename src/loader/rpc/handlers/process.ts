/** Ending the program, device memory, and what cannot be served (spec/loader.md section 1.9). */
import { WavewrightError } from '../../../base/errors.ts';
import type { Handler, RpcHost, Termination } from '../host.ts';
import type { OpcodeName } from '../opcodes.ts';

/** Client allocators take memory in slabs of this size and find their headers by masking pointers with it. */
const SLAB_BYTES = 2 * 2 ** 20;
const MIN_ALIGNMENT_BYTES = 4096;

/** The extra round trip shows the client that the server listens. */
function ends(termination: (status: number) => Termination): Handler {
  return function* (port, host) {
    yield* port.receive();
    yield* port.send(() => undefined);
    yield* port.receive();
    const lane = port.lanes[0];
    host.terminate(termination(lane === undefined ? 0 : Number(BigInt.asIntN(32, port.word(lane, 0)))));
  };
}

function allocate(host: RpcHost, size: bigint): bigint {
  if (size === 0n || size > BigInt(Number.MAX_SAFE_INTEGER)) return 0n;
  const sizeBytes = Number(size);
  return host.allocate(sizeBytes, sizeBytes % SLAB_BYTES === 0 ? SLAB_BYTES : MIN_ALIGNMENT_BYTES);
}

function refuses(name: OpcodeName, what: string): Handler {
  // biome-ignore lint/correctness/useYield: a conversation that ends before its first wait
  return function* () {
    throw new WavewrightError('UNSUPPORTED', `${name}: ${what}`);
  };
}

export const processHandlers = {
  *NOOP(port) {
    yield* port.receive();
  },
  EXIT: ends((status) => ({ kind: 'exit', status })),
  ABORT: ends(() => ({ kind: 'abort' })),
  *MALLOC(port, host) {
    yield* port.receive();
    yield* port.reply(port.words().map((size) => allocate(host, size)));
  },
  *FREE(port, host) {
    yield* port.receive();
    for (const address of port.words()) if (address !== 0n) host.free(address);
  },
  HOST_CALL: refuses('HOST_CALL', 'a GPU program cannot call functions of this host'),
  SYSTEM: refuses('SYSTEM', 'a GPU program may not run commands on this host'),
} satisfies Partial<Record<OpcodeName, Handler>>;
