/**
 * Programs with a `main` on emulated GPUs, with tools in them or not: what they print, execute and access, by
 * the addresses of their files.
 */
import { addPcCount, type PcCount } from '../../src/device/statistics.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import type { LaunchObserver } from '../../src/hsa/runtime/launch-observer.ts';
import type { Step } from '../../src/isa.ts';
import { type ImageRun, type Outcome, runImage } from '../fuzz/run-image.ts';
import { type LaneAccess, LoadedImage } from '../loaded-image.test-support.ts';
import { ExecutionOrder, type Stretch } from './execution-order.ts';

export interface ProgramImage {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly processor: string;
  /** How it is started. */
  readonly run?: ImageRun;
}

export interface CountedRun {
  readonly outcome: Outcome;
  readonly counts: ReadonlyMap<number, PcCount>;
  /** What the last kernel executed: it asks the host to end the program, and is stopped where it is then. */
  readonly lastKernel: ReadonlySet<number>;
}

/** Of the smallest waves. */
const LANES = 32;

/** At most so many run the program at once. */
export function wavesOf({ run = {} }: ProgramImage): number {
  const items = [...(run.blocks ?? []), ...(run.threads ?? [])].reduce((product, size) => product * size, 1);
  return Math.ceil(items / LANES);
}

/**
 * A program of one wave has a clock that stands still, so that it prints the same times in each run: the host
 * has its turns where the wave waits. Of several waves one may wait for another that waits for the host.
 */
const clockOf = (image: ProgramImage) => (wavesOf(image) === 1 ? { now: () => 0 } : {});

/** Other jobs may leave little of the machine. */
const RUN: ImageRun = { stackSizeBytes: 65_536, timeoutMs: 3_600_000 };

/** Runs a program as compiled code, which counts what it executes. */
export async function runCounted(
  program: ProgramImage,
  tools?: LaunchObserver,
  image = new LoadedImage(tools),
): Promise<CountedRun> {
  const { bytes, processor, run } = program;
  const device = createEmulatedDevice({ processor, countsPcs: true, compileThreshold: 2, ...clockOf(program) });
  try {
    const { kernels, ...outcome } = await runImage(bytes, { ...RUN, ...run, device, observer: image });
    const counts = new Map<number, PcCount>();
    for (const { statistics } of kernels) {
      for (const [pc, count] of statistics.pcCounts ?? []) {
        const address = image.addressOf(pc);
        counts.set(address, addPcCount(counts.get(address), count));
      }
    }
    const last = kernels.at(-1)?.statistics.pcCounts ?? new Map();
    return { outcome, counts, lastKernel: new Set([...last.keys()].map((pc) => image.addressOf(pc))) };
  } finally {
    device.close();
  }
}

/** What is looked at in a run on the reference executor. */
export interface Looks {
  /**
   * The original instruction that one in the image is, by its address; undefined for one that was added or
   * need not be in both. Waves take turns by those that are.
   */
  readonly originOf: (address: number) => number | undefined;
  /** Whether the order of an original instruction counts, by its address. */
  readonly isOrdered: (origin: number) => boolean;
  /** Whether what the instruction at an address accesses is asked for; default: none is. */
  readonly isAsked?: (address: number) => boolean;
  readonly wanted?: Stretch;
}

export interface ObservedRun {
  readonly outcome: Outcome;
  readonly order: ExecutionOrder;
  /** What lanes access, as sorted text. */
  readonly accesses: readonly string[];
}

/** Runs a program on the reference executor. */
export async function runObserved(program: ProgramImage, looks: Looks): Promise<ObservedRun> {
  const { bytes, processor, run } = program;
  let launch = 0;
  const image = new LoadedImage({ onLoaded: () => undefined, onLaunch: () => launch++, onFinished: () => undefined });
  const order = new ExecutionOrder(looks.wanted);
  const found: LaneAccess[] = [];
  const origins = new Map<number, number | undefined>();
  const originOf = ({ offset }: Step): number | undefined => {
    if (!origins.has(offset)) origins.set(offset, looks.originOf(image.addressOfOffset(offset)));
    return origins.get(offset);
  };
  const device = createEmulatedDevice({
    ...{ processor, executor: 'reference', ...clockOf(program) },
    observer: {
      isFree: (step) => originOf(step) === undefined,
      waveStarts: (wave) => order.waveStarts(launch, wave),
      beforeStep: (wave, step) => {
        const origin = originOf(step);
        if (origin !== undefined && looks.isOrdered(origin)) order.add(wave, origin);
      },
      access: (_wave, { offset }, { lane, address }) => {
        const pc = image.addressOfOffset(offset);
        if (lane >= 0 && looks.isAsked?.(pc)) found.push({ pc, lane, address });
      },
    },
  });
  try {
    const { kernels: _, ...outcome } = await runImage(bytes, { ...RUN, ...run, device, observer: image });
    return { outcome, order, accesses: image.accessText(found) };
  } finally {
    device.close();
  }
}
