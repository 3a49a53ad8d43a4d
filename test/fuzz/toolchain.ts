/** Builds C programs for this machine and, with the examples' device runtime, for GPUs. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { buildTarget, type Level } from './build-targets.ts';
import type { Outcome } from './run-image.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const DEVICE = path.join(ROOT, 'examples/device');
const CLANG = 'clang-19';
const LANGUAGE = ['-std=gnu17', '-w', '-fwrapv', '-fno-strict-aliasing', '-ffp-contract=off'];
const DEVICE_LANGUAGE = ['-ffreestanding', '-nogpulib', '-nostdlibinc', '-isystem', path.join(DEVICE, 'include')];
const RUNTIME = ['crt', 'stdio', 'stdlib', 'string'].map((name) => path.join(DEVICE, `${name}.c`));
/** clang 19 does not end with some programs for NVPTX. */
const COMPILER_TIMEOUT_MS = 300_000;
/** What a shell says of a program that SIGABRT ended. */
const ABORTED = 128 + 6;
const COMPILER_DEFECT = /PLEASE submit a bug report|invalid addrspacecast|Illegal instruction detected/;

const execute = promisify(execFile);

export interface ToolchainOptions {
  /** For programs on both sides. */
  readonly flags?: readonly string[];
  /** For programs and runtime on GPUs. */
  readonly deviceFlags?: readonly string[];
  /** Sources of more runtime for GPUs. */
  readonly library?: readonly string[];
}

export class Toolchain {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'wavewright-programs-'));
  readonly #flags: readonly string[];
  readonly #deviceFlags: readonly string[];
  readonly #runtimeSources: readonly string[];
  /** By processor and level. */
  readonly #runtimes = new Map<string, Promise<string[]>>();
  #hostRuntime: Promise<string> | undefined;

  constructor({ flags = [], deviceFlags = [], library = [] }: ToolchainOptions = {}) {
    this.#flags = [...LANGUAGE, ...flags];
    this.#deviceFlags = [...DEVICE_LANGUAGE, ...deviceFlags];
    this.#runtimeSources = [...RUNTIME, ...library];
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
   * A program for a processor, `gfx90a` or `sm_70`: front end, link-time optimisation and code generation at
   * `level`; `undefined` when the compiler crashes, does not end or cannot select instructions for what it
   * made itself of the program.
   */
  async forDevice(source: string, level: Level, processor: string): Promise<Buffer | undefined> {
    try {
      return await this.buildForDevice(source, level, processor);
    } catch (error) {
      const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
      const isEndless = error instanceof Error && 'killed' in error && error.killed === true;
      if (isEndless || COMPILER_DEFECT.test(text)) return undefined;
      throw error;
    }
  }

  /** As `forDevice`; throws what a compiler that fails says as `stderr`. */
  async buildForDevice(source: string, level: Level, processor: string): Promise<Buffer> {
    const { flags, build } = buildTarget(processor);
    const runtime = await this.#runtime(level, processor);
    const folder = await mkdtemp(this.#path('build-'));
    const image = path.join(folder, 'image');
    const common = [...flags, ...this.#deviceFlags, ...this.#flags, `-${level}`];
    try {
      const limit = { timeout: COMPILER_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
      for (const args of build({ source, runtime, image }, level)) await execute(CLANG, [...common, ...args], limit);
      return await readFile(image);
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  /**
   * Compiles for this machine and runs there; `undefined` if it takes longer than `timeoutMs`. With a grid
   * (`examples/device/host.c`), every work-item of it runs main.
   */
  async onHost(
    source: string,
    { level = 'O1', timeoutMs, grid }: { level?: Level; timeoutMs: number; grid?: string },
  ): Promise<Outcome | undefined> {
    const program = this.#path(`${path.basename(source)}.host`);
    const runtime = grid === undefined ? [] : [await this.#host()];
    await execute(CLANG, [...this.#flags, `-${level}`, source, ...runtime, '-lm', '-o', program]);
    try {
      const env = { GRID: grid ?? '' };
      const { stdout, stderr } = await execute(program, { env, timeout: timeoutMs, killSignal: 'SIGKILL' });
      return { stdout, stderr, status: 0 };
    } catch (error) {
      const { code, signal, killed, stdout, stderr } = error as {
        code: unknown;
        signal: string | null;
        killed: boolean;
        stdout: string;
        stderr: string;
      };
      if (killed) return undefined;
      if (signal === 'SIGABRT') return { stdout, stderr, status: ABORTED };
      if (typeof code !== 'number') throw error;
      return { stdout, stderr, status: code };
    } finally {
      await unlink(program);
    }
  }

  #path(name: string): string {
    return path.join(this.#folder, name);
  }

  #runtime(level: Level, processor: string): Promise<string[]> {
    const key = `${processor}.${level}`;
    const { flags, toIr } = buildTarget(processor);
    const compile = async (source: string): Promise<string> => {
      const object = this.#path(`runtime-${path.basename(source)}.${key}`);
      const common = [...flags, ...this.#deviceFlags, `-I${DEVICE}`, `-${level}`];
      await execute(CLANG, [...common, ...toIr, source, '-o', object]);
      return object;
    };
    const known = this.#runtimes.get(key) ?? Promise.all(this.#runtimeSources.map(compile));
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
