/**
 * The emulator's own memory: the validity map, constant tables, wave states, decoded code. No address that GPU code makes leads
 * here, whatever its value: code that accesses device memory names the other memory.
 */
import { WavewrightError } from '../base/errors.ts';
import { fillBytes } from './fill.ts';
import { FreeRanges } from './free-ranges.ts';
import { NIBBLE_MASKS, NIBBLE_SPREADS, PAGE_SIZE_BYTES, STATE_START } from './layout.ts';
import { createLinearMemory, LinearMemory } from './linear-memory.ts';

/** Every offset is below 2^31, so that 32-bit arithmetic on offsets is never negative. */
const MAX_STATE_BYTES = 2 ** 31;

const roundUp = (value: number): number => Math.ceil(value / PAGE_SIZE_BYTES) * PAGE_SIZE_BYTES;

export class StateMemory extends LinearMemory {
  readonly #free = new FreeRanges();
  /** Bytes of what is allocated, by its offset. */
  readonly #sizes = new Map<number, number>();
  #usedBytes = 0;

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

  /** Returns the offset of whole pages, which are zero if `zeroed`. Throws LIMIT_EXCEEDED when none are left. */
  allocate(sizeBytes: number, zeroed: boolean): number {
    const takenBytes = roundUp(sizeBytes);
    const start = this.#free.take(takenBytes, PAGE_SIZE_BYTES);
    if (start === undefined) {
      throw new WavewrightError('LIMIT_EXCEEDED', `out of memory for waves and decoded code: ${sizeBytes} bytes more`, {
        hint: `the emulator has ${this.buffer.byteLength - STATE_START} bytes for the state of one device`,
      });
    }
    this.#sizes.set(start, takenBytes);
    this.#usedBytes += takenBytes;
    if (zeroed) fillBytes(this.bytes, 0, start, start + takenBytes);
    return start;
  }

  /** Throws USAGE when nothing starts at `offset`. What is freed is used again at once. */
  free(offset: number): void {
    const takenBytes = this.#sizes.get(offset);
    if (takenBytes === undefined) throw new WavewrightError('USAGE', `no state starts at 0x${offset.toString(16)}`);
    this.#sizes.delete(offset);
    this.#usedBytes -= takenBytes;
    this.#free.giveBack(offset, offset + takenBytes, true);
  }
}

/** What running code needs of state memory. Only one thread of a device keeps account of it; the others ask it. */
export type SharedState = LinearMemory & Pick<StateMemory, 'allocate' | 'free'>;

/** The lane that stands for `lane` when only those of `bits` count. */
function spreadLane(bits: number, lane: number): number {
  const lower = bits & ((2 << lane) - 1);
  if (lower !== 0) return 31 - Math.clz32(lower);
  return bits === 0 ? lane : 31 - Math.clz32(bits & -bits);
}
