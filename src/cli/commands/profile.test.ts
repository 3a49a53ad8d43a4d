import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { countedKernels } from '../../profile/counted-kernels.ts';
import { Profile } from '../../profile/profile.ts';
import { runCommand } from '../run-command.test-support.ts';

const VADD = path.resolve(import.meta.dirname, '../../../examples/kernels/vadd.gfx90a.co');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-profile-'));
after(() => rmSync(folder, { recursive: true }));

const FILE = path.join(folder, 'vadd.ireeprof');
const run = (...options: string[]) =>
  runCommand([
    ...['hal', 'run', VADD, '--workgroup-size=4', '--input=&4xf32', '--input=4xf32=1', '--input=4xf32=10', '--input=4'],
    ...options,
  ]);
const profile = (...argv: string[]) => runCommand(['profile', ...argv]);

test('a run writes a profile, and reports say what is in it', async () => {
  const { status, stderr } = await run(`--device_profiling_output=${FILE}`);
  assert.deepEqual([status, stderr], [0, '']);
  const dispatch = await profile('dispatch', FILE);
  assert.equal(dispatch.status, 0);
  assert.match(dispatch.stdout, /^dispatch_summary: mode=aggregate filter=\* total_dispatches=1 matched_dispatches=1 /);
  assert.match(dispatch.stdout, /\n {2}vadd +0 +1 +\d+ /);
  for (const verb of ['summary', 'executable', 'command', 'queue', 'memory', 'cat']) {
    const { status, stdout } = await profile(verb, FILE, '--format=jsonl');
    assert.equal(status, 0);
    for (const line of stdout.trim().split('\n')) assert.equal(typeof JSON.parse(line).type, 'string');
    assert.equal((await profile(verb, FILE)).status, 0);
  }
  const events = await profile('dispatch', FILE, '--dispatch_events', '--format=jsonl', '--filter=v*');
  assert.equal(JSON.parse(events.stdout.split('\n')[0]!).key, 'vadd');
  const none = await profile('dispatch', FILE, '--format=jsonl', '--filter=other');
  assert.equal(JSON.parse(none.stdout.split('\n')[0]!).matched_dispatches, 0);
});

test('an export has a row for each record, in a file or on the standard output', async () => {
  const output = path.join(folder, 'rows.jsonl');
  assert.equal((await profile('export', FILE, '--format=ireeperf-jsonl', `--output=${output}`)).status, 0);
  const { stdout } = await profile('export', FILE, '--format=ireeperf-jsonl');
  assert.equal(stdout, readFileSync(output, 'utf8'));
  assert.equal(JSON.parse(stdout.split('\n')[0]!).schema_version, 15);
});

test('a trace of Perfetto and a database are files', async () => {
  const trace = path.join(folder, 'vadd.pftrace');
  assert.equal((await profile('export', FILE, '--format=perfetto', `--output=${trace}`)).status, 0);
  for (const name of ['IREE HAL profile', 'queue[0] stream=1', 'dispatch', 'vadd']) {
    assert.ok(readFileSync(trace).includes(name), name);
  }
  const file = path.join(folder, 'vadd.db');
  for (let i = 0; i < 2; i++) {
    assert.equal((await profile('export', FILE, '--format=sqlite', `--output=${file}`)).status, 0);
  }
  const database = new DatabaseSync(file);
  const kernels = database.prepare('SELECT "key", count(*) AS count FROM dispatch_event GROUP BY "key"').all();
  database.close();
  assert.deepEqual(
    kernels.map(({ key, count }) => [key, count]),
    [['vadd', 1]],
  );
});

test('a page is a file that holds all it needs', async () => {
  const page = path.join(folder, 'vadd.html');
  const { status, stdout, stderr } = await profile('html', FILE, '-o', page);
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
  const text = readFileSync(page, 'utf8');
  assert.match(text, /^<!doctype html>\n/);
  assert.doesNotMatch(text.replace(/<script type="module">[\s\S]*?<\/script>/, ''), /(?:src|href)=|https?:/);
});

test('statistics are printed from a file, or at the end of a run', async () => {
  const printed = await run('--print_device_statistics');
  assert.match(printed.stdout, /\n\nIREE HAL device statistics:\n {2}aggregate_rows=2\n {2}dispatch_export_total=\d/);
  assert.match(printed.stdout, /\n {2}dispatch vadd {2}count=1 total=\d+\.\d{3} ms avg=/);
  const read = await profile('statistics', FILE);
  assert.match(read.stdout, /\n {2}host_queue p=0 q=0 dispatch {2}count=1 total=\d/);
  const [summary] = (await profile('statistics', FILE, '--format=jsonl')).stdout.split('\n');
  assert.deepEqual(Object.keys(JSON.parse(summary!)), ['type', 'row_count', 'dropped_record_count']);
  const both = await run('--print_device_statistics', `--device_profiling_output=${FILE}`);
  assert.deepEqual([both.status, /in place of/.test(both.stderr)], [2, true]);
});

