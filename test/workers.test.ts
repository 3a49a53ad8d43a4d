/**
 * Kernels on several threads do what they do on one: results, faults, ends. Workers join each dispatch as it
 * begins.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { after, test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { differenceFrom } from '../src/bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import type { AmdgpuEmulatorOptions } from '../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { nodeThreads } from '../src/devices/emulated/node-threads.ts';
import type { ExecutorName } from '../src/emulator/emulator.ts';
import { CodeObjectReader, createRuntime, type Queue, type QueueError } from '../src/hsa/index.ts';
import { linkCodeObject } from '../src/linker/link.ts';

const kernelSource = (name: string, body: string): string => `
  .text
  .globl ${name}
  .p2align 8
  .type ${name},@function
${name}:
  s_load_dwordx2 s[0:1], s[4:5], 0x0
  s_load_dwordx2 s[2:3], s[4:5], 0x8
  s_waitcnt lgkmcnt(0)
${body}
  s_endpgm
.Lend_${name}:
  .size ${name}, .Lend_${name}-${name}
  .section .rodata,"a",@progbits
  .p2align 6
  .amdhsa_kernel ${name}
    .amdhsa_user_sgpr_private_segment_buffer 1
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 16
    .amdhsa_next_free_vgpr 16
    .amdhsa_next_free_sgpr 32
    .amdhsa_accum_offset 16
  .end_amdhsa_kernel
`;
const metadataOf = (name: string): string => `
  - .name: ${name}
    .symbol: ${name}.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 16
    .max_flat_workgroup_size: 64`;

/**
 * s[0:1]: a buffer; s2, s3: numbers; s6: the workgroup; v0: the work-item. Each writes only what the others
 * do not, or by atomics.
 */
