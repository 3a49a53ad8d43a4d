/**
 * Kernels of a few instructions on an emulated device, through the HSA runtime: for suites that run on every
 * executor.
 */

import { assembleFile } from '../src/assembler/assemble-file.ts';
import type { Device } from '../src/device/device.ts';
import type { TierInstructions } from '../src/device/statistics.ts';
import type { AmdgpuEmulatorOptions } from '../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { nodeThreads } from '../src/devices/emulated/node-threads.ts';
import type { Executable } from '../src/hsa/executables/executable.ts';
import { type Agent, CodeObjectReader, createRuntime, type Queue, type Runtime } from '../src/hsa/index.ts';
import { linkCodeObject } from '../src/linker/link.ts';

export interface ExecutorOptions extends Partial<AmdgpuEmulatorOptions> {
  /** What must run at least a part of the loops. */
  readonly tier?: keyof TierInstructions;
}

/** Every way to run a kernel. */
export const EXECUTORS: Readonly<Record<string, ExecutorOptions>> = {
  reference: { executor: 'reference', tier: 'reference' },
  'T0, handlers': { executor: 'handlers', tier: 'handlers' },
  'T1, regions': { executor: 'jit', compileThreshold: 1, vertical: 'never', tier: 'regions' },
  'T2, loops': { executor: 'jit', compileThreshold: 1, vertical: 'always', tier: 'loops' },
  'T2, lanes': { executor: 'jit', compileThreshold: 1, vertical: 'lanes', tier: 'loops' },
  workers: { executor: 'jit', compileThreshold: 1, threads: nodeThreads, workers: 3, workersAtOnce: true },
};

/**
 * A kernel with the address of its arguments in s[0:1], the workgroup in s4 and the work-item in v0;
 * `directives` add to its descriptor.
 */
export const kernelText = (name: string, body: string, directives: readonly string[] = []): string => `.text
.globl ${name}
.p2align 8
.type ${name},@function
${name}:
${body}
.size ${name}, .-${name}
.rodata
.p2align 6
.amdhsa_kernel ${name}
 .amdhsa_user_sgpr_kernarg_segment_ptr 1
 .amdhsa_user_sgpr_count 4
 .amdhsa_next_free_vgpr 32
 .amdhsa_next_free_sgpr 64
 .amdhsa_accum_offset 32
${directives.map((directive) => ` ${directive}`).join('\n')}
.end_amdhsa_kernel
`;

/** A code object of kernels in assembly, for gfx90a. */
export const imageOf = (...texts: readonly string[]): Uint8Array =>
  linkCodeObject([{ bytes: assembleFile(texts.join(''), { processor: 'gfx90a' }), name: 'kernels.o' }]);

const GROUPS = 12;
const LANES = 64;

/** A device, gfx90a unless the options say so, with the kernels of an image. */
export class KernelRig implements Disposable {
  readonly device: Device;
  readonly runtime: Runtime;
  readonly agent: Agent;
  readonly queue: Queue;
  readonly executable: Executable;

  constructor({ tier: _, ...options }: ExecutorOptions, image: Uint8Array) {
    this.device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26, ...options });
    this.runtime = createRuntime({ devices: [this.device] });
    this.agent = this.runtime.gpuAgents[0]!;
    this.queue = this.runtime.createQueue(this.agent);
    this.executable = this.runtime.createExecutable();
    this.executable.loadCodeObject(this.agent, new CodeObjectReader(image, 'kernels.co'));
    this.executable.freeze();
  }

  /** Of a symbol: of a kernel, `name.kd`. */
  address(name: string): bigint {
    return this.executable.getSymbol(name).address;
  }

  allocate(sizeBytes: number): bigint {
    return this.runtime.cpuAgent.pool('fine-grained').allocate(sizeBytes);
  }

  view(address: bigint, sizeBytes: number): DataView {
    const bytes = this.runtime.view(address, sizeBytes);
    return new DataView(bytes.buffer, bytes.byteOffset, sizeBytes);
  }

  /** Runs a kernel of 12 workgroups of 64 with 64-bit arguments to its end. Throws the error of its queue. */
  run(name: string, ...args: readonly bigint[]): void {
    const kernarg = this.allocate(64);
    for (const [i, value] of args.entries()) this.view(kernarg, 64).setBigUint64(i * 8, value, true);
    using completionSignal = this.runtime.createSignal(1n);
    const kernel = this.address(`${name}.kd`);
    this.queue.dispatch({ kernel, grid: [GROUPS * LANES], workgroup: [LANES], kernarg, completionSignal });
    completionSignal.waitSync('eq', 0n);
    this.runtime.cpuAgent.pool('fine-grained').free(kernarg);
  }

  [Symbol.dispose](): void {
    this.runtime[Symbol.dispose]();
    this.device.close();
  }
}
