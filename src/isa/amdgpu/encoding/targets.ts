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
  /**
   * Where FLAT_SCRATCH is, the address of a wave's private memory: kernels set it up in two SGPRs (CDNA2 ISA
   * 10.8) or in two hardware registers (RDNA2 ISA 5.8), or it is `architected`, and hardware does (RDNA3 ISA
   * 3.4.8).
   */
  readonly flatScratch: 'sgprs' | 'hardwareRegisters' | 'architected';
  readonly packedWorkItemIds: boolean;
  /** Groups of VGPRs begin at an even one (CDNA2 ISA 3.6.4). */
  readonly alignedVgprs: boolean;
  /**
   * Whether V_MAD_U64_U32 may add to its own result: on RDNA3 that must be in other registers than all
   * sources (LLVM, VOP3Instructions.td); its successors are treated alike.
   */
  readonly addsToWideFactors: boolean;
  /** How many scalar values a vector instruction may read: SGPRs, VCC, M0, a literal. */
  readonly maxScalarReads: 1 | 2;
  /**
   * The workgroup's position is in TTMP9 (x) and TTMP7 (y, z), not in SGPRs behind those of the user (RDNA4
   * ISA 3.5.3).
   */
  readonly workgroupIdsInTrapRegisters: boolean;
  /** The scalar address of FLAT says that there is none. */
  readonly flatNamesNoScalar: boolean;
  /**
   * Resources of buffers: `split` has a data format and a number format (CDNA2 ISA 9.1.8), `unified` one
   * number of 7 bits for both (RDNA2 ISA 8.1.8), `wide` one of 6 bits, and elements of 16 bytes (RDNA3
   * ISA 9.4).
   */
  readonly bufferResources: 'split' | 'unified' | 'wide';
  /** Writing back and invalidating caches says up to which scope. */
  readonly cacheScopes: boolean;
  /** MODE may let M0 move the VGPRs of vector instructions (CDNA2 ISA 6.6). */
  readonly gprIndexMode: boolean;
  /** What an SGPR behind the last one that M0 may choose is: the first one, or 0. */
  readonly missingScalars: 'first' | 'zero';
  /** Lanes that LDS permutations reach: of the wave, or of the lane's half of it (RDNA3 ISA 12.5.2). */
  readonly permutedLanes: 'wave' | 'half';
  /** Bits of a message; eight leave no room for an operation and a stream (RDNA3 ISA 5.3). */
  readonly messageBits: 4 | 8;
  /** Packed operations without op_sel_hi take inline constants for both halves (RDNA3 ISA 7.2.1). */
  readonly repeatsPackedConstants: boolean;
  /** The lane forms (DPP) of instructions with operands of 64 bits exist. */
  readonly wideLaneForms: boolean;
  /** Whether the sources of lane forms must be VGPRs. */
  readonly laneFormSources: 'any' | 'vectors';
  /**
   * Matrix products flush halves and bf16, and have f32 follow MODE (CDNA2 ISA 7.1), or they let MODE flush
   * f32 in A and B and nothing else (CDNA3 ISA 7.3).
   */
  readonly matrixDenormals: 'flushed' | 'kept';
  /** Matrix products of f64 negate A, B and C by the bits of BLGP (CDNA3 ISA 7.1.5.3). */
  readonly negatesDoubleProducts: boolean;
  /** Clamping makes 0 of NaN, whatever the kernel descriptor says. */
  readonly clampsNan: boolean;
  /** Whose matrix products these are: how long they take, and what has to wait for them. */
  readonly matrixTiming: 'cdna2' | 'cdna3';
  /** Packed dot products may choose halves of their sources, or take them in order (LLVM). */
  readonly dotHalves: 'any' | 'inOrder';
  /** LDS instructions may reach the global data share instead. */
  readonly hasGds: boolean;
  /** The cache bit that float atomics of vector memory lack: those of gfx908 return nothing. */
  readonly noFloatAtomicBit: 'glc' | 'scc' | undefined;
  /** Sources that are addresses or masks must be registers (LLVM). */
  readonly requiresRegisterSources: boolean;
  /** Offsets of scalar accesses to buffers may be negative. */
  readonly negativeBufferOffsets: boolean;
  /** The sources of two moves in one VOPD may be in one bank of VGPRs. */
  readonly dualMovesShareBanks: boolean;
  /** Of the cache that all compute units share (L2): of RDNA and from CDNA2 on 128, before that 64. */
  readonly cacheLineBytes: 64 | 128;
  readonly scalars: ScalarFile;
}

