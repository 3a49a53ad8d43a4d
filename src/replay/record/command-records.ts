/** What a program recorded into a command buffer, as records. */

import { callByName, type RecordedBody } from '../../hal/devices/device-recorder.ts';
import type { CommandBuffer, CommandRef, HalEvent, QueueDispatch } from '../../hal/index.ts';
import type { PayloadLayout, PayloadOf } from '../format/payload-layout.ts';
import {
  COMMAND_COPY,
  COMMAND_EVENT,
  COMMAND_FILL,
  COMMAND_UPDATE,
  DISPATCH_CALL,
  EXECUTION_BARRIER,
  WAIT_EVENTS,
} from '../format/payloads.ts';
import { dispatchPayload } from './queue-records.ts';
import type { ThingRecords } from './thing-records.ts';

/** `dispatch` and `transfer`, as stages; memory read and written, as scopes. */
const ALL_STAGES = 4n | 8n;
const ALL_ACCESS = 256 | 512;

/** A command buffer with all its commands. */
export function recordCommands(things: ThingRecords, commands: CommandBuffer, body: RecordedBody): void {
  const id = things.commandBuffer(commands);
  const records = new CommandRecords(things, id, commands.slots);
  records.plain('command_buffer.begin');
  records.body(body);
  records.plain('command_buffer.end');
}

class CommandRecords {
  readonly #things: ThingRecords;
  readonly #header;
  readonly #slots: readonly string[];

  constructor(things: ThingRecords, id: number, slots: readonly string[]) {
    this.#things = things;
    this.#header = { deviceId: things.deviceId, objectId: id, objectType: 'command_buffer' } as const;
    this.#slots = slots;
  }

  plain(name: string): void {
    this.#things.context.writer.operation(name, this.#header);
  }

  #write<Layout extends PayloadLayout>(name: string, layout: Layout, payload: Partial<PayloadOf<Layout>>): void {
    this.#things.context.writer.operation(name, this.#header, layout, payload);
  }

  #own(name: string, told: unknown): void {
    this.#things.context.writer.own(name, this.#header, told);
  }

  #ref(ref: CommandRef) {
    return this.#things.commandRef(ref, this.#slots);
  }

  body({ calls }: RecordedBody): void {
    for (const { method, args } of calls) callByName(this.#commands, method, args);
  }

  #block(name: string, condition: CommandRef, inner: RecordedBody, otherwise?: RecordedBody): void {
    this.#own(name, { condition: this.#ref(condition) });
    this.body(inner);
    if (otherwise !== undefined) {
      this.#own('command_buffer.else', {});
      this.body(otherwise);
    }
    this.#own('command_buffer.end_block', {});
  }

  readonly #commands = {
    fill: ({ target, pattern }: { target: CommandRef; pattern: Uint8Array }): void =>
      this.#write('command_buffer.fill_buffer', COMMAND_FILL, { target: this.#ref(target), pattern }),
    copy: ({ source, target }: { source: CommandRef; target: CommandRef }): void =>
      this.#write('command_buffer.copy_buffer', COMMAND_COPY, { source: this.#ref(source), target: this.#ref(target) }),
    update: ({ target, contents }: { target: CommandRef; contents: Uint8Array }): void =>
      this.#write('command_buffer.update_buffer', COMMAND_UPDATE, {
        target: { ...this.#ref(target), length: contents.length },
        data: contents,
      }),
    dispatch: (options: QueueDispatch<CommandRef>): void =>
      this.#write(
        'command_buffer.dispatch',
        DISPATCH_CALL,
        dispatchPayload(this.#things, options, (ref) => this.#ref(ref)),
      ),
    barrier: (): void =>
      this.#write('command_buffer.execution_barrier', EXECUTION_BARRIER, {
        sourceStageMask: ALL_STAGES,
        targetStageMask: ALL_STAGES,
        memoryBarriers: [{ sourceScope: ALL_ACCESS, targetScope: ALL_ACCESS }],
      }),
    if: (condition: CommandRef, body: RecordedBody, otherwise?: RecordedBody): void =>
      this.#block('command_buffer.if', condition, body, otherwise),
    while: (condition: CommandRef, body: RecordedBody): void => this.#block('command_buffer.while', condition, body),
    execute: (commands: CommandBuffer, bindings: readonly CommandRef[] = []): void =>
      this.#own('command_buffer.execute', {
        commandBuffer: this.#things.commandBufferId(commands),
        bindings: bindings.map((ref) => this.#ref(ref)),
      }),
    setEvent: (event: HalEvent): void => this.#event('command_buffer.signal_event', event),
    resetEvent: (event: HalEvent): void => this.#event('command_buffer.reset_event', event),
    waitEvents: (...events: readonly HalEvent[]): void =>
      this.#write('command_buffer.wait_events', WAIT_EVENTS, {
        sourceStageMask: ALL_STAGES,
        targetStageMask: ALL_STAGES,
        events: events.map((event) => this.#things.eventId(event)),
      }),
  };

  #event(name: string, event: HalEvent): void {
    const eventId = this.#things.eventId(event);
    this.#write(name, COMMAND_EVENT, { eventId, sourceStageMask: ALL_STAGES });
  }
}
