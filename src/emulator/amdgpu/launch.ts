/** A kernel launch as the emulator needs it, and the state that a wave starts with. */
import { FIRST_TTMP } from '../../isa/amdgpu/encoding/registers.ts';
import type { Target } from '../../isa/amdgpu/encoding/targets.ts';
import { fillBytes } from '../machine/fill.ts';
import {
  PAGE_SIZE_BYTES,
  rowSizeBytes,
  WAVE_JUMP_CACHE,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_MODE,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
  WAVE_RECORD,
  WAVE_TEMPORARY_ROWS,
  WAVE_VGPRS,
  waveAgprs,
} from '../machine/layout.ts';
import type { Memories } from '../machine/memory.ts';

export type Triple = readonly [number, number, number];

/** Where the initial SGPRs of a wave come from; numbers are SGPR indices. CDNA2 ISA 3.6.10, LLVM AMDGPU usage "Initial Kernel Execution State". */
export interface Launch {
  /** Offset of the first instruction in device memory. */
  readonly entry: number;
  readonly waveSize: 32 | 64;
  readonly workgroupSize: Triple;
  /** In work-items; the last workgroups of a dimension may be smaller. */
  readonly gridSize: Triple;
  readonly ldsSizeBytes: number;
  /** Bytes of each lane. */
  readonly privateSizeBytes: number;
  /** SGPRs from s0 on that are the same for all waves. */
  readonly userSgprs: Uint32Array;
  /** First of the four SGPRs of the scratch resource descriptor. */
  readonly scratchDescriptorSgpr: number | undefined;
  /** First of the two SGPRs with the scratch base for FLAT_SCRATCH. */
  readonly flatScratchSgpr: number | undefined;
  readonly workgroupIdSgprs: readonly [number | undefined, number | undefined, number | undefined];
  /** Offset of the wave's scratch from the descriptor's base: 0, since each wave has its own base. */
  readonly scratchOffsetSgpr: number | undefined;
  /** Highest component of the work-item id that v0.. hold: 0 x, 1 x and y, 2 all. */
  readonly workItemIdComponents: 0 | 1 | 2;
  readonly mode: number;
  readonly vgprCount: number;
  readonly agprCount: number;
}

/** Sizes of the workgroup at `id`, cut at the edge of the grid. */
export function workgroupSizeAt(launch: Launch, id: Triple): Triple {
  const at = (d: 0 | 1 | 2): number =>
    Math.min(launch.workgroupSize[d], launch.gridSize[d] - id[d] * launch.workgroupSize[d]);
  return [at(0), at(1), at(2)];
}

/** The workgroups of a launch, numbered in the order in which they begin: x first. */
export class Grid {
  /** Workgroups in each dimension, and those of them that the edge of the grid does not cut. */
  readonly counts: Triple;
  readonly full: Triple;
  readonly total: number;

  constructor({ gridSize, workgroupSize }: Pick<Launch, 'gridSize' | 'workgroupSize'>) {
    const ratio = (d: 0 | 1 | 2): number => gridSize[d] / workgroupSize[d];
    this.counts = [Math.ceil(ratio(0)), Math.ceil(ratio(1)), Math.ceil(ratio(2))];
    this.full = [Math.floor(ratio(0)), Math.floor(ratio(1)), Math.floor(ratio(2))];
    this.total = this.counts[0] * this.counts[1] * this.counts[2];
  }

  idOf(index: number): Triple {
    const [nx, ny] = this.counts;
    return [index % nx, Math.floor(index / nx) % ny, Math.floor(index / (nx * ny))];
  }
}

export interface WavePlace {
  /** Base of the wave state. */
  readonly wave: number;
  readonly ldsBase: number;
  readonly privateBase: number;
}

/**
 * Fields of the scratch buffer resource (CDNA2 ISA 9.1.8): swizzled, thread id added, the lanes of the wave a dword apart. From gfx10 on the wave
 * size counts, and the check of the range that no access inside num_records fails (RDNA2 ISA 8.1.8: OOB_SELECT 2).
 */
const SCRATCH_WORD1_SWIZZLE = 1 << 31;
const scratchWord3 = (target: Target, waveSize: 32 | 64): number =>
  (1 << 23) | ((waveSize === 64 ? 3 : 2) << 21) | (target.families.includes('gfx10') ? 2 << 28 : 0);

