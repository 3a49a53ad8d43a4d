import { type KernelDescriptor, scalarRegisterCount, vectorRegisterCount } from '../codeobject/kernel-descriptor.ts';
import type { KernelSymbol } from '../hsa/executable-symbol.ts';
import { kernelName } from './launch.ts';

/** What a kernel takes, by its metadata or, where that is silent, by its descriptor. */
export interface KernelResources {
  readonly kernel: string;
  readonly vgprs: number;
  /** Accumulation VGPRs, 0 on targets without. */
  readonly agprs: number;
  readonly sgprs: number;
  readonly ldsSizeBytes: number;
  /** Of a work-item, as it is dispatched. */
  readonly scratchSizeBytes: number;
  /** The scratch is a limit that was chosen, because the compiler could not know the size of the stack. */
  readonly hasDynamicStack: boolean;
  readonly kernargSizeBytes: number;
  readonly wavefrontSize: 32 | 64;
}

export function kernelResources(
  kernel: KernelSymbol,
  descriptor: KernelDescriptor,
  scratchSizeBytes: number,
): KernelResources {
  return {
    kernel: kernelName(kernel),
    vgprs: kernel.metadata?.vgprCount ?? vectorRegisterCount(descriptor),
    agprs: kernel.metadata?.agprCount ?? 0,
    sgprs: kernel.metadata?.sgprCount ?? scalarRegisterCount(descriptor),
    ldsSizeBytes: kernel.groupSegmentSizeBytes,
    scratchSizeBytes,
    hasDynamicStack: kernel.dynamicCallstack,
    kernargSizeBytes: kernel.kernargSegmentSizeBytes,
    wavefrontSize: kernel.wavefrontSize,
  };
}

/** One line for people. */
export function formatResources(resources: KernelResources): string {
  const { kernel, vgprs, agprs, sgprs, ldsSizeBytes, scratchSizeBytes, kernargSizeBytes, wavefrontSize } = resources;
  const stack = resources.hasDynamicStack ? ' (dynamic stack)' : '';
  return [
    `${kernel}: ${vgprs} VGPRs`,
    `${agprs} AGPRs`,
    `${sgprs} SGPRs`,
    `LDS ${ldsSizeBytes} bytes`,
    `scratch ${scratchSizeBytes} bytes per work-item${stack}`,
    `kernarg ${kernargSizeBytes} bytes`,
    `wave${wavefrontSize}`,
  ].join(', ');
}
