/**
 * Programs with a `main` on emulated GPUs, with tools in them or not: what they print, execute and access, by
 * the addresses of their files.
 */
import { parseCodeObject } from '../../src/codeobject/code-object.ts';
import { addPcCount, type PcCount } from '../../src/device/statistics.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import type { LaunchObserver } from '../../src/hsa/runtime/launch-observer.ts';
import type { Step } from '../../src/isa.ts';
import { liftCodeObject } from '../../src/lift/lifted-code.ts';
import type { LiftedFunction } from '../../src/lift/lifted-function.ts';
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

/** Other jobs may leave little of the machine. */
const RUN: ImageRun = { stackSizeBytes: 65_536, timeoutMs: 3_600_000 };

/** Runs a program as compiled code, which counts what it executes. */
export async function runCounted(
  { bytes, processor, run }: ProgramImage,
  tools?: LaunchObserver,
  image = new LoadedImage(tools),
): Promise<CountedRun> {
  const device = createEmulatedDevice({ processor, countsPcs: true, compileThreshold: 2 });
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
export async function runObserved({ bytes, processor, run }: ProgramImage, looks: Looks): Promise<ObservedRun> {
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
    processor,
    executor: 'reference',
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

/** Addresses of instructions whose number of executions depends on when the host has its turns. */
export function hostPaced({ bytes }: ProgramImage, { lastKernel }: CountedRun): ReadonlySet<number> {
  const { functions } = liftCodeObject(parseCodeObject(bytes, 'program'));
  const paced = new Set(functions.flatMap(waits));
  for (const { blocks } of functions) {
    const steps = blocks.flatMap(({ instructions }) => instructions);
    if (steps.some(({ offset }) => lastKernel.has(offset))) for (const { offset } of steps) paced.add(offset);
  }
  return paced;
}

/** Loops around an `s_sleep`, and all that they call. */
function waits({ blocks, loops, sites }: LiftedFunction): readonly number[] {
  const addresses = (each: LiftedFunction['blocks'][number]): number[] => each.instructions.map(({ offset }) => offset);
  const sleeping = blocks.filter(({ instructions }) => instructions.some((step) => step.text().startsWith('s_sleep')));
  const around = new Set(sleeping.flatMap(({ index }) => loops.at(index) ?? []));
  const own = [...around].flatMap((loop) => loops.nodesOf(loop)).flatMap((index) => addresses(blocks[index]!));
  const isOwn = new Set(own);
  const called = sites.flatMap(({ step, callees }) => (isOwn.has(step.offset) ? callees : []));
  const reached = new Set(called.flatMap((callee) => [...callee.reaches().functions]));
  return [...own, ...[...reached].flatMap((each) => each.blocks.flatMap(addresses))];
}
