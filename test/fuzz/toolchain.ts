/** Builds C programs for this machine and, with the examples' device runtime, for GPUs. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Outcome } from './run-image.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const DEVICE = path.join(ROOT, 'examples/device');
const CLANG = 'clang-19';
const LANGUAGE = ['-std=gnu17', '-w', '-fwrapv', '-fno-strict-aliasing', '-ffp-contract=off'];
const TARGET = ['--target=amdgcn-amd-amdhsa', '-mcode-object-version=5', '-flto', '-ffreestanding'];
const TARGET_HEADERS = ['-nogpulib', '-nostdlibinc', '-isystem', path.join(DEVICE, 'include')];
const RUNTIME = ['crt', 'stdio', 'stdlib', 'string'];

export type Level = 'O0' | 'O1' | 'O2' | 'O3' | 'Os';
const COMPILER_DEFECT = /PLEASE submit a bug report|invalid addrspacecast|Illegal instruction detected/;

const execute = promisify(execFile);

export class Toolchain {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'wavewright-programs-'));
  readonly #flags: readonly string[];
  readonly #deviceFlags: readonly string[];
  /** By processor and level. */
  readonly #runtimes = new Map<string, Promise<string[]>>();
  #hostRuntime: Promise<string> | undefined;

  /** `flags` are for the programs on both sides. */
  constructor(flags: readonly string[], deviceFlags: readonly string[] = []) {
    this.#flags = [...LANGUAGE, ...flags];
    this.#deviceFlags = [...TARGET, ...TARGET_HEADERS, ...deviceFlags];
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }

  /** A source file with this text. */
  source(name: string, text: string): string {
    const file = this.#path(`${name}.c`);
    writeFileSync(file, text);
    return file;
  }

  /**
   * A program for a processor: front end, link-time optimisation and code generation at `level`; `undefined`
   * when the compiler crashes or cannot select instructions for what it made itself of the program.
   */
  async forDevice(source: string, level: Level, processor: string): Promise<Buffer | undefined> {
    try {
      return await this.#buildForDevice(source, level, `-mcpu=${processor}`);
    } catch (error) {
      const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
      if (COMPILER_DEFECT.test(text)) return undefined;
      throw error;
    }
  }

  async #buildForDevice(source: string, level: Level, cpu: string): Promise<Buffer> {
    const runtime = await this.#runtime(level, cpu);
    const object = `${source}.${level}.o`;
    const image = `${source}.${level}.co`;
    await execute(CLANG, [...this.#deviceFlags, cpu, ...this.#flags, `-${level}`, '-c', source, '-o', object]);
    const linkLevel = level === 'Os' ? 'O2' : level;
    const link = [`-Wl,--lto-${linkLevel}`, '-Wl,-mllvm,-amdgpu-lower-global-ctor-dtor=0'];
    await execute(CLANG, [...TARGET, cpu, `-${level}`, object, ...runtime, ...link, '-o', image]);
    const bytes = await readFile(image);
    await Promise.all([unlink(object), unlink(image)]);
    return bytes;
  }

  /**
   * Compiles for this machine and runs there; `undefined` if it takes longer than `timeoutMs`. With a grid
   * (`examples/device/host.c`), every work-item of it runs main.
   */
  async onHost(source: string, options: { timeoutMs: number; grid?: string }): Promise<Outcome | undefined> {
    const program = `${source}.host`;
    const runtime = options.grid === undefined ? [] : [await this.#host()];
    await execute(CLANG, [...this.#flags, '-O1', source, ...runtime, '-lm', '-o', program]);
    try {
      const env = { GRID: options.grid ?? '' };
      const { stdout, stderr } = await execute(program, { env, timeout: options.timeoutMs, killSignal: 'SIGKILL' });
      return { stdout, stderr, status: 0 };
    } catch (error) {
      const { code, killed, stdout, stderr } = error as {
        code: unknown;
        killed: boolean;
        stdout: string;
        stderr: string;
      };
      if (killed) return undefined;
      if (typeof code !== 'number') throw error;
      return { stdout, stderr, status: code };
    } finally {
      await unlink(program);
    }
  }

  #path(name: string): string {
    return path.join(this.#folder, name);
  }

  #runtime(level: Level, cpu: string): Promise<string[]> {
    const key = `${cpu}.${level}`;
    const compile = async (name: string): Promise<string> => {
      const object = this.#path(`runtime-${name}${key}.o`);
      const source = path.join(DEVICE, `${name}.c`);
      await execute(CLANG, [...TARGET, cpu, ...TARGET_HEADERS, `-I${DEVICE}`, `-${level}`, '-c', source, '-o', object]);
      return object;
    };
    const known = this.#runtimes.get(key) ?? Promise.all(RUNTIME.map(compile));
    this.#runtimes.set(key, known);
    return known;
  }

  #host(): Promise<string> {
    const compile = async (): Promise<string> => {
      const object = this.#path('host.o');
      await execute(CLANG, ['-O1', `-I${DEVICE}`, '-c', path.join(DEVICE, 'host.c'), '-o', object]);
      return object;
    };
    this.#hostRuntime ??= compile();
    return this.#hostRuntime;
  }
}
