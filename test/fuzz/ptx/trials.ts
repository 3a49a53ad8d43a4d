/** Holds a random PTX kernel, and what comes of damage to it, against what must be so. */
import { WavewrightError } from '../../../src/base/errors.ts';
import type { EmulatorDeviceOptions } from '../../../src/devices/emulated/emulated-device.ts';
import { createPtxDevice } from '../../../src/devices/emulated/ptx-device.ts';
import { parsePtx } from '../../../src/ptx/text/parser.ts';
import { printPtx } from '../../../src/ptx/text/printer.ts';
import { output, source, WAYS } from '../../../src/ptx-host/ptx-runs.test-support.ts';
import { runPtxKernel } from '../../../src/ptx-host/run-kernel.ts';
import { Random } from '../random.ts';
import { DamageTrials } from './damage-trials.ts';
import { MAX_THREADS, PLACE_BYTES, PtxWriter } from './random-text.ts';

/** By the clock: a loaded machine takes its time for everything, and some damaged code never ends. */
const TIMEOUTS_MS = { whole: 20_000, damaged: 1000 };
const EDGES = [0n, 1n, 0x8000_0000_8000_0000n, 0xffff_ffff_ffff_ffffn, 0x3f80_0000_7f80_0000n, 0x7ff8_0000_7fc0_0000n];

/** What a kernel left at `out`, or the code of its error. */
async function outcome(
  text: string,
  random: Random,
  options: EmulatorDeviceOptions,
  timeoutMs: number,
): Promise<string> {
  using device = createPtxDevice({ processor: 'sm_90', memorySizeBytes: 2 ** 26, ...options });
  const threads = random.pick([32, 64, MAX_THREADS]);
  const words = BigUint64Array.from({ length: (threads * PLACE_BYTES) / 8 }, () =>
    random.chance(30) ? random.pick(EDGES) : (BigInt(random.next()) << 32n) | BigInt(random.next()),
  );
  const contents = new Uint8Array(words.buffer);
  try {
    const { outputs } = await runPtxKernel({
      ...{ device, texts: [{ text, name: 'k.ptx' }], kernel: 'k', grid: [threads], workgroup: [threads] },
      args: [output(contents.length), source(contents)],
      timeoutMs,
    });
    return Buffer.from(outputs[0]!.bytes).toString('hex');
  } catch (error) {
    if (error instanceof WavewrightError && error.code !== 'INTERNAL') return `${error.code}: ${error.message}`;
    throw error;
  }
}

export interface DamageCounts {
  /** Damaged texts for each kernel. */
  readonly texts: number;
  /** Of so many that compile, one is executed. */
  readonly every: number;
}

/** What was tried, and what was wrong with it. */
export class PtxTrials {
  readonly findings: string[] = [];
  /** Whether the compiler refuses an opcode, which it says by name. */
  readonly opcodes = new Map<string, boolean>();
  readonly damage = new DamageTrials();
  readonly #counts: DamageCounts;
  kernels = 0;

  constructor(counts: DamageCounts) {
    this.#counts = counts;
  }

  /** A seed's kernel has the same results on all executors; what comes of damage ends in clear errors. */
  async run(seed: number): Promise<void> {
    const report = (what: string): void => void this.findings.push(`seed ${seed}: ${what}`);
    try {
      const random = new Random(seed);
      const text = new PtxWriter(random, this.opcodes).kernel(random.between(1, 40));
      await this.#compare(text, seed, report);
      const execute = (damaged: string, choices: Random): Promise<string> =>
        outcome(damaged, choices, choices.pick(Object.values(WAYS)), TIMEOUTS_MS.damaged);
      await this.damage.run(seed, this.#counts.texts, { text, execute, every: this.#counts.every });
    } catch (error) {
      report(error instanceof Error ? (error.stack ?? String(error)) : String(error));
    }
    this.findings.push(...this.damage.findings.splice(0));
  }

  async #compare(text: string, seed: number, report: (what: string) => void): Promise<void> {
    this.kernels++;
    const printed = printPtx(parsePtx(text, 'k.ptx'));
    if (printPtx(parsePtx(printed, 'k.ptx')) !== printed) report('the printed text reads otherwise');
    let first: string | undefined;
    for (const [way, options] of Object.entries(WAYS)) {
      const found = await outcome(text, new Random(seed), options, TIMEOUTS_MS.whole);
      first ??= found;
      if (found.includes(':')) report(`${way}: ${found}`);
      if (found !== first) report(`${way} has other results`);
    }
  }
}
