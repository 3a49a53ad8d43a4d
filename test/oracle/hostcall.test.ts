/**
 * HIP's printf, assert and malloc and OpenCL's printf, built by clang with AMD's device libraries, and run by
 * `dispatch`.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AmdgpuEmulatorOptions } from '../../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { nodeThreads } from '../../src/devices/emulated/node-threads.ts';
import { type DispatchRequest, dispatchKernel } from '../../src/dispatch/dispatch.ts';
import type { CodeObjectReader } from '../../src/hsa/index.ts';
import { sampled } from '../scale.ts';
import { build, HIP, OPENCL } from './device-code.ts';
import { DEVICE_LIBRARY_BUILDS, HAS_DEVICE_LIBRARIES } from './opencl/device-libraries.ts';

const ITEMS = 320;

const HIP_PRELUDE = `
typedef unsigned long ulong;
extern "C" DEVICE __attribute__((address_space(4))) const unsigned __oclc_ISA_version = DEVICE_VERSION;
extern "C" DEVICE int printf(const char *, ...);
DEVICE static unsigned item() { return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); }
`;

const HIP_PRINTF = `${HIP_PRELUDE}
extern "C" KERNEL void k(int *out, const char *text) {
  unsigned i = item();
  if (i % 3 == 1) return;
  out[i] = printf("%s|%5d %-8s%c %.3f %lx %p %%\\n", text, i, "literal", 'a' + i % 26, 1.5 * i, (long)i << 40, (void *)0);
}
`;

/** As HIP's header has them: the message on stderr, then a trap. */
const HIP_ASSERT = `${HIP_PRELUDE}
extern "C" DEVICE ulong __ockl_fprintf_stderr_begin();
extern "C" DEVICE ulong __ockl_fprintf_append_args(ulong, unsigned, ulong, ulong, ulong, ulong, ulong, ulong, ulong, unsigned);
extern "C" DEVICE ulong __ockl_fprintf_append_string_n(ulong, const char *, ulong, unsigned);
DEVICE static ulong sized(const char *s) { ulong n = 0; while (s[n]) n++; return n + 1; }
extern "C" DEVICE __attribute__((noinline)) void __assert_fail(const char *what, const char *file, unsigned line, const char *function) {
  const char *format = "%s:%u: %s: Device-side assertion \`%s' failed.\\n";
  ulong m = __ockl_fprintf_stderr_begin();
  m = __ockl_fprintf_append_string_n(m, format, sized(format), 0);
  m = __ockl_fprintf_append_string_n(m, file, sized(file), 0);
  m = __ockl_fprintf_append_args(m, 1, line, 0, 0, 0, 0, 0, 0, 0);
  m = __ockl_fprintf_append_string_n(m, function, sized(function), 0);
  __ockl_fprintf_append_string_n(m, what, sized(what), 1);
  __builtin_trap();
}
extern "C" KERNEL void k(int *out, const char *text) {
  unsigned i = item();
  if (i == 70) __assert_fail("i != 70", "source.hip", 7, __func__);
  out[i] = 1;
}
`;

const HIP_MALLOC = `${HIP_PRELUDE}
extern "C" DEVICE ulong __ockl_dm_alloc(ulong);
extern "C" DEVICE void __ockl_dm_dealloc(ulong);
extern "C" KERNEL void k(int *out, const char *text) {
  int i = item(), words = i % 5 == 4 ? 2000 : 1 + i % 300, sum = 0;
  int *block = (int *)__ockl_dm_alloc(4 * words);
  if (!block) { out[i] = -1; return; }
  for (int at = 0; at < words; at++) block[at] = i ^ at;
  int *other = (int *)__ockl_dm_alloc(16);
  for (int at = 0; at < words; at++) sum += block[at];
  __ockl_dm_dealloc((ulong)other);
  __ockl_dm_dealloc((ulong)block);
  out[i] = other ? sum : -2;
}
`;

