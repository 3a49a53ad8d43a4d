/** Coverage as a table for a terminal, and as the page that is checked in. */
import { countsOf, type FormatCoverage, type TargetCoverage } from './coverage.ts';

const WIDTH = 100;

type Cells = readonly [string, number, number, number];

function cells({ formats }: TargetCoverage): Cells[] {
  const row = (name: string, of: readonly FormatCoverage[]): Cells => {
    const { exact, approximate, missing } = countsOf(of);
    return [name, exact, approximate, missing];
  };
  return [...formats.map((format) => row(format.format, [format])), row('all', formats)];
}

/** Names by what is to be said of them, in the order of the formats. */
function groups({ formats }: TargetCoverage): Map<string, string[]> {
  const byReason = new Map<string, string[]>();
  const add = (reason: string, name: string): void => {
    byReason.set(reason, [...(byReason.get(reason) ?? []), name]);
  };
  for (const { approximate } of formats)
    for (const { name, reason } of approximate) add(`approximate: ${reason}`, name);
  for (const { format, missing } of formats) for (const name of missing) add(`missing, ${format}`, name);
  return byReason;
}

function wrapped(names: readonly string[], indent: string): string {
  let text = '';
  let line = indent;
  for (const name of names) {
    if (line.length > indent.length && line.length + name.length + 2 > WIDTH) {
      text += `${line.trimEnd()}\n`;
      line = indent;
    }
    line += `${name}, `;
  }
  return `${text}${line.replace(/, $/, '')}\n`;
}

/** For a terminal. `exact` names the exact instructions too. */
export function coverageText(targets: readonly TargetCoverage[], { exact = false } = {}): string {
  const sections = targets.map((target) => {
    const table = [['format', 'exact', 'approximate', 'missing'], ...cells(target)]
      .map(
        ([name, ...counts]) =>
          `  ${String(name).padEnd(10)}${counts.map((count) => String(count).padStart(12)).join('')}\n`,
      )
      .join('');
    const named = groups(target);
    if (exact) for (const format of target.formats) named.set(`exact, ${format.format}`, [...format.exact]);
    const lists = [...named].filter(([, names]) => names.length > 0);
    return `${target.processor}\n${table}${lists.map(([reason, names]) => `\n  ${reason}\n${wrapped(names, '    ')}`).join('')}`;
  });
  return sections.join('\n');
}

/** The checked-in page: counts, and the names of what is not exact. */
export function coverageMarkdown(targets: readonly TargetCoverage[]): string {
  const head = `# Instruction coverage

Made by \`wavewright isa coverage --format=markdown\`; a test keeps it true. *Exact*: the results have the bits of the hardware's documented
results, on every host. *Approximate*: the manuals leave the bits open, and how ours may differ is said. *Missing*: decoded and
printed, refused by name when it is executed. One instruction counts once, whatever encodings it has.
`;
  const sections = targets.map((target) => {
    const rows = cells(target).map((row) => `| ${row.join(' | ')} |\n`);
    const lists = [...groups(target)].map(
      ([reason, names]) =>
        `\n${reason[0]!.toUpperCase()}${reason.slice(1)}:\n\n${wrapped(
          names.map((name) => `\`${name}\``),
          '',
        )}`,
    );
    return `\n## ${target.processor}\n\n| format | exact | approximate | missing |\n|---|---|---|---|\n${rows.join('')}${lists.join('')}`;
  });
  return head + sections.join('');
}
