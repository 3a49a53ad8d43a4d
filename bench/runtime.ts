/**
 * The HSA runtime: packets per second through one queue, symbols looked up, a large code object loaded and
 * linked. `node bench/runtime.ts` prints medians of thread CPU time.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { assembledImage, kernelSource } from '../src/bench/assembled-kernel.ts';
import { median, timed } from '../src/bench/sampling.ts';
import { CodeObjectReader, createEmulatedDevice, createRuntime, type KernelSymbol } from '../src/index.ts';

const PROCESSOR = 'gfx90a';
const PACKETS = 20_000;
const SYMBOLS = 10_000;
const CODE_OBJECT_BYTES = 10 * 2 ** 20;
const SAMPLES = 5;

/** Milliseconds of thread CPU time, the median of several runs. */
const cpuMs = (run: () => void): number => median(Array.from({ length: SAMPLES }, () => timed(run).cpuMs));

/** Functions that return, a table of their addresses, and data up to the size. */
function largeObject(): string {
  const names = Array.from({ length: SYMBOLS }, (_, i) => `f${i}`);
  const code = names.map(
    (name) => `.globl ${name}\n.type ${name},@function\n${name}: s_setpc_b64 s[30:31]\n.size ${name}, 4\n`,
  );
  const table = names.map((name) => `.quad ${name}\n`);
  return `.text\n${code.join('')}.data\n${table.join('')}.fill ${CODE_OBJECT_BYTES}, 1, 7\n`;
}

const link = (source: string): CodeObjectReader => new CodeObjectReader(assembledImage(source, 'bench').bytes);

using runtime = createRuntime({ devices: [createEmulatedDevice({ processor: PROCESSOR })] });
const agent = runtime.gpuAgents[0]!;

const executable = runtime.createExecutable();
executable.loadCodeObject(agent, link(kernelSource('empty', '')));
executable.freeze();
const kernel = (executable.getSymbol('empty.kd') as KernelSymbol).kernelObject;
const queue = runtime.createQueue(agent, { sizePackets: 1024 });
const done = runtime.createSignal(0n);
const zero = runtime.createSignal(0n);
const perSecond = (submit: (last: boolean) => void): string => {
  const ms = cpuMs(() => {
    done.store(1n);
    for (let i = 1; i <= PACKETS; i++) submit(i === PACKETS);
    done.waitSync('eq', 0n);
  });
  return `${Math.round(PACKETS / (ms / 1000))}/s`;
};
const completion = (last: boolean) => (last ? { completionSignal: done } : {});
console.log(
  'empty kernels',
  perSecond((last) => queue.dispatch({ kernel, grid: [1], workgroup: [1], ...completion(last) })),
);
console.log(
  'barriers',
  perSecond((last) => queue.barrier({ dependencies: [zero], mode: 'all', ...completion(last) })),
);

/** What a million dispatches leave in memory, when the first ones have made what is kept. */
const MANY = 1_000_000;
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
const dispatchMany = (count: number): void => {
  done.store(1n);
  for (let i = 1; i <= count; i++) {
    queue.dispatch({ kernel, grid: [1], workgroup: [1], ...completion(i === count) });
  }
  done.waitSync('eq', 0n);
};
dispatchMany(MANY / 4);
collectGarbage();
const before = process.memoryUsage();
dispatchMany(MANY);
collectGarbage();
const after = process.memoryUsage();
const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(2)} MiB`;
console.log(
  `${MANY} dispatches more: heap ${mib(after.heapUsed - before.heapUsed)}, resident ${mib(after.rss - before.rss)}`,
);

const reader = link(largeObject());
let loaded = runtime.createExecutable();
const load = (): void => {
  loaded[Symbol.dispose]();
  loaded = runtime.createExecutable();
  loaded.loadCodeObject(agent, reader);
  loaded.freeze();
};
console.log(`load and freeze of ${reader.bytes.length} bytes, ${SYMBOLS} relocations:`, cpuMs(load).toFixed(1), 'ms');
const lookUp = (): void => {
  for (let i = 0; i < SYMBOLS; i++) loaded.getSymbol(`f${i}`);
};
console.log(`${SYMBOLS} symbols looked up:`, cpuMs(lookUp).toFixed(2), 'ms');
