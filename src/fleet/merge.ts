/** Reports of the parts of a run as one: what is whole, what is absent, what is contradictory. */
import { WavewrightError } from '../base/errors.ts';
import { type CaseKey, digestOf, type KeyedCase } from './case.ts';
import type { WholeRun } from './cases-file.ts';
import { type ReportEntry, type RunHeader, readReport, reportLine } from './report.ts';
import { order, type Shard, shardText } from './shard.ts';
import type { Verdict } from './verdict.ts';

export interface NamedVerdict {
  readonly name: string;
  readonly verdict: Verdict;
}

export interface MergedReports {
  readonly whole: WholeRun;
  readonly wavewright: string;
  /** When the first part began. */
  readonly began: string;
  /** The case of each verdict and of each that is missing, by key. */
  readonly cases: ReadonlyMap<CaseKey, KeyedCase>;
  /** By name, then key. */
  readonly verdicts: readonly NamedVerdict[];
  /** Cases that have no verdict, as far as any report names them. */
  readonly missing: readonly KeyedCase[];
  /** How many more have none: they are in parts that are absent. */
  readonly unknown: number;
  /** Parts of which there is no report, while cases are unknown. */
  readonly absent: readonly Shard[];
  /** Files without a footer: their runs did not end. */
  readonly unfinished: readonly string[];
  /** Verdicts that differ. */
  readonly conflicts: readonly { readonly name: string; readonly verdicts: readonly Verdict[] }[];
}

/**
 * Merges reports; what comes out does not depend on the order of the files. Of several verdicts that agree
 * the one counts whose file is the first by name. Throws IO, BAD_INPUT for a
 * damaged report, and for reports of different runs or of different versions of Wavewright.
 */
export async function mergeReports(files: readonly string[]): Promise<MergedReports> {
  const merging = new Merging();
  for (const file of [...files].sort(order)) {
    let isFinished = false;
    for await (const entry of readReport(file)) {
      merging.add(file, entry);
      isFinished = entry.kind === 'footer';
    }
    if (!isFinished) merging.unfinished.push(file);
  }
  return merging.result();
}

class Merging {
  readonly unfinished: string[] = [];
  #first: { readonly file: string; readonly header: RunHeader } | undefined;
  #began = '';
  readonly #shards: Shard[] = [];
  readonly #cases = new Map<CaseKey, KeyedCase>();
  readonly #verdicts = new Map<CaseKey, NamedVerdict>();
  readonly #conflicts = new Map<CaseKey, Verdict[]>();

  add(file: string, entry: ReportEntry): void {
    if (entry.kind === 'header') this.#addHeader(file, entry.header);
    else if (entry.kind === 'case') this.#addCase(file, entry);
    else if (entry.kind === 'verdict') this.#addVerdict(file, entry);
  }

  #addHeader(file: string, header: RunHeader): void {
    this.#first ??= { file, header };
    const { file: firstFile, header: first } = this.#first;
    if (header.digest !== first.digest || header.total !== first.total) {
      throw new WavewrightError('BAD_INPUT', `is of other cases than ${firstFile}`, {
        file,
        hint: 'parts belong together when programs, arguments, options and limits of all cases are the same',
      });
    }
    if (header.wavewright !== first.wavewright) {
      const what = `is of wavewright ${header.wavewright}, ${firstFile} of ${first.wavewright}`;
      throw new WavewrightError('BAD_INPUT', what, { file, hint: 'verdicts depend on the version' });
    }
    if (this.#began === '' || header.began < this.#began) this.#began = header.began;
    if (header.shard) this.#shards.push(header.shard);
  }

  #addCase(file: string, keyed: KeyedCase): void {
    const { total } = this.#first!.header;
    if (this.#cases.has(keyed.key)) return;
    this.#cases.set(keyed.key, { key: keyed.key, case: keyed.case });
    if (this.#cases.size <= total) return;
    throw new WavewrightError('BAD_INPUT', `there are more cases than the ${total} of the header`, { file });
  }

  #addVerdict(file: string, { name, verdict }: NamedVerdict): void {
    if (!this.#cases.has(verdict.k)) {
      throw new WavewrightError('BAD_INPUT', `has a verdict on '${name}', which is none of its cases`, { file });
    }
    const known = this.#verdicts.get(verdict.k);
    if (!known) {
      this.#verdicts.set(verdict.k, { name, verdict });
      return;
    }
    if (known.verdict.o !== verdict.o || known.verdict.s !== verdict.s) {
      this.#conflicts.set(verdict.k, [...(this.#conflicts.get(verdict.k) ?? [known.verdict]), verdict]);
    }
  }

  result(): MergedReports {
    const { digest, total, wavewright } = this.#first!.header;
    const isWhole = this.#cases.size === total;
    if (isWhole && digestOf(this.#cases.keys()) !== digest) {
      throw new WavewrightError('BAD_INPUT', 'the cases are not those of the header', { file: this.#first!.file });
    }
    const byName = (a: KeyedCase, b: KeyedCase) => order(a.case.name, b.case.name) || order(a.key, b.key);
    const verdicts = [...this.#verdicts.values()].sort(
      (a, b) => order(a.name, b.name) || order(a.verdict.k, b.verdict.k),
    );
    return {
      ...{ whole: { digest, total }, wavewright, began: this.#began, cases: this.#cases, verdicts },
      missing: [...this.#cases.values()].filter(({ key }) => !this.#verdicts.has(key)).sort(byName),
      unknown: total - this.#cases.size,
      absent: isWhole ? [] : absentShards(this.#shards),
      unfinished: this.unfinished,
      conflicts: [...this.#conflicts]
        .map(([key, all]) => ({ name: this.#verdicts.get(key)!.name, verdicts: all }))
        .sort((a, b) => order(a.name, b.name)),
    };
  }
}

/** The parts that no report is of, for every count that reports name. */
function absentShards(shards: readonly Shard[]): Shard[] {
  const there = new Set(shards.map(shardText));
  const counts = [...new Set(shards.map(({ count }) => count))].sort((a, b) => a - b);
  return counts.flatMap((count) =>
    Array.from({ length: count }, (_, i) => ({ index: i + 1, count })).filter((shard) => !there.has(shardText(shard))),
  );
}

/** The report of all parts, in one order: the same bytes whatever the order of the parts. */
export function* mergedLines(merged: MergedReports): Generator<string> {
  const { whole, wavewright, began, cases, verdicts, missing } = merged;
  yield reportLine({ kind: 'header', header: { ...whole, wavewright, began } });
  const known = [...verdicts.map(({ verdict }) => cases.get(verdict.k)!), ...missing];
  known.sort((a, b) => order(a.case.name, b.case.name) || order(a.key, b.key));
  for (const keyed of known) yield reportLine({ kind: 'case', ...keyed });
  for (const one of verdicts) yield reportLine({ kind: 'verdict', ...one });
  // Without the footer it stays to be seen that something is missing.
  if (verdicts.length === whole.total) yield reportLine({ kind: 'footer', count: verdicts.length });
}
