/**
 * The RPC server: serves the ports of the shared buffer without ever waiting for one of them. `poll` is
 * called between the slices of the device.
 */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { Conversation } from '../host/conversation.ts';
import { fileHandlers } from './handlers/files.ts';
import { printfHandlers } from './handlers/printf.ts';
import { HOST_CALL_WITHOUT_REPLY, processHandlers } from './handlers/process.ts';
import { EARLY_SELF_TESTS, LATE_SELF_TESTS, selfTestHandlers } from './handlers/self-test.ts';
import type { Generation } from './protocol/generation.ts';
import type { Handler, RpcHost } from './protocol/host.ts';
import { HEADER_SIZE_BYTES, RPC_PACKET_SIZE_BYTES, type RpcLayout } from './protocol/layout.ts';
import { OFFLOAD_HOST_CALL, OPCODES, type OpcodeName } from './protocol/opcodes.ts';
import { expectMailboxes, type RecordedStep, type RpcMemory, ServerPort } from './protocol/port.ts';

/** What the server itself needs of its host, besides what handlers need. */
export interface ServerHost extends RpcHost {
  /** Whether the program has asked to end. */
  readonly terminated: boolean;
}

export interface ServerOptions {
  /** Handlers of the user's own opcodes, by the whole number; they win over those of the C library. */
  readonly opcodes?: ReadonlyMap<number, Handler>;
  /** Called after each conversation with all that went over the port. */
  readonly onConversation?: (conversation: ConversationRecord) => void;
}

/** A whole conversation, as it was served. */
export interface ConversationRecord {
  readonly port: number;
  /** The name of the opcode; one that only the user has is its number in hexadecimal. */
  readonly opcode: string;
  /** Active lanes, ascending. */
  readonly lanes: readonly number[];
  readonly steps: readonly RecordedStep[];
}

/** What was served of one opcode. */
export interface OpcodeStatistics {
  readonly opcode: string;
  readonly conversations: number;
  /** Time in the server, in milliseconds. */
  readonly durationMs: number;
}

interface Service {
  readonly name: string;
  readonly handler: Handler;
  conversations: number;
  durationMs: number;
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

function servicesOf(generation: Generation, own: ReadonlyMap<number, Handler>): Map<number, Service> {
  const services = new Map<number, Service>();
  const add = (opcode: number, name: string, handler: Handler) => {
    services.set(opcode, { name, handler, conversations: 0, durationMs: 0 });
  };
  for (const [name, number] of Object.entries(OPCODES) as [OpcodeName, number][]) {
    add(generation.opcodeClass + number, name, LIBRARY_HANDLERS[name]);
  }
  if (generation.name === 'P19') add(OPCODES.HOST_CALL, 'HOST_CALL', HOST_CALL_WITHOUT_REPLY);
  else add(OFFLOAD_HOST_CALL, 'OFFLOAD_HOST_CALL', processHandlers.HOST_CALL);
  const addSelfTests = (numbers: Readonly<Partial<Record<keyof typeof selfTestHandlers, number>>>) => {
    for (const [name, number] of Object.entries(numbers) as [keyof typeof selfTestHandlers, number][]) {
      add(number, `TEST_${name}`, selfTestHandlers[name]);
    }
  };
  if (generation.name !== 'P23') addSelfTests(EARLY_SELF_TESTS);
  if (generation.name !== 'P19') addSelfTests(LATE_SELF_TESTS);
  for (const [opcode, handler] of own) add(opcode, services.get(opcode)?.name ?? hex(opcode), handler);
  return services;
}

/** Polls from one look at all ports to the next, and how many unused ones every poll looks at. */
const FULL_SCAN_INTERVAL = 16;
const LOOKAHEAD_PORTS = 64;

export class RpcServer {
  /** Lanes of a wave of the running kernel: its code computes packet addresses with it. */
  laneStride: number;
  readonly #host: ServerHost;
  readonly #memory: RpcMemory;
  readonly #headers: DataView;
  readonly #opcodeBits: number;
  readonly #services: Map<number, Service>;
  readonly #active = new Map<number, ActivePort>();
  readonly #onConversation: ServerOptions['onConversation'];

  #polls = 0;
  #waitingForHost = 0;
  /** Clients take the lowest free port, so that few are ever used: those below this one. */
  #reach = 0;

  /** `buffer`: zeroed, of the layout's size. */
  constructor(
    generation: Generation,
    layout: RpcLayout,
    buffer: Uint8Array<SharedArrayBuffer>,
    host: ServerHost,
    options: ServerOptions = {},
  ) {
    const at = (offset: number) => buffer.byteOffset + offset;
    const packetsSizeBytes = layout.sizeBytes - layout.packets;
    this.#memory = {
      mailboxA: new Int32Array(buffer.buffer, at(layout.mailboxA), layout.portCount),
      mailboxB: new Int32Array(buffer.buffer, at(layout.mailboxB), layout.portCount),
      packetWords: new BigUint64Array(buffer.buffer, at(layout.packets), packetsSizeBytes / 8),
      packetDwords: new Int32Array(buffer.buffer, at(layout.packets), packetsSizeBytes / 4),
      packetBytes: buffer.subarray(layout.packets),
      heldBytes: 0,
    };
    this.#headers = new DataView(buffer.buffer, at(layout.headers), HEADER_SIZE_BYTES * layout.portCount);
    this.laneStride = packetsSizeBytes / layout.portCount / RPC_PACKET_SIZE_BYTES;
    this.#opcodeBits = generation.opcodeBits;
    this.#services = servicesOf(generation, options.opcodes ?? new Map());
    this.#onConversation = options.onConversation;
    this.#host = host;
  }

