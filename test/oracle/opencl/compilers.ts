/** Compiles the kernels of `test/data` for GPUs and for this machine, and launches them on this machine. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Argument, bytesOf, type Launch, type Results } from './launch.ts';

const DATA = path.resolve(import.meta.dirname, '../../data');
const FOLDERS = ['opencl', 'hip'].map((name) => path.join(DATA, name));
const CLANG = 'clang-19';
const ALL = [
  '-w',
  '-fwrapv',
  '-fno-strict-aliasing',
  '-ffp-contract=off',
  '-fsigned-char',
  ...FOLDERS.map((folder) => `-I${folder}`),
];
const DEVICE = ['-mcode-object-version=5', '-nogpulib', '-nostdlibinc'];
const HOST = ['-O1', '-fno-math-errno', '-Xclang', '-ffloat16-excess-precision=none'];
const GPU = '--target=amdgcn-amd-amdhsa';
const LANGUAGES = {
  'OpenCL C': [GPU, '-x', 'cl', '-cl-std=CL2.0'],
  C: [GPU, '-x', 'c', '-std=gnu17', '-ffreestanding'],
  HIP: ['-x', 'hip', '-std=gnu++17', '-nogpuinc', '--cuda-device-only', '--no-gpu-bundle-output'],
} as const;
const isHip = (source: string): boolean => source.endsWith('.hip');

export type Language = keyof typeof LANGUAGES;
export const LEVELS = ['O0', 'O1', 'O2', 'O3', 'Os'] as const;
export type Level = (typeof LEVELS)[number];

const execute = promisify(execFile);

/** What kernels are compiled for. */
export interface Target {
  readonly processor: string;
  readonly waveSize: 32 | 64;
}

/** What the sources ask about the GPU, on both machines. */
export const definitions = ({ processor, waveSize }: Target): string[] => [
  `-DWAVE=${waveSize}`,
  ...(processor.startsWith('gfx11') ? ['-DGFX11'] : []),
];

/**
 * The calls of a source's launches, and a main that reads the buffers, makes the calls and writes the
 * buffers.
 */
function hostProgram(source: string, launches: readonly Launch[]): string {
  const declaration = (argument: Argument, name: string): string => {
    if (argument.kind === 'value') {
      return `static const uchar ${name}_bytes[] = {${bytesOf(argument.contents).join(', ')}};\nstatic ${argument.type} ${name};`;
    }
    if (argument.kind === 'local') return `WORKGROUP_ARRAY(uchar, ${name}, ${argument.sizeBytes});`;
    return argument.kind === 'buffer' ? `static void *${name};` : '';
  };
  const name = (i: number, k: number): string => `argument_${i}_${k}`;
  const declarations = launches.map(({ kernel, args, grid, group }, i) => {
    const parameters = args.flatMap((argument, k) => {
      if (argument.kind === 'dynamic') return [];
      return argument.kind === 'value' ? name(i, k) : `POINTER(${name(i, k)})`;
    });
    const call = `static void launch_${i}(void) { ${kernel}(${parameters.join(', ')}); }`;
    const extents = `static const uint grid_${i}[3] = {${grid.join(', ')}}, group_${i}[3] = {${group.join(', ')}};`;
    return [...args.map((argument, k) => declaration(argument, name(i, k))), extents, call].join('\n');
  });
  const steps = launches.map(({ args }, i) => {
    const before = args.map((argument, k) => {
      if (argument.kind === 'value') return `memcpy(&${name(i, k)}, ${name(i, k)}_bytes, sizeof ${name(i, k)});`;
      return argument.kind === 'buffer' ? `${name(i, k)} = host_read(${argument.contents.byteLength});` : '';
    });
    const after = args.map((argument, k) =>
      argument.kind === 'buffer' ? `host_write(${name(i, k)}, ${argument.contents.byteLength});` : '',
    );
    return [...before, `host_launch(launch_${i}, grid_${i}, group_${i});`, ...after].join('\n');
  });
  return `#include "${source}"\n${declarations.join('\n')}\nint main(void) {\n${steps.join('\n')}\nreturn 0;\n}\n`;
}

export class Compilers {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'wavewright-opencl-'));

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }

  async forDevice(
    source: string,
    language: Language,
    level: Level,
    target: Target,
    flags: readonly string[],
  ): Promise<Buffer> {
    const { processor, waveSize } = target;
    const image = path.join(this.#folder, `${source}.${language === 'C' ? 'c' : 'cl'}.${level}.${processor}.co`);
    const input = path.join(DATA, isHip(source) ? 'hip' : 'opencl', source);
    const processorOption = isHip(source) ? '--offload-arch' : '-mcpu';
    const machine = [`${processorOption}=${processor}`, waveSize === 64 ? '-mwavefrontsize64' : '-mno-wavefrontsize64'];
    const options = [...DEVICE, ...machine, ...definitions(target), ...ALL, ...LANGUAGES[language], ...flags];
    await execute(CLANG, [...options, `-${level}`, input, '-o', image]);
    return readFile(image);
  }

  /**
   * What the buffers of each launch hold afterwards; `name` is that of the program, which plays the waves of
   * `target`.
   */
  async onHost(name: string, source: string, launches: readonly Launch[], target: Target): Promise<Results[]> {
    const program = path.join(this.#folder, name);
    const language = isHip(source) ? ['-x', 'c++', '-std=gnu++17', '-fno-rtti'] : ['-x', 'c', '-std=gnu17'];
    writeFileSync(`${program}.c`, hostProgram(source, launches));
    await execute(CLANG, [...definitions(target), ...ALL, ...language, ...HOST, `${program}.c`, '-lm', '-o', program]);
    const buffers = launches.map(({ args }) =>
      args.flatMap((argument) => (argument.kind === 'buffer' ? [bytesOf(argument.contents)] : [])),
    );
    const { status, signal, stdout } = spawnSync(program, { input: Buffer.concat(buffers.flat()), maxBuffer: 2 ** 28 });
    if (status !== 0) throw new Error(`${source} on the host: ${signal ?? status}`);
    let offset = 0;
    return buffers.map((contents) =>
      contents.map(({ byteLength }) => {
        offset += byteLength;
        return stdout.subarray(offset - byteLength, offset);
      }),
    );
  }
}
