/**
 * A baseline program, `bench/baselines/baseline.c`, which runs the launches of the benchmark kernels in its
 * own way.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { WavewrightError } from '../base/errors.ts';
import { contentsBytes, contentsSizeBytes, type Plan, plainArgumentBytes } from './applications/application.ts';
import type { Sample, Subject } from './sampling.ts';

const NEWLINE = 10;
const MAX_LINE_BYTES = 4096;

export class Baseline implements Subject, AsyncDisposable {
  readonly name: string;
  readonly #process: ChildProcess;
  #received: Buffer = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  #problem: string | undefined;
  #buffers: readonly string[] = [];

  /** Starts the program; its name is the name of the baseline. `env`: additions to the environment. */
  constructor(file: string, env: Readonly<Record<string, string>> = {}) {
    this.name = path.basename(file);
    // One thread, so that its CPU time compares with that of one thread here.
    const all = { ...process.env, POCL_MAX_PTHREAD_COUNT: '1', ...env };
    this.#process = spawn(path.resolve(file), [], { env: all, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#process.stdout!.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake?.();
    });
    const end = (why: string) => {
      this.#problem ??= why;
      this.#wake?.();
    };
    this.#process.stdin!.on('error', ({ message }) => end(message));
    this.#process.on('error', ({ message }) => end(message));
    this.#process.on('close', (status) => end(`ended with status ${status}`));
  }

  /**
   * False where the baseline has no such kernels. `source`: their file, from the root of the repository, of
   * which one that has its own code takes the names of kernels.
   */
  async prepare(source: string, { buffers, restored, launches }: Plan): Promise<boolean> {
    const names = Object.keys(buffers);
    this.#buffers = names;
    this.#send(`prepare ${source} ${names.length} ${launches.length}\n`);
    for (const [name, contents] of Object.entries(buffers)) {
      const bytes = contentsBytes(contents);
      if (bytes.length === 0) this.#send(`z ${contentsSizeBytes(contents)}\n`);
      else {
        this.#send(`${restored.includes(name) ? 'r' : 'b'} ${bytes.length}\n`);
        this.#send(bytes);
      }
    }
    for (const { kernel, grid, workgroup, args } of launches) {
      const sizes = [0, 1, 2].flatMap((i) => grid[i] ?? 1).concat([0, 1, 2].map((i) => workgroup[i] ?? 1));
      this.#send(`${kernel} ${grid.length} ${sizes.join(' ')} ${args.length}\n`);
      for (const argument of args) {
        if (typeof argument === 'string') this.#send(`b ${names.indexOf(argument)}\n`);
        else this.#send(numberText(plainArgumentBytes(argument)));
      }
    }
    return (await this.#line()) === 'ok';
  }

  /** Runs the prepared plan once. */
  async run(): Promise<void> {
    this.#send('run\n');
    await this.#line();
  }

  /** The contents of a buffer of the prepared plan. */
  async read(buffer: string): Promise<Uint8Array> {
    this.#send(`read ${this.#buffers.indexOf(buffer)}\n`);
    return this.#take(Number(await this.#line()));
  }

  /** CPU time of the program so far, seconds. */
  async cpuSeconds(): Promise<number> {
    this.#send('cpu\n');
    return Number(await this.#line());
  }

  /** Of the prepared plan; CPU time is that of the process. */
  async sample(milliseconds: number): Promise<Sample> {
    this.#send(`sample ${milliseconds}\n`);
    const [cpuSeconds, wallSeconds] = (await this.#line()).split(' ').map(Number) as [number, number];
    return { cpuSeconds, wallSeconds };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin!.end();
    while (this.#problem === undefined) await this.#more();
  }

  #send(data: string | Uint8Array): void {
    this.#process.stdin!.write(data);
  }

  async #line(): Promise<string> {
    let end = this.#received.indexOf(NEWLINE);
    for (; end < 0; end = this.#received.indexOf(NEWLINE)) {
      if (this.#received.length > MAX_LINE_BYTES) this.#fail('sent no end of line');
      await this.#more();
    }
    return (await this.#take(end + 1)).subarray(0, end).toString('latin1');
  }

  async #take(sizeBytes: number): Promise<Buffer> {
    while (this.#received.length < sizeBytes) await this.#more();
    const taken = this.#received.subarray(0, sizeBytes);
    this.#received = this.#received.subarray(sizeBytes);
    return taken;
  }

  async #more(): Promise<void> {
    if (this.#problem !== undefined) this.#fail(this.#problem);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  #fail(what: string): never {
    throw new WavewrightError('IO', `baseline ${this.name}: ${what}`);
  }
}

const numberText = (bytes: Uint8Array): string =>
  bytes.length === 8
    ? `l ${new DataView(bytes.buffer).getBigUint64(0, true)}\n`
    : `i ${new DataView(bytes.buffer).getUint32(0, true)}\n`;
