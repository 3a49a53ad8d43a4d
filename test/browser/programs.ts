/**
 * What the tests run in the browser, on a page or in a worker of its; the server gives it this file as
 * JavaScript.
 */

import { KernelRunner } from '../../src/bench/kernel-runner.ts';
import { differenceFrom } from '../../src/bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../../src/bench/kernels.ts';
import { ControlBlock } from '../../src/emulator/workers/control.ts';
import type { WorkerSetup } from '../../src/emulator/workers/worker.ts';
import { createHal, executeReplay, planReplay, readReplayFile } from '../../src/hal.ts';
import {
  CodeObjectReader,
  createEmulatedDevice,
  createRuntime,
  MemoryFileSystem,
  runProgram,
  writeHiddenArguments,
} from '../../src/index.ts';
import { webThreads } from '../../src/web.ts';

async function load(path: string): Promise<Uint8Array> {
  const response = await fetch(`/examples/${path}`);
  return new Uint8Array(await response.arrayBuffer());
}

async function run(path: string, args: readonly string[], options = {}, files = new MemoryFileSystem()) {
  const device = createEmulatedDevice({ processor: 'gfx90a', threads: webThreads });
  const decoder = new TextDecoder();
  try {
    const image = await load(path);
    const { status, ended, output } = await runProgram(image, { device, args, filesystem: files, ...options });
    return { status, ended, stdout: decoder.decode(output.stdout), stderr: decoder.decode(output.stderr) };
  } finally {
    device.close();
  }
}

const collatzSteps = (first: number): number => {
  let steps = 0;
  for (let x = first; x !== 1; x = x % 2 === 0 ? x / 2 : 3 * x + 1) steps++;
  return steps;
};

/**
 * Dispatches `collatz` through the runtime until `isEnough`; how often its results were right, and what ran.
 */
async function dispatchCollatz(threads: typeof webThreads, isEnough: () => boolean, workers?: number) {
  const COUNT = 65_536;
  const device = createEmulatedDevice({ processor: 'gfx90a', threads, ...(workers && { workers }) });
  try {
    using runtime = createRuntime({ devices: [device] });
    const agent = runtime.gpuAgents[0]!;
    using executable = runtime.createExecutable();
    executable.loadCodeObject(agent, new CodeObjectReader(await load('kernels/collatz.gfx90a.co')));
    executable.freeze();
    const kernel = executable.getSymbol('collatz.kd');
    if (kernel.kind !== 'kernel') return undefined;
    const out = agent.pool('coarse-grained').allocate(4 * COUNT);
    const kernarg = runtime.cpuAgent.pool('kernarg', agent).allocate(kernel.kernargSegmentSizeBytes);
    const queue = runtime.createQueue(agent);
    const expected = Int32Array.from({ length: COUNT }, (_, i) => collatzSteps(1 + i));
    let right = 0;
    let dispatches = 0;
    do {
      runtime.fill(out, 0, COUNT);
      const bytes = runtime.view(kernarg, kernel.kernargSegmentSizeBytes);
      const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      data.setBigUint64(0, out, true);
      data.setInt32(8, 1, true);
      data.setInt32(12, 10_000, true);
      writeHiddenArguments(data, kernel.metadata!, { gridSize: [COUNT, 1, 1], workgroupSize: [64, 1, 1], dims: 1 });
      using done = runtime.createSignal(1n, agent);
      queue.dispatch({
        kernel: kernel.kernelObject,
        grid: [COUNT],
        workgroup: [64],
        kernarg,
        completionSignal: done,
      });
      await done.wait('lt', 1n);
      dispatches++;
      const found = new Int32Array(runtime.view(out, 4 * COUNT).slice().buffer);
      if (found.every((steps, i) => steps === expected[i])) right++;
    } while (!isEnough());
    const { regions, loops } = queue.statistics.tiers;
    return { dispatches, right, compiled: regions + loops > 0 };
  } finally {
    device.close();
  }
}

