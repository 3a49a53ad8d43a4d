/**
 * The process that has the devices: listens for applications, answers them, and lets their devices work. It
 * sleeps when no device has work, until an application wakes it.
 */
import { randomBytes } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { WavewrightError } from '../base/errors.ts';
import type { AdvanceResult } from '../device/device.ts';
import { addStatistics, type DispatchStatistics, NO_STATISTICS } from '../device/statistics.ts';
import type { SharedAllocation } from './attached-memory.ts';
import { RequestReader } from './messages.ts';
import { type CopySums, Session, type SessionHost } from './session.ts';

const SLICE_MS = 5;
/** Applications that ask for something wait so long while others, or their own kernels, have work. */
const TURN_MS = 1;
/** A look at the sockets takes longer than one at doorbells: none is made so long after the last work. */
const LOOK_MS = 0.05;
/** How long it looks for work before it sleeps: launches come in rows. */
const PATIENCE_MS = 0.3;
/** Where all waves wait for the host, it is looked at in turns without a pause for so long. */
const EAGER_MS = 2;
/**
 * Applications may write to doorbells without telling, as kernels do: what is asleep looks by itself now and
 * then, the longer it slept the more seldom.
 */
const NAP_MS = [1, 2, 5, 10, 20] as const;

export interface ProcessStatistics extends DispatchStatistics {
  /** How many applications there were. */
  readonly applications: number;
  readonly copies: CopySums;
}

const addCopies = (a: CopySums, b: CopySums): CopySums => ({ count: a.count + b.count, bytes: a.bytes + b.bytes });

export class DeviceProcess implements AsyncDisposable {
  /** The abstract name of the socket. */
  readonly name = `wavewright-${process.pid}-${randomBytes(8).toString('hex')}`;
  readonly #options: SessionHost;
  readonly #sessions = new Map<Session, Socket>();
  #server: Server | undefined;
  #statistics = NO_STATISTICS;
  #copies: CopySums = { count: 0n, bytes: 0n };
  #applications = 0;
  #isEnding = false;
  #wake: () => void = () => {};
  #isWoken = false;

  constructor(options: SessionHost) {
    this.#options = options;
  }

  /** Listens, and works until it is disposed. Throws IO. */
  async start(): Promise<void> {
    const { createServer } = process.getBuiltinModule('node:net');
    const server = createServer((socket) => this.#accept(socket));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => reject(new WavewrightError('IO', 'cannot listen for applications', { cause })));
      server.listen(`\0${this.name}`, resolve);
    });
    void this.#work();
  }

  /** What kernels of all applications did, and the applications themselves. */
  get statistics(): ProcessStatistics {
    const sessions = [...this.#sessions.keys()];
    const sum = sessions.reduce((so, { statistics }) => addStatistics(so, statistics), this.#statistics);
    const copies = sessions.reduce((so, each) => addCopies(so, each.copies), this.#copies);
    return { ...sum, applications: this.#applications, copies };
  }

  describeWaves(): string[] {
    return [...this.#sessions.keys()].flatMap((session) => session.describeWaves());
  }

  #accept(socket: Socket): void {
    const { linux } = this.#options;
    // reason: Node has no other way to the descriptor of a socket
    const { fd } = (socket as unknown as { readonly _handle: { readonly fd: number } })._handle;
    const peer = linux.peerOf(fd);
    if (peer.userId !== process.getuid?.()) {
      socket.destroy();
      return;
    }
    const host = { ...this.#options, findShared: (handle: Uint8Array) => this.#findShared(handle) };
    const session = new Session(host, (file) => linux.sendFile(fd, file), peer.processId);
    const reader = new RequestReader();
    this.#applications++;
    this.#sessions.set(session, socket);
    socket.on('data', (chunk: Buffer) => {
      this.#wakeUp();
      this.#guard(session, () => {
        for (const request of reader.push(chunk)) {
          const reply = session.answer(request);
          if (reply) socket.write(reply);
        }
      });
    });
    socket.on('error', () => {});
    socket.on('close', () => this.#end(session));
  }

  #findShared(handle: Uint8Array): SharedAllocation | undefined {
    for (const session of this.#sessions.keys()) {
      const shared = session.shared(handle);
      if (shared) return shared;
    }
    return undefined;
  }

  /** What goes wrong with one application is the end of that one. */
  #guard<T>(session: Session, run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      this.#options.report(error);
      this.#end(session);
      return undefined;
    }
  }

  #end(session: Session): void {
    const socket = this.#sessions.get(session);
    if (socket === undefined) return;
    this.#sessions.delete(session);
    socket.destroy();
    try {
      session[Symbol.dispose]();
    } catch (error) {
      this.#options.report(error);
    }
    this.#statistics = addStatistics(this.#statistics, session.statistics);
    this.#copies = addCopies(this.#copies, session.copies);
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /** Until somebody wakes it, or for so long. */
  async #sleep(maxMs: number): Promise<void> {
    if (this.#isWoken) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, maxMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => {};
  }

  async #work(): Promise<void> {
    let activeMs = performance.now();
    let naps = 0;
    while (!this.#isEnding) {
      this.#isWoken = false;
      const result = this.#turn();
      const now = performance.now();
      if (result === 'running') {
        activeMs = now;
        naps = 0;
        await setImmediate();
      } else if (now - activeMs < (result === 'waiting' ? EAGER_MS : PATIENCE_MS)) {
        await setImmediate();
      } else if (await this.#rest(result === 'waiting' ? 1 : NAP_MS[Math.min(naps++, NAP_MS.length - 1)]!)) {
        activeMs = performance.now();
        naps = 0;
      }
    }
  }

  /** Work without a look at the sockets, as long as there is some, or was just now. */
  #turn(): AdvanceResult {
    const begunMs = performance.now();
    let activeMs = Number.NEGATIVE_INFINITY;
    for (;;) {
      const result = this.#advance();
      const now = performance.now();
      if (result === 'running') activeMs = now;
      if (now - begunMs >= TURN_MS) return result;
      if (now - activeMs >= LOOK_MS) return activeMs < begunMs ? result : 'running';
    }
  }

  /** Sleeps, if there is nothing to do even after it said so. Returns whether there was. */
  async #rest(maxMs: number): Promise<boolean> {
    if (this.#sessions.size === 0) {
      await this.#sleep(2 ** 30);
      return true;
    }
    for (const session of this.#sessions.keys()) session.isSleeping = true;
    const hasWork = this.#advance() === 'running';
    if (!hasWork) await this.#sleep(maxMs);
    for (const session of this.#sessions.keys()) session.isSleeping = false;
    return hasWork || this.#isWoken;
  }

  #advance(): AdvanceResult {
    let result: AdvanceResult = 'idle';
    for (const session of this.#sessions.keys()) {
      const own = this.#guard(session, () => session.advance(SLICE_MS));
      if (own === 'running' || (own === 'waiting' && result === 'idle')) result = own;
    }
    return result;
  }

  /** Ends all applications that are left. */
  endAll(): void {
    for (const session of [...this.#sessions.keys()]) this.#end(session);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    this.#server?.close();
    this.endAll();
    this.#wakeUp();
  }
}
