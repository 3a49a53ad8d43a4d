/** Kernels of one queue in their order, and what became of them. */
import type { WavewrightError } from '../../base/errors.ts';
import type { Fault } from '../../device/fault.ts';
import type { Dispatch, KernelLaunch } from '../../device/launch.ts';
import { type DispatchStatistics, NO_STATISTICS } from '../../device/statistics.ts';
import type { CudaContext } from './context.ts';
import type { LoadedKernel } from './module.ts';
import { NOT_READY, resultFault, resultHint, SUCCESS } from './results.ts';

/** CUfunction_attribute: memory that a launch may add to a block's. */
const MAX_DYNAMIC_SHARED = 8;
/** What a block has of it without being asked (CUDA C++ programming guide, compute capabilities). */
const USUAL_SHARED_BYTES = 48 * 1024;
/** CU_LAUNCH_PARAM_...: arguments as one block of memory. */
const [PARAM_END, PARAM_BUFFER, PARAM_SIZE] = [0n, 1n, 2n];
const NANOSECONDS_PER_MILLISECOND = 1_000_000;
/** How long a kernel that is not wanted any more may still run before the GPU is given up. */
const GRACE_MS = 200;
const POLL_MS = 1;

const UNSTOPPABLE = 'CUDA stops no single kernel: it runs until it ends, or this process does';

class CudaDispatch implements Dispatch {
  state: Dispatch['state'] = 'running';
  fault?: Fault;
  error?: WavewrightError;
  endTicks = 0n;
  readonly startTicks = process.hrtime.bigint();
  readonly kernel: LoadedKernel;
  /** The GPU does not count instructions. */
  readonly statistics: DispatchStatistics;
  readonly #stream: CudaStream;

  constructor(stream: CudaStream, kernel: LoadedKernel, workgroups: number, waves: number) {
    this.#stream = stream;
    this.kernel = kernel;
    this.statistics = { ...NO_STATISTICS, workgroups, waves };
  }

  cancel(): void {
    if (this.state === 'running') this.#stream.abandon();
  }

  describeWaves(): string[] {
    return [`the GPU does not say where its threads are; ${UNSTOPPABLE}`];
  }
}

interface Entry {
  readonly dispatch: CudaDispatch;
  readonly start: bigint;
  readonly end: bigint;
}

export class CudaStream {
  readonly #context: CudaContext;
  readonly #handle: bigint;
  readonly #running: Entry[] = [];
  readonly #events: bigint[] = [];

  constructor(context: CudaContext) {
    context.expectUsable();
    this.#context = context;
    this.#handle = context.createStream();
  }

