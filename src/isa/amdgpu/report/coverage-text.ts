/** Coverage as a table for a terminal, and as the page that is checked in. */

import type { FormatName } from '../encoding/formats.ts';
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

/** What is said of targets, by text; targets of which the same is said stand together. */
function merged(
  texts: readonly (readonly [processor: string, text: string])[],
): [processors: string[], text: string][] {
  const byText = new Map<string, string[]>();
  for (const [processor, text] of texts) byText.set(text, [...(byText.get(text) ?? []), processor]);
  return [...byText].map(([text, processors]) => [processors, text]);
}

/** The checked-in page: counts, and the names of what is not exact. */
export function coverageMarkdown(targets: readonly TargetCoverage[]): string {
  const head = `# Instruction coverage

Made by \`wavewright isa coverage --format=markdown\`; a test keeps it true. *Exact*: the results have the bits of the hardware's documented
results, on every host. *Approximate*: the manuals leave the bits open, and how ours may differ is said. *Missing*: decoded and
printed, refused by name when it is executed. One instruction counts once, whatever encodings it has. Formats: exact / approximate / missing.
`;
  const formats = [...new Set(targets.flatMap((target) => target.formats.map(({ format }) => format)))];
  const counts = merged(
    targets.map((target) => {
      const byName = new Map(cells(target).map(([name, ...numbers]) => [name, numbers.join(' / ')]));
      return [target.processor, [...formats, 'all'].map((name) => byName.get(name as FormatName) ?? '').join('|')];
    }),
  );
  const columns = counts.map(([processors]) => processors.join(', '));
  const line = (name: string, values: readonly string[]): string => `| ${[name, ...values].join(' | ')} |\n`;
  const table =
    `\n${line('', columns)}|${'---|'.repeat(columns.length + 1)}\n` +
    [...formats, 'all']
      .map((name, i) =>
        line(
          name,
          counts.map(([, text]) => text.split('|')[i]!),
        ),
      )
      .join('');
  const reasons = new Map<string, Map<string, string[]>>();
  for (const target of targets) {
    for (const [reason, names] of groups(target)) {
      const byName = reasons.get(reason) ?? new Map<string, string[]>();
      reasons.set(reason, byName);
      for (const name of names) byName.set(name, [...(byName.get(name) ?? []), target.processor]);
    }
  }
  const lists = [...reasons].map(([reason, byName]) => {
    const groupsOfNames = merged(
      [...byName].map(([name, own]) => [`\`${name}\``, own.length === targets.length ? 'All' : own.join(', ')]),
    );
    const texts = groupsOfNames.map(([names, processors]) => `\n${processors}:\n\n${wrapped(names, '')}`);
    return `\n## ${reason[0]!.toUpperCase()}${reason.slice(1)}\n${texts.join('')}`;
  });
  return head + table + lists.join('');
}
