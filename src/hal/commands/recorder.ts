/**
 * Records a command buffer. What is wrong becomes a finding and not an exception, so that one run of a
 * program shows all that is wrong with it; `finish` throws them together.
 */
import type { FlagInput } from '../core/flag-set.ts';
import { type BufferUsage, COMMAND_BUFFER_MODES, type CommandBufferMode } from '../core/flags.ts';
import type { HalEvent } from '../core/hal-event.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { checkPattern } from '../memory/buffer.ts';
import { type BufferRange, bufferRange, checkUse, type DirectRef, rangesOverlap } from '../memory/buffer-ref.ts';
import type { Retained } from '../memory/retained.ts';
import {
  CommandBuffer,
  type CommandFinding,
  isSlot,
  type RecordedCommand,
  type RecordedRef,
  type SlotUse,
} from './command-buffer.ts';
import { HazardCheck } from './hazards.ts';
import { checkDispatch, directGroups, GROUP_COUNTS_BYTES, type QueueDispatch } from './queue-dispatch.ts';

/** A slot by number or name, or a part of what will be in it. */
export interface SlotRef {
  readonly slot: number | string;
  readonly offsetBytes?: number;
  /** Default: up to the end of what is in the slot. */
  readonly sizeBytes?: number;
}

export type CommandRef = DirectRef | SlotRef;

export interface RecordOptions {
  /** How many slots there are, or their names. Default: none. */
  readonly slots?: number | readonly string[];
  readonly mode?: FlagInput<CommandBufferMode>;
  readonly label?: string;
}

/** IREE takes no more with one command; a queue's `update` takes any size. */
export const MAX_UPDATE_BYTES = 65_536;
const CONDITION_BYTES = 4;
/** An error tells of so many commands; `findings` has them all. */
const MAX_TOLD = 20;

interface MutableSlotUse extends SlotUse {
  readonly usages: Set<BufferUsage>;
  isWritten: boolean;
  sizeBytes: number;
}

export class CommandRecorder {
  readonly #device: object;
  readonly #label: string;
  readonly #mode;
  readonly #slots: readonly string[];
  readonly #commands: RecordedCommand[] = [];
  readonly #findings: CommandFinding[] = [];
  readonly #slotUses = new Map<number, MutableSlotUse>();
  readonly #resources = new Set<Retained>();
  readonly #hazards = new HazardCheck();
  /** By physical device. */
  readonly #dispatched = new Map<number, BufferRange>();
  /** Commands as the program counts them. */
  #count = 0;
  #isFinished = false;

  /** Use `LogicalDevice.record`. */
  constructor(device: object, { slots = [], mode = [], label = 'command buffer' }: RecordOptions = {}) {
    this.#device = device;
    this.#label = label;
    this.#mode = COMMAND_BUFFER_MODES.set(mode);
    this.#slots = typeof slots === 'number' ? Array.from({ length: slots }, (_, i) => String(i)) : slots;
  }

