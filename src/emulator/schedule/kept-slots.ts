/**
 * Slots whose dispatch is over, for the next dispatch of the same kernel: where short kernels follow each
 * other, allocating and describing a slot takes longer than a workgroup runs.
 */
import type { EmulatorCore } from '../code/emulator-core.ts';
import type { Launch } from '../machine/launch.ts';
import { WorkgroupSlot } from './workgroup.ts';

/** A thread keeps slots whose dispatches follow each other. */
export type SchedulingCore = EmulatorCore & { readonly keptSlots?: KeptSlots };

/** A few kernels take turns. */
const MAX_SLOTS = 4;

export class KeptSlots {
  /** The last one last. */
  readonly #slots: WorkgroupSlot[] = [];

  take(launch: Launch): WorkgroupSlot | undefined {
    const index = this.#slots.findLastIndex((slot) => slot.fits(launch));
    if (index < 0) return undefined;
    const slot = this.#slots.splice(index, 1)[0]!;
    slot.renew();
    return slot;
  }

  /** Keeps a slot without waves, or releases it: no memory of the device stays taken behind a dispatch. */
  keep(slot: WorkgroupSlot): void {
    if (!slot.isKeepable) {
      slot.release();
      return;
    }
    this.#slots.push(slot);
    if (this.#slots.length > MAX_SLOTS) this.#slots.shift()!.release();
  }

  clear(): void {
    for (const slot of this.#slots.splice(0)) slot.release();
  }
}

/** One that was kept, or a new one. */
export const takeSlot = (core: SchedulingCore, launch: Launch): WorkgroupSlot =>
  core.keptSlots?.take(launch) ?? new WorkgroupSlot(core, launch);

/** Of a dispatch that is over, one whose workgroups have ended. */
export function leaveSlot({ keptSlots }: SchedulingCore, slot: WorkgroupSlot): void {
  if (keptSlots) keptSlots.keep(slot);
  else slot.release();
}
