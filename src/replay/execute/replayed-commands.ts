/** Command buffers of a recording, from their records. */
import { WavewrightError } from '../../base/errors.ts';
import { checkLimit } from '../../base/limits.ts';
import { COMMAND_BUFFER_MODES, type CommandBuffer, type CommandRecorder, type LogicalDevice } from '../../hal/index.ts';
import type { BufferRefRecord } from '../format/payload-kinds.ts';
import type { PayloadOf } from '../format/payload-layout.ts';
import type {
  COMMAND_BUFFER_OBJECT,
  COMMAND_COPY,
  COMMAND_EVENT,
  COMMAND_FILL,
  COMMAND_UPDATE,
  DISPATCH_CALL,
  WAIT_EVENTS,
} from '../format/payloads.ts';
import { dispatchOf } from './dispatches.ts';
import type { ReplayedThings } from './replayed-things.ts';

type Command = (recorder: CommandRecorder) => void;

/** Commands up to the end of a block. */
interface Block {
  readonly commands: Command[];
  /** Of a condition: what ends it. */
  readonly end?: (commands: Command[], otherwise: Command[] | undefined) => Command;
  readonly then?: Command[];
}

/** A command buffer between its begin and its end. */
export class ReplayedCommands {
  readonly #things: ReplayedThings;
  readonly #payload: PayloadOf<typeof COMMAND_BUFFER_OBJECT>;
  readonly #label: string;
  readonly #blocks: Block[] = [{ commands: [] }];

  constructor(things: ReplayedThings, payload: PayloadOf<typeof COMMAND_BUFFER_OBJECT>, label: string) {
    this.#things = things;
    this.#payload = payload;
    this.#label = label;
  }

  #add(command: Command): void {
    this.#blocks.at(-1)!.commands.push(command);
  }

  /** Throws BAD_INPUT where a block is open. */
  finish(device: LogicalDevice): CommandBuffer {
    const [{ commands } = { commands: [] as Command[] }, open] = this.#blocks;
    if (open !== undefined) throw damaged('a command buffer that ends inside of a block');
    const { mode, bindingCapacity } = this.#payload;
    checkLimit('replaySlots', bindingCapacity, {});
    const options = { slots: bindingCapacity, mode: COMMAND_BUFFER_MODES.ofBits(mode), label: this.#label };
    return device.record(options, (recorder) => {
      for (const command of commands) command(recorder);
    });
  }

  /** Of the commands that a replay has. */
  readonly commands = {
    'command_buffer.fill_buffer': ({ target, pattern }: PayloadOf<typeof COMMAND_FILL>): void => {
      const ref = this.#things.commandRef(target);
      this.#add((recorder) => recorder.fill({ target: ref, pattern }));
    },
    'command_buffer.update_buffer': ({ target, data }: PayloadOf<typeof COMMAND_UPDATE>): void => {
      const ref = this.#things.commandRef(target);
      this.#add((recorder) => recorder.update({ target: ref, contents: data }));
    },
    'command_buffer.copy_buffer': ({ source, target }: PayloadOf<typeof COMMAND_COPY>): void => {
      const refs = { source: this.#things.commandRef(source), target: this.#things.commandRef(target) };
      this.#add((recorder) => recorder.copy(refs));
    },
    'command_buffer.dispatch': (payload: PayloadOf<typeof DISPATCH_CALL>): void => {
      const options = dispatchOf(this.#things, payload, (ref) => this.#things.commandRef(ref));
      this.#add((recorder) => recorder.dispatch(options));
    },
    'command_buffer.execution_barrier': (): void => this.#add((recorder) => recorder.barrier()),
    'command_buffer.signal_event': ({ eventId }: PayloadOf<typeof COMMAND_EVENT>): void => {
      const event = this.#things.of('event', eventId);
      this.#add((recorder) => recorder.setEvent(event));
    },
    'command_buffer.reset_event': ({ eventId }: PayloadOf<typeof COMMAND_EVENT>): void => {
      const event = this.#things.of('event', eventId);
      this.#add((recorder) => recorder.resetEvent(event));
    },
    'command_buffer.wait_events': ({ events }: PayloadOf<typeof WAIT_EVENTS>): void => {
      const list = events.map((id) => this.#things.of('event', id));
      this.#add((recorder) => recorder.waitEvents(...list));
    },
  } as const;

  /** Of commands that IREE's recordings do not have. Throws BAD_INPUT for blocks that do not fit together. */
  readonly own = {
    'command_buffer.if': ({ condition }: { condition: BufferRefRecord }): void => {
      const ref = this.#things.commandRef(condition);
      const end: Block['end'] = (commands, otherwise) => (recorder) =>
        recorder.if(ref, inside(commands), otherwise && inside(otherwise));
      this.#blocks.push({ commands: [], end });
    },
    'command_buffer.while': ({ condition }: { condition: BufferRefRecord }): void => {
      const ref = this.#things.commandRef(condition);
      this.#blocks.push({ commands: [], end: (commands) => (recorder) => recorder.while(ref, inside(commands)) });
    },
    'command_buffer.else': (): void => {
      const { commands: then, end } = this.#closed();
      this.#blocks.push({ commands: [], then, ...(end && { end }) });
    },
    'command_buffer.end_block': (): void => {
      const { commands, end, then } = this.#closed();
      this.#add(then === undefined ? end!(commands, undefined) : end!(then, commands));
    },
    'command_buffer.execute': (told: { commandBuffer: number; bindings: readonly BufferRefRecord[] }): void => {
      const commands = this.#things.of('command buffer', told.commandBuffer);
      const bindings = told.bindings.map((ref) => this.#things.commandRef(ref));
      this.#add((recorder) => recorder.execute(commands, bindings));
    },
  } as const;

  #closed(): Block {
    const block = this.#blocks.pop();
    if (block?.end === undefined) throw damaged('a block of commands that ends and did not begin');
    return block;
  }
}

const damaged = (what: string): WavewrightError => new WavewrightError('BAD_INPUT', what);

const inside =
  (commands: readonly Command[]) =>
  (recorder: CommandRecorder): void => {
    for (const command of commands) command(recorder);
  };
