/**
 * Damaged files through every command that takes files, in one process:
 * `node test/fuzz/commands.ts [SECONDS] [FIRST-SEED] [PART]`, with PART of a seed's command line to repeat.
 * No input ends in INTERNAL, in another error than a WavewrightError, in more CPU time than the time limit
 * and a few seconds, or in more memory than it was given and what the process has anyway.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { mutate } from './mutations.ts';
import { Random } from './random.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const MAX_FILE_BYTES = 200_000;
const MEMORY_BYTES = 2 ** 28;
const MAX_CPU_MS = 6000;
const MAX_RESIDENT_BYTES = 2 ** 31;
const INTERNAL = 70;
const LIMITS = ['--timeout=1', `--memory=${MEMORY_BYTES}`];

/** Command lines for a damaged code object, `other` one that is whole. */
const FOR_CODE = (file: string, other: string): readonly (readonly string[])[] => [
  ['readobj', file],
  ['readobj', '--format=json', file],
  ['readobj', '--link', file, other],
  ['objdump', '-d', file],
  ['objdump', '-D', '-s', '-t', '-r', '-h', file],
  ['info', file],
  ['dispatch', file, '--grid=128', '--workgroup=64', '--arg=zero:4096', ...LIMITS],
  ['dispatch', file, other, '--grid=128', '--workgroup=64', '--arg=zero:4096', '--arg=zero:64', ...LIMITS],
  [
    'dispatch',
    file,
    '--grid=64',
    '--workgroup=64',
    '--format=json',
    ...LIMITS,
    ...Array(3).fill('--arg=zero:4096'),
    '--arg=i32:64',
  ],
  ['run', '--inspect', file],
  ['run', '--sandbox', ...LIMITS, '--max-output=100000', file, 'fuzz'],
];
const FOR_SOURCE = (file: string, output: string): readonly (readonly string[])[] =>
  ['gfx90a', 'gfx1100', 'gfx1200'].map((mcpu) => ['asm', file, '-o', output, `--mcpu=${mcpu}`]);

function filesBelow(folder: string, ends: RegExp): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(ROOT, folder, name))
    .filter((file) => ends.test(file) && statSync(file).size <= MAX_FILE_BYTES)
    .toSorted();
}
const CODE = [...filesBelow('examples', /\.co$/), ...filesBelow('test/data', /\.(?:co|o|bundle|hipfb)$/)];
const SOURCES = filesBelow('examples', /\.s$/);

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const [seconds = '10', first = '1', part = ''] = process.argv.slice(2);
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-commands-'));
const endMs = performance.now() + Number(seconds) * 1000;
const statuses = new Map<number, number>();
let [runs, findings] = [0, 0];
try {
  for (let seed = Number(first); performance.now() < endMs; seed++) {
    const random = new Random(seed);
    const isSource = random.chance(10);
    const file = path.join(folder, isSource ? 'damaged.s' : 'damaged.co');
    writeFileSync(file, mutate(readFileSync(random.pick(isSource ? SOURCES : CODE)), random));
    const argv = random.pick(
      isSource ? FOR_SOURCE(file, path.join(folder, 'out.o')) : FOR_CODE(file, random.pick(CODE)),
    );
    if (!argv.join(' ').includes(part)) continue;
    let stderr = '';
    const startMs = cpuMs();
    const report = (what: string): void => {
      findings++;
      console.error(`seed ${seed}: ${what}: ${argv.join(' ').replaceAll(folder, '')}\n${stderr.slice(0, 2000)}`);
    };
    try {
      const context = {
        stdout: () => {},
        stderr: (data: Uint8Array | string) => {
          stderr += String(data);
        },
        env: { WAVEWRIGHT_DEBUG: '1' },
      };
      const status = await runCommandLine(COMMANDS, argv, context);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === INTERNAL && /\[INTERNAL\]/.test(stderr)) report('INTERNAL');
    } catch (error) {
      report(`threw ${error instanceof Error ? error.stack : String(error)}`);
    }
    if (cpuMs() - startMs > MAX_CPU_MS) report(`took ${Math.round(cpuMs() - startMs)} ms of CPU`);
    const residentBytes = process.memoryUsage.rss();
    if (residentBytes > MAX_RESIDENT_BYTES) report(`the process has ${residentBytes} bytes`);
    runs++;
  }
} finally {
  rmSync(folder, { recursive: true });
}
const counts = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
console.log(`${runs} commands from seed ${first}; statuses ${counts.join(', ')}; ${findings} findings`);
process.exitCode = findings > 0 ? 1 : 0;
