/**
 * Random programs of queue operations, the sequential model of them, and what makes a failing one small. A
 * program is a list of steps, of which everything else follows: which steps use one buffer and must be
 * ordered, and so which steps can be left out.
 */
import { seededIntegers } from '../core/random.ts';

export const BUFFER_BYTES = 64;
/** Buffers that are there from the beginning; those behind them come and go. */
export const STATIC_BUFFERS = 3;
export const TRANSIENT_BUFFERS = 2;
export const TIMELINES = 3;
/** Queues that programs name; a device with fewer takes those numbers modulo its own. */
const QUEUES = 4;

const KINDS = [
  'fill',
  'copy',
  'update',
  'dispatch',
  'execute',
  'host-call',
  'read',
  'write',
  'barrier',
  'alloca',
  'dealloca',
] as const;

export interface Step {
  readonly kind: (typeof KINDS)[number];
  readonly target: number;
  readonly source: number;
  /** A multiple of 4; the range ends in the buffer. */
  readonly offset: number;
  readonly length: number;
  readonly value: number;
  readonly timeline: number;
  readonly queue: number;
  /** How many steps before it others are that it waits for besides. */
  readonly extra: readonly number[];
  /** It is aborted before anything begins. */
  readonly isAborted: boolean;
  /** A host call that throws. */
  readonly throws: boolean;
  /** A dispatch that stores to where no memory is, on devices that see it. */
  readonly faults: boolean;
}

export interface RandomProgram {
  readonly seed: number;
  readonly steps: readonly Step[];
}

/** A step in its program: what it must wait for, by index, and the GPU that runs it. */
export interface LinkedStep extends Step {
  readonly index: number;
  readonly waits: readonly number[];
  /** Undefined: that of any queue. */
  readonly gpu: number | undefined;
}

/** The GPU of `gpuCount` in whose memory a buffer lies. */
export const homeOf = (buffer: number, gpuCount: number): number => buffer % gpuCount;

export function randomProgram(seed: number, size: number): RandomProgram {
  const random = seededIntegers(seed);
  const buffers = STATIC_BUFFERS + TRANSIENT_BUFFERS;
  const steps = Array.from({ length: 1 + random(size) }, (): Step => {
    const kind = KINDS[random(KINDS.length)]!;
    const isTransient = kind === 'alloca' || kind === 'dealloca';
    const target = isTransient ? STATIC_BUFFERS + random(TRANSIENT_BUFFERS) : random(buffers);
    const offset = 4 * random(BUFFER_BYTES / 4);
    const extra = Array.from({ length: random(3) }, () => 1 + random(6));
    return {
      kind,
      target,
      source: (target + 1 + random(buffers - 1)) % buffers,
      offset,
      length: 4 * (1 + random((BUFFER_BYTES - offset) / 4)),
      value: random(2 ** 31),
      timeline: random(TIMELINES),
      queue: random(QUEUES),
      extra,
      isAborted: random(40) === 0,
      throws: random(8) === 0,
      faults: random(16) === 0,
    };
  });
  return { seed, steps };
}

/** What programs run on. */
export interface RunnerTraits {
  readonly gpuCount: number;
  /** Whether dispatches run code. */
  readonly executes: boolean;
  /** Whether code that misuses memory is stopped. */
  readonly hasFaults: boolean;
}

/** What a step is where kernels do not reach the memory of other GPUs: it copies then, and runs nothing. */
function placed(step: Step, gpuCount: number): Pick<LinkedStep, 'kind' | 'gpu'> {
  if (step.kind !== 'dispatch' && step.kind !== 'execute') return { kind: step.kind, gpu: undefined };
  const [from, to] = [homeOf(step.source, gpuCount), homeOf(step.target, gpuCount)];
  return from === to ? { kind: step.kind, gpu: to } : { kind: 'copy', gpu: undefined };
}

/** Which buffers a step reads and writes. */
function usesOf({ kind, target, source }: Step): {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
} {
  switch (kind) {
    case 'host-call':
    case 'barrier':
      return { reads: [], writes: [] };
    case 'copy':
    case 'dispatch':
    case 'execute':
      return { reads: [source], writes: [target] };
    case 'write':
      return { reads: [source], writes: [] };
    default:
      return { reads: [], writes: [target] };
  }
}

/**
 * The steps that make sense where they stand (no use of memory that is not there), with all that they wait
 * for: whoever used their buffers before them, those before them on their timeline, and others by chance.
 */