/** Trap registers that hold the workgroup's position on gfx12. */
const TTMP7 = FIRST_TTMP + 7;
const TTMP9 = FIRST_TTMP + 9;

/** Writes the initial state of wave `index` of a workgroup; `record` is that of the kernel's entry. */
export function initializeWave(
  { state, memory }: Memories,
  target: Target,
  launch: Launch,
  place: WavePlace,
  id: Triple,
  size: Triple,
  index: number,
  start: { record: number; jumpCache: number },
): void {
  const { words, view, bytes } = state;
  const { wave } = place;
  const row = rowSizeBytes(launch.waveSize);
  fillBytes(bytes, 0, wave, wave + WAVE_TEMPORARY_ROWS);
  const vgprs = wave + WAVE_VGPRS;
  fillBytes(bytes, 0, vgprs, vgprs + Math.max(launch.vgprCount, 3) * row);
  fillBytes(bytes, 0, wave + waveAgprs(launch.waveSize), wave + waveAgprs(launch.waveSize) + launch.agprCount * row);
  const sgpr = wave >> 2;
  launch.userSgprs.forEach((value, i) => {
    words[sgpr + i] = value;
  });
  const scratch = memory.address(place.privateBase);
  if (launch.scratchDescriptorSgpr !== undefined) {
    const at = sgpr + launch.scratchDescriptorSgpr;
    words[at] = Number(BigInt.asIntN(32, scratch));
    words[at + 1] = Number((scratch >> 32n) & 0xffffn) | SCRATCH_WORD1_SWIZZLE;
    words[at + 2] = launch.privateSizeBytes * launch.waveSize;
    words[at + 3] = scratchWord3(target, launch.waveSize);
  }
  if (launch.flatScratchSgpr !== undefined) view.setBigUint64((sgpr + launch.flatScratchSgpr) * 4, scratch, true);
  launch.workgroupIdSgprs.forEach((register, d) => {
    if (register !== undefined) words[sgpr + register] = id[d]!;
  });
  if (target.workgroupIdsInTrapRegisters) {
    words[sgpr + TTMP7] = id[1] | (id[2] << 16);
    words[sgpr + TTMP9] = id[0];
  }
  if (launch.scratchOffsetSgpr !== undefined) words[sgpr + launch.scratchOffsetSgpr] = 0;

  const count = size[0] * size[1] * size[2];
  const first = index * launch.waveSize;
  const active = Math.min(launch.waveSize, count - first);
  view.setBigUint64(wave + 126 * 4, (1n << BigInt(active)) - 1n, true);
  const vgpr = (wave + WAVE_VGPRS) >> 2;
  for (let lane = 0; lane < active; lane++) {
    const item = first + lane;
    const x = item % size[0];
    const y = Math.floor(item / size[0]) % size[1];
    const z = Math.floor(item / (size[0] * size[1]));
    if (target.packedWorkItemIds) words[vgpr + lane] = x | (y << 10) | (z << 20);
    else {
      words[vgpr + lane] = x;
      if (launch.workItemIdComponents > 0) words[vgpr + launch.waveSize + lane] = y;
      if (launch.workItemIdComponents > 1) words[vgpr + 2 * launch.waveSize + lane] = z;
    }
  }
  view.setUint32(wave + WAVE_MODE, launch.mode, true);
  view.setUint32(wave + WAVE_RECORD, start.record, true);
  view.setUint32(wave + WAVE_JUMP_CACHE, start.jumpCache, true);
  view.setUint32(wave + WAVE_LDS_BASE, place.ldsBase, true);
  view.setUint32(wave + WAVE_LDS_SIZE, launch.ldsSizeBytes, true);
  view.setUint32(wave + WAVE_PRIVATE_BASE, place.privateBase, true);
  view.setUint32(wave + WAVE_PRIVATE_SIZE, launch.privateSizeBytes, true);
}

/** Private memory of a wave, whole pages. */
export const privateSegmentSizeBytes = (launch: Launch): number =>
  Math.ceil((launch.privateSizeBytes * launch.waveSize) / PAGE_SIZE_BYTES) * PAGE_SIZE_BYTES;
