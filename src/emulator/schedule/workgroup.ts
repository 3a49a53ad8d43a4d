/**
 * A resident workgroup: its waves, LDS and private memory. Slots are reused from one workgroup to the next.
 */
import { alignUp } from '../../base/align.ts';
import { assert } from '../../base/errors.ts';
import type { Executor } from '../code/emulator-core.ts';
import {
  GROUP,
  GROUP_STATES,
  stateCode,
  TEMPLATE_ROWS_OFFSET,
  TEMPLATE_SCALAR_BYTES,
  templateBytes,
  templateRowBytes,
  WAVE_STATES,
  type WaveState,
} from '../machine/group-layout.ts';
import { type Launch, privateSegmentSizeBytes, type Triple } from '../machine/launch.ts';
import {
  FRESH,
  LDS_SLACK_BYTES,
  MAX_LDS_BYTES,
  MAX_SERIES,
  rowSizeBytes,
  WAVE_FRESHNESS,
  waveSizeBytes,
} from '../machine/layout.ts';
import type { Memories, RegionOptions, SharedMemory } from '../machine/memory.ts';
import type { SharedState } from '../machine/state-memory.ts';

export interface Wave {
  readonly base: number;
  readonly privateBase: number;
}

const READY = stateCode('ready');
const BARRIER = stateCode('barrier');
const SPENT = stateCode('spent');
const SLEEPING = stateCode('sleeping');
const ENDED = stateCode('ended');

const ALIGNMENT = 256;
/**
 * Where scratch is a buffer nothing but this checks its end: a stack that grows beyond it by a frame of up to
 * a KiB ends here, in a fault that says so, and not in the memory of others.
 */
const SCRATCH_HOLE_BYTES = 65_536;
const isSameTriple = <T>(a: readonly [T, T, T], b: readonly [T, T, T]): boolean =>
  a[0] === b[0] && a[1] === b[1] && a[2] === b[2];
const sgprOffset = (sgpr: number | undefined): number => (sgpr === undefined ? -1 : sgpr * 4);
const aligned = (sizeBytes: number): number => alignUp(sizeBytes, ALIGNMENT);

/** Memory of one workgroup of a launch. */
export class WorkgroupSlot {
  readonly waves: readonly Wave[];
  readonly ldsBase: number;
  /** Where the runner's part is: group-layout.ts. */
  readonly group: number;
  /**
   * Instructions that this workgroup has run; and had when last a workgroup ended, or was admitted for this
   * one.
   */
  instructions = 0;
  instructionsSeen = 0;
  readonly waveSize: 32 | 64;
  /** Lanes of a wave have given way to others. */
  takesTurns = false;
  /** The runner can begin further workgroups here. */
  hasTemplates = false;
  readonly #state: SharedState;
  readonly #memory: SharedMemory;
  readonly #launch: Launch;
  /** What was allocated in state memory, and in device memory. */
  readonly #states: number;
  readonly #regions: number[] = [];
  readonly #templates: number;

