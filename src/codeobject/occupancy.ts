/**
 * How many waves of a kernel a SIMD can hold at once: what `Occupancy [waves/SIMD]` of clang's
 * kernel-resource-usage remarks says. Register files and LDS by processor: AMD CDNA and RDNA ISA manuals;
 * allocation granules: LLVM "User Guide for AMDGPU Backend", granulated_workitem_vgpr_count.
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
  /** Workgroups of several waves that these SIMDs hold at once. */
  readonly barriers: number;
  /** Waves by the number of SGPRs: the first row that has room for them; none where SGPRs are no limit. */
  readonly sgprs: readonly (readonly [count: number, waves: number])[];
}

const GFX9_SGPRS = [
  [80, 10],
  [88, 9],
  [100, 8],
  [128, 7],
] as const;
const GFX9: ComputeUnit = {
  vgprs: 256,
  vgprGranule: 4,
  maxWaves: 10,
  ldsSizeBytes: 65_536,
  simds: 4,
  barriers: 16,
  sgprs: GFX9_SGPRS,
};
const CDNA2: ComputeUnit = { ...GFX9, vgprs: 512, vgprGranule: 8, maxWaves: 8 };
/** From here on a work group processor: two compute units and the LDS of both. */
const RDNA1: ComputeUnit = {
  vgprs: 512,
  vgprGranule: 4,
  maxWaves: 20,
  ldsSizeBytes: 131_072,
  simds: 4,
  barriers: 32,
  sgprs: [],
};
const RDNA2: ComputeUnit = { ...RDNA1, vgprGranule: 8, maxWaves: 16 };
/** RDNA3 and later with the larger register file. */
const LARGE: ComputeUnit = { ...RDNA2, vgprs: 768, vgprGranule: 12 };

const UNITS: Readonly<Record<string, ComputeUnit>> = Object.fromEntries(
  (
    [
      ['gfx900 gfx902 gfx904 gfx906 gfx908 gfx909 gfx90c', GFX9],
      ['gfx90a gfx940 gfx941 gfx942', CDNA2],
      ['gfx1010 gfx1011 gfx1012 gfx1013', RDNA1],
      ['gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx1102 gfx1103 gfx1150 gfx1152', RDNA2],
      ['gfx1100 gfx1101 gfx1151 gfx1200 gfx1201', LARGE],
    ] as const
  ).flatMap(([processors, unit]) => processors.split(' ').map((processor) => [processor, unit] as const)),
);

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

function wavesByVgprs(
  { vgprs, vgprGranule }: ComputeUnit,
  kernel: Pick<OccupancyInput, 'vgprs' | 'wavefrontSize'>,
): number {
  const factor = 64 / kernel.wavefrontSize;
  const granule = vgprGranule * factor;
  const allocated = Math.max(Math.ceil(kernel.vgprs / granule), 1) * granule;
  return Math.floor((vgprs * factor) / allocated);
}

/**
 * Work-items of the largest workgroup whose waves have their VGPRs at once; `undefined` for a processor that
 * is not in the table.
 */
export function maxWorkgroupSizeByVgprs(
  kernel: Pick<OccupancyInput, 'processor' | 'vgprs' | 'wavefrontSize'>,
): number | undefined {
  const unit = UNITS[kernel.processor];
  return unit && wavesByVgprs(unit, kernel) * unit.simds * kernel.wavefrontSize;
}

/** Waves that a SIMD holds at once: all together, and what each limit alone allows. */
export interface Occupancy {
  readonly waves: number;
  readonly byVgprs: number;
  readonly bySgprs: number;
  readonly byLds: number;
  /** Workgroups are resident as a whole, and only so many that have barriers. */
  readonly byWorkgroups: number;
}

/** `undefined` for a processor that is not in the table, and for a kernel that does not fit at all. */
export function occupancyOf(kernel: OccupancyInput): Occupancy | undefined {
  const unit = UNITS[kernel.processor];
  if (unit === undefined) return undefined;
  const { maxWaves } = unit;
  const byVgprs = Math.min(maxWaves, wavesByVgprs(unit, kernel));
  const bySgprs = unit.sgprs.find(([count]) => kernel.sgprs <= count)?.[1] ?? maxWaves;
  const wavesOfWorkgroup = Math.ceil(kernel.workgroupSize / kernel.wavefrontSize);
  // Workgroups of one wave need no barrier, of which there are a limited number.
  const barriers = wavesOfWorkgroup > 1 ? unit.barriers : Number.POSITIVE_INFINITY;
  const whole = Math.floor((maxWaves * unit.simds) / wavesOfWorkgroup);
  const wavesOf = (workgroups: number): number =>
    Math.min(maxWaves, Math.ceil((workgroups * wavesOfWorkgroup) / unit.simds));
  const byLds = wavesOf(Math.floor(unit.ldsSizeBytes / Math.max(kernel.ldsSizeBytes, 1)));
  const byWorkgroups = wavesOf(Math.min(barriers, whole));
  const waves = Math.min(byVgprs, bySgprs, byLds, byWorkgroups);
  return waves > 0 ? { waves, byVgprs, bySgprs: Math.min(maxWaves, bySgprs), byLds, byWorkgroups } : undefined;
}
