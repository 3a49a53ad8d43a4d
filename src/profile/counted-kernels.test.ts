/** Counts of single instructions, from a device through a file. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHal } from '../hal-drivers/index.ts';
import { countedKernels } from './counted-kernels.ts';
import { EXECUTABLE_CODE_OBJECTS } from './format/records.ts';
import { Profile } from './profile.ts';
import { kernelImage, MemoryTarget } from './profile-rig.test-support.ts';
import { ProfileFileSink } from './session-file.ts';

/** Lanes go round as often as their number in four says. */
const ROUNDS = `
  v_and_b32 v1, 3, v0
  v_mov_b32 v2, 0
.Lloop:
  v_cmp_gt_u32 vcc, v1, v2
  s_and_b64 exec, exec, vcc
  s_cbranch_execz .Lend
  v_add_u32 v2, 1, v2
  s_branch .Lloop
.Lend:`;

async function twice(): Promise<Uint8Array> {
  await using hal = createHal({ clock: 'counted', countsEachInstruction: true });
  const device = await hal.open('amdgpu?target=gfx90a');
  const target = new MemoryTarget();
  const data = ['instruction-counts'] as const;
  const session = await device.profile({ sink: new ProfileFileSink(target), data });
  {
    using code = device.load(kernelImage('rounds', ROUNDS));
    const rounds = { entry: code.lookup('rounds'), groups: 3, workgroupSize: 64 };
    await device.queue().dispatch(rounds);
    await session.flush();
    await device.queue().dispatch(rounds);
  }
  await session.end();
  return target.bytes;
}

test('each instruction is counted by waves and lanes, in code that stands in the file', async () => {
  const file = await twice();
  assert.deepEqual(await twice(), file, 'the same program has the same profile');
  const profile = Profile.read(file);
  const [kernel, ...others] = countedKernels(profile);
  assert.deepEqual([kernel!.key, kernel!.waveSize, kernel!.dispatchCount, kernel!.waveCount], ['rounds', 64, 2n, 6n]);
  assert.equal(others.length, 0);
  const lanes = [64n, 64n, 160n, 160n, 96n, 96n, 96n, 0n];
  const waves = [1n, 1n, 4n, 4n, 4n, 3n, 3n, 1n];
  const counted = kernel!.instructions;
  assert.deepEqual(
    counted.map((each) => [each.waves, each.lanes]),
    waves.map((count, i) => [6n * count, 6n * lanes[i]!]),
  );
  assert.deepEqual(
    counted.map(({ taken }) => taken),
    [0n, 0n, 0n, 0n, 6n, 0n, 0n, 0n],
  );
  assert.deepEqual(
    counted.map(({ control }) => control),
    ['next', 'next', 'next', 'next', 'conditional', 'next', 'branch', 'end'],
  );
  assert.deepEqual([counted[4]!.targetAddress, counted[6]!.targetAddress], [counted[7]!.address, counted[2]!.address]);
  assert.deepEqual([counted[2]!.text, counted[2]!.className], ['v_cmp_gt_u32_e32 vcc, v1, v2', 'valu']);
  assert.deepEqual(counted[2]!.function, { name: 'rounds', offset: counted[2]!.address - counted[0]!.address });
  assert.equal(profile.count(EXECUTABLE_CODE_OBJECTS).records, 1);
});

test('a device that was not opened for it counts no single instructions', async () => {
  await using hal = createHal();
  const device = await hal.open('amdgpu?target=gfx90a');
  const session = device.profile({ sink: new ProfileFileSink(new MemoryTarget()), data: ['instruction-counts'] });
  await assert.rejects(session, /was not opened to count each instruction/);
});