  constructor({ state, memory }: Memories, launch: Launch) {
    this.#state = state;
    this.#memory = memory;
    this.#launch = launch;
    const { waveSize, ldsSizeBytes } = launch;
    this.waveSize = waveSize;
    assert(ldsSizeBytes <= MAX_LDS_BYTES, () => `${ldsSizeBytes} bytes of LDS were refused`);
    const { workgroupSize } = launch;
    const count = Math.ceil((workgroupSize[0] * workgroupSize[1] * workgroupSize[2]) / waveSize);
    const stateSize = aligned(waveSizeBytes(waveSize));
    const groupSize = aligned(GROUP_STATES + count * 4);
    const templatesSize = aligned(count * templateBytes(waveSize));
    const owner = `${launch.entry} ${launch.vgprCount} ${launch.agprCount}`;
    const states = state.allocate(count * stateSize + groupSize + templatesSize, owner);
    this.#states = states;
    this.group = states + count * stateSize;
    this.#templates = this.group + groupSize;
    const privateSize = privateSegmentSizeBytes(launch);
    let scratch = 0;
    let lds = 0;
    try {
      // Every workgroup begins with LDS cleared. Scratch is cleared here: it must not show what another
      // kernel left.
      const isOwn = { permissions: 0, uninitialized: true };
      if (ldsSizeBytes > 0) lds = this.#allocate(ldsSizeBytes + LDS_SLACK_BYTES, 'LDS', isOwn);
      if (privateSize > 0) scratch = this.#allocate(count * privateSize, 'scratch', { holeBytes: SCRATCH_HOLE_BYTES });
    } catch (error) {
      this.release();
      throw error;
    }
    this.ldsBase = lds;
    const waves: Wave[] = [];
    for (let i = 0; i < count; i++) {
      waves.push({ base: states + i * stateSize, privateBase: scratch + i * privateSize });
    }
    this.waves = waves;
    const rowSize = rowSizeBytes(waveSize);
    this.set(GROUP.waves, states);
    this.set(GROUP.waveStride, stateSize);
    this.set(GROUP.templates, this.#templates);
    this.set(GROUP.vgprBytes, Math.max(0, launch.vgprCount * rowSize - templateRowBytes(waveSize)));
    this.set(GROUP.agprBytes, launch.agprCount * rowSize);
    this.set(GROUP.lds, this.ldsBase);
    this.set(GROUP.ldsBytes, ldsSizeBytes);
    this.set(GROUP.fullCount, count);
    // Where there is scratch, registers say where that of each wave is; in a series waves have the same.
    this.set(GROUP.maxSeries, privateSize === 0 ? MAX_SERIES : 0);
    this.set(GROUP.series, 0);
    const [x, y, z] = launch.workgroupIdSgprs;
    this.set(GROUP.sgprX, sgprOffset(x));
    this.set(GROUP.sgprY, sgprOffset(y));
    this.set(GROUP.sgprZ, sgprOffset(z));
    this.set(GROUP.sgprYZ, sgprOffset(launch.packedWorkgroupIdSgpr));
  }

  /** `field`: one of GROUP, as everywhere here. */
  get(field: number): number {
    return this.#state.words[(this.group + field) >> 2]!;
  }

  set(field: number, value: number): void {
    this.#state.words[(this.group + field) >> 2] = value;
  }

  /** Also the fields of the other two dimensions, which follow. */
  setTriple(first: number, [x, y, z]: Triple): void {
    const { words } = this.#state;
    const at = (this.group + first) >> 2;
    words[at] = x;
    words[at + 1] = y;
    words[at + 2] = z;
  }

  /** Workgroup that runs here. */
  get id(): Triple {
    return [this.get(GROUP.idX), this.get(GROUP.idY), this.get(GROUP.idZ)];
  }

  /** Whether it has no memory of the device. */
  get isKeepable(): boolean {
    return this.#regions.length === 0;
  }

  /** Whether it is as one that is made for this launch. */
  fits(launch: Launch): boolean {
    const own = this.#launch;
    return (
      launch.entry === own.entry &&
      launch.waveSize === own.waveSize &&
      launch.ldsSizeBytes === own.ldsSizeBytes &&
      launch.privateSizeBytes === own.privateSizeBytes &&
      launch.vgprCount === own.vgprCount &&
      launch.agprCount === own.agprCount &&
      launch.packedWorkgroupIdSgpr === own.packedWorkgroupIdSgpr &&
      isSameTriple(launch.workgroupSize, own.workgroupSize) &&
      isSameTriple(launch.workgroupIdSgprs, own.workgroupIdSgprs)
    );
  }

  /** Another launch has it, which it fits. */
  renew(): void {
    this.hasTemplates = false;
    this.begin();
  }

  /** A workgroup begins in its place. */
  begin(): void {
    this.instructions = 0;
    this.instructionsSeen = 0;
    this.takesTurns = false;
  }

  /** Lets the waves go on that sleep, and those that have used their turn when no other still has its own. */
  wake(): void {
    const { words } = this.#state;
    const first = (this.group + GROUP_STATES) >> 2;
    const end = first + this.waveCount;
    // A view of these few words would cost more than the rest.
    let someWait = false;
    for (let at = first; at < end && !someWait; at++) someWait = words[at] === READY;
    for (let at = first; at < end; at++) {
      if (words[at] === SLEEPING || (words[at] === SPENT && !someWait)) words[at] = READY;
    }
  }

  /** Runs its waves; returns as `RunGroup`. */
  run(executor: Pick<Executor, 'runGroup'>, clock: bigint): number {
    try {
      return executor.runGroup(this.group, clock);
    } finally {
      this.#settle();
    }
  }

  /** Shows waves as ready that go on behind the barrier. */
  #settle(): void {
    if (this.get(GROUP.released) === 0) return;
    this.set(GROUP.released, 0);
    const { words } = this.#state;
    const first = (this.group + GROUP_STATES) >> 2;
    // The runner's number of the current wave is -1 where all of them go on.
    for (let i = (this.get(GROUP.current) + 1) | 0; i < this.waveCount; i++)
      if (words[first + i] === BARRIER) words[first + i] = READY;
  }

  get liveWaves(): readonly Wave[] {
    const first = (this.group + GROUP_STATES) >> 2;
    return this.waves.filter((_, i) => i < this.waveCount && this.#state.words[first + i] !== ENDED);
  }

  /** Of the waves of the current workgroup. */
  get states(): readonly WaveState[] {
    const first = (this.group + GROUP_STATES) >> 2;
    return Array.from({ length: this.waveCount }, (_, wave) => WAVE_STATES[this.#state.words[first + wave]!]!);
  }

  setState(wave: number, state: WaveState): void {
    this.#state.words[((this.group + GROUP_STATES) >> 2) + wave] = stateCode(state);
  }

  /** The waves of a workgroup that is not cut begin as these have just been set up. */
  saveTemplates(): void {
    const { bytes } = this.#state;
    const { waveSize } = this.#launch;
    this.waves.forEach(({ base }, i) => {
      const template = this.#templates + i * templateBytes(waveSize);
      const rows = base + TEMPLATE_ROWS_OFFSET;
      bytes.copyWithin(template, base, base + TEMPLATE_SCALAR_BYTES);
      this.#state.view.setUint32(template + WAVE_FRESHNESS, FRESH, true);
      bytes.copyWithin(template + TEMPLATE_SCALAR_BYTES, rows, rows + templateRowBytes(waveSize));
    });
    this.hasTemplates = true;
  }

  #allocate(sizeBytes: number, label: string, options: RegionOptions): number {
    const offset = this.#memory.allocate(sizeBytes, { ...options, label, isTransient: true });
    this.#regions.push(offset);
    return offset;
  }

  clearLds(): void {
    const { ldsSizeBytes } = this.#launch;
    if (ldsSizeBytes > 0) this.#memory.fill(0, this.ldsBase, this.ldsBase + ldsSizeBytes);
  }

  /** Waves of the current workgroup; at the edge of the grid fewer than the slot has. */
  get waveCount(): number {
    return this.get(GROUP.count);
  }

  get ended(): boolean {
    return this.get(GROUP.live) === 0;
  }

  release(): void {
    this.#state.free(this.#states);
    for (const region of this.#regions) this.#memory.free(region);
    this.#regions.length = 0;
  }
}
