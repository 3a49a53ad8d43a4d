/** Benchmark kernels on the emulator, as they were compiled and with tools in them. */
import { existsSync, readFileSync } from 'node:fs';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { KERNELS } from '../src/bench/kernels.ts';
import type { PcCount } from '../src/device/statistics.ts';
import type { StepObserver } from '../src/emulator/reference/step-observer.ts';
import type { LaunchObserver } from '../src/hsa/runtime/launch-observer.ts';
import type { Cell } from '../src/instrument/index.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { type ToolReport, ToolSession } from '../src/tools/tool-session.ts';

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

export interface Access {
  /** Image address of the instruction. */
  readonly pc: number;
  readonly lane: number;
  readonly space: string;
  readonly address: bigint;
  /** Of those that the lane makes by this execution of the instruction. */
  readonly isFirst: boolean;
}

/** Memory that is further away than any buffer of these kernels is long was allocated for something else. */
const FAR = 2n ** 20n;

/**
 * Accesses as sorted text. Buffers are elsewhere where the code is larger, all by as much: global addresses
 * count from the lowest one that is near.
 */
export function accessText(accesses: readonly Omit<Access, 'isFirst'>[]): readonly string[] {
  const isGlobal = ({ space }: Pick<Access, 'space'>): boolean => space === 'global' || space === 'flat';
  const sorted = BigUint64Array.from(accesses.filter(isGlobal), ({ address }) => address).sort();
  const starts = sorted.filter((address, i) => i === 0 || address - sorted[i - 1]! > FAR);
  const nearest = (address: bigint): string => {
    const region = starts.findLastIndex((start) => start <= address);
    return `${region}+${address - starts[region]!}`;
  };
  const lines = accesses.map((each) => {
    const address = isGlobal(each) ? nearest(each.address) : `${each.address}`;
    return `${each.pc} ${each.lane} ${address}`;
  });
  return lines.sort();
}

/** What only the reference executor tells of a native run. */
export interface Observed {
  /** That lanes make. */
  readonly accesses: readonly Access[];
  /** Waves that came to each instruction with a lane that was active, by image address. */
  readonly activeWaves: ReadonlyMap<number, number>;
}

export function observeNatively(each: KernelCase): Observed {
  const accesses: Access[] = [];
  const activeWaves = new Map<number, number>();
  const seen = new Set<number>();
  let start = 0;
  const image: LaunchObserver = {
    onLoaded: (_runtime, _agent, executable) => {
      // Steps count from the start of device memory.
      start = Number(BigInt.asUintN(32, executable.loadedCodeObjects[0]!.loadDelta));
    },
    onLaunch: () => undefined,
    onFinished: () => undefined,
  };
  const observer: StepObserver = {
    beforeStep: (wave, { offset }) => {
      seen.clear();
      if (wave.state('exec') !== 0n) activeWaves.set(offset - start, (activeWaves.get(offset - start) ?? 0) + 1);
    },
    access: (_wave, { offset }, { lane, address, space }) => {
      if (lane < 0) return;
      accesses.push({ pc: offset - start, lane, address, space, isFirst: !seen.has(lane) });
      seen.add(lane);
    },
  };
  using runner = new KernelRunner({ processor: each.processor, executor: 'reference', observer }, image);
  runKernel(imageOf(each), each, runner);
  return { accesses, activeWaves };
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
