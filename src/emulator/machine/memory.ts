/**
 * Device memory: all that GPU code can reach. A GPU virtual address is `windowHi << 32 | offset`, so that
 * translation is a compare of the high word and a look into the validity map. Allocations begin at pages, are
 * zero-filled and have a hole behind them.
 */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { FreeRanges } from './free-ranges.ts';
import {
  DEVICE_START,
  GRANULE_SIZE_BYTES,
  HOLE_BYTES,
  MAY_READ,
  MAY_WRITE,
  PAGE_EXTENTS,
  PAGE_SIZE_BYTES,
  RANGES_EPOCH,
  VALIDITY_MAP,
} from './layout.ts';
import { createLinearMemory, type LinearMemory, WindowMemory } from './linear-memory.ts';
import type { SharedState, StateMemory } from './state-memory.ts';

export interface MemoryRegion {
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
  /** Contents may be those of an earlier region: for memory that the emulator initializes. */
  readonly uninitialized?: boolean;
  /** It comes and goes with a dispatch: once freed it is used again soon, and no report remembers it. */
  readonly isTransient?: boolean;
  /** What the GPU may do: MAY_READ | MAY_WRITE; 0 for LDS, which has addresses of its own. */
  readonly permissions?: number;
  /** At least so much behind the region is never permitted. */
  readonly holeBytes?: number;
}

/**
 * Says when a thread can no longer access memory by a check that it made before the memory was freed: a check
 * and its access stand in code that runs without looking up, so a thread that has left such code since has no
 * old check any more.
 */
export interface Grace {
  /**
   * Begins an epoch, in which checks fail that would have passed before; returns its number, 0 where no other
   * thread runs code.
   */
  begin(): number;
  /** Whether every thread has left the code that it ran when the epoch began. */
  isPast(epoch: number): boolean;
  /** Waits until that is so: about as long as a wave's turn. */
  wait(epoch: number): void;
}

const NO_THREADS: Grace = { begin: () => 0, isPast: () => true, wait: () => {} };

/**
 * Regions, at least, that are remembered after they left quarantine, so that a fault can say that memory was
 * freed.
 */
const MAX_REMEMBERED = 4096;
/** Freed memory is not used again before so much was freed after it, or memory runs out. */
const MAX_QUARANTINE_BYTES = 64 * 2 ** 20;
/**
 * Set by test/high-memory.ts: allocations are above 2 GiB, where offsets are negative as signed integers, and
 * end with the 4 GiB.
 */
export const placement = { isHigh: false };

interface Owned extends MemoryRegion {
  /** Where the region's last page, or that of the hole behind it, ends. */
  readonly end: number;
  readonly isTransient: boolean;
  /** Code was looked up there: some thread may have decoded it. */
  hasCode: boolean;
  /** Parts have permissions of their own, which stand in the validity map alone. */
  isDivided: boolean;
}

interface Freed extends Owned {
  readonly epoch: number;
}

export class EmulatorMemory extends WindowMemory {
  /** Code that may have been decoded is gone: its memory was freed, or is no longer permitted. */
  onCodeGone: (() => void) | undefined;
  grace: Grace = NO_THREADS;
  /** Where the validity map is. */
  readonly state: StateMemory;
  readonly #free = new FreeRanges();
  readonly #regions = new Map<number, Owned>();
  /** For each page the offset of the region that it belongs to, without the hole behind it; 0 for none. */
  readonly #owners: Uint32Array;
  /** In the order in which they were freed; the first `#reusable` ones may have been used again. */
  readonly #freed: Freed[] = [];
  /** Transient ones that another thread may still access. */
  readonly #leaving: Freed[] = [];
  #reusable = 0;
  #quarantineBytes = 0;
  #liveBytes = 0;
  /** First byte that is handed out. */
  readonly #start: number;
  /** Memory from here on was never handed out and is still zero. */
  #untouched: number;

