/** Benchmark kernels on the emulator, as they were compiled and with tools in them. */
import { existsSync, readFileSync } from 'node:fs';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import type { PcCount } from '../src/device/statistics.ts';
import type { StepObserver } from '../src/emulator/reference/step-observer.ts';
import type { Cell } from '../src/instrument/index.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { type ToolReport, ToolSession } from '../src/tools/tool-session.ts';
import { type LaneAccess, LoadedImage } from './loaded-image.test-support.ts';

export const TARGETS = ['gfx90a', 'gfx942', 'gfx1100'] as const;

/** Whether it counts its lanes: all but what scalars do. */
export const isVector = (text: Cell): boolean =>
  /^(v_(?!readlane|writelane|readfirstlane)|ds_|global_|flat_|scratch_|buffer_)/.test(`${text}`);

/**
 * What new code does without: hints on what stands next, and the early end of registers that payloads use.
 */
export const LEFT_OUT = /^s_(delay_alu|clause|sendmsg sendmsg\(MSG_DEALLOC_VGPRS\))/;

/**
 * The name of an instruction in a listing, without what says how it is encoded; of two in one instruction,
 * both.
 */
export const nameIn = (text: string): string =>
  text
    .split(' :: ')
    .map((part) => part.split(' ', 1)[0]!.replace(/_(e32|e64|dpp|sdwa|e64_dpp)$/, ''))
    .join(' :: ');

export interface KernelCase {
  readonly file: string;
  readonly processor: string;
  readonly benchmark: Pick<(typeof KERNELS)[number], 'name' | 'kernel' | 'launch'>;
  /** In place of the file's. */
  readonly bytes?: Uint8Array;
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

export const imageOf = ({ file, bytes = readFileSync(file) }: KernelCase) => ({ name: file, bytes });

export function runNative(each: KernelCase): NativeRun {
  const image = new LoadedImage();
  using runner = new KernelRunner({ processor: each.processor, countsPcs: true }, image);
  const output = runKernel(imageOf(each), each, runner);
  const counts = new Map(Array.from(runner.statistics.pcCounts!, ([pc, count]) => [image.addressOf(pc), count]));
  return { output, counts };
}

export interface Access extends LaneAccess {
  readonly space: string;
  /** Of those that the lane makes by this execution of the instruction. */
  readonly isFirst: boolean;
}

/** What only the reference executor tells of a native run. */
export interface Observed {
  /** That lanes make. */
  readonly accesses: readonly Access[];
  /** Waves that came to each instruction with a lane that was active, by image address. */
  readonly activeWaves: ReadonlyMap<number, number>;
  /** Where it lay. */
  readonly image: LoadedImage;
}

export function observeNatively(each: KernelCase): Observed {
  const accesses: Access[] = [];
  const activeWaves = new Map<number, number>();
  const seen = new Set<number>();
  const image = new LoadedImage();
  const observer: StepObserver = {
    beforeStep: (wave, { offset }) => {
      seen.clear();
      const pc = image.addressOfOffset(offset);
      if (wave.state('exec') !== 0n) activeWaves.set(pc, (activeWaves.get(pc) ?? 0) + 1);
    },
    access: (_wave, { offset }, { lane, address, space }) => {
      if (lane < 0) return;
      accesses.push({ pc: image.addressOfOffset(offset), lane, address, space, isFirst: !seen.has(lane) });
      seen.add(lane);
    },
  };
  using runner = new KernelRunner({ processor: each.processor, executor: 'reference', observer }, image);
  runKernel(imageOf(each), each, runner);
  return { accesses, activeWaves, image };
}

export interface ToolsRun {
  readonly output: Uint8Array;
  readonly reports: readonly ToolReport[];
  /** How many instructions were executed. */
  readonly instructions: number;
  /** Where the new code lay. */
  readonly image: LoadedImage;
}

/** Runs a kernel with tools, each as `--tool` names it. */
export async function runWithTools(each: KernelCase, ...tools: readonly string[]): Promise<ToolsRun> {
  const session = new ToolSession(await Promise.all(tools.map(chooseTool)));
  const instrumented = session.instrument(imageOf(each));
  const image = new LoadedImage(session);
  using runner = new KernelRunner({ processor: each.processor }, image);
  const output = runKernel(instrumented, each, runner);
  session.onFinished();
  return { output, reports: session.reports, instructions: runner.statistics.instructions, image };
}
