/** Loads a benchmark kernel on an emulated device and runs it through the HSA runtime. */
import { readFileSync } from 'node:fs';
import { parseCodeObject } from '../codeobject/code-object.ts';
import { writeHiddenArguments } from '../codeobject/hidden-arguments.ts';
import { createEmulatedDevice } from '../devices/emulated/index.ts';
import type { ExecutorName } from '../emulator/emulator.ts';
import { CodeObjectReader, createRuntime, type Queue, type Runtime } from '../hsa/index.ts';
import type { Launch } from './kernel-benchmark.ts';

export interface Measured {
  /** Thread CPU time of the dispatch, milliseconds. */
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Contents of the first buffer argument afterwards. */
  readonly output: Uint8Array;
}

const KERNARG_SIZE_BYTES = 4096;

export class KernelRunner {
  readonly #runtime: Runtime;
  readonly #queue: Queue;

  constructor(processor: string, executor: ExecutorName, compileThreshold?: number) {
    const options = { processor, executor, ...(compileThreshold !== undefined && { compileThreshold }) };
    this.#runtime = createRuntime({ devices: [createEmulatedDevice(options)] });
    this.#queue = this.#runtime.createQueue(this.#runtime.gpuAgents[0]!);
  }

  /** Prepares a kernel; the result runs it and can be called again. Results of earlier runs stay in the buffers. */
  prepare(file: string, kernelName: string, launch: Launch): () => Measured {
    const agent = this.#runtime.gpuAgents[0]!;
    const executable = this.#runtime.createExecutable();
    const image = readFileSync(file);
    executable.loadCodeObject(agent, new CodeObjectReader(image, file));
    executable.freeze();
    const kernel = executable.getSymbol(`${kernelName}.kd`);
    if (kernel.kind !== 'kernel') throw new Error(`${kernelName} is a ${kernel.kind}`);
    const pool = agent.pool('coarse-grained');
    const kernarg = pool.allocate(KERNARG_SIZE_BYTES);
    const view = this.#runtime.view(kernarg, KERNARG_SIZE_BYTES);
    const arguments64 = new DataView(view.buffer, view.byteOffset, view.byteLength);
    let offset = 0;
    let first: Uint8Array | undefined;
    for (const argument of launch.args) {
      if (typeof argument === 'number') {
        arguments64.setInt32(offset, argument, true);
        offset += 4;
        continue;
      }
      offset = (offset + 7) & ~7;
      const sizeBytes = 'sizeBytes' in argument ? argument.sizeBytes : argument.byteLength;
      const address = pool.allocate(sizeBytes);
      const buffer = this.#runtime.view(address, sizeBytes);
      if (!('sizeBytes' in argument)) buffer.set(new Uint8Array(argument.buffer, argument.byteOffset, sizeBytes));
      first ??= buffer;
      arguments64.setBigUint64(offset, address, true);
      offset += 8;
    }
    const metadata = parseCodeObject(image, file).metadata?.kernels.find(({ name }) => name === kernelName);
    if (!metadata) throw new Error(`${file} has no metadata for ${kernelName}`);
    const extent = (sizes: readonly number[]) => [sizes[0]!, sizes[1] ?? 1, sizes[2] ?? 1] as const;
    writeHiddenArguments(arguments64, metadata, {
      gridSize: extent(launch.grid),
      workgroupSize: extent(launch.workgroup),
      dims: launch.grid.length as 1 | 2 | 3,
    });
    return () => {
      const signal = this.#runtime.createSignal(1n);
      const cpu = process.threadCpuUsage();
      const start = performance.now();
      this.#queue.dispatch({
        kernel: kernel.kernelObject,
        grid: [...launch.grid],
        workgroup: [...launch.workgroup],
        kernarg,
        completionSignal: signal,
        groupSegmentSizeBytes: kernel.groupSegmentSizeBytes,
        privateSegmentSizeBytes: kernel.privateSegmentSizeBytes,
      });
      signal.waitSync('lt', 1n);
      const wallMs = performance.now() - start;
      const used = process.threadCpuUsage(cpu);
      return {
        cpuMs: (used.user + used.system) / 1000,
        wallMs,
        output: first!,
      };
    };
  }
}
