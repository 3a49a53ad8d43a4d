/**
 * Everything that holds for one instruction, in seconds: its tests, random states on all executors, recorded
 * states, LLVM's text, coverage.
 *
 *   npm run check:instruction -- NAME
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { encodingsOf } from '../src/isa/amdgpu/encoding/encodings.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { exactnessOf } from '../src/isa/amdgpu/report/coverage.ts';
import { allRows } from '../src/isa/amdgpu/rows/index.ts';
import { namesOf } from '../test/chosen-instruction.ts';
import { encodingSamples } from '../test/oracle/encoding-samples.ts';
import { compareWithLlvm, isShown } from '../test/oracle/llvm-text.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const PROCESSORS = ['gfx900', 'gfx908', 'gfx90a', 'gfx942', 'gfx1030', 'gfx1100', 'gfx1150', 'gfx1200'];
const SAMPLES = 200;

interface Finding {
  readonly verdict: 'ok' | 'MISSING' | 'FAILS';
  readonly text: string;
}
const good = (text: string): Finding => ({ verdict: 'ok', text });
const missing = (text: string): Finding => ({ verdict: 'MISSING', text });
const failing = (text: string): Finding => ({ verdict: 'FAILS', text });

const [name = ''] = process.argv.slice(2);
const rows = allRows().filter((row) => namesOf(row).has(name));
if (rows.length === 0) {
  process.stderr.write(`check-instruction: there is no row '${name}'; usage: npm run check:instruction -- NAME\n`);
  process.exit(2);
}
const names = [...new Set(rows.flatMap((row) => [...namesOf(row)]))];
const isExecutable = rows.some(({ semantics }) => semantics);
const processors = PROCESSORS.filter((processor) =>
  rows.some((row) => encodingsOf(row, targetFor(processor)).length > 0),
);

/** Test files, of which those that go through all rows look at this one alone. */
function runTests(files: readonly string[]): Finding {
  const env = { ...process.env, WAVEWRIGHT_INSTRUCTION: name };
  const { status, stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=spec', ...files], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  });
  const [, passed] = /^ℹ pass (\d+)/m.exec(stdout) ?? [];
  if (status === 0) return good(`${passed} tests`);
  return failing(stdout.slice(stdout.indexOf('✖ failing tests:')).trimEnd());
}

/** Files that say the name, or the one that is called as the format. */
function unitTests(): Finding {
  const files = globSync('src/isa/amdgpu/**/*.test.ts', { cwd: ROOT });
  const word = new RegExp(`\\b(?:${names.join('|')})(?:_e32|_e64)?\\b`);
  const naming = files.filter((file) => word.test(readFileSync(path.join(ROOT, file), 'utf8')));
  const formats = new Set(rows.map(({ format }) => format.toLowerCase()));
  const beside = files.filter((file) => formats.has(path.basename(file).replace(/(-.*)?\.test\.ts$/, '')));
  if (naming.length > 0) {
    const { verdict, text } = runTests(naming);
    return { verdict, text: `${text} in ${naming.map((file) => path.basename(file)).join(', ')}` };
  }
  return missing(`no test says '${name}'; tests of the format: ${beside.join(', ') || 'none'}`);
}

function llvmTexts(): Finding {
  if (spawnSync('llvm-mc-19', ['--version']).status !== 0) return missing('llvm-mc-19 is not installed');
  const differences: string[] = [];
  let accepted = 0;
  for (const processor of processors) {
    const waveSize = targetFor(processor).waveSizes[0]!;
    const samples = encodingSamples(SAMPLES, 1, processor, rows).map(({ words }) => words);
    const result = compareWithLlvm({ processor, waveSize }, samples, isShown);
    accepted += result.accepted;
    differences.push(...result.differences.map((text) => `${processor}: ${text}`));
  }
  if (differences.length > 0) return failing(differences.slice(0, 10).join('\n'));
  return accepted > 0
    ? good(`${accepted} encodings as LLVM prints them`)
    : missing('LLVM accepts none of the encodings');
}

function meaning(): Finding {
  const kinds = new Set(rows.map(exactnessOf));
  return kinds.has('missing')
    ? missing('a row has no meaning: it stops the program by name')
    : good([...kinds].join(', '));
}

const whenExecutable = (check: () => Finding): Finding => (isExecutable ? check() : missing('nothing to run'));
const CHECKS: readonly (readonly [what: string, check: () => Finding])[] = [
  ['meaning', meaning],
  ['unit tests', unitTests],
  ['lockstep', () => whenExecutable(() => runTests(['test/lockstep/instructions.test.ts']))],
  ['recorded states', () => whenExecutable(() => runTests(['test/semantics.test.ts']))],
  ['llvm-mc', llvmTexts],
  ['coverage page', () => runTests(['test/isa-coverage.test.ts'])],
];

process.stdout.write(`${names.join(', ')}: ${[...new Set(rows.map(({ format }) => format))].join(', ')}\n`);
process.stdout.write(`on ${processors.join(', ') || 'no target'}\n\n`);
for (const [what, check] of CHECKS) {
  const { verdict, text } = check();
  process.stdout.write(`${verdict.padEnd(7)} ${what.padEnd(16)} ${text.replaceAll('\n', '\n    ')}\n`);
  if (verdict !== 'ok') process.exitCode = 1;
}