  constructor(windowHi: number, state: StateMemory, maxSizeBytes = 2 ** 32) {
    const start = placement.isHigh ? Math.max(2 ** 31, 2 ** 32 - maxSizeBytes) : DEVICE_START;
    super(createLinearMemory(start + maxSizeBytes, 'the emulated device memory'), windowHi);
    this.#start = start;
    this.#untouched = start;
    this.state = state;
    this.#owners = new Uint32Array(this.buffer.byteLength / PAGE_SIZE_BYTES);
    this.#free.giveBack(start, this.buffer.byteLength);
  }

  get sizeBytes(): number {
    return this.buffer.byteLength - this.#start;
  }

  /**
   * Regions that are allocated and the bytes that they take, and the bytes that were freed and are not used
   * again yet.
   */
  get usage(): { readonly regions: number; readonly bytes: number; readonly quarantinedBytes: number } {
    return { regions: this.#regions.size, bytes: this.#liveBytes, quarantinedBytes: this.#quarantineBytes };
  }

  /**
   * Returns the offset of memory, zero-filled unless `uninitialized`. Throws LIMIT_EXCEEDED when none is
   * left.
   */
  allocate(sizeBytes: number, options: RegionOptions = {}): number {
    const alignment = Math.max(options.alignmentBytes ?? 0, PAGE_SIZE_BYTES);
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes <= 0) {
      throw new WavewrightError('USAGE', `cannot allocate ${sizeBytes} bytes, expected a positive number`);
    }
    if ((alignment & (alignment - 1)) !== 0)
      throw new WavewrightError('USAGE', `alignment ${alignment} is not a power of two`);
    const { label = 'allocation', uninitialized = false, isTransient = false } = options;
    const { permissions = MAY_READ | MAY_WRITE, holeBytes = 0 } = options;
    const granulesBytes = alignUp(sizeBytes, GRANULE_SIZE_BYTES);
    const takenBytes = alignUp(granulesBytes + (permissions ? Math.max(HOLE_BYTES, holeBytes) : 0), PAGE_SIZE_BYTES);
    const start = this.#take(takenBytes, alignment);
    if (start === undefined) {
      throw new WavewrightError('LIMIT_EXCEEDED', `out of device memory: cannot allocate ${sizeBytes} bytes`, {
        hint: `the emulated device has ${this.sizeBytes} bytes`,
      });
    }
    const end = start + takenBytes;
    this.#liveBytes += takenBytes;
    if (start < this.#untouched && !uninitialized)
      this.fill(0, start, Math.min(start + granulesBytes, this.#untouched));
    this.#untouched = Math.max(this.#untouched, end);
    this.#regions.set(start, {
      offset: start,
      sizeBytes,
      label,
      permissions,
      end,
      isTransient,
      hasCode: false,
      isDivided: false,
    });
    this.#mark(start, sizeBytes, start, permissions);
    if (permissions) this.#setExtent(start, granulesBytes, permissions);
    return start;
  }

  /** Changes what the GPU may do with a region from now on. Throws USAGE when none starts at `offset`. */
  protect(offset: number, permissions: number): void {
    const region = this.#regionAt(offset);
    this.#regions.set(offset, { ...region, permissions, hasCode: false, isDivided: false });
    this.#mark(offset, region.sizeBytes, offset, permissions);
    this.#setExtent(offset, region.sizeBytes, permissions);
    this.#forgetRanges();
    this.#forgetCode(region);
  }

  /**
   * Changes what the GPU may do with some pages of a region; code there runs only where the region as a whole
   * may be read. Throws USAGE for what are no whole pages of one region.
   */
  protectPages(offset: number, sizeBytes: number, permissions: number): void {
    const region = this.#ownerOf(Math.floor(offset / PAGE_SIZE_BYTES));
    const isWhole = offset % PAGE_SIZE_BYTES === 0 && sizeBytes % PAGE_SIZE_BYTES === 0 && sizeBytes > 0;
    if (!region || !isWhole || offset + sizeBytes > region.offset + region.sizeBytes) {
      const what = `${sizeBytes} bytes at ${hex(this.address(offset))}`;
      throw new WavewrightError('USAGE', `${what} are no whole pages of one allocation`);
    }
    region.isDivided = true;
    this.#mark(offset, sizeBytes, region.offset, permissions);
    this.#setExtent(region.offset, region.sizeBytes, 0);
    this.#forgetRanges();
    this.#forgetCode(region);
  }

  /** Whether the GPU may do all of `permissions` with all of these bytes, which begin in a live region. */
  permits(offset: number, sizeBytes: number, permissions: number): boolean {
    const region = this.#ownerOf(Math.floor(offset / PAGE_SIZE_BYTES));
    const isPermitted = (found: number): boolean => (found & permissions) === permissions;
    if (!region?.isDivided) return region !== undefined && isPermitted(region.permissions);
    return this.#validity(offset, sizeBytes).every(isPermitted);
  }

  /** What the validity map says of some bytes. */
  #validity(offset: number, sizeBytes: number): Uint8Array {
    const granule = (at: number): number => VALIDITY_MAP + Math.floor(at / GRANULE_SIZE_BYTES);
    return this.state.bytes.subarray(granule(offset), granule(offset + Math.max(sizeBytes, 1) - 1) + 1);
  }

