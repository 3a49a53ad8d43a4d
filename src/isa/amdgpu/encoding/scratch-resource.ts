/**
 * The buffer resource of a wave's private memory: swizzled, thread id added, the lanes of the wave a dword
 * apart (CDNA2 ISA 9.1.8).
 */
import type { Target } from './targets.ts';

/** In the word with the high half of the address. */
export const SCRATCH_WORD1_SWIZZLE = 1 << 31;

/** From gfx10 on: the level must be 1, a format must be named, and 2 is no check of the range. */
const [RESOURCE_LEVEL, UINT_32, OOB_SELECT] = [1 << 24, 20 << 12, 2 << 28];

/**
 * The last word. From gfx10 on the wave size counts, and the check of the range is one that no access inside
 * num_records fails (RDNA2 ISA 8.1.8).
 */
export const scratchWord3 = ({ bufferResources }: Target, waveSize: 32 | 64): number =>
  (1 << 23) |
  ((waveSize === 64 ? 3 : 2) << 21) |
  (bufferResources === 'split' ? 0 : RESOURCE_LEVEL | UINT_32 | OOB_SELECT);
