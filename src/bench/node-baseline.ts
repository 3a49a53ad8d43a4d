/**
 * A baseline program, `bench/baselines/baseline.c`, which runs the launches of the benchmark kernels in its
 * own way.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { WavewrightError } from '../base/errors.ts';
import type { BenchmarkLaunch } from './kernels/kernel-benchmark.ts';
import type { Sample, Subject } from './sampling.ts';

const NEWLINE = 10;
const MAX_LINE_BYTES = 4096;

export class Baseline implements Subject, AsyncDisposable {
  readonly name: string;
  readonly #process: ChildProcess;
  #received: Buffer = Buffer.alloc(0);
  #wake: (() => void) | undefined;
  #problem: string | undefined;

  /** Starts the program; its name is the name of the baseline. */
  constructor(file: string) {
    this.name = path.basename(file);
    // One thread, so that its CPU time compares with that of one thread here.
    const env = { ...process.env, POCL_MAX_PTHREAD_COUNT: '1' };
    this.#process = spawn(path.resolve(file), [], { env, stdio: ['pipe', 'pipe', 'inherit'] });
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

  /** False where the baseline has no such kernel. */
  async prepare(kernel: string, { grid, workgroup, args }: BenchmarkLaunch): Promise<boolean> {
    const sizes = [0, 1, 2].flatMap((i) => grid[i] ?? 1).concat([0, 1, 2].map((i) => workgroup[i] ?? 1));
    this.#send(`prepare ${kernel} ${grid.length} ${sizes.join(' ')} ${args.length}\n`);
    for (const argument of args) {
      if (typeof argument === 'number') this.#send(`i ${argument}\n`);
      else if ('sizeBytes' in argument) this.#send(`z ${argument.sizeBytes}\n`);
      else {
        this.#send(`b ${argument.byteLength}\n`);
        this.#send(new Uint8Array(argument.buffer, argument.byteOffset, argument.byteLength));
      }
    }
    return (await this.#line()) === 'ok';
  }

  /** Runs the prepared kernel once; the contents of a buffer argument afterwards. */
  async run(argument: number): Promise<Uint8Array> {
    this.#send('run\n');
    await this.#line();
    this.#send(`read ${argument}\n`);
    return this.#take(Number(await this.#line()));
  }

  /** Of the prepared kernel; CPU time is that of the process. */
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
