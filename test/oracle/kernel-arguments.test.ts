/** HIP kernels that clang compiled for the device alone: the tool says with which grids they run. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../../src/cli/run-command.test-support.ts';

const isMissing = spawnSync('clang-19', ['--version']).error !== undefined;
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-grids-'));
after(() => rmSync(folder, { recursive: true }));

function compiled(processor: string): string {
  const output = path.join(folder, `${processor}.co`);
  const { status, stderr } = spawnSync(
    'clang-19',
    [
      ...['-x', 'hip', '--cuda-device-only', `--offload-arch=${processor}`, '--no-gpu-bundle-output', '-nogpuinc'],
      ...['-nogpulib', '-O2', '-Itest/data/hip', '-DWAVE=32', 'test/data/hip/grids.hip', '-o', output],
    ],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  return output;
}

async function dispatched(...argv: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runCommand(['dispatch', ...argv]);
  assert.deepEqual([status, stderr], [0, '']);
  return stdout;
}

interface Launch {
  readonly kernel: string;
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
  readonly args: readonly string[];
}

/** HIP's workgroups are whole; the last ones have work-items without work. */
const LAUNCHES: readonly Launch[] = [
  {
    ...{ kernel: 'affine', grid: [112, 64, 1], workgroup: [16, 16, 1] },
    args: ['zero:20000', 'zero:20000', 'f32:0.5', 'f32:0.25', 'f32:-1', 'f32:2', 'i32:100', 'i32:50'],
  },
  {
    ...{ kernel: 'asta', grid: [768, 1, 1], workgroup: [64, 1, 1] },
    args: ['zero:65536', 'zero:8', 'i32:32', 'i32:8'],
  },
  { kernel: 'complex_powers', grid: [1024, 1, 1], workgroup: [256, 1, 1], args: ['zero:8000', 'i32:1000'] },
];

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  test(`${processor}: grids of HIP kernels`, { skip: isMissing && 'clang-19 is not installed' }, async () => {
    const file = compiled(processor);
    for (const { kernel, grid, workgroup, args } of LAUNCHES) {
      const launch = [file, `--kernel=${kernel}`, `--grid=${grid}`, `--workgroup=${workgroup}`];
      launch.push(...args.map((arg) => `--arg=${arg}`));
      const { result, coverage } = JSON.parse(await dispatched(...launch, '--tool=kernel-arguments:format=json'));
      assert.deepEqual(coverage.refused, {});
      const workgroups = grid.map((size, i) => size / workgroup[i]!);
      const text = (sizes: readonly number[]): string => sizes.join(' ');
      const expected = { kernel, 'work-items': text(grid), workgroup: text(workgroup), workgroups: text(workgroups) };
      assert.deepEqual(result.grids, [expected]);
      const hidden = (kind: string) =>
        ['x', 'y', 'z'].map(
          (axis) => result.arguments.find((each: { kind: string }) => each.kind === `hidden_${kind}_${axis}`)?.value,
        );
      assert.deepEqual(hidden('group_size'), workgroup);
      assert.deepEqual(hidden('block_count'), workgroups);
      const printed = await dispatched(...launch, '--tool=kernel-arguments');
      assert.match(printed, new RegExp(`${kernel} +${text(grid)} +${text(workgroup)} +${text(workgroups)}`));
    }
  });
}
