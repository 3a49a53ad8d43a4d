import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import type { Case } from '../../fleet/case.ts';
import { type CaseDefaults, caseObject } from '../../fleet/cases-file.ts';
import { LinePlace } from '../../fleet/json-lines.ts';
import { parseSweep, sweepCases } from '../../fleet/sweep.ts';
import { defineCommand } from '../arguments/command.ts';
import { collectTests } from '../batch/collect.ts';
import type { CaseEntry } from '../batch/plan.ts';
import { runTests } from '../batch/run-tests.ts';
import { defaultsOf, TEST_OPTIONS } from '../batch/test-options.ts';
import { readInput } from '../process/input.ts';

const { globSync } = process.getBuiltinModule('node:fs');

const MAX_SWEEP_BYTES = 2 ** 24;

export const sweep = defineCommand({
  operands: { usage: 'FILE', min: 1, max: 1 },
  options: {
    list: { kind: 'flag', description: 'print the cases as JSON Lines, for `wavewright test -`, and run nothing' },
    ...TEST_OPTIONS,
  },
  formats: { text: 'a line for each case, the end of the output of those that failed', json: 'one object' },
  notes: [
    'FILE: {"images":["tests","build/*.{target}.co"],"targets":["gfx90a","gfx1100"],"seeds":{"from":1,"to":100},"args":["{seed}"],',
    '"options":{"one":["--threads=1"],"many":["--threads=64"]},"tools":["none","instruction-count"],"checks":["none","waits"]}.',
    'Each image runs with each combination; {axis} stands for its value. "inputs" are files for standard input, "vary" has axes of your own,',
    '"skip" leaves out combinations; "run", "args", "env", "stdin", "timeout" and "retries" are those of each case. Images and inputs are relative to FILE.',
  ],
  async run(context, options, [file = '']) {
    const cases = casesOf(file, defaultsOf(options));
    if (options.list) {
      for (const one of cases) context.stdout(`${JSON.stringify(caseObject(one))}\n`);
      return 0;
    }
    return runTests(context, options, entriesOf(cases), file);
  },
});

async function* entriesOf(cases: Iterable<Case>): AsyncGenerator<CaseEntry> {
  for (const one of cases) yield { kind: 'case', case: one };
}

/** The cases of a file; images and inputs lie where it says, relative to it. */
function* casesOf(file: string, defaults: CaseDefaults): Generator<Case> {
  const place = new LinePlace(file);
  const folder = file === '-' ? '.' : path.dirname(file);
  const placed = (each: string) => (path.isAbsolute(each) ? each : path.join(folder, each));
  const known = new Map<string, readonly Case[]>();
  const imagesOf = (pattern: string): readonly Case[] => {
    const found = known.get(pattern) ?? imagesBehind(placed(pattern), file, defaults);
    known.set(pattern, found);
    return found;
  };
  const nameOf = (image: string) => path.relative(folder, image).split(path.sep).join('/');
  for (const one of sweepCases(parseSweep(parsed(file), place), { imagesOf, nameOf }, place)) {
    yield one.stdin === undefined ? one : { ...one, stdin: placed(one.stdin) };
  }
}

function parsed(file: string): unknown {
  const bytes = readInput(file, 'a sweep');
  if (bytes.length > MAX_SWEEP_BYTES) {
    throw new WavewrightError('LIMIT_EXCEEDED', `has ${bytes.length} bytes, more than ${MAX_SWEEP_BYTES}`, { file });
  }
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    const what = `is no JSON (${cause instanceof Error ? cause.message : cause})`;
    throw new WavewrightError('BAD_INPUT', what, { file, cause });
  }
}

/** The programs of a path, or of all paths that a pattern matches, in order. */
function imagesBehind(pattern: string, file: string, defaults: CaseDefaults): Case[] {
  const paths = /[*?[]/.test(pattern) ? globSync(pattern).sort() : [pattern];
  const cases = paths.flatMap((each) => collectTests(each, defaults));
  if (cases.length > 0) return cases;
  throw new WavewrightError('BAD_INPUT', `'${pattern}' names no program`, { file });
}
