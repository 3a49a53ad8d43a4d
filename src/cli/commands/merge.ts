import path from 'node:path';
import { printable } from '../../base/text.ts';
import { formatCases } from '../../fleet/cases-file.ts';
import { junitParts } from '../../fleet/junit.ts';
import { type MergedReports, mergedLines, mergeReports, type NamedVerdict } from '../../fleet/merge.ts';
import { shardText } from '../../fleet/shard.ts';
import { resultOfVerdict, type TestResult } from '../../fleet/verdict.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { checkOutput, writeOutput, writeOutputParts } from '../process/output-file.ts';
import { formatTestResult, formatTestSummary, TestCounts } from '../text/test-text.ts';

const FINDINGS = 1;
/** Parts, files and cases that messages name. */
const MAX_NAMED = 10;

export const merge = defineCommand({
  operands: { usage: 'REPORT...', min: 1, max: Number.POSITIVE_INFINITY },
  options: {
    junit: { kind: 'text', placeholder: 'FILE', description: 'write the results to FILE as JUnit XML' },
    report: { kind: 'text', placeholder: 'FILE', description: 'write one report of all, sorted by name, to FILE' },
    sqlite: {
      kind: 'text',
      placeholder: 'FILE',
      description: 'write cases and verdicts to FILE as a database of SQLite',
    },
    missing: {
      kind: 'text',
      placeholder: 'FILE',
      description: 'write the cases that have no verdict to FILE, for `wavewright test FILE --report=...`',
    },
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how the results are printed' },
  },
  formats: { text: 'a line for each program that did not pass', json: 'one object' },
  notes: [
    'REPORT: what `wavewright test --report=FILE` wrote, of all parts of one run. What comes out does not depend on their order.',
    'The exit status is 1 when a program did not pass, when one has no verdict, and when two verdicts on one differ.',
  ],
  async run(context, options, operands) {
    const merged = await mergeReports(operands);
    const { whole, missing, verdicts } = merged;
    if (options.missing !== undefined) {
      const text = formatCases(
        missing.map((keyed) => keyed.case),
        whole,
        path.dirname(options.missing),
      );
      writeOutput(options.missing, new TextEncoder().encode(text));
    }
    if (options.report !== undefined) writeOutputParts(options.report, mergedLines(merged));
    if (options.junit !== undefined) {
      const origin = { hostname: 'localhost', timestamp: merged.began };
      writeOutputParts(options.junit, junitParts(resultsOf(verdicts), origin));
    }
    if (options.sqlite !== undefined) await writeDatabase(options.sqlite, merged);
    if (options.format === 'json') context.stdout(`${JSON.stringify(mergedJson(merged), undefined, 2)}\n`);
    else printText(context, merged);
    const problems = problemsOf(merged, options.missing);
    for (const problem of problems) context.stderr(`wavewright: ${printable(problem)}\n`);
    const isGood = problems.length === 0 && verdicts.every(({ verdict }) => verdict.o === 'passed');
    return isGood ? 0 : FINDINGS;
  },
});

async function writeDatabase(file: string, { whole, wavewright, began, cases, verdicts }: MergedReports) {
  checkOutput(file);
  const { writeResultsDatabase } = await import('../../fleet/results-database.ts');
  const header = { ...whole, wavewright, began };
  writeResultsDatabase(file, { header, cases: cases.values(), verdicts: verdicts.map(({ verdict }) => verdict) });
}

function* resultsOf(verdicts: readonly NamedVerdict[]): Generator<TestResult> {
  for (const { name, verdict } of verdicts) yield resultOfVerdict(name, verdict);
}

function summaryOf({ verdicts }: MergedReports) {
  const counts = new TestCounts();
  let durationMs = 0;
  for (const { verdict } of verdicts) {
    counts.add({ outcome: verdict.o, cases: [] });
    durationMs += verdict.ms;
  }
  return counts.summary(durationMs);
}

function printText(context: CommandContext, merged: MergedReports): void {
  for (const { name, verdict } of merged.verdicts) {
    if (verdict.o !== 'passed')
      context.stdout(formatTestResult(resultOfVerdict(name, verdict), context.colour?.stdout));
  }
  context.stdout(formatTestSummary(summaryOf(merged)));
}

function mergedJson(merged: MergedReports) {
  const { whole, verdicts, missing, unknown, absent, unfinished, conflicts } = merged;
  return {
    ...{ schema: 'wavewright.merge', version: 1, digest: whole.digest, total: whole.total },
    summary: summaryOf(merged),
    missing: missing.map(({ key, case: { name } }) => ({ key, name })),
    ...{ unknown, absent: absent.map(shardText), unfinished },
    conflicts: conflicts.map(({ name, verdicts: all }) => ({
      name,
      outcomes: all.map(({ o, s }) => ({ outcome: o, status: s })),
    })),
    tests: verdicts.map(({ name, verdict: { k, o, s, ms, n, tail, cases, log, nolog } }) => ({
      ...{ key: k, name, outcome: o, status: s, durationMs: ms, attempts: n, tail, cases, log, nolog },
    })),
  };
}

/** What keeps the reports from being one whole, a line each. */
function problemsOf(merged: MergedReports, file: string | undefined): string[] {
  const { missing, unknown, absent, unfinished, conflicts, verdicts } = merged;
  const problems: string[] = [];
  const without = missing.length + unknown;
  if (without > 0) problems.push(`${without} of ${without + verdicts.length} programs have no verdict`);
  if (without > 0 && absent.length > 0)
    problems.push(`parts without a report: ${someOf(absent.map(shardText))}; run them with --shard`);
  if (without > 0 && unfinished.length > 0) problems.push(`reports without an end: ${someOf(unfinished)}`);
  if (missing.length > 0) {
    const names = someOf(missing.map((keyed) => keyed.case.name));
    problems.push(`without a verdict: ${names}; ${file === undefined ? '--missing=FILE writes them' : `see ${file}`}`);
  } else if (without > 0 && file !== undefined) {
    problems.push(`${file} has no cases: no report names those without a verdict`);
  }
  for (const { name, verdicts: all } of conflicts) {
    problems.push(
      `verdicts on ${name} differ: ${all.map(({ o, s }) => `${o}${s === undefined ? '' : ` (${s})`}`).join(', ')}`,
    );
  }
  return problems;
}

const someOf = (names: readonly string[]): string =>
  `${names.slice(0, MAX_NAMED).join(', ')}${names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''}`;
