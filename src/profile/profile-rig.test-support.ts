/** Files in memory, and kernels to fill them. */
import { assembledImage, kernelSource } from '../bench/assembled-kernel.ts';
import type { BundleTarget } from './format/bundle.ts';

export class MemoryTarget implements BundleTarget {
  readonly #parts: Uint8Array[] = [];
  append(bytes: Uint8Array): void {
    this.#parts.push(bytes);
  }
  restart(bytes: Uint8Array): void {
    this.#parts[0] = bytes;
  }
  get bytes(): Uint8Array {
    return new Uint8Array(Buffer.concat(this.#parts));
  }
}

export interface KernelShape {
  readonly ldsSizeBytes?: number;
  /** A buffer, whose address is in the memory that s[0:1] points to. */
  readonly hasBuffer?: boolean;
}

const KERNARGS = ' .amdhsa_user_sgpr_kernarg_segment_ptr 1\n';
const BUFFER = `
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global`;

const metadata = (name: string, { ldsSizeBytes = 0, hasBuffer = false }: KernelShape): string => `.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: ${name}
    .symbol: ${name}.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 4
    .group_segment_fixed_size: ${ldsSizeBytes}
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 32
    .max_flat_workgroup_size: 256${hasBuffer ? BUFFER : ''}
...
.end_amdgpu_metadata
`;

/** A kernel for gfx90a without arguments; s_endpgm follows the text. */
export const kernelImage = (name: string, text: string, shape: KernelShape = {}): Uint8Array =>
  assembledImage(kernelSource(name, text, shape.hasBuffer ? KERNARGS : '') + metadata(name, shape), name).bytes;
