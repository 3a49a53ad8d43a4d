/**
 * The connection to a queue: BullMQ on a Valkey or Redis server. Both packages are loaded here and nowhere
 * else, when an address is given: the rest of Wavewright does without them.
 */
import type * as bullmq from 'bullmq';
import type { Redis } from 'ioredis';
import { WavewrightError } from '../../base/errors.ts';
import { type QueueAddress, readText } from './queue-url.ts';

/** All keys begin with it, so that a user of the server can be held to them. */
export const PREFIX = 'ww';

export interface ConnectionOptions {
  readonly address: QueueAddress;
  /** How long the server may be away, in milliseconds. */
  readonly timeoutMs: number;
  /** Told what the user should know. */
  readonly onNews: (text: string) => void;
}

/** What the server says when trying again helps nothing. */
const REFUSED = /WRONGPASS|NOAUTH|NOPERM|invalid (?:username-)?password|certificate|self.signed/i;
const LONGEST_PAUSE_MS = 1000;
const FIRST_PAUSE_MS = 50;
const OUT_OF_MEMORY = /\bOOM\b/;
const MIB = 2 ** 20;

export const isOutOfMemory = (error: unknown): boolean => error instanceof Error && OUT_OF_MEMORY.test(error.message);

export class QueueConnection implements AsyncDisposable {
  readonly bullmq: Packages['library'];
  readonly redis: Redis;
  readonly shown: string;
  readonly timeoutMs: number;
  readonly #queues = new Map<string, bullmq.Queue>();
  readonly #lost = new AbortController();
  readonly #onNews: ConnectionOptions['onNews'];
  #lastError = '';
  #timer: NodeJS.Timeout | undefined;

  /**
   * Connects. Throws UNSUPPORTED where the packages are not installed, UNREACHABLE when the server does not
   * answer in time, IO when it refuses.
   */
  static async open(options: ConnectionOptions): Promise<QueueConnection> {
    const connection = new QueueConnection(await loadPackages(), options);
    await connection.#connect();
    return connection;
  }

  private constructor({ library, client }: Packages, options: ConnectionOptions) {
    const { address, timeoutMs, onNews } = options;
    const { host, port, username, password, database, tls, shown } = address;
    [this.bullmq, this.shown, this.timeoutMs, this.#onNews] = [library, shown, timeoutMs, onNews];
    this.redis = new client.Redis({
      ...{ host, port, db: database, lazyConnect: true, maxRetriesPerRequest: null },
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...(tls && { tls: tls.caFile === undefined ? {} : { ca: readText(tls.caFile) } }),
      retryStrategy: (times) => Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * times),
    });
    this.redis.on('error', (error) => this.#onError(error));
    this.redis.on('close', () => this.#onClose());
    this.redis.on('ready', () => this.#onReady());
  }

  /** Aborted, with a `WavewrightError`, when the server was away for too long or refuses. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** What a call to the server gives, unless the server stays away. */
  async ask<T>(call: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const onLost = () => reject(this.lost.reason);
    if (this.lost.aborted) onLost();
    this.lost.addEventListener('abort', onLost);
    try {
      return await Promise.race([call, promise]);
    } catch (error) {
      throw this.#explained(error);
    } finally {
      this.lost.removeEventListener('abort', onLost);
    }
  }

  /** The queue of a campaign. */
  queue(campaign: string): bullmq.Queue {
    const known = this.#queues.get(campaign);
    if (known) return known;
    const queue = new this.bullmq.Queue(queueName(campaign), { connection: this.redis, prefix: PREFIX });
    // Errors of the connection are those that `redis` tells, too; those of calls are thrown by these.
    queue.on('error', () => undefined);
    this.#queues.set(campaign, queue);
    return queue;
  }

  /** Warns of a server that may lose what it was given. */
  async checkServer(): Promise<void> {
    const info = await this.ask(this.redis.info());
    const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
    if (value('aof_enabled') === '0') {
      this.#onNews('the queue has no append-only file: when its server ends, all is submitted again (appendonly yes)');
    }
    const policy = value('maxmemory_policy');
    if (policy !== undefined && policy !== 'noeviction') {
      this.#onNews(`the queue drops keys when memory is short (${policy}): set maxmemory-policy noeviction`);
    }
  }

  /** What memory the server uses and may use, in words. */
  async memoryText(): Promise<string> {
    const info = await this.redis.info('memory');
    const mib = (name: string) => Math.round(Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0) / MIB);
    return `${mib('used_memory')} MiB of ${mib('maxmemory')} MiB`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    this.#lost.abort(new WavewrightError('UNREACHABLE', `${this.shown} is closed`));
    this.redis.disconnect();
  }

  async #connect(): Promise<void> {
    // It fails at the first try, but goes on trying.
    const ready = new Promise<void>((resolve) => this.redis.once('ready', resolve));
    this.redis.connect().catch(() => undefined);
    this.#onClose();
    await this.ask(ready);
    await this.ask(this.redis.ping());
  }

  #onError(error: Error): void {
    this.#lastError = 'code' in error ? String(error.code) : error.message;
    if (REFUSED.test(error.message)) this.#lost.abort(this.#explained(error));
  }

  #onClose(): void {
    this.#timer ??= setTimeout(() => {
      const why = this.#lastError === '' ? '' : ` (${this.#lastError})`;
      const what = `the queue at ${this.shown} could not be reached for ${this.timeoutMs / 1000} s${why}`;
      this.#lost.abort(new WavewrightError('UNREACHABLE', what, { hint: '--queue-timeout says how long it is tried' }));
    }, this.timeoutMs);
  }

  #onReady(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #explained(error: unknown): unknown {
    if (error instanceof WavewrightError || !(error instanceof Error) || !REFUSED.test(error.message)) return error;
    return new WavewrightError('IO', `the queue at ${this.shown} refuses: ${error.message}`, {
      hint: 'docs/fleet.md says which rights workers and coordinators need',
      cause: error,
    });
  }
}

export const queueName = (campaign: string): string => `${PREFIX}-${campaign}`;

interface Packages {
  readonly library: Pick<typeof bullmq, 'Queue' | 'Worker' | 'WaitingError' | 'UnrecoverableError'>;
  readonly client: { readonly Redis: typeof Redis };
}

async function loadPackages(): Promise<Packages> {
  try {
    const [library, client] = await Promise.all([import('bullmq'), import('ioredis')]);
    return { library, client };
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND')) throw cause;
    throw new WavewrightError('UNSUPPORTED', 'queues need two packages that are not installed', {
      hint: 'npm install bullmq@6 ioredis@6',
      cause,
    });
  }
}
