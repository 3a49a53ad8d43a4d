/**
 * Random PTX kernels on all executors, which must agree, and damaged ones, which must end in clear errors:
 * `node test/fuzz/ptx-texts.ts [SECONDS] [FIRST-SEED]`; a seed alone is repeated with `0 SEED`.
 */
import { WavewrightError } from '../../src/base/errors.ts';
import type { EmulatorDeviceOptions } from '../../src/devices/emulated/emulated-device.ts';
import { createPtxDevice } from '../../src/devices/emulated/ptx-device.ts';
import { parsePtx } from '../../src/ptx/text/parser.ts';
import { printPtx } from '../../src/ptx/text/printer.ts';
import { input, output, WAYS } from '../../src/ptx-host/ptx-runs.test-support.ts';
import { runPtxKernel } from '../../src/ptx-host/run-kernel.ts';
import { damaged, MAX_THREADS, PLACE_BYTES, PtxWriter } from './ptx/random-text.ts';
import { Random } from './random.ts';

const MAX_CPU_MS = 8000;
const DAMAGED_TEXTS = 20;
/** By the clock: a loaded machine takes its time for what is done in none, and some damaged code never ends. */
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
      args: [output(contents.length), input(contents)],
      timeoutMs,
    });
    return Buffer.from(outputs[0]!.bytes).toString('hex');
  } catch (error) {
    if (error instanceof WavewrightError && error.code !== 'INTERNAL') return `${error.code}: ${error.message}`;
    throw error;
  }
}

const refused = new Map<string, boolean>();
let [kernels, texts, findings] = [0, 0, 0];

function report(seed: number, what: string): void {
  findings++;
  console.log(`seed ${seed}: ${what}`);
}

async function tryKernel(seed: number): Promise<void> {
  const random = new Random(seed);
  const text = new PtxWriter(random, refused).kernel(random.between(1, 40));
  const printed = printPtx(parsePtx(text, 'k.ptx'));
  if (printPtx(parsePtx(printed, 'k.ptx')) !== printed) report(seed, 'the printed text reads otherwise');
  kernels++;
  let first: string | undefined;
  for (const [way, options] of Object.entries(WAYS)) {
    const found = await outcome(text, new Random(seed), options, TIMEOUTS_MS.whole);
    first ??= found;
    if (found.includes(':')) report(seed, `${way}: ${found}`);
    if (found !== first) report(seed, `${way} has other results`);
  }
  const ways = Object.values(WAYS);
  for (let i = 0; i < DAMAGED_TEXTS; i++) {
    const { user } = process.cpuUsage();
    // One in ten runs: what still compiles may do anything.
    const spoiled = damaged(text, random);
    texts++;
    try {
      if (i % 10 === 0) await outcome(spoiled, new Random(seed), random.pick(ways), TIMEOUTS_MS.damaged);
      else printPtx(parsePtx(spoiled, 'k.ptx'));
    } catch (error) {
      if (!(error instanceof WavewrightError) || error.code === 'INTERNAL')
        report(seed, `damaged ${i}: ${String(error)}`);
    }
    const usedMs = (process.cpuUsage().user - user) / 1000;
    if (usedMs > MAX_CPU_MS) report(seed, `damaged ${i}: ${usedMs} ms`);
  }
}

const [seconds = 60, firstSeed = 1] = process.argv.slice(2).map(Number);
const end = performance.now() + seconds * 1000;
for (let seed = firstSeed; seed === firstSeed || performance.now() < end; seed++) {
  try {
    await tryKernel(seed);
  } catch (error) {
    report(seed, error instanceof Error ? (error.stack ?? String(error)) : String(error));
  }
}
const opcodes = [...refused.values()];
console.log(
  `${kernels} kernels of ${opcodes.filter((each) => !each).length} opcodes (${opcodes.filter(Boolean).length} refused), ${texts} damaged texts, ${findings} findings`,
);
process.exitCode = findings === 0 ? 0 : 1;