  /** Repeats 1, 2 or 4 bytes. */
  fill({ target, pattern }: { readonly target: CommandRef; readonly pattern: Uint8Array }): this {
    return this.#record(() => {
      const ref = this.#ref(target, 'transfer-target', true);
      checkPattern(pattern, [1, 2, 4], ref.offsetBytes, ref.sizeBytes ?? 0);
      this.#add({ kind: 'fill', target: ref, pattern: pattern.slice() }, [], [ref]);
    });
  }

  copy({ source, target }: { readonly source: CommandRef; readonly target: CommandRef }): this {
    return this.#record(() => {
      const from = this.#ref(source, 'transfer-source', false);
      const to = this.#ref(target, 'transfer-target', true);
      if (from.sizeBytes !== to.sizeBytes && from.sizeBytes !== undefined && to.sizeBytes !== undefined) {
        throw invalidArgument(`a copy of ${from.sizeBytes} bytes to ${to.sizeBytes} bytes`);
      }
      if (!isSlot(from) && !isSlot(to) && rangesOverlap(from, to)) {
        throw invalidArgument(`a copy of '${from.buffer.label}' to a range that overlaps it`);
      }
      this.#add({ kind: 'copy', source: from, target: to }, [from], [to]);
    });
  }

  /** At most 64 KiB, which are taken now. */
  update({ contents, target }: { readonly contents: ArrayBufferView; readonly target: CommandRef }): this {
    return this.#record(() => {
      const { buffer, byteOffset, byteLength } = contents;
      if (byteLength > MAX_UPDATE_BYTES) {
        throw invalidArgument(`an update of ${byteLength} bytes, a command takes at most ${MAX_UPDATE_BYTES}`);
      }
      const whole = this.#ref(target, 'transfer-target', true, byteLength);
      if (whole.sizeBytes !== undefined && whole.sizeBytes < byteLength) {
        throw new HalError('OUT_OF_RANGE', `${byteLength} bytes of contents for a range of ${whole.sizeBytes}`);
      }
      const ref = { ...whole, sizeBytes: byteLength };
      const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice();
      this.#add({ kind: 'update', target: ref, contents: bytes }, [], [ref]);
    });
  }

  dispatch(options: QueueDispatch<CommandRef>): this {
    return this.#record(() => {
      const dispatch = checkDispatch(options, this.#device);
      const bindings = (options.bindings ?? []).map((ref) => this.#ref(ref, 'storage-read', false));
      const { groups, arguments: given } = options;
      if (given !== undefined && !ArrayBuffer.isView(given)) {
        throw new HalError('UNIMPLEMENTED', 'a recorded dispatch whose arguments a buffer has', {
          hint: 'a queue takes it, or give them when it is recorded, with bindings in slots',
        });
      }
      const isIndirect = typeof groups === 'object' && 'from' in groups;
      const counts = isIndirect ? this.#groupCounts(groups.from) : directGroups(groups, dispatch);
      const { parameters } = options.entry.info;
      const roles = parameters.filter(({ kind }) => kind === 'binding');
      const read = bindings.filter((_, i) => roles[i]?.isReadOnly === true);
      const written = bindings.filter((_, i) => roles[i]?.isReadOnly !== true);
      this.#keep(options.entry.executable);
      const countsRead = 'offsetBytes' in counts ? [counts] : [];
      this.#add({ kind: 'dispatch', dispatch, groups: counts, bindings }, [...read, ...countsRead], written);
    });
  }

  #groupCounts(from: CommandRef): RecordedRef {
    const ref = this.#ref(from, 'dispatch-indirect-parameters', false, GROUP_COUNTS_BYTES);
    if ((ref.sizeBytes ?? GROUP_COUNTS_BYTES) >= GROUP_COUNTS_BYTES && ref.offsetBytes % 4 === 0) return ref;
    throw invalidArgument(`${ref.sizeBytes} bytes of group counts at ${ref.offsetBytes}, expected 12 aligned to 4`);
  }

  /** What comes behind begins when everything before has ended. */
  barrier(): this {
    return this.#record(() => {
      this.#commands.push({ kind: 'barrier' });
      this.#hazards.barrier();
    });
  }

  /** Runs `body` where the 32-bit word is not 0, else `otherwise`; both are barriers. */
  if(condition: CommandRef, body: (recorder: this) => void, otherwise?: (recorder: this) => void): this {
    return this.#record(() => {
      const skip = this.#branch(condition);
      body(this);
      if (otherwise === undefined) return skip();
      const end = this.#jump();
      skip();
      otherwise(this);
      end();
    });
  }

  /** The commands of `body` as long as the 32-bit word is not 0, which is read before each time. */
  while(condition: CommandRef, body: (recorder: this) => void): this {
    return this.#record(() => {
      const start = this.#commands.length;
      const end = this.#branch(condition);
      body(this);
      this.#hazards.barrier();
      this.#commands.push({ kind: 'jump', target: start });
      end();
    });
  }

  /** Returns what says that here is where it leads. */
  #branch(condition: CommandRef): () => void {
    const ref = this.#ref(condition, 'transfer-source', false, CONDITION_BYTES);
    if ((ref.sizeBytes ?? CONDITION_BYTES) < CONDITION_BYTES || ref.offsetBytes % 4 !== 0) {
      throw invalidArgument(`a condition of ${ref.sizeBytes} bytes at ${ref.offsetBytes}, expected 4 aligned to 4`);
    }
    return this.#patched((target) => ({ kind: 'jump-if-zero', condition: ref, target }));
  }

  #jump(): () => void {
    return this.#patched((target) => ({ kind: 'jump', target }));
  }

  #patched(command: (target: number) => RecordedCommand): () => void {
    this.#hazards.barrier();
    const index = this.#commands.push(command(0)) - 1;
    return () => {
      this.#hazards.barrier();
      this.#commands[index] = command(this.#commands.length);
    };
  }

  /** Another command buffer as a part of this one, with buffers or slots of this one in its slots. */
  execute(commands: CommandBuffer, bindings: readonly CommandRef[] = []): this {
    return this.#record(() => {
      if (commands.device !== this.#device) throw invalidArgument(`'${commands.label}' belongs to another device`);
      if (commands.mode.has('one-shot')) throw invalidArgument(`'${commands.label}' was recorded for one execution`);
      const refs = bindings.map((binding, slot) => {
        const use = commands.slotUses.get(slot);
        const usages: readonly BufferUsage[] = use === undefined ? [] : [...use.usages];
        const made = this.#ref(binding, usages[0], use?.isWritten ?? false, use?.sizeBytes ?? 0);
        for (const usage of usages.slice(1)) this.#ref(binding, usage, use?.isWritten ?? false);
        return made;
      });
      const missing = [...commands.slotUses.keys()].find((slot) => refs[slot] === undefined);
      if (missing !== undefined) throw invalidArgument(`slot ${missing} of '${commands.label}' has no buffer`);
      this.#keep(commands);
      for (const range of commands.dispatched) this.#addDispatched(range);
      this.#hazards.barrier();
      this.#commands.push({ kind: 'execute', commands, bindings: refs });
      this.#hazards.barrier();
    });
  }

  /** When everything before has ended. */
  setEvent(event: HalEvent): this {
    return this.#record(() => this.#commands.push({ kind: 'set-event', event }));
  }

  /** When everything before has ended. */
  resetEvent(event: HalEvent): this {
    return this.#record(() => this.#commands.push({ kind: 'reset-event', event }));
  }

  /** What comes behind begins when all events are set, and everything before has ended. */
  waitEvents(...events: readonly HalEvent[]): this {
    return this.#record(() => {
      this.#commands.push({ kind: 'wait-events', events });
      this.#hazards.barrier();
    });
  }

  /** Everything that is wrong so far, or looks so. */
  get findings(): readonly CommandFinding[] {
    return [...this.#findings, ...this.#hazards.findings].toSorted((a, b) => a.command - b.command);
  }

  /**
   * Throws INVALID_ARGUMENT with the errors, the first ones if they are many; FAILED_PRECONDITION the second
   * time.
   */
  finish(): CommandBuffer {
    if (this.#isFinished) throw new HalError('FAILED_PRECONDITION', `'${this.#label}' was recorded already`);
    this.#isFinished = true;
    const { findings } = this;
    const errors = findings.filter(({ severity }) => severity === 'error');
    if (errors.length > 0) {
      this.discard();
      const list = errors.slice(0, MAX_TOLD).map(({ command, message }) => `command ${command}: ${message}`);
      if (errors.length > MAX_TOLD) list.push(`and ${errors.length - MAX_TOLD} more`);
      throw invalidArgument(`'${this.#label}' cannot be executed:\n  ${list.join('\n  ')}`);
    }
    return new CommandBuffer({
      device: this.#device,
      label: this.#label,
      mode: this.#mode,
      slots: this.#slots,
      commands: this.#commands,
      slotUses: this.#slotUses,
      dispatched: [...this.#dispatched.values()],
      findings,
      resources: [...this.#resources],
    });
  }

  /** What was recorded is not going to be executed. */
  discard(): void {
    this.#isFinished = true;
    for (const resource of this.#resources) resource.release();
    this.#resources.clear();
  }

  #keep(resource: Retained): void {
    if (this.#mode.has('unretained') || this.#resources.has(resource)) return;
    resource.retain();
    this.#resources.add(resource);
  }

  #record(run: () => void): this {
    if (this.#isFinished) throw new HalError('FAILED_PRECONDITION', `'${this.#label}' was recorded already`);
    try {
      run();
    } catch (error) {
      if (!(error instanceof HalError)) throw error;
      this.#findings.push({ severity: 'error', command: this.#count, message: error.message });
    }
    this.#count++;
    return this;
  }

  #addDispatched(range: BufferRange): void {
    this.#dispatched.set(range.buffer.placement.deviceOrdinal, range);
  }

  #add(command: RecordedCommand, read: readonly RecordedRef[], written: readonly RecordedRef[]): void {
    this.#commands.push(command);
    if (!this.#mode.has('unvalidated')) this.#hazards.add(this.#count, read, written);
  }

  /** Checked as far as it is known. `minBytes`: what a slot must have from its offset on. */
  #ref(ref: CommandRef, usage: BufferUsage | undefined, isWritten: boolean, minBytes = 0): RecordedRef {
    if (!('slot' in ref)) {
      const range = bufferRange(ref);
      if (usage !== undefined) checkUse(range, this.#device, usage, isWritten ? 'write' : 'read');
      if (usage === 'storage-read') this.#addDispatched(range);
      this.#keep(range.buffer.allocation);
      return range;
    }
    const slot = typeof ref.slot === 'number' ? ref.slot : this.#slots.indexOf(ref.slot);
    if (!Number.isInteger(slot) || slot < 0 || slot >= this.#slots.length) {
      throw invalidArgument(`no slot ${ref.slot}, there are ${this.#slots.length}`);
    }
    const { offsetBytes = 0, sizeBytes } = ref;
    for (const each of [offsetBytes, sizeBytes ?? 0]) {
      if (!Number.isSafeInteger(each) || each < 0) throw invalidArgument(`slot ${ref.slot}: ${each} bytes`);
    }
    const use: MutableSlotUse = this.#slotUses.get(slot) ?? { usages: new Set(), isWritten: false, sizeBytes: 0 };
    this.#slotUses.set(slot, use);
    if (usage !== undefined) use.usages.add(usage);
    use.isWritten ||= isWritten;
    use.sizeBytes = Math.max(use.sizeBytes, offsetBytes + (sizeBytes ?? minBytes));
    return { slot, offsetBytes, sizeBytes };
  }
}
