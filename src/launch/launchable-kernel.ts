/** What the preparation of a launch asks of a kernel, wherever it was loaded. */
import type { KernelMetadata } from '../codeobject/metadata.ts';

export interface LaunchableKernel {
  /** The name of its symbol, which may end in `.kd`. */
  readonly name: string;
  readonly kernargSegmentSizeBytes: number;
  /** The group memory that the kernel itself asks for, without what a launch adds. */
  readonly groupSegmentSizeBytes: number;
  /** Private memory of a lane, as far as it is known. */
  readonly privateSegmentSizeBytes: number;
  /**
   * Whether more private memory may be needed: recursion, calls through pointers, allocations of unknown
   * size.
   */
  readonly dynamicCallstack: boolean;
  /** Absent for a kernel that the code object's metadata does not list. */
  readonly metadata: KernelMetadata | undefined;
}
