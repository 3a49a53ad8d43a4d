/** Registers, LDS and occupancy of kernels against clang's kernel-resource-usage remarks. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { occupancyOf } from '../../src/codeobject/occupancy.ts';

/** [VGPRs, work-items, LDS bytes] of one kernel each. */
const KERNELS = [
  [24, 64, 64],
  [40, 64, 64],
  [64, 256, 64],
  [65, 256, 16_384],
  [96, 256, 20_000],
  [128, 512, 32_768],
  [40, 1024, 40_000],
  [200, 256, 64],
  [32, 64, 65_536],
  [32, 128, 8_000],
] as const;

/** Keeps many values alive, so that the kernel takes all registers that it may. */
const source = KERNELS.map(
  ([vgprs, workItems, ldsSizeBytes], index) => `
__kernel __attribute__((reqd_work_group_size(${workItems}, 1, 1), amdgpu_num_vgpr(${vgprs})))
void k${index}(__global int *p, int q) {
  __local int shared[${ldsSizeBytes} / 4];
  int values[200], sum = 0;
  for (int i = 0; i < 200; i++) values[i] = p[i * 64 + get_local_id(0)];
  shared[q] = p[q];
  __asm__ volatile("" ::: "memory");
  p[q] = shared[p[9]];
  for (int i = 0; i < 200; i++) sum ^= values[i] * p[i];
  p[1] = sum;
}`,
).join('\n');

/** 0 for what the processor does not have. */
const field = (remark: string, name: string) => Number(new RegExp(` ${name}: *(\\d+)`).exec(remark)?.[1] ?? 0);

/** One of each kind of compute unit. */
const PROCESSORS = ['gfx906', 'gfx90a', 'gfx1010', 'gfx1030', 'gfx1100'];

for (const processor of PROCESSORS) {
  test(`occupancy on ${processor}`, () => {
    const { status, stderr } = spawnSync(
      'clang-19',
      [
        ...['-x', 'cl', '-cl-std=CL2.0', '-Xclang', '-finclude-default-header', '--target=amdgcn-amd-amdhsa'],
        ...[`-mcpu=${processor}`, '-nogpulib', '-O2', '-c', '-', '-o', '/dev/null'],
        '-Rpass-analysis=kernel-resource-usage',
      ],
      { input: source, encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    const remarks = stderr.split('Function Name:').slice(1);
    assert.equal(remarks.length, KERNELS.length);
    for (const [index, [, workgroupSize]] of KERNELS.entries()) {
      const remark = remarks[index]!;
      const vgprs = field(remark, 'VGPRs');
      const agprs = field(remark, 'AGPRs');
      const occupancy = occupancyOf({
        processor,
        // What metadata counts: one register file holds both kinds here.
        vgprs: agprs === 0 ? vgprs : Math.ceil(vgprs / 4) * 4 + agprs,
        sgprs: field(remark, 'SGPRs'),
        ldsSizeBytes: field(remark, 'LDS Size \\[bytes/block\\]'),
        wavefrontSize: processor.startsWith('gfx9') ? 64 : 32,
        workgroupSize,
      });
      assert.ok(vgprs > 0);
      assert.equal(occupancy?.waves, field(remark, 'Occupancy \\[waves/SIMD\\]'), `kernel ${index}: ${remark}`);
    }
  });
}
