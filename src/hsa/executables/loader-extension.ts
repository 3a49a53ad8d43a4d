/** The AMD loader extension (hsa_ven_amd_loader_1_03_pfn_t): what is loaded where. */

import { hex } from '../../base/text.ts';
import { HsaError } from '../objects/status.ts';
import type { Executable } from './executable.ts';
import type { LoadedSegment } from './loaded-code-object.ts';

/** hsa_ven_amd_loader_segment_descriptor_t. */
export interface SegmentDescriptor extends LoadedSegment {
  readonly executable: Executable;
}

export class LoaderExtension {
  readonly #executables: () => readonly Executable[];

  /** Use `Runtime.loader`. `executables`: those that are not disposed; throws NOT_INITIALIZED. */
  constructor(executables: () => readonly Executable[]) {
    this.#executables = executables;
  }

  /** hsa_ven_amd_loader_iterate_executables; `Executable.loadedCodeObjects` has what is loaded in each. */
  get executables(): readonly Executable[] {
    return this.#executables();
  }

  /**
   * The executable that loaded code or data at `address` (hsa_ven_amd_loader_query_executable). Throws
   * INVALID_ARGUMENT.
   */
  queryExecutable(address: bigint): Executable {
    return this.#segmentAt(address).executable;
  }

  /**
   * The host's bytes of a loaded address, up to the end of its segment
   * (hsa_ven_amd_loader_query_host_address). They are what the device uses. Throws INVALID_ARGUMENT for an
   * address where no code object is loaded.
   */
  queryHostAddress(address: bigint): Uint8Array<SharedArrayBuffer> {
    const segment = this.#segmentAt(address);
    const sizeBytes = Number(segment.address + BigInt(segment.sizeBytes) - address);
    return segment.agent.requireDevice().memory.view(address, sizeBytes);
  }

  /** Segments of all loaded code objects (hsa_ven_amd_loader_query_segment_descriptors). */
  querySegmentDescriptors(): readonly SegmentDescriptor[] {
    return this.executables.flatMap((executable) =>
      executable.loadedCodeObjects.flatMap((each) => each.segments().map((segment) => ({ ...segment, executable }))),
    );
  }

  #segmentAt(address: bigint): SegmentDescriptor {
    const found = this.querySegmentDescriptors().find(
      (segment) => address >= segment.address && address < segment.address + BigInt(segment.sizeBytes),
    );
    if (found !== undefined) return found;
    throw new HsaError('INVALID_ARGUMENT', `no code object is loaded at ${hex(address)}`);
  }
}
