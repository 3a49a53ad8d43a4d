/**
 * How many waves of a kernel a SIMD can hold at once: what `Occupancy [waves/SIMD]` of clang's kernel-resource-usage remarks says.
 * Register files and LDS by processor: AMD CDNA2, CDNA3 and RDNA3 ISA manuals; allocation granules: LLVM "User Guide for AMDGPU
 * Backend", granulated_workitem_vgpr_count.
 */

interface ComputeUnit {
  /** VGPRs of a SIMD, per lane of a wave of 64; a wave of 32 sees twice as many. */
  readonly vgprs: number;
  /** VGPRs are given to a wave of 64 in multiples of this; of 32 in multiples of twice as many. */
  readonly vgprGranule: number;
  readonly maxWaves: number;
  /** LDS that the SIMDs below share. */
  readonly ldsSizeBytes: number;
  readonly simds: number;
  /** More SGPRs than this leave room for 7 waves only. */
  readonly manySgprs: number;
}

const CDNA: ComputeUnit = { vgprs: 512, vgprGranule: 8, maxWaves: 8, ldsSizeBytes: 65_536, simds: 4, manySgprs: 100 };
/** A work group processor: two compute units and the LDS of both. */
const NAVI31: ComputeUnit = {
  vgprs: 768,
  vgprGranule: 12,
  maxWaves: 16,
  ldsSizeBytes: 131_072,
  simds: 4,
  manySgprs: Number.POSITIVE_INFINITY,
};

const UNITS: Readonly<Record<string, ComputeUnit>> = { gfx90a: CDNA, gfx942: CDNA, gfx1100: NAVI31 };
const WAVES_WITH_MANY_SGPRS = 7;

export interface OccupancyInput {
  readonly processor: string;
  /** Architectural and accumulation VGPRs together. */
  readonly vgprs: number;
  readonly sgprs: number;
  readonly ldsSizeBytes: number;
  readonly wavefrontSize: 32 | 64;
  /** Work-items of a workgroup. */
  readonly workgroupSize: number;
}

/** From 1 up; `undefined` for a processor that is not in the table, and for a kernel that does not fit at all. */
export function wavesPerSimd(kernel: OccupancyInput): number | undefined {
  const unit = UNITS[kernel.processor];
  if (unit === undefined || kernel.ldsSizeBytes > unit.ldsSizeBytes) return undefined;
  const factor = 64 / kernel.wavefrontSize;
  const granule = unit.vgprGranule * factor;
  const allocated = Math.max(Math.ceil(kernel.vgprs / granule), 1) * granule;
  const byVgprs = Math.floor((unit.vgprs * factor) / allocated);
  const bySgprs = kernel.sgprs > unit.manySgprs ? WAVES_WITH_MANY_SGPRS : unit.maxWaves;
  const workgroups = Math.floor(unit.ldsSizeBytes / Math.max(kernel.ldsSizeBytes, 1));
  const wavesOfWorkgroup = Math.ceil(kernel.workgroupSize / kernel.wavefrontSize);
  const byLds = Math.ceil((workgroups * wavesOfWorkgroup) / unit.simds);
  const waves = Math.min(unit.maxWaves, byVgprs, bySgprs, byLds);
  return waves > 0 ? waves : undefined;
}
