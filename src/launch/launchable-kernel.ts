/** What the preparation of a launch asks of a kernel, wherever it was loaded. */
import type { KernelMetadata } from '../codeobject/metadata.ts';

export interface LaunchableKernel {
  /** That of its symbol: it may end in `.kd`. */
  readonly name: string;
  readonly kernargSegmentSizeBytes: number;
  /** Its own, without what a launch adds. */
  readonly groupSegmentSizeBytes: number;
  /** Of a lane, as far as it is known. */
  readonly privateSegmentSizeBytes: number;
  /** More may be needed: recursion, calls through pointers, allocations of unknown size. */
  readonly dynamicCallstack: boolean;
  /** Absent for a kernel that the code object's metadata does not list. */
  readonly metadata: KernelMetadata | undefined;
}
