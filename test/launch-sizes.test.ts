/** What a launch asks for is held against the device on every way to one, in words about the kernel. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembledImage, kernelSource } from '../src/bench/assembled-kernel.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { dispatchKernel } from '../src/dispatch/dispatch.ts';
import { CodeObjectReader, createRuntime, type Queue, type Runtime } from '../src/hsa/index.ts';
import type { ParsedArgument } from '../src/launch/argument-text.ts';

/** A kernel with a `local` argument behind 1000 bytes of its own. */
function source({ group = 1000, kernarg = 16, alignment = 64, argument = 0 }): string {
  return `${kernelSource('k', '').replace('.amdhsa_kernel k\n', `.amdhsa_kernel k\n .amdhsa_group_segment_fixed_size ${group}\n`)}
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: ${kernarg}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 32
    .max_flat_workgroup_size: 256
    .args:
      - .address_space: local
        .offset: ${argument}
        .size: 4
        .pointee_align: ${alignment}
        .value_kind: dynamic_shared_pointer
...
.end_amdgpu_metadata
`;
}

const local = (sizeBytes: number): ParsedArgument => ({ kind: 'local', text: `local:${sizeBytes}`, sizeBytes });
const run = (options: Parameters<typeof source>[0], sizeBytes: number, rest: { dynamicLdsSizeBytes?: number } = {}) =>
  dispatchKernel({
    device: createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 }),
    images: [assembledImage(source(options), 'k')],
    grid: [64],
    workgroup: [64],
    args: [local(sizeBytes)],
    ...rest,
  });
const refused = (message: string) => ({ code: 'LIMIT_EXCEEDED', message });

test('group memory of the descriptor, of arguments and dynamic memory are one sum', () => {
  run({}, 65_536 - 1024);
  const limit = 'emulated:gfx90a has 65536';
  const parts = (all: number): string =>
    `kernel 'k' asks for ${all} bytes of group memory (1000 of its own, ${all - 1000} with the launch)`;
  assert.throws(() => run({}, 65_537 - 1024), refused(`${parts(65_537)}, ${limit}`));
  assert.throws(() => run({}, 64, { dynamicLdsSizeBytes: 65_536 }), refused(`${parts(1024 + 64 + 65_536)}, ${limit}`));
  assert.throws(() => run({}, 2 ** 32), refused(`${parts(1024 + 2 ** 32)}, ${limit}`));
  const own = "kernel 'k' asks for 805306384 bytes of group memory (805306368 of its own, 16 with the launch)";
  assert.throws(() => run({ group: 768 * 2 ** 20 }, 16), refused(`${own}, ${limit}`));
  run({ alignment: 0 }, 64);
});

test('arguments have a limit, also where one of them is far away', () => {
  const limit = ' bytes of arguments, at most 1048576 are supported';
  assert.throws(() => run({ kernarg: 2 ** 31 }, 16), refused(`kernel 'k' asks for ${2 ** 31}${limit}`));
  assert.throws(() => run({ argument: 2 ** 32 - 4 }, 16), refused(`kernel 'k' asks for ${2 ** 32}${limit}`));
});

const smallRuntime = (): Runtime =>
  createRuntime({ devices: [createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 })] });

/** A queue, and the address of a kernel that does nothing. */
function queueWithKernel(runtime: Runtime): { readonly queue: Queue; readonly kernel: bigint } {
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  executable.loadCodeObject(agent, new CodeObjectReader(assembledImage(kernelSource('k', ''), 'k').bytes));
  executable.freeze();
  return { queue: runtime.createQueue(agent), kernel: executable.getSymbol('k.kd').address };
}

test('a packet has 32 bits for a size', () => {
  using runtime = smallRuntime();
  const { queue, kernel } = queueWithKernel(runtime);
  const launch = { kernel, grid: [1], workgroup: [1] };
  for (const size of [-1, 0.5, Number.NaN, 2 ** 32 + 64]) {
    assert.throws(() => queue.dispatch({ ...launch, groupSegmentSizeBytes: size }), /bytes of group memory/);
    assert.throws(() => queue.dispatch({ ...launch, privateSegmentSizeBytes: size }), /bytes of private memory/);
  }
  assert.equal(queue.error, undefined);
});

test('grids that cannot be counted are refused', () => {
  using runtime = smallRuntime();
  const { queue, kernel } = queueWithKernel(runtime);
  const most = 2 ** 32 - 1;
  queue.dispatch({ kernel, grid: [most, most, most], workgroup: [1, 1, 1] });
  runtime.progress();
  assert.match(queue.error?.error.message ?? '', /AQL packet 0: a grid of 4294967295 x .*grids of 2\^53 workgroups$/);
});