  /** `launch` was held against the device. Throws what the driver refuses. */
  dispatch(kernel: LoadedKernel, { workgroupSize, gridSize, argumentsAddress, resources }: KernelLaunch): Dispatch {
    const context = this.#context;
    context.expectUsable();
    const { call, ffi } = context.library;
    const dynamicBytes = Math.max(0, resources.groupSizeBytes - kernel.sharedSizeBytes);
    if (resources.groupSizeBytes > USUAL_SHARED_BYTES) {
      const result = call.cuFuncSetAttribute(kernel.entry, MAX_DYNAMIC_SHARED, dynamicBytes);
      context.check(result, `${dynamicBytes} bytes of dynamic shared memory`);
    }
    if (resources.privateSizeBytes > kernel.privateSizeBytes) context.reserveStack(resources.privateSizeBytes);
    const blocks = gridSize.map((size, d) => size / workgroupSize[d]!) as [number, number, number];
    const workgroups = blocks[0] * blocks[1] * blocks[2];
    const warps = Math.ceil((workgroupSize[0] * workgroupSize[1] * workgroupSize[2]) / 32);
    const [start, end] = [this.#event(), this.#event()];
    // The size stands behind the list that names it, in memory that stays where it is.
    const extra = new BigUint64Array(new ArrayBuffer(48));
    const sizeAddress = ffi.getRawPointer(extra.buffer) + 40n;
    extra.set([PARAM_BUFFER, argumentsAddress, PARAM_SIZE, sizeAddress, PARAM_END, BigInt(kernel.parametersSizeBytes)]);
    const dispatch = new CudaDispatch(this, kernel, workgroups, workgroups * warps);
    try {
      context.check(call.cuEventRecord(start, this.#handle), 'cuEventRecord');
      const extents = [...blocks, ...workgroupSize, dynamicBytes] as const;
      const all = [...extents, this.#handle, 0n, new Uint8Array(extra.buffer)] as const;
      context.check(call.cuLaunchKernel(kernel.entry, ...all), `the launch of kernel '${kernel.name}'`);
    } catch (error) {
      this.#events.push(start, end);
      throw error;
    }
    this.#running.push({ dispatch, start, end });
    // A kernel may be stopped before this.
    const result = call.cuEventRecord(end, this.#handle);
    if (result !== SUCCESS) this.#fail(result);
    return dispatch;
  }

  /** Takes back what is done; returns whether anything runs. */
  advance(): boolean {
    if (this.#running.length > 0) this.#context.enter();
    for (;;) {
      const [entry] = this.#running;
      if (entry === undefined) return false;
      const result = this.#context.library.call.cuEventQuery(entry.end);
      if (result === NOT_READY) return true;
      if (result === SUCCESS) this.#complete(entry);
      else this.#fail(result);
    }
  }

  #complete(entry: Entry): void {
    const { library } = this.#context;
    const time = new Float32Array(1);
    const result = library.call.cuEventElapsedTime(new Uint8Array(time.buffer), entry.start, entry.end);
    if (result !== SUCCESS) {
      this.#fail(result);
      return;
    }
    const { dispatch } = entry;
    dispatch.endTicks = dispatch.startTicks + BigInt(Math.round(time[0]! * NANOSECONDS_PER_MILLISECOND));
    dispatch.state = 'complete';
    this.#running.shift();
    this.#events.push(entry.start, entry.end);
  }

  /** The context answers everything with this result now: what ran first caused it, as far as one knows. */
  #fail(result: number): void {
    const [first, ...others] = this.#running.splice(0);
    const { library } = this.#context;
    const { dispatch } = first!;
    for (const { start, end } of [first!, ...others]) this.#events.push(start, end);
    const known = resultFault(result);
    if (known) {
      this.#context.giveUp(`kernel '${dispatch.kernel.name}' ended with ${library.describe(result)}`);
      const place = { pc: 0n, instruction: '', location: '', workgroup: [0, 0, 0], wave: 0 } as const;
      const hint = resultHint(result);
      const message = `${known.what}: ${library.describe(result)}${hint === undefined ? '' : `; ${hint}`}`;
      dispatch.fault = { kind: known.kind, message, ...place };
      dispatch.state = 'faulted';
    } else {
      // The kernel may go on although nothing could be asked about it.
      this.#drain(dispatch.kernel, () => library.call.cuStreamQuery(this.#handle) === NOT_READY);
      dispatch.error = library.error(result, `kernel '${dispatch.kernel.name}'`);
      dispatch.state = 'cancelled';
    }
    for (const entry of others) entry.dispatch.state = 'cancelled';
  }

  /** Nobody waits any more: gives what runs a moment, then gives up the GPU. */
  abandon(): void {
    const [first] = this.#running;
    if (first === undefined) return;
    this.#drain(first.dispatch.kernel, () => this.advance());
    for (const { dispatch } of this.#running.splice(0)) dispatch.state = 'cancelled';
  }

  #drain({ name }: LoadedKernel, isBusy: () => boolean): void {
    const until = performance.now() + GRACE_MS;
    while (isBusy()) {
      if (performance.now() > until) {
        this.#context.stick(`kernel '${name}' did not end; ${UNSTOPPABLE}`);
        return;
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
    }
  }

  #event(): bigint {
    const { library } = this.#context;
    return this.#events.pop() ?? library.word((out) => library.call.cuEventCreate(out, 0), 'cuEventCreate');
  }

  /** Cancels what runs. */
  close(): void {
    this.abandon();
    const { isUsable, library } = this.#context;
    if (!isUsable) return;
    this.#context.enter();
    for (const event of this.#events.splice(0)) {
      this.#context.check(library.call.cuEventDestroy_v2(event), 'cuEventDestroy_v2');
    }
    this.#context.check(library.call.cuStreamDestroy_v2(this.#handle), 'cuStreamDestroy_v2');
  }
}
