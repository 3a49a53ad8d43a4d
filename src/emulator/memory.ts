/**
 * Device memory: one shared WebAssembly memory. A GPU virtual address is `windowHi << 32 | offset`, so that translation is a compare of
 * the high word and a look into the validity map. Allocations begin at pages, are zero-filled and have a hole behind them.
 */
import { WavewrightError } from '../base/errors.ts';
import { fillBytes } from './fill.ts';
import { FreeRanges } from './free-ranges.ts';
import {
  ALLOCATOR_START,
  GRANULE_SIZE_BYTES,
  MAY_READ,
  MAY_WRITE,
  NIBBLE_MASKS,
  NIBBLE_SPREADS,
  PAGE_SIZE_BYTES,
  VALIDITY_MAP,
} from './layout.ts';

export interface Region {
  readonly offset: number;
  /** Bytes asked for; the GPU reaches whole granules. */
  readonly sizeBytes: number;
  readonly label: string;
  /** What the GPU may do: MAY_READ | MAY_WRITE. */
  readonly permissions: number;
}

export interface RegionOptions {
  readonly alignmentBytes?: number;
  readonly label?: string;
  /** Contents may be those of an earlier region: for memory that the emulator initializes; it is used again as soon as it is freed. */
  readonly uninitialized?: boolean;
  /** What the GPU may do: MAY_READ | MAY_WRITE; 0 for the emulator's own state. */
  readonly permissions?: number;
  /** At least so much behind the region is never permitted. */
  readonly holeBytes?: number;
}

/** Sizes to try, largest first: reserving address space fails where it is limited. */
const MEMORY_PAGE_COUNTS = [65536, 32768, 16384, 4096];
const WASM_PAGE_BYTES = 65536;
/** Regions, at least, that are remembered after they left quarantine, so that a fault can say that memory was freed. */
const MAX_REMEMBERED = 4096;
/** Freed memory is not used again before so much was freed after it, or memory runs out. */
const MAX_QUARANTINE_BYTES = 64 * 2 ** 20;
/**
 * Never permitted, behind every region that the GPU may access: an access, and a group of them that is checked at its first and its last byte,
 * is smaller than this (jit/access-group.ts).
 */
const HOLE_BYTES = PAGE_SIZE_BYTES;

const roundUp = (value: number, granule: number): number => Math.ceil(value / granule) * granule;

interface Owned extends Region {
  /** Where the region's last page, or that of the hole behind it, ends. */
  readonly end: number;
  /** The GPU has no pointer to it that could be used after it was freed. */
  readonly isReusedAtOnce: boolean;
}

