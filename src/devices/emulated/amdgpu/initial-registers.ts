/**
 * The registers that a wave of an AMD GPU starts with. CDNA2 ISA 3.6.4, LLVM AMDGPU usage "Initial Kernel
 * Execution State".
 */
import type { WaveStart } from '../../../emulator/code/front-end.ts';
import type { Launch } from '../../../emulator/machine/launch.ts';
import { WAVE_VGPRS } from '../../../emulator/machine/layout.ts';
import type { Memories } from '../../../emulator/machine/memory.ts';
import { SCRATCH_WORD1_SWIZZLE, scratchWord3 } from '../../../isa/amdgpu/encoding/scratch-resource.ts';
import type { Target } from '../../../isa/amdgpu/encoding/targets.ts';

/** A launch with what the initial registers of its waves hold; numbers are indices of SGPRs. */
export interface AmdgpuLaunch extends Launch {
  /** SGPRs from s0 on that are the same for all waves. */
  readonly userSgprs: Uint32Array;
  /** First of the four SGPRs of the scratch resource descriptor. */
  readonly scratchDescriptorSgpr: number | undefined;
  /** First of the two SGPRs with the scratch base for FLAT_SCRATCH. */
  readonly flatScratchSgpr: number | undefined;
  /** Offset of the wave's scratch from the descriptor's base: 0, since each wave has its own base. */
  readonly scratchOffsetSgpr: number | undefined;
  /** Highest component of the work-item id that v0.. hold: 0 x, 1 x and y, 2 all. */
  readonly workItemIdComponents: 0 | 1 | 2;
}

export function writeInitialRegisters(
  { state, memory }: Memories,
  target: Target,
  launch: AmdgpuLaunch,
  { wave, privateBase, workgroup, workgroupSize, firstItem, activeLanes }: WaveStart,
): void {
  const { words, view } = state;
  const sgpr = wave >> 2;
  const { userSgprs, workgroupIdSgprs } = launch;
  for (let i = 0; i < userSgprs.length; i++) words[sgpr + i] = userSgprs[i]!;
  if (launch.scratchDescriptorSgpr !== undefined) {
    const scratch = memory.address(privateBase);
    const at = sgpr + launch.scratchDescriptorSgpr;
    words[at] = Number(BigInt.asIntN(32, scratch));
    words[at + 1] = Number((scratch >> 32n) & 0xffffn) | SCRATCH_WORD1_SWIZZLE;
    words[at + 2] = launch.privateSizeBytes * launch.waveSize;
    words[at + 3] = scratchWord3(target, launch.waveSize);
  }
  if (launch.flatScratchSgpr !== undefined) {
    view.setBigUint64((sgpr + launch.flatScratchSgpr) * 4, memory.address(privateBase), true);
  }
  for (let d = 0; d < 3; d++) {
    const register = workgroupIdSgprs[d];
    if (register !== undefined) words[sgpr + register] = workgroup[d]!;
  }
  if (launch.packedWorkgroupIdSgpr !== undefined) {
    words[sgpr + launch.packedWorkgroupIdSgpr] = workgroup[1] | (workgroup[2] << 16);
  }
  if (launch.scratchOffsetSgpr !== undefined) words[sgpr + launch.scratchOffsetSgpr] = 0;
  writeWorkItemIds(words, (wave + WAVE_VGPRS) >> 2, target, launch, { workgroupSize, firstItem, activeLanes });
}

/** Into rows from the word `at` on. */
function writeWorkItemIds(
  words: Int32Array,
  at: number,
  { packedWorkItemIds }: Target,
  { waveSize, workItemIdComponents }: AmdgpuLaunch,
  {
    workgroupSize: [sizeX, sizeY],
    firstItem,
    activeLanes,
  }: Pick<WaveStart, 'workgroupSize' | 'firstItem' | 'activeLanes'>,
): void {
  let x = firstItem % sizeX;
  let y = Math.floor(firstItem / sizeX) % sizeY;
  let z = Math.floor(firstItem / (sizeX * sizeY));
  // Each launch begins a workgroup here: counting takes a tenth of the time of dividing.
  for (let lane = 0; lane < activeLanes; lane++) {
    if (packedWorkItemIds) words[at + lane] = x | (y << 10) | (z << 20);
    else {
      words[at + lane] = x;
      if (workItemIdComponents > 0) words[at + waveSize + lane] = y;
      if (workItemIdComponents > 1) words[at + 2 * waveSize + lane] = z;
    }
    if (++x < sizeX) continue;
    x = 0;
    if (++y < sizeY) continue;
    y = 0;
    z++;
  }
}
