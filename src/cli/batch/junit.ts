/** Results of a batch as JUnit XML: a suite for each program, a case for each one that it reports, or one for all. */
import type { TestResult } from './pool.ts';
import type { ReportedCase } from './reported-cases.ts';

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };
/** What XML 1.0 cannot hold. */
const FORBIDDEN = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const escaped = (text: string) =>
  text.replace(FORBIDDEN, '\uFFFD').replace(/[<>&"]/g, (character) => ENTITIES[character]!);
const seconds = (milliseconds: number) => (milliseconds / 1000).toFixed(3);

export function formatJunit(results: readonly TestResult[]): string {
  const suites = results.map((result) => {
    const cases = casesOf(result);
    const count = (outcome: ReportedCase['outcome']) => cases.filter((one) => one.outcome === outcome).length;
    const failures = count('failed') + count('unfinished');
    const counts = `tests="${cases.length}" failures="${failures}" skipped="${count('skipped')}"`;
    return [
      `  <testsuite name="${escaped(result.name)}" ${counts} time="${seconds(result.durationMs)}">`,
      ...cases.map((one) => caseText(result, one)),
      `    <system-out>${escaped(result.stdout)}</system-out>`,
      `    <system-err>${escaped(result.stderr)}</system-err>`,
      '  </testsuite>',
    ].join('\n');
  });
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...suites, '</testsuites>', ''].join('\n');
}

/** A program that failed beside its cases, or reports none, is a case itself. */
function casesOf(result: TestResult): readonly ReportedCase[] {
  const explained = result.cases.some(({ outcome }) => outcome === 'failed' || outcome === 'unfinished');
  if (result.cases.length > 0 && (result.outcome === 'passed' || explained)) return result.cases;
  return [...result.cases, { name: result.name, outcome: result.outcome === 'passed' ? 'passed' : 'failed' }];
}

function caseText(result: TestResult, { name, outcome }: ReportedCase): string {
  const head = `    <testcase classname="${escaped(result.name)}" name="${escaped(name)}"`;
  if (outcome === 'passed') return `${head}/>`;
  if (outcome === 'skipped') return `${head}><skipped/></testcase>`;
  const why = outcome === 'unfinished' ? 'did not finish' : `${result.outcome}, status ${result.status ?? 'none'}`;
  return `${head}><failure message="${escaped(why)}"/></testcase>`;
}
