/**
 * Watches all memory of an emulated device that is not the GPU's: what a dispatch, or the host that serves
 * packets, may change is said in one place; all other bytes must stay as they are. Devices must be made after
 * this module was loaded.
 */

import type { Device } from '../../src/device/device.ts';
import {
  DEVICE_START,
  GLOBAL_WAVE_SYNC,
  GLOBAL_WAVE_SYNC_COUNT,
  GRANULE_SIZE_BYTES,
  MAY_READ,
  MAY_WRITE,
  NIBBLE_MASKS,
  PAGE_EXTENTS,
  PAGE_SIZE_BYTES,
  RANGES_EPOCH,
  STATE_START,
  THREADS_RUN,
  UNUSED_BYTES,
  UNUSED_START,
  VALIDITY_MAP,
} from '../../src/emulator/machine/layout.ts';
import { EmulatorMemory, type RegionOptions } from '../../src/emulator/machine/memory.ts';
import { StateMemory } from '../../src/emulator/machine/state-memory.ts';
import { Found, type Tally } from './oracle.ts';

interface Watched {
  readonly start: number;
  readonly sizeBytes: number;
  readonly label: string;
  permissions: number;
  /** LDS and scratch; all of state memory. */
  readonly isEmulators: boolean;
}

interface Regions {
  readonly live: Map<number, Watched>;
  readonly freed: Watched[];
  /** Allocated or freed since the last `accept`. */
  readonly recent: Watched[];
}

const known = new WeakMap<EmulatorMemory | StateMemory, Regions>();
let lastUsed: EmulatorMemory | undefined;

function regionsOf(memory: EmulatorMemory | StateMemory): Regions {
  let regions = known.get(memory);
  if (!regions) {
    regions = { live: new Map(), freed: [], recent: [] };
    known.set(memory, regions);
  }
  return regions;
}

function allocated(memory: EmulatorMemory | StateMemory, region: Watched): number {
  const regions = regionsOf(memory);
  regions.live.set(region.start, region);
  regions.recent.push(region);
  return region.start;
}

function freed(memory: EmulatorMemory | StateMemory, offset: number): void {
  const regions = regionsOf(memory);
  const region = regions.live.get(offset);
  if (!region) return;
  regions.live.delete(offset);
  regions.freed.push(region);
  regions.recent.push(region);
  if (regions.freed.length > 64) regions.freed.shift();
}

function observe(): void {
  const { allocate, free, protect } = EmulatorMemory.prototype;
  EmulatorMemory.prototype.allocate = function (sizeBytes: number, options: RegionOptions = {}) {
    const start = allocate.call(this, sizeBytes, options);
    const { label = '', permissions = MAY_READ | MAY_WRITE, isTransient = false } = options;
    lastUsed = this;
    return allocated(this, { start, sizeBytes, label, permissions, isEmulators: isTransient });
  };
  EmulatorMemory.prototype.free = function (offset: number) {
    free.call(this, offset);
    freed(this, offset);
  };
  EmulatorMemory.prototype.protect = function (offset: number, permissions: number) {
    protect.call(this, offset, permissions);
    const region = regionsOf(this).live.get(offset);
    if (region) region.permissions = permissions;
  };
  const state = StateMemory.prototype;
  const [allocateState, freeState] = [state.allocate, state.free];
  state.allocate = function (sizeBytes: number, owner?: string) {
    const start = allocateState.call(this, sizeBytes, owner);
    const label = owner === undefined ? 'decoded code' : 'wave state';
    return allocated(this, { start, sizeBytes, label, permissions: 0, isEmulators: true });
  };
  state.free = function (offset: number) {
    freeState.call(this, offset);
    freed(this, offset);
  };
}
observe();

export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * What is looked at of each memory: as much as the oracles use. The validity map and the extents of
 * allocations have a check of their own; lanes that are off store from UNUSED_START on.
 */
const DEVICE_END = DEVICE_START + 2 ** 21;
const STATE_AREAS: readonly Span[] = [
  { start: 0, end: VALIDITY_MAP },
  { start: NIBBLE_MASKS, end: PAGE_EXTENTS },
  { start: STATE_START, end: STATE_START + 2 ** 21 },
];

interface Area extends Span {
  readonly memory: EmulatorMemory | StateMemory;
  readonly last: Buffer;
}

/** `run`: waves run. `serve`: the host looks at packets, signals and mailboxes. */
export type Phase = 'run' | 'serve';

export class MemoryWatch {
  readonly memory: EmulatorMemory;
  readonly #regions: Regions;
  readonly #areas: readonly Area[];

