/**
 * The socket of `exec` from both sides. `exec-socket.ts device [COUNT] [SEED]`: applications send anything
 * and write anything into their memory, and neither the device process nor another application notices.
 * `exec-socket.ts library VICTIM CODE [COUNT] [SEED]`: a device process whose replies are damaged, or end;
 * the program (test/oracle/hsa-program/victim.c, built with sanitizers) ends in time, with a clear last
 * message.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createConnection, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WavewrightError } from '../../src/base/errors.ts';
import { assembledImage, kernelSource } from '../../src/bench/assembled-kernel.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { DeviceProcess } from '../../src/exec/device-process.ts';
import { LinuxCalls } from '../../src/exec/libc.ts';
import { RequestReader } from '../../src/exec/messages.ts';
import {
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
  type OperationShape,
  PROTOCOL_VERSION,
  SOCKET_VARIABLE,
  SUBJECTS,
} from '../../src/exec/protocol.ts';
import { Session, type SessionHost } from '../../src/exec/session.ts';
import { QUEUE } from '../../src/hsa/objects/layouts.ts';
import { HANG_MS } from '../scale.ts';
import { Random } from './random.ts';

const MESSAGES = 24;
const PATTERN = 0x5a;
const FIRST_WINDOW = 0x7f00;
/** HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT. */
const KERNEL_OBJECT = 22n;
const LOOP = kernelSource('loop', 'again: s_branch again');
const STORE = kernelSource('store', 'v_mov_b32 v0, 0\nv_mov_b32 v1, 0\nglobal_store_dword v[0:1], v0, off');

/** What was seen; findings say what went wrong, and with which seed. */
export interface SocketTally {
  iterations: number;
  readonly events: Map<string, number>;
  readonly findings: string[];
}

const newTally = (): SocketTally => ({ iterations: 0, events: new Map(), findings: [] });
const count = ({ events }: SocketTally, name: string): void => void events.set(name, (events.get(name) ?? 0) + 1);

/** The memory of the devices that were opened, by the high word of their addresses. */
class Devices {
  readonly memories = new Map<number, Uint8Array>();

  open(index: number) {
    const device = createEmulatedDevice({ processor: 'gfx90a', index });
    const address = device.memory.allocate(4096);
    this.memories.set(FIRST_WINDOW + index, new Uint8Array(device.memory.view(address, 4096).buffer));
    device.memory.free(address);
    return device;
  }
}

function message(
  operation: number,
  words: readonly bigint[],
  tail: Uint8Array = new Uint8Array(0),
  sizeBytes?: number,
): Uint8Array {
  const bytes = new Uint8Array(8 + 8 * words.length + tail.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, operation, true);
  view.setUint32(4, sizeBytes ?? bytes.length - 8, true);
  for (const [i, word] of words.entries()) view.setBigUint64(8 + 8 * i, BigInt.asUintN(64, word), true);
  bytes.set(tail, 8 + 8 * words.length);
  return bytes;
}

/** An application without a library. */
class Client {
  readonly socket: Socket;
  readonly isClosed: Promise<void>;
  #bytes = Buffer.alloc(0);
  #arrived = () => {};

