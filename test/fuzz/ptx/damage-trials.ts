/** Damaged PTX texts must end in clear errors, soon, and within the memory that there is. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { WavewrightError } from '../../../src/base/errors.ts';
import { compilePtx } from '../../../src/ptx/compile/module.ts';
import { parsePtx } from '../../../src/ptx/text/parser.ts';
import { printPtx } from '../../../src/ptx/text/printer.ts';
import { Random } from '../random.ts';
import { damaged } from './damage.ts';

const MAX_CPU_MS = 2000;
const MAX_GROWTH_BYTES = 2 ** 31;
/** Larger ones take long, and have nothing that these do not have. */
const MAX_EXAMPLE_BYTES = 24_000;

const EXAMPLES = path.resolve(import.meta.dirname, '../../../examples');
const examples: readonly string[] = globSync('**/*.ptx', { cwd: EXAMPLES })
  .sort()
  .map((file) => readFileSync(path.join(EXAMPLES, file), 'utf8'))
  .filter((text) => text.length < MAX_EXAMPLE_BYTES);

/** Executes a text that compiled; throws what that throws. */
export type Execute = (text: string, random: Random) => Promise<unknown>;

export class DamageTrials {
  readonly findings: string[] = [];
  texts = 0;
  /** Texts that are PTX, those that compile, and those that were executed. */
  parsed = 0;
  compiled = 0;
  executed = 0;
  readonly #startBytes = process.memoryUsage.rss();

  /**
   * Damages a kernel and examples so often in all. One of `every` texts of the kernel that compile is
   * executed: it may do anything.
   */
  async run(seed: number, count: number, kernel: { readonly text: string; readonly execute: Execute; every: number }) {
    const random = new Random(seed);
    for (let i = 0; i < count; i++) {
      const isKernel = random.chance(50);
      const text = damaged(isKernel ? kernel.text : random.pick(examples), random);
      const report = (what: string): void => void this.findings.push(`seed ${seed}: damaged ${i}: ${what}\n${text}`);
      this.texts++;
      const { user } = process.cpuUsage();
      try {
        if (this.#compiles(text, report) && isKernel && this.compiled % kernel.every === 0) {
          this.executed++;
          await kernel.execute(text, random);
        }
      } catch (error) {
        const isClear = error instanceof WavewrightError && error.code !== 'INTERNAL';
        if (!isClear) report(error instanceof Error ? (error.stack ?? String(error)) : String(error));
      }
      const usedMs = (process.cpuUsage().user - user) / 1000;
      if (usedMs > MAX_CPU_MS) report(`${usedMs} ms`);
    }
    const grownBytes = process.memoryUsage.rss() - this.#startBytes;
    if (grownBytes > MAX_GROWTH_BYTES) this.findings.push(`seed ${seed}: the process grew by ${grownBytes} bytes`);
  }

  #compiles(text: string, report: (what: string) => void): boolean {
    const module = parsePtx(text, 'k.ptx');
    this.parsed++;
    const printed = printPtx(module);
    if (printPtx(parsePtx(printed, 'k.ptx')) !== printed) report('the printed text reads otherwise');
    compilePtx(text, 'k.ptx');
    this.compiled++;
    return true;
  }
}
