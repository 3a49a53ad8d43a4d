/** Command buffers: tables that do not fit, programs in programs, events that are used again. */
import assert from 'node:assert/strict';
import type { CommandRecorder } from '../commands/recorder.ts';
import type { HalBuffer } from '../memory/buffer.ts';
import {
  type Body,
  bytesOf,
  executing,
  failureOf,
  type Group,
  repeated,
  someBytes,
  type World,
} from './cts.test-support.ts';

const ONE = Uint8Array.of(1);
const invalid = { status: 'INVALID_ARGUMENT' };

/** A program that fills bytes 4 to 12 of what is in its slot `target`, and copies `source` before them. */
const filling = (world: World, mode: 'one-shot' | readonly [] = []) =>
  world.device.record({ slots: ['target', 'source'], mode, label: 'filling' }, (commands) =>
    commands
      .fill({ target: { slot: 'target', offsetBytes: 4, sizeBytes: 8 }, pattern: ONE })
      .copy({ source: { slot: 'source', sizeBytes: 4 }, target: { slot: 'target', sizeBytes: 4 } }),
  );

export const BindingTableTest: Group = {
  TooShort: async (world) => {
    using program = filling(world);
    const target = world.buffer(16);
    for (const bindings of [[], [target], { target }]) {
      assert.throws(() => world.queue.execute({ commands: program, bindings }), {
        ...invalid,
        message: /has no buffer/,
      });
    }
    assert.equal(program.executions, 0);
  },
  TooLong: (world) => {
    using program = filling(world);
    const bindings = [world.buffer(16), world.buffer(4), world.buffer(4)];
    const refused = { ...invalid, message: /3 buffers, 'filling' has 2 slots/ };
    assert.throws(() => world.queue.execute({ commands: program, bindings }), refused);
  },
  NamesThatThereAreNot: (world) => {
    using program = filling(world);
    const bindings = { target: world.buffer(16), source: world.buffer(4), other: world.buffer(4) };
    const refused = { ...invalid, message: /no slot 'other'/ };
    assert.throws(() => world.queue.execute({ commands: program, bindings }), refused);
  },
  BuffersThatAreTooSmall: async (world) => {
    using program = filling(world);
    const [small, exact, source] = [world.buffer(11), world.buffer(12), world.buffer(4)];
    assert.throws(() => world.queue.execute({ commands: program, bindings: [small, source] }), {
      status: 'OUT_OF_RANGE',
      message: /slot 0 \(target\) of 'filling' has 11 bytes, its commands use 12/,
    });
    await world.queue.execute({ commands: program, bindings: [exact, source] });
  },
  PartsOfBuffers: async (world) => {
    using program = filling(world);
    const [target, source] = [world.buffer(32), await world.filled(someBytes(16))];
    const part = { buffer: target, offsetBytes: 8, sizeBytes: 12 };
    await world.queue.execute({ commands: program, bindings: [part, source.subspan(4, 4)] });
    const expected = new Uint8Array(32);
    expected.set(someBytes(16).slice(4, 8), 8);
    expected.fill(1, 12, 20);
    await world.expect(target, expected);
  },
  OneBufferInTwoSlots: async (world) => {
    using program = filling(world);
    const both = await world.filled(someBytes(32));
    await world.queue.execute({ commands: program, bindings: [both.subspan(0, 16), both.subspan(16, 16)] });
    const found = await world.contents(both);
    assert.deepEqual(found.slice(0, 4), someBytes(32).slice(16, 20));
    // A range that would be copied to itself is refused where it is known, which is when it runs.
    assert.match(
      (await failureOf(world.queue.execute({ commands: program, bindings: [both, both] }))).message,
      /itself/,
    );
  },
  BuffersThatAreReadOnly: (world) => {
    using program = filling(world);
    using readOnly = world.device.allocate(16, { access: 'read' });
    using source = world.device.allocate(16, { usage: 'transfer-source' });
    const target = world.buffer(16);
    for (const bindings of [
      [readOnly, target],
      [source, target],
    ]) {
      assert.throws(() => world.queue.execute({ commands: program, bindings }), { status: 'PERMISSION_DENIED' });
    }
  },
  RefusedExecutionsTouchNothing: async (world) => {
    using program = filling(world, 'one-shot');
    const one = world.semaphore();
    assert.throws(() => world.queue.execute({ commands: program, signals: [one.at(1)] }), invalid);
    assert.deepEqual([one.query(), one.failure], [0, undefined]);
    const bindings = [world.buffer(16), world.buffer(4)];
    await world.queue.execute({ commands: program, bindings, signals: [one.at(1)] });
    assert.equal(one.query(), 1);
    assert.throws(() => world.queue.execute({ commands: program, bindings }), { status: 'FAILED_PRECONDITION' });
  },
  TablesAreTakenWhenTheyAreGiven: async (world) => {
    using program = filling(world);
    const gate = world.semaphore();
    const [target, other, source] = [world.buffer(16), world.buffer(16), world.buffer(4)];
    const bindings = [target, source];
    const end = world.queue.execute({ commands: program, bindings, waits: [gate.at(1)] });
    bindings[0] = other;
    gate.signal(1);
    await end;
    await world.expect(other, new Uint8Array(16));
    assert.equal((await world.contents(target))[4], 1);
  },
  ManyAtOnceWithOtherTables: async (world) => {
    using program = filling(world);
    const source = await world.filled(someBytes(4));
    const targets = Array.from({ length: 8 }, () => world.buffer(12));
    const ends = targets.map((target, i) =>
      world.device.queue(i % 2).execute({ commands: program, bindings: { target, source } }),
    );
    await world.queue.barrier({ waits: ends });
    for (const target of targets) {
      await world.expect(target, Uint8Array.of(...someBytes(4), ...repeated([1], 8)));
    }
    assert.equal(program.executions, 8);
  },
};

