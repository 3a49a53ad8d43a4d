/** Benchmark kernels on the emulator, as they were compiled and with tools in them. */
import { existsSync, readFileSync } from 'node:fs';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import type { PcCount } from '../src/device/statistics.ts';
import type { LaunchObserver } from '../src/hsa/runtime/launch-observer.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { type ToolReport, ToolSession } from '../src/tools/tool-session.ts';

export const TARGETS = ['gfx90a', 'gfx942', 'gfx1100'] as const;

export interface KernelCase {
  readonly file: string;
  readonly processor: string;
  readonly benchmark: (typeof KERNELS)[number];
}

/** The kernels of examples/kernels on a target, those of `names` or all. */
export const kernelCases = (processor: string, names?: readonly string[]): KernelCase[] =>
  KERNELS.filter(({ name }) => names?.includes(name) ?? true)
    .map((benchmark) => ({ file: `examples/kernels/${benchmark.name}.${processor}.co`, processor, benchmark }))
    .filter(({ file }) => existsSync(file));

export interface NativeRun {
  readonly output: Uint8Array;
  /** By image address. */
  readonly counts: ReadonlyMap<number, PcCount>;
}

function runKernel(image: { bytes: Uint8Array; name: string }, { benchmark }: KernelCase, runner: KernelRunner) {
  const { name, kernel = name } = benchmark;
  return runner.prepare(image, kernel, benchmark.launch('small'))().output.slice();
}

export const imageOf = ({ file }: KernelCase) => ({ name: file, bytes: readFileSync(file) });

export function runNative(each: KernelCase): NativeRun {
  let delta = 0n;
  const observer: LaunchObserver = {
    onLoaded: (_runtime, _agent, executable) => {
      delta = executable.loadedCodeObjects[0]!.loadDelta;
    },
    onLaunch: () => undefined,
    onFinished: () => undefined,
  };
  using runner = new KernelRunner({ processor: each.processor, countsPcs: true }, observer);
  const output = runKernel(imageOf(each), each, runner);
  const counts = new Map(Array.from(runner.statistics.pcCounts!, ([pc, count]) => [Number(pc - delta), count]));
  return { output, counts };
}

export interface ToolsRun {
  readonly output: Uint8Array;
  readonly reports: readonly ToolReport[];
  /** How many instructions were executed. */
  readonly instructions: number;
}

/** Runs a kernel with tools, each as `--tool` names it. */
export async function runWithTools(each: KernelCase, ...tools: readonly string[]): Promise<ToolsRun> {
  const session = new ToolSession(await Promise.all(tools.map(chooseTool)));
  const image = session.instrument(imageOf(each));
  using runner = new KernelRunner({ processor: each.processor }, session);
  const output = runKernel(image, each, runner);
  session.onFinished();
  return { output, reports: session.reports, instructions: runner.statistics.instructions };
}
