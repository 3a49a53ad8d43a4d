import type { Device } from '../../device/device.ts';
import type { Findings } from './check-option.ts';

/** How a command opens its device. */
export interface DeviceOptions {
  /** Of an emulated device; default: all that it can have. */
  readonly memorySizeBytes?: number | undefined;
  /** Of an emulated device. */
  readonly workers?: number | undefined;
  /** Whether an emulated device counts instructions by class. */
  readonly countsClasses?: boolean;
  /** Whether an emulated device counts executions of each instruction. */
  readonly countsPcs?: boolean;
  /** Whether it counts what lanes access, too. */
  readonly countsAccesses?: boolean;
  /** Whether it traces waves. */
  readonly tracesWaves?: boolean;
  /** What an emulated device checks, and who is told. */
  readonly findings?: Findings | undefined;
  /** A device that is open already, and is returned when it is the same. */
  readonly open?: Device | undefined;
}