/** Five times: a word for each round, which all workgroups have counted up when one passes. */
const HIP_GRID_SYNC = `${HIP_PRELUDE}
extern "C" DEVICE void __ockl_grid_sync();
extern "C" DEVICE int __ockl_grid_is_valid();
extern "C" KERNEL void k(int *out, const char *text) {
  if (!__ockl_grid_is_valid()) return;
  for (int round = 0; round < 5; round++) {
    if (item() % 64 == 0) __hip_atomic_fetch_add(out + round, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __ockl_grid_sync();
    if (__hip_atomic_load(out + round, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == ${ITEMS / 64})
      __hip_atomic_fetch_add(out + 5, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}
`;

/**
 * The libraries of this version hold no \`__printf_alloc\` that clang 19 would use, so the sources have
 * theirs.
 */
const BUFFERED = `${HIP_PRINTF}
extern "C" __attribute__((device, used, noinline)) __attribute__((address_space(1))) char *__printf_alloc(unsigned bytes) {
  unsigned *head = (unsigned *)((ulong *)__builtin_amdgcn_implicitarg_ptr())[9];
  unsigned at = __hip_atomic_fetch_add(head, bytes, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return (__attribute__((address_space(1))) char *)((char *)(head + 2) + at);
}
`;
const OPENCL_PRINTF = `
__attribute__((noinline)) global char *__printf_alloc(uint bytes) {
  global uint *head = (global uint *)((constant ulong *)__builtin_amdgcn_implicitarg_ptr())[9];
  uint at = __opencl_atomic_fetch_add((global atomic_uint *)head, bytes, memory_order_relaxed, memory_scope_device);
  return (global char *)(head + 2) + at;
}
kernel void k(global int *out, global const char *text) {
  uint i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i % 3 == 1) return;
  out[i] = 1 + printf("%s:%5d %-9s%c %.3f %lx %v4hlf %v2hhd %%\\n", "a text", i, "literal", 'a' + i % 26, 1.5f * i, (long)i << 40,
                      (float4)(i, -1.5f, INFINITY, 0), (char2)(i, -2));
}
`;

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly results: Int32Array;
}

type Run = Partial<AmdgpuEmulatorOptions> & { readonly request?: Partial<DispatchRequest> };

function run(
  processor: string,
  reader: CodeObjectReader,
  { request, ...options }: Run,
  outcome = { stdout: '', stderr: '' },
): Outcome {
  const device = createEmulatedDevice({ processor, memorySizeBytes: 2 ** 29, ...options });
  const text = new TextEncoder().encode('from memory\0');
  try {
    const { outputs } = dispatchKernel({
      ...{ device, images: [{ bytes: reader.bytes, name: reader.name }], grid: [ITEMS], workgroup: [64] },
      args: [
        { kind: 'buffer', text: 'out', contents: new Uint8Array(), sizeBytes: 4 * ITEMS, output: 'results' },
        { kind: 'buffer', text: 'in', contents: text, sizeBytes: text.length, output: undefined },
      ],
      onPrint: (stream, printed) => {
        outcome[stream] += new TextDecoder().decode(printed);
      },
      timeoutMs: 60_000,
      ...request,
    });
    return { ...outcome, results: new Int32Array(outputs[0]!.bytes.buffer) };
  } finally {
    device.close();
  }
}

const RUNS: Readonly<Record<string, Run>> = {
  reference: { executor: 'reference' },
  handlers: { executor: 'handlers' },
  jit: { executor: 'jit', compileThreshold: 1 },
  workers: { executor: 'jit', compileThreshold: 1, threads: nodeThreads, workers: 3, workersAtOnce: true },
};
const items = Array.from({ length: ITEMS }, (_, i) => i);
const printing = items.filter((i) => i % 3 !== 1);
const letter = (i: number): string => String.fromCharCode(97 + (i % 26));
const hipLine = (i: number): string =>
  `from memory|${String(i).padStart(5)} literal ${letter(i)} ${(1.5 * i).toFixed(3)} ${(BigInt(i) << 40n).toString(16)} (nil) %`;
const openclLine = (i: number): string => {
  const vectors = `${i}.000000,-1.500000,inf,0.000000 ${(i << 24) >> 24},-2`;
  return `a text:${String(i).padStart(5)} literal  ${letter(i)} ${(1.5 * i).toFixed(3)} ${(BigInt(i) << 40n).toString(16)} ${vectors} %`;
};