const BODIES: Readonly<Record<string, string>> = {
  // Counters of 32 bits, of 64 bits, and a float, that every lane adds 1 to; s2 times.
  count: `
  v_mov_b32 v0, 0
  v_mov_b32 v1, 1
  v_mov_b32 v2, 1
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1.0
.Lcount:
  global_atomic_add v0, v1, s[0:1]
  global_atomic_add_x2 v0, v[2:3], s[0:1] offset:8
  global_atomic_add_f32 v0, v4, s[0:1] offset:16
  global_atomic_umax v0, v1, s[0:1] offset:20
  s_sub_u32 s2, s2, 1
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 .Lcount`,
  // Waits for the flag at distance s2 bytes, unless it is workgroup s3; sets its own to that plus 1.
  relay: `
  s_lshl_b32 s7, s6, 2
  s_mov_b32 s9, 0
  s_cmp_eq_u32 s6, s3
  s_cbranch_scc1 .Lset
  s_add_i32 s8, s7, s2
  v_mov_b32 v0, s8
.Lwait:
  global_load_dword v2, v0, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s9, v2
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 .Lwait
.Lset:
  s_add_u32 s9, s9, 1
  v_mov_b32 v1, s7
  v_mov_b32 v3, s9
  global_store_dword v1, v3, s[0:1]`,
  sleepy: `
  s_lshl_b32 s7, s6, 2
  s_mov_b32 s9, 0
  s_cmp_eq_u32 s6, s3
  s_cbranch_scc1 .Lset2
  s_add_i32 s8, s7, s2
  v_mov_b32 v0, s8
.Lwait2:
  s_sleep 2
  global_load_dword v2, v0, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s9, v2
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 .Lwait2
.Lset2:
  s_add_u32 s9, s9, 1
  v_mov_b32 v1, s7
  v_mov_b32 v3, s9
  global_store_dword v1, v3, s[0:1]`,
  // Workgroup s3 reads far behind the buffer in lane 5; the others run s2 rounds.
  astray: `
  v_lshlrev_b32 v1, 2, v0
  s_cmp_lg_u32 s6, s3
  s_cbranch_scc1 .Lround
  v_cmp_eq_u32 vcc, 5, v0
  v_mov_b32 v2, 0x3000
  v_cndmask_b32 v1, v1, v2, vcc
.Lround:
  global_load_dword v3, v1, s[0:1]
  s_sub_u32 s2, s2, 1
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 .Lround`,
  endless: `
.Lagain:
  s_branch .Lagain`,
  // Odd workgroups write pairs of equal numbers, s2 times; even ones read them, and write 1 at 64 when they
  // differ.
  pairs: `
  v_mov_b32 v0, 0
  s_bitcmp1_b32 s6, 0
  s_cbranch_scc0 .Lread
.Lwrite:
  v_mov_b32 v2, s2
  v_mov_b32 v3, s2
  global_store_dwordx2 v0, v[2:3], s[0:1]
  s_sub_u32 s2, s2, 1
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 .Lwrite
  s_endpgm
.Lread:
  global_load_dwordx2 v[4:5], v0, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_cmp_ne_u32 vcc, v4, v5
  s_cbranch_vccz .Lsame
  v_mov_b32 v6, 1
  global_store_dword v0, v6, s[0:1] offset:64
.Lsame:
  s_sub_u32 s2, s2, 1
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 .Lread`,
  // Two workgroups write s2 numbers, each its own, and then read the other's; both wait for each other in
  // between. 1 at 1024 says that neither saw what the other had written.
  overtaken: `
  s_mov_b64 exec, 1
  s_lshl_b32 s7, s6, 6
  s_xor_b32 s8, s7, 64
  v_mov_b32 v0, s7
  v_mov_b32 v1, s8
  s_mov_b32 s9, 0
.Lnumber:
  s_add_u32 s9, s9, 1
  v_mov_b32 v2, s9
  global_store_dword v0, v2, s[0:1]
  s_waitcnt vmcnt(0)
  global_load_dword v3, v1, s[0:1] glc
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[0:1] offset:256
  global_store_dword v0, v2, s[0:1] offset:512
.Lseen:
  global_load_dword v4, v1, s[0:1] offset:512 glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s10, v4
  s_cmp_lt_u32 s10, s9
  s_cbranch_scc1 .Lseen
  global_load_dword v5, v1, s[0:1] offset:256 glc
  s_waitcnt vmcnt(0)
  v_max_u32 v5, v3, v5
  v_cmp_lt_u32 vcc, v5, v2
  s_cbranch_vccz .Ldone
  v_mov_b32 v6, 0
  v_mov_b32 v7, 1
  global_atomic_add v6, v7, s[0:1] offset:1024
.Ldone:
  global_store_dword v0, v2, s[0:1] offset:768
.Lnext:
  global_load_dword v4, v1, s[0:1] offset:768 glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s10, v4
  s_cmp_lt_u32 s10, s9
  s_cbranch_scc1 .Lnext
  s_cmp_lt_u32 s9, s2
  s_cbranch_scc1 .Lnumber`,
  // Writes s2 where its number is.
  mark: `
  s_lshl_b32 s7, s6, 2
  v_mov_b32 v1, s7
  v_mov_b32 v2, s2
  global_store_dword v1, v2, s[0:1]`,
};

const image = linkCodeObject([
  {
    name: 'kernels.o',
    bytes: assembleFile(`
  .amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
${Object.entries(BODIES)
  .map(([name, body]) => kernelSource(name, body))
  .join('')}
  .amdgpu_metadata
amdhsa.kernels:${Object.keys(BODIES).map(metadataOf).join('')}
amdhsa.version: [1, 2]
  .end_amdgpu_metadata
`),
  },
]);

/** A device with kernels, and one buffer of a page. */
class Rig implements Disposable {
  readonly device: ReturnType<typeof createEmulatedDevice>;
  readonly runtime: ReturnType<typeof createRuntime>;
  readonly buffer: bigint;
  #kernarg: bigint;
  #queue: Queue;
  #executable: ReturnType<Rig['load']> | undefined;
  error: QueueError | undefined;

