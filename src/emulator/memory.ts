/**
 * Device memory: one shared WebAssembly memory. A GPU virtual address is `windowHi << 32 | offset`, so that translation is a compare of
 * the high word and a look into the page map. Page-granular allocation, zero-filled.
 */
import { assert, WavewrightError } from '../base/errors.ts';
import { ALLOCATOR_START, NIBBLE_MASKS, PAGE_MAP, PAGE_READ, PAGE_SIZE_BYTES, PAGE_WRITE } from './layout.ts';

export interface Region {
  readonly offset: number;
  /** Bytes asked for; the region takes whole pages. */
  readonly sizeBytes: number;
  readonly label: string;
}

export interface RegionOptions {
  readonly alignmentBytes?: number;
  readonly label?: string;
  /** Contents may be those of an earlier region: for memory that its user initializes. */
  readonly uninitialized?: boolean;
  /** What the GPU may do: PAGE_READ | PAGE_WRITE; 0 for the emulator's own state. */
  readonly permissions?: number;
}

/** Sizes to try, largest first: reserving address space fails where it is limited. */
const MEMORY_PAGE_COUNTS = [65536, 32768, 16384, 4096];
const WASM_PAGE_BYTES = 65536;
/** Freed regions are remembered so that a fault can say that memory was freed. */
const MAX_REMEMBERED = 64;

const roundUp = (value: number, granule: number): number => Math.ceil(value / granule) * granule;

interface Range {
  start: number;
  end: number;
}

function createMemory(maxSizeBytes: number): WebAssembly.Memory {
  const limit = Math.max(256, Math.min(65536, Math.ceil(maxSizeBytes / WASM_PAGE_BYTES)));
  const counts = [limit, ...MEMORY_PAGE_COUNTS.filter((pages) => pages < limit)];
  let cause: unknown;
  for (const pages of counts) {
    try {
      return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    } catch (error) {
      cause = error;
    }
  }
  throw new WavewrightError('LIMIT_EXCEEDED', 'no address space for the emulated device memory', {
    cause,
    hint: 'at least 256 MiB of virtual address space are needed',
  });
}

export class EmulatorMemory {
  readonly memory: WebAssembly.Memory;
  readonly buffer: SharedArrayBuffer;
  readonly view: DataView;
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  /** High word of every address in this memory. */
  readonly windowHi: number;
  readonly pages: number;
  readonly #free: Range[];
  /** Sorted by offset. */
  readonly #regions: Region[] = [];
  readonly #freed: Region[] = [];
  /** Memory from here on was never handed out and is still zero. */
  #untouched = ALLOCATOR_START;

  constructor(windowHi: number, maxSizeBytes = 2 ** 32) {
    this.windowHi = windowHi;
    this.memory = createMemory(maxSizeBytes);
    this.buffer = this.memory.buffer as SharedArrayBuffer;
    this.pages = this.buffer.byteLength / WASM_PAGE_BYTES;
    this.view = new DataView(this.buffer);
    this.bytes = new Uint8Array(this.buffer);
    this.words = new Int32Array(this.buffer);
    this.#free = [{ start: ALLOCATOR_START, end: this.buffer.byteLength }];
    for (let bits = 0; bits < 16; bits++) {
      for (let lane = 0; lane < 4; lane++)
        this.words[(NIBBLE_MASKS + bits * 16) / 4 + lane] = (bits >> lane) & 1 ? -1 : 0;
    }
  }

  get sizeBytes(): number {
    return this.buffer.byteLength - ALLOCATOR_START;
  }

  address(offset: number): bigint {
    return (BigInt(this.windowHi) << 32n) | BigInt(offset >>> 0);
  }

  /** Offset of an address in this memory; undefined outside the window. */
  offset(address: bigint): number | undefined {
    return address >> 32n === BigInt(this.windowHi) ? Number(address & 0xffffffffn) : undefined;
  }

