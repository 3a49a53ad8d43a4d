/**
 * Programs that clang compiles at all levels, as they are and with tools in them: they compute the same bit
 * by bit, execute the same instructions of their own, and tools count what the emulator counts. A few of all
 * builds are drawn; `WAVEWRIGHT_SEED` draws others, `WAVEWRIGHT_SCALE=full` runs all.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { PcCount } from '../../src/device/statistics.ts';
import { instrumentCodeObject } from '../../src/instrument/instrument.ts';
import type { PcMap } from '../../src/instrument/layout/pc-map.ts';
import { chooseTool } from '../../src/tools/chosen-tool.ts';
import { type ToolReport, ToolSession } from '../../src/tools/tool-session.ts';
import { Random } from '../fuzz/random.ts';
import { IS_FULL_SCALE, SEED } from '../scale.ts';
import { isVector, nameIn } from '../tool-runs.test-support.ts';
import { hasClang } from './device-code.ts';
import { Compilers, type Language, LEVELS, type Level, type Target } from './opencl/compilers.ts';
import { KernelDevice } from './opencl/device.ts';
import { differences } from './opencl/differences.ts';
import type { Launch, Results } from './opencl/launch.ts';
import type { Build, Subject } from './opencl/subject.ts';
import { ALL_SUBJECTS, buildsOf, languagesOf } from './opencl/subjects.ts';

const TARGETS: readonly Target[] = [
  { processor: 'gfx90a', waveSize: 64 },
  { processor: 'gfx942', waveSize: 64 },
  { processor: 'gfx1100', waveSize: 32 },
  { processor: 'gfx1100', waveSize: 64 },
];
const ITEMS = 70;
const DRAWN = 3;
/** Of a program that is drawn. */
const DRAWN_LAUNCHES = 6;

interface Program {
  readonly target: Target;
  readonly subject: Subject;
  readonly build: Build;
  readonly language: Language;
  readonly level: Level;
}

const compilers = new Compilers();
after(() => compilers.close());
const devices = new Map<string, KernelDevice>();

function deviceOf(processor: string): KernelDevice {
  const device = devices.get(processor) ?? new KernelDevice(processor, 'jit', { countsPcs: true });
  devices.set(processor, device);
  return device;
}

const PROGRAMS: readonly Program[] = TARGETS.flatMap((target) =>
  ALL_SUBJECTS.flatMap((subject) =>
    buildsOf(subject, target).flatMap((build) =>
      languagesOf(subject).flatMap((language) =>
        LEVELS.map((level) => ({ target, subject, build, language, level }) as const),
      ),
    ),
  ),
);

function drawn(): readonly Program[] {
  if (IS_FULL_SCALE) return PROGRAMS;
  const random = new Random(SEED);
  return Array.from({ length: DRAWN }, () => PROGRAMS[random.below(PROGRAMS.length)]!);
}

interface Run {
  readonly results: readonly Results[];
  readonly counts: ReadonlyMap<number, PcCount>;
}

function runAll(device: KernelDevice, image: Uint8Array, launches: readonly Launch[], session?: ToolSession): Run {
  let results: readonly Results[] = [];
  const run = (one: (launch: Launch) => Results): void => {
    results = launches.map(one);
  };
  device.load(image, 'program', run, session);
  return { results, counts: new Map(device.pcCounts) };
}

/** What a run executed of the original instructions, by their addresses. */
function originals({ counts }: Run, map: PcMap): Map<number, PcCount> {
  const found = new Map<number, PcCount>();
  for (const { address, origin, kind } of map.rows) {
    const count = counts.get(address);
    if (kind === 'original' && origin !== undefined && count) found.set(origin, count);
  }
  return found;
}

/** What the reports of a run say of its instructions, where the native run says otherwise. */
function wrongCounts({ result }: ToolReport, native: Run, level: string): string[] {
  return result.tables
    .find(({ name }) => name === 'instructions')!
    .rows.flatMap(([address, , , text, count]) => {
      const { waves, lanes } = native.counts.get(Number(address)) ?? { waves: 0, lanes: 0 };
      // At the level of waves, those of which no lane is active do not count.
      const [least, most] = !isVector(text!) ? [waves, waves] : level === 'wave' ? [0, waves] : [lanes, lanes];
      return Number(count) >= least && Number(count) <= most
        ? []
        : [`${address} ${text}: ${count}, expected ${least} to ${most}`];
    });
}

/** The opcodes of a histogram, and those of a table of instructions. */
function assertHistogram(histogram: ToolReport, instructions: ToolReport): void {
  const byName = new Map<string, bigint>();
  for (const [, , , text, count] of instructions.result.tables.find(({ name }) => name === 'instructions')!.rows) {
    const name = nameIn(`${text}`);
    if (count !== 0n) byName.set(name, (byName.get(name) ?? 0n) + BigInt(count!));
  }
  const { rows } = histogram.result.tables.find(({ name }) => name === 'opcodes')!;
  assert.deepEqual(rows.toSorted(), [...byName].sort());
}

async function testProgram({ target, subject, build, language, level }: Program): Promise<void> {
  const { source } = subject;
  const all = subject.launches(ITEMS, target);
  const random = new Random(SEED + all.length);
  const launches = IS_FULL_SCALE ? all : Array.from({ length: DRAWN_LAUNCHES }, () => all[random.below(all.length)]!);
  const image = await compilers.forDevice(source, language, level, target, build.flags);
  const device = deviceOf(target.processor);
  const native = runAll(device, image, launches);
  const same = (name: string, { results }: Run): void => {
    const found = launches.flatMap((launch, i) => differences(launch, results[i]!, native.results[i]!));
    assert.deepEqual(found, [], name);
  };
  const { bytes, map, kept } = instrumentCodeObject(image, { name: source });
  assert.deepEqual(kept, []);
  const moved = runAll(device, bytes, launches);
  same('identity', moved);
  assert.deepEqual(new Map([...originals(moved, map)].sort()), new Map([...native.counts].sort()));
  const twice = instrumentCodeObject(bytes, { name: source });
  same('identity of the identity', runAll(device, twice.bytes, launches));
  for (const [tool, ...others] of [
    ['instruction-count', 'opcode-histogram'],
    ['instruction-count:level=wave'],
    ['block-count'],
    ['memory-trace'],
  ] as const) {
    const session = new ToolSession(await Promise.all([tool, ...others].map(chooseTool)));
    const rewritten = session.instrument({ bytes: image, name: source });
    same(tool, runAll(device, rewritten.bytes, launches, session));
    const [report, histogram] = session.reports;
    // What no kernel is known to reach is refused, and counts as nothing here as it does natively.
    if (tool !== 'memory-trace') {
      const wrong = wrongCounts(report!, native, tool.endsWith('wave') ? 'wave' : 'thread');
      assert.deepEqual(wrong.slice(0, 20), [], `${tool}: ${wrong.length} instructions`);
    }
    if (histogram) assertHistogram(histogram, report!);
    if (tool !== 'instruction-count:level=wave') continue;
    const again = new ToolSession([await chooseTool(tool)]);
    same(`${tool} twice`, runAll(device, again.instrument({ bytes: rewritten.bytes, name: source }).bytes, launches));
  }
}

for (const program of hasClang ? drawn() : []) {
  const { target, subject, build, language, level } = program;
  const options = build.flags.filter((flag) => !flag.endsWith('.bc') && !/^-(Xclang|mlink-builtin)/.test(flag));
  const name = [target.processor, `wave${target.waveSize}:`, subject.source, language, `-${level}`, ...options];
  test(name.join(' '), () => testProgram(program));
}
