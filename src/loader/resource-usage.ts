import { kernelName } from '../codeobject/kernel-name.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';

/** What a kernel takes, by its metadata or, where that is silent, by its descriptor. */
export interface KernelResources {
  readonly kernel: string;
  /** Whether it is PTX, whose registers are all counted as VGPRs. */
  readonly isPtx: boolean;
  /** With the accumulation VGPRs, where these come from the same register file. */
  readonly vgprs: number;
  /** Accumulation VGPRs, 0 on targets without. */
  readonly agprs: number;
  readonly sgprs: number;
  readonly ldsSizeBytes: number;
  /** The private memory that a work-item is dispatched with. */
  readonly scratchSizeBytes: number;
  /** The scratch is a limit that was chosen, because the compiler could not know the size of the stack. */
  readonly hasDynamicStack: boolean;
  readonly kernargSizeBytes: number;
  readonly wavefrontSize: 32 | 64;
  /** Waves that a SIMD holds at once; `undefined` where that is not known. */
  readonly wavesPerSimd: number | undefined;
}

/** How a kernel is dispatched. */
export interface DispatchShape {
  readonly scratchSizeBytes: number;
  /** Work-items of a workgroup. */
  readonly workgroupSize: number;
}

export function kernelResources(
  kernel: KernelSymbol,
  { scratchSizeBytes, workgroupSize }: DispatchShape,
): KernelResources {
  const ldsSizeBytes = kernel.groupSegmentSizeBytes;
  return {
    ...kernel.registerCounts,
    ...{ ldsSizeBytes, wavefrontSize: kernel.wavefrontSize },
    ...{ kernel: kernelName(kernel), isPtx: false },
    agprs: kernel.metadata?.agprCount ?? 0,
    scratchSizeBytes,
    hasDynamicStack: kernel.dynamicCallstack,
    kernargSizeBytes: kernel.kernargSegmentSizeBytes,
    wavesPerSimd: kernel.occupancy(workgroupSize, ldsSizeBytes)?.waves,
  };
}

/** One line for people. */
export function formatResources(resources: KernelResources): string {
  const { kernel, vgprs, agprs, sgprs, ldsSizeBytes, scratchSizeBytes, kernargSizeBytes, wavefrontSize } = resources;
  const stack = resources.hasDynamicStack ? ' (dynamic stack)' : '';
  if (resources.isPtx) {
    const parts = [`shared ${ldsSizeBytes} bytes`, `local ${scratchSizeBytes} bytes per thread${stack}`];
    return [`${kernel}: ${vgprs} registers`, ...parts, `parameters ${kernargSizeBytes} bytes`].join(', ');
  }
  return [
    `${kernel}: ${vgprs} VGPRs`,
    `${agprs} AGPRs`,
    `${sgprs} SGPRs`,
    `LDS ${ldsSizeBytes} bytes`,
    `scratch ${scratchSizeBytes} bytes per work-item${stack}`,
    `kernarg ${kernargSizeBytes} bytes`,
    `wave${wavefrontSize}`,
    ...(resources.wavesPerSimd === undefined ? [] : [`occupancy ${resources.wavesPerSimd} waves/SIMD`]),
  ].join(', ');
}
