/** What a `test` command runs of all that its operands name, with the keys by which reports know it. */
import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import { type Case, digestOf, FileHashes, type KeyedCase } from '../../fleet/case.ts';
import { type CaseDefaults, isCasesFile, readCases, type WholeRun } from '../../fleet/cases-file.ts';
import { dealOut, type Shard } from '../../fleet/shard.ts';
import { collectTests, portableName } from './collect.ts';

/** The cases of some operands. */
export interface CollectedCases {
  readonly cases: readonly Case[];
  /** The run that a file of cases says it is the rest of. */
  readonly rest?: WholeRun;
}

/** What a machine runs, and of what it is a part. */
export interface PlannedCases {
  readonly cases: readonly KeyedCase[];
  readonly whole: WholeRun;
}

/**
 * All cases that the operands name. With `isPortable` their names are the same on every machine. Throws IO,
 * BAD_INPUT, USAGE.
 */
export async function collectCases(
  operands: readonly string[],
  defaults: CaseDefaults,
  isPortable: boolean,
): Promise<CollectedCases> {
  const cases: Case[] = [];
  let rest: WholeRun | undefined;
  for (const operand of operands) {
    if (!isCasesFile(operand)) {
      const found = collectTests(operand, defaults);
      const renamed = (one: Case): Case => ({ ...one, name: portableName(one.image, operand, operands) });
      cases.push(...(isPortable ? found.map(renamed) : found));
      continue;
    }
    for await (const entry of readCases(operand, defaults)) {
      if (entry.kind === 'case') cases.push(entry.case);
      else rest = entry.whole;
    }
  }
  if (rest && operands.length > 1) {
    throw new WavewrightError('USAGE', `the rest of a run is a command of its own, without ${operands.join(', ')}`);
  }
  return { cases, ...(rest && { rest }) };
}

/** Gives cases their keys, and takes those of a part. Throws BAD_INPUT when two are the same. */
export function planCases({ cases, rest }: CollectedCases, shard: Shard | undefined): PlannedCases {
  if (rest && shard) throw new WavewrightError('USAGE', 'the rest of a run has no parts: --shard does not go with it');
  const hashes = new FileHashes();
  const keyed = cases.map((one) => ({ key: hashes.key(one), case: one }));
  const byKey = new Map<string, Case>();
  for (const { key, case: one } of keyed) {
    if (byKey.has(key)) {
      throw new WavewrightError('BAD_INPUT', `the case '${one.name}' is there twice`, {
        file: path.normalize(one.image),
        hint: 'give equal cases names of their own, as lines of a CASES.jsonl',
      });
    }
    byKey.set(key, one);
  }
  const whole = rest ?? { digest: digestOf(byKey.keys()), total: keyed.length };
  return { cases: shard ? dealOut(keyed, shard) : keyed, whole };
}
