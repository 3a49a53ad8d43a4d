/** Runs a random program on a device, and says how its outcome differs from that of the model. */

import { seededIntegers } from '../core/random.ts';
import type { Semaphore, WaitInput } from '../core/semaphore.ts';
import type { HalError } from '../core/status.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { ExecutableExport } from '../executables/executable.ts';
import type { HalBuffer } from '../memory/buffer.ts';
import { memoryFile } from '../queues/file-transfer.ts';
import type { OrderOptions, Submission } from '../queues/submission.ts';
import {
  BUFFER_BYTES,
  contentsOfStep,
  failsByItself,
  homeOf,
  type LinkedStep,
  link,
  modelOf,
  patternOf,
  type RandomProgram,
  STATIC_BUFFERS,
  TIMELINES,
} from './random-program.test-support.ts';

export interface Runner {
  readonly device: LogicalDevice;
  readonly mix: ExecutableExport;
  /** Stores to an address; absent where nobody stops that. */
  readonly storeAt?: ExecutableExport | undefined;
}

class ProgramExecution {
  readonly #runner: Runner;
  readonly #steps: readonly LinkedStep[];
  readonly #gate: Semaphore;
  readonly #timelines: readonly Semaphore[];
  readonly #own: readonly Semaphore[];
  readonly #buffers: (HalBuffer | undefined)[];
  readonly #submissions: (Submission<unknown> | undefined)[] = [];
  readonly files = new Map<number, Uint8Array>();
  /** Whether steps may fail: one that does would fail its timeline for those before it, too. */
  readonly #mayFail: boolean;