  /** The region with the permissions of the part that `offset` is in. */
  #partAt(region: Owned, offset: number): Owned {
    const isInside = offset >= region.offset && offset < region.offset + region.sizeBytes;
    return region.isDivided && isInside ? { ...region, permissions: this.#validity(offset, 1)[0]! } : region;
  }

  #regionAt(offset: number): Owned {
    const region = this.#regions.get(offset);
    if (region) return region;
    throw new WavewrightError('USAGE', `no allocation starts at ${hex(this.address(offset))}`);
  }

  /** Code that begins from now on knows nothing of permitted ranges. */
  #forgetRanges(): void {
    Atomics.add(this.state.words, RANGES_EPOCH / 4, 1);
  }

  #forgetCode({ hasCode }: Owned): void {
    if (hasCode) this.onCodeGone?.();
  }

  /**
   * Memory in quarantine is used when there is no other, that which other threads may still access when they
   * have looked up.
   */
  #take(sizeBytes: number, alignment: number): number | undefined {
    if (sizeBytes > this.sizeBytes) return undefined;
    this.#releaseLeaving();
    const start = this.#free.take(sizeBytes, alignment);
    if (start !== undefined || (this.#quarantineBytes === 0 && this.#leaving.length === 0)) return start;
    for (const epoch of [this.#freed.at(-1)?.epoch, this.#leaving.at(-1)?.epoch])
      if (epoch !== undefined) this.grace.wait(epoch);
    this.#release(0);
    this.#releaseLeaving();
    return this.#free.take(sizeBytes, alignment);
  }

  #mark(start: number, sizeBytes: number, owner: number, permissions: number): void {
    const [first, last] = [start, start + sizeBytes - 1];
    this.#owners.fill(owner, Math.floor(first / PAGE_SIZE_BYTES), Math.floor(last / PAGE_SIZE_BYTES) + 1);
    const granule = (offset: number): number => VALIDITY_MAP + Math.floor(offset / GRANULE_SIZE_BYTES);
    this.state.fill(permissions, granule(first), granule(last) + 1);
  }

  /** What PAGE_EXTENTS says of an allocation. */
  #setExtent(start: number, sizeBytes: number, permissions: number): void {
    const { words } = this.state;
    const extent = permissions && alignUp(sizeBytes, GRANULE_SIZE_BYTES) + permissions;
    const wordOf = (offset: number): number => PAGE_EXTENTS / 4 + Math.floor(offset / PAGE_SIZE_BYTES) * 2;
    for (let word = wordOf(start); word <= wordOf(start + sizeBytes - 1); word += 2) {
      if (permissions) Atomics.store(words, word, start);
      Atomics.store(words, word + 1, extent);
    }
  }

  /** The GPU faults on the region from now on. Throws USAGE when none starts at `offset`. */
  free(offset: number): void {
    const region = this.#regionAt(offset);
    this.#regions.delete(offset);
    this.#liveBytes -= region.end - offset;
    this.#mark(offset, region.sizeBytes, 0, 0);
    if (region.permissions) this.#setExtent(offset, region.sizeBytes, 0);
    this.#forgetRanges();
    this.#forgetCode(region);
    const freed: Freed = { ...region, epoch: this.grace.begin() };
    if (region.isTransient) {
      this.#leaving.push(freed);
      this.#releaseLeaving();
      return;
    }
    this.#freed.push(freed);
    this.#quarantineBytes += region.end - offset;
    this.#release(MAX_QUARANTINE_BYTES);
    if (this.#reusable < 2 * MAX_REMEMBERED) return;
    this.#freed.splice(0, MAX_REMEMBERED);
    this.#reusable -= MAX_REMEMBERED;
  }

  /** Lets memory be used again, the longest freed first, until so many bytes are left in quarantine. */
  #release(maxBytes: number): void {
    while (this.#quarantineBytes > maxBytes) {
      const region = this.#freed[this.#reusable]!;
      if (!this.grace.isPast(region.epoch)) break;
      this.#reusable++;
      this.#quarantineBytes -= region.end - region.offset;
      this.#free.giveBack(region.offset, region.end);
    }
  }

  #releaseLeaving(): void {
    while (this.#leaving[0] && this.grace.isPast(this.#leaving[0].epoch)) {
      const { offset, end } = this.#leaving.shift()!;
      this.#free.giveBack(offset, end, true);
    }
  }

  /** The live region that contains `offset`. */
  find(offset: number): MemoryRegion | undefined {
    const region = this.#ownerOf(Math.floor(offset / PAGE_SIZE_BYTES));
    return region && offset < region.offset + region.sizeBytes ? this.#partAt(region, offset) : undefined;
  }

  /** The region at `offset` if code there may run; from then on the region counts as one with code. */
  code(offset: number): CodeRange | undefined {
    const region = this.#ownerOf(Math.floor(offset / PAGE_SIZE_BYTES));
    if (!region || offset >= region.offset + region.sizeBytes || !(region.permissions & MAY_READ)) return undefined;
    region.hasCode = true;
    return { offset: region.offset, sizeBytes: region.sizeBytes };
  }

  /** Code was written at `offset`: what was decoded there before is not what runs from now on. */
  renewCode(offset: number): void {
    const region = this.#ownerOf(Math.floor(offset / PAGE_SIZE_BYTES));
    if (!region) return;
    this.#forgetCode(region);
    region.hasCode = false;
  }

  /** The region that has the page. */
  #ownerOf(page: number): Owned | undefined {
    const owner = this.#owners[page];
    return owner ? this.#regions.get(owner) : undefined;
  }

  /** The most recently freed region that contained `offset`. */
  findFreed(offset: number): MemoryRegion | undefined {
    return this.#freed.findLast((region) => offset >= region.offset && offset < region.offset + region.sizeBytes);
  }

  /** The live region that ends or starts nearest to `offset`, of those that the GPU may have pointers to. */
  nearest(offset: number): MemoryRegion | undefined {
    const page = Math.floor(offset / PAGE_SIZE_BYTES);
    const isUsers = (at: number): boolean => {
      const owner = this.#ownerOf(at);
      return owner !== undefined && (owner.permissions !== 0 || !owner.isTransient);
    };
    let [low, high] = [page, page + 1];
    while (low > 0 && !isUsers(low)) low--;
    while (high < this.#owners.length && !isUsers(high)) high++;
    const [below, above] = [this.#ownerOf(low), this.#ownerOf(high)];
    const isBelow =
      above === undefined || (below && offset - (below.offset + below.sizeBytes) <= above.offset - offset);
    const found = isBelow ? below : above;
    return found && this.#partAt(found, offset);
  }
}

/** The two memories of a device. */
export interface Memories {
  readonly state: SharedState;
  readonly memory: SharedMemory;
}

/** Memory in which code is looked up and decoded. */
export type CodeRange = Pick<MemoryRegion, 'offset' | 'sizeBytes'>;

/**
 * What running code needs of device memory. Only one thread of a device keeps account of its regions; the
 * others ask it.
 */
export type SharedMemory = LinearMemory &
  Pick<EmulatorMemory, 'windowHi' | 'address' | 'offset' | 'allocate' | 'free' | 'code'>;
