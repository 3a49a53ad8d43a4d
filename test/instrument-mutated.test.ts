/**
 * Damaged files are instrumented by tools, or refused with an error that says why: nothing else is thrown,
 * none of them takes long or much memory, and what comes out can be read. `WAVEWRIGHT_SCALE=full` damages a
 * thousand, each for every tool; `WAVEWRIGHT_SEEDS=FROM:COUNT` says which.
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
import { TOOLS } from '../src/tools/catalog.ts';
import { chooseHook, chooseTool } from '../src/tools/chosen-tool.ts';
import { readTestFile } from './data/codeobjects/load.ts';
import { mutate } from './fuzz/mutations.ts';
import { Random } from './fuzz/random.ts';
import { IS_FULL_SCALE } from './scale.ts';

const DEFAULT = IS_FULL_SCALE ? '0:1000' : '0:40';
const [FROM = 0, COUNT = 0] = (process.env['WAVEWRIGHT_SEEDS'] ?? DEFAULT).split(':').map(Number);
/** Of this thread: what others do on the machine does not count. */
const STUCK_MS = 10_000;
const GROWTH_BYTES = 2 ** 30;
const FILES = [
  ...['kernels.gfx90a.v5.co', 'kernels.gfx942.v5.co', 'kernels.gfx1100.v5.co', 'arguments.gfx90a.v5.co'],
  ...['kernels.gfx90a.v5.o', 'fat.bundle', 'host.elf'],
];
const OPTIONS: Readonly<Record<string, string>> = { 'register-log': ':registers=s4 v0' };
const TOOL_TEXTS = [...TOOLS.map(({ name }) => name + (OPTIONS[name] ?? '')), 'instruction-count:level=wave'];
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

/** Those that ship and one that clang compiled; one of them unless all are asked for. */
async function toolsFor(file: string, random: Random): Promise<readonly ToolUse[]> {
  const hooks = HOOKS.find((hook) => file.includes(hook.split('.')[1]!));
  const points = random.pick(['instruction', 'memory', 'block', 'entry', 'exit']);
  const compiled = (): ToolUse[] =>
    hooks ? [chooseHook(`${hooks}:function=lane_statistics,at=${points}`, readFileSync)] : [];
  if (IS_FULL_SCALE) return [...(await Promise.all(TOOL_TEXTS.map(chooseTool))), ...compiled()];
  return hooks && random.chance(40) ? compiled() : [await chooseTool(random.pick(TOOL_TEXTS))];
}

/** What becomes of a damaged file. Throws what is no clear error. */
function outcomeOf(bytes: Uint8Array, file: string, tool: ToolUse): string {
  try {
    const made = instrumentFile(bytes, file, {
      rewrite: (code, name) => instrumentImage({ bytes: code, name }, [tool]),
    });
    for (const image of openCodeObjects(made.bytes, 'made')) liftCodeObject(parseCodeObject(image.bytes, image.name));
    return 'instrumented';
  } catch (error) {
    if (error instanceof WavewrightError && error.code !== 'INTERNAL') return error.code;
    throw error;
  }
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
    for (const tool of await toolsFor(file, random)) {
      const what = `${file}, ${tool.tool.name}, seed ${seed}`;
      const startMs = cpuMs();
      try {
        const outcome = outcomeOf(bytes.slice(), file, tool);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      } catch (error) {
        throw new Error(what, { cause: error });
      }
      const durationMs = cpuMs() - startMs;
      assert.ok(durationMs < STUCK_MS, `${what}: ${Math.round(durationMs)} ms`);
      longestMs = Math.max(longestMs, durationMs);
    }
  }
  const grownBytes = process.memoryUsage.rss() - startBytes;
  t.diagnostic([...outcomes].map(([name, count]) => `${count} ${name}`).join(', '));
  t.diagnostic(`up to ${Math.round(longestMs)} ms, ${Math.round(grownBytes / 2 ** 20)} MiB more`);
  assert.ok(grownBytes < GROWTH_BYTES, `the process grew by ${grownBytes} bytes`);
  assert.ok(outcomes.size > 1);
});
