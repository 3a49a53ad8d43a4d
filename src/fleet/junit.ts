/**
 * Results of a batch as JUnit XML: a suite for each program, a case for each one that it reports, or one for
 * all. Elements and attributes are those of Ant's JUnit task (the schema of the Windy Road JUnit-Schema
 * project), and `skipped` of the suite.
 */
import type { ReportedCase } from './reported-cases.ts';
import { didPass, type TestResult } from './verdict.ts';

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };
/** What XML 1.0 cannot hold. */
const FORBIDDEN = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const escaped = (text: string) =>
  text.replace(FORBIDDEN, '\uFFFD').replace(/[<>&"]/g, (character) => ENTITIES[character]!);
const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(3);

/** Where and when results came about. */
export interface JunitOrigin {
  readonly hostname: string;
  /** To the second: `2026-01-02T03:04:05`. */
  readonly timestamp: string;
}

/** The file in parts: there may be millions of results. */
export function* junitParts(results: Iterable<TestResult>, origin: JunitOrigin): Generator<string> {
  yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
  let id = 0;
  for (const result of results) yield suiteText(result, id++, origin);
  yield '</testsuites>\n';
}

function suiteText(result: TestResult, id: number, { hostname, timestamp }: JunitOrigin): string {
  const cases = casesOf(result);
  const count = (matches: (one: ReportedCase) => boolean) => cases.filter(matches).length;
  const bad = count((one) => !didPass(one));
  const attributes = {
    ...{ id, name: result.name, package: '', hostname, timestamp, tests: cases.length },
    ...(wasRun(result) ? { failures: bad, errors: 0 } : { failures: 0, errors: bad }),
    skipped: count(({ outcome }) => outcome === 'skipped'),
    time: seconds(result.durationMs),
  };
  const lines = [
    `  <testsuite${attributesText(attributes)}>`,
    '    <properties/>',
    ...cases.map((one) => caseText(result, one)),
    `    <system-out>${escaped(result.stdout)}</system-out>`,
    `    <system-err>${escaped(result.stderr)}</system-err>`,
    '  </testsuite>',
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/** Whether it came to an end of its own: what did not is an error, and no failure. */
const wasRun = ({ outcome }: TestResult): boolean => outcome !== 'quarantined' && outcome !== 'error';

const attributesText = (attributes: Readonly<Record<string, string | number>>): string =>
  Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join('');

/** A program that failed beside its cases, or reports none, is a case itself. */
function casesOf(result: TestResult): readonly ReportedCase[] {
  const explained = result.cases.some((one) => !didPass(one));
  if (result.cases.length > 0 && (result.outcome === 'passed' || explained)) return result.cases;
  return [...result.cases, { name: result.name, outcome: result.outcome === 'passed' ? 'passed' : 'failed' }];
}

function caseText(result: TestResult, { name, outcome, took }: ReportedCase): string {
  const time = result.cases.length === 0 ? seconds(result.durationMs) : seconds(millisecondsOf(took));
  const head = `    <testcase${attributesText({ classname: result.name, name, time })}`;
  if (outcome === 'passed') return `${head}/>`;
  if (outcome === 'skipped') return `${head}><skipped/></testcase>`;
  const message = outcome === 'unfinished' ? 'did not finish' : `${result.outcome}, status ${result.status ?? 'none'}`;
  const element = wasRun(result) ? 'failure' : 'error';
  return `${head}><${element}${attributesText({ message, type: result.outcome })}/></testcase>`;
}

const UNITS_MS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, ms: 1, s: 1e3 };

/** What a program says of a case: `12 ms`; 0 where it does not. */
function millisecondsOf(took = ''): number {
  const [, value, unit] = /(\d+(?:\.\d+)?) (ns|us|ms|s)$/.exec(took) ?? [];
  return value === undefined ? 0 : Number(value) * UNITS_MS[unit!]!;
}
