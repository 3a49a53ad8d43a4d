/** Compiles the kernels of `test/data/opencl` for GPUs and for this machine, and launches them on this machine. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Argument, bytesOf, type Extent, type Launch, type Results } from './launch.ts';

export const SOURCES = path.resolve(import.meta.dirname, '../../data/opencl');
const CLANG = 'clang-19';
const ALL = ['-w', '-fwrapv', '-fno-strict-aliasing', '-ffp-contract=off', '-fsigned-char', `-I${SOURCES}`];
const DEVICE = ['--target=amdgcn-amd-amdhsa', '-mcode-object-version=5', '-nogpulib', '-nostdlibinc'];
const HOST = ['-x', 'c', '-std=gnu17', '-O1', '-fno-math-errno', '-Xclang', '-ffloat16-excess-precision=none'];
const LANGUAGES = {
  'OpenCL C': ['-x', 'cl', '-cl-std=CL2.0'],
  C: ['-x', 'c', '-std=gnu17', '-ffreestanding'],
} as const;

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
const definitions = ({ processor, waveSize }: Target): string[] => [
  `-DWAVE=${waveSize}`,
  ...(processor.startsWith('gfx11') ? ['-DGFX11'] : []),
];

/** The calls of a source's launches, and a main that reads the buffers, makes the calls and writes the buffers. */
function hostProgram(source: string, launches: readonly Launch[]): string {
  const extent = (sizes: Extent): string => `(uint[3]){${sizes.join(', ')}}`;
  const declaration = (argument: Argument, name: string): string => {
    if (argument.kind === 'value') {
      return `static const uchar ${name}_bytes[] = {${bytesOf(argument.contents).join(', ')}};\nstatic ${argument.type} ${name};`;
    }
    return argument.kind === 'local'
      ? `WORKGROUP_ARRAY(uchar, ${name}, ${argument.sizeBytes});`
      : `static void *${name};`;
  };
  const name = (i: number, k: number): string => `argument_${i}_${k}`;
  const declarations = launches.map(({ kernel, args }, i) => {
    const parameters = args.map((argument, k) => (argument.kind === 'value' ? '' : '(void *)') + name(i, k));
    const call = `static void launch_${i}(void) { ${kernel}(${parameters.join(', ')}); }`;
    return [...args.map((argument, k) => declaration(argument, name(i, k))), call].join('\n');
  });
  const steps = launches.map(({ args, grid, group }, i) => {
    const before = args.map((argument, k) => {
      if (argument.kind === 'value') return `memcpy(&${name(i, k)}, ${name(i, k)}_bytes, sizeof ${name(i, k)});`;
      return argument.kind === 'buffer' ? `${name(i, k)} = host_read(${argument.contents.byteLength});` : '';
    });
    const after = args.map((argument, k) =>
      argument.kind === 'buffer' ? `host_write(${name(i, k)}, ${argument.contents.byteLength});` : '',
    );
    return [...before, `host_launch(launch_${i}, ${extent(grid)}, ${extent(group)});`, ...after].join('\n');
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
    const input = path.join(SOURCES, source);
    const machine = [`-mcpu=${processor}`, waveSize === 64 ? '-mwavefrontsize64' : '-mno-wavefrontsize64'];
    const options = [...DEVICE, ...machine, ...definitions(target), ...ALL, ...LANGUAGES[language], ...flags];
    await execute(CLANG, [...options, `-${level}`, input, '-o', image]);
    return readFile(image);
  }

  /** What the buffers of each launch hold afterwards; `name` is that of the program, which plays the waves of `target`. */
  async onHost(name: string, source: string, launches: readonly Launch[], target: Target): Promise<Results[]> {
    const program = path.join(this.#folder, name);
    writeFileSync(`${program}.c`, hostProgram(source, launches));
    await execute(CLANG, [...definitions(target), ...ALL, ...HOST, `${program}.c`, '-lm', '-o', program]);
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
