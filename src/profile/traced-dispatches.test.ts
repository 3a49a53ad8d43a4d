/** Traces of waves, from a device through a file. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { createHal } from '../hal-drivers/index.ts';
import { countedKernels } from './counted-kernels.ts';
import { EXECUTABLE_TRACES } from './format/records.ts';
import { decodeTraceData } from './format/wave-trace-data.ts';
import { Profile } from './profile.ts';
import { kernelImage, MemoryTarget } from './profile-rig.test-support.ts';
import { attRows } from './reports/att.ts';
import { ProfileFileSink } from './session-file.ts';
import { tracedDispatches } from './traced-dispatches.ts';

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

async function profiled(filter = '*'): Promise<Uint8Array> {
  await using hal = createHal({ clock: 'counted', tracesWaves: true });
  const device = await hal.open('amdgpu?target=gfx90a');
  const target = new MemoryTarget();
  const session = await device.profile({ sink: new ProfileFileSink(target), filter: { kernel: filter } });
  {
    using code = device.load(kernelImage('rounds', ROUNDS));
    for (const groups of [3, 1])
      await device.queue().dispatch({ entry: code.lookup('rounds'), groups, workgroupSize: 64 });
  }
  await session.end();
  return target.bytes;
}

const file = await profiled();

test('the sum of the traces is what is counted by instruction', async () => {
  assert.deepEqual(await profiled(), file, 'the same program has the same traces');
  const profile = Profile.read(file);
  const traced = tracedDispatches(profile);
  assert.deepEqual(
    traced.map(({ key, data, lostCount }) => [key, data.waves.length, lostCount]),
    [
      ['rounds', 3, 0],
      ['rounds', 1, 0],
    ],
  );
  const sums = Map.groupBy(
    traced.flatMap((dispatch) => dispatch.instructions()),
    ({ address }) => address,
  );
  const [kernel] = countedKernels(profile);
  assert.deepEqual(
    kernel!.instructions.map(({ address }) => {
      const own = sums.get(address)!;
      const sum = (of: 'waves' | 'lanes'): bigint => BigInt(own.reduce((total, each) => total + each[of], 0));
      return [own[0]!.code!.text, sum('waves'), sum('lanes')];
    }),
    kernel!.instructions.map(({ text, waves, lanes }) => [text, waves, lanes]),
  );
  const first = kernel!.instructions[0]!.address;
  assert.deepEqual(
    Array.from(traced[1]!.executed(0), ({ address }) => Number(address - first)),
    [0, 4, ...[8, 12, 16, 20, 24], ...[8, 12, 16, 20, 24], ...[8, 12, 16, 20, 24], ...[8, 12, 16], 28],
  );
});

test('only dispatches that the filter names are in the file', async () => {
  assert.deepEqual(tracedDispatches(Profile.read(await profiled('others'))), []);
});

test('profile att has a row for each trace, with its instructions', () => {
  const rows = attRows(Profile.read(file), { glob: 'r*', id: undefined });
  assert.deepEqual(
    rows.map(({ type }) => type),
    [0, 1].flatMap(() => ['att_trace', ...new Array<string>(8).fill('att_instruction')]),
  );
  const { pc: _, ...instruction } = rows[3]!;
  assert.deepEqual(instruction, {
    type: 'att_instruction',
    trace_id: 1n,
    code_object_id: 1n,
    category: 'valu',
    hits: 12,
    lanes: 480,
    duration: null,
    stall: null,
    instruction: 'v_cmp_gt_u32_e32 vcc, v1, v2',
  });
  assert.deepEqual([rows[0]!.instructions, rows[0]!.waves, rows[0]!.format], [63, 3, 'wavewright_waves']);
  assert.equal(attRows(Profile.read(file), { glob: '*', id: 2n }).length, 9);
  assert.deepEqual(attRows(Profile.read(file), { glob: 'x*', id: undefined }), []);
});

test('damaged traces are refused, at bounded cost', () => {
  const { data } = Profile.read(file).all(EXECUTABLE_TRACES)[0]!;
  let refused = 0;
  for (let at = 0; at < data.length; at++) {
    for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
      const damaged = data.slice();
      damaged[at] = value;
      try {
        const { waves, items } = decodeTraceData(damaged, 'file');
        for (const { stream } of waves) for (const _ of items(stream));
      } catch (error) {
        assert.ok(error instanceof WavewrightError && ['BAD_INPUT', 'UNSUPPORTED'].includes(error.code), String(error));
        refused++;
      }
    }
  }
  assert.ok(refused > data.length);
  for (let length = 0; length < data.length; length++) {
    assert.throws(() => decodeTraceData(data.slice(0, length), 'file'), { code: 'BAD_INPUT' });
  }
});
