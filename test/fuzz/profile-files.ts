/**
 * Damaged profiles: each is read, and one of its reports or exports made, which ends in nothing but a
 * `WavewrightError`, within little memory. `node test/fuzz/profile-files.ts 1000000 1` mutates a million
 * files from seed 1 on.
 */
import { createHal } from '../../src/hal-drivers/index.ts';
import { countedKernels } from '../../src/profile/counted-kernels.ts';
import { perfettoTrace } from '../../src/profile/export/perfetto.ts';
import { collapsedStacks, pprofProfile } from '../../src/profile/export/stacks.ts';
import { Profile } from '../../src/profile/profile.ts';
import { kernelImage, MemoryTarget } from '../../src/profile/profile-rig.test-support.ts';
import { attRows } from '../../src/profile/reports/att.ts';
import { catRows } from '../../src/profile/reports/cat.ts';
import { commandRows } from '../../src/profile/reports/command.ts';
import { counterRows } from '../../src/profile/reports/counter.ts';
import { diffRows } from '../../src/profile/reports/diff.ts';
import { dispatchRows } from '../../src/profile/reports/dispatch.ts';
import { executableRows } from '../../src/profile/reports/executable.ts';
import { explainRows } from '../../src/profile/reports/explain.ts';
import { interchangeRows } from '../../src/profile/reports/interchange.ts';
import { memoryRows } from '../../src/profile/reports/memory.ts';
import { queueRows } from '../../src/profile/reports/queue.ts';
import { statisticsRows, statisticsText } from '../../src/profile/reports/statistics.ts';
import { summaryRows } from '../../src/profile/reports/summary.ts';
import { ProfileFileSink } from '../../src/profile/session-file.ts';
import { tracedDispatches } from '../../src/profile/traced-dispatches.ts';
import { type MutationResult, mutateFiles } from './replay-files.ts';

const LOOP = `
  s_mov_b32 s4, 3
.Lloop:
  v_add_u32 v1, v0, v0
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 .Lloop`;

/** A profile with records of all families that our devices tell of. */
export async function wholeProfile(processors: readonly string[] = ['gfx90a']): Promise<Uint8Array> {
  const counts = { countsInstructions: true, countsEachAccess: true, tracesWaves: true };
  await using hal = createHal({ clock: 'counted', processors, ...counts });
  const device = await hal.open('amdgpu?seed=1');
  using code = device.load(kernelImage('fuzzed', LOOP));
  const target = new MemoryTarget();
  const session = await device.profile({ sink: new ProfileFileSink(target) });
  const kernel = { entry: code.lookup('fuzzed'), groups: 2, workgroupSize: 64 };
  using buffer = device.allocate(64);
  using program = device.record({}, (commands) => commands.dispatch(kernel).barrier().dispatch(kernel));
  await device.queue().fill({ target: buffer, pattern: Uint8Array.of(7) });
  await device.queue().dispatch(kernel);
  await session.flush();
  await device.queue().execute({ commands: program });
  const { result } = device.queue().alloca({ sizeBytes: 64 });
  await device.queue().dealloca({ buffer: result });
  await session.end();
  return target.bytes;
}

const ALL = { glob: '*', id: undefined };
const USES: readonly ((profile: Profile) => unknown)[] = [
  summaryRows,
  statisticsRows,
  statisticsText,
  (profile) => dispatchRows(profile, ALL, true),
  (profile) => explainRows(profile, ALL),
  (profile) => executableRows(profile, ALL),
  (profile) => commandRows(profile, ALL),
  (profile) => queueRows(profile, ALL),
  (profile) => memoryRows(profile, ALL),
  (profile) => counterRows(profile, ALL, true),
  (profile) => attRows(profile, ALL),
  (profile) => diffRows(profile, profile, ALL),
  catRows,
  (profile) => [...interchangeRows(profile)],
  perfettoTrace,
  (profile) => [...collapsedStacks(profile)],
  pprofProfile,
  countedKernels,
  (profile) => Array.from(tracedDispatches(profile), ({ data, executed }) => [...data.waves.keys()].map(executed)),
];

/** As `mutateFiles`, of profiles. */
export async function mutateProfiles(count: number, seed: number): Promise<MutationResult> {
  const files = [await wholeProfile(), await wholeProfile(['gfx90a', 'gfx90a'])];
  let next = seed;
  return mutateFiles(count, seed, files, (bytes) => {
    USES[next++ % USES.length]!(Profile.read(bytes));
  });
}

if (import.meta.main) {
  const [count = 1_000_000, seed = 1] = process.argv.slice(2).map(Number);
  console.log(JSON.stringify(await mutateProfiles(count, seed)));
}
