/**
 * A program in the form of LLVM 23's GPU libc, compiled here: constructor kernels, doorbell, wave size by
 * kernel, `_end` without arguments.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createEmulatedDevice, inspectProgram } from '../../src/index.ts';
import { runImage } from '../fuzz/run-image.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-p23-'));
after(() => rmSync(folder, { recursive: true }));

for (const [processor, ...flags] of [['gfx90a'], ['gfx1100'], ['gfx1100', '-mwavefrontsize64']] as const) {
  test(`P23 on ${[processor, ...flags].join(' ')}`, async () => {
    const output = path.join(folder, `${processor}${flags.length}.co`);
    const source = path.join(import.meta.dirname, 'rpc/program-p23.c');
    const options = [`-mcpu=${processor}`, '-mcode-object-version=6', '-std=c17', '-O2', '-nogpulib', '-ffreestanding'];
    const argv = ['--target=amdgcn-amd-amdhsa', ...options, '-Wall', '-Wextra', ...flags, source, '-o', output];
    const { status, stderr } = spawnSync('clang-19', argv, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    const device = createEmulatedDevice({ processor });
    try {
      const image = readFileSync(output);
      const inspected = await inspectProgram(image, { device, name: 'program' });
      const laneCount = processor === 'gfx1100' && flags.length === 0 ? 32 : 64;
      assert.deepEqual([inspected.generation, inspected.rpc?.laneCount], ['P23', laneCount]);
      assert.deepEqual(
        inspected.kernels.map(({ kernel }) => kernel),
        ['amdgcn.device.init', '_begin', '_start', '_end', 'amdgcn.device.fini'],
      );
      const run = { device, args: ['5'], env: { A: 'b' }, threads: [3, 1, 1] as const };
      const result = await runImage(image, run);
      assert.deepEqual([result.stdout, result.status], ['constructor\nbegin\nabc end\ndestructor\n', 5]);
    } finally {
      device.close();
    }
  });
}