test('families and kernels may be chosen', async () => {
  const file = path.join(folder, 'chosen.ireeprof');
  const families = '--device_profiling_mode=dispatch-events,executable-metadata';
  const chosen = await run(`--device_profiling_output=${file}`, families, '--device-profiling-filter-export=w*');
  assert.equal(chosen.status, 0);
  const { stdout } = await profile('summary', file, '--format=jsonl');
  const [summary] = stdout.split('\n').map((line) => JSON.parse(line || '{}'));
  assert.deepEqual([summary.queue_event_records, summary.dispatch_event_chunks], [0, 0]);
});

test('instructions are counted by class when counters are asked for', async () => {
  const file = path.join(folder, 'counted.ireeprof');
  const mode = '--device_profiling_mode=counters';
  assert.equal((await run(`--device_profiling_output=${file}`, mode)).status, 0);
  const sums = async (path: string): Promise<Record<string, number>> => {
    const rows = (await profile('counter', path, '--format=jsonl')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    return Object.fromEntries(
      rows.flatMap(({ type, counter, sum }) => (type === 'counter_group' ? [[counter, sum]] : [])),
    );
  };
  const { SQ_WAVES: waves, WW_INSTS: all, ...counts } = await sums(file);
  assert.equal(waves, 1);
  const classes = Object.entries(counts).filter(([name]) => /_INSTS_(?!MATRIX)/.test(name));
  assert.equal(
    all,
    classes.reduce((sum, [, count]) => sum + count, 0),
    'each instruction is in one class',
  );
  assert.ok(counts['SQ_INSTS_VALU']! > 0 && counts['WW_INSTS_WAIT']! > 0);
  const { WW_OCCUPANCY: occupancy, ...free } = await sums(FILE);
  const limits = Object.fromEntries(['VGPRS', 'SGPRS', 'LDS', 'WORKGROUPS'].map((name) => [`WW_OCCUPANCY_${name}`, 8]));
  assert.deepEqual([occupancy, free], [8, { SQ_WAVES: 1, WW_WORKGROUPS: 1, WW_INSTS: all, ...limits }]);
  const one = await run(`--device_profiling_output=${file}`, mode, '--device_profiling_counter=SQ_WAVES');
  assert.equal(one.status, 0);
  assert.deepEqual(await sums(file), { SQ_WAVES: 1 });
});

test('what is wrong is said', async () => {
  const failing = async (argv: readonly string[], status: number, message: RegExp): Promise<void> => {
    const { status: found, stderr } = await runCommand(argv);
    assert.deepEqual([found, message.test(stderr)], [status, true], stderr);
  };
  await failing(['profile', 'sumary', FILE], 2, /unknown verb 'sumary'[\s\S]*summary/);
  await failing(['profile', 'export', FILE], 2, /export needs one of --format=ireeperf-jsonl/);
  await failing(['profile', 'export', FILE, '--format=perfetto'], 2, /this format needs a file: --output=FILE/);
  await failing(['profile', 'html', FILE], 2, /html needs a file: --output=FILE/);
  await failing(['profile', 'queue', FILE, '--format=ireeperf-jsonl'], 2, /one of export/);
  await failing(['profile', 'summary', VADD], 3, /is not the magic number of a profile/);
  const cut = path.join(folder, 'cut.ireeprof');
  const bytes = readFileSync(FILE);
  bytes.fill(0, 16, 24);
  writeFileSync(cut, bytes.subarray(0, bytes.length - 10));
  await failing(['profile', 'summary', cut], 3, /cut\.ireeprof: record \d+ at 0x[\da-f]+: /);
  const refused = await run(`--device_profiling_output=${cut}`, '--device_profiling_mode=command-region-events');
  assert.deepEqual([refused.status, /profiles have no command-region-events/.test(refused.stderr)], [4, true]);
  const unknown = await run(`--device_profiling_output=${cut}`, '--device_profiling_mode=dispatches');
  assert.deepEqual([unknown.status, /no family 'dispatches'/.test(unknown.stderr)], [2, true]);
  const fileless = await run('--device_profiling_mode=queue-events');
  assert.deepEqual([fileless.status, /--device-profiling-output=FILE/.test(fileless.stderr)], [2, true]);
  const unwritable = await run(`--device_profiling_output=${folder}/no/such`);
  assert.deepEqual([unwritable.status, /cannot be written \(ENOENT\)/.test(unwritable.stderr)], [3, true]);
  await failing(['hal', 'info', '--device-profiling-output=x'], 2, /option of hal run and hal benchmark/);
});

test('run and dispatch write profiles of their kernels, with counts of each instruction and access', async () => {
  const output = path.join(folder, 'below.ireeprof');
  const family = '--device_profiling_mode=dispatch-events,counters,access-counts';
  const options = [`--device_profiling_output=${output}`, family];
  const launch = [
    '--grid=256',
    '--workgroup=64',
    '--arg=zero:1024',
    '--arg=zero:1024',
    '--arg=zero:1024',
    '--arg=i32:256',
  ];
  assert.equal((await runCommand(['dispatch', VADD, ...launch, '--repeat=2', ...options])).status, 0);
  const read = Profile.read(readFileSync(output));
  const [kernel] = countedKernels(read);
  assert.deepEqual([kernel!.key, kernel!.dispatchCount, kernel!.waveCount], ['vadd', 2n, 8n]);
  const accesses = kernel!.instructions.flatMap(({ memory }) => memory ?? []);
  assert.deepEqual(
    accesses,
    new Array(3).fill({ accesses: 8n, bytes: 2048n, segments: 16n, cycles: 0n, conflicts: 0n }),
  );
  const { stdout } = await profile('counter', output, '--format=jsonl');
  const sums = { SQ_WAVES: 8, WW_LANES: 512 * 29, WW_SEGMENTS: 48, WW_BYTES: 3 * 2048, SQ_LDS_BANK_CONFLICT: 0 };
  for (const [counter, sum] of Object.entries(sums)) {
    assert.match(stdout, new RegExp(`"counter_group".*"counter":"${counter}".*"sum":${sum}\\b`));
  }
  const program = path.resolve(VADD, '../../hello/hello.gfx90a.co');
  assert.equal((await runCommand(['run', ...options, program])).status, 0);
  assert.deepEqual(
    countedKernels(Profile.read(readFileSync(output))).map(({ key }) => key),
    ['_begin', '_start', '_end'],
  );
  const refused = await runCommand(['run', options[0]!, '--device_profiling_mode=queue-events', program]);
  assert.match(refused.stderr, /packets of HSA queues tell nothing of queue-events/);
});

test('diff puts kernels of two profiles side by side', async () => {
  const files = [1, 3].map((repeat) => [repeat, path.join(folder, `repeat${repeat}.ireeprof`)] as const);
  for (const [repeat, file] of files) {
    const launch = ['--grid=256', '--workgroup=64', ...new Array<string>(3).fill('--arg=zero:1024'), '--arg=i32:256'];
    const options = [`--device_profiling_output=${file}`, '--device_profiling_mode=dispatch-events,instruction-counts'];
    assert.equal((await runCommand(['dispatch', VADD, ...launch, `--repeat=${repeat}`, ...options])).status, 0);
  }
  const [[, one], [, three]] = files as [(typeof files)[number], (typeof files)[number]]; // reason: two
  const { stdout } = await profile('diff', one, three, '--format=jsonl');
  const row = JSON.parse(stdout);
  assert.deepEqual(
    [row.key, row.dispatches_a, row.dispatches_b, row.instructions_a, row.instructions_b, row.instruction_ratio],
    ['vadd', 1, 3, 116, 348, 3],
  );
  assert.match((await profile('diff', one)).stderr, /diff needs two profiles/);
  assert.match((await profile('queue', one, three)).stderr, /queue takes one profile/);
});

test('record runs a command with a profile, and takes what is to be in it', async () => {
  const output = path.join(folder, 'recorded.ireeprof');
  const record = (...argv: string[]) => profile('record', '-o', output, ...argv);
  const kernel = [
    'dispatch',
    VADD,
    '--grid=64',
    '--workgroup=64',
    ...new Array<string>(3).fill('--arg=zero:256'),
    '--arg=i32:64',
  ];
  const chosen = ['--device_profiling_mode=dispatch-events,counters', '--device_profiling_counter=SQ_WAVES'];
  const program = path.resolve(VADD, '../../hello/hello.gfx90a.co');
  const keysOf = async (...argv: string[]): Promise<unknown[]> => {
    const { status, stderr } = await record(...argv);
    assert.equal(status, 0, stderr);
    const rows = (await profile('executable', output, '--format=jsonl')).stdout.trim().split('\n');
    return rows.map((row) => JSON.parse(row)).flatMap(({ type, key }) => (type === 'executable_export' ? [key] : []));
  };
  assert.deepEqual(await keysOf(...chosen, '--', ...kernel), ['vadd']);
  const { stdout } = await profile('counter', output, '--format=jsonl');
  assert.deepEqual(
    [...stdout.matchAll(/"counter_group".*"counter":"(\w+)"/g)].map(([, name]) => name),
    ['SQ_WAVES'],
  );
  assert.deepEqual(await keysOf('--', 'run', program), ['_begin', '_end', '_start']);
  const inputs = ['&4xf32', '4xf32=1', '4xf32=10', '4'].map((value) => `--input=${value}`);
  assert.deepEqual(await keysOf('--', 'hal', 'run', VADD, '--workgroup-size=4', ...inputs), ['vadd']);
  for (const [argv, message] of [
    [['record', '--', ...kernel], /record needs a file: --output=FILE/],
    [['record', '-o', output, '--', 'objdump', VADD], /record needs a command: hal, run, dispatch, /],
    [['record', '-o', output, '--format=jsonl', '--', ...kernel], /--format=jsonl is not one of record/],
    [['summary', output, chosen[0]!], /--device-profiling-mode is an option of profile record/],
  ] as const) {
    const { status, stderr } = await profile(...argv);
    assert.deepEqual([status, message.test(stderr)], [2, true], stderr);
  }
});
