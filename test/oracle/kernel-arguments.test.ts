/**
 * HIP kernels that clang compiled for the device alone: the tool says with which grids they run, and they
 * compute what they do without it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../../src/cli/run-command.test-support.ts';
import { Random } from '../fuzz/random.ts';

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

interface Dispatched {
  readonly stdout: string;
  /** What the buffers hold then, one behind the other. */
  readonly buffers: Buffer;
}

/** Bytes that say nothing, the same each time. */
function filled(sizeBytes: number): Buffer {
  const random = new Random(sizeBytes);
  return Buffer.from(Uint32Array.from({ length: sizeBytes / 4 }, () => random.next()).buffer);
}

async function dispatched(file: string, launch: Launch, ...more: readonly string[]): Promise<Dispatched> {
  const { kernel, grid, workgroup, bufferSizesBytes, values } = launch;
  const buffers = bufferSizesBytes.map((sizeBytes, i) => {
    const buffer = path.join(folder, `buffer-${i}`);
    writeFileSync(buffer, filled(sizeBytes));
    return buffer;
  });
  const args = [...buffers.map((buffer) => `inout:${buffer}`), ...values].map((arg) => `--arg=${arg}`);
  const sizes = [`--grid=${grid}`, `--workgroup=${workgroup}`];
  const { status, stdout, stderr } = await runCommand([
    'dispatch',
    file,
    `--kernel=${kernel}`,
    ...sizes,
    ...args,
    ...more,
  ]);
  assert.deepEqual([status, stderr], [0, '']);
  return { stdout, buffers: Buffer.concat(buffers.map((buffer) => readFileSync(buffer))) };
}

interface Launch {
  readonly kernel: string;
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
  readonly workgroups: readonly number[];
  /** The first arguments. */
  readonly bufferSizesBytes: readonly number[];
  readonly values: readonly string[];
}

/**
 * The sizes are those of three programs of HeCBench, whose kernels do what these do: affine, asta and
 * complex. Workgroups are whole in HIP; the last ones have work-items without work.
 */
const LAUNCHES: readonly Launch[] = [
  {
    ...{ kernel: 'affine', grid: [512, 512, 1], workgroup: [16, 16, 1], workgroups: [32, 32, 1] },
    ...{ bufferSizesBytes: [512 * 512 * 4, 512 * 512 * 4] },
    values: ['f32:0.5', 'f32:0.25', 'f32:-1', 'f32:2', 'i32:512', 'i32:512'],
  },
  {
    ...{ kernel: 'asta', grid: [1024, 1, 1], workgroup: [64, 1, 1], workgroups: [16, 1, 1] },
    ...{ bufferSizesBytes: [197 * 64 * 8 * 4], values: ['zero:4', 'i32:197', 'i32:8'] },
  },
  {
    ...{ kernel: 'complex_powers', grid: [10_000_128, 1, 1], workgroup: [256, 1, 1], workgroups: [39_063, 1, 1] },
    ...{ bufferSizesBytes: [10_000_000], values: ['i32:10000000'] },
  },
];

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  test(`${processor}: grids of HIP kernels`, { skip: isMissing && 'clang-19 is not installed' }, async () => {
    const file = compiled(processor);
    for (const launch of LAUNCHES) {
      const { kernel, grid, workgroup, workgroups } = launch;
      const native = await dispatched(file, launch);
      assert.notDeepEqual(native.buffers, Buffer.concat(launch.bufferSizesBytes.map(filled)));
      const { stdout, buffers } = await dispatched(file, launch, '--tool=kernel-arguments:format=json');
      assert.equal(Buffer.compare(buffers, native.buffers), 0);
      const { result, coverage } = JSON.parse(stdout);
      assert.deepEqual(coverage.refused, {});
      const text = (sizes: readonly number[]): string => sizes.join(' ');
      const expected = { kernel, 'work-items': text(grid), workgroup: text(workgroup), workgroups: text(workgroups) };
      assert.deepEqual(result.grids, [expected]);
      const hidden = (kind: string) =>
        ['x', 'y', 'z'].map(
          (axis) => result.arguments.find((each: { kind: string }) => each.kind === `hidden_${kind}_${axis}`)?.value,
        );
      assert.deepEqual(hidden('group_size'), workgroup);
      assert.deepEqual(hidden('block_count'), workgroups);
      const printed = await dispatched(file, launch, '--tool=kernel-arguments');
      assert.match(printed.stdout, new RegExp(`${kernel} +${text(grid)} +${text(workgroup)} +${text(workgroups)}`));
    }
  });
}
