/** A resident workgroup: its waves, LDS and private memory. Slots are reused from one workgroup to the next. */
import { type Launch, privateSegmentSizeBytes, type Triple } from './launch.ts';
import { waveSizeBytes } from './layout.ts';
import type { EmulatorMemory } from './memory.ts';

export type WaveState = 'ready' | 'sleeping' | 'barrier' | 'ended';

export interface Wave {
  readonly base: number;
  readonly privateBase: number;
  state: WaveState;
}

const SLOT_ALIGNMENT = 256;

/** Memory of one workgroup of a launch. */
export class WorkgroupSlot {
  readonly waves: readonly Wave[];
  readonly ldsBase: number;
  /** Workgroup that runs here. */
  id: Triple = [0, 0, 0];
  /** Waves of the current workgroup; at the edge of the grid fewer than the slot has. */
  waveCount = 0;
  /** Times that a wave of this workgroup used up its budget. */
  budgetsUsed = 0;
  readonly #memory: EmulatorMemory;
  readonly #regions: number[] = [];
  readonly #ldsSizeBytes: number;

  constructor(memory: EmulatorMemory, launch: Launch) {
    this.#memory = memory;
    const [x, y, z] = launch.workgroupSize;
    const count = Math.ceil((x * y * z) / launch.waveSize);
    const stateSize = Math.ceil(waveSizeBytes(launch.waveSize) / SLOT_ALIGNMENT) * SLOT_ALIGNMENT;
    this.#ldsSizeBytes = launch.ldsSizeBytes;
    const states = this.#allocate(count * stateSize + launch.ldsSizeBytes, 'wave state', 0);
    this.ldsBase = states + count * stateSize;
    const privateSize = privateSegmentSizeBytes(launch);
    let scratch = 0;
    try {
      if (privateSize > 0) scratch = this.#allocate(count * privateSize, 'scratch');
    } catch (error) {
      this.release();
      throw error;
    }
    this.waves = Array.from({ length: count }, (_, i) => ({
      base: states + i * stateSize,
      privateBase: scratch + i * privateSize,
      state: 'ended',
    }));
  }

  #allocate(sizeBytes: number, label: string, permissions?: number): number {
    const options = { label, uninitialized: true, ...(permissions !== undefined && { permissions }) };
    const offset = this.#memory.allocate(sizeBytes, options);
    this.#regions.push(offset);
    return offset;
  }

  clearLds(): void {
    this.#memory.bytes.fill(0, this.ldsBase, this.ldsBase + this.#ldsSizeBytes);
  }

  /** Lets all waves go on when every wave that has not ended waits at the barrier; returns whether that was so. */
  releaseBarrier(): boolean {
    const waves = this.current();
    if (!waves.some(({ state }) => state === 'barrier')) return false;
    if (!waves.every(({ state }) => state === 'barrier' || state === 'ended')) return false;
    for (const wave of waves) if (wave.state === 'barrier') wave.state = 'ready';
    return true;
  }

  current(): readonly Wave[] {
    return this.waveCount === this.waves.length ? this.waves : this.waves.slice(0, this.waveCount);
  }

  get ended(): boolean {
    return this.current().every(({ state }) => state === 'ended');
  }

  release(): void {
    for (const region of this.#regions.splice(0)) this.#memory.free(region);
  }
}
