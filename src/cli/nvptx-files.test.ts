/** Commands on files with code for NVIDIA's GPUs. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { elfWith, fatBinary, ptxFor } from '../nvptx/containers.test-support.ts';
import { runCommand } from './run-command.test-support.ts';
import { runUpstreamLoader } from './upstream-loader.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-nvptx-'));
after(() => rmSync(folder, { recursive: true }));
const [host, cubin] = ['host', 'k.cubin'].map((name) => path.join(folder, name)) as [string, string]; // reason: two of two
const CUBIN = elfWith({}, { abiVersion: 8, flags: 0x5a04 });
const FAT = fatBinary([
  { kind: 2, processor: 90, bytes: CUBIN },
  { kind: 1, processor: 75, bytes: ptxFor('sm_75') },
  { kind: 1, processor: 80, bytes: ptxFor('sm_80'), compression: 'zstd' },
]);
writeFileSync(host, elfWith({ '.nv_fatbin': FAT }));
writeFileSync(cubin, CUBIN);

test('readobj lists what is there, info the device that would run it', async () => {
  const { status, stdout } = await runCommand(['readobj', host]);
  assert.equal(status, 0);
  assert.match(stdout, /host: host-elf, \d+ bytes, for NVIDIA GPUs\n.*\[cubin for sm_90\]\n {4}cubin for sm_90, /);
  assert.match(stdout, /PTX 7\.8 for sm_80, \d+ bytes at \d+, zstd, \d+ bytes\n {4}kernel k\(\)\n/);
  const { images } = JSON.parse((await runCommand(['readobj', '--format=json', host])).stdout);
  assert.deepEqual(
    images.map(({ kind, processor, compression }: Record<string, unknown>) => [kind, processor, compression]),
    [
      ['cubin', 'sm_90', null],
      ['ptx', 'sm_75', null],
      ['ptx', 'sm_80', 'zstd'],
    ],
  );
  assert.match(
    (await runCommand(['info', host])).stdout,
    /^ptx:sm_80: virtual NVIDIA GPU\n {2}runs .*\n {2}warp +32 threads\n/,
  );
  assert.match((await runCommand(['info', '--device=ptx:sm_70'])).stdout, /^ptx:sm_70: /);
});

test('dispatch runs the PTX that the device has; what has none is refused with what to build', async () => {
  const shape = ['--grid=32', '--workgroup=32'];
  const json = await runCommand(['dispatch', host, ...shape, '--format=json', '--device=ptx:sm_75']);
  assert.deepEqual([json.status, JSON.parse(json.stdout).device], [0, 'ptx:sm_75']);
  for (const [argv, expected, message] of [
    [['dispatch', host, ...shape, '--device=ptx:sm_70'], 4, /host: its PTX is for sm_75, sm_80, the device is sm_70/],
    [['dispatch', host, ...shape, '--device=ptx:sm_1'], 5, /no device 'ptx:sm_1' for PTX/],
    [['run', cubin], 4, /k\.cubin: machine code for NVIDIA GPUs alone \(sm_90\), no PTX .*\nhint: build PTX/],
    [['run', host], 3, /the image has no kernel '_begin'/],
    [['run', '--check=waits', host], 4, /--check for PTX/],
    [['run', '--tool=instruction-count', host], 4, /tools for PTX/],
    [['run', '--device=ptx', 'LICENSE'], 3, /LICENSE: no code for NVIDIA GPUs, which ptx runs/],
  ] as const) {
    const { status, stderr } = await runCommand(argv);
    assert.match(stderr, message);
    assert.equal(status, expected, stderr);
  }
});

test("nvptx-loader of LLVM's name takes PTX, and returns 1 for what is no program", async () => {
  let said = '';
  const context = {
    stdout: () => undefined,
    stderr: (text: Uint8Array | string) => {
      said += text;
    },
    env: {},
  };
  assert.equal(await runUpstreamLoader('nvptx-loader', ['--threads', '4', cubin], context), 1);
  assert.match(said, /^loader: error: .*machine code for NVIDIA GPUs alone \(sm_90\)/);
});
