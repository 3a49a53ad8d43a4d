import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../run-command.test-support.ts';

const KERNELS = path.resolve(import.meta.dirname, '../../../examples/kernels');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-hal-'));
after(() => rmSync(folder, { recursive: true }));

const hal = (...argv: string[]) => runCommand(['hal', ...argv]);
const vadd = (target: string, ...argv: string[]) =>
  hal('run', path.join(KERNELS, `vadd.${target}.co`), '--workgroup-size=4', ...argv);
/** The sum of [1 2][3 4] and tens, of four elements. */
const SUM = ['--input=&2x2xf32', '--input=2x2xf32=[1 2][3 4]', '--input=2x2xf32=10', '--input=4'];

test('devices and drivers are listed; what is listed can be opened', async () => {
  const { status, stdout } = await hal('list');
  assert.equal(status, 0);
  assert.match(
    stdout,
    /^amdgpu:\/\/GPU-[\da-f]{16} {2}# gfx90a \(emulated\).*\nlocal:\/\/0 {2}# .*\nnull:\/\/0 {2}# .*\n$/,
  );
  const uri = /^\S+/.exec(stdout)![0];
  const info = await hal('info', `--device=${uri}`, '--format=json');
  assert.equal(JSON.parse(info.stdout).name, uri);
  assert.match((await hal('list', '--drivers')).stdout, /^amdgpu: /);
  assert.match((await hal('info', '--device=null')).stdout, /heap 0: .*host-local/);
});

test('several GPUs are one device, with the links between them', async () => {
  assert.equal((await hal('list', '--gpus=2')).stdout.match(/^amdgpu:/gm)!.length, 2);
  const { stdout } = await hal('info', '--gpus=2', '--device=amdgpu://1,0?queues=1');
  assert.match(stdout, /^amdgpu:\/\/GPU-[\da-f]{16},GPU-[\da-f]{16}\n/);
  assert.match(stdout, /link 1 -> 0: host-staged, kernels do not reach its memory\n/);
  const { status, stdout: result } = await vadd('gfx90a', '--gpus=2', ...SUM, '--expected-output=(ignored)');
  assert.deepEqual([status, result.includes('[SUCCESS]')], [0, true]);
});

for (const target of ['gfx90a', 'gfx942', 'gfx1100']) {
  test(`${target}: a run prints its results as iree-run-module does`, async () => {
    const { status, stdout, stderr } = await vadd(target, '--device=amdgpu?stall=60000', ...SUM);
    assert.deepEqual([status, stderr], [0, '']);
    assert.equal(stdout, 'EXEC @vadd\nresult[0]: hal.buffer_view\n2x2xf32=[11 12][13 14]\n');
  });
}

test('expected outputs decide the status', async () => {
  const right = await vadd('gfx90a', ...SUM, '--expected-output=2x2xf32=[11 12][13 14.00001]');
  assert.deepEqual(right, {
    ...right,
    status: 0,
    stdout: 'EXEC @vadd\n[SUCCESS] all function outputs matched their expected values.\n',
  });
  const wrong = await vadd('gfx90a', ...SUM, '--expected_output=2x2xf32=[11 12][13 15]');
  assert.equal(wrong.status, 1);
  assert.match(wrong.stdout, /\[FAILED\] result\[0\]: element at index 3 \(14\) does not match the expected \(15\)/);
  const loose = await vadd('gfx90a', ...SUM, '--expected-output=2x2xf32=[11 12][13 15]', '--expected-f32-threshold=2');
  assert.equal(loose.status, 0);
  assert.equal((await vadd('gfx90a', ...SUM, '--expected-output=(ignored)')).status, 0);
  const more = await vadd('gfx90a', ...SUM, '--expected-output=(ignored)', '--expected-output=f32=1');
  assert.match(more.stdout, /\[FAILED\] expected 2 list elements but 1 provided/);
});

test('results become files, which are inputs again', async () => {
  const array = path.join(folder, 'sum.npy');
  const bytes = path.join(folder, 'sum.bin');
  assert.equal((await vadd('gfx90a', ...SUM, `--output=@${array}`)).stdout, 'EXEC @vadd\n');
  const twice = ['--input=&2x2xf32', `--input=@${array}`, `--input=@${array}`, '--input=4', `--output=@${bytes}`];
  assert.equal((await vadd('gfx90a', ...twice)).status, 0);
  assert.deepEqual([...new Float32Array(new Uint8Array(readFileSync(bytes)).buffer)], [22, 24, 26, 28]);
  const quarter = ['--input=&4xf32', `--input=4xf32=@${bytes}`, '--input=4xf32', '--input=i32=4'];
  assert.match((await vadd('gfx90a', ...quarter)).stdout, /4xf32=22 24 26 28/);
});

