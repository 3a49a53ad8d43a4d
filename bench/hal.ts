/**
 * The HAL against what it stands on, in one run: dispatches against AQL packets, a reusable command buffer
 * against the same dispatches one by one, copies against a plain one, asynchronous allocation against
 * synchronous, and what a link of a chain of semaphores costs. `node bench/hal.ts` prints ratios of CPU time.
 */
import { readFileSync } from 'node:fs';
import { type Subject, sampleInTurn } from '../src/bench/sampling.ts';
import { createHal } from '../src/hal.ts';
import { CodeObjectReader, createEmulatedDevice, createRuntime, type KernelSymbol } from '../src/index.ts';

const PROCESSOR = 'gfx90a';
const DISPATCHES = 1000;
const LINKS = 10_000;
const COPY_BYTES = 64 * 2 ** 20;
const ALLOCATIONS = 1000;
const ALLOCATION_BYTES = 4096;
const SAMPLES = 5;

/** A subject whose work goes through the event loop: its time is that of all threads of the process. */
function asynchronous(name: string, run: () => Promise<void>): Subject {
  return {
    name,
    async sample(milliseconds) {
      let [cpuUs, runs] = [0, 0];
      const start = performance.now();
      do {
        const before = process.cpuUsage();
        await run();
        const { user, system } = process.cpuUsage(before);
        cpuUs += user + system;
        runs++;
      } while (cpuUs < milliseconds * 1000);
      return { cpuSeconds: cpuUs / runs / 1e6, wallSeconds: (performance.now() - start) / runs / 1000 };
    },
  };
}

/** One wave of it adds numbers. */
const bytes = readFileSync(new URL(`../examples/kernels/vadd.${PROCESSOR}.co`, import.meta.url));
const WORKGROUP = 64;

await using hal = createHal({ processors: [PROCESSOR], memorySizeBytes: 2 ** 29 });
const device = await hal.open('amdgpu://0');
using executable = device.load(bytes);
const entry = executable.lookup('vadd');
const queue = device.queue();
using numbers = device.allocate(4 * WORKGROUP);
const bindings = [numbers, numbers, numbers];
const launch = { entry, groups: 1, workgroupSize: WORKGROUP, bindings, constants: [WORKGROUP] };

using runtime = createRuntime({ devices: [createEmulatedDevice({ processor: PROCESSOR })] });
const agent = runtime.gpuAgents[0]!;
const loaded = runtime.createExecutable();
loaded.loadCodeObject(agent, new CodeObjectReader(bytes, 'vadd'));
loaded.freeze();
const kernel = (loaded.getSymbol('vadd.kd') as KernelSymbol).kernelObject;
const packets = runtime.createQueue(agent, { sizePackets: 2048 });
const done = runtime.createSignal(0n);
const pool = runtime.cpuAgent.pool('fine-grained', agent);
const operands = pool.allocate(4 * WORKGROUP);
const kernarg = pool.allocate(512);
const block = new BigUint64Array(runtime.view(kernarg, 32).slice().buffer);
block.set([operands, operands, operands, BigInt(WORKGROUP)]);
runtime.view(kernarg, 32).set(new Uint8Array(block.buffer));

const aql = asynchronous('AQL packets', async () => {
  done.store(BigInt(DISPATCHES));
  for (let i = 0; i < DISPATCHES; i++) {
    packets.dispatch({ kernel, grid: [WORKGROUP], workgroup: [WORKGROUP], kernarg, completionSignal: done });
  }
  done.waitSync('eq', 0n);
});

const dispatches = asynchronous('dispatches of a queue', async () => {
  const submissions = Array.from({ length: DISPATCHES }, () => queue.dispatch(launch));
  for (const submission of submissions) await submission;
});

const commands = device.record({ label: 'thousand' }, (recorder) => {
  for (let i = 0; i < DISPATCHES; i++) recorder.dispatch(launch);
});
const execution = asynchronous('a command buffer', async () => {
  await queue.execute({ commands });
});

const chain = asynchronous('a chain of semaphores', async () => {
  const timeline = device.createSemaphore();
  for (let i = 1; i <= LINKS; i++) queue.barrier({ waits: [timeline.at(i - 1)], signals: [timeline.at(i)] });
  await timeline.at(LINKS);
});

using source = device.allocate(COPY_BYTES);
using target = device.allocate(COPY_BYTES);
const from = new Uint8Array(COPY_BYTES).fill(1);
const into = new Uint8Array(COPY_BYTES).fill(2);
await queue.fill({ target: source, pattern: Uint8Array.of(1) });
const copy = asynchronous('a copy', async () => {
  await queue.copy({ source, target });
});
const plain = asynchronous('a plain copy', async () => into.set(from));

const synchronous = asynchronous('synchronous allocations', async () => {
  for (let i = 0; i < ALLOCATIONS; i++) device.allocate(ALLOCATION_BYTES)[Symbol.dispose]();
});
const queued = asynchronous('allocations of a queue', async () => {
  let last: PromiseLike<unknown> | undefined;
  for (let i = 0; i < ALLOCATIONS; i++) {
    const allocation = queue.alloca({ sizeBytes: ALLOCATION_BYTES });
    last = queue.dealloca({ buffer: allocation.result, waits: [allocation] });
  }
  await last;
});

const subjects = [aql, dispatches, execution, chain, copy, plain, synchronous, queued];
const samples = await sampleInTurn(subjects, SAMPLES);
const seconds = new Map(subjects.map(({ name }, i) => [name, samples[i]!.cpuSeconds]));
const of = ({ name }: Subject): number => seconds.get(name)!;
const us = (value: number): string => `${(value * 1e6).toFixed(2)} us`;
const ratio = (what: string, value: number, wanted: string): void =>
  console.log(`${what.padEnd(58)} ${value.toFixed(2).padStart(6)}  (${wanted})`);

console.log(`AQL packet ${us(of(aql) / DISPATCHES)}, dispatch ${us(of(dispatches) / DISPATCHES)}`);
console.log(`link of a chain ${us(of(chain) / LINKS)}, allocation ${us(of(synchronous) / ALLOCATIONS)}`);
ratio('dispatch of a queue / AQL packet', of(dispatches) / of(aql), 'wanted at most 1.5');
ratio('command buffer / dispatches of a queue', of(execution) / of(dispatches), 'wanted at most 0.6');
ratio('bandwidth of a copy / of a plain copy', of(plain) / of(copy), 'wanted at least 0.5');
ratio('allocation of a queue / synchronous one', of(queued) / of(synchronous), 'no goal');