/** A program that fills its slot with a byte. */
const filler = (world: World, value: number, label = `fill ${value}`) =>
  world.device.record({ slots: ['x'], label }, (commands) =>
    commands.fill({ target: { slot: 'x' }, pattern: Uint8Array.of(value) }),
  );

/** What a program of this does to 8 bytes. */
async function outcome(world: World, build: (commands: CommandRecorder) => void): Promise<number[]> {
  const buffer = world.buffer(8);
  using program = world.device.record({ slots: ['y'] }, build);
  await world.queue.execute({ commands: program, bindings: [buffer] });
  return [...(await world.contents(buffer))];
}

export const NestingTest: Group = {
  SlotsOfSlotsOfSlots: async (world) => {
    using inner = filler(world, 3);
    using middle = world.device.record({ slots: ['z'] }, (commands) =>
      commands.execute(inner, [{ slot: 'z', offsetBytes: 2, sizeBytes: 2 }]),
    );
    const found = await outcome(world, (commands) => commands.execute(middle, [{ slot: 'y', offsetBytes: 2 }]));
    assert.deepEqual(found, [0, 0, 0, 0, 3, 3, 0, 0]);
  },
  OneProgramSeveralTimes: async (world) => {
    using inner = filler(world, 5);
    const found = await outcome(world, (commands) => {
      for (const offsetBytes of [0, 3, 6]) commands.execute(inner, [{ slot: 'y', offsetBytes, sizeBytes: 1 }]);
    });
    assert.deepEqual(found, [5, 0, 0, 5, 0, 0, 5, 0]);
  },
  WhatIsInsideIsOrdered: async (world) => {
    using one = filler(world, 1);
    using two = filler(world, 2);
    const found = await outcome(world, (commands) => {
      const whole = [{ slot: 'y' }];
      commands
        .execute(one, whole)
        .execute(two, whole)
        .fill({ target: { slot: 'y', sizeBytes: 2 }, pattern: ONE });
    });
    assert.deepEqual(found, [1, 1, 2, 2, 2, 2, 2, 2]);
  },
  InnerProgramsAreKeptWithWhatTheyUse: async (world) => {
    const used = world.device.allocate(8);
    const target = world.buffer(8);
    const inner = world.device.record({ slots: ['x'] }, (commands) =>
      commands
        .fill({ target: used, pattern: Uint8Array.of(4) })
        .barrier()
        .copy({ source: used, target: { slot: 'x' } }),
    );
    const outer = world.device.record({}, (commands) => commands.execute(inner, [target]));
    const before = world.device.allocator.statistics.liveCount;
    for (const each of [used, inner]) each[Symbol.dispose]();
    assert.equal(world.device.allocator.statistics.liveCount, before);
    await world.queue.execute({ commands: outer });
    await world.expect(target, repeated([4], 8));
    outer[Symbol.dispose]();
    assert.equal(world.device.allocator.statistics.liveCount, before - 1);
  },
  TheEndOfAProgramIsABarrier: executing(async (world) => {
    const [ids, target] = [world.buffer(4 * 64), world.buffer(4)];
    using inner = world.device.record({}, (commands) =>
      commands.dispatch({ entry: world.entry('write_workgroup_ids'), groups: 64, bindings: [ids] }),
    );
    using outer = world.device.record({}, (commands) =>
      commands.execute(inner).copy({ source: ids.subspan(4 * 63, 4), target }),
    );
    await world.queue.execute({ commands: outer });
    await world.expect(target, Uint32Array.of(63));
  }),
  InALoop: async (world) => {
    const state = await world.filled(Int32Array.of(1, 1, 1, 0));
    const scratch = world.buffer(12);
    using step = world.device.record({ slots: ['state', 'scratch'] }, (commands) =>
      commands
        .copy({ source: { slot: 'state', offsetBytes: 4, sizeBytes: 12 }, target: { slot: 'scratch', sizeBytes: 12 } })
        .barrier()
        .copy({ source: { slot: 'scratch', sizeBytes: 12 }, target: { slot: 'state', sizeBytes: 12 } }),
    );
    using loop = world.device.record({}, (commands) =>
      commands.while(state.subspan(0, 4), (body) => body.execute(step, [state, scratch])),
    );
    await world.queue.execute({ commands: loop });
    await world.expect(state, Int32Array.of(0, 0, 0, 0));
  },
  WhatIsMissingIsSaidWhenItIsRecorded: (world) => {
    using inner = filler(world, 1, 'inner');
    using once = world.device.record({ mode: 'one-shot', label: 'once' }, () => {});
    const findings = world.device.validate({ slots: ['y'] }, (commands) => {
      commands
        .execute(inner)
        .execute(once)
        .execute(inner, [{ slot: 'nothing' }]);
    });
    assert.deepEqual(
      findings.map(({ severity, command }) => [severity, command]),
      [0, 1, 2].map((command) => ['error', command]),
    );
    assert.match(
      findings.map(({ message }) => message).join('; '),
      /slot 0 of 'inner'.*'once' was recorded.*no slot nothing/s,
    );
  },
  BuffersThatAreTooSmallInside: (world) => {
    using inner = world.device.record({ slots: ['x'], label: 'inner' }, (commands) =>
      commands.fill({ target: { slot: 'x', offsetBytes: 8, sizeBytes: 8 }, pattern: ONE }),
    );
    using outer = world.device.record({ slots: ['y'] }, (commands) => commands.execute(inner, [{ slot: 'y' }]));
    assert.throws(() => world.queue.execute({ commands: outer, bindings: [world.buffer(15)] }), {
      status: 'OUT_OF_RANGE',
    });
  },
};

