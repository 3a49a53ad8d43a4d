/** What was counted of the instructions of kernels since the last flush of a session. */
import { addPcCount, type PcCount } from '../../device/statistics.ts';
import type { DispatchTimes } from '../backend/backend.ts';
import type { ExecutableExport, KernelCode } from '../executables/executable.ts';

/** Of all dispatches of a kernel on a physical device. */
export interface CountedKernel {
  readonly entry: ExecutableExport;
  readonly deviceOrdinal: number;
  readonly dispatchCount: number;
  readonly waveCount: number;
  readonly code: KernelCode;
  /** By where the instruction was loaded to. */
  readonly byPc: ReadonlyMap<bigint, PcCount>;
}

interface Open extends CountedKernel {
  dispatchCount: number;
  waveCount: number;
  readonly byPc: Map<bigint, PcCount>;
}

export class InstructionTally {
  /** By the export, then by the device. */
  #open = new Map<ExecutableExport, Open[]>();

  /** Adds a dispatch that counted its instructions; its code stays until `take` gives it up. */
  add({ kernel: { entry }, deviceOrdinal, instructions }: DispatchTimes): void {
    const { executable, ordinal } = entry;
    const code = instructions && executable.code.kernelCode?.(ordinal, deviceOrdinal);
    if (!code) return;
    let own = this.#open.get(entry)?.find((each) => each.deviceOrdinal === deviceOrdinal);
    if (own === undefined) {
      executable.retain();
      own = { entry, deviceOrdinal, dispatchCount: 0, waveCount: 0, code, byPc: new Map() };
      this.#open.set(entry, [...(this.#open.get(entry) ?? []), own]);
    }
    own.dispatchCount++;
    own.waveCount += instructions.waveCount;
    for (const [pc, count] of instructions.byPc) own.byPc.set(pc, addPcCount(own.byPc.get(pc), count));
  }

  /** In the order in which they first ended. Whoever takes them releases their executables. */
  take(): CountedKernel[] {
    const taken = [...this.#open.values()].flat();
    this.#open = new Map();
    return taken;
  }
}
