/** Queues of drivers that execute command buffers themselves. */
import type { QueueBackend } from '../backend/backend.ts';
import type { DeviceOrder } from '../backend/order.ts';
import type { HalEvent } from '../core/hal-event.ts';
import type { OperationInfo } from '../core/status.ts';
import type { CommandBuffer } from './command-buffer.ts';
import type { BoundTable } from './resolve.ts';

/** One execution of a command buffer. */
export interface Execution {
  readonly info: OperationInfo;
  /** Calls back at the device's next turn. */
  readonly post: (callback: () => void) => void;
  /** Calls back at a turn of the device, when an event that is not set is. */
  readonly whenSet: (event: HalEvent, callback: () => void) => void;
  /** Called once, when all commands have ended or one failed. */
  readonly done: (error?: unknown) => void;
  /** What the queue has to wait for. */
  readonly order?: DeviceOrder | undefined;
}

export interface ProgramBackend extends QueueBackend {
  /** What it throws fails the execution. */
  execute(commands: CommandBuffer, table: BoundTable, execution: Execution): void;
}

export const executesPrograms = (backend: QueueBackend): backend is ProgramBackend => 'execute' in backend;
