/**
 * Private memory of a work-item: what a launch asks for (`askedPrivateBytes`, which `prepareLaunch` uses),
 * and what its dispatch gets (`grantedPrivateBytes`, which the packet processor uses; whoever launches on a
 * device without a queue uses it, too). Compilers know the stack of a kernel only where they saw all that it
 * calls.
 */
import type { LaunchableKernel } from './launchable-kernel.ts';

/** The stack that a lane gets for a call whose needs are not known; LLVM assumes the same amount. */
export const UNKNOWN_STACK_BYTES = 16_384;

/**
 * Which kernels get the stack that a launch names: `all`; `with-stack`, those that have private memory or a
 * stack of unknown size; `unknown`, those whose stack is not known.
 */
export type StackUsers = 'all' | 'with-stack' | 'unknown';

export interface StackRequest {
  /**
   * Private memory of a work-item, where it needs more than is known. Default: 16,384 where it cannot be seen
   * how much the calls need.
   */
  readonly stackSizeBytes?: number | undefined;
  /** Default `all`. */
  readonly stackUsers?: StackUsers;
}

/** What a launch asks for: at least what is known of the kernel. */
export function askedPrivateBytes(
  kernel: LaunchableKernel,
  { stackSizeBytes = 0, stackUsers = 'all' }: StackRequest,
): number {
  const known = kernel.privateSegmentSizeBytes;
  const isUser = stackUsers === 'all' || kernel.dynamicCallstack || (stackUsers === 'with-stack' && known > 0);
  return Math.max(known, isUser ? stackSizeBytes : 0);
}

/** What the code of a kernel needs with all that it is known to call. */
interface StackNeeds {
  readonly privateSegmentSizeBytes: number;
  readonly isStackKnown: boolean;
  readonly directCallees: readonly string[];
}

/**
 * What a dispatch gets whose packet asks for `packetBytes`: enough for what is called. A packet that asks for
 * more than is known to be needed has chosen its own stack.
 */
export function grantedPrivateBytes(
  kernel: Pick<LaunchableKernel, 'privateSegmentSizeBytes' | 'dynamicCallstack'> & {
    readonly needs: StackNeeds | undefined;
  },
  packetBytes: number,
): number {
  const known = kernel.privateSegmentSizeBytes;
  if (packetBytes > known || !kernel.dynamicCallstack) return Math.max(packetBytes, known);
  // Also where nothing else is loaded: a linker may have put what the compiler did not see into the same
  // file.
  const { needs } = kernel;
  const isKnown = needs?.isStackKnown === true && needs.directCallees.length > 0;
  return Math.max(known, needs?.privateSegmentSizeBytes ?? 0) + (isKnown ? 0 : UNKNOWN_STACK_BYTES);
}
