/** Profiles of sessions: what their reports say of what a program did. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { localModule } from '../hal/index.ts';
import { createHal } from '../hal-drivers/index.ts';
import { countedKernels } from './counted-kernels.ts';
import { Profile } from './profile.ts';
import { kernelImage, MemoryTarget } from './profile-rig.test-support.ts';
import { commandRows } from './reports/command.ts';
import { counterRows } from './reports/counter.ts';
import { dispatchRows } from './reports/dispatch.ts';
import { executableRows } from './reports/executable.ts';
import { explainRows } from './reports/explain.ts';
import { interchangeRows } from './reports/interchange.ts';
import { memoryRows } from './reports/memory.ts';
import { queueRows } from './reports/queue.ts';
import { type ReportRow, textOf } from './reports/rows.ts';
import { summaryRows } from './reports/summary.ts';
import { ProfileFileSink } from './session-file.ts';

const VADD = path.resolve(import.meta.dirname, '../../examples/kernels/vadd.gfx90a.co');
const ALL = { glob: '*', id: undefined };

/** A pipeline of two queues, and a command buffer of two dispatches, on a clock that counts. */
async function profiled(capacity?: number): Promise<Uint8Array> {
  await using hal = createHal({ clock: 'counted' });
  const device = await hal.open('amdgpu?target=gfx90a&queues=2&seed=1');
  const code = device.load(readFileSync(VADD));
  const target = new MemoryTarget();
  const session = await device.profile({ sink: new ProfileFileSink(target), ...(capacity && { capacity }) });
  const [copies, compute] = device.queues;
  const timeline = device.createSemaphore();
  const { result: a } = copies!.alloca({ sizeBytes: 1024, signals: [timeline.at(1)] });
  const contents = new Float32Array(256);
  copies!.update({ target: a, contents, waits: [timeline.at(1)], signals: [timeline.at(2)] });
  const sum = device.allocate(1024);
  const vadd = { entry: code.lookup('vadd'), groups: 4, workgroupSize: 64, bindings: [sum, a, a], constants: [256] };
  await compute!.dispatch({ ...vadd, waits: [timeline.at(2)], signals: [timeline.at(3)] });
  const program = device.record({}, (commands) => commands.dispatch(vadd).barrier().dispatch(vadd));
  await copies!.execute({ commands: program });
  await copies!.dealloca({ buffer: a });
  for (const each of [program, sum]) each[Symbol.dispose]();
  await session.end();
  return target.bytes;
}

const of = (rows: readonly ReportRow[], type: string): ReportRow[] => rows.filter((row) => row.type === type);

test('reports say what a program did', async () => {
  const profile = Profile.read(await profiled());
  const dispatches = dispatchRows(profile, ALL, false);
  const [group] = of(dispatches, 'dispatch_group');
  assert.deepEqual(
    [group!['key'], group!['count'], group!['valid'], group!['time_ns_available'], group!['last_workgroup_count']],
    ['vadd', 3, 3, true, [4, 1, 1]],
  );
  const events = of(dispatchRows(profile, ALL, true), 'dispatch_event');
  assert.deepEqual(
    events.map((event) => [event['submission_id'], event['queue_ordinal'], event['command_buffer_id'], event['flags']]),
    [
      [3n, 1, 0n, 0],
      [4n, 0, 1n, 1],
      [4n, 0, 1n, 1],
    ],
  );
  for (const event of events) assert.ok(Number(event['duration_ticks']) > 0);
  assert.deepEqual(
    of(queueRows(profile, ALL), 'queue_event').map((event) => [
      event['op'],
      event['wait_count'],
      event['payload_length'],
    ]),
    [
      ['alloca', 0, 1024n],
      ['update', 1, 1024n],
      ['dispatch', 1, 0n],
      ['execute', 0, 0n],
      ['dealloca', 0, 1024n],
    ],
  );
  assert.deepEqual(
    of(commandRows(profile, ALL), 'command_operation').map((each) => [each['op'], each['key']]),
    [
      ['dispatch', 'vadd'],
      ['barrier', 'barrier'],
      ['dispatch', 'vadd'],
    ],
  );
  assert.equal(of(executableRows(profile, ALL), 'executable_export')[0]!['binding_count'], 3);
  const allocations = of(memoryRows(profile, ALL), 'memory_allocation');
  assert.deepEqual(
    allocations.map((each) => [each['kind'], each['open_at_end'], each['lifecycle_high_water_bytes']]).sort(),
    [
      ['buffer_allocation', false, 1024n],
      ['queue_allocation', false, 1024n],
    ],
  );
  const [summary, device] = summaryRows(profile);
  assert.deepEqual([summary!['unknown_chunks'], summary!['dropped_records'], device!['dispatches']], [0, 0n, 3]);
  assert.match(
    textOf(dispatches, { dispatch_group: ['key', 'count'] }),
    /\ndispatch_group\n {2}key {3}count\n {2}vadd {6}3\n$/,
  );
});

