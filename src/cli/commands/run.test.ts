import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../run-command.test-support.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const HELLO = path.join(ROOT, 'examples/hello/hello.gfx90a.co');

const run = (...argv: string[]) => runCommand(['run', ...argv]);

test('what is no image is refused before anything runs', async () => {
  const cases: [string[], number, RegExp][] = [
    [[], 2, /missing argument, expected `wavewright run \[OPTIONS\] IMAGE \[ARGUMENT\.\.\.\]` \[USAGE\]/],
    [[path.join(ROOT, 'none.co')], 3, /none\.co: no such file \[IO\]/],
    [[ROOT], 3, /: is a directory, expected a file \[IO\]/],
    [[path.join(ROOT, 'LICENSE')], 3, /LICENSE: .*\[BAD_INPUT\]/],
    [['--blocks=0', HELLO], 2, /--blocks takes an integer from 1 to 4294967295, not '0' \[USAGE\]/],
    [['--threads-y', '65536', HELLO], 2, /--threads-y takes an integer from 1 to 65535/],
    [['--timeout=-1', HELLO], 2, /--timeout takes a number of seconds above 0/],
    [['--block=1', HELLO], 2, /unknown option '--block' for run \[USAGE\]\nhint: did you mean '--blocks'\?/],
  ];
  for (const [argv, expected, message] of cases) {
    const { status, stdout, stderr } = await run(...argv);
    assert.match(stderr, message);
    assert.deepEqual([status, stdout], [expected, '']);
    assert.doesNotMatch(stderr, /\n {4}at /);
  }
});

test('devices that are not there', async () => {
  for (const [name, message] of [
    ['vulkan:0', /no device 'vulkan:0' \[NO_DEVICE\]\nhint: devices are .*emulated:gfx90a, .*emulated:gfx1100/],
    ['cuda:0', /no device 'cuda:0': no CUDA driver: .*\[NO_DEVICE\]\nhint: .*; --device=ptx:sm_70 runs PTX without/],
    ['', /no device ''/],
    ['emulated:', /unknown processor ''/],
    ['emulated:gfx1', /target id 'gfx1': unknown processor 'gfx1' \[NO_DEVICE\]\nhint: devices are/],
    ['emulated:gfx90a:fast+', /unknown feature 'fast\+'/],
  ] as const) {
    const { status, stdout, stderr } = await run(`--device=${name}`, HELLO);
    assert.match(stderr, message);
    assert.deepEqual([status, stdout], [5, '']);
  }
});

test('images that no emulated device runs', async () => {
  const data = path.join(ROOT, 'test/data/codeobjects');
  for (const [argv, message] of [
    [[path.join(data, 'arguments.gfx803.v5.co')], /gfx803\.v5\.co: is for gfx803, expected a target that is emulated/],
    [['--device=emulated:gfx942', HELLO], /no code object for gfx942:.* built for gfx90a, not for gfx942/],
    [['--device=emulated:gfx803', HELLO], /no instruction set for 'gfx803'/],
    [['--device=emulated', path.join(data, 'arguments.gfx803.v5.co')], /is for gfx803/],
    [['--device=emulated:gfx90a', path.join(data, 'tiny.gfx1100.co')], /no code object for gfx90a:sramecc\+:xnack-/],
  ] as const) {
    const { status, stdout, stderr } = await run(...argv);
    assert.match(stderr, message);
    assert.deepEqual([status, stdout], [4, '']);
  }
  const features = await run('--device=emulated:gfx90a:xnack+', HELLO);
  assert.match(
    features.stderr,
    /no device 'emulated:gfx90a:xnack\+', only emulated:gfx90a:sramecc\+:xnack- \[NO_DEVICE\]/,
  );
  assert.equal(features.status, 5);
});
