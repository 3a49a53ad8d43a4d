/**
 * Builds the code objects under `examples/` and the results that their runs must have.
 *
 *   node tools/build-examples.ts --check      rebuild all, compare with the files; 1 on a difference
 *   node tools/build-examples.ts --write      rebuild everything, update the files and MANIFEST.json
 *   node tools/build-examples.ts --expected   run the programs built for the host and write expected.json
 *
 * The builds need clang-19 and lld-19, the host programs `cc`.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { WavewrightError } from '../src/base/errors.ts';
import { CASES, type Case, IMAGES, type Image } from './examples-table.ts';

const ROOT = join(import.meta.dirname, '..');
const MANIFEST = 'examples/MANIFEST.json';
const EXPECTED = 'examples/expected.json';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const read = (path: string): Buffer => readFileSync(join(ROOT, path));

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit status, or 128 plus the signal's number as a shell reports it. */
  readonly status: number;
}

/** Runs a command at the repository root, with nothing of the caller's environment but the search path. */
function execute(command: readonly string[], env: Readonly<Record<string, string>> = {}, stdin = ''): Outcome {
  const [program = '', ...args] = command;
  const done = spawnSync(program, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], ...env },
    input: stdin,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (done.error !== undefined) {
    throw new WavewrightError('IO', `cannot run ${program}: ${done.error.message}`, { cause: done.error });
  }
  const status = done.signal === 'SIGABRT' ? 128 + 6 : done.status;
  if (status === null) throw new WavewrightError('IO', `${program} was ended by ${done.signal}`);
  return { stdout: done.stdout, stderr: done.stderr, status };
}

/** JSON text as the repository's formatter wants it. */
function toJson(value: unknown): string {
  const formatter = [join(ROOT, 'node_modules/.bin/biome'), 'format', `--stdin-file-path=${MANIFEST}`];
  const { stdout, stderr, status } = execute(formatter, {}, JSON.stringify(value, null, 2));
  if (status !== 0) throw new WavewrightError('IO', `the formatter failed: ${stderr}`);
  return stdout;
}

function compile(command: readonly string[]): void {
  const { stderr, status } = execute(command);
  if (stderr !== '') process.stderr.write(stderr);
  if (status !== 0) throw new WavewrightError('IO', `exit status ${status} from: ${command.join(' ')}`);
}

function buildImage(image: Image, folder: string): Buffer {
  const path = join(folder, basename(image.output));
  compile(image.command.map((word) => (word === image.output ? path : word)));
  return readFileSync(path);
}

function manifestOf(built: ReadonlyMap<string, Buffer>): string {
  const filesOf = ({ sources, headers }: Image): string[] => [...sources, ...headers];
  const sources = [...new Set(IMAGES.flatMap(filesOf))].sort();
  return toJson({
    schema: 'wavewright-examples',
    version: 1,
    tool: execute(['clang-19', '--version']).stdout.split('\n')[0],
    images: IMAGES.map((image) => ({
      output: image.output,
      sha256: sha256(built.get(image.output)!),
      command: image.command.join(' '),
      sources: filesOf(image),
    })),
    sources: Object.fromEntries(sources.map((path) => [path, sha256(read(path))])),
  });
}

function buildAll(folder: string): { built: Map<string, Buffer>; manifest: string } {
  const built = new Map(IMAGES.map((image) => [image.output, buildImage(image, folder)]));
  return { built, manifest: manifestOf(built) };
}

function check(folder: string): string[] {
  const { built, manifest } = buildAll(folder);
  const wanted = new Map<string, Buffer>([...built, [MANIFEST, Buffer.from(manifest)]]);
  return [...wanted].filter(([path, bytes]) => !readIfThere(path)?.equals(bytes)).map(([path]) => path);
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return read(path);
  } catch {
    return undefined;
  }
}

/** The grid that the loader flags ask for, in the form of host.c. */
function gridOf(flags: readonly string[]): string {
  const words = flags.flatMap((flag) => flag.split('='));
  const sizeOf = (...names: string[]): string => {
    const at = words.findIndex((word) => names.includes(word));
    return (at === -1 ? undefined : words[at + 1]) ?? '1';
  };
  return ['--blocks', '--threads']
    .flatMap((what) => [sizeOf(what, `${what}-x`), sizeOf(`${what}-y`), sizeOf(`${what}-z`)])
    .join(' ');
}

function runOnHost(test: Case, folder: string): Outcome & { filesWritten: Record<string, string> } {
  const source = IMAGES.find((image) => image.output === test.image)?.sources[0];
  if (source === undefined) throw new WavewrightError('INTERNAL', `${test.name}: no image ${test.image}`);
  const program = join(folder, 'program');
  const out = join(folder, 'out');
  mkdirSync(out);
  compile([
    'cc',
    '-std=gnu17',
    '-O2',
    '-ffp-contract=off',
    '-Iexamples/device',
    '-o',
    program,
    source,
    'examples/device/host.c',
  ]);
  const args = test.args.map((arg) => arg.replace('$OUT', out));
  const { stdout, stderr, status } = execute(
    [program, ...args],
    { ...test.env, GRID: gridOf(test.loaderFlags) },
    test.stdin,
  );
  const filesWritten = Object.fromEntries(
    readdirSync(out).map((name) => [name, sha256(readFileSync(join(out, name)))]),
  );
  rmSync(out, { recursive: true });
  const withoutPath = (text: string): string => text.replaceAll(out, '$OUT');
  return { stdout: withoutPath(stdout), stderr: withoutPath(stderr), status, filesWritten };
}

function expectedResult(test: Case, folder: string) {
  const { known, ...rest } = test;
  const result = known === undefined ? runOnHost(test, folder) : { ...known, filesWritten: {} };
  return { outputOrder: 'exact', ...rest, ...result };
}

function main(mode: string | undefined): number {
  const folder = mkdtempSync(join(tmpdir(), 'examples-'));
  try {
    if (mode === '--check') {
      const different = check(folder);
      for (const path of different) console.error(`${path}: differs from the rebuilt file`);
      return different.length === 0 ? 0 : 1;
    }
    if (mode === '--write') {
      const { built, manifest } = buildAll(folder);
      for (const [path, bytes] of built) writeFileSync(join(ROOT, path), bytes);
      writeFileSync(join(ROOT, MANIFEST), manifest);
      return 0;
    }
    if (mode === '--expected') {
      writeFileSync(join(ROOT, EXPECTED), toJson(CASES.map((test) => expectedResult(test, folder))));
      return 0;
    }
    console.error('usage: build-examples.ts --check | --write | --expected');
    return 2;
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    console.error(`build-examples: error: ${error.message}`);
    return error.exitStatus;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

process.exitCode = main(process.argv[2]);
