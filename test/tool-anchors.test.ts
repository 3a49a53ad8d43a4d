/** Tools against numbers that were counted by hand, and against closed formulas. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../src/cli/run-command.test-support.ts';
import { bankCycles } from '../src/tools/lds-bank-conflicts.ts';
import { imageOf, kernelText } from './kernel-rig.test-support.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-tools-'));
after(() => rmSync(folder, { recursive: true }));

/** The result of a tool in a kernel, as JSON. */
async function resultOf(tool: string, ...argv: string[]) {
  const { status, stdout, stderr } = await runCommand(['dispatch', ...argv, `--tool=${tool}`]);
  assert.deepEqual([status, stderr], [0, '']);
  const { result, coverage } = JSON.parse(stdout);
  assert.deepEqual(coverage.refused, {});
  return result;
}

/** 250 work-items in workgroups of 64, of which 200 have something to do. */
const vadd = (processor: string): string[] => [
  ...[`examples/kernels/vadd.${processor}.co`, '--grid=250', '--workgroup=64'],
  ...['--arg=zero:1024', '--arg=zero:1024', '--arg=zero:1024', '--arg=i32:200'],
];

function assembled(name: string, body: string): string {
  const file = path.join(folder, `${name}.co`);
  writeFileSync(file, imageOf(kernelText(name, body, ['.amdhsa_group_segment_fixed_size 16384'])));
  return file;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  test(`${processor}: kernels are given what the launch says`, async () => {
    const { grids, arguments: list } = await resultOf('kernel-arguments:format=json', ...vadd(processor));
    assert.deepEqual(grids, [{ kernel: 'vadd', 'work-items': '250 1 1', workgroup: '64 1 1', workgroups: '4 1 1' }]);
    const value = (kind: string) => list.find((each: { kind: string }) => each.kind === kind)?.value;
    assert.equal(value('by_value'), 200);
    // The last workgroup is partial, and does not count.
    assert.deepEqual(
      ['x', 'y', 'z'].map((d) => value(`hidden_block_count_${d}`)),
      [3, 1, 1],
    );
    assert.deepEqual(
      ['x', 'y', 'z'].map((d) => value(`hidden_group_size_${d}`)),
      [64, 1, 1],
    );
    assert.equal(value('hidden_remainder_x'), 58);
  });
}

test('arguments that fill no 16 bytes are read to their end', async () => {
  const file = path.join(folder, 'short.co');
  const size = (bytes: number, offset: number) =>
    `      - .size: ${bytes}\n        .offset: ${offset}\n        .value_kind: by_value`;
  const metadata = [
    '.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:\n  - .name: short\n    .symbol: short.kd',
    '    .kernarg_segment_size: 20\n    .kernarg_segment_align: 8\n    .group_segment_fixed_size: 0',
    '    .private_segment_fixed_size: 0\n    .wavefront_size: 64\n    .sgpr_count: 16\n    .vgpr_count: 16',
    '    .max_flat_workgroup_size: 256\n    .args:',
    ...[size(8, 0), size(8, 8), size(4, 16), '...\n.end_amdgpu_metadata\n'],
  ].join('\n');
  const lines = ['.amdhsa_kernarg_size 20'];
  writeFileSync(file, imageOf(`${kernelText('short', 's_endpgm\n', lines)}\n${metadata}`));
  const given = ['--grid=64', '--workgroup=64', '--arg=i64:1', '--arg=i64:2', '--arg=i32:77'];
  const result = await resultOf('kernel-arguments:format=json', file, ...given);
  assert.deepEqual(
    result.arguments.map(({ value }: { value: number }) => value),
    [1, 2, 77],
  );
  assert.equal(result['arguments not read'], 0);
});