  /** Returns the offset of memory, zero-filled unless `uninitialized`. Throws LIMIT_EXCEEDED when none is left. */
  allocate(sizeBytes: number, options: RegionOptions = {}): number {
    const alignment = Math.max(options.alignmentBytes ?? 0, PAGE_SIZE_BYTES);
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes <= 0) {
      throw new WavewrightError('USAGE', `cannot allocate ${sizeBytes} bytes, expected a positive number`);
    }
    if ((alignment & (alignment - 1)) !== 0)
      throw new WavewrightError('USAGE', `alignment ${alignment} is not a power of two`);
    const size = roundUp(sizeBytes, PAGE_SIZE_BYTES);
    const index = this.#free.findIndex(({ start, end }) => roundUp(start, alignment) + size <= end);
    const range = this.#free[index];
    if (!range) {
      throw new WavewrightError('LIMIT_EXCEEDED', `out of device memory: cannot allocate ${sizeBytes} bytes`, {
        hint: `the emulated device has ${this.sizeBytes} bytes`,
      });
    }
    const start = roundUp(range.start, alignment);
    const rest: Range[] = [];
    if (start > range.start) rest.push({ start: range.start, end: start });
    if (start + size < range.end) rest.push({ start: start + size, end: range.end });
    this.#free.splice(index, 1, ...rest);
    if (start < this.#untouched && !options.uninitialized)
      this.bytes.fill(0, start, Math.min(start + size, this.#untouched));
    this.#untouched = Math.max(this.#untouched, start + size);
    this.#regions.splice(this.#indexAfter(start), 0, {
      offset: start,
      sizeBytes,
      label: options.label ?? 'allocation',
    });
    const permissions = options.permissions ?? PAGE_READ | PAGE_WRITE;
    this.bytes.fill(permissions, PAGE_MAP + start / PAGE_SIZE_BYTES, PAGE_MAP + (start + size) / PAGE_SIZE_BYTES);
    return start;
  }

  /** Throws USAGE when no region starts at `offset`. */
  free(offset: number): void {
    const index = this.#indexAfter(offset) - 1;
    const region = this.#regions[index];
    if (region?.offset !== offset) {
      throw new WavewrightError('USAGE', `no allocation starts at 0x${this.address(offset).toString(16)}`);
    }
    this.#regions.splice(index, 1);
    this.#freed.push(region);
    if (this.#freed.length > MAX_REMEMBERED) this.#freed.shift();
    const range = { start: offset, end: offset + roundUp(region.sizeBytes, PAGE_SIZE_BYTES) };
    this.bytes.fill(0, PAGE_MAP + range.start / PAGE_SIZE_BYTES, PAGE_MAP + range.end / PAGE_SIZE_BYTES);
    this.#giveBack(range);
  }

  #giveBack(range: Range): void {
    let at = this.#free.findIndex(({ start }) => start > range.start);
    if (at < 0) at = this.#free.length;
    const before = this.#free[at - 1];
    const after = this.#free[at];
    assert(!before || before.end <= range.start, 'freed memory is in use once');
    const merged = { ...range };
    let from = at;
    let count = 0;
    if (before?.end === range.start) {
      merged.start = before.start;
      from--;
      count++;
    }
    if (after?.start === range.end) {
      merged.end = after.end;
      count++;
    }
    this.#free.splice(from, count, merged);
  }

  /** Number of regions that start at or before `offset`. */
  #indexAfter(offset: number): number {
    let low = 0;
    let high = this.#regions.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#regions[middle]!.offset <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The live region that contains `offset`. */
  find(offset: number): Region | undefined {
    const region = this.#regions[this.#indexAfter(offset) - 1];
    return region && offset < region.offset + region.sizeBytes ? region : undefined;
  }

  /** The most recently freed region that contained `offset`. */
  findFreed(offset: number): Region | undefined {
    return this.#freed.findLast((region) => offset >= region.offset && offset < region.offset + region.sizeBytes);
  }

  /** The live region that ends or starts nearest to `offset`. */
  nearest(offset: number): Region | undefined {
    const after = this.#indexAfter(offset);
    const [below, above] = [this.#regions[after - 1], this.#regions[after]];
    if (!below || !above) return below ?? above;
    return offset - (below.offset + below.sizeBytes) <= above.offset - offset ? below : above;
  }
}