export const EventReuseTest: Group = {
  SetTwiceIsSet: async (world) => {
    const event = world.device.createEvent();
    await world.commands({}, (commands) => commands.setEvent(event).setEvent(event).waitEvents(event));
    assert.equal(event.isSet, true);
  },
  SetBeforeAnybodyWaits: async (world) => {
    const event = world.device.createEvent();
    await world.commands({}, (commands) => commands.setEvent(event));
    await world.commands({}, (commands) => commands.waitEvents(event).resetEvent(event));
    assert.equal(event.isSet, false);
  },
  OneReleasesSeveral: async (world) => {
    const event = world.device.createEvent();
    using waiting = world.device.record({}, (commands) => commands.waitEvents(event));
    const ends = [0, 1, 0].map((queue) => world.device.queue(queue).execute({ commands: waiting }));
    await world.queue.barrier();
    assert.deepEqual(
      ends.map(({ state }) => state),
      ['running', 'running', 'running'],
    );
    await world.commands({}, (commands) => commands.setEvent(event));
    for (const end of ends) await end;
  },
  SeveralReleaseOne: async (world) => {
    const events = [1, 2, 3].map(() => world.device.createEvent());
    using waiting = world.device.record({}, (commands) => commands.waitEvents(...events));
    const end = world.otherQueue.execute({ commands: waiting });
    for (const event of events) {
      await world.queue.barrier();
      assert.equal(end.state, 'running');
      await world.commands({}, (commands) => commands.setEvent(event));
    }
    await end;
  },
  PingPong: async (world) => {
    const [ping, pong] = [world.device.createEvent('ping'), world.device.createEvent('pong')];
    const total = world.buffer(20);
    const turns = (own: typeof ping, other: typeof ping, offset: number) =>
      world.device.record({}, (commands) => {
        for (let i = 0; i < 5; i++) {
          commands.waitEvents(own).resetEvent(own);
          commands.fill({ target: total.subspan(4 * i + offset, 2), pattern: Uint8Array.of(i + 1) }).barrier();
          commands.setEvent(other);
        }
      });
    using first = turns(ping, pong, 0);
    using second = turns(pong, ping, 2);
    const ends = [world.queue.execute({ commands: first }), world.otherQueue.execute({ commands: second })];
    await world.commands({}, (commands) => commands.setEvent(ping));
    await Promise.all(ends);
    assert.deepEqual([ping.isSet, pong.isSet], [true, false]);
    await world.expect(total, bytesOf(Uint8Array.from({ length: 20 }, (_, i) => 1 + (i >> 2))));
  },
  AgainInTheNextExecution: async (world) => {
    const event = world.device.createEvent();
    using waiting = world.device.record({}, (commands) => commands.waitEvents(event).resetEvent(event));
    using setting = world.device.record({}, (commands) => commands.setEvent(event));
    for (let i = 0; i < 4; i++) {
      const late = world.otherQueue.execute({ commands: waiting });
      await world.queue.barrier();
      assert.equal(late.state, 'running');
      await world.queue.execute({ commands: setting });
      await late;
      assert.equal(event.isSet, false);
    }
  },
};