type Traits = Omit<Target, 'processor'>;

const GFX9: Traits = {
  families: ['gfx9'],
  waveSizes: [64],
  unifiedVgprs: false,
  hasAccumulators: false,
  flatScratch: 'sgprs',
  packedWorkItemIds: false,
  alignedVgprs: false,
  addsToWideFactors: true,
  maxScalarReads: 1,
  workgroupIdsInTrapRegisters: false,
  flatNamesNoScalar: false,
  bufferResources: 'split',
  cacheScopes: false,
  gprIndexMode: true,
  missingScalars: 'first',
  permutedLanes: 'wave',
  messageBits: 4,
  repeatsPackedConstants: false,
  wideLaneForms: false,
  laneFormSources: 'any',
  matrixDenormals: 'flushed',
  negatesDoubleProducts: false,
  clampsNan: false,
  matrixTiming: 'cdna2',
  dotHalves: 'any',
  hasGds: true,
  noFloatAtomicBit: undefined,
  requiresRegisterSources: true,
  negativeBufferOffsets: false,
  dualMovesShareBanks: false,
  cacheLineBytes: 64,
  scalars: SCALARS_GFX9,
};
const GFX908: Traits = {
  ...GFX9,
  families: ['gfx908', 'gfx906', 'gfx904', 'gfx9'],
  hasAccumulators: true,
  noFloatAtomicBit: 'glc',
};
const GFX90A: Traits = {
  ...GFX908,
  families: ['gfx90a', ...GFX908.families],
  unifiedVgprs: true,
  packedWorkItemIds: true,
  alignedVgprs: true,
  wideLaneForms: true,
  hasGds: false,
  noFloatAtomicBit: 'scc',
  cacheLineBytes: 128,
};
const GFX940: Traits = {
  ...GFX90A,
  families: ['gfx940', ...GFX90A.families],
  flatScratch: 'architected',
  cacheScopes: true,
  matrixDenormals: 'kept',
  negatesDoubleProducts: true,
  matrixTiming: 'cdna3',
  dotHalves: 'inOrder',
  noFloatAtomicBit: undefined,
};
const GFX10: Traits = {
  ...GFX9,
  families: ['gfx10'],
  waveSizes: [32, 64],
  maxScalarReads: 2,
  flatScratch: 'hardwareRegisters',
  flatNamesNoScalar: true,
  bufferResources: 'unified',
  gprIndexMode: false,
  permutedLanes: 'half',
  requiresRegisterSources: false,
  cacheLineBytes: 128,
  scalars: SCALARS_GFX10,
};
const GFX101: Traits = { ...GFX10, families: ['gfx101', 'gfx10'] };
const GFX11: Traits = {
  ...GFX10,
  families: ['gfx11', 'gfx10'],
  flatScratch: 'architected',
  packedWorkItemIds: true,
  addsToWideFactors: false,
  bufferResources: 'wide',
  missingScalars: 'zero',
  messageBits: 8,
  repeatsPackedConstants: true,
  laneFormSources: 'vectors',
  scalars: SCALARS_GFX11,
};
const GFX115: Traits = { ...GFX11, families: ['gfx115', ...GFX11.families], laneFormSources: 'any' };

const GFX12: Traits = {
  ...GFX115,
  families: ['gfx12', ...GFX115.families],
  workgroupIdsInTrapRegisters: true,
  clampsNan: true,
  hasGds: false,
  negativeBufferOffsets: true,
  dualMovesShareBanks: true,
};

/**
 * Processors that differ in nothing that the instruction set shows; a generic one has what all that it stands
 * for have.
 */
const TARGETS: readonly Target[] = (
  [
    ['gfx900 gfx902 gfx909 gfx90c', { ...GFX9, families: ['gfx900', 'gfx9'] }],
    ['gfx904', { ...GFX9, families: ['gfx904', 'gfx9'] }],
    ['gfx906', { ...GFX9, families: ['gfx906', 'gfx904', 'gfx9'] }],
    ['gfx908', GFX908],
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
