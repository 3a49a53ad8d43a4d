/**
 * Watches all memory of an emulated device that is not the GPU's: what a dispatch, or the host that serves packets, may change is said in one
 * place; all other bytes must stay as they are. Devices must be made after this module was loaded.
 */

import {
  GRANULE_SIZE_BYTES,
  MAY_READ,
  MAY_WRITE,
  NIBBLE_MASKS,
  PAGE_SIZE_BYTES,
  THREADS_RUN,
  VALIDITY_MAP,
} from '../../src/emulator/layout.ts';
import { EmulatorMemory, type RegionOptions } from '../../src/emulator/memory.ts';
import type { Device } from '../../src/hsa/device.ts';
import { Found, type Tally } from './oracle.ts';

interface Watched {
  readonly start: number;
  readonly sizeBytes: number;
  readonly label: string;
  permissions: number;
  /** The emulator's own: wave states with LDS, scratch, decoded code. */
  readonly isEmulators: boolean;
}

interface Regions {
  readonly live: Map<number, Watched>;
  readonly freed: Watched[];
  /** Allocated or freed since the last `accept`. */
  readonly recent: Watched[];
}

const emptyRegions = (): Regions => ({ live: new Map(), freed: [], recent: [] });
const regionsOf = new WeakMap<EmulatorMemory, Regions>();
let lastUsed: EmulatorMemory | undefined;

function observe(): void {
  const { allocate, free, protect } = EmulatorMemory.prototype;
  EmulatorMemory.prototype.allocate = function (sizeBytes: number, options: RegionOptions = {}) {
    const start = allocate.call(this, sizeBytes, options);
    const { label = '', permissions = MAY_READ | MAY_WRITE, uninitialized = false } = options;
    const regions = regionsOf.get(this) ?? emptyRegions();
    regionsOf.set(this, regions);
    const isEmulators = permissions === 0 || uninitialized;
    const region = { start, sizeBytes, label, permissions, isEmulators };
    regions.live.set(start, region);
    regions.recent.push(region);
    lastUsed = this;
    return start;
  };
  EmulatorMemory.prototype.free = function (offset: number) {
    free.call(this, offset);
    const regions = regionsOf.get(this);
    const region = regions?.live.get(offset);
    if (!regions || !region) return;
    regions.live.delete(offset);
    regions.freed.push(region);
    regions.recent.push(region);
    if (regions.freed.length > 64) regions.freed.shift();
  };
  EmulatorMemory.prototype.protect = function (offset: number, permissions: number) {
    protect.call(this, offset, permissions);
    const region = regionsOf.get(this)?.live.get(offset);
    if (region) region.permissions = permissions;
  };
}
observe();

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What is looked at: below the validity map, which has a check of its own, and behind it as much as the oracles use. */
const AREAS: readonly Span[] = [
  { start: 0, end: VALIDITY_MAP },
  { start: NIBBLE_MASKS, end: NIBBLE_MASKS + 2 ** 21 },
];

/** `run`: waves run. `serve`: the host looks at packets, signals and mailboxes. */
export type Phase = 'run' | 'serve';

export class MemoryWatch {
  readonly memory: EmulatorMemory;
  readonly #regions: Regions;
  readonly #snapshots = AREAS.map(({ start, end }) => Buffer.alloc(end - start));

  constructor(memory: EmulatorMemory) {
    this.memory = memory;
    this.#regions = regionsOf.get(memory) ?? emptyRegions();
    regionsOf.set(memory, this.#regions);
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

  /** The only bytes that may change in a phase: what kernels may store to; while they run, the emulator's own too. */
  #mayChange(phase: Phase): Span[] {
    const open = this.live.filter(({ permissions, isEmulators }) =>
      isEmulators ? phase === 'run' : (permissions & MAY_WRITE) !== 0,
    );
    const spans = open.map(({ start, sizeBytes }) => ({
      start,
      end: start + Math.ceil(sizeBytes / GRANULE_SIZE_BYTES) * GRANULE_SIZE_BYTES,
    }));
    return [...spans, { start: THREADS_RUN, end: THREADS_RUN + 4 }];
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
    for (const [i, { start, end }] of AREAS.entries())
      Buffer.from(this.memory.buffer, start, end - start).copy(this.#snapshots[i]!);
    this.#regions.recent.length = 0;
  }

  /** The host wrote there. */
  wrote(start: number, sizeBytes: number): void {
    for (const [i, area] of AREAS.entries()) {
      if (start < area.start || start + sizeBytes > area.end) continue;
      Buffer.from(this.memory.buffer, start, sizeBytes).copy(this.#snapshots[i]!, start - area.start);
    }
  }

  /** Throws `Found` when something changed since `accept` that must not have. Regions that came or went since then are left out. */
  check(phase: Phase, tally: Tally): void {
    const moved = this.#regions.recent.map(({ start, sizeBytes }) => ({
      start,
      end: start + sizeBytes + PAGE_SIZE_BYTES,
    }));
    const open = [...this.#mayChange(phase), ...moved].toSorted((a, b) => a.start - b.start);
    for (const [i, area] of AREAS.entries()) {
      const last = this.#snapshots[i]!;
      const now = Buffer.from(this.memory.buffer, area.start, last.length);
      let from = area.start;
      for (const { start, end } of [...open, { start: area.end, end: area.end }]) {
        const [first, to] = [from - area.start, Math.min(start, area.end) - area.start];
        if (to > first && now.compare(last, first, to, first, to) !== 0) {
          let at = first;
          while (now[at] === last[at]) at++;
          at += area.start;
          throw new Found('escape', `a byte at 0x${at.toString(16)} (${this.#place(at)}) changed in '${phase}'`);
        }
        from = Math.max(from, end);
      }
    }
    this.#checkMap();
    tally.event(`checks after ${phase}`);
  }

  /** The validity map permits what the regions do, and nothing else. */
  #checkMap(): void {
    const first = VALIDITY_MAP;
    const expected = Buffer.alloc(Math.ceil(AREAS[1]!.end / GRANULE_SIZE_BYTES));
    for (const { start, sizeBytes, permissions } of this.live) {
      if (start >= AREAS[1]!.end) continue;
      const end = Math.min(start + sizeBytes, AREAS[1]!.end);
      expected.fill(permissions, Math.floor(start / GRANULE_SIZE_BYTES), Math.ceil(end / GRANULE_SIZE_BYTES));
    }
    const found = Buffer.from(this.memory.buffer, first, expected.length);
    if (found.equals(expected)) return;
    const granule = found.findIndex((value, i) => value !== expected[i]);
    const place = `0x${(granule * GRANULE_SIZE_BYTES).toString(16)}`;
    throw new Found('escape', `the validity map has ${found[granule]} for ${place}, expected ${expected[granule]}`);
  }

  #place(at: number): string {
    const inside = (region: Watched): boolean => at >= region.start && at < region.start + region.sizeBytes;
    const region = this.live.find(inside);
    if (region) return `${region.label} + 0x${(at - region.start).toString(16)}`;
    const freed = this.freed.find(inside);
    return freed ? `freed ${freed.label}` : 'no region';
  }
}
