/**
 * Command buffers (iree/hal/command_buffer.h): programs of commands that were recorded once and are executed
 * any number of times, with other buffers in their slots each time. Commands between two barriers may run at
 * once, in any order.
 */
import type { FlagSet } from '../core/flag-set.ts';
import type { BufferUsage, CommandBufferMode } from '../core/flags.ts';
import type { HalEvent } from '../core/hal-event.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { type BufferRange, bufferRange, checkUse, type DirectRef } from '../memory/buffer-ref.ts';
import type { Retained } from '../memory/retained.ts';
import type { CheckedDispatch } from './queue-dispatch.ts';

/** A part of the buffer that an execution puts into a slot. */
export interface SlotRange {
  readonly slot: number;
  readonly offsetBytes: number;
  /** Undefined: up to the end of what is in the slot. */
  readonly sizeBytes: number | undefined;
}

/** A buffer that is known when the command is recorded, or when it is executed. */
export type RecordedRef = BufferRange | SlotRange;

export const isSlot = (ref: RecordedRef): ref is SlotRange => 'slot' in ref;

/** One step of a program. Targets of jumps are indices of steps. */
export type RecordedCommand =
  | { readonly kind: 'fill'; readonly target: RecordedRef; readonly pattern: Uint8Array }
  | { readonly kind: 'copy'; readonly source: RecordedRef; readonly target: RecordedRef }
  | { readonly kind: 'update'; readonly target: RecordedRef; readonly contents: Uint8Array }
  | {
      readonly kind: 'dispatch';
      readonly dispatch: CheckedDispatch;
      readonly groups: readonly [number, number, number] | RecordedRef;
      readonly bindings: readonly RecordedRef[];
    }
  | { readonly kind: 'barrier' }
  | { readonly kind: 'jump'; readonly target: number }
  /** Goes on behind it where the 32-bit word of the condition is not 0. */
  | { readonly kind: 'jump-if-zero'; readonly condition: RecordedRef; readonly target: number }
  | { readonly kind: 'execute'; readonly commands: CommandBuffer; readonly bindings: readonly RecordedRef[] }
  | { readonly kind: 'set-event' | 'reset-event'; readonly event: HalEvent }
  | { readonly kind: 'wait-events'; readonly events: readonly HalEvent[] };

/** Something that is wrong with a program, or looks so. */
export interface CommandFinding {
  readonly severity: 'error' | 'warning';
  /** Index of the command that was recorded, from 0. */
  readonly command: number;
  readonly message: string;
}

/** What the buffer of a slot must be good for, over all commands that use it. */
export interface SlotUse {
  readonly usages: ReadonlySet<BufferUsage>;
  readonly isWritten: boolean;
  /** Bytes that it must have at least. */
  readonly sizeBytes: number;
}

export interface CommandBufferParts {
  readonly device: object;
  readonly label: string;
  readonly mode: FlagSet<CommandBufferMode>;
  readonly slots: readonly string[];
  readonly commands: readonly RecordedCommand[];
  readonly slotUses: ReadonlyMap<number, SlotUse>;
  /** Of the ranges that kernels get, one for each physical device in whose memory there are any. */
  readonly dispatched: readonly BufferRange[];
  readonly findings: readonly CommandFinding[];
  /** What the commands use; retained already, and released in the end. */
  readonly resources: readonly Retained[];
}

/** Buffers for slots: in their order, or by name. */
export type BindingTable = readonly DirectRef[] | Readonly<Record<string, DirectRef>>;

/** `using` releases what its commands use, as soon as no execution needs it. */
export class CommandBuffer implements Disposable {
  readonly device: object;
  readonly label: string;
  readonly mode: FlagSet<CommandBufferMode>;
  readonly slots: readonly string[];
  readonly commands: readonly RecordedCommand[];
  readonly slotUses: ReadonlyMap<number, SlotUse>;
  /** Warnings; a program with errors does not become a command buffer. */
  readonly findings: readonly CommandFinding[];
  /** See `CommandBufferParts`. */
  readonly dispatched: readonly BufferRange[];
  readonly #resources: readonly Retained[];
  /** For recorders. */
  onDispose: (() => void) | undefined;
  #onRelease: (() => void)[] = [];
  #users = 0;
  #isDisposed = false;
  #executions = 0;

