/**
 * Random words in every part of the buffer that a program shares with the RPC server:
 * `rpc-words.ts [WORDS] [SEED]`. Anything but a WavewrightError, or a poll that takes seconds, ends the
 * process with what it takes to repeat it.
 */
import assert from 'node:assert/strict';
import { WavewrightError } from '../../src/base/errors.ts';
import { MemoryFileSystem } from '../../src/loader/host/memory-file-system.ts';
import { StreamTable } from '../../src/loader/host/streams.ts';
import { dispatched } from '../../src/loader/rpc/dispatch.ts';
import { GENERATIONS } from '../../src/loader/rpc/protocol/generation.ts';
import { type RpcLayout, rpcLayout } from '../../src/loader/rpc/protocol/layout.ts';
import { OPCODES } from '../../src/loader/rpc/protocol/opcodes.ts';
import { RpcServer, type ServerHost } from '../../src/loader/rpc/server.ts';
import { Random } from './random.ts';

const STUCK_MS = 10_000;
const REPORT_WORDS = 10_000_000;
/** A session that goes well ends after so many packets. */
const SESSION_PACKETS = 300;
const OWN_OPCODE = 0x7500_0000;
const SELF_TESTS = [0x8000, 0x8001, 0x8002, 0x8003, 0x6300_8000, 0x6300_8001, 0x6300_8002, 0x6f00_0000];
const TEXT = new TextEncoder().encode('%%%%dsdsxfgcn*.0123456789-+ #hljztqwL/..ab\0\0\0');
const BORDERS = [0, 1, 2, 3, 8, 55, 56, 57, 63, 64, 65, 120, 184, 4095, 4096, 4100, 4104, 65_536, 2 ** 21, 2 ** 31 - 1];

const [total = '1000000', seed = '1'] = process.argv.slice(2);

type Words = (random: Random) => bigint;

const uint32 = (random: Random) => BigInt(random.below(2 ** 32));

/** How the words of one packet are made. */
const STYLES: readonly Words[] = [
  (random) => (uint32(random) << 32n) | uint32(random),
  (random) => BigInt(random.below(300)),
  (random) => BigInt(random.pick(BORDERS)),
  (random) => BigInt.asUintN(64, BigInt(random.below(9) - 4)),
  (random) => BigInt.asUintN(64, (1n << BigInt(random.below(65))) + BigInt(random.below(3) - 1)),
  (random) => BigInt(4096 + 4 * random.below(4) + random.below(2)),
  (random) => {
    let word = 0n;
    for (let byte = 0; byte < 8; byte++) word = (word << 8n) | BigInt(TEXT[random.below(TEXT.length)]!);
    return word;
  },
];

function createHost(random: Random): ServerHost {
  const stdin = {
    read: (into: Uint8Array) =>
      random.pick([0, undefined, 'waiting', 1, Math.min(7, into.length), into.length] as const),
  };
  return {
    streams: new StreamTable({ stdin, stdout: () => {}, stderr: () => {} }, { openFiles: 8, outputBytes: 2 ** 28 }),
    fileSystem: new MemoryFileSystem(),
    printf: random.pick(Object.values(GENERATIONS)).printf,
    terminated: false,
    terminate: () => undefined,
    allocate: () => uint32(random),
    free: () => {
      if (random.below(4) === 0) throw new WavewrightError('RPC_PROTOCOL', 'not allocated');
    },
    system: (command) => command.length,
    hostFunctions: new Map([[0n, (argument) => BigInt(argument.length)]]),
  };
}

const own = dispatched(
  {
    parameters: [{ kind: 'pointer' }, { kind: 'value', sizeBytes: 60 }, { kind: 'pointer', isConst: true }],
    resultSizeBytes: 3,
  },
  ([first]) => first?.subarray(0, 3),
);

class Session {
  readonly #random: Random;
  readonly #layout: RpcLayout;
  readonly #laneCount: 32 | 64;
  readonly #opcodeClass: number;
  readonly #server: RpcServer;
  readonly #data: DataView;
  readonly #packets: BigUint64Array;

