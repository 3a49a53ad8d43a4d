/** Launches kernels on an emulated GPU. */
import { writeHiddenArguments } from '../../../src/codeobject/hidden-arguments.ts';
import { addPcCount, type PcCount, type PcCounts } from '../../../src/device/statistics.ts';
import { createEmulatedDevice } from '../../../src/devices/emulated/index.ts';
import type { ExecutorName } from '../../../src/emulator/emulator.ts';
import {
  CodeObjectReader,
  createRuntime,
  type Executable,
  type KernelSymbol,
  type Runtime,
} from '../../../src/hsa/index.ts';
import type { LaunchObserver } from '../../../src/hsa/runtime/launch-observer.ts';
import { bytesOf, type Launch, type Results } from './launch.ts';

/** For calls whose depth the compiler does not know. */
const DYNAMIC_STACK_BYTES = 16_384;
/** Other jobs may leave little of the machine. */
const LIMIT_MS = 600_000;
/** So that small launches run compiled code. */
const COMPILE_THRESHOLD = 2;

export class KernelDevice {
  readonly #runtime: Runtime;
  /** How often instructions of the code object that was loaded last were executed, by image address. */
  readonly pcCounts = new Map<number, PcCount>();

  constructor(processor: string, executor: ExecutorName, options: { readonly countsPcs?: boolean } = {}) {
    this.#runtime = createRuntime({
      devices: [createEmulatedDevice({ processor, executor, compileThreshold: COMPILE_THRESHOLD, ...options })],
    });
  }

  /** Loads the code object for as long as `use` works with it. */
  load(
    image: Uint8Array,
    name: string,
    use: (run: (launch: Launch) => Results) => void,
    observer?: LaunchObserver,
  ): void {
    const agent = this.#runtime.gpuAgents[0]!;
    this.pcCounts.clear();
    using executable = this.#runtime.createExecutable();
    executable.loadCodeObject(agent, new CodeObjectReader(image, name));
    executable.freeze();
    observer?.onLoaded(this.#runtime, agent, executable);
    use((launch) => this.#run(executable, launch));
    observer?.onFinished();
  }

  #addCounts(executable: Executable, counts: PcCounts): void {
    const { loadDelta } = executable.loadedCodeObjects[0]!;
    for (const [pc, count] of counts) {
      const address = Number(pc - loadDelta);
      this.pcCounts.set(address, addPcCount(this.pcCounts.get(address), count));
    }
  }

  #run(executable: Executable, launch: Launch): Results {
    const agent = this.#runtime.gpuAgents[0]!;
    const kernel = executable.getSymbol(`${launch.symbol ?? launch.kernel}.kd`);
    if (kernel.kind !== 'kernel') throw new Error(`${launch.kernel} is a ${kernel.kind}`);
    const pool = agent.pool('coarse-grained');
    const allocated: bigint[] = [];
    const allocate = (sizeBytes: number): [bigint, Uint8Array] => {
      const address = pool.allocate(sizeBytes);
      allocated.push(address);
      return [address, this.#runtime.view(address, sizeBytes)];
    };
    const [kernarg, kernargBytes] = allocate(Math.max(kernel.kernargSegmentSizeBytes, 16));
    const { buffers, groupSegmentSizeBytes } = this.#writeArguments(kernel, kernargBytes, launch, allocate);
    using queue = this.#runtime.createQueue(agent);
    using signal = this.#runtime.createSignal(1n);
    queue.dispatch({
      kernel: kernel.kernelObject,
      grid: [...launch.grid],
      workgroup: [...launch.group],
      kernarg,
      completionSignal: signal,
      groupSegmentSizeBytes,
      privateSegmentSizeBytes: kernel.privateSegmentSizeBytes + (kernel.dynamicCallstack ? DYNAMIC_STACK_BYTES : 0),
    });
    if (signal.waitSync('lt', 1n, { timeoutMs: LIMIT_MS }) !== 0n) throw new Error(`${launch.kernel} does not end`);
    this.#addCounts(executable, queue.statistics.pcCounts ?? new Map());
    const results = buffers.map((bytes) => Uint8Array.from(bytes));
    for (const address of allocated) pool.free(address);
    return results;
  }

  #writeArguments(
    kernel: KernelSymbol,
    kernarg: Uint8Array,
    { args, grid, group }: Launch,
    allocate: (sizeBytes: number) => [bigint, Uint8Array],
  ): { buffers: Uint8Array[]; groupSegmentSizeBytes: number } {
    const view = new DataView(kernarg.buffer, kernarg.byteOffset, kernarg.byteLength);
    const metadata = kernel.metadata!;
    const buffers: Uint8Array[] = [];
    let groupSegmentSizeBytes = kernel.groupSegmentSizeBytes;
    args.forEach((argument, i) => {
      if (argument.kind === 'dynamic') {
        groupSegmentSizeBytes = Math.ceil(groupSegmentSizeBytes / 16) * 16 + argument.sizeBytes;
        return;
      }
      const { offsetBytes } = metadata.args[i]!;
      if (argument.kind === 'value') kernarg.set(bytesOf(argument.contents), offsetBytes);
      else if (argument.kind === 'local') {
        groupSegmentSizeBytes = Math.ceil(groupSegmentSizeBytes / 16) * 16;
        view.setUint32(offsetBytes, groupSegmentSizeBytes, true);
        groupSegmentSizeBytes += argument.sizeBytes;
      } else {
        const contents = bytesOf(argument.contents);
        const [address, bytes] = allocate(contents.length);
        bytes.set(contents);
        buffers.push(bytes);
        view.setBigUint64(offsetBytes, address, true);
      }
    });
    writeHiddenArguments(view, metadata, { gridSize: grid, workgroupSize: group, dims: 3 });
    return { buffers, groupSegmentSizeBytes };
  }
}
