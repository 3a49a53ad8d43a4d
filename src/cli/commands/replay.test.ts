/** Recordings on the command line. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { allPayloads } from '../../replay/format/all-payloads.test-support.ts';
import { runCommand } from '../run-command.test-support.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-replay-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a recording is printed as text and as JSON Lines', async () => {
  const file = path.join(folder, 'all.ireereplay');
  writeFileSync(file, allPayloads(1));
  const text = await runCommand(['replay', 'dump', file]);
  assert.match(text.stdout, /^IREE HAL replay v1\.0\nfile_length: \d+\nheader_length: 24\nsummary:\n {2}hermetic: /);
  assert.match(text.stdout, / op=[a-z_.]+\(\d+\) payload=device_queue_fill\(15\) range=\[\d+, \+\d+\] queue_affinity=/);
  const { stdout } = await runCommand(['replay', 'dump', file, '--format=jsonl']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    rows.slice(0, 3).map(({ kind }) => kind),
    ['file', 'summary', 'session'],
  );
  assert.equal(rows[1].record_count, rows.length - 2);
  assert.deepEqual(rows.at(-1).kind, 'unsupported');
});

test('what is no recording is refused with the place', async () => {
  const file = path.join(folder, 'none.ireereplay');
  writeFileSync(file, new Uint8Array(30));
  const { status, stderr } = await runCommand(['replay', 'dump', file]);
  assert.equal(status, 3);
  assert.match(
    stderr,
    /none\.ireereplay: file header at 0x0: 0x0 is not the magic number of a recording \(IRRP\) \[BAD_INPUT\]/,
  );
  assert.equal((await runCommand(['replay', 'dumb', file])).status, 2);
});

const KERNELS = path.resolve(import.meta.dirname, '../../../examples/kernels');
const vadd = path.join(folder, 'vadd.ireereplay');

test('a kernel is recorded, replayed, verified and measured', async () => {
  const inputs = ['&64xf32', '64xf32=1', '64xf32=2', '64'].map((value) => `--input=${value}`);
  const command = ['hal', 'run', path.join(KERNELS, 'vadd.gfx90a.co'), '--workgroup-size=64', ...inputs];
  const recorded = await runCommand(['replay', 'record', vadd, '--', ...command]);
  assert.equal(recorded.status, 0, recorded.stderr);
  assert.match(recorded.stdout, /64xf32=3 3 3/);
  assert.match((await runCommand(['replay', 'run', vadd])).stderr, /1 operations replayed/);
  const { status, stdout } = await runCommand(['replay', 'verify', vadd]);
  assert.deepEqual(
    [status, stdout],
    [
      0,
      'recorded: 1 operations, 2 comparisons, no differences\nparallel: 1 operations, 2 comparisons, no differences\n',
    ],
  );
  const measured = await runCommand(['replay', 'benchmark', vadd, '--replay_scope=execute', '--min-time=0.01']);
  assert.match(measured.stdout, /^BM_replay\/scope:execute\/process_time\/manual_time +[\d.]+ ms/m);
  const unknown = await runCommand(['replay', 'benchmark', vadd, '--replay_scope=nothing']);
  assert.deepEqual([unknown.status, /scopes: init, execute, deinit/.test(unknown.stderr)], [2, true]);
});

test('code for another GPU stands in for the recorded one, and other code does not', async () => {
  const device = '--device=amdgpu?target=gfx1100';
  const refused = await runCommand(['replay', 'verify', vadd, device]);
  assert.equal(refused.status, 4);
  assert.match(refused.stderr, /executable 4: it was built for gfx90a/);
  const other = (name: string) => `--replay_executable_substitution=4=${path.join(KERNELS, name)}`;
  const verified = await runCommand(['replay', 'verify', vadd, device, other('vadd.gfx1100.co')]);
  assert.deepEqual([verified.status, verified.stderr], [0, '']);
  const wrong = await runCommand(['replay', 'verify', vadd, device, other('bitonic.gfx1100.co')]);
  assert.equal(wrong.status, 4);
  assert.match(wrong.stderr, /the substitute of executable 4 takes something else: .*bindings of 'bitonic'/);
});

test('what differs is told with its record, and the status is 1', async () => {
  const bytes = readFileSync(vadd);
  // The digest of what the program saw.
  const at = bytes.indexOf('"digest":"0x') + 12;
  bytes[at] = bytes[at] === 0x30 ? 0x31 : 0x30;
  const file = path.join(folder, 'other.ireereplay');
  writeFileSync(file, bytes);
  const { status, stdout } = await runCommand(['replay', 'verify', file]);
  assert.equal(status, 1);
  assert.match(stdout, /^recorded: 1 operations, 2 comparisons, 1 differences\n {2}#\d+ buffer \d+: bytes differ/);
  const json = JSON.parse((await runCommand(['replay', 'verify', file, '--format=json'])).stdout);
  assert.deepEqual(
    json.runs.map(({ order, differences }: { order: string; differences: unknown[] }) => [order, differences.length]),
    [
      ['recorded', 1],
      ['parallel', 1],
    ],
  );
});

test('what dispatch runs is replayed without it, also as another command', async () => {
  const file = path.join(folder, 'dispatch.ireereplay');
  const [a, b] = ['a', 'b'].map((name) => path.join(folder, name)) as [string, string];
  writeFileSync(
    a,
    Float32Array.from({ length: 64 }, (_, i) => i),
  );
  writeFileSync(
    b,
    Float32Array.from({ length: 64 }, (_, i) => 1 / (1 + i)),
  );
  const args = ['out:-:256', `in:${a}`, `in:${b}`, 'i32:64'].map((arg) => `--arg=${arg}`);
  const launch = ['dispatch', path.join(KERNELS, 'vadd.gfx90a.co'), '--grid=64', '--workgroup=64', ...args];
  const recorded = await runCommand(['replay', 'record', file, '--', ...launch, '--repeat=2']);
  assert.equal(recorded.status, 0, recorded.stderr);
  const verified = await runCommand(['replay', 'verify', file]);
  assert.deepEqual(
    [verified.status, verified.stdout],
    [
      0,
      'recorded: 2 operations, 3 comparisons, no differences\nparallel: 2 operations, 3 comparisons, no differences\n',
    ],
  );
  // The last bytes that are kept are what the kernel gave.
  const kept = readFileSync(file);
  assert.ok(kept.includes(recorded.bytes), 'the output is in the recording');
  const other = `--replay_executable_substitution=all=${path.join(KERNELS, 'vadd.gfx1100.co')}`;
  const moved = await runCommand(['replay', 'verify', file, '--device=amdgpu?target=gfx1100', other]);
  assert.equal(moved.status, 0, moved.stdout + moved.stderr);
  const tool = await runCommand([...launch, `--device_replay_output=${file}`, '--tool=instruction-count']);
  assert.deepEqual([tool.status, /records code without --tool/.test(tool.stderr)], [2, true]);
  assert.equal((await runCommand(['replay', 'record', file, '--', 'info'])).status, 2);
  const run = await runCommand(['replay', 'record', file, '--', 'run', 'hello']);
  assert.deepEqual(
    [run.status, /recordings of 'run' cannot be made[\s\S]*RPC/.test(run.stderr)],
    [4, true],
    run.stderr,
  );
});
