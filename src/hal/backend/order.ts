/**
 * Order that a device keeps itself: an operation goes to its queue while what it waits for still runs, and
 * the queue holds it back. Drivers whose queues cannot do so leave all waits to the host (`Scheduler`).
 */
import type { SignalSource } from '../core/pending-signals.ts';
import type { HalError, OperationInfo } from '../core/status.ts';
import type { CommandDone, QueueBackend } from './backend.ts';
import type { BackendCommand } from './command.ts';

/**
 * How the waits of an operation were resolved (IREE's dependency strategies): there were none; all were over,
 * or earlier work of its queue stands before it; packets wait for what other queues do; the host waited.
 */
export const WAIT_STRATEGIES = ['none', 'inline', 'barrier', 'barrier-value', 'defer'] as const;
export type WaitStrategy = (typeof WAIT_STRATEGIES)[number];

/** An operation for the queue that orders it. */
export interface DeviceOrder {
  /** What must be over before it begins. */
  readonly sources: readonly SignalSource[];
  /** Why that is not going to happen, as soon as it is known: the operation must not run then. */
  readonly failure: HalError | undefined;
  /** It is in the queue, and `source` is its end. */
  issued(source: SignalSource): void;
}

/** What an operation is for a queue that may hold it back. */
export type DeviceOperation = 'dispatch' | 'execute' | 'transfer' | 'barrier';

export interface OrderedBackend extends QueueBackend {
  /** Packets by which it waited for other queues so far. */
  readonly waitPacketCount: number;
  /** Whether such operations go to the device, so that it can order them. */
  orders(operation: DeviceOperation): boolean;
  /** How the queue would wait for `sources`; undefined: it cannot, and the host waits. */
  resolveWaits(sources: readonly SignalSource[]): WaitStrategy | undefined;
  begin(command: BackendCommand, operation: OperationInfo, done: CommandDone, order?: DeviceOrder): void;
  /** `done` is called when all that `order` names is over. */
  barrier(order: DeviceOrder, operation: OperationInfo, done: CommandDone): void;
}

export const ordersOnDevice = (backend: QueueBackend): backend is OrderedBackend => 'resolveWaits' in backend;