export function link({ steps }: RandomProgram, { gpuCount, hasFaults }: RunnerTraits): LinkedStep[] {
  const linked: LinkedStep[] = [];
  const isThere = (buffer: number) => buffer < STATIC_BUFFERS || allocated.has(buffer);
  const allocated = new Set<number>();
  const writers = new Map<number, number>();
  const readers = new Map<number, number[]>();
  const timelines = new Map<number, number>();
  for (const step of steps) {
    const { reads, writes } = usesOf(step);
    const isValid = step.kind === 'alloca' ? !isThere(step.target) : [...reads, ...writes].every(isThere);
    // Each transient buffer has one life: two would need two buffers.
    if (!isValid || (step.kind === 'alloca' && writers.has(step.target))) continue;
    const index = linked.length;
    const waits = new Set<number>();
    for (const buffer of [...reads, ...writes]) if (writers.has(buffer)) waits.add(writers.get(buffer)!);
    for (const buffer of writes) for (const reader of readers.get(buffer) ?? []) waits.add(reader);
    for (const distance of step.extra) if (index - distance >= 0) waits.add(index - distance);
    if (timelines.has(step.timeline)) waits.add(timelines.get(step.timeline)!);
    const { kind, gpu } = placed(step, gpuCount);
    const faults = step.faults && hasFaults && kind === 'dispatch';
    linked.push({ ...step, kind, gpu, faults, index, waits: [...waits] });
    for (const buffer of reads) readers.set(buffer, [...(readers.get(buffer) ?? []), index]);
    for (const buffer of writes) {
      writers.set(buffer, index);
      readers.set(buffer, []);
    }
    timelines.set(step.timeline, index);
    if (step.kind === 'alloca') allocated.add(step.target);
    if (step.kind === 'dealloca') allocated.delete(step.target);
  }
  return linked;
}

export const patternOf = ({ value }: Step): Uint8Array => Uint8Array.of(value, value >> 8, value >> 16, value >> 24);
export const contentsOfStep = ({ length, value }: Step): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => value + 7 * i);
/** What the kernel `mix` computes, on words. */
function mix(input: Uint32Array, output: Uint32Array, factor: number, count: number): void {
  for (let i = 0; i < count; i++) output[i] = Math.imul(input[i]!, factor) + (output[i]! ^ (output[i]! >>> 7));
}

export interface Outcome {
  /** Of each step: whether it was complete. */
  readonly complete: readonly boolean[];
  /** Of static buffers. */
  readonly contents: readonly Uint8Array[];
  /** What steps wrote to files, by index. */
  readonly files: ReadonlyMap<number, Uint8Array>;
}

/** Whether a step fails, if what it waits for does not. */
export const failsByItself = ({ kind, isAborted, throws, faults }: LinkedStep): boolean =>
  isAborted || faults || (kind === 'host-call' && throws);

/** What comes of a program, whatever the order is in which its waits allow it to run. */
export function modelOf(steps: readonly LinkedStep[], { executes }: RunnerTraits): Outcome {
  const buffers = Array.from({ length: STATIC_BUFFERS + TRANSIENT_BUFFERS }, () => new Uint8Array(BUFFER_BYTES));
  const complete: boolean[] = [];
  const files = new Map<number, Uint8Array>();
  for (const step of steps) {
    const isComplete = !failsByItself(step) && step.waits.every((wait) => complete[wait]);
    complete.push(isComplete);
    if (isComplete) apply(step, buffers, files, executes);
  }
  return { complete, contents: buffers.slice(0, STATIC_BUFFERS), files };
}

function apply(step: LinkedStep, buffers: Uint8Array[], files: Map<number, Uint8Array>, executes: boolean): void {
  const { offset, length } = step;
  const target = buffers[step.target]!.subarray(offset, offset + length);
  const source = buffers[step.source]!.subarray(offset, offset + length);
  const words = (bytes: Uint8Array) => new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const fill = () => target.set(Uint8Array.from({ length }, (_, i) => patternOf(step)[i % 4]!));
  switch (step.kind) {
    case 'fill':
      fill();
      break;
    case 'copy':
      target.set(source);
      break;
    case 'update':
    case 'read':
      target.set(contentsOfStep(step));
      break;
    case 'write':
      files.set(step.index, Uint8Array.from(source));
      break;
    case 'dispatch':
      if (executes) mix(words(source), words(target), step.value, length / 4);
      break;
    case 'execute':
      fill();
      if (executes) mix(words(source), words(target), step.value, length / 4);
      break;
    case 'alloca':
      buffers[step.target]!.fill(0);
  }
}

/** The smallest program that still fails, by leaving steps out and by dropping what a step has besides. */
export async function shrink(
  program: RandomProgram,
  fails: (candidate: RandomProgram) => Promise<boolean>,
): Promise<RandomProgram> {
  let best = program;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (let i = best.steps.length - 1; i >= 0; i--) {
      const without = { ...best, steps: best.steps.toSpliced(i, 1) };
      const simpler = { ...best.steps[i]!, extra: [], isAborted: false, throws: false, faults: false };
      const plain = { ...best, steps: best.steps.with(i, simpler) };
      if (await fails(without)) [best, isSmaller] = [without, true];
      else if (JSON.stringify(plain) !== JSON.stringify(best) && (await fails(plain)))
        [best, isSmaller] = [plain, true];
    }
  }
  return best;
}
