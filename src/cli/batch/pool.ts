/** Runs many cases, several at once. */
import type { Case } from '../../fleet/case.ts';
import type { TestResult } from '../../fleet/verdict.ts';
import { CaseRunner, type CaseRunnerOptions } from './case-runner.ts';

export interface BatchOptions extends CaseRunnerOptions {
  readonly jobs: number;
  /** Called in the order in which results come; `index` is that of the case. */
  readonly onResult: (result: TestResult, index: number) => void;
}

export async function runBatch(cases: readonly Case[], options: BatchOptions): Promise<void> {
  let next = 0;
  const lane = async () => {
    using runner = new CaseRunner(options);
    while (next < cases.length) {
      const index = next++;
      options.onResult(await runner.run(cases[index]!), index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.jobs, cases.length) }, lane));
}