function createMemory(maxSizeBytes: number): WebAssembly.Memory {
  const limit = Math.min(65536, Math.ceil((ALLOCATOR_START + maxSizeBytes) / WASM_PAGE_BYTES));
  const counts = [limit, ...MEMORY_PAGE_COUNTS.filter((pages) => pages < limit)];
  let cause: unknown;
  for (const pages of counts) {
    try {
      // Grown at once: V8 collects garbage first for a memory that is large from the start, which takes longer than starting up.
      const memory = new WebAssembly.Memory({ initial: 1, maximum: pages, shared: true });
      memory.grow(pages - 1);
      return memory;
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
  readonly #free = new FreeRanges();
  readonly #regions = new Map<number, Owned>();
  /** For each page the offset of the region that it belongs to, without the hole behind it; 0 for none. */
  readonly #owners: Uint32Array;
  /** In the order in which they were freed; the first `#reusable` ones may have been used again. */
  readonly #freed: Owned[] = [];
  #reusable = 0;
  #quarantineBytes = 0;
  #liveBytes = 0;
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
    this.#owners = new Uint32Array(this.buffer.byteLength / PAGE_SIZE_BYTES);
    this.#free.giveBack(ALLOCATOR_START, this.buffer.byteLength);
    for (let bits = 0; bits < 16; bits++) {
      for (let lane = 0; lane < 4; lane++)
        this.words[(NIBBLE_MASKS + bits * 16) / 4 + lane] = (bits >> lane) & 1 ? -1 : 0;
      for (let byte = 0; byte < 16; byte++)
        this.bytes[NIBBLE_SPREADS + bits * 16 + byte] = spreadLane(bits, byte >> 2) * 4 + (byte & 3);
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

  /** Regions that are allocated and the bytes that they take, and the bytes that were freed and are not used again yet. */
  get usage(): { readonly regions: number; readonly bytes: number; readonly quarantinedBytes: number } {
    return { regions: this.#regions.size, bytes: this.#liveBytes, quarantinedBytes: this.#quarantineBytes };
  }

  /** Returns the offset of memory, zero-filled unless `uninitialized`. Throws LIMIT_EXCEEDED when none is left. */
  allocate(sizeBytes: number, options: RegionOptions = {}): number {
    const alignment = Math.max(options.alignmentBytes ?? 0, PAGE_SIZE_BYTES);
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes <= 0) {
      throw new WavewrightError('USAGE', `cannot allocate ${sizeBytes} bytes, expected a positive number`);
    }
    if ((alignment & (alignment - 1)) !== 0)
      throw new WavewrightError('USAGE', `alignment ${alignment} is not a power of two`);
    const { label = 'allocation', uninitialized = false, permissions = MAY_READ | MAY_WRITE, holeBytes = 0 } = options;
    const granulesBytes = roundUp(sizeBytes, GRANULE_SIZE_BYTES);
    const takenBytes = roundUp(granulesBytes + (permissions ? Math.max(HOLE_BYTES, holeBytes) : 0), PAGE_SIZE_BYTES);
    const start = this.#take(takenBytes, alignment);
    if (start === undefined) {
      throw new WavewrightError('LIMIT_EXCEEDED', `out of device memory: cannot allocate ${sizeBytes} bytes`, {
        hint: `the emulated device has ${this.sizeBytes} bytes`,
      });
    }
    const end = start + takenBytes;
    this.#liveBytes += takenBytes;
    if (start < this.#untouched && !uninitialized)
      fillBytes(this.bytes, 0, start, Math.min(start + granulesBytes, this.#untouched));
    this.#untouched = Math.max(this.#untouched, end);
    this.#regions.set(start, {
      offset: start,
      sizeBytes,
      label,
      permissions,
      end,
      isReusedAtOnce: uninitialized || permissions === 0,
    });
    this.#mark(start, sizeBytes, start, permissions);
    return start;
  }

  /** Changes what the GPU may do with a region from now on. Throws USAGE when none starts at `offset`. */
  protect(offset: number, permissions: number): void {
    const region = this.#regionAt(offset);
    this.#regions.set(offset, { ...region, permissions });
    this.#mark(offset, region.sizeBytes, offset, permissions);
  }

  #regionAt(offset: number): Owned {
    const region = this.#regions.get(offset);
    if (region) return region;
    throw new WavewrightError('USAGE', `no allocation starts at 0x${this.address(offset).toString(16)}`);
  }

  /** Memory in quarantine is used when there is no other. */
  #take(sizeBytes: number, alignment: number): number | undefined {
    if (sizeBytes > this.sizeBytes) return undefined;
    const start = this.#free.take(sizeBytes, alignment);
    if (start !== undefined || this.#quarantineBytes === 0) return start;
    this.#release(0);
    return this.#free.take(sizeBytes, alignment);
  }

  #mark(start: number, sizeBytes: number, owner: number, permissions: number): void {
    const [first, last] = [start, start + sizeBytes - 1];
    this.#owners.fill(owner, Math.floor(first / PAGE_SIZE_BYTES), Math.floor(last / PAGE_SIZE_BYTES) + 1);
    const granule = (offset: number): number => VALIDITY_MAP + Math.floor(offset / GRANULE_SIZE_BYTES);
    fillBytes(this.bytes, permissions, granule(first), granule(last) + 1);
  }

  /** The GPU faults on the region from now on. Throws USAGE when none starts at `offset`. */
  free(offset: number): void {
    const region = this.#regionAt(offset);
    this.#regions.delete(offset);
    this.#liveBytes -= region.end - offset;
    this.#mark(offset, region.sizeBytes, 0, 0);
    if (region.isReusedAtOnce) {
      this.#free.giveBack(offset, region.end, true);
      return;
    }
    this.#freed.push(region);
    this.#quarantineBytes += region.end - offset;
    this.#release(MAX_QUARANTINE_BYTES);
    if (this.#reusable < 2 * MAX_REMEMBERED) return;
    this.#freed.splice(0, MAX_REMEMBERED);
    this.#reusable -= MAX_REMEMBERED;
  }

  /** Lets memory be used again, the longest freed first, until so many bytes are left in quarantine. */
  #release(maxBytes: number): void {
    while (this.#quarantineBytes > maxBytes) {
      const region = this.#freed[this.#reusable++]!;
      this.#quarantineBytes -= region.end - region.offset;
      this.#free.giveBack(region.offset, region.end);
    }
  }

  /** The live region that contains `offset`. */
  find(offset: number): Region | undefined {
    const region = this.#ownerOf(Math.floor(offset / PAGE_SIZE_BYTES));
    return region && offset < region.offset + region.sizeBytes ? region : undefined;
  }

  /** The region that has the page. */
  #ownerOf(page: number): Owned | undefined {
    const owner = this.#owners[page];
    return owner ? this.#regions.get(owner) : undefined;
  }

  /** The most recently freed region that contained `offset`. */
  findFreed(offset: number): Region | undefined {
    return this.#freed.findLast((region) => offset >= region.offset && offset < region.offset + region.sizeBytes);
  }

  /** The live region that ends or starts nearest to `offset`, of those that the GPU may have pointers to. */
  nearest(offset: number): Region | undefined {
    const page = Math.floor(offset / PAGE_SIZE_BYTES);
    const isUsers = (at: number): boolean => {
      const owner = this.#ownerOf(at);
      return owner !== undefined && (owner.permissions !== 0 || !owner.isReusedAtOnce);
    };
    let [low, high] = [page, page + 1];
    while (low > 0 && !isUsers(low)) low--;
    while (high < this.#owners.length && !isUsers(high)) high++;
    const [below, above] = [this.#ownerOf(low), this.#ownerOf(high)];
    if (!below || !above) return below ?? above;
    return offset - (below.offset + below.sizeBytes) <= above.offset - offset ? below : above;
  }
}

/** What running code needs of device memory. Only one thread of a device keeps account of its regions; the others ask it. */
export type LinearMemory = Pick<
  EmulatorMemory,
  | 'memory'
  | 'view'
  | 'bytes'
  | 'words'
  | 'buffer'
  | 'windowHi'
  | 'pages'
  | 'address'
  | 'offset'
  | 'allocate'
  | 'free'
  | 'find'
>;

/** The lane that stands for `lane` when only those of `bits` count. */
function spreadLane(bits: number, lane: number): number {
  const lower = bits & ((2 << lane) - 1);
  if (lower !== 0) return 31 - Math.clz32(lower);
  return bits === 0 ? lane : 31 - Math.clz32(bits & -bits);
}