function expectLines(printed: string, line: (i: number) => string): void {
  const lines = printed.split('\n');
  assert.equal(lines.pop(), '');
  assert.deepEqual(lines.toSorted(), printing.map(line).toSorted());
}

for (const { flags, processors, waveSize } of HAS_DEVICE_LIBRARIES ? sampled(DEVICE_LIBRARY_BUILDS, 2) : []) {
  const processor = processors![0]!;
  const options = [
    ...flags,
    '-O2',
    '-w',
    ...(waveSize === 64 && processor.startsWith('gfx11') ? ['-mwavefrontsize64'] : []),
  ];
  const target = `${processor}, waves of ${waveSize}`;

  test(`HIP's printf: ${target}`, () => {
    const reader = build(HIP, HIP_PRINTF, processor, options);
    for (const [name, how] of Object.entries(RUNS)) {
      const { stdout, stderr, results } = run(processor, reader, how);
      expectLines(stdout, hipLine);
      assert.equal(stderr, '', name);
      assert.deepEqual(
        [...results],
        items.map((i) => (i % 3 === 1 ? 0 : hipLine(i).length + 1)),
        name,
      );
    }
  });

  test(`HIP's assert: ${target}`, () => {
    const reader = build(HIP, HIP_ASSERT, processor, options);
    for (const how of Object.values(RUNS)) {
      const printed = { stdout: '', stderr: '' };
      assert.throws(() => run(processor, reader, how, printed), { code: 'GPU_FAULT', message: /trap/ });
      assert.deepEqual(printed, { stdout: '', stderr: "source.hip:7: k: Device-side assertion `i != 70' failed.\n" });
    }
  });

  // The allocator of this version of the libraries reads a clock that gfx11 does not have, which the compiler
  // removes with the function around it.
  test(`HIP's malloc: ${target}`, {
    skip: processor.startsWith('gfx11') && 'the libraries have none for gfx11',
  }, () => {
    const reader = build(HIP, HIP_MALLOC, processor, options);
    const sums = items.map((i) => {
      const words = i % 5 === 4 ? 2000 : 1 + (i % 300);
      return Array.from({ length: words }, (_, at) => i ^ at).reduce((sum, value) => sum + value, 0);
    });
    for (const [name, how] of Object.entries(RUNS)) {
      const { results } = run(processor, reader, { ...how, request: { repeat: name === 'jit' ? 3 : 1 } });
      assert.deepEqual([...results], sums, name);
    }
    const { results } = run(processor, reader, { request: { heapBytes: 4096 } });
    assert.ok(results.every((result) => result === -1));
  });

  test(`HIP's grid groups: ${target}`, () => {
    const reader = build(HIP, HIP_GRID_SYNC, processor, options);
    for (const [name, how] of Object.entries(RUNS)) {
      const { results } = run(processor, reader, { ...how, request: { cooperative: true } });
      assert.deepEqual([...results.slice(0, 6)], [...new Array<number>(5).fill(ITEMS / 64), 5 * ITEMS], name);
    }
    assert.ok(
      run(processor, reader, {}).results.every((result) => result === 0),
      'the grid is not valid',
    );
  });

  test(`HIP's printf into a buffer: ${target}`, () => {
    const reader = build(HIP, BUFFERED, processor, [...options, '-mprintf-kind=buffered']);
    for (const how of Object.values(RUNS)) expectLines(run(processor, reader, how).stdout, hipLine);
  });

  test(`OpenCL's printf: ${target}`, () => {
    const waves = options.filter((option) => option.startsWith('-mwavefrontsize'));
    const reader = build(OPENCL, OPENCL_PRINTF, processor, ['-O2', '-w', ...waves]);
    for (const how of Object.values(RUNS)) {
      const { stdout, results } = run(processor, reader, how);
      expectLines(stdout, openclLine);
      assert.deepEqual(
        [...results],
        items.map((i) => (i % 3 === 1 ? 0 : 1)),
      );
    }
  });
}