  /** Use `LogicalDevice.record`. */
  constructor(parts: CommandBufferParts) {
    this.device = parts.device;
    this.label = parts.label;
    this.mode = parts.mode;
    this.slots = parts.slots;
    this.commands = parts.commands;
    this.slotUses = parts.slotUses;
    this.findings = parts.findings;
    this.dispatched = parts.dispatched;
    this.#resources = parts.resources;
  }

  /** Events that name it can be written as JSON. */
  toJSON(): string {
    return this.label;
  }

  /** Executions so far. */
  get executions(): number {
    return this.#executions;
  }

  /** An execution begins its life. Throws FAILED_PRECONDITION for the second one of a one-shot program. */
  beginExecution(): void {
    if (this.#isDisposed) throw invalidArgument(`'${this.label}' is disposed`);
    if (this.mode.has('one-shot') && this.#executions > 0) {
      throw new HalError('FAILED_PRECONDITION', `'${this.label}' was recorded for one execution, and had it`);
    }
    this.#executions++;
  }

  /**
   * The ranges for all slots. Throws INVALID_ARGUMENT for slots without a buffer and names without a slot,
   * OUT_OF_RANGE and PERMISSION_DENIED for buffers that commands cannot use as they do.
   */
  bind(table: BindingTable): readonly BufferRange[] {
    const refs = Array.isArray(table) ? table : this.#byName(table as Readonly<Record<string, DirectRef>>);
    if (refs.length > this.slots.length) {
      throw invalidArgument(`${refs.length} buffers, '${this.label}' has ${this.slots.length} slots`);
    }
    const ranges = refs.map((ref) => (ref === undefined ? undefined : bufferRange(ref)));
    for (const [slot, use] of this.slotUses) {
      const range = ranges[slot];
      const name = `slot ${slot} (${this.slots[slot]}) of '${this.label}'`;
      if (range === undefined) throw invalidArgument(`${name} has no buffer`);
      for (const usage of use.usages) checkUse(range, this.device, usage, use.isWritten ? 'write' : 'read');
      if (range.sizeBytes >= use.sizeBytes) continue;
      throw new HalError('OUT_OF_RANGE', `${name} has ${range.sizeBytes} bytes, its commands use ${use.sizeBytes}`);
    }
    return ranges as readonly BufferRange[]; // reason: slots without a range are used by no command
  }

  /** `dispatched`, and what kernels get of the ranges that `bind` gave. */
  dispatchedWith(table: readonly BufferRange[]): readonly BufferRange[] {
    const slots = [...this.slotUses].filter(([, { usages }]) => usages.has('storage-read'));
    return [...this.dispatched, ...slots.map(([slot]) => table[slot]!)];
  }

  #byName(table: Readonly<Record<string, DirectRef>>): (DirectRef | undefined)[] {
    const unknown = Object.keys(table).find((name) => !this.slots.includes(name));
    if (unknown === undefined) return this.slots.map((name) => table[name]);
    throw invalidArgument(`'${this.label}' has no slot '${unknown}'`, { hint: `slots: ${this.slots.join(', ')}` });
  }

  retain(): void {
    this.#users++;
  }

  release(): void {
    this.#users--;
    this.#collect();
  }

  pin(): void {
    for (const resource of this.#resources) resource.pin?.();
  }

  unpin(): void {
    for (const resource of this.#resources) resource.unpin?.();
  }

  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.onDispose?.();
    this.#isDisposed = true;
    this.#collect();
  }

  /** For drivers: calls back when nothing executes it any more, nor ever will. */
  onRelease(callback: () => void): void {
    this.#onRelease.push(callback);
  }

  #collect(): void {
    if (!this.#isDisposed || this.#users > 0) return;
    for (const resource of this.#resources) resource.release();
    for (const callback of this.#onRelease) callback();
    this.#onRelease = [];
  }
}
