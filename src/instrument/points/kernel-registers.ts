/** What kernels are launched with, and how much more they may be given. */
import { alignUp } from '../../base/align.ts';
import type { CodeObject, Kernel } from '../../codeobject/code-object.ts';
import {
  type KernelDescriptor,
  SGPR_ALLOCATION_GRANULE,
  scalarRegisterCount,
  vectorRegisterCount,
} from '../../codeobject/kernel-descriptor.ts';
import { maxWorkgroupSizeByVgprs, occupancyOf } from '../../codeobject/occupancy.ts';
import type { RegisterFile } from '../../ir/effects.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { mostRegisters } from '../../lift/register-limits.ts';
import type { StackStart } from '../kernel/stack-start.ts';

export type Files<T> = Readonly<Record<RegisterFile, T>>;
export const files = <T>(of: (file: RegisterFile) => T): Files<T> => ({
  ...{ scalar: of('scalar'), vector: of('vector'), accumulator: of('accumulator') },
});

/** On the gfx90a family accumulation registers begin at a multiple of it. */
const ACCUMULATOR_GRANULE = 4;

/** What a kernel is launched with. */
export interface KernelRegisters {
  readonly kernel: Kernel;
  readonly granted: Files<number>;
  /** As many waves of a SIMD as before run at the same time with so many registers. */
  readonly growable: Files<number>;
  /** With so many registers the largest workgroup that the kernel allows still fits. */
  readonly most: Files<number>;
  /**
   * Waves of a SIMD with so many registers, of accumulation registers as it is launched by default; undefined
   * where it is not known.
   */
  readonly occupancy: (vector: number, scalar: number, accumulator?: number) => number | undefined;
  /** From here on no code that the kernel reaches uses any. */
  readonly used: Files<number>;
  /** Whether that code may write FLAT_SCRATCH. */
  readonly writesFlatScratch: boolean;
  /** Where its stack begins; undefined where that is not seen. */
  readonly stackStart: () => StackStart | undefined;
}

export function launchedWith({ target: { processor } }: CodeObject, { descriptor, metadata }: Kernel) {
  const most = mostRegisters(processor);
  const total = vectorRegisterCount(descriptor);
  const hasAccumulators = descriptor.family === 'gfx90a';
  const accumulatorStart = hasAccumulators
    ? Math.min(((descriptor.rsrc3.accumOffset ?? 0) + 1) * ACCUMULATOR_GRANULE, total)
    : total;
  const isFixedSize = targetFor(processor).families.includes('gfx10');
  const specials = most.specialSgprCount;
  const scalars = isFixedSize
    ? most.sgprCount
    : Math.min(most.sgprCount, alignUp(scalarRegisterCount(descriptor), SGPR_ALLOCATION_GRANULE) - specials);
  const granted: Files<number> = {
    scalar: Math.max(scalars, 0),
    vector: Math.min(accumulatorStart, most.vgprCount),
    accumulator: hasAccumulators ? Math.min(total - accumulatorStart, most.agprCount) : most.agprCount && total,
  };
  const shape = shapeOf(descriptor, metadata?.maxFlatWorkgroupSize);
  const behind = hasAccumulators ? granted.accumulator : 0;
  const occupancy = (vector: number, scalar: number, accumulator = behind) => {
    const vgprs = Math.max(total, alignUp(vector, ACCUMULATOR_GRANULE) + Math.max(behind, accumulator));
    return occupancyOf({ processor, vgprs, sgprs: scalar + specials, ...shape })?.waves;
  };
  const before = occupancy(granted.vector, granted.scalar);
  const keeps = (vector: number, scalar: number): boolean =>
    before !== undefined && (occupancy(vector, scalar) ?? 0) >= before;
  const grow = (from: number, to: number, fits: (count: number) => boolean): number => {
    let count = from;
    while (count < to && fits(count + 1)) count++;
    return count;
  };
  // Where both files of vectors are one, accumulation registers have what others cannot have.
  const growAccumulators = (fits: (count: number) => boolean): number =>
    hasAccumulators ? grow(granted.accumulator, most.agprCount, fits) : granted.accumulator;
  const vector = grow(granted.vector, most.vgprCount, (count) => keeps(count, granted.scalar));
  const growable: Files<number> = {
    scalar: grow(granted.scalar, most.sgprCount, (count) => keeps(granted.vector, count)),
    vector,
    accumulator: growAccumulators(
      (count) => before !== undefined && (occupancy(vector, granted.scalar, count) ?? 0) >= before,
    ),
  };
  const { wavefrontSize, workgroupSize } = shape;
  const fits = (count: number, accumulators = behind): boolean => {
    const vgprs = alignUp(count, ACCUMULATOR_GRANULE) + accumulators;
    return (maxWorkgroupSizeByVgprs({ processor, vgprs, wavefrontSize }) ?? 0) >= workgroupSize;
  };
  const largestVector = grow(growable.vector, most.vgprCount, fits);
  const largest: Files<number> = {
    scalar: Math.max(growable.scalar, before === undefined ? 0 : most.sgprCount),
    vector: largestVector,
    accumulator: Math.max(
      growable.accumulator,
      growAccumulators((count) => fits(largestVector, count)),
    ),
  };
  return { granted, growable, most: largest, occupancy };
}

/** What occupancy depends on besides registers. */
function shapeOf(descriptor: KernelDescriptor, workgroupSize = 1024) {
  return {
    ldsSizeBytes: descriptor.groupSegmentFixedSizeBytes,
    wavefrontSize: descriptor.properties.enableWavefrontSize32 ? 32 : 64,
    workgroupSize,
  } as const;
}