test('filters choose by name and by id', async () => {
  const profile = Profile.read(await profiled());
  const matched = (glob: string, id?: bigint) =>
    dispatchRows(profile, { glob, id }, true).at(-1)!['matched_dispatches'];
  assert.deepEqual([matched('v*'), matched('w*'), matched('*', 0n)], [3, 0, 0]);
  const queued = queueRows(profile, { glob: 'all*', id: 1n });
  assert.deepEqual(
    of(queued, 'queue_event').map(({ op }) => op),
    ['alloca'],
  );
});

test('the same program has the same profile, to the last byte', async () => {
  assert.deepEqual(await profiled(), await profiled());
});

test('a row for each record, and one that says what rows are', async () => {
  const profile = Profile.read(await profiled());
  const rows = [...interchangeRows(profile)];
  assert.deepEqual([rows[0]!['record_type'], rows[0]!['schema_version']], ['schema', 15]);
  const types = Map.groupBy(rows, (row) => row['record_type']);
  assert.deepEqual(
    ['session', 'queue', 'executable_export', 'dispatch_event', 'event_relationship'].map(
      (type) => types.get(type)?.length,
    ),
    [2, 2, 1, 3, 6],
  );
  const { flags, op, type_value: value, ...event } = types.get('queue_device_event')![1]!;
  assert.deepEqual([flags, op, value, event['operation_count']], [0, 'execute', 3, 2]);
  assert.equal(
    Number(event['duration_ns']),
    Number(event['end_driver_host_cpu_time_ns']) - Number(event['start_driver_host_cpu_time_ns']),
  );
});

test('what was dropped is in the chunks of its family', async () => {
  const profile = Profile.read(await profiled(4));
  assert.ok(profile.losses().droppedRecords > 0n);
  const lost = profile.parts.filter(({ isTruncated }) => isTruncated).map(({ contentType }) => contentType);
  assert.deepEqual(new Set(lost).size, lost.length, 'once for each family');
  assert.ok(lost.includes('dispatch-events'));
});

test('reports of a family tell of its own drops, and no device comes of a chunk without records', async () => {
  const profile = Profile.read(await profiled(4));
  const droppedOf = (...types: string[]): bigint =>
    profile.parts.reduce((sum, part) => sum + (types.includes(part.contentType) ? part.droppedCount : 0n), 0n);
  const [ofQueues] = of(queueRows(profile, ALL), 'queue_summary');
  assert.equal(ofQueues!['dropped_records'], droppedOf('queue-events', 'queue-device-events', 'host-execution-events'));
  const [ofMemory] = of(memoryRows(profile, ALL), 'memory_summary');
  assert.equal(ofMemory!['dropped_records'], droppedOf('memory-events'));
  const [all] = summaryRows(profile);
  assert.ok(Number(all!['dropped_records']) > Number(ofQueues!['dropped_records']));
  const dispatches = profile.parts.filter(({ contentType }) => contentType === 'dispatch-events');
  assert.deepEqual(new Set(dispatches.map((part) => part.physicalDeviceOrdinal)), new Set([0]));
});

