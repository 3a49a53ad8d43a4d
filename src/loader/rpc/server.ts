/**
 * The RPC server: serves the ports of the shared buffer without ever waiting for one of them. `poll` is called between the slices
 * of the device (spec/loader.md sections 1.1 to 1.6).
 */
import { WavewrightError } from '../../base/errors.ts';
import type { Generation } from '../generation.ts';
import { fileHandlers } from './handlers/files.ts';
import { printfHandlers } from './handlers/printf.ts';
import { processHandlers } from './handlers/process.ts';
import { EARLY_SELF_TESTS, LATE_SELF_TESTS, selfTestHandlers } from './handlers/self-test.ts';
import type { Handler, RpcHost } from './host.ts';
import { HEADER_SIZE_BYTES, PACKET_SIZE_BYTES, type RpcLayout } from './layout.ts';
import { OPCODES, type OpcodeName } from './opcodes.ts';
import { type Conversation, type RpcMemory, ServerPort } from './port.ts';

/** What the server itself needs of its host, besides what handlers need. */
export interface ServerHost extends RpcHost {
  /** Whether the program has asked to end. */
  readonly terminated: boolean;
}

interface Service {
  readonly name: string;
  readonly handler: Handler;
}

interface ActivePort {
  readonly port: ServerPort;
  readonly conversation: Conversation;
  readonly service: Service;
}

const LIBRARY_HANDLERS: Readonly<Record<OpcodeName, Handler>> = {
  ...processHandlers,
  ...fileHandlers,
  ...printfHandlers,
};

function servicesOf(generation: Generation): Map<number, Service> {
  const services = new Map<number, Service>();
  for (const [name, number] of Object.entries(OPCODES) as [OpcodeName, number][]) {
    services.set(generation.opcodeClass + number, { name, handler: LIBRARY_HANDLERS[name] });
  }
  const add = (numbers: Readonly<Partial<Record<keyof typeof selfTestHandlers, number>>>) => {
    for (const [name, number] of Object.entries(numbers) as [keyof typeof selfTestHandlers, number][]) {
      services.set(number, { name: `TEST_${name}`, handler: selfTestHandlers[name] });
    }
  };
  if (generation.name !== 'P23') add(EARLY_SELF_TESTS);
  if (generation.name !== 'P19') add(LATE_SELF_TESTS);
  return services;
}

/** Polls from one look at all ports to the next. */
const FULL_SCAN_INTERVAL = 16;

export class RpcServer {
  /** Lanes of a wave of the running kernel: its code computes packet addresses with it. */
  laneStride: number;
  readonly #host: ServerHost;
  readonly #memory: RpcMemory;
  readonly #headers: DataView;
  readonly #opcodeBits: number;
  readonly #services: Map<number, Service>;
  readonly #active = new Map<number, ActivePort>();

  #polls = 0;
  /** Clients take the lowest free port, so that few are ever used: those below this one. */
  #reach = 0;

  /** `buffer`: zeroed, of the layout's size. */
  constructor(generation: Generation, layout: RpcLayout, buffer: Uint8Array<SharedArrayBuffer>, host: ServerHost) {
    const at = (offset: number) => buffer.byteOffset + offset;
    const packetsSizeBytes = layout.sizeBytes - layout.packets;
    this.#memory = {
      mailboxA: new Int32Array(buffer.buffer, at(layout.mailboxA), layout.portCount),
      mailboxB: new Int32Array(buffer.buffer, at(layout.mailboxB), layout.portCount),
      packetWords: new BigUint64Array(buffer.buffer, at(layout.packets), packetsSizeBytes / 8),
      packetBytes: buffer.subarray(layout.packets),
    };
    this.#headers = new DataView(buffer.buffer, at(layout.headers), HEADER_SIZE_BYTES * layout.portCount);
    this.laneStride = packetsSizeBytes / layout.portCount / PACKET_SIZE_BYTES;
    this.#opcodeBits = generation.opcodeBits;
    this.#services = servicesOf(generation);
    this.#host = host;
  }

  /**
   * Serves ports that the server owns as far as they go without the client, each at most once; returns how many there were. Looks
   * at all ports when nothing is to do at those used so far, and every few times anyhow, so that none starves. Throws
   * RPC_PROTOCOL for an opcode that does not exist, and what the conversations throw, with port and opcode as context.
   */
  poll(): number {
    if (this.#host.terminated) return 0;
    const count = this.#memory.mailboxA.length;
    const known = this.#polls++ % FULL_SCAN_INTERVAL === 0 ? count : this.#reach;
    let served = this.#scan(0, known);
    if (served === 0) served = this.#scan(known, count);
    if (served > 0) this.#host.streams.flush();
    return served;
  }

  #scan(from: number, to: number): number {
    const { mailboxA, mailboxB } = this.#memory;
    let served = 0;
    for (let index = from; index < to; index++) {
      if (mailboxA[index] === mailboxB[index]) continue;
      this.#serve(index);
      served++;
      this.#reach = Math.max(this.#reach, index + 1);
      if (this.#host.terminated) break;
    }
    return served;
  }

  /** Forgets all conversations. Throws RPC_PROTOCOL when there are any: their clients are gone. */
  expectIdle(kernel: string): void {
    const [first] = this.#active.values();
    this.#active.clear();
    if (first === undefined) return;
    throw new WavewrightError('RPC_PROTOCOL', `${kernel} ended in the middle of a conversation`, {
      section: `RPC port ${first.port.index}, ${first.service.name}`,
    });
  }

  #serve(index: number): void {
    const active = this.#active.get(index) ?? this.#open(index);
    const { port, conversation, service } = active;
    try {
      if (!conversation.next().done) return;
    } catch (error) {
      if (!(error instanceof WavewrightError)) throw error;
      throw error.within({ section: `RPC port ${index}, ${service.name}` });
    }
    this.#active.delete(index);
    if (!this.#host.terminated) port.close();
  }

  #open(index: number): ActivePort {
    // The acquire that makes header and packets of the client visible.
    Atomics.load(this.#memory.mailboxB, index);
    const header = index * HEADER_SIZE_BYTES;
    const laneMask = this.#headers.getBigUint64(header, true);
    const opcode =
      this.#opcodeBits === 16 ? this.#headers.getUint16(header + 8, true) : this.#headers.getUint32(header + 8, true);
    const service = this.#services.get(opcode);
    if (service === undefined) {
      throw new WavewrightError(
        'RPC_PROTOCOL',
        `the client asks for opcode 0x${opcode.toString(16)}, which does not exist`,
        {
          section: `RPC port ${index}`,
        },
      );
    }
    const port = new ServerPort(this.#memory, index, laneMask, this.laneStride);
    const active = { port, conversation: service.handler(port, this.#host), service };
    this.#active.set(index, active);
    return active;
  }
}
