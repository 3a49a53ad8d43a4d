/**
 * An execution of a program: spans of its blocks go to the queue one behind the other, whose packets keep the
 * order; what the host does, and where control branches, waits until all before has ended.
 */

import type { CommandDone, DispatchedKernel } from '../../backend/backend.ts';
import type { BackendCommand } from '../../backend/command.ts';
import type { DeviceOrder } from '../../backend/order.ts';
import type { CommandBuffer } from '../../commands/command-buffer.ts';
import type { Execution } from '../../commands/program-backend.ts';
import { type BoundTable, conditionOf, resolveCommand, resolveRef } from '../../commands/resolve.ts';
import type { SignalSource } from '../../core/pending-signals.ts';
import { HalError, type OperationInfo } from '../../core/status.ts';
import { type BufferRange, storageOf } from '../../memory/buffer-ref.ts';
import type { DeviceLibrary } from '../library/device-library.ts';
import type { BatchPlace, PacketBatch } from '../packets/packet-batch.ts';
import { BLOCK, BRANCH, COMMAND, COMMAND_BYTES, CONDITIONAL_BRANCH, HOST_STEP, OPCODE } from './abi.ts';
import {
  type BoundBuffer,
  encodeSpan,
  measureSpan,
  type ProgramBindings,
  type Span,
  type SpanLimits,
  waits,
} from './block-processor.ts';
import type { CommandBlock, CommandProgram } from './program.ts';

/** The queue that a program goes to. */
export interface ProgramQueue {
  /** What fits into its empty rings. */
  readonly limits: SpanLimits;
  readonly library: DeviceLibrary | undefined;
  programOf(commands: CommandBuffer): CommandProgram;
  /** Whether kernels use memory at this address. */
  reaches(address: bigint): boolean;
  submit(batch: PacketBatch, operation: OperationInfo, done: CommandDone, order?: DeviceOrder): PublishedSource;
  waitFor(order: DeviceOrder | undefined, operation: OperationInfo, done: CommandDone): void;
  begin(command: BackendCommand, operation: OperationInfo, done: CommandDone): void;
}

/** The end of packets that are in a queue, or wait for room. */
interface PublishedSource extends SignalSource {
  whenPublished(callback: () => void): void;
}

/** A program that is being executed; nested ones lie on those that execute them. */
interface Frame {
  readonly program: CommandProgram;
  readonly table: BoundTable;
  readonly bindings: ProgramBindings;
  block: number;
  /** Offset of the next command in the block. */
  at: number;
}

/** Steps in one turn; a program may loop for ever, and the host gets its turns all the same. */
const MAX_STEPS = 4096;
/** Submissions that are on their way at once. */
const MAX_OPEN = 4;

export class ProgramExecution {
  readonly #queue: ProgramQueue;
  readonly #execution: Execution;
  readonly #frames: Frame[] = [];
  /** The packets that were submitted last. */
  #last: PublishedSource | undefined;
  /** Commands that are on their way and are the host's. */
  #hostCount = 0;
  /** What is on its way, by the number of barriers that were before it. */
  readonly #open = new Map<object, number>();
  #barriers = 0;
  #failure: unknown;
  #isStepping = false;
  #isOver = false;

  constructor(commands: CommandBuffer, table: BoundTable, queue: ProgramQueue, execution: Execution) {
    this.#queue = queue;
    this.#execution = execution;
    this.#enter(commands, table);
    const { order, info } = execution;
    // Packets stand behind what the program waits for by themselves; the host waits for the end of that.
    if (order !== undefined && order.sources.length > 0) this.#track((done) => queue.waitFor(order, info, done), -1);
  }

  #enter(commands: CommandBuffer, table: BoundTable): void {
    const program = this.#queue.programOf(commands);
    const bindings = bindingsOf(program, table, this.#queue);
    this.#frames.push({ program, table, bindings, block: 0, at: BLOCK.sizeBytes });
  }

