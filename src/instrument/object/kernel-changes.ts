/** What rewriting changes of a kernel besides its code: its descriptor, and what the metadata say of it. */
import { decode, encode } from '@msgpack/msgpack';
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import type { Kernel } from '../../codeobject/code-object.ts';
import {
  type KernelDescriptor,
  registerGranule,
  SGPR_ENCODING_GRANULE,
  vectorRegisterCount,
} from '../../codeobject/kernel-descriptor.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';

/** What is not named stays as it was. Counts of registers are those that are needed: they never shrink. */
export interface KernelChanges {
  /** VGPRs of a lane, without accumulation registers. */
  readonly vgprCount?: number;
  /** Accumulation registers of a lane (gfx908, gfx90a and their kin). */
  readonly agprCount?: number;
  /** SGPRs that code names by number. */
  readonly sgprCount?: number;
  /** Of a lane. */
  readonly privateSegmentSizeBytes?: number;
  readonly groupSegmentSizeBytes?: number;
  readonly kernargSizeBytes?: number;
  readonly kernargPreload?: KernelDescriptor['kernargPreload'];
  /**
   * Single fields: which values the hardware puts into registers before the first instruction, and how
   * many.
   */
  readonly properties?: Partial<KernelDescriptor['properties']>;
  readonly rsrc2?: Partial<KernelDescriptor['rsrc2']>;
}

/**
 * VCC, FLAT_SCRATCH and XNACK_MASK stand behind the numbered SGPRs up to gfx9 (CDNA2 ISA 3.6.2); then VCC
 * alone.
 */
const [GFX9_EXTRA_SGPRS, VCC_SGPRS] = [6, 2];
const ACCUM_GRANULE = 4;

interface RegisterTotals {
  /** All vector registers of a lane. */
  readonly vector: number;
  readonly accumOffset: number;
  readonly agprs: number;
}

function totalsOf({ descriptor, metadata }: Kernel, changes: KernelChanges, processor: string): RegisterTotals {
  const { unifiedVgprs } = targetFor(processor);
  const { accumOffset: encodedOffset = 0 } = descriptor.rsrc3;
  const oldTotal = vectorRegisterCount(descriptor);
  const oldOffset = (encodedOffset + 1) * ACCUM_GRANULE;
  if (!unifiedVgprs) {
    const { vgprCount = oldTotal, agprCount: agprs = metadata?.agprCount ?? 0 } = changes;
    return { vector: Math.max(vgprCount, agprs, oldTotal), accumOffset: oldOffset, agprs };
  }
  const behind = Math.max(oldTotal - oldOffset, 0);
  // The few that rounding gave to a kernel without accumulation registers are not kept.
  const isRounding = metadata?.agprCount === 0 && behind < registerGranule(descriptor);
  const agprs = Math.max(changes.agprCount ?? 0, isRounding ? 0 : behind);
  const vgprs = Math.max(changes.vgprCount ?? 0, Math.min(oldOffset, oldTotal));
  const accumOffset = alignUp(Math.max(vgprs, 1), ACCUM_GRANULE);
  return { vector: agprs > 0 ? accumOffset + agprs : vgprs, accumOffset, agprs };
}

/** The descriptor with other values. Throws USAGE where one does not fit its bits. */
export function changeDescriptor(kernel: Kernel, changes: KernelChanges, processor: string): KernelDescriptor {
  const { descriptor } = kernel;
  const { rsrc1, rsrc3 } = descriptor;
  const properties = { ...descriptor.properties, ...changes.properties };
  const next: KernelDescriptor = {
    ...descriptor,
    groupSegmentFixedSizeBytes: changes.groupSegmentSizeBytes ?? descriptor.groupSegmentFixedSizeBytes,
    privateSegmentFixedSizeBytes: changes.privateSegmentSizeBytes ?? descriptor.privateSegmentFixedSizeBytes,
    kernargSizeBytes: changes.kernargSizeBytes ?? descriptor.kernargSizeBytes,
    kernargPreload: changes.kernargPreload ?? descriptor.kernargPreload,
    rsrc1: { ...rsrc1 },
    rsrc2: { ...descriptor.rsrc2, ...changes.rsrc2 },
    rsrc3: { ...rsrc3 },
    properties,
  };
  if (changes.vgprCount !== undefined || changes.agprCount !== undefined) {
    const { vector, accumOffset } = totalsOf(kernel, changes, processor);
    next.rsrc1.granulatedWorkitemVgprCount = Math.max(1, Math.ceil(vector / registerGranule(descriptor))) - 1;
    if (targetFor(processor).unifiedVgprs) next.rsrc3.accumOffset = accumOffset / ACCUM_GRANULE - 1;
  }
  if (changes.sgprCount !== undefined && extraSgprs(processor) === GFX9_EXTRA_SGPRS) {
    const sgprs = changes.sgprCount + GFX9_EXTRA_SGPRS;
    const granules = Math.ceil(sgprs / SGPR_ENCODING_GRANULE);
    next.rsrc1.granulatedWavefrontSgprCount = Math.max(rsrc1.granulatedWavefrontSgprCount, granules - 1);
  }
  return next;
}

const extraSgprs = (processor: string): number =>
  targetFor(processor).families.includes('gfx10') ? VCC_SGPRS : GFX9_EXTRA_SGPRS;

/** By the symbols of their descriptors. */
export type ChangedKernels = ReadonlyMap<string, { readonly kernel: Kernel; readonly changes: KernelChanges }>;

/**
 * The metadata with other values for the kernels of these descriptor symbols. `bytes` were read before
 * (`readMetadata`), so they are well formed. Kernels that are not kept are left out.
 */
export function changeMetadata(
  bytes: Uint8Array,
  kernels: ChangedKernels,
  processor: string,
  isKept: (symbol: string) => boolean = () => true,
): Uint8Array {
  const root = decode(bytes, { useBigInt64: true });
  const listed = isMap(root) ? root['amdhsa.kernels'] : undefined;
  if (!isMap(root) || !Array.isArray(listed))
    throw new WavewrightError('BAD_INPUT', 'metadata without a list of kernels');
  const kept = listed.filter((map) => !isMap(map) || isKept(String(map['.symbol'])));
  Object.assign(root, { 'amdhsa.kernels': kept });
  for (const map of kept) {
    if (!isMap(map) || typeof map['.symbol'] !== 'string') continue;
    const found = kernels.get(map['.symbol']);
    if (found) Object.assign(map, changedKeys(found.kernel, found.changes, processor));
  }
  return encode(root, { useBigInt64: true });
}

/** As LLVM counts them: SGPRs with those behind the numbered ones, VGPRs with the accumulation registers. */
function changedKeys(kernel: Kernel, changes: KernelChanges, processor: string): Record<string, number> {
  const { vgprCount, agprCount, sgprCount, privateSegmentSizeBytes, groupSegmentSizeBytes, kernargSizeBytes } = changes;
  const isVector = vgprCount !== undefined || agprCount !== undefined;
  const { vector, agprs } = totalsOf(kernel, changes, processor);
  return {
    ...(isVector && { '.vgpr_count': vector }),
    ...(agprCount !== undefined && { '.agpr_count': agprs }),
    ...(sgprCount !== undefined && { '.sgpr_count': sgprCount + extraSgprs(processor) }),
    ...(privateSegmentSizeBytes !== undefined && { '.private_segment_fixed_size': privateSegmentSizeBytes }),
    ...(groupSegmentSizeBytes !== undefined && { '.group_segment_fixed_size': groupSegmentSizeBytes }),
    ...(kernargSizeBytes !== undefined && { '.kernarg_segment_size': kernargSizeBytes }),
  };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