test('waves part where some of their lanes have nothing to do', async () => {
  const wide = await resultOf('branch-divergence:format=json', ...vadd('gfx90a'));
  // Of 4 waves, the last one has 8 lanes below 200.
  assert.deepEqual(
    wide.masks.map(({ waves, parted }: Record<string, number>) => [waves, parted]),
    [[4, 1]],
  );
  assert.deepEqual(
    wide.branches.map(({ waves, taken }: Record<string, number>) => [waves, taken]),
    [[4, 0]],
  );
  // Of 8 waves of 32 lanes, the last one has none.
  const narrow = await resultOf('branch-divergence:format=json', ...vadd('gfx1100'));
  assert.deepEqual(
    narrow.branches.map(({ waves, taken }: Record<string, number>) => [waves, taken]),
    [[8, 1]],
  );
});

test('neighbouring lanes touch as many segments as their bytes fill', async () => {
  const { accesses } = await resultOf('coalescing:segment=64,format=json', ...vadd('gfx90a'));
  // Three waves of 64 lanes with 4 bytes each, one of 8 lanes.
  for (const each of accesses) assert.deepEqual([each.accesses, each.lanes, each.segments], [4, 200, 13]);
});

test('registers and values are those of the lanes', async () => {
  const options = 'registers=s4,v0,instructions=0,format=json';
  const file = assembled('log', 's_nop 0\nv_mov_b32 v1, 7\ns_endpgm\n');
  const launch = [file, '--grid=128', '--workgroup=64'];
  const { values } = await resultOf(`register-log:${options}`, ...launch);
  const of = (name: string) => values.filter((each: { register: string }) => each.register === name);
  assert.deepEqual(
    of('s4').map(({ value }: { value: string }) => Number(value)),
    [0, 1],
  );
  assert.deepEqual(
    of('v0').map(({ value }: { value: string }) => Number(value)),
    [0, 1].flatMap(() => Array.from({ length: 64 }, (_, lane) => lane)),
  );
  const wide = assembled('pair', 'v_mov_b32 v2, 5\nv_mov_b32 v3, 9\nv_lshlrev_b64 v[4:5], 4, v[2:3]\ns_endpgm\n');
  const pairs = await resultOf('value-profile:format=json', wide, '--grid=64', '--workgroup=64');
  assert.equal(pairs.values.at(-1).value, '0x0000009000000050');
  const profile = await resultOf('value-profile:format=json', ...launch);
  assert.deepEqual(
    profile.values.map(({ value, times, written, distinct }: Record<string, unknown>) => [
      value,
      times,
      written,
      distinct,
    ]),
    [['0x00000007', 128, 128, 1]],
  );
});

test('a buffer that is full says what it lost', async () => {
  const { records, lost } = await resultOf('memory-trace:records=100,format=json', ...vadd('gfx90a'));
  assert.deepEqual([records, lost], [100, 500]);
});

for (const banks of [32, 64]) {
  test(`${banks} banks: strides collide by their common divisor`, async () => {
    for (let stride = 1; stride <= 70; stride++) {
      for (const sizeBytes of [4, 8, 16]) {
        const lanes = Array.from({ length: 64 }, (_, lane) => ({ lane, value: BigInt(lane * stride * sizeBytes) }));
        const { cycles, needed } = bankCycles(lanes, sizeBytes, banks);
        const served = (banks * 4) / sizeBytes;
        assert.equal(needed, Math.max(64 / served, 1));
        // Lanes of a group in one bank: those whose distance is a multiple of all banks.
        const factor = Math.min(gcd(stride, served), served, 64);
        assert.equal(cycles, needed * Math.min(factor, Math.min(served, 64)), `stride ${stride}, ${sizeBytes} bytes`);
      }
    }
  });
}

test('LDS conflicts of a kernel follow from its stride', async () => {
  for (const stride of [1, 2, 3, 8, 32]) {
    const body = `v_mul_u32_u24 v1, ${4 * stride}, v0\nds_write_b32 v1, v0\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\ns_endpgm\n`;
    const file = assembled(`stride${stride}`, body);
    const tool = 'lds-bank-conflicts:format=json';
    const { conflicts, accesses } = await resultOf(tool, file, '--grid=64', '--workgroup=64');
    // A load and a store, in two halves of 32 lanes each.
    assert.equal(conflicts, 2 * 2 * (gcd(stride, 32) - 1));
    assert.equal(accesses.length, 2);
  }
});
