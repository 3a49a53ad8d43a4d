/**
 * What compilers write assembles to what they assemble it to themselves: `clang -S` at all levels, with and without debug information,
 * against LLVM's assembler for the same text and against clang's own object. WAVEWRIGHT_SCALE=full takes 300 files.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { assembleFile } from '../../src/assembler/assemble-file.ts';
import { parseElf } from '../../src/elf/elf.ts';
import { describeObject, type ObjectDescription } from './object-description.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-compiler-output-'));
after(() => rmSync(folder, { recursive: true }));

const isMissing = spawnSync('clang-19', ['--version']).status !== 0;

function execute(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr.slice(0, 500)}`);
}

const AMDHSA = ['--target=amdgcn-amd-amdhsa', '-mcode-object-version=5', '-nogpulib', '-w'];
const C = [
  ...AMDHSA,
  '-std=c17',
  '-ffreestanding',
  '-nostdlibinc',
  '-isystem',
  'examples/device/include',
  '-Iexamples/device',
];
const OPENCL = [...AMDHSA, '-cl-std=CL2.0', '-Xclang', '-finclude-default-header', '-Itest/data/opencl', '-DWAVE=32'];
/** To bitcode: clang would link an object. */
const HIP = [
  ...['-x', 'hip', '--cuda-device-only', '-fgpu-rdc', '--no-gpu-bundle-output', '-nogpuinc', '-nogpulib', '-w'],
  ...['-Itest/data/hip', '-DWAVE=32'],
];

const files = (under: string, extension: string, names: string): string[] =>
  names.split(' ').map((name) => `${under}/${name}.${extension}`);

/** Those that compile for every processor. */
const SOURCES: readonly (readonly [file: string, options: readonly string[]])[] = [
  ...files('test/data/opencl', 'cl', 'algorithms control conversions floats groups integers memory patterns vectors'),
  ...files('examples/kernels', 'cl', 'bitonic gather histogram nbody reduction sha256'),
  ...files('examples/device', 'c', 'crt stdio stdlib string'),
  ...files(
    'examples',
    'c',
    'hello/hello quicksort/quicksort sha256/sha256 sieve/sieve checks/constructors checks/divergence',
  ),
  ...files('test/data/hip', 'hip', 'classes templates'),
].map((file) => [file, { '.c': C, '.cl': OPENCL, '.hip': HIP }[path.extname(file)] ?? []]);

const PROCESSORS = ['gfx90a', 'gfx942', 'gfx1030', 'gfx1100', 'gfx1200'];
const LEVELS = ['-O0', '-O1', '-O2', '-O3', '-Os'];
const DEBUG = [[], ['-g'], ['-g', '-gdwarf-4'], ['-gline-tables-only']];

interface Sample {
  readonly source: string;
  readonly processor: string;
  /** Level and debug information. */
  readonly flavour: readonly string[];
  readonly options: readonly string[];
}

/** `count` samples, in which every value of every choice comes up as often as every other. */
function samples(count: number): Sample[] {
  return Array.from({ length: count }, (_, i) => {
    const [source, options] = SOURCES[(i * 7) % SOURCES.length]!;
    const processor = PROCESSORS[i % PROCESSORS.length]!;
    const level = LEVELS[(i + Math.floor(i / LEVELS.length)) % LEVELS.length]!;
    const debug = DEBUG[(i + Math.floor(i / (4 * LEVELS.length))) % DEBUG.length]!;
    return { source, processor, flavour: [level, ...debug], options };
  });
}

/** Writes assembler text and object of a sample. */
function compile({ source, processor, flavour, options }: Sample, text: string, object: string): void {
  const isHip = options === HIP;
  const bitcode = path.join(folder, 'bitcode.bc');
  if (isHip) execute('clang-19', [...options, `--offload-arch=${processor}`, ...flavour, '-c', source, '-o', bitcode]);
  const input = isHip ? [...AMDHSA, '-x', 'ir', bitcode] : [...options, source];
  for (const output of [text, object]) {
    const how = output === text ? '-S' : '-c';
    execute('clang-19', [`-mcpu=${processor}`, ...flavour, ...input, how, '-o', output]);
  }
}

/**
 * Sections with their sizes, symbols and relocations. The bytes of clang's own object differ in places from what its own assembler makes
 * of its text, and so do its line table (the text does not say where the last function of a section ends, and repeats the working
 * directory before DWARF 5) and an empty section that the text mentions.
 */
function comparable({ header, sections, symbols, relocations }: ObjectDescription): unknown {
  const kept = sections
    .filter(({ name }) => name !== '.AMDGPU.csdata')
    .map(({ name, kind }) => (name === '.debug_line' ? name : `${name} ${kind}`));
  const fields = relocations.map((text) => text.replace(/^(\.rela\.debug_line) \d+/, '$1'));
  return { header, sections: kept.toSorted(), symbols, relocations: fields.toSorted() };
}

const COUNT = process.env['WAVEWRIGHT_SCALE'] === 'full' ? 300 : 10;

test(`${COUNT} files that clang writes become the objects that LLVM makes of them`, { skip: isMissing }, () => {
  const text = path.join(folder, 'text.s');
  const assembled = path.join(folder, 'assembled.o');
  const compiled = path.join(folder, 'compiled.o');
  for (const sample of samples(COUNT)) {
    const { source, processor, flavour } = sample;
    const name = [source, processor, ...flavour].join(' ');
    compile(sample, text, compiled);
    execute('llvm-mc-19', [
      '--triple=amdgcn-amd-amdhsa',
      `--mcpu=${processor}`,
      '--filetype=obj',
      text,
      '-o',
      assembled,
    ]);
    const own = describeObject(parseElf(assembleFile(readFileSync(text, 'utf8'), { file: source })));
    const [theirs, direct] = [assembled, compiled].map((file) => describeObject(parseElf(readFileSync(file))));
    assert.deepEqual(own, theirs, name);
    assert.deepEqual(comparable(own), comparable(direct!), name);
  }
});
