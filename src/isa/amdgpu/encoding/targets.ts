import { WavewrightError } from '../../../base/errors.ts';
import type { Family } from './formats.ts';
import { SCALARS_GFX9, SCALARS_GFX10, SCALARS_GFX11, type ScalarFile } from './registers.ts';

/** What the instruction set of a processor differs in. */
export interface Target {
  readonly processor: string;
  /** Encoding tables, own first. */
  readonly families: readonly Family[];
  readonly waveSizes: readonly (32 | 64)[];
  /** Register files of VGPRs and AGPRs are one; ACCUM_OFFSET splits it (CDNA2 ISA 3.6.4). */
  readonly unifiedVgprs: boolean;
  /**
   * Has AGPRs: where the files are not one, as many as VGPRs (LLVM AMDGPU usage,
   * GRANULATED_WORKITEM_VGPR_COUNT).
   */
  readonly hasAccumulators: boolean;
  /** FLAT_SCRATCH is set up by hardware, not by the kernel prologue. */
  readonly architectedFlatScratch: boolean;
  readonly packedWorkItemIds: boolean;
  /** Groups of VGPRs begin at an even one (CDNA2 ISA 3.6.4). */
  readonly alignedVgprs: boolean;
  /** How many scalar values a vector instruction may read: SGPRs, VCC, M0, a literal. */
  readonly maxScalarReads: 1 | 2;
  /**
   * The workgroup's position is in TTMP9 (x) and TTMP7 (y, z), not in SGPRs behind those of the user (RDNA4
   * ISA 3.5.3).
   */
  readonly workgroupIdsInTrapRegisters: boolean;
  readonly scalars: ScalarFile;
}

type Traits = Omit<Target, 'processor'>;

const GFX9: Traits = {
  families: ['gfx9'],
  waveSizes: [64],
  unifiedVgprs: false,
  hasAccumulators: false,
  architectedFlatScratch: false,
  packedWorkItemIds: false,
  alignedVgprs: false,
  maxScalarReads: 1,
  workgroupIdsInTrapRegisters: false,
  scalars: SCALARS_GFX9,
};
const GFX90A: Traits = {
  ...GFX9,
  families: ['gfx90a', 'gfx908', 'gfx906', 'gfx904', 'gfx9'],
  unifiedVgprs: true,
  hasAccumulators: true,
  packedWorkItemIds: true,
  alignedVgprs: true,
};
const GFX940: Traits = { ...GFX90A, families: ['gfx940', ...GFX90A.families], architectedFlatScratch: true };
const GFX10: Traits = { ...GFX9, families: ['gfx10'], waveSizes: [32, 64], maxScalarReads: 2, scalars: SCALARS_GFX10 };
const GFX101: Traits = { ...GFX10, families: ['gfx101', 'gfx10'] };
const GFX11: Traits = {
  ...GFX10,
  families: ['gfx11', 'gfx10'],
  architectedFlatScratch: true,
  packedWorkItemIds: true,
  scalars: SCALARS_GFX11,
};
const GFX115: Traits = { ...GFX11, families: ['gfx115', ...GFX11.families] };

const GFX12: Traits = { ...GFX115, families: ['gfx12', ...GFX115.families], workgroupIdsInTrapRegisters: true };

/**
 * Processors that differ in nothing that the instruction set shows; a generic one has what all that it stands
 * for have.
 */
const TARGETS: readonly Target[] = (
  [
    ['gfx900 gfx902 gfx909 gfx90c', { ...GFX9, families: ['gfx900', 'gfx9'] }],
    ['gfx904', { ...GFX9, families: ['gfx904', 'gfx9'] }],
    ['gfx906', { ...GFX9, families: ['gfx906', 'gfx904', 'gfx9'] }],
    ['gfx908', { ...GFX9, families: ['gfx908', 'gfx906', 'gfx904', 'gfx9'], hasAccumulators: true }],
    ['gfx90a', GFX90A],
    ['gfx940 gfx941 gfx942', GFX940],
    ['gfx9-generic', GFX9],
    ['gfx1010', GFX101],
    ['gfx1011 gfx1012', { ...GFX101, families: ['gfx1011', ...GFX101.families] }],
    ['gfx1013', { ...GFX101, families: ['gfx1013', ...GFX101.families] }],
    ['gfx10-1-generic', GFX101],
    ['gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx10-3-generic', GFX10],
    ['gfx1100 gfx1101 gfx1102 gfx1103 gfx11-generic', GFX11],
    ['gfx1150 gfx1151 gfx1152', GFX115],
    ['gfx1200 gfx1201 gfx12-generic', GFX12],
  ] satisfies [processors: string, traits: Traits][]
).flatMap(([processors, traits]) => processors.split(' ').map((processor) => ({ processor, ...traits })));

export const TARGET_PROCESSORS: readonly string[] = TARGETS.map((target) => target.processor);

/** Throws UNSUPPORTED for a processor without instruction tables. */
export function targetFor(processor: string): Target {
  const target = TARGETS.find((candidate) => candidate.processor === processor);
  if (target) return target;
  throw new WavewrightError('UNSUPPORTED', `no instruction set for '${processor}'`, {
    hint: `supported processors: ${TARGET_PROCESSORS.join(', ')}`,
  });
}
