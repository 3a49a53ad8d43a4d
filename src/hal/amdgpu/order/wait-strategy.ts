/** How queues of a GPU wait for each other: what a device parameter asks for, and what the GPU can do. */
import type { WaitStrategy } from '../../backend/order.ts';
import { HalError } from '../../core/status.ts';

export const WAIT_PARAMETER = ['auto', 'barrier-value', 'barrier', 'defer'] as const;
export type WaitParameter = (typeof WAIT_PARAMETER)[number];

/** Between queues. */
export type CrossQueueStrategy = Extract<WaitStrategy, 'barrier' | 'barrier-value' | 'defer'>;

/**
 * Processors whose packet processor takes AMD's barrier-value packets, and those that wait for values by PM4
 * packets in IREE's driver (vendor packet capabilities); others leave waits between queues to the host there.
 */
const BARRIER_VALUE = /^gfx(?:90a|94[0-2]|950)$/;
const WAIT_REGISTER = /^gfx1100$/;

/**
 * `auto` is what IREE's driver does, with barrier-AND packets in place of PM4's. Throws INCOMPATIBLE for what
 * the processor has not.
 */
export function crossQueueStrategy(parameter: WaitParameter, processor: string): CrossQueueStrategy {
  const hasBarrierValue = BARRIER_VALUE.test(processor);
  if (parameter === 'auto') {
    if (hasBarrierValue) return 'barrier-value';
    return WAIT_REGISTER.test(processor) ? 'barrier' : 'defer';
  }
  if (parameter === 'barrier-value' && !hasBarrierValue) {
    throw new HalError('INCOMPATIBLE', `amdgpu parameter waits=${parameter}: ${processor} has no such packets`, {
      hint: 'waits=barrier works on every GPU',
    });
  }
  return parameter;
}
