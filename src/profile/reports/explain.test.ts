/** What `profile explain` makes of dispatches, queues and counted instructions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BundleWriter } from '../format/bundle.ts';
import {
  COUNTED_KERNELS,
  INSTRUCTION_COUNT_FLAG,
  INSTRUCTION_COUNTS,
  INSTRUCTIONS,
} from '../format/instruction-records.ts';
import type { RecordLayout, RecordOf } from '../format/record-layout.ts';
import { DEVICES, DISPATCH_EVENTS, EXECUTABLE_EXPORTS, QUEUE_EVENTS, QUEUES } from '../format/records.ts';
import { Profile } from '../profile.ts';
import { MemoryTarget } from '../profile-rig.test-support.ts';
import { explainRows } from './explain.ts';
import type { ReportRow } from './rows.ts';

const ALL = { glob: '*', id: undefined };
const QUEUE = { physicalDeviceOrdinal: 0, queueOrdinal: 0, streamId: 1n };

function fileOf(write: (add: <L extends RecordLayout>(layout: L, ...records: Partial<RecordOf<L>>[]) => void) => void) {
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

const of = (rows: readonly ReportRow[], type: string): ReportRow[] => rows.filter((row) => row.type === type);

test('queues are busy while any submission runs, and gaps lie between them', () => {
  const profile = fileOf((add) => {
    add(DEVICES, { physicalDeviceOrdinal: 0, queueCount: 1 });
    add(QUEUES, QUEUE);
    add(QUEUE_EVENTS, { type: 2, submissionId: 1n }, { type: 4, payloadLength: 40n, dependencyStrategy: 2 });
    add(
      DISPATCH_EVENTS,
      { executableId: 1n, exportOrdinal: 0, submissionId: 1n, startTick: 10n, endTick: 20n },
      { executableId: 1n, exportOrdinal: 0, submissionId: 1n, startTick: 20n, endTick: 26n },
      { executableId: 1n, exportOrdinal: 1, submissionId: 2n, startTick: 15n, endTick: 30n },
      { executableId: 1n, exportOrdinal: 1, submissionId: 3n, startTick: 35n, endTick: 36n },
      { executableId: 1n, exportOrdinal: 1, submissionId: 4n, startTick: 44n, endTick: 45n },
      { executableId: 1n, exportOrdinal: 1, submissionId: 5n, startTick: 50n, endTick: 0n },
    );
    add(EXECUTABLE_EXPORTS, { executableId: 1n, exportOrdinal: 0, name: 'one' });
  });
  const rows = explainRows(profile, ALL);
  const [queue] = of(rows, 'explain_queue');
  const names = ['submissions', 'valid_submissions', 'invalid_submissions', 'busy_ticks', 'total_dispatch_ticks'];
  assert.deepEqual(
    [...names, 'gaps', 'total_gap_ticks', 'max_gap_ticks'].map((name) => queue![name]),
    [...[5, 4, 1, 22n, 33n], ...[2, 13n, 8n]],
  );
  assert.deepEqual(
    of(rows, 'explain_top_export').map((row) => [row['key'], row['dispatches'], row['total_ticks'], row['max_ticks']]),
    [
      ['device0/executable1#1', 4, 17n, 15n],
      ['one', 2, 16n, 10n],
    ],
  );
  assert.deepEqual(
    of(rows, 'explain_top_dispatch').map((row) => row['duration_ticks']),
    [15n, 10n, 6n, 1n, 1n],
  );
  const [operations] = of(rows, 'explain_queue_operations');
  const told = ['events', 'strategy_none', 'strategy_device_barrier', 'copy_bytes', 'dispatches'];
  assert.deepEqual(
    told.map((name) => operations![name]),
    [2, 1, 1, 40n, 1],
  );
  assert.deepEqual(
    of(rows, 'explain_hint').map((row) => row['category']),
    ['dispatch'],
  );
});

test('hints name the access that scatters, the one whose banks conflict, and where lanes are off', () => {
  const kernel = { executableId: 1n, exportOrdinal: 0, physicalDeviceOrdinal: 0 };
  const place = { executableId: 1n, codeObjectId: 1n };
  const profile = fileOf((add) => {
    add(EXECUTABLE_EXPORTS, { executableId: 1n, exportOrdinal: 0, name: 'transpose' });
    add(COUNTED_KERNELS, { ...kernel, waveSize: 64, segmentBytes: 128, dispatchCount: 1n, waveCount: 10n });
    add(
      INSTRUCTIONS,
      { ...place, address: 0x100n, text: 'global_load', className: 'vmem', sourceFile: 'a.hip', sourceLine: 7 },
      { ...place, address: 0x108n, functionOffset: 8n, text: 'ds_read', className: 'lds' },
      { ...place, address: 0x110n, functionOffset: 16n, text: 'v_add', className: 'valu' },
    );
    const memory = INSTRUCTION_COUNT_FLAG.memory;
    const counts = { ...kernel, codeObjectId: 1n, waveCount: 10n, laneCount: 640n };
    add(
      INSTRUCTION_COUNTS,
      { ...counts, flags: memory, address: 0x100n, accessCount: 10n, byteCount: 2560n, segmentCount: 640n },
      {
        ...counts,
        flags: memory,
        address: 0x108n,
        accessCount: 10n,
        byteCount: 2560n,
        cycleCount: 80n,
        conflictCount: 60n,
      },
      { ...counts, address: 0x110n, waveCount: 20n, laneCount: 20n },
    );
  });
  const rows = explainRows(profile, ALL);
  const messages = of(rows, 'explain_hint').flatMap((row) =>
    row['category'] === 'memory' || row['category'] === 'divergence' ? [row['message']] : [],
  );
  assert.deepEqual(messages, [
    'transpose: a.hip:7 0x100 global_load touches 64 cache lines for an access, of which its lanes use 3.1 %',
    'transpose: 0x108 ds_read spends 75 % of its cycles on bank conflicts',
    'transpose: 0x110 v_add runs with 1.6 % of the lanes',
  ]);
  const [top] = of(rows, 'explain_top_instruction');
  assert.deepEqual(
    [top!['instruction'], top!['waves'], top!['share'], top!['lane_share']],
    ['v_add', 20n, 0.5, 0.0156],
  );
});
