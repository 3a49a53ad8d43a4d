/**
 * An execution of a command buffer: commands go to the driver as far as barriers allow. It is the way of
 * every driver whose queues do not execute programs themselves (`ProgramBackend`).
 */
import type { QueueBackend } from '../backend/backend.ts';
import type { CommandBuffer, RecordedCommand } from '../commands/command-buffer.ts';
import type { Execution } from '../commands/program-backend.ts';
import { type BoundTable, conditionOf, resolveCommand, resolveRef } from '../commands/resolve.ts';

/** A program that is being executed; nested ones lie on those that execute them. */
interface Frame {
  readonly commands: readonly RecordedCommand[];
  readonly table: BoundTable;
  next: number;
}

export interface CommandBufferRunOptions extends Execution {
  readonly backend: QueueBackend;
}

/** Steps in one turn; a program may loop for ever, and the host gets its turns all the same. */
const MAX_STEPS = 4096;

export class CommandBufferRun {
  readonly #options: CommandBufferRunOptions;
  readonly #frames: Frame[] = [];
  /** Commands that the driver runs. */
  #open = 0;
  #failure: unknown;
  #isStepping = false;
  #isOver = false;

  constructor(program: CommandBuffer, table: BoundTable, options: CommandBufferRunOptions) {
    this.#options = options;
    this.#frames.push({ commands: program.commands, table, next: 0 });
  }

  /** Goes on as far as it can. */
  run(): void {
    if (this.#isStepping || this.#isOver) return;
    this.#isStepping = true;
    let steps = 0;
    try {
      while (this.#step()) {
        if (++steps < MAX_STEPS) continue;
        this.#options.post(() => this.run());
        return;
      }
    } catch (error) {
      this.#failure ??= error;
    } finally {
      this.#isStepping = false;
    }
    if (this.#open > 0 || (this.#frames.length > 0 && this.#failure === undefined)) return;
    this.#isOver = true;
    this.#options.done(this.#failure);
  }

  /** Returns whether it can go on at once. */
  #step(): boolean {
    const frame = this.#frames.at(-1);
    if (frame === undefined || this.#failure !== undefined) return false;
    const command = frame.commands[frame.next];
    if (command === undefined) {
      // The end of a nested program is a barrier, as its begin is.
      if (this.#open > 0) return false;
      this.#frames.pop();
      return true;
    }
    switch (command.kind) {
      case 'fill':
      case 'copy':
      case 'update':
      case 'dispatch':
        frame.next++;
        this.#begin(() => resolveCommand(command, frame.table));
        return true;
      default:
        return this.#open === 0 && this.#control(frame, command);
    }
  }

  #begin(command: () => ReturnType<typeof resolveCommand>): void {
    this.#open++;
    let isOver = false;
    const done = (error?: unknown): void => {
      if (isOver) return;
      isOver = true;
      this.#open--;
      this.#failure ??= error;
      this.run();
    };
    try {
      this.#options.backend.begin(command(), this.#options.info, done);
    } catch (error) {
      done(error);
    }
  }

  /** Everything before has ended. */
  #control(
    frame: Frame,
    command: Exclude<RecordedCommand, { kind: 'fill' | 'copy' | 'update' | 'dispatch' }>,
  ): boolean {
    frame.next++;
    switch (command.kind) {
      case 'barrier':
        break;
      case 'jump':
        frame.next = command.target;
        break;
      case 'jump-if-zero':
        if (!conditionOf(command.condition, frame.table)) frame.next = command.target;
        break;
      case 'execute': {
        const table = command.bindings.map((ref) => resolveRef(ref, frame.table));
        this.#frames.push({ commands: command.commands.commands, table, next: 0 });
        break;
      }
      case 'set-event':
        command.event.set();
        break;
      case 'reset-event':
        command.event.reset();
        break;
      case 'wait-events': {
        const event = command.events.find(({ isSet }) => !isSet);
        if (event === undefined) break;
        frame.next--;
        this.#options.whenSet(event, () => this.run());
        return false;
      }
    }
    return true;
  }
}