/** The arguments of `mix`: two addresses, a factor and a count. */
function mixArguments(input: HalBuffer, output: HalBuffer, factor: number, count: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(24));
  for (const [i, buffer] of [input, output].entries()) view.setBigUint64(8 * i, buffer.deviceAddress!, true);
  view.setUint32(16, factor, true);
  view.setUint32(20, count, true);
  return new Uint8Array(view.buffer);
}

const gpuCode = (body: Body) => ({ needs: ['execution', 'code-objects'] as const, body });

export const CustomArgumentsTest: Group = {
  ABlockAsItIs: gpuCode(async (world) => {
    const { queue, otherQueue } = world;
    const [input, output] = [await world.filled(Uint32Array.of(5, 6, 7, 8)), world.buffer(16)];
    const dispatch = { entry: world.entry('mix'), groups: 1, workgroupSize: 64, bindings: [input, output] };
    const block = mixArguments(input, output, 3, 4);
    await queue.fill({ target: output, pattern: Uint8Array.of(0) });
    const first = queue.dispatch({ ...dispatch, arguments: block });
    block.fill(0xff);
    await first;
    await world.expect(output, Uint32Array.of(15, 18, 21, 24));
    // With and without one in turn, and others behind packets of another queue.
    const second = otherQueue.dispatch({ ...dispatch, constants: [1, 4] });
    const third = queue.dispatch({ ...dispatch, arguments: mixArguments(input, output, 2, 1), waits: [second] });
    await third;
    await world.expect(output, Uint32Array.of(30, 24, 28, 32));
  }),
  ABlockOfABuffer: gpuCode(async (world) => {
    const { queue } = world;
    const [input, output] = [await world.filled(Uint32Array.of(1, 2, 3, 4)), world.buffer(16)];
    const from = await world.filled(new Uint8Array(32));
    const timeline = world.semaphore();
    const dispatch = { entry: world.entry('mix'), groups: 1, workgroupSize: 64, bindings: [input, output] };
    const zero = queue.fill({ target: output, pattern: Uint8Array.of(0) });
    const end = queue.dispatch({ ...dispatch, arguments: { from: from.subspan(8) }, waits: [zero, timeline.at(1)] });
    const contents = mixArguments(input, output, 10, 4);
    queue.update({ target: from.subspan(8), contents, signals: [timeline.at(1)] });
    await end;
    await world.expect(output, Uint32Array.of(10, 20, 30, 40));
    assert.throws(() => queue.dispatch({ ...dispatch, arguments: { from: from.subspan(12) } }), {
      ...invalid,
      message: /20 bytes of arguments, 'mix' takes 24/,
    });
    assert.throws(() => world.device.record({}, (all) => all.dispatch({ ...dispatch, arguments: { from } })), invalid);
  }),
  InCommandBuffers: gpuCode(async (world) => {
    const [input, output] = [await world.filled(Uint32Array.of(1, 2, 3, 4)), world.buffer(16)];
    const custom = mixArguments(input, output, 7, 4);
    const dispatch = { entry: world.entry('mix'), groups: 1, workgroupSize: 64, arguments: custom };
    for (const mode of [[], ['one-shot']] as const) {
      using program = world.device.record({ slots: ['out'], mode }, (commands) =>
        commands
          .fill({ target: { slot: 'out' }, pattern: Uint8Array.of(0) })
          .barrier()
          .dispatch({ ...dispatch, bindings: [input, { slot: 'out' }] }),
      );
      await world.queue.execute({ commands: program, bindings: [output] });
      await world.expect(output, Uint32Array.of(7, 14, 21, 28));
    }
  }),
  WhatDoesNotFit: (world) => {
    const dispatch = { entry: world.entry('mix'), groups: 1, workgroupSize: 64 };
    const refuse = (options: object, expected: object) =>
      assert.throws(() => world.queue.dispatch({ ...dispatch, ...options }), expected);
    if (!world.subject.tags.includes('code-objects')) {
      refuse({ arguments: new Uint8Array(24) }, { status: 'UNIMPLEMENTED', message: /no block of arguments/ });
      return;
    }
    refuse({ arguments: new Uint8Array(23) }, { ...invalid, message: /23 bytes of arguments, 'mix' takes 24/ });
    refuse({ arguments: new Uint8Array(24), constants: [1] }, { ...invalid, message: /1 words of constants and/ });
    using other = world.device.allocate(24, { usage: 'transfer' });
    refuse({ arguments: { from: other } }, { status: 'PERMISSION_DENIED' });
  },
};

export const FlushTest: Group = {
  WhatMayBeginHasBegun: async (world) => {
    const { queue, otherQueue } = world;
    const [gate, target] = [world.semaphore(), world.buffer(16)];
    queue.flush();
    const first = queue.fill({ target, pattern: ONE });
    const later = otherQueue.barrier({ waits: [gate.at(1)] });
    assert.equal(first.state, 'ready');
    queue.flush();
    assert.ok(['running', 'complete'].includes(first.state));
    assert.equal(later.state, 'waiting');
    gate.signal(1);
    otherQueue.flush();
    assert.ok(['running', 'complete'].includes(later.state));
    await Promise.all([first, later]);
    await world.expect(target, repeated([1], 16));
  },
};
