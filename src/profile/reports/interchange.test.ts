/** Files and renderers of IREE before and after May 2026, when exports became functions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BundleWriter } from '../format/bundle.ts';
import type { RecordLayout, RecordOf } from '../format/record-layout.ts';
import {
  CLOCK_CORRELATIONS,
  CLOCK_FLAG,
  DEVICES,
  DISPATCH_EVENTS,
  EXECUTABLE_EXPORTS,
  EXECUTABLE_FUNCTIONS,
  EXECUTABLES,
} from '../format/records.ts';
import { Profile } from '../profile.ts';
import { MemoryTarget } from '../profile-rig.test-support.ts';
import { interchangeRows, withFunctionNames } from './interchange.ts';
import { summaryRows } from './summary.ts';

const QUEUE = { physicalDeviceOrdinal: 0, queueOrdinal: 0, streamId: 1n };
const EXPORT = { executableId: 7n, exportOrdinal: 3, name: 'vadd' };

type Add = <Layout extends RecordLayout>(layout: Layout, ...records: Partial<RecordOf<Layout>>[]) => void;

function profileOf(write: (add: Add) => void): Profile {
  const target = new MemoryTarget();
  const writer = new BundleWriter(target);
  write((layout, ...records) =>
    writer.record(
      'chunk',
      layout.contentType,
      QUEUE,
      records.map((each) => layout.encode(each)),
    ),
  );
  writer.end();
  return Profile.read(target.bytes);
}

test('renderers find exports by both names', () => {
  const profile = profileOf((add) => {
    add(EXECUTABLES, { executableId: 7n, exportCount: 4 });
    add(EXECUTABLE_EXPORTS, EXPORT);
    add(DISPATCH_EVENTS, { executableId: 7n, exportOrdinal: 3 });
  });
  const rows = [...withFunctionNames(interchangeRows(profile))];
  const of = (type: string) => rows.find((row) => row['record_type'] === type)!;
  assert.deepEqual([of('executable')['export_count'], of('executable')['function_count']], [4, 4]);
  assert.deepEqual([of('dispatch_event')['export_ordinal'], of('dispatch_event')['function_ordinal']], [3, 3]);
  const { export_ordinal: ordinal, pipeline_hash_present: hasHash, ...exported } = of('executable_export');
  const { function_ordinal: same, function_hash_present: hasToo, ...named } = of('executable_function');
  assert.deepEqual([same, hasToo, named['name']], [ordinal, hasHash, 'vadd']);
  assert.ok(!('function_ordinal' in exported) && !('export_ordinal' in named));
});

test('a file that calls exports functions alone has them, and counts them', () => {
  const profile = profileOf((add) => add(EXECUTABLE_FUNCTIONS, EXPORT));
  assert.equal(profile.keyOf(7n, 3), 'vadd');
  const [summary] = summaryRows(profile);
  assert.deepEqual([summary!['executable_export_chunks'], summary!['executable_export_records']], [1, 1]);
});

test('ticks that are not aligned with those of events give no nanoseconds', () => {
  const sample = (flags: number, tick: bigint) => ({
    flags: CLOCK_FLAG.deviceTick | CLOCK_FLAG.hostCpu | flags,
    physicalDeviceOrdinal: 0,
    deviceTick: tick,
    hostCpuTimestampNs: 10n * tick,
  });
  for (const [flags, invalid] of [
    [0, 0],
    [CLOCK_FLAG.deviceTickUnaligned, 1],
  ] as const) {
    const profile = profileOf((add) => {
      add(DEVICES, { physicalDeviceOrdinal: 0 });
      add(CLOCK_CORRELATIONS, sample(0, 1n), sample(flags, 2n), sample(0, 3n));
    });
    const device = summaryRows(profile).find(({ type }) => type === 'device_summary')!;
    assert.deepEqual(
      [device['clock_fit_available'], device['invalid_clock_alignment_samples']],
      [invalid === 0, invalid],
    );
  }
});
