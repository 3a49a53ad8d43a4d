import type { ProcessorFamily } from './processors.ts';

/**
 * The bit fields of a kernel descriptor's registers by processor family. Source: LLVM AMDGPU usage, "Kernel
 * Descriptor" with the tables compute_pgm_rsrc1, rsrc2, rsrc3 for GFX6-GFX12, and LLVM's
 * AMDHSAKernelDescriptor.h for the widths. A field of one bit is a boolean. `reserved` holds the bits without
 * a name in place, so that a word survives a round trip.
 */
export interface ComputePgmRsrc1 {
  /** Vector registers: (value + 1) × granule, see `vectorRegisterCount`. */
  granulatedWorkitemVgprCount: number;
  /** Scalar registers: (value + 1) × 8 up to gfx9; 0 from gfx10. */
  granulatedWavefrontSgprCount: number;
  priority: number;
  /** 0 nearest even, 1 towards +infinity, 2 towards -infinity, 3 towards zero. */
  floatRoundMode32: number;
  floatRoundMode16And64: number;
  /** 0 flush sources and results, 1 flush results, 2 flush sources, 3 keep denormals. */
  floatDenormMode32: number;
  floatDenormMode16And64: number;
  priv: boolean;
  /** Up to gfx11. */
  enableDx10Clamp?: boolean;
  /** From gfx12. */
  enableWorkgroupRoundRobin?: boolean;
  debugMode: boolean;
  /** Up to gfx11. */
  enableIeeeMode?: boolean;
  /** From gfx12. */
  disablePerf?: boolean;
  bulky: boolean;
  cdbgUser: boolean;
  /** From gfx9: half-precision overflow clamps to the largest finite value. */
  fp16Overflow?: boolean;
  /** gfx125x. */
  flatScratchIsNonVolatile?: boolean;
  /** From gfx10: a workgroup may use both compute units of a WGP. */
  wgpMode?: boolean;
  /** From gfx10. */
  memOrdered?: boolean;
  /** From gfx10. */
  forwardProgress?: boolean;
  reserved: number;
}

export interface ComputePgmRsrc2 {
  /** The wave needs scratch; without architected flat scratch also the wave offset SGPR. */
  enablePrivateSegment: boolean;
  /** User SGPRs loaded before the system SGPRs. */
  userSgprCount: number;
  /** Up to gfx11. */
  enableTrapHandler?: boolean;
  /** gfx120x. */
  enableDynamicVgpr?: boolean;
  enableSgprWorkgroupIdX: boolean;
  enableSgprWorkgroupIdY: boolean;
  enableSgprWorkgroupIdZ: boolean;
  enableSgprWorkgroupInfo: boolean;
  /** 0 x, 1 x and y, 2 x, y and z. */
  enableVgprWorkitemId: number;
  enableExceptionAddressWatch: boolean;
  enableExceptionMemory: boolean;
  /** Must be 0: the packet processor fills it from the dispatch packet. */
  granulatedLdsSize: number;
  enableExceptionInvalidOperation: boolean;
  enableExceptionDenormalSource: boolean;
  enableExceptionDivisionByZero: boolean;
  enableExceptionOverflow: boolean;
  enableExceptionUnderflow: boolean;
  enableExceptionInexact: boolean;
  enableExceptionIntegerDivisionByZero: boolean;
  reserved: number;
}

/** All bits are reserved up to gfx9 except for the gfx90a family. */
export interface ComputePgmRsrc3 {
  /** gfx90a family: the first AccVGPR is number (value + 1) × 4 of the unified register file. */
  accumOffset?: number;
  /** gfx90a family: waves of a workgroup may run on several compute units. */
  threadGroupSplit?: boolean;
  /** gfx10, gfx11: shared VGPRs of wave64, in units of 8. */
  sharedVgprCount?: number;
  /** From gfx11: instruction prefetch, in units of 128 bytes. */
  instructionPrefetchSize?: number;
  /** gfx11. */
  trapOnStart?: boolean;
  /** gfx11. */
  trapOnEnd?: boolean;
  /** From gfx12: group launch guarantee. */
  groupLaunchGuarantee?: boolean;
  /** gfx125x. */
  namedBarrierCount?: number;
  /** gfx125x. */
  enableDynamicVgpr?: boolean;
  /** gfx125x. */
  tcpSplit?: number;
  /** gfx125x. */
  enableDidtThrottle?: boolean;
  /** From gfx11: the kernel uses image instructions. */
  imageOp?: boolean;
  reserved: number;
}

/** Which user SGPRs the packet processor sets up, in this order, and how the kernel runs. */
export interface KernelCodeProperties {
  enableSgprPrivateSegmentBuffer: boolean;
  enableSgprDispatchPtr: boolean;
  enableSgprQueuePtr: boolean;
  enableSgprKernargSegmentPtr: boolean;
  enableSgprDispatchId: boolean;
  enableSgprFlatScratchInit: boolean;
  enableSgprPrivateSegmentSize: boolean;
  /** From gfx10: wave32, otherwise wave64. */
  enableWavefrontSize32: boolean;
  /** The stack size is not known statically. */
  usesDynamicStack: boolean;
  reserved: number;
}

