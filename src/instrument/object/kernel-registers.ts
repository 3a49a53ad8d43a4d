/** More registers for a kernel: the fields of its descriptor that ask for them. */
import { alignUp } from '../../base/align.ts';
import {
  type KernelDescriptor,
  SGPR_ALLOCATION_GRANULE,
  scalarRegisterCount,
  vectorRegisterCount,
} from '../../codeobject/kernel-descriptor.ts';
import type { RegisterCounts } from '../../lift/register-limits.ts';

/** What is not named stays as it was. */
export interface KernelChanges {
  /** VGPRs of a lane, without accumulation registers. */
  readonly vgprCount?: number;
  /** SGPRs that the code names, without VCC and what follows it. */
  readonly sgprCount?: number;
}

/**
 * Accumulation registers of the gfx90a family begin at a multiple of it (LLVM AMDGPU usage, ACCUM_OFFSET).
 */
const ACCUMULATOR_GRANULE = 4;

/** `specials`: SGPRs that must be there behind those that have numbers. */
export function withRegisters(
  descriptor: KernelDescriptor,
  { vgprCount, sgprCount }: KernelChanges,
  { specialSgprCount }: Pick<RegisterCounts, 'specialSgprCount'>,
): KernelDescriptor {
  const [rsrc1, rsrc3] = [{ ...descriptor.rsrc1 }, { ...descriptor.rsrc3 }];
  if (vgprCount !== undefined) {
    const total = vectorRegisterCount(descriptor);
    const granule = total / (rsrc1.granulatedWorkitemVgprCount + 1);
    const start = rsrc3.accumOffset === undefined ? total : (rsrc3.accumOffset + 1) * ACCUMULATOR_GRANULE;
    const grown = alignUp(Math.max(vgprCount, Math.min(start, total)), ACCUMULATOR_GRANULE);
    if (rsrc3.accumOffset !== undefined) rsrc3.accumOffset = grown / ACCUMULATOR_GRANULE - 1;
    const behind = Math.max(total - start, 0);
    rsrc1.granulatedWorkitemVgprCount = Math.max(alignUp(grown + behind, granule), total) / granule - 1;
  }
  if (sgprCount !== undefined && scalarRegisterCount(descriptor) < sgprCount + specialSgprCount) {
    const granule = scalarRegisterCount(descriptor) / (rsrc1.granulatedWavefrontSgprCount + 1);
    rsrc1.granulatedWavefrontSgprCount = alignUp(sgprCount + specialSgprCount, SGPR_ALLOCATION_GRANULE) / granule - 1;
  }
  return { ...descriptor, rsrc1, rsrc3 };
}