  constructor(memory: EmulatorMemory) {
    this.memory = memory;
    this.#regions = regionsOf(memory);
    const area = (of: Area['memory'], { start, end }: Span): Area => {
      return { memory: of, start, end, last: Buffer.alloc(end - start) };
    };
    this.#areas = [
      area(memory, { start: 0, end: UNUSED_START }),
      area(memory, { start: UNUSED_START + UNUSED_BYTES, end: DEVICE_END }),
      ...STATE_AREAS.map((span) => area(memory.state, span)),
    ];
  }

  static of(device: Device): MemoryWatch {
    device.memory.free(device.memory.allocate(64));
    return new MemoryWatch(lastUsed!);
  }

  get live(): readonly Watched[] {
    return [...this.#regions.live.values()];
  }

  get freed(): readonly Watched[] {
    return this.#regions.freed;
  }

  /**
   * The only bytes that may change in a phase: what kernels may store to; while they run, LDS and the state
   * of waves and code, too.
   */
  #mayChange(memory: Area['memory'], phase: Phase): Span[] {
    const isOpen = ({ permissions, isEmulators }: Watched): boolean =>
      isEmulators ? phase === 'run' : (permissions & MAY_WRITE) !== 0;
    const spans = [...regionsOf(memory).live.values()].filter(isOpen).map(({ start, sizeBytes }) => {
      return { start, end: start + Math.ceil(sizeBytes / GRANULE_SIZE_BYTES) * GRANULE_SIZE_BYTES };
    });
    if (memory === this.memory) return spans;
    const sync = { start: GLOBAL_WAVE_SYNC, end: GLOBAL_WAVE_SYNC + GLOBAL_WAVE_SYNC_COUNT * 8 };
    const own = [THREADS_RUN, RANGES_EPOCH].map((start) => ({ start, end: start + 4 }));
    return [...spans, ...own, ...(phase === 'run' ? [sync] : [])];
  }

  /** Whether kernels may read at an address. */
  isReadable(address: bigint): boolean {
    const offset = this.memory.offset(address);
    if (offset === undefined) return false;
    return this.live.some(
      ({ start, sizeBytes, permissions }) => permissions & MAY_READ && offset >= start && offset < start + sizeBytes,
    );
  }

  /** What is now, is how it has to be. */
  accept(): void {
    for (const { memory, start, end, last } of this.#areas) Buffer.from(memory.buffer, start, end - start).copy(last);
    for (const memory of [this.memory, this.memory.state]) regionsOf(memory).recent.length = 0;
  }

  /** The host wrote there, in device memory. */
  wrote(start: number, sizeBytes: number): void {
    for (const area of this.#areas) {
      if (area.memory !== this.memory || start < area.start || start + sizeBytes > area.end) continue;
      Buffer.from(this.memory.buffer, start, sizeBytes).copy(area.last, start - area.start);
    }
  }

  /**
   * Throws `Found` when something changed since `accept` that must not have. Regions that came or went since
   * then are left out.
   */
  check(phase: Phase, tally: Tally): void {
    for (const area of this.#areas) this.#checkArea(area, phase);
    this.#checkMap();
    this.#checkExtents();
    tally.event(`checks after ${phase}`);
  }

  #checkArea({ memory, last, ...area }: Area, phase: Phase): void {
    const moved = regionsOf(memory).recent.map(({ start, sizeBytes }) => {
      return { start, end: start + sizeBytes + PAGE_SIZE_BYTES };
    });
    const open = [...this.#mayChange(memory, phase), ...moved].toSorted((a, b) => a.start - b.start);
    const now = Buffer.from(memory.buffer, area.start, last.length);
    let from = area.start;
    for (const { start, end } of [...open, { start: area.end, end: area.end }]) {
      const [first, to] = [from - area.start, Math.min(start, area.end) - area.start];
      if (to > first && now.compare(last, first, to, first, to) !== 0) {
        let at = first;
        while (now[at] === last[at]) at++;
        at += area.start;
        const place = memory === this.memory ? this.#place(at) : "the emulator's state";
        throw new Found('escape', `a byte at 0x${at.toString(16)} (${place}) changed in '${phase}'`);
      }
      from = Math.max(from, end);
    }
  }

  /** The validity map permits what the regions do, and nothing else. */
  #checkMap(): void {
    const expected = Buffer.alloc(Math.ceil(DEVICE_END / GRANULE_SIZE_BYTES));
    for (const { start, sizeBytes, permissions } of this.live) {
      if (start >= DEVICE_END) continue;
      const end = Math.min(start + sizeBytes, DEVICE_END);
      expected.fill(permissions, Math.floor(start / GRANULE_SIZE_BYTES), Math.ceil(end / GRANULE_SIZE_BYTES));
    }
    const found = Buffer.from(this.memory.state.buffer, VALIDITY_MAP, expected.length);
    if (found.equals(expected)) return;
    const granule = found.findIndex((value, i) => value !== expected[i]);
    const place = `0x${(granule * GRANULE_SIZE_BYTES).toString(16)}`;
    throw new Found('escape', `the validity map has ${found[granule]} for ${place}, expected ${expected[granule]}`);
  }

  /** Each page says of its region what the validity map does, or nothing. */
  #checkExtents(): void {
    const { words } = this.memory.state;
    const at = (page: number): readonly [start: number, extent: number] => {
      const word = PAGE_EXTENTS / 4 + page * 2;
      return [words[word]! >>> 0, words[word + 1]! >>> 0];
    };
    const expected = new Map<number, readonly [number, number]>();
    for (const { start, sizeBytes, permissions } of this.live) {
      const granules = Math.ceil(sizeBytes / GRANULE_SIZE_BYTES) * GRANULE_SIZE_BYTES;
      if (!permissions) continue;
      for (let page = start / PAGE_SIZE_BYTES; page * PAGE_SIZE_BYTES < start + sizeBytes; page++)
        expected.set(page, [start, granules + permissions]);
    }
    for (let page = 0; page < DEVICE_END / PAGE_SIZE_BYTES; page++) {
      const [start, extent] = at(page);
      const [ownStart, ownExtent] = expected.get(page) ?? [start, 0];
      if (start === ownStart && extent === ownExtent) continue;
      throw new Found('escape', `page ${page} has an extent of ${extent} from ${start}, expected ${ownExtent}`);
    }
  }

  #place(at: number): string {
    const inside = (region: Watched): boolean => at >= region.start && at < region.start + region.sizeBytes;
    const region = this.live.find(inside);
    if (region) return `${region.label} + 0x${(at - region.start).toString(16)}`;
    const freed = this.freed.find(inside);
    return freed ? `freed ${freed.label}` : 'no region';
  }
}
