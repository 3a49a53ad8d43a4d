/**
 * Every run of `examples/expected.json`: in this process on all executors, a few through the command line.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import expected from '../examples/expected.json' with { type: 'json' };
import type { ExecutorName } from '../src/emulator/emulator.ts';
import {
  type CodeItem,
  createEmulatedDevice,
  type EditStep,
  instrumentCodeObject,
  MemoryFileSystem,
  type OpenMode,
  WavewrightError,
} from '../src/index.ts';
import { Output, runImage } from './fuzz/run-image.ts';

const ROOT = path.resolve(import.meta.dirname, '..');

type Case = Omit<(typeof expected)[number], 'filesWritten' | 'stderr'> & {
  readonly stderr?: string;
  readonly filesWritten: Readonly<Record<string, string | undefined>>;
};
interface Result {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
  readonly filesWritten: Readonly<Record<string, string>>;
  readonly error?: WavewrightError;
}

const CASES: readonly Case[] = expected;
assert.ok(CASES.length >= 30, 'the table is not cut off');

const image = (name: string): Uint8Array => readFileSync(path.join(ROOT, name));
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The value of a loader flag given as `--name N` or `--name=N`. */
function flag(flags: readonly string[], ...names: string[]): number | undefined {
  const words = flags.flatMap((word) => word.split('='));
  const at = words.findIndex((word) => names.includes(word));
  return at < 0 ? undefined : Number(words[at + 1]);
}

const extent = (flags: readonly string[], what: string): [number, number, number] => [
  flag(flags, what, `${what}-x`) ?? 1,
  flag(flags, `${what}-y`) ?? 1,
  flag(flags, `${what}-z`) ?? 1,
];

/** Holds the examples' input files, and remembers which paths were opened for writing. */
class ExampleFiles extends MemoryFileSystem {
  readonly written = new Set<string>();

  constructor(args: readonly string[]) {
    super();
    for (const arg of args) {
      if (arg.startsWith('examples/')) this.set(arg, image(arg));
      if (arg === '/dev/null') this.set(arg, new Uint8Array());
    }
  }

  override open(name: string, mode: OpenMode) {
    if (mode.write) this.written.add(name);
    return super.open(name, mode);
  }
}

/** So low that these short runs are mostly compiled. */
const COMPILE_THRESHOLD = 20;

async function runHere(
  test: Case,
  executor: ExecutorName,
  change: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes,
): Promise<Result> {
  const { args, loaderFlags, stdin } = test;
  const fileSystem = new ExampleFiles(args);
  const processor = /\.(gfx\w+)\.co$/.exec(test.image)![1]!;
  const device = createEmulatedDevice({ processor, executor, compileThreshold: COMPILE_THRESHOLD });
  const timeoutSeconds = flag(loaderFlags, '--timeout');
  const output = new Output();
  let result: Pick<Result, 'status' | 'error'>;
  try {
    result = await runImage(
      change(image(test.image)),
      {
        device,
        args,
        filesystem: fileSystem,
        blocks: extent(loaderFlags, '--blocks'),
        threads: extent(loaderFlags, '--threads'),
        env: test.env ?? {},
        ...(stdin !== undefined && { stdin }),
        ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
      },
      output,
    );
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    result = { status: error.exitStatus, error };
  } finally {
    device.close();
  }
  const files = [...fileSystem.written].map((name) => [name.replace('$OUT/', ''), sha256(fileSystem.get(name)!)]);
  return { ...result, ...output.text(), filesWritten: Object.fromEntries(files) };
}

/**
 * All code stands elsewhere, and elsewhere again, in short runs with an instruction wherever one can stand.
 */
function rewritten(bytes: Uint8Array, isFilled: boolean): Uint8Array {
  const once = instrumentCodeObject(bytes);
  assert.deepEqual(once.kept, []);
  assert.deepEqual(once.pinned, []);
  const S_NOP = 0xbf80_0000;
  const added: CodeItem[] = [{ kind: 'instruction', words: [S_NOP] }];
  const edit: EditStep = () => ({ before: added, after: added, taken: added });
  return instrumentCodeObject(once.bytes, isFilled ? { edit } : {}).bytes;
}

const sorted = (text: string): string => text.split('\n').sort().join('\n');

function check({ outputOrder, stdout, stderr, status, filesWritten }: Case, result: Result): void {
  const order = outputOrder === 'lines' ? sorted : (text: string) => text;
  assert.equal(order(result.stdout), order(stdout));
  if (stderr !== undefined) assert.equal(order(result.stderr), order(stderr));
  if (result.error !== undefined) assert.equal(result.status, status, result.error.message);
  assert.equal(result.status, status);
  assert.deepEqual(result.filesWritten, { ...filesWritten });
}

/** Too long for an executor that is made to be obvious. */
const isLong = ({ name }: Case): boolean =>
  /^(sieve|quicksort(, descending)?|sha256(, one.*)?|mandelbrot.*|reduction, [234].*|infinite-loop|.*3 blocks of 23)(, gfx\w+)?$/.test(
    name,
  );

for (const example of CASES) {
  test(`${example.name}`, async () => check(example, await runHere(example, 'handlers')));
  test(`${example.name}, compiled`, async () => check(example, await runHere(example, 'jit')));
  const change = (bytes: Uint8Array): Uint8Array => rewritten(bytes, !isLong(example));
  test(`${example.name}, with new code`, async () => check(example, await runHere(example, 'jit', change)));
  if (isLong(example)) continue;
  test(`${example.name}, on the reference executor`, async () => check(example, await runHere(example, 'reference')));
}

const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-examples-'));
after(() => rmSync(scratch, { recursive: true }));

/** The runs of which the command line has a part: arguments, files, standard input, grids, status. */
const THROUGH_COMMAND_LINE = [
  'arguments',
  'abort',
  'line-numbers',
  'sha256, one file per lane',
  'mandelbrot, 4 x 3 blocks of 16 x 8',
  'hello, 2 x 2 blocks of 3 x 2 lanes',
  'exit-early, 64 lanes',
];

for (const name of THROUGH_COMMAND_LINE) {
  test(`${name}, through the command line`, () => {
    const example = CASES.find((each) => each.name === name)!;
    const args = example.args.map((arg) => arg.replace('$OUT', scratch));
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      // Some of the program's words look like options of ours, and are meant.
      ['bin/wavewright.js', 'run', ...example.loaderFlags, '--', example.image, ...args],
      { cwd: ROOT, env: example.env ?? {}, input: example.stdin ?? '', encoding: 'utf8', timeout: 600_000 },
    );
    const files = readdirSync(scratch).map((file) => [file, sha256(readFileSync(path.join(scratch, file)))]);
    for (const [file = ''] of files) rmSync(path.join(scratch, file));
    assert.notEqual(status, null, 'ended by itself');
    check(example, { stdout, stderr, status: status!, filesWritten: Object.fromEntries(files) });
  });
}