  constructor(workers: number, options: Partial<AmdgpuEmulatorOptions> = {}) {
    this.device = createEmulatedDevice({
      processor: 'gfx90a',
      compileThreshold: 2,
      threads: nodeThreads,
      workers,
      workersAtOnce: true,
      ...options,
    });
    this.runtime = createRuntime({ devices: [this.device] });
    const agent = this.runtime.gpuAgents[0]!;
    const pool = agent.pool('coarse-grained');
    this.buffer = pool.allocate(4096, { label: 'buffer' });
    this.#kernarg = pool.allocate(16);
    this.#queue = this.runtime.createQueue(agent, {
      onError: (error) => {
        this.error = error;
      },
    });
  }

  load() {
    const executable = this.runtime.createExecutable();
    executable.loadCodeObject(this.runtime.gpuAgents[0]!, new CodeObjectReader(image, 'kernels.co'));
    executable.freeze();
    return executable;
  }

  reload(): void {
    this.#executable?.[Symbol.dispose]();
    this.#executable = undefined;
  }

  get words(): Uint32Array {
    const { buffer, byteOffset } = this.runtime.view(this.buffer, 4096);
    return new Uint32Array(buffer, byteOffset, 1024);
  }

  /** Starts a kernel with one wave in each workgroup; the result waits for its end. */
  start(name: string, groups: number, first: number, second: number) {
    this.#executable ??= this.load();
    const kernel = this.#executable.getSymbol(`${name}.kd`);
    assert.ok(kernel.kind === 'kernel');
    const bytes = this.runtime.view(this.#kernarg, 16);
    const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
    view.setBigUint64(0, this.buffer, true);
    view.setInt32(8, first, true);
    view.setInt32(12, second, true);
    const signal = this.runtime.createSignal(1n);
    this.#queue.dispatch({
      kernel: kernel.kernelObject,
      grid: [groups * 64],
      workgroup: [64],
      kernarg: this.#kernarg,
      completionSignal: signal,
    });
    return signal;
  }

  run(name: string, groups: number, first: number, second = 0): void {
    using signal = this.start(name, groups, first, second);
    signal.waitSync('lt', 1n);
  }

  get statistics() {
    return this.#queue.statistics;
  }

  describeWaves(): string[] {
    return this.#queue.describeWaves();
  }

  cancel(): void {
    this.#queue.inactivate();
  }

  [Symbol.dispose](): void {
    this.runtime[Symbol.dispose]();
    this.device.close();
  }
}

for (const executor of ['handlers', 'reference', 'jit'] as const satisfies readonly ExecutorName[]) {
  const rounds = executor === 'reference' ? 3 : 100;
  test(`${executor}: atomics of all threads count`, () => {
    using rig = new Rig(2, { executor });
    rig.run('count', 40, rounds);
    const lanes = 40 * 64 * rounds;
    assert.deepEqual(
      [rig.words[0], rig.words[2], rig.words[3], new Float32Array(rig.words.buffer, rig.words.byteOffset)[4]],
      [lanes, lanes, 0, lanes],
    );
    assert.equal(rig.statistics.workgroups, 40);
    assert.equal(rig.statistics.waves, 40);
  });

  for (const name of ['relay', 'sleepy']) {
    test(`${executor}, ${name}: workgroups wait for those before and for those after them`, () => {
      using rig = new Rig(3, { executor });
      const groups = 10;
      rig.run(name, groups, -4, 0);
      assert.deepEqual(
        [...rig.words.subarray(0, groups)],
        Array.from({ length: groups }, (_, i) => i + 1),
      );
      rig.words.fill(0);
      rig.run(name, groups, 4, groups - 1);
      assert.deepEqual(
        [...rig.words.subarray(0, groups)],
        Array.from({ length: groups }, (_, i) => groups - i),
      );
    });
  }

  test(`${executor}: other threads see 64 bits whole`, () => {
    using rig = new Rig(2, { executor });
    rig.run('pairs', 8, executor === 'reference' ? 600 : 100_000);
    assert.equal(rig.words[16], 0);
  });

  test(`${executor}: a load that other threads see does not overtake a store`, () => {
    using rig = new Rig(2, { executor });
    // On one core every round is a switch of threads, and none sees the other at work.
    const meetings = executor === 'reference' || availableParallelism() === 1 ? 30 : 3_000;
    for (let i = 0; i < 10; i++) {
      rig.words.fill(0);
      rig.run('overtaken', 2, meetings);
      assert.equal(rig.words[256], 0);
    }
  });

  test(`${executor}: a fault is reported as by one thread`, () => {
    const report = (workers: number, group: number) => {
      using rig = new Rig(workers, { executor });
      assert.throws(() => rig.run('astray', 60, 20, group), /GPU_FAULT|invalid read/);
      return rig.error!.fault!;
    };
    for (const group of [0, 31, 59]) {
      const { message, nearestAllocation, ...fault } = report(1, group);
      const { message: otherMessage, nearestAllocation: otherNearest, ...other } = report(2, group);
      assert.deepEqual(other, fault);
      assert.match(message, /invalid read of address .* by 'global_load_dword v3, v1, s\[0:1\]' .*lane 5/);
      assert.equal(otherMessage.split('; ')[0], message.split('; ')[0]);
      assert.equal(otherNearest?.label, nearestAllocation?.label);
    }
  });
}