  /** Goes on as far as it can. */
  run(): void {
    if (this.#isStepping || this.#isOver) return;
    this.#isStepping = true;
    let steps = 0;
    try {
      while (this.#failure === undefined && this.#step()) {
        if (++steps < MAX_STEPS) continue;
        this.#execution.post(() => this.run());
        return;
      }
    } catch (error) {
      this.#failure ??= error;
    } finally {
      this.#isStepping = false;
    }
    if (this.#frames.length === 0 && this.#hostCount === 0) this.#issued();
    if (this.#open.size > 0 || (this.#frames.length > 0 && this.#failure === undefined)) return;
    this.#isOver = true;
    this.#execution.done(this.#failure);
  }

  /** Returns whether it can go on at once. */
  #step(): boolean {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return false;
    const block = frame.program.blocks[frame.block]!;
    const span = measureSpan(block, frame.at, frame.bindings, this.#queue.limits);
    if (span.packetCount > 0) {
      if (this.#open.size >= MAX_OPEN) return false;
      this.#submit(new SpanBatch(frame, block, span));
      this.#barriers += span.barrierCount;
      frame.at = span.end;
      return true;
    }
    frame.at = span.end;
    return span.stop === 'host' ? this.#host(frame, block) : this.#terminator(frame, block);
  }

  /** Calls `begin` with what is to be called at the end. */
  #track(begin: (done: CommandDone) => void, barriers = this.#barriers): void {
    const key = {};
    this.#open.set(key, barriers);
    const done = (error?: unknown): void => {
      if (!this.#open.delete(key)) return;
      this.#failure ??= error;
      this.run();
    };
    try {
      begin(done);
    } catch (error) {
      done(error);
    }
  }

  #submit(batch: PacketBatch): void {
    this.#track((done) => {
      this.#last = this.#queue.submit(batch, this.#execution.info, done, this.#execution.order);
    });
  }

  /** Nothing is left but packets, of which the last is the end of the program. */
  #issued(): void {
    const { order } = this.#execution;
    const last = this.#last;
    this.#last = undefined;
    if (order !== undefined && last !== undefined) last.whenPublished(() => order.issued(last));
  }

  /** A command that is not the GPU's begins when all before the last barrier has ended. */
  #host(frame: Frame, block: CommandBlock): boolean {
    const barriers = this.#barriers + (waits(block, frame.at) ? 1 : 0);
    if (this.#open.values().some((each) => each < barriers)) return false;
    this.#barriers = barriers;
    const index = block.field32(frame.at + COMMAND.index);
    const command = frame.program.commands.commands[index]!;
    frame.at += 8 * block.field16(frame.at + COMMAND.qwords);
    this.#hostCount++;
    this.#track((ended) => {
      const done = (error?: unknown): void => {
        this.#hostCount--;
        ended(error);
      };
      if (
        command.kind === 'fill' ||
        command.kind === 'copy' ||
        command.kind === 'update' ||
        command.kind === 'dispatch'
      ) {
        this.#queue.begin(resolveCommand(command, frame.table), this.#execution.info, done);
      } else throw new HalError('INTERNAL', `the host cannot do a command '${command.kind}'`);
    });
    return true;
  }

  /** The command that ends a block. */
  #terminator(frame: Frame, block: CommandBlock): boolean {
    const { at } = frame;
    const { terminator } = block;
    if (terminator === OPCODE.branch) return this.#goTo(frame, block.field32(at + BRANCH.target));
    if (terminator === OPCODE.return) {
      this.#frames.pop();
      return true;
    }
    if (this.#open.size > 0) return false;
    if (terminator === OPCODE.conditionalBranch) {
      const command = frame.program.commands.commands[block.field32(at + COMMAND.index)]!;
      if (command.kind !== 'jump-if-zero') throw new HalError('INTERNAL', 'a branch without a condition');
      const isTrue = conditionOf(command.condition, frame.table);
      return this.#goTo(frame, block.field32(at + CONDITIONAL_BRANCH[isTrue ? 'whenTrue' : 'whenFalse']));
    }
    return this.#hostStep(frame, block);
  }

  #goTo(frame: Frame, block: number): boolean {
    frame.block = block;
    frame.at = BLOCK.sizeBytes;
    return true;
  }

  /** Events and nested programs; everything before has ended. */
  #hostStep(frame: Frame, block: CommandBlock): boolean {
    const ordinal = block.field32(frame.at + HOST_STEP.ordinal);
    const next = block.field32(frame.at + HOST_STEP.target);
    const { nested, events } = frame.program;
    switch (block.terminator) {
      case OPCODE.execute: {
        const { commands, bindings } = nested[ordinal]!;
        this.#goTo(frame, next);
        this.#enter(
          commands,
          bindings.map((ref) => resolveRef(ref, frame.table)),
        );
        return true;
      }
      case OPCODE.setEvent:
        events[ordinal]![0]!.set();
        break;
      case OPCODE.resetEvent:
        events[ordinal]![0]!.reset();
        break;
      case OPCODE.waitEvents: {
        const event = events[ordinal]!.find(({ isSet }) => !isSet);
        if (event === undefined) break;
        this.#execution.whenSet(event, () => this.run());
        return false;
      }
      default:
        throw new HalError(
          'INTERNAL',
          `opcode ${block.terminator} of ${COMMAND_BYTES[block.terminator]} bytes ends no block`,
        );
    }
    return this.#goTo(frame, next);
  }
}

