/**
 * Reference, handlers and models on many random states of every row. A state is a lane that is on of a vector
 * instruction, or a run of a scalar one; the forms of a row that are recorded share the states. Prints what
 * differs, and how many rows and states there were.
 *
 *   node tools/semantics/lockstep.ts PROCESSOR [STATES] [PATTERN]
 */
import { encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import type { Row } from '../../src/isa/amdgpu/encoding/row.ts';
import { targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { differences } from '../../test/semantics/difference.ts';
import type { Recording } from '../../test/semantics/recorded.ts';
import { StateRunner } from '../../test/semantics/state-runner.ts';
import { exchangeStates } from './exchange-states.ts';
import { PLANS, toleranceOf, waveSizeOf } from './generate.ts';
import { encodingVariants, jobOf } from './jobs.ts';
import { accessStates } from './memory-states.ts';
import { expectedState } from './model.ts';
import { scalarAccessStates } from './scalar-memory-states.ts';

const COLUMNS = 32;
const MAX_REPORTS = 3;
const MEMORY_FORMATS = /^(DS|FLAT|GLOBAL|SCRATCH|MUBUF|SMEM)$/;

const [processor = 'gfx90a', count = '10000', pattern = '.'] = process.argv.slice(2);
const states = Number(count);
const planned = PLANS.find((plan) => plan.processor === processor)!.waveSize;
const filter = new RegExp(pattern);

const runnersBySize = new Map<number, readonly [StateRunner, StateRunner]>();
function runners(waveSize: 32 | 64): readonly [StateRunner, StateRunner] {
  let pair = runnersBySize.get(waveSize);
  if (!pair) {
    pair = [new StateRunner(processor, 'reference', waveSize), new StateRunner(processor, 'handlers', waveSize)];
    runnersBySize.set(waveSize, pair);
  }
  return pair;
}

const reports = new Map<string, number>();
function report(row: Row, lines: readonly string[]): void {
  const earlier = reports.get(row.name) ?? 0;
  reports.set(row.name, earlier + 1);
  if (earlier < MAX_REPORTS) process.stdout.write(`${row.name}: ${lines.slice(0, 2).join('; ')}\n`);
}

function check(row: Row, recording: Recording): void {
  const [reference, handlers] = runners(recording.waveSize);
  const found = reference.run(recording);
  const fromModel = differences(recording, found);
  if (fromModel.length > 0) report(row, ['reference and model', ...fromModel]);
  const { tolerance: _, ...exact } = recording;
  const fromReference = differences({ ...exact, after: { ...found } }, handlers.run(recording));
  if (fromReference.length > 0) report(row, ['handlers and reference', ...fromReference]);
}

const done = new Map<string, number>();
const finish = (row: Row, added: number): void => {
  done.set(`${row.format} ${row.name}`, (done.get(`${row.format} ${row.name}`) ?? 0) + added);
};

const byRow = Map.groupBy(encodingVariants(processor), ({ encoding }) => encoding.row);
for (const [row, forms] of byRow) {
  if (!filter.test(row.name)) continue;
  const perForm = Math.ceil(states / forms.length / (COLUMNS - 2));
  for (const { encoding, target, variant } of forms) {
    for (let i = 0; i < perForm; i++) {
      const extent = { columns: COLUMNS, seed: `state ${i}` };
      const job = jobOf(encoding, target, waveSizeOf(row.name, planned), variant, extent);
      const after = expectedState(job);
      if (!after) break;
      const tolerance = toleranceOf(job);
      check(row, { ...job.recording, ...(tolerance && { tolerance }), targets: [], source: '', after });
      finish(row, COLUMNS - 2);
    }
  }
}

/** States of memory instructions, by what a row is. */
const MEMORY_STATES = [accessStates, exchangeStates, scalarAccessStates];
/** Lanes that are on, or runs. */
const STATES_PER_RECORDING = 20;

const target = targetFor(processor);
for (const row of allRows()) {
  if (!row.semantics || !MEMORY_FORMATS.test(row.format) || !filter.test(row.name)) continue;
  for (const encoding of encodingsOf(row, target)) {
    for (let made = 0, i = 0; made < states; i++) {
      const recordings = MEMORY_STATES.flatMap((make) => [...make(encoding, target, planned, `state ${i}`)]);
      if (recordings.length === 0) break;
      for (const recording of recordings) check(row, { ...recording, targets: [], source: '' });
      made += STATES_PER_RECORDING * recordings.length;
      finish(row, STATES_PER_RECORDING * recordings.length);
    }
  }
}

const total = [...done.values()].reduce((sum, each) => sum + each, 0);
process.stdout.write(
  `${processor}: ${done.size} rows, ${total} states; rows with differences: ${[...reports.keys()].join(' ') || 'none'}\n`,
);
