/** What a command runs of all that its operands name, with the keys by which reports know it. */
import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import { type Case, type CaseKey, digestOf, FileHashes, type KeyedCase } from '../../fleet/case.ts';
import { type CaseDefaults, isCasesFile, readCases, type WholeRun } from '../../fleet/cases-file.ts';
import { dealOut, type Shard } from '../../fleet/shard.ts';
import { collectTests, portableName } from './collect.ts';

/** Cases as they become known; before them perhaps the run that they are the rest of. */
export type CaseEntry =
  | { readonly kind: 'case'; readonly case: Case }
  | { readonly kind: 'whole'; readonly whole: WholeRun };
export type CaseEntries = AsyncIterable<CaseEntry>;

/**
 * All cases that the operands name. With `isPortable` their names are the same on every machine. Throws IO,
 * BAD_INPUT, USAGE.
 */
export async function* collectCases(
  operands: readonly string[],
  defaults: CaseDefaults,
  isPortable: boolean,
): AsyncGenerator<CaseEntry> {
  for (const operand of operands) {
    if (!isCasesFile(operand)) {
      for (const one of collectTests(operand, defaults)) {
        const name = isPortable ? portableName(one.image, operand, operands) : one.name;
        yield { kind: 'case', case: { ...one, name } };
      }
      continue;
    }
    for await (const entry of readCases(operand, defaults)) {
      if (entry.kind === 'whole' && operands.length > 1) {
        const others = operands.join(', ');
        throw new WavewrightError('USAGE', `the rest of a run is a command of its own, without ${others}`);
      }
      yield entry;
    }
  }
}

/** Entries with those cases alone whose names contain a text. */
export async function* filterCases(entries: CaseEntries, text: string): AsyncGenerator<CaseEntry> {
  for await (const entry of entries) if (entry.kind !== 'case' || entry.case.name.includes(text)) yield entry;
}

/** What a command runs, as it becomes known. */
export class RunPlan {
  #keyed: KeyedCase[] = [];
  readonly #indexes = new Map<CaseKey, number>();
  readonly #hashes = new FileHashes();
  readonly #hasKeys: boolean;
  #rest: WholeRun | undefined;
  #shard: Shard | undefined;

  /** Without keys it is for this machine alone, and cases may be the same. */
  constructor(hasKeys: boolean) {
    this.#hasKeys = hasKeys;
  }

  /**
   * The case with its key, where it has one; none where the entry is no case. Throws BAD_INPUT when it is
   * there twice.
   */
  add(entry: CaseEntry): KeyedCase | undefined {
    if (entry.kind === 'whole') {
      this.#rest = entry.whole;
      return undefined;
    }
    const one = entry.case;
    const keyed = { key: this.#hasKeys ? this.#hashes.key(one) : '', case: one };
    if (this.#hasKeys && this.#indexes.has(keyed.key)) {
      throw new WavewrightError('BAD_INPUT', `the case '${one.name}' is there twice`, {
        file: path.normalize(one.image),
        hint: 'give equal cases names of their own, as lines of a CASES.jsonl',
      });
    }
    this.#indexes.set(keyed.key, this.#keyed.length);
    this.#keyed.push(keyed);
    return keyed;
  }

  /** Throws USAGE where there is nothing to run; `what` names what the cases are from. */
  expectCases(what: string): void {
    if (this.#keyed.length === 0 && !this.#rest) throw new WavewrightError('USAGE', `there is no program in ${what}`);
  }

  get keyed(): readonly KeyedCase[] {
    return this.#keyed;
  }

  /** By the number of the case. */
  keyOf(index: number): CaseKey | undefined {
    return this.#hasKeys ? this.#keyed[index]?.key : undefined;
  }

  indexOf(key: CaseKey): number {
    return this.#indexes.get(key)!;
  }

  /** What all cases are a part of, when all are known. */
  get whole(): WholeRun & { readonly shard?: Shard } {
    const whole = this.#rest ?? { digest: digestOf(this.#indexes.keys()), total: this.#indexes.size };
    return { ...whole, ...(this.#shard && { shard: this.#shard }) };
  }

  /** Leaves the cases of a part alone. Throws USAGE for the rest of a run. */
  take(shard: Shard): void {
    if (this.#rest) throw new WavewrightError('USAGE', 'the rest of a run has no parts: --shard does not go with it');
    this.#shard = shard;
    this.#keyed = dealOut(this.#keyed, shard);
  }
}