/** A span as packets. */
class SpanBatch implements PacketBatch {
  readonly packetCount: number;
  readonly kernargBytes: number;
  readonly #block: CommandBlock;
  readonly #span: Span;
  readonly #bindings: ProgramBindings;
  readonly #program: CommandProgram;

  constructor({ program, bindings }: Pick<Frame, 'program' | 'bindings'>, block: CommandBlock, span: Span) {
    this.#program = program;
    this.packetCount = span.packetCount;
    this.kernargBytes = span.kernargBytes;
    this.#block = block;
    this.#span = span;
    this.#bindings = bindings;
  }

  get kernel(): DispatchedKernel | undefined {
    if (this.packetCount > 1) return undefined;
    const { start, end } = this.#span;
    for (let at = start; at < end; at += 8 * this.#block.field16(at + COMMAND.qwords)) {
      const commandIndex = this.#block.field32(at + COMMAND.index);
      const command = this.#program.commands.commands[commandIndex];
      if (command?.kind !== 'dispatch') continue;
      const { entry, workgroupSize } = command.dispatch;
      const groups = 'offsetBytes' in command.groups ? undefined : command.groups;
      return { entry, groups, workgroupSize, commands: this.#program.commands, commandIndex };
    }
    return undefined;
  }

  encode(place: BatchPlace, headers: Int32Array): void {
    encodeSpan(this.#block, this.#span, this.#bindings, place, headers);
  }
}

/** Memory is looked up when a command first uses it, and stays until the execution ends. */
function bindingsOf(program: CommandProgram, table: BoundTable, queue: ProgramQueue): ProgramBindings {
  const bind = (range: BufferRange): BoundBuffer => {
    const { storage, offsetBytes, sizeBytes } = storageOf(range);
    const base = storage.address ?? 0n;
    return { address: base + BigInt(offsetBytes), sizeBytes, isReached: queue.reaches(base) };
  };
  const slots: BoundBuffer[] = [];
  const statics: BoundBuffer[] = [];
  return {
    slot: (slot) => {
      slots[slot] ??= bind(table[slot]!);
      return slots[slot];
    },
    static: (ordinal) => {
      statics[ordinal] ??= bind(program.statics[ordinal]!);
      return statics[ordinal];
    },
    data: program.data,
    kernargAddress: program.kernargs?.address ?? 0n,
    library: queue.library,
  };
}
