/** A kernel of a loaded code object: what its descriptor and metadata say, and what linking makes of it. */
import { alignUp } from '../../base/align.ts';
import type { Kernel } from '../../codeobject/code-object.ts';
import {
  SGPR_ALLOCATION_GRANULE,
  scalarRegisterCount,
  vectorRegisterCount,
  wavefrontSize,
} from '../../codeobject/kernel-descriptor.ts';
import type { KernelMetadata } from '../../codeobject/metadata.ts';
import { maxWorkgroupSizeByVgprs, type Occupancy, occupancyOf } from '../../codeobject/occupancy.ts';
import type { LaunchableKernel } from '../../launch/launchable-kernel.ts';
import { grantedPrivateBytes } from '../../launch/private-memory.ts';
import type { CallGraph, CodeNeeds } from '../../lift/call-graph.ts';
import type { ResidentKernel } from '../objects/resident-code.ts';
import { LoadedSymbol, type SymbolOrigin } from './loaded-symbol.ts';

export class KernelSymbol extends LoadedSymbol implements ResidentKernel, LaunchableKernel {
  readonly kind = 'kernel';
  readonly kernargSegmentSizeBytes: number;
  readonly kernargSegmentAlignmentBytes: number;
  readonly groupSegmentSizeBytes: number;
  readonly wavefrontSize: 32 | 64;
  /** Absent for a kernel that the code object's metadata does not list. */
  readonly metadata: KernelMetadata | undefined;
  /** What the registers of a compute unit are enough for; undefined where that is not known. */
  readonly maxWorkgroupSize: number | undefined;
  readonly #kernel: Kernel;
  #isLinked = false;

  constructor(origin: SymbolOrigin, kernel: Kernel) {
    super(origin);
    const { descriptor, metadata } = kernel;
    this.kernargSegmentSizeBytes = metadata?.kernargSegmentSizeBytes ?? descriptor.kernargSizeBytes;
    this.kernargSegmentAlignmentBytes = Math.max(metadata?.kernargSegmentAlignmentBytes ?? 0, 16);
    const { groupSegmentFixedSizeBytes } = descriptor;
    // The device gives what the descriptor asks for, whatever the metadata says.
    this.groupSegmentSizeBytes = Math.max(groupSegmentFixedSizeBytes, metadata?.groupSegmentFixedSizeBytes ?? 0);
    this.wavefrontSize = wavefrontSize(descriptor);
    this.metadata = metadata;
    this.maxWorkgroupSize = maxWorkgroupSizeByVgprs({
      processor: this.agent.name,
      vgprs: vectorRegisterCount(descriptor),
      wavefrontSize: this.wavefrontSize,
    });
    this.#kernel = kernel;
  }

  override link(graph: CallGraph, isLinked: boolean): void {
    super.link(graph, isLinked);
    this.#isLinked = isLinked;
  }

  /** What a dispatch packet names: the address of the kernel descriptor. */
  get kernelObject(): bigint {
    return this.address;
  }

  /**
   * Registers, stack and callees over all that the kernel reaches; read from the code on first use, undefined
   * before freezing.
   */
  get needs(): CodeNeeds | undefined {
    return this.graph?.needsOf(this.address + this.#kernel.descriptor.kernelCodeEntryByteOffset);
  }

  /**
   * Of a lane: the compiler's fixed size, once frozen at least what the functions of other code objects need
   * that it calls.
   */
  get privateSegmentSizeBytes(): number {
    return Math.max(this.#fixedPrivateBytes, this.#linkedNeeds?.privateSegmentSizeBytes ?? 0);
  }

  /** More may be needed: recursion, calls through pointers, allocations of unknown size. */
  get dynamicCallstack(): boolean {
    const { descriptor, metadata } = this.#kernel;
    const compiled = metadata?.usesDynamicStack ?? descriptor.properties.usesDynamicStack;
    const needs = this.#linkedNeeds;
    if (needs === undefined) return compiled;
    return needs.directCallees.length === 0 && !needs.hasIndirectCalls ? compiled : !needs.isStackKnown;
  }

  privateBytesFor(packetBytes: number): number {
    return grantedPrivateBytes(this, packetBytes);
  }

  /** By its metadata or, where that is silent, by its descriptor; VGPRs of both kinds that share a file. */
  get registerCounts(): { readonly vgprs: number; readonly sgprs: number } {
    const { descriptor, metadata } = this.#kernel;
    return {
      vgprs: metadata?.vgprCount ?? vectorRegisterCount(descriptor),
      sgprs: metadata?.sgprCount ?? scalarRegisterCount(descriptor),
    };
  }

  occupancy(workgroupSize: number, ldsSizeBytes: number): Occupancy | undefined {
    const { wavefrontSize, registerCounts } = this;
    const processor = this.agent.name;
    return occupancyOf({ ...registerCounts, processor, wavefrontSize, workgroupSize, ldsSizeBytes });
  }

  /**
   * Why the kernel would fail on hardware as it is linked here, where a packet gets the registers and the
   * memory that the descriptor asks for; empty when nothing is known against it.
   */
  get hardwareProblems(): readonly string[] {
    const { needs } = this;
    if (needs === undefined || this.#isComplete) return [];
    const { descriptor } = this.#kernel;
    const registers = vectorRegisterCount(descriptor);
    const accumulatorStart = descriptor.family === 'gfx90a' ? ((descriptor.rsrc3.accumOffset ?? 0) + 1) * 4 : registers;
    const problems: string[] = [];
    const check = (what: string, needed: number, present: number, granule = 1): void => {
      if (needed > alignUp(present, granule))
        problems.push(`needs ${needed} ${what}, its descriptor asks for ${present}`);
    };
    check('VGPRs', needs.vgprCount, Math.min(registers, accumulatorStart));
    check('AGPRs', needs.agprCount, descriptor.family === 'gfx90a' ? registers - accumulatorStart : registers);
    const sgprCount = needs.sgprCount + needs.specialSgprCount;
    check('SGPRs', sgprCount, scalarRegisterCount(descriptor), SGPR_ALLOCATION_GRANULE);
    if (!needs.isReadable) problems.push('reaches code that cannot be read, which may use any register and any stack');
    if (needs.isStackKnown) {
      check('bytes of private memory', needs.privateSegmentSizeBytes, this.#fixedPrivateBytes);
    } else if (needs.directCallees.length > 0 || needs.hasIndirectCalls) {
      const why = needs.isRecursive
        ? 'recursion'
        : needs.hasIndirectCalls
          ? 'an indirect call'
          : 'a frame of unknown size';
      problems.push(
        `needs private memory of unknown size (${why}), at least ${needs.privateSegmentSizeBytes} bytes; its descriptor asks for ${this.#fixedPrivateBytes}`,
      );
    }
    return problems;
  }

  get #fixedPrivateBytes(): number {
    const { descriptor, metadata } = this.#kernel;
    return Math.max(descriptor.privateSegmentFixedSizeBytes, metadata?.privateSegmentFixedSizeBytes ?? 0);
  }

  /** The compiler saw all that the kernel calls: what it says is right. */
  get #isComplete(): boolean {
    return this.#kernel.metadata?.usesDynamicStack === false;
  }

  /** The needs, where the kernel may call other code objects and the compiler could not know all. */
  get #linkedNeeds(): CodeNeeds | undefined {
    return this.#isLinked && !this.#isComplete ? this.needs : undefined;
  }
}