  constructor(runner: Runner, steps: readonly LinkedStep[]) {
    const { device } = runner;
    this.#runner = runner;
    this.#steps = steps;
    this.#gate = device.createSemaphore({ label: 'gate' });
    this.#timelines = Array.from({ length: TIMELINES }, (_, i) => device.createSemaphore({ label: `timeline ${i}` }));
    this.#own = steps.map(({ index }) => device.createSemaphore({ label: `end of step ${index}` }));
    const params = { memoryType: 'host-local', usage: ['default', 'mapping'] } as const;
    this.#buffers = Array.from({ length: STATIC_BUFFERS }, (_, i) =>
      device.allocate(BUFFER_BYTES, { ...params, deviceOrdinal: homeOf(i, device.physicalDevices.length) }),
    );
    this.#mayFail = steps.some(failsByItself);
  }

  /** The order of submission is one that a seed chooses; only a buffer must be there before it is named. */
  async run(
    seed: number,
  ): Promise<{ readonly complete: boolean[]; readonly contents: Uint8Array[]; readonly errors: string[] }> {
    const random = seededIntegers(seed);
    const rest = this.#steps.filter(({ kind }) => kind !== 'alloca').map(({ index }) => index);
    const order = this.#steps.filter(({ kind }) => kind === 'alloca').map(({ index }) => index);
    while (rest.length > 0) order.push(...rest.splice(random(rest.length), 1));
    const controllers = order.map((index) => {
      const controller = new AbortController();
      this.#submissions[index] = this.#submit(this.#steps[index]!, controller.signal);
      return { index, controller };
    });
    for (const { index, controller } of controllers) if (this.#steps[index]!.isAborted) controller.abort();
    this.#gate.signal(1);
    const failures = await Promise.all(
      this.#submissions.map((each) =>
        each!.then(
          () => undefined,
          (error) => error as HalError,
        ),
      ),
    );
    const complete = failures.map((failure) => failure === undefined);
    const contents = this.#buffers.slice(0, STATIC_BUFFERS).map((buffer) => buffer!.read());
    for (const buffer of this.#buffers) buffer?.[Symbol.dispose]();
    const errors = failures.filter((error) => error !== undefined).flatMap((error) => this.#oddities(error));
    return { complete, contents, errors };
  }

  /** A failure says what it comes from: an abort, a host call that threw, or a fault. */
  #oddities({ chain, origin }: HalError): string[] {
    const isFault = this.#steps.some(({ faults }) => faults) && /invalid write of address 0x0 by/.test(origin.message);
    const isKnown = origin.name === 'AbortError' || origin.message === 'thrown' || isFault;
    return isKnown ? [] : [`a failure of another origin: ${chain.map(({ message }) => message).join(' <- ')}`];
  }

  /** Where the end of a step stands: on a timeline of several, or on one of its own where steps may fail. */
  #endOf(index: number): readonly [Semaphore, number] {
    if (this.#mayFail) return [this.#own[index]!, 1];
    return [this.#timelines[this.#steps[index]!.timeline]!, this.#placeOf(index)];
  }

  #order(step: LinkedStep, abort: AbortSignal): OrderOptions {
    const waits = step.waits.map((index): WaitInput => {
      const isEven = (step.value + index) % 2 === 0;
      return (isEven ? this.#submissions[index] : undefined) ?? this.#endOf(index);
    });
    const signals = [this.#endOf(step.index)];
    return { waits: [...waits, this.#gate.at(1)], signals, abort, label: `step ${step.index}` };
  }

  /** Which value of its timeline the step signals. */
  #placeOf(index: number): number {
    const { timeline } = this.#steps[index]!;
    return 1 + this.#steps.slice(0, index).filter((each) => each.timeline === timeline).length;
  }

  #submit(step: LinkedStep, abort: AbortSignal): Submission<unknown> {
    const { device, mix, storeAt } = this.#runner;
    const queues = step.gpu === undefined ? device.queues : device.queuesOf(step.gpu);
    const queue = queues[step.queue % queues.length]!;
    const order = this.#order(step, abort);
    const at = (buffer: number) => ({
      buffer: this.#buffers[buffer]!,
      offsetBytes: step.offset,
      sizeBytes: step.length,
    });
    const dispatch = { entry: mix, workgroupSize: 64, groups: 1, constants: [step.value, step.length / 4] };
    switch (step.kind) {
      case 'fill':
        return queue.fill({ ...order, target: at(step.target), pattern: patternOf(step) });
      case 'copy':
        return queue.copy({ ...order, source: at(step.source), target: at(step.target) });
      case 'update':
        return queue.update({ ...order, target: at(step.target), contents: contentsOfStep(step) });
      case 'dispatch':
        if (step.faults) return queue.dispatch({ ...order, entry: storeAt!, groups: 1, constants: [0, 0] });
        return queue.dispatch({ ...order, ...dispatch, bindings: [at(step.source), at(step.target)] });
      case 'execute': {
        using program = device.record({ slots: ['source'] }, (commands) => {
          commands.fill({ target: at(step.target), pattern: patternOf(step) }).barrier();
          commands.dispatch({ ...dispatch, bindings: [{ slot: 'source' }, at(step.target)] });
        });
        return queue.execute({ ...order, commands: program, bindings: [at(step.source)] });
      }
      case 'host-call':
        return queue.hostCall({ ...order, call: async () => this.#call(step) });
      case 'read':
        return queue.read({ ...order, file: memoryFile(contentsOfStep(step)), target: at(step.target) });
      case 'write': {
        const bytes = new Uint8Array(step.length);
        this.files.set(step.index, bytes);
        return queue.write({ ...order, source: at(step.source), file: memoryFile(bytes) });
      }
      case 'barrier':
        return queue.barrier(order);
      case 'alloca': {
        const memory = queue.alloca({
          ...order,
          sizeBytes: BUFFER_BYTES,
          deviceOrdinal: homeOf(step.target, device.physicalDevices.length),
        });
        this.#buffers[step.target] = memory.result;
        return memory;
      }
      case 'dealloca':
        return queue.dealloca({ ...order, buffer: this.#buffers[step.target]! });
    }
  }

  async #call(step: LinkedStep): Promise<void> {
    if (step.value % 2 === 0) await new Promise((resolve) => queueMicrotask(() => resolve(undefined)));
    if (step.throws) throw new RangeError('thrown');
  }
}

/** How a run of the program differs from the model; nothing where it does not. */
export async function differences(runner: Runner, program: RandomProgram): Promise<string[]> {
  const { physicalDevices } = runner.device;
  const { executes } = physicalDevices[0]!;
  const traits = { gpuCount: physicalDevices.length, executes, hasFaults: runner.storeAt !== undefined };
  const steps = link(program, traits);
  const model = modelOf(steps, traits);
  const execution = new ProgramExecution(runner, steps);
  const { complete, contents, errors } = await execution.run(program.seed);
  const found = [...errors];
  for (const [index, isComplete] of complete.entries()) {
    if (isComplete !== model.complete[index])
      found.push(`step ${index} (${steps[index]!.kind}) is complete: ${isComplete}`);
  }
  for (const [index, bytes] of contents.entries()) {
    if (Buffer.compare(bytes, model.contents[index]!) !== 0) found.push(`buffer ${index} differs`);
  }
  for (const [index, bytes] of model.files) {
    if (Buffer.compare(bytes, execution.files.get(index)!) !== 0) found.push(`the file of step ${index} differs`);
  }
  const { liveCount } = runner.device.allocator.statistics;
  if (liveCount !== 0) found.push(`${liveCount} allocations are left`);
  const { waiting, running } = runner.device.pendingCounts;
  if (waiting + running !== 0) found.push(`${waiting} operations wait, ${running} run`);
  return found;
}