  constructor(random: Random) {
    this.#random = random;
    const generation = random.pick(Object.values(GENERATIONS));
    this.#opcodeClass = generation.opcodeClass;
    this.#laneCount = random.pick([32, 64] as const);
    this.#layout = rpcLayout(generation, random.pick([1, 2, 7]), this.#laneCount);
    const buffer = new SharedArrayBuffer(this.#layout.sizeBytes);
    this.#data = new DataView(buffer);
    this.#packets = new BigUint64Array(buffer, this.#layout.packets);
    const opcodes = new Map([[OWN_OPCODE, own]]);
    const onConversation = random.below(4) === 0 ? () => undefined : undefined;
    const options = { opcodes, ...(onConversation && { onConversation }) };
    this.#server = new RpcServer(generation, this.#layout, new Uint8Array(buffer), createHost(random), options);
  }

  /**
   * Fills the packets of one port and hands them over, or does something that no client does; the words that
   * it wrote.
   */
  step(): number {
    const random = this.#random;
    const { mailboxA, mailboxB, portCount } = this.#layout;
    const port = random.below(portCount);
    const [a, b] = [mailboxA + 4 * port, mailboxB + 4 * port];
    const isOwned = this.#data.getInt32(a, true) === this.#data.getInt32(b, true);
    if (isOwned && random.below(3) === 0) this.#writeHeader(port);
    const words = this.#fill(port);
    if (random.below(2000) === 0) this.#data.setInt32(random.pick([a, b]), random.below(2 ** 32), true);
    else if (isOwned || random.below(500) === 0) this.#data.setInt32(b, this.#data.getInt32(b, true) ^ 1, true);
    const startMs = performance.now();
    this.#server.poll();
    assert.ok(performance.now() < startMs + STUCK_MS, 'a poll takes seconds');
    return words;
  }

  #fill(port: number): number {
    const words = 8 * this.#laneCount;
    const style = this.#random.pick(STYLES);
    const first = port * words;
    // All lanes the same, as most programs do, so that sessions get further.
    const same = this.#random.chance(50) ? style(this.#random) : undefined;
    for (let at = first; at < first + words; at++) this.#packets[at] = same ?? style(this.#random);
    return words;
  }

  #writeHeader(port: number): void {
    const random = this.#random;
    const at = this.#layout.headers + 16 * port;
    const [low, high] = [random, random].map((one) => one.below(2 ** 32) & one.below(2 ** 32));
    this.#data.setInt32(at, random.below(50) === 0 ? 0 : low! | 1, true);
    this.#data.setInt32(at + 4, this.#laneCount === 64 || random.below(200) === 0 ? high! : 0, true);
    const numbers = Object.values(OPCODES);
    const known = this.#opcodeClass + random.pick(numbers);
    const kind = random.below(40);
    const other = kind === 0 ? random.below(2 ** 32) : kind < 4 ? random.pick(SELF_TESTS) : OWN_OPCODE;
    this.#data.setUint32(at + 8, kind < 7 ? other : known, true);
  }
}

let words = 0;
let reported = 0;
const ends = new Map<string, number>();
for (let number = Number(seed); words < Number(total); number++) {
  const session = new Session(new Random(number));
  let end = 'goes on';
  try {
    for (let packet = 0; packet < SESSION_PACKETS; packet++) words += session.step();
  } catch (error) {
    if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') {
      console.error(`session ${number}`);
      throw error;
    }
    end = error.code;
  }
  ends.set(end, (ends.get(end) ?? 0) + 1);
  if (words < reported + REPORT_WORDS) continue;
  reported = words;
  console.log(`${words} words, ${JSON.stringify(Object.fromEntries(ends))}`);
}
console.log(`${words} words, sessions by how they end: ${JSON.stringify(Object.fromEntries(ends))}`);