test('arrays of numpy must hold what the kernel takes', async () => {
  const array = path.join(folder, 'wide.npy');
  const made = ['--input=&4xf32', '--input=4xf32=1', '--input=4xf32=1', '--input=4', `--output=@${array}`];
  assert.equal((await vadd('gfx90a', ...made)).status, 0);
  const wide = readFileSync(array);
  wide.write('<i4', wide.indexOf('<f4'));
  writeFileSync(array, wide);
  const wrong = ['--input=&4xf32', '--input=4xf32=1', `--input=@${array}`, '--input=4'];
  const { status, stderr } = await vadd('gfx90a', ...wrong);
  assert.equal(status, 2);
  assert.match(
    stderr,
    /input 2: .*wide\.npy holds 4xi32, expected elements of f32 for parameter 2.* \(buffer, float\*/,
  );
});

test('a fault says where it was, line by line', async () => {
  const { status, stderr } = await vadd('gfx90a', ...SUM.slice(0, 3), '--input=100000', '--workgroup-count=25000');
  assert.equal(status, 6);
  assert.match(
    stderr,
    /dispatch 'vadd' .* failed: invalid .* \[GPU_FAULT\]\n {2}instruction: 'global_.*'\n {2}at: +pc 0x/,
  );
});

test('options that a verb does not heed are refused', async () => {
  const kernel = path.join(KERNELS, 'vadd.gfx90a.co');
  for (const [argv, option] of [
    [['list', '--input=1'], '--input'],
    [['info', '--drivers'], '--drivers'],
    [['benchmark', kernel, '--expected-output=4'], '--expected-output'],
    [['benchmark', kernel, '--output_max_element_count=4'], '--output-max-element-count'],
    [['run', kernel, ...SUM, '--min-time=2'], '--min-time'],
  ] as const) {
    const { status, stderr } = await hal(...argv);
    assert.equal(status, 2);
    assert.match(stderr, new RegExp(`error: ${option} is an option of hal .*, not of hal ${argv[0]} \\[USAGE\\]`));
  }
});

test('what does not fit is refused before anything runs', async () => {
  const refused = [
    [['--input=4'], /1 inputs, 'vadd' takes 4.*\n.*int, 4 bytes/],
    [
      [...SUM.slice(0, 3), '--input=1.5'],
      /input 3: '1.5' is no i32, expected parameter 3, which the code does not name \(int, 4 bytes at 24 of the arguments\)/,
    ],
    [[...SUM.slice(0, 3), '--input=2xf32=1'], /input 3 is 2xf32, expected .*int, 4 bytes/],
    [['--input=4', ...SUM.slice(1)], /input 0 is no buffer/],
    [['--input=2x2xf3=1', ...SUM.slice(1)], /--input=2x2xf3=1: no element type 'f3'/],
    [[...SUM, '--output=-', '--output=-'], /--output was given 2 times, results: 1/],
    [[...SUM, '--expected-output=4'], /result 0 is a buffer/],
    [[...SUM, '--expected-f32-threshold=much'], /'much' is no threshold/],
    [[...SUM, '--function=vsub'], /no export 'vsub'/],
    [[...SUM, '--workgroup-count=1,2,3,4'], /expected 1 to 3 sizes/],
  ] as const;
  for (const [argv, message] of refused) {
    const { status, stderr } = await vadd('gfx90a', ...argv);
    assert.equal(status, 2, stderr);
    assert.match(stderr, message);
  }
  assert.equal((await vadd('gfx90a', ...SUM, '--device=cuda')).status, 5);
  assert.match((await hal('lsit')).stderr, /did you mean 'list'/);
  assert.match((await hal('run')).stderr, /need a FILE/);
});

test('benchmark measures batches of dispatches', async () => {
  const file = path.join(KERNELS, 'vadd.gfx90a.co');
  const argv = [
    'benchmark',
    file,
    '--workgroup-size=4',
    ...SUM,
    '--batch-size=8',
    '--min-time=0.01',
    '--repetitions=2',
  ];
  const { status, stdout } = await hal(...argv, '--format=json');
  assert.equal(status, 0);
  const { benchmarks } = JSON.parse(stdout);
  assert.deepEqual(
    benchmarks.map(({ name }: { name: string }) => name.replace('BM_vadd/process_time/real_time', '')),
    ['', '', '_mean', '_median', '_stddev'],
  );
  assert.ok(benchmarks[0].items_per_second > 0 && benchmarks[0].iterations > 0);
  assert.match((await hal(...argv)).stdout, /^-+\nBenchmark +Time +CPU +Iterations UserCounters\.\.\.\n/);
});