/** 33 instructions: a scalar one, 5 times 3 vector ones, 2 scalar ones and a branch, s_nop and s_endpgm. */
const COUNTED = `s_mov_b32 s0, 5
loop:
v_mov_b32_e32 v0, 1
v_add_u32_e32 v0, v0, v0
v_mul_lo_u32 v1, v0, v0
s_sub_u32 s0, s0, 1
s_cmp_lg_u32 s0, 0
s_cbranch_scc1 loop
s_nop 0`;
test('what a kernel executes is counted, by class', async () => {
  await using hal = createHal({ countsInstructions: true, clock: 'counted' });
  const device = await hal.open('amdgpu?target=gfx90a');
  const code = device.load(kernelImage('counted', COUNTED));
  const counted = { entry: code.lookup('counted'), workgroupSize: 64 };
  const names = ['WW_INSTS', 'SQ_WAVES', 'SQ_INSTS_SALU', 'SQ_INSTS_VALU', 'SQ_INSTS_BRANCH', 'SQ_INSTS_LDS'];
  const target = new MemoryTarget();
  const data = ['dispatch-events', 'counters'] as const;
  const session = await device.profile({ sink: new ProfileFileSink(target), data, counters: names });
  await device.queue().dispatch({ ...counted, groups: 3 });
  using program = device.record({}, (commands) => commands.dispatch({ ...counted, groups: 1 }));
  await device.queue(1).execute({ commands: program });
  await session.end();
  const profile = Profile.read(target.bytes);
  const rows = counterRows(profile, ALL, true);
  const wave = { WW_INSTS: 33, SQ_WAVES: 1, SQ_INSTS_SALU: 11, SQ_INSTS_VALU: 15, SQ_INSTS_BRANCH: 5, SQ_INSTS_LDS: 0 };
  assert.deepEqual(
    of(rows, 'counter_sample').map((row) => [row['counter'], row['value']]),
    [3n, 1n].flatMap((waves) => Object.entries(wave).map(([name, count]) => [name, waves * BigInt(count)])),
  );
  const events = of(dispatchRows(profile, ALL, true), 'dispatch_event').map((event) => event['event_id']);
  assert.deepEqual(new Set(of(rows, 'counter_sample').map((row) => row['dispatch_event_id'])), new Set(events));
  assert.deepEqual(of(counterRows(profile, { glob: 'SQ_WAVES', id: undefined }, false), 'counter_group').length, 2);
  const unknown = { sink: new ProfileFileSink(new MemoryTarget()), counters: ['SQ_WAVE'] };
  await assert.rejects(device.profile(unknown), { status: 'INVALID_ARGUMENT', message: /no counter 'SQ_WAVE'/ });
});

/** Of each wave: 2 scalar loads, 3 scalar atomics, of which one returns, on memory of their own. */
const SCALAR_ATOMICS = `
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s4, 1
  s_mov_b32 s5, 2
  s_atomic_add s4, s[2:3], 0x0
  s_waitcnt lgkmcnt(0)
  s_atomic_inc s5, s[2:3], 0x4
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s6, 1
  s_atomic_add s6, s[2:3], 0x8 glc
  s_waitcnt lgkmcnt(0)
  s_load_dword s7, s[2:3], 0x0
  s_waitcnt lgkmcnt(0)`;

test('scalar atomics are scalar accesses and atomics on memory', async () => {
  await using hal = createHal({ countsInstructions: true, countsEachInstruction: true, clock: 'counted' });
  const device = await hal.open('amdgpu?target=gfx90a');
  const image = kernelImage('scalar', SCALAR_ATOMICS, { hasBuffer: true });
  const memory = device.allocate(16, { memoryType: 'host-local', usage: ['default', 'mapping'] });
  memory.zero();
  const target = new MemoryTarget();
  const data = ['counters', 'instruction-counts'] as const;
  const session = await device.profile({ sink: new ProfileFileSink(target), data });
  const scalar = { entry: device.load(image).lookup('scalar'), workgroupSize: 128, bindings: [memory] };
  await device.queue().dispatch({ ...scalar, groups: 3 });
  await session.end();
  const profile = Profile.read(target.bytes);
  const samples = of(counterRows(profile, ALL, true), 'counter_sample');
  const countOf = (name: string) => samples.find((row) => row['counter'] === name)!['value'];
  const perWave = { SQ_WAVES: 1n, SQ_INSTS_SMEM: 5n, WW_ATOMICS_GLOBAL: 3n, WW_ATOMICS_LDS: 0n, WW_INSTS_VMEM: 0n };
  for (const [name, count] of Object.entries(perWave)) assert.equal(countOf(name), 6n * count, name);
  const [kernel] = countedKernels(profile);
  const atomics = kernel!.instructions.filter(({ className }) => className === 'smem-atomic');
  assert.deepEqual(
    atomics.map(({ waves }) => waves),
    [6n, 6n, 6n],
  );
  // What memory says: six waves added 1 to a word, and each added 1 to another.
  const words = new Uint32Array(memory.read().slice().buffer);
  assert.deepEqual([words[0], words[2]], [6, 6]);
});

test('dispatches that the host runs have times of the host', async () => {
  await using hal = createHal();
  const device = await hal.open('local');
  const code = device.load(localModule({ twice: { bindingCount: 1, run: () => {} } }));
  const target = new MemoryTarget();
  const session = await device.profile({ sink: new ProfileFileSink(target) });
  const buffer = device.allocate(16);
  await device.queue().dispatch({ entry: code.lookup('twice'), groups: 2, workgroupSize: 1, bindings: [buffer] });
  await session.end();
  const rows = dispatchRows(Profile.read(target.bytes), ALL, false);
  const [group] = of(rows, 'host_dispatch_group');
  assert.deepEqual([group!['key'], group!['count'], group!['last_workgroup_count']], ['twice', 1, [2, 1, 1]]);
  const explained = explainRows(Profile.read(target.bytes), ALL);
  const [summary] = of(explained, 'explain_summary');
  assert.deepEqual([summary!['dispatches'], summary!['valid_host_dispatches']], [0, 1]);
  const [top] = of(explained, 'explain_top_export');
  assert.deepEqual([top!['key'], top!['timing_source'], top!['valid']], ['twice', 'host_execution_event', 1]);
  const [longest] = of(explained, 'explain_top_dispatch');
  assert.deepEqual([longest!['timing_source'], longest!['duration_ns']], ['host_execution_event', top!['total_ns']]);
});