test('a dispatch on several threads is cancelled, and the next one runs', () => {
  using rig = new Rig(2);
  using signal = rig.start('endless', 100, 0, 0);
  // Until the worker, too, has had a turn.
  const waves = (): string => rig.describeWaves()[0] ?? '';
  for (let tries = 0; !/^[2-9]\d* waves/.test(waves()) && tries < 5000; tries++) {
    assert.equal(rig.runtime.progress(), 'running');
  }
  assert.match(waves(), /^\d+ waves running at pc \w+ in endless\+0x\w+: s_branch/);
  rig.cancel();
  assert.equal(signal.load(), 1n);
  assert.equal(rig.runtime.progress(), 'idle');
});

test('a number of workers that makes no sense is refused', () => {
  for (const workers of [0, 1.5, -1, 257, Number.NaN]) {
    assert.throws(() => createEmulatedDevice({ processor: 'gfx90a', workers }), /workers, expected an integer from 1/);
  }
});

test('10,000 small dispatches', () => {
  using rig = new Rig(2, { workersAtOnce: false });
  for (let i = 1; i <= 10_000; i++) rig.run('mark', 4, i);
  assert.deepEqual([...rig.words.subarray(0, 5)], [10_000, 10_000, 10_000, 10_000, 0]);
});

test('code that is replaced between dispatches', () => {
  using rig = new Rig(2);
  for (let i = 1; i <= 20; i++) {
    rig.run('mark', 100, i);
    rig.run('count', 10, i);
    assert.ok(rig.words.subarray(10, 100).every((word) => word === i));
    rig.reload();
  }
});

test('workers do not keep a process alive', () => {
  const program = `
    import { readFileSync } from 'node:fs';
    import { KernelRunner } from './src/bench/kernel-runner.ts';
    import { KERNELS } from './src/bench/kernels.ts';
    import { nodeThreads } from './src/devices/emulated/node-threads.ts';
    const runner = new KernelRunner({ processor: 'gfx90a', threads: nodeThreads, workers: 2, workersAtOnce: true });
    const kernel = KERNELS.find(({ name }) => name === 'saxpy');
    const name = 'examples/kernels/saxpy.gfx90a.co';
    runner.prepare({ name, bytes: readFileSync(name) }, 'saxpy', kernel.launch('small'))();
    console.log('ran');`;
  const output = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    timeout: 600_000,
  });
  assert.equal(output.toString(), 'ran\n');
});

for (const processor of ['gfx90a', 'gfx1100']) {
  const runner = new KernelRunner({ processor, threads: nodeThreads, workers: 2, workersAtOnce: true });
  after(() => runner[Symbol.dispose]());
  for (const benchmark of KERNELS.filter(({ processors }) => processors?.includes(processor) ?? true)) {
    test(`${processor}: ${benchmark.name} on two threads`, () => {
      const { name, kernel = name, tolerance } = benchmark;
      const file = `examples/kernels/${name}.${processor}.co`;
      const launch = benchmark.launch('full');
      const { output } = runner.prepare({ name: file, bytes: readFileSync(file) }, kernel, launch)();
      assert.equal(differenceFrom(benchmark.model(launch), output, tolerance), undefined);
    });
  }
}