  /** What was served so far, by opcode in ascending order; opcodes that nobody asked for are left out. */
  get statistics(): OpcodeStatistics[] {
    return [...this.#services]
      .sort(([a], [b]) => a - b)
      .map(([, { name, conversations, durationMs }]) => ({ opcode: name, conversations, durationMs }))
      .filter(({ conversations }) => conversations > 0);
  }

  /**
   * Serves ports that the server owns as far as they go without waiting, each at most once; returns how many
   * went on. Looks at all ports when asked to, and every few times anyhow, so that none starves; else at
   * those used so far and the next ones. Throws RPC_PROTOCOL for an opcode that does not exist, and what the
   * conversations throw, with port and opcode as context.
   */
  poll(all = false): number {
    if (this.#host.terminated) return 0;
    const count = this.#memory.mailboxA.length;
    const isFull = all || this.#polls++ % FULL_SCAN_INTERVAL === 0;
    this.#waitingForHost = 0;
    const served = this.#scan(0, isFull ? count : Math.min(count, this.#reach + LOOKAHEAD_PORTS));
    if (served > 0) this.#host.streams.flush();
    return served;
  }

  /** Conversations that waited for this host at the last poll: for input, or for a command. */
  get waitingForHost(): number {
    return this.#waitingForHost;
  }

  #scan(from: number, to: number): number {
    const { mailboxA, mailboxB } = this.#memory;
    let served = 0;
    for (let index = from; index < to; index++) {
      if (mailboxA[index] === mailboxB[index]) continue;
      if (this.#serve(index)) served++;
      else this.#waitingForHost++;
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
      section: placeOf(first.port.index, first),
    });
  }

  /** False when the conversation waits for this host. */
  #serve(index: number): boolean {
    let active = this.#active.get(index);
    const startMs = performance.now();
    try {
      active ??= this.#open(index);
      const { done, value } = active.conversation.next();
      if (!done) return value === 'client';
    } catch (error) {
      if (!(error instanceof WavewrightError)) throw error;
      throw error.within({ section: placeOf(index, active) });
    } finally {
      if (active !== undefined) active.service.durationMs += performance.now() - startMs;
    }
    const { port, service } = active;
    this.#active.delete(index);
    if (!this.#host.terminated) port.close();
    if (port.steps !== undefined)
      this.#onConversation?.({ port: index, opcode: service.name, lanes: port.lanes, steps: port.steps });
    return true;
  }

  #open(index: number): ActivePort {
    expectMailboxes(this.#memory, index);
    // The acquire that makes header and packets of the client visible.
    Atomics.load(this.#memory.mailboxB, index);
    const header = index * HEADER_SIZE_BYTES;
    const low = this.#headers.getUint32(header, true);
    const high = this.#headers.getUint32(header + 4, true);
    const opcode =
      this.#opcodeBits === 16 ? this.#headers.getUint16(header + 8, true) : this.#headers.getUint32(header + 8, true);
    const service = this.#services.get(opcode);
    const refuse = (what: string) => new WavewrightError('RPC_PROTOCOL', what);
    const lanes = lanesOf(low, high);
    const mask = () => `lanes ${hex((BigInt(high) << 32n) | BigInt(low))}`;
    if (service === undefined) {
      throw refuse(`the client asks for opcode ${hex(opcode)}, which does not exist (${mask()})`);
    }
    if (lanes.length === 0 || lanes.at(-1)! >= this.laneStride) {
      throw refuse(`${service.name} for ${mask()} of a wave of ${this.laneStride}`);
    }
    const port = new ServerPort(this.#memory, index, lanes, this.laneStride, this.#onConversation !== undefined);
    const active = { port, conversation: service.handler(port, this.#host), service };
    service.conversations++;
    this.#active.set(index, active);
    return active;
  }
}

function placeOf(index: number, active: ActivePort | undefined): string {
  if (active === undefined) return `RPC port ${index}`;
  const { port, service } = active;
  return `RPC port ${index}, ${service.name}${port.lane === undefined ? '' : `, lane ${port.lane}`}`;
}

/** The lanes of a mask, ascending. */
function lanesOf(low: number, high: number): number[] {
  const lanes: number[] = [];
  for (let bits = low; bits !== 0; bits &= bits - 1) lanes.push(31 - Math.clz32(bits & -bits));
  for (let bits = high; bits !== 0; bits &= bits - 1) lanes.push(63 - Math.clz32(bits & -bits));
  return lanes;
}
