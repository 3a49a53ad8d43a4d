/**
 * Damaged files are instrumented by tools, or refused with an error that says why: nothing else is thrown,
 * none of them takes long or much memory, and what comes out can be read. `WAVEWRIGHT_SCALE=full` damages a
 * thousand; `WAVEWRIGHT_SEEDS=FROM:COUNT` says which.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { WavewrightError } from '../src/base/errors.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import { openCodeObjects } from '../src/codeobject/container.ts';
import { PF_X } from '../src/elf/constants.ts';
import { instrumentImage, type ToolUse } from '../src/instrument/index.ts';
import { instrumentFile } from '../src/instrument/instrument-file.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { chooseHook, chooseTool } from '../src/tools/chosen-tool.ts';
import { readTestFile } from './data/codeobjects/load.ts';
import { mutate } from './fuzz/mutations.ts';
import { Random } from './fuzz/random.ts';

const DEFAULT = process.env['WAVEWRIGHT_SCALE'] === 'full' ? '0:1000' : '0:40';
const [FROM = 0, COUNT = 0] = (process.env['WAVEWRIGHT_SEEDS'] ?? DEFAULT).split(':').map(Number);
/** Of this thread: what others do on the machine does not count. */
const STUCK_MS = 10_000;
const GROWTH_BYTES = 2 ** 30;
const FILES = [
  ...['kernels.gfx90a.v5.co', 'kernels.gfx942.v5.co', 'kernels.gfx1100.v5.co', 'arguments.gfx90a.v5.co'],
  ...['kernels.gfx90a.v5.o', 'fat.bundle', 'host.elf'],
];
const TOOLS = [
  ...['instruction-count', 'instruction-count:level=wave', 'block-count', 'opcode-histogram', 'memory-trace'],
  ...['coalescing', 'branch-divergence', 'kernel-arguments', 'register-log:registers=s4 v0', 'value-profile'],
];
const HOOKS = ['gfx90a', 'gfx942', 'gfx1100'].map((processor) => `test/data/hooks/hooks.${processor}.O2.o`);

/** A few bits of the code alone, so that much of it is still code. */
function damageCode(bytes: Uint8Array, random: Random): Uint8Array {
  const { elf } = parseCodeObject(bytes, 'before');
  const code = elf.segments.find(({ flags }) => (flags & PF_X) !== 0);
  if (!code) return mutate(bytes, random);
  for (let count = random.between(1, 4); count > 0; count--) {
    bytes[Number(code.offset) + random.below(Number(code.fileSizeBytes))]! ^= 1 << random.below(8);
  }
  return bytes;
}

/** One that ships, in TypeScript, or one that clang compiled. */
async function toolFor(file: string, random: Random): Promise<ToolUse> {
  const hooks = HOOKS.find((hook) => file.includes(hook.split('.')[1]!));
  if (!hooks || random.chance(60)) return chooseTool(random.pick(TOOLS));
  const points = random.pick(['instruction', 'memory', 'block', 'entry', 'exit']);
  return chooseHook(`${hooks}:function=lane_statistics,at=${points}`, readFileSync);
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

test('damaged files end in clear errors', async (t) => {
  const outcomes = new Map<string, number>();
  const startBytes = process.memoryUsage.rss();
  let longestMs = 0;
  for (let seed = FROM; seed < FROM + COUNT; seed++) {
    const file = FILES[seed % FILES.length]!;
    const random = new Random(seed);
    const whole = Uint8Array.from(readTestFile(file));
    const isLinked = file.endsWith('.co');
    const bytes = !isLinked || random.chance(30) ? mutate(whole, random) : damageCode(whole, random);
    const tool = await toolFor(file, random);
    const startMs = cpuMs();
    let outcome = 'instrumented';
    try {
      const made = instrumentFile(bytes, file, {
        rewrite: (code, name) => instrumentImage({ bytes: code, name }, [tool]),
      });
      for (const image of openCodeObjects(made.bytes, 'made')) liftCodeObject(parseCodeObject(image.bytes, image.name));
    } catch (error) {
      if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') {
        throw new Error(`${file}, ${tool.tool.name}, seed ${seed}`, { cause: error });
      }
      outcome = error.code;
    }
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const durationMs = cpuMs() - startMs;
    assert.ok(durationMs < STUCK_MS, `${file}, ${tool.tool.name}, seed ${seed}: ${Math.round(durationMs)} ms`);
    longestMs = Math.max(longestMs, durationMs);
  }
  const grownBytes = process.memoryUsage.rss() - startBytes;
  t.diagnostic([...outcomes].map(([name, count]) => `${count} ${name}`).join(', '));
  t.diagnostic(`up to ${Math.round(longestMs)} ms, ${Math.round(grownBytes / 2 ** 20)} MiB more`);
  assert.ok(grownBytes < GROWTH_BYTES, `the process grew by ${grownBytes} bytes`);
  assert.ok(outcomes.size > 1);
});
