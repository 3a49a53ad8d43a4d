/** Runs benchmark kernels as PTX on a virtual device. */
import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import { addStatistics, type DispatchStatistics, NO_STATISTICS } from '../device/statistics.ts';
import { createPtxDevice, type PtxDeviceOptions } from '../devices/emulated/ptx-device.ts';
import { PreparedKernel } from '../ptx-host/prepared-kernel.ts';
import { PtxExecutable } from '../ptx-host/ptx-executable.ts';
import { type BenchmarkRunner, dispatchArgument, type KernelImage, type Measured } from './kernel-runner.ts';
import type { BenchmarkLaunch } from './kernels/kernel-benchmark.ts';
import { timed } from './sampling.ts';

export class PtxKernelRunner implements BenchmarkRunner {
  readonly #device: Device;
  readonly #resources = new DisposableStack();
  #statistics: DispatchStatistics = NO_STATISTICS;

  constructor(options: PtxDeviceOptions) {
    this.#device = this.#resources.adopt(createPtxDevice(options), (device) => device.close());
  }

  get statistics(): DispatchStatistics {
    return this.#statistics;
  }

  prepare({ bytes, name }: KernelImage, kernelName: string, { args, ...sizes }: BenchmarkLaunch): () => Measured {
    const text = new TextDecoder().decode(bytes);
    const executable = this.#resources.use(new PtxExecutable(this.#device, [{ text, name }]));
    const kernel = executable.kernels.find((each) => each.name === kernelName);
    if (!kernel) throw new WavewrightError('BAD_INPUT', `there is no kernel '${kernelName}'`, { file: name });
    const use = { ...sizes, args: args.map(dispatchArgument) };
    const prepared = this.#resources.use(new PreparedKernel(this.#device, executable, kernel, use));
    const { argument, address } = prepared.buffers[0]!;
    const output = this.#device.memory.view(address, argument.sizeBytes);
    return () => ({
      ...timed(() => {
        const dispatch = prepared.start();
        while (dispatch.state === 'running') this.#device.advance();
        const error = executable.errorOf(dispatch, kernel);
        if (error) throw error;
        this.#statistics = addStatistics(this.#statistics, dispatch.statistics);
      }),
      output,
    });
  }

  [Symbol.dispose](): void {
    this.#resources[Symbol.dispose]();
  }
}
