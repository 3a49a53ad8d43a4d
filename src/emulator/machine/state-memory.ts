/**
 * The emulator's own memory: the validity map, constant tables, wave states, decoded code. No address that
 * GPU code makes leads here, whatever its value: code that accesses device memory names the other memory.
 */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { FreeRanges } from './free-ranges.ts';
import { NIBBLE_MASKS, NIBBLE_SPREADS, PAGE_SIZE_BYTES, STATE_START } from './layout.ts';
import { createLinearMemory, LinearMemory } from './linear-memory.ts';

/** Every offset is below 2^31, so that 32-bit arithmetic on offsets is never negative. */
const MAX_STATE_BYTES = 2 ** 31;

const wholePages = (sizeBytes: number): number => alignUp(sizeBytes, PAGE_SIZE_BYTES);

interface Block {
  readonly offset: number;
  readonly end: number;
  readonly owner: string | undefined;
}

/** Freed blocks that wait for their owner: as much as a few kernels that take turns have. */
const MAX_KEPT_BYTES = 16 * 2 ** 20;

export class StateMemory extends LinearMemory {
  readonly #free = new FreeRanges();
  readonly #blocks = new Map<number, Block>();
  /** Freed ones of owners, the last one last. */
  readonly #kept: Block[] = [];
  #keptBytes = 0;
  #usedBytes = 0;
  /** Memory from here on was never handed out and is still zero. */
  #untouched = STATE_START;

  /** Throws LIMIT_EXCEEDED, and UNSUPPORTED where modules cannot have two memories. */
  constructor() {
    super(createLinearMemory(MAX_STATE_BYTES, "the emulator's state"));
    this.#free.giveBack(STATE_START, this.buffer.byteLength);
    for (let bits = 0; bits < 16; bits++) {
      for (let lane = 0; lane < 4; lane++)
        this.words[(NIBBLE_MASKS + bits * 16) / 4 + lane] = (bits >> lane) & 1 ? -1 : 0;
      for (let byte = 0; byte < 16; byte++)
        this.bytes[NIBBLE_SPREADS + bits * 16 + byte] = spreadLane(bits, byte >> 2) * 4 + (byte & 3);
    }
  }

  /** Bytes that are allocated. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /**
   * Returns the offset of whole pages. They are zero, or as the same owner left them: waves of one kernel may
   * see what earlier ones had in registers, those of another may not. Throws LIMIT_EXCEEDED when none are
   * left.
   */
  allocate(sizeBytes: number, owner?: string): number {
    const takenBytes = wholePages(sizeBytes);
    const block = this.#takeKept(takenBytes, owner) ?? this.#take(takenBytes, owner);
    this.#blocks.set(block.offset, block);
    this.#usedBytes += takenBytes;
    return block.offset;
  }

  #takeKept(takenBytes: number, owner: string | undefined): Block | undefined {
    if (owner === undefined) return undefined;
    const index = this.#kept.findLastIndex((block) => block.owner === owner && block.end - block.offset === takenBytes);
    if (index < 0) return undefined;
    this.#keptBytes -= takenBytes;
    // The last one it is where a kernel is launched again and again.
    return index === this.#kept.length - 1 ? this.#kept.pop()! : this.#kept.splice(index, 1)[0]!;
  }

  #take(takenBytes: number, owner: string | undefined): Block {
    let offset = this.#free.take(takenBytes, PAGE_SIZE_BYTES);
    if (offset === undefined) {
      this.forgetOwners();
      offset = this.#free.take(takenBytes, PAGE_SIZE_BYTES);
    }
    if (offset === undefined) {
      throw new WavewrightError(
        'LIMIT_EXCEEDED',
        `out of memory for waves and decoded code: ${takenBytes} bytes more`,
        {
          hint: `the emulator has ${this.buffer.byteLength - STATE_START} bytes for the state of one device`,
        },
      );
    }
    const end = offset + takenBytes;
    if (offset < this.#untouched) this.fill(0, offset, Math.min(end, this.#untouched));
    this.#untouched = Math.max(this.#untouched, end);
    return { offset, end, owner };
  }

  /** Throws USAGE when nothing starts at `offset`. What is freed is used again at once. */
  free(offset: number): void {
    const block = this.#blocks.get(offset);
    if (block === undefined) throw new WavewrightError('USAGE', `no state starts at ${hex(offset)}`);
    this.#blocks.delete(offset);
    const sizeBytes = block.end - offset;
    this.#usedBytes -= sizeBytes;
    if (block.owner === undefined) {
      this.#free.giveBack(offset, block.end, true);
      return;
    }
    this.#kept.push(block);
    this.#keptBytes += sizeBytes;
    while (this.#keptBytes > MAX_KEPT_BYTES) this.#giveBack(this.#kept.shift()!);
  }

  #giveBack({ offset, end }: Block): void {
    this.#keptBytes -= end - offset;
    this.#free.giveBack(offset, end, true);
  }

  /** An owner of the same name is another from now on. */
  forgetOwners(): void {
    for (const block of this.#kept.splice(0)) this.#giveBack(block);
  }
}

/**
 * What running code needs of state memory. Only one thread of a device keeps account of it; the others ask
 * it.
 */
export type SharedState = LinearMemory & Pick<StateMemory, 'allocate' | 'free'>;

/** The lane that stands for `lane` when only those of `bits` count. */
function spreadLane(bits: number, lane: number): number {
  const lower = bits & ((2 << lane) - 1);
  if (lower !== 0) return 31 - Math.clz32(lower);
  return bits === 0 ? lane : 31 - Math.clz32(bits & -bits);
}
