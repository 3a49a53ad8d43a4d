/**
 * The two memories as a worker sees them. The main thread keeps account of what is allocated; the worker asks
 * it, seldom.
 */
import { WavewrightError } from '../../base/errors.ts';
import { LinearMemory, WindowMemory } from '../machine/linear-memory.ts';
import type { CodeRange, EmulatorMemory, RegionOptions, SharedMemory } from '../machine/memory.ts';
import type { SharedState, StateMemory } from '../machine/state-memory.ts';

export type MemoryQuestion =
  | { readonly kind: 'allocate'; readonly sizeBytes: number; readonly options: RegionOptions }
  | { readonly kind: 'free'; readonly offset: number }
  | { readonly kind: 'allocate state'; readonly sizeBytes: number; readonly owner?: string | undefined }
  | { readonly kind: 'free state'; readonly offset: number }
  | { readonly kind: 'code'; readonly offset: number };

/** Puts a question to the main thread and waits for the answer. */
type Ask = (question: MemoryQuestion) => unknown;

/** Freed state, and freed LDS, that all workers keep for their next workgroups. */
const MAX_KEPT_BYTES = 64 * 2 ** 20;
const EXHAUSTED = 'LIMIT_EXCEEDED';

/** What the main thread answers. */
export function answerMemory(
  { state, memory }: { readonly state: StateMemory; readonly memory: EmulatorMemory },
  question: MemoryQuestion,
): unknown {
  switch (question.kind) {
    case 'allocate':
      return orExhausted(() => memory.allocate(question.sizeBytes, question.options));
    case 'free':
      memory.free(question.offset);
      return null;
    case 'allocate state':
      return orExhausted(() => state.allocate(question.sizeBytes, question.owner));
    case 'free state':
      state.free(question.offset);
      return null;
    case 'code':
      return memory.code(question.offset) ?? null;
  }
}

function orExhausted(allocate: () => number): unknown {
  try {
    return allocate();
  } catch (error) {
    if (error instanceof WavewrightError && error.code === EXHAUSTED) return { message: error.what };
    throw error;
  }
}

/** The offset in an answer. Throws LIMIT_EXCEEDED when no memory is left. */
function offsetIn(answer: unknown): number {
  if (typeof answer === 'number') return answer;
  throw new WavewrightError(EXHAUSTED, (answer as { message: string }).message);
}

interface Block {
  readonly offset: number;
  readonly sizeBytes: number;
  readonly owner: string;
}

/**
 * Freed blocks are kept and used again, by their owners and without a question: what they hold is no news to
 * these.
 */
class KeptBlocks {
  readonly #maxBytes: number;
  readonly #release: (offset: number) => void;
  readonly #used = new Map<number, Block>();
  /** Freed, the last one last. */
  readonly #kept: Block[] = [];
  #keptBytes = 0;

  constructor(maxBytes: number, release: (offset: number) => void) {
    this.#maxBytes = maxBytes;
    this.#release = release;
  }

  take(sizeBytes: number, owner: string, allocate: () => number): number {
    const index = this.#kept.findLastIndex((block) => block.sizeBytes === sizeBytes && block.owner === owner);
    const block = index >= 0 ? this.#kept.splice(index, 1)[0]! : { offset: allocate(), sizeBytes, owner };
    if (index >= 0) this.#keptBytes -= sizeBytes;
    this.#used.set(block.offset, block);
    return block.offset;
  }

  /** False for what was not taken here. */
  giveBack(offset: number): boolean {
    const block = this.#used.get(offset);
    if (!block) return false;
    this.#used.delete(offset);
    this.#kept.push(block);
    this.#keptBytes += block.sizeBytes;
    this.#shrink(this.#maxBytes);
    return true;
  }

  clear(): void {
    this.#shrink(0);
  }

  #shrink(maxBytes: number): void {
    while (this.#keptBytes > maxBytes) {
      const oldest = this.#kept.shift()!;
      this.#keptBytes -= oldest.sizeBytes;
      this.#release(oldest.offset);
    }
  }
}

export class RemoteState extends LinearMemory implements SharedState {
  readonly #ask: Ask;
  readonly #waves: KeptBlocks;

  /** `workers`: how many there are. */
  constructor(memory: WebAssembly.Memory, workers: number, ask: Ask) {
    super(memory);
    this.#ask = ask;
    this.#waves = new KeptBlocks(MAX_KEPT_BYTES / workers, (offset) => ask({ kind: 'free state', offset }));
  }

  /** As of StateMemory. Throws LIMIT_EXCEEDED when no memory is left. */
  allocate(sizeBytes: number, owner?: string): number {
    const ask = (): number => offsetIn(this.#ask({ kind: 'allocate state', sizeBytes, owner }));
    return owner === undefined ? ask() : this.#waves.take(sizeBytes, owner, ask);
  }

  free(offset: number): void {
    if (!this.#waves.giveBack(offset)) this.#ask({ kind: 'free state', offset });
  }

  forgetOwners(): void {
    this.#waves.clear();
  }
}

export class RemoteMemory extends WindowMemory implements SharedMemory {
  readonly #ask: Ask;
  readonly #lds: KeptBlocks;
  #code: CodeRange[] = [];

  /** `workers`: how many there are. */
  constructor(memory: WebAssembly.Memory, windowHi: number, workers: number, ask: Ask) {
    super(memory, windowHi);
    this.#ask = ask;
    this.#lds = new KeptBlocks(MAX_KEPT_BYTES / workers, (offset) => ask({ kind: 'free', offset }));
  }

  /** Throws LIMIT_EXCEEDED when no memory is left. */
  allocate(sizeBytes: number, options: RegionOptions = {}): number {
    const ask = (): number => offsetIn(this.#ask({ kind: 'allocate', sizeBytes, options }));
    const isLds = options.permissions === 0 && options.uninitialized;
    return isLds ? this.#lds.take(sizeBytes, 'LDS', ask) : ask();
  }

  free(offset: number): void {
    if (!this.#lds.giveBack(offset)) this.#ask({ kind: 'free', offset });
  }

  /** As it was since `forget`. */
  code(offset: number): CodeRange | undefined {
    const known = this.#code.find((range) => offset >= range.offset && offset < range.offset + range.sizeBytes);
    if (known) return known;
    const found = this.#ask({ kind: 'code', offset }) as CodeRange | null;
    if (found) this.#code.push(found);
    return found ?? undefined;
  }

  /** Code may be elsewhere from now on. */
  forget(): void {
    this.#code = [];
  }
}