  constructor(name: string) {
    this.socket = createConnection({ path: `\0${name}` });
    this.socket.on('error', () => {});
    this.isClosed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    this.socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#arrived();
    });
  }

  async #take(sizeBytes: number): Promise<Buffer> {
    const end = performance.now() + HANG_MS;
    while (this.#bytes.length < sizeBytes) {
      if (this.socket.destroyed) throw new Error('the connection was closed');
      if (performance.now() > end) throw new Error(`no reply within ${HANG_MS} ms`);
      await Promise.race([new Promise<void>((resolve) => (this.#arrived = resolve)), this.isClosed, sleep(100)]);
    }
    const taken = this.#bytes.subarray(0, sizeBytes);
    this.#bytes = this.#bytes.subarray(sizeBytes);
    return taken;
  }

  /** What a reply holds; undefined for a status. */
  async answer(operation: OperationName, words: readonly bigint[], tail?: Uint8Array): Promise<Buffer | undefined> {
    this.socket.write(message(OPERATION_NAMES.indexOf(operation), words, tail));
    const { file }: OperationShape = OPERATIONS[operation];
    if (file) await this.#take(1);
    const head = await this.#take(8);
    const body = await this.#take(head.readUInt32LE(4));
    return head.readUInt32LE(0) === 0 ? body : undefined;
  }

  /** The words of a reply; undefined for a status. */
  async ask(operation: OperationName, words: readonly bigint[], tail?: Uint8Array): Promise<bigint[] | undefined> {
    const body = await this.answer(operation, words, tail);
    return body && OPERATIONS[operation].reply.map((_, i) => body.readBigUInt64LE(8 * i));
  }
}

/** The kernel object among the records of symbols. */
function kernelOf(records: Buffer): bigint {
  for (let at = 8; at + 32 <= records.length; ) {
    const [attribute, sizeBytes] = [records.readBigUInt64LE(at + 8), Number(records.readBigUInt64LE(at + 16))];
    if (attribute === KERNEL_OBJECT) return records.readBigUInt64LE(at + 24);
    at += 24 + 8 * Math.ceil(sizeBytes / 8);
  }
  throw new Error('the symbols have no kernel');
}

const CODE = [LOOP, STORE].map((source) => assembledImage(source, 'code').bytes);

function damaged(random: Random, bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice(0, random.chance(20) ? random.below(bytes.length) : bytes.length);
  for (let i = random.below(6); i > 0 && copy.length > 0; i--) copy[random.below(copy.length)] = random.below(256);
  return copy;
}

/** What one hostile application does. */
class Attack {
  readonly #random: Random;
  readonly #client: Client;
  readonly #memory: () => Uint8Array | undefined;
  /** Handles and addresses that were given to it. */
  readonly #known: bigint[] = [1n, 2n, SUBJECTS.agent, SUBJECTS.agent + 1, SUBJECTS.pool, SUBJECTS.pool + 3].map(
    BigInt,
  );
  readonly #queues: bigint[] = [];
  #kernel = 0n;
  #packets = 0;

  constructor(random: Random, client: Client, memory: () => Uint8Array | undefined) {
    this.#random = random;
    this.#client = client;
    this.#memory = memory;
  }

  #word(): bigint {
    const random = this.#random;
    return random.weighted([
      [6, random.pick(this.#known)],
      [2, random.pick(this.#known) + BigInt(random.between(-64, 64))],
      [2, 1n << BigInt(random.below(65))],
      [2, BigInt(random.below(70))],
      [1, (BigInt(random.next()) << 32n) | BigInt(random.next())],
    ] as const);
  }

  async #setUp(window: number): Promise<void> {
    await this.#client.ask('hello', [BigInt(PROTOCOL_VERSION), BigInt(window)]);
    const agent = BigInt(SUBJECTS.agent + 1);
    const made = [
      await this.#client.ask('allocate', [BigInt(SUBJECTS.pool), 4096n, 0n]),
      await this.#client.ask('createQueue', [agent, 64n, 0n, 0xffff_ffffn, 0xffff_ffffn]),
      await this.#client.ask('createExecutable', [0n, 0n]),
      await this.#client.ask('reserve', [65_536n, 0n]),
      await this.#client.ask('createMemory', [BigInt(SUBJECTS.pool), 8192n, 0n]),
    ];
    this.#queues.push(...(made[1] ?? []));
    const executable = made[2]?.[0] ?? 1n;
    const [addresses, memory] = [made[3]?.[0] ?? 0n, made[4]?.[0] ?? 0n];
    await this.#client.ask('mapMemory', [addresses + 4096n, 8192n, 0n, memory]);
    await this.#client.ask('loadCodeObject', [executable, agent], this.#random.pick(CODE));
    await this.#client.ask('freeze', [executable]);
    const symbols = await this.#client.answer('symbols', [executable]);
    if (symbols) this.#kernel = kernelOf(symbols);
    this.#known.push(...made.flatMap((words) => words ?? []));
  }

  /** Words anywhere in its own memory, most of them where the device process looks. */
  #scribble(): void {
    const memory = this.#memory();
    if (!memory) return;
    const random = this.#random;
    const words = new DataView(memory.buffer);
    const at = random.weighted([
      [2, () => random.below(256)],
      [6, () => Number((this.#queues[0] ?? 0n) & 0xffff_ffffn) + random.below(64 * 64 + 2304)],
      [2, () => Number(random.pick(this.#known) & 0xffff_ffffn) + random.below(256)],
      [1, () => random.next()],
    ] as const)();
    if (at + 8 <= memory.length) words.setBigUint64(at - (at % 8), BigInt.asUintN(64, this.#word()), true);
  }

  /** A packet of any kind behind a doorbell. */
  #launch(): void {
    const [queue] = this.#queues;
    const memory = this.#memory();
    if (!memory || queue === undefined) return;
    const random = this.#random;
    const view = new DataView(memory.buffer);
    // What stands there may be anything by now.
    const offset = (address: bigint): number => Math.min(Number(address & 0xffff_fff8n), memory.length - 8192);
    const index = random.chance(70) ? this.#packets++ : random.below(64);
    const slot = offset(view.getBigUint64(offset(queue) + QUEUE.baseAddress, true)) + 64 * (index % 64);
    const words = random.times(8, () => BigInt.asUintN(64, this.#word()));
    if (random.chance(80)) {
      // A launch of some waves, of which one word may be anything.
      const sizes = [0x0040_0000_0000n, 0x40_0000_0001n, 0x0000_0001_0000_0001n, 0n, this.#kernel, words[5]!, 0n, 0n];
      words.splice(0, 8, ...sizes);
      if (random.chance(30)) words[random.below(8)] = this.#word();
    }
    for (const [i, word] of words.entries()) view.setBigUint64(slot + 8 * i, BigInt.asUintN(64, word), true);
    view.setUint16(slot + 6, 1, true);
    const header = random.weighted([
      [6, 2],
      [1, random.pick([3, 5, 0, 1, 4])],
    ] as const);
    view.setUint32(slot, header | (random.below(32) << 8) | (random.between(0, 3) << 16), true);
    const bell = offset(view.getBigUint64(offset(queue) + QUEUE.doorbellSignal, true));
    view.setBigUint64(offset(view.getBigUint64(bell + 8, true)), BigInt(index), true);
  }

  #send(): void {
    const random = this.#random;
    const number = random.below(200) > 0 ? random.below(OPERATION_NAMES.length) : random.next();
    const operation = OPERATION_NAMES[number];
    const { request: names, tail: side }: OperationShape = operation
      ? OPERATIONS[operation]
      : { request: [], reply: [] };
    const words = names.map(() => this.#word());
    const takesTail = side === 'request';
    const tail = takesTail || random.below(200) === 0 ? damaged(random, random.pick(CODE)) : undefined;
    const sizeBytes = random.below(400) === 0 ? random.next() : undefined;
    this.#client.socket.write(message(number >>> 0, words, tail, sizeBytes));
  }

  async run(window: number): Promise<void> {
    const random = this.#random;
    if (random.chance(90)) await this.#setUp(window);
    for (let i = 0; i < MESSAGES && !this.#client.socket.destroyed; i++) {
      const action = random.weighted([
        [4, () => this.#send()],
        [4, () => this.#scribble()],
        [4, () => this.#launch()],
        [1, () => this.#client.socket.write(message(OPERATION_NAMES.indexOf('wake'), []))],
      ] as const);
      action();
      if (random.chance(20)) await sleep(1);
    }
    if (random.chance(30))
      this.#client.socket.write(Uint8Array.from(random.times(random.below(40), () => random.below(256))));
    if (random.chance(50)) this.#client.socket.end();
    else this.#client.socket.destroy();
  }
}

/** A well-behaved application beside the hostile ones. */
class Witness {
  readonly #client: Client;
  readonly #devices: Devices;
  #offset = 0;

  constructor(name: string, devices: Devices) {
    this.#client = new Client(name);
    this.#devices = devices;
  }

  get #bytes(): Uint8Array {
    return this.#devices.memories.get(FIRST_WINDOW)!.subarray(this.#offset, this.#offset + 65_536);
  }

  async begin(): Promise<void> {
    await this.#client.ask('hello', [BigInt(PROTOCOL_VERSION), BigInt(FIRST_WINDOW)]);
    const made = await this.#client.ask('allocate', [BigInt(SUBJECTS.pool), 65_536n, 0n]);
    this.#offset = Number(made![0]! & 0xffff_ffffn);
    this.#bytes.fill(PATTERN);
  }

  /** Throws for what is wrong. */
  async check(): Promise<void> {
    const made = await this.#client.ask('allocate', [BigInt(SUBJECTS.pool), 4096n, 0n]);
    assert.ok(made, 'an allocation is refused');
    assert.ok(await this.#client.ask('free', made), 'memory cannot be given back');
    assert.ok(
      this.#bytes.every((byte) => byte === PATTERN),
      'the memory of another application changed',
    );
  }
}

/** Hostile applications, one after the other. */
export async function attackDevice(iterations: number, seed: number): Promise<SocketTally> {
  const tally = newTally();
  const devices = new Devices();
  let doing = seed;
  const report = (error: unknown): void => {
    const isDefect = !(error instanceof WavewrightError) || error.code === 'INTERNAL';
    if (isDefect) tally.findings.push(`seed ${doing}: ${error instanceof Error ? error.stack : error}`);
    else count(tally, `reported ${error.code}`);
  };
  await using process = new DeviceProcess({
    linux: await LinuxCalls.load(),
    openDevice: (i) => devices.open(i),
    report,
  });
  await process.start();
  const witness = new Witness(process.name, devices);
  await witness.begin();
  for (doing = seed; doing < seed + iterations; doing++) {
    const window = FIRST_WINDOW + 1 + (doing % 100);
    const client = new Client(process.name);
    try {
      await new Attack(new Random(doing), client, () => devices.memories.get(window)).run(window);
      count(tally, client.socket.destroyed ? 'ended at once' : 'ended');
      await witness.check();
    } catch (error) {
      // A connection may be closed for what was sent before; a witness that is not served is a finding.
      if (client.socket.destroyed && /connection was closed/.test(String(error))) count(tally, 'was thrown out');
      else tally.findings.push(`seed ${doing}: ${error}`);
    }
    client.socket.destroy();
    devices.memories.delete(window);
    tally.iterations++;
  }
  const { waves, applications } = process.statistics;
  tally.events.set('waves', Number(waves)).set('applications', applications);
  return tally;
}

/** How replies are damaged. */
const DAMAGES = {
  none: (_: Random, reply: Uint8Array) => reply,
  cut: (random: Random, reply: Uint8Array) => reply.slice(0, random.below(reply.length)),
  head: (random: Random, reply: Uint8Array) => changed(random, reply, 0, 8),
  records: (random: Random, reply: Uint8Array) => changed(random, reply, 32, reply.length),
  longer: (_: Random, reply: Uint8Array) => Buffer.concat([reply, new Uint8Array(64)]),
  nothing: () => new Uint8Array(0),
} as const;

function changed(random: Random, bytes: Uint8Array, from: number, to: number): Uint8Array {
  const copy = bytes.slice();
  for (let i = random.between(1, 3); i > 0 && to > from; i--) copy[random.between(from, to - 1)] = random.below(256);
  return copy;
}

interface Reply {
  readonly bytes: Uint8Array;
  readonly ends: boolean;
}

/** The reply to one request, in which the byte that brings a file has been sent already. */
function damagedReply(random: Random, reply: Uint8Array, isHello: boolean, isNow: boolean): Reply {
  if (!isNow) return { bytes: reply, ends: false };
  const kinds = isHello
    ? (['cut', 'head', 'records', 'nothing'] as const)
    : (['cut', 'head', 'longer', 'nothing'] as const);
  const kind = random.pick(kinds);
  return { bytes: DAMAGES[kind](random, reply), ends: kind !== 'records' && kind !== 'longer' };
}

function serve(host: SessionHost, random: Random, when: number): Promise<{ name: string; close(): void }> {
  const name = `wavewright-fuzz-${process.pid}-${random.next()}`;
  const closers: (() => void)[] = [];
  const server = createServer((socket) => {
    // reason: Node has no other way to the descriptor of a socket
    const { fd } = (socket as unknown as { readonly _handle: { readonly fd: number } })._handle;
    const session = new Session(host, (file) => host.linux.sendFile(fd, file));
    const reader = new RequestReader();
    let requests = 0;
    const timer = setInterval(() => session.advance(1), 1);
    closers.push(() => {
      clearInterval(timer);
      socket.destroy();
      session[Symbol.dispose]();
    });
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      for (const request of reader.push(chunk)) {
        const reply = session.answer(request);
        if (!reply) continue;
        const { bytes, ends } = damagedReply(random, reply, request.operation === 'hello', requests++ === when);
        socket.write(bytes);
        if (ends) socket.end();
      }
    });
  });
  const close = (): void => {
    server.close();
    for (const each of closers) each();
  };
  return new Promise((resolve) => server.listen(`\0${name}`, () => resolve({ name, close })));
}

interface End {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

function runVictim(victim: string, code: string, socket: string): Promise<End> {
  const env = { ...process.env, [SOCKET_VARIABLE]: socket, ASAN_OPTIONS: 'detect_leaks=0' };
  const child = spawn(victim, [code], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: HANG_MS,
    killSignal: 'SIGKILL',
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  return new Promise((resolve) => child.once('close', (status, signal) => resolve({ status, signal, stderr })));
}

/** Undefined where a program ended as it should: with what it is for, or with a message. */
function wrongEnd({ status, signal, stderr }: End): string | undefined {
  if (/Sanitizer|runtime error/.test(stderr)) return stderr;
  if (signal === 'SIGKILL') return `it hangs: ${stderr}`;
  if (signal !== null && signal !== 'SIGABRT') return `it ends by ${signal}: ${stderr}`;
  if (status === 0) return undefined;
  return /wavewright: |victim: /.test(stderr) ? undefined : `no message, status ${status}`;
}

/** Device processes whose replies are damaged, one for each run of a program. */
export async function attackLibrary(
  victim: string,
  code: string,
  iterations: number,
  seed: number,
): Promise<SocketTally> {
  const tally = newTally();
  const linux = await LinuxCalls.load();
  for (let doing = seed; doing < seed + iterations; doing++) {
    const random = new Random(doing);
    const devices = new Devices();
    const host = { linux, openDevice: (index: number) => devices.open(index), report: () => {} };
    const { name, close } = await serve(host, random, random.below(14));
    const end = await runVictim(victim, code, name);
    close();
    const wrong = wrongEnd(end);
    if (wrong !== undefined) tally.findings.push(`seed ${doing}: ${wrong}`);
    count(tally, end.status === 0 ? 'went well' : (end.signal ?? `status ${end.status}`));
    tally.iterations++;
  }
  return tally;
}

if (import.meta.main) {
  const [side, ...others] = process.argv.slice(2);
  const run = (): Promise<SocketTally> => {
    if (side === 'device') return attackDevice(Number(others[0] ?? 1000), Number(others[1] ?? 1));
    return attackLibrary(others[0]!, others[1]!, Number(others[2] ?? 1000), Number(others[3] ?? 1));
  };
  const tally = await run();
  console.log(tally.iterations, 'iterations,', tally.findings.length, 'findings', Object.fromEntries(tally.events));
  for (const finding of tally.findings.slice(0, 20)) console.log(finding);
  process.exitCode = tally.findings.length > 0 ? 1 : 0;
}