/**
 * One field: name, lowest bit, width, and the families from the first to the last (inclusive) that have it.
 */
export type FieldRow<T> = readonly [
  name: Exclude<keyof T & string, 'reserved'>,
  shift: number,
  width: number,
  first?: ProcessorFamily,
  last?: ProcessorFamily,
];

export const RSRC1_ROWS: readonly FieldRow<ComputePgmRsrc1>[] = [
  ['granulatedWorkitemVgprCount', 0, 6],
  ['granulatedWavefrontSgprCount', 6, 4],
  ['priority', 10, 2],
  ['floatRoundMode32', 12, 2],
  ['floatRoundMode16And64', 14, 2],
  ['floatDenormMode32', 16, 2],
  ['floatDenormMode16And64', 18, 2],
  ['priv', 20, 1],
  ['enableDx10Clamp', 21, 1, 'gfx6', 'gfx11'],
  ['enableWorkgroupRoundRobin', 21, 1, 'gfx12'],
  ['debugMode', 22, 1],
  ['enableIeeeMode', 23, 1, 'gfx6', 'gfx11'],
  ['disablePerf', 23, 1, 'gfx12'],
  ['bulky', 24, 1],
  ['cdbgUser', 25, 1],
  ['fp16Overflow', 26, 1, 'gfx9'],
  ['flatScratchIsNonVolatile', 27, 1, 'gfx125'],
  ['wgpMode', 29, 1, 'gfx10'],
  ['memOrdered', 30, 1, 'gfx10'],
  ['forwardProgress', 31, 1, 'gfx10'],
];

export const RSRC2_ROWS: readonly FieldRow<ComputePgmRsrc2>[] = [
  ['enablePrivateSegment', 0, 1],
  ['userSgprCount', 1, 5, 'gfx6', 'gfx12'],
  ['userSgprCount', 1, 6, 'gfx125'],
  ['enableTrapHandler', 6, 1, 'gfx6', 'gfx11'],
  ['enableDynamicVgpr', 6, 1, 'gfx12', 'gfx12'],
  ['enableSgprWorkgroupIdX', 7, 1],
  ['enableSgprWorkgroupIdY', 8, 1],
  ['enableSgprWorkgroupIdZ', 9, 1],
  ['enableSgprWorkgroupInfo', 10, 1],
  ['enableVgprWorkitemId', 11, 2],
  ['enableExceptionAddressWatch', 13, 1],
  ['enableExceptionMemory', 14, 1],
  ['granulatedLdsSize', 15, 9],
  ['enableExceptionInvalidOperation', 24, 1],
  ['enableExceptionDenormalSource', 25, 1],
  ['enableExceptionDivisionByZero', 26, 1],
  ['enableExceptionOverflow', 27, 1],
  ['enableExceptionUnderflow', 28, 1],
  ['enableExceptionInexact', 29, 1],
  ['enableExceptionIntegerDivisionByZero', 30, 1],
];

export const RSRC3_ROWS: readonly FieldRow<ComputePgmRsrc3>[] = [
  ['accumOffset', 0, 6, 'gfx90a', 'gfx90a'],
  ['threadGroupSplit', 16, 1, 'gfx90a', 'gfx90a'],
  ['sharedVgprCount', 0, 4, 'gfx10', 'gfx11'],
  ['instructionPrefetchSize', 4, 6, 'gfx11', 'gfx11'],
  ['instructionPrefetchSize', 4, 8, 'gfx12'],
  ['trapOnStart', 10, 1, 'gfx11', 'gfx11'],
  ['trapOnEnd', 11, 1, 'gfx11', 'gfx11'],
  ['groupLaunchGuarantee', 13, 1, 'gfx12'],
  ['namedBarrierCount', 14, 3, 'gfx125', 'gfx125'],
  ['enableDynamicVgpr', 17, 1, 'gfx125', 'gfx125'],
  ['tcpSplit', 18, 3, 'gfx125', 'gfx125'],
  ['enableDidtThrottle', 21, 1, 'gfx125', 'gfx125'],
  ['imageOp', 31, 1, 'gfx11'],
];

export const PROPERTIES_ROWS: readonly FieldRow<KernelCodeProperties>[] = [
  ['enableSgprPrivateSegmentBuffer', 0, 1],
  ['enableSgprDispatchPtr', 1, 1],
  ['enableSgprQueuePtr', 2, 1],
  ['enableSgprKernargSegmentPtr', 3, 1],
  ['enableSgprDispatchId', 4, 1],
  ['enableSgprFlatScratchInit', 5, 1],
  ['enableSgprPrivateSegmentSize', 6, 1],
  ['enableWavefrontSize32', 10, 1],
  ['usesDynamicStack', 11, 1],
];