/** What the last job of each worker that started has done. */
function observed(host: typeof webThreads) {
  const setups: WorkerSetup[] = [];
  const ends: string[] = [];
  const threads: typeof webThreads = {
    ...host,
    start(setup, onEnd) {
      setups.push(setup);
      return host.start(setup, (reason) => {
        ends.push(reason);
        onEnd(reason);
      });
    },
  };
  const workgroups = (): number[] =>
    setups.map(({ control, workers, index }) => {
      try {
        return (new ControlBlock(workers, control).worker(index).outcome() as { workgroups: number }).workgroups;
      } catch {
        // Nothing is written there yet.
        return 0;
      }
    });
  return { threads, ends, workgroups };
}

/** By name, with values that can be cloned. */
export const PROGRAMS = {
  hello: () => run('hello/hello.gfx90a.co', ['hello', 'browser'], { threads: [3, 1, 1] }),

  async files() {
    const files = new MemoryFileSystem();
    files.set('input', new TextEncoder().encode('abc'));
    return await run('sha256/sha256.gfx90a.co', ['sha256', 'input'], {}, files);
  },

  async timeLimit() {
    try {
      return await run('checks/infinite-loop.gfx90a.co', ['x'], { timeoutMs: 3000 });
    } catch (error) {
      return String(error);
    }
  },

  /** Every benchmark kernel, small, on all tiers: what differs from the model. */
  async kernels() {
    // What the runner measures with, which browsers do not have.
    Object.assign(globalThis, { process: { threadCpuUsage: () => ({ user: 0, system: 0 }) } });
    const differences: string[] = [];
    let compiled = 0;
    for (const processor of ['gfx90a', 'gfx1100']) {
      using runner = new KernelRunner({ processor, compileThreshold: 0 });
      for (const { name, kernel = name, processors, launch, model, tolerance } of KERNELS) {
        if (processors?.includes(processor) === false) continue;
        const image = { name, bytes: await load(`kernels/${name}.${processor}.co`) };
        const small = launch('small');
        const { output } = runner.prepare(image, kernel, small)();
        const difference = differenceFrom(model(small), output, tolerance);
        if (difference !== undefined) differences.push(`${processor} ${name}: ${difference}`);
      }
      const { regions, loops } = runner.statistics.tiers;
      compiled += regions + loops;
    }
    return { differences, compiled };
  },

  dispatch: () => dispatchCollatz(webThreads, () => true),

  async threads() {
    const { threads, ends, workgroups } = observed({ ...webThreads, parallelism: 3 });
    const deadline = performance.now() + 60_000;
    const helped = () => workgroups().some((count) => count > 0);
    const result = await dispatchCollatz(threads, () => helped() || performance.now() > deadline);
    return { allRight: result?.right === result?.dispatches, helped: helped(), ends };
  },

  async threadsOnDemand() {
    try {
      await dispatchCollatz(webThreads, () => false, 2);
      return 'no error';
    } catch (error) {
      return String(error);
    }
  },

  /** Recordings that the test made: what is not as it was. */
  async replays() {
    const names = (await (await fetch('/dist/recordings/names.json')).json()) as string[]; // reason: the test wrote it
    const differences: string[] = [];
    let [operations, compared] = [0, 0];
    for (const name of names) {
      const bytes = await (await fetch(`/dist/recordings/${name}`)).arrayBuffer();
      const plan = planReplay(readReplayFile(new Uint8Array(bytes), name));
      for (const order of ['recorded', 'parallel'] as const) {
        const hal = createHal();
        const devices = [];
        for (const { uri } of plan.devices) devices.push(await hal.open(uri!));
        const outcome = await executeReplay(plan, devices, { order, verifies: true });
        operations += outcome.operationCount;
        compared += outcome.comparedCount;
        differences.push(...outcome.differences.map(({ message }) => `${name}, ${order}: ${message}`));
        hal[Symbol.dispose]();
      }
    }
    return { replays: 2 * names.length, operations, compared, differences };
  },

  async parallelism() {
    return webThreads.parallelism;
  },
};