/** Of each wave: 2 waits, 2 atomics on the LDS, 2 on memory, a barrier. */
const SYNCHRONISED = `
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, 1
  s_mov_b32 m0, -1
  ds_add_u32 v1, v2
  ds_add_rtn_u32 v3, v1, v2
  ds_write_b32 v1, v2
  s_barrier
  global_atomic_add v1, v2, s[2:3]
  v_mov_b32 v4, s2
  v_mov_b32 v5, s3
  flat_atomic_add v[4:5], v2
  global_load_dword v6, v1, s[2:3]
  s_waitcnt vmcnt(0) lgkmcnt(0)`;

test('waits, barriers and atomics are counted, and what limits the waves of a SIMD', async () => {
  await using hal = createHal({ countsInstructions: true, clock: 'counted' });
  const device = await hal.open('amdgpu?target=gfx90a');
  const code = device.load(kernelImage('synchronised', SYNCHRONISED, { ldsSizeBytes: 16_384, hasBuffer: true }));
  const memory = device.allocate(1024);
  const target = new MemoryTarget();
  const data = ['counters', 'counter-ranges', 'device-metrics'] as const;
  const session = await device.profile({ sink: new ProfileFileSink(target), data });
  const dispatch = { entry: code.lookup('synchronised'), workgroupSize: 128, bindings: [memory] };
  await device.queue().dispatch({ ...dispatch, groups: 3 });
  await session.flush();
  await device.queue().dispatch({ ...dispatch, groups: 1 });
  await device.queue(1).dispatch({ ...dispatch, groups: 1 });
  await session.end();
  const profile = Profile.read(target.bytes);
  const samples = of(counterRows(profile, ALL, true), 'counter_sample');
  const inScope = (scope: string, name: string) =>
    samples.filter((row) => row['scope'] === scope && row['counter'] === name).map((row) => row['value']);
  const perWave = {
    WW_INSTS_WAIT: 2n,
    WW_INSTS_BARRIER: 1n,
    WW_ATOMICS_LDS: 2n,
    WW_ATOMICS_GLOBAL: 2n,
    WW_INSTS_VMEM: 2n,
  };
  for (const [name, count] of Object.entries({ ...perWave, WW_INSTS_FLAT: 1n, SQ_INSTS_LDS: 3n, SQ_WAVES: 1n })) {
    assert.deepEqual(inScope('dispatch', name), [6n * count, 2n * count, 2n * count], name);
    assert.deepEqual(inScope('device_time_range', name), [6n * count, 4n * count], name);
  }
  // 4 workgroups of 2 waves have room in the LDS, which 4 SIMDs share; 16 have barriers; 32 VGPRs are few.
  const limits = { WW_OCCUPANCY: 2n, WW_OCCUPANCY_LDS: 2n, WW_OCCUPANCY_WORKGROUPS: 8n, WW_OCCUPANCY_VGPRS: 8n };
  for (const [name, count] of Object.entries({ ...limits, WW_OCCUPANCY_SGPRS: 8n })) {
    assert.deepEqual(
      [inScope('dispatch', name), inScope('device_time_range', name)],
      [[count, count, count], []],
      name,
    );
  }
  const ranges = samples.filter((row) => row['scope'] === 'device_time_range' && row['counter'] === 'SQ_WAVES');
  assert.equal(ranges[0]!['end_tick'], ranges[1]!['start_tick'], 'one behind the other');
  const metrics = [...interchangeRows(profile)].filter((row) => row['record_type'] === 'device_metric_sample');
  const named = metrics.map(({ values }) =>
    Object.fromEntries((values as { name: string; value: bigint }[]).map(({ name, value }) => [name, value])),
  );
  assert.deepEqual(
    metrics.map(({ flags }) => flags),
    [2, 0, 0],
    'at the first nothing has run',
  );
  assert.ok(named.every((each) => each['memory.local.total'] === 2n ** 28n && each['memory.local.used']! > 1024n));
  assert.ok(named.slice(1).every((each) => each['activity.compute']! > 0n && each['activity.compute']! <= 100_000n));
});
