/** Dispatches of queues and of command buffers. */
import assert from 'node:assert/strict';

import type { ProfileFilter } from '../devices/profile-session.ts';
import type { HalBuffer } from '../memory/buffer.ts';
import { executing, type Group, measuring, type World } from './cts.test-support.ts';

const INPUT = Int32Array.of(1, 2, 3, 4);
const SCALED = Int32Array.of(13, 16, 19, 22);
const scale = (world: World, bindings: readonly HalBuffer[]) => ({
  entry: world.entry('scale_and_offset'),
  groups: 1,
  constants: [3, 10],
  bindings,
});

/** Kernels that `run` lets run, as far as a filter lets them through. */
async function kernelsOf(world: World, run: () => PromiseLike<unknown>, filter: ProfileFilter = {}) {
  const events = await world.profiled({ data: ['dispatch-events'], filter }, run);
  return events.filter((event) => event.data === 'dispatch-events');
}

export const QueueDispatchTest: Group = {
  DispatchWithConstantsAndBindings: executing(async (world) => {
    const output = world.buffer(16);
    await world.queue.dispatch(scale(world, [await world.filled(INPUT), output]));
    await world.expect(output, SCALED);
  }),
  DispatchWithBorrowedResourceLifetimes: executing(async (world) => {
    const output = world.buffer(16);
    {
      using input = await world.filled(INPUT);
      const end = world.queue.dispatch(scale(world, [input, output]));
      input[Symbol.dispose]();
      await end;
    }
    await world.expect(output, SCALED);
  }),
  DispatchWithConstantsAndBindingsWhileProfiling: measuring(async (world) => {
    const output = world.buffer(16);
    const bindings = [await world.filled(INPUT), output];
    const [event, ...others] = await kernelsOf(world, () => world.queue.dispatch(scale(world, bindings)));
    await world.expect(output, SCALED);
    assert.deepEqual([event!.kernel.entry.name, event!.kernel.groups, others], ['scale_and_offset', [1, 1, 1], []]);
    assert.ok(event!.startTicks <= event!.endTicks);
  }),
  DispatchHostQueueEventProfiling: executing(async (world) => {
    const bindings = [await world.filled(INPUT), world.buffer(16)];
    const events = await world.profiled({ data: ['queue-events'] }, () => world.queue.dispatch(scale(world, bindings)));
    assert.deepEqual(
      events.map((event) => event.data === 'queue-events' && [event.operation.kind, event.kind]),
      ['submitted', 'ready', 'started', 'complete'].map((kind) => ['dispatch', kind]),
    );
  }),
  DispatchDeviceQueueEventProfiling: measuring(async (world) => {
    const bindings = [await world.filled(INPUT), world.buffer(16)];
    const run = () => world.queue.dispatch(scale(world, bindings));
    const [event, ...others] = await world.profiled({ data: ['device-queue-events'] }, run);
    assert.ok(event?.data === 'device-queue-events' && event.startTicks <= event.endTicks);
    assert.deepEqual([event.operation.kind, event.kernelCount, others], ['dispatch', 1, []]);
  }),
  DispatchProfileFilterCanSkipDirectDispatchEvents: measuring(async (world) => {
    const bindings = [await world.filled(INPUT), world.buffer(16)];
    const run = () => world.queue.dispatch(scale(world, bindings));
    const count = async (filter: ProfileFilter) => (await kernelsOf(world, run, filter)).length;
    assert.equal(await count({ kernel: 'another' }), 0);
    assert.equal(await count({ kernel: 'scale' }), 0);
    assert.equal(await count({ kernel: 'scale_*' }), 1);
    assert.equal(await count({ kernel: 'scale_*', commandIndex: 0 }), 0);
    const ordinal = world.queue.deviceOrdinal;
    assert.equal(await count({ deviceOrdinal: ordinal }), 1);
    assert.equal(await count({ deviceOrdinal: ordinal + 1 }), 0);
  }),
  NoopDispatchSignalsAndDoesNotTouchBuffers: async (world) => {
    const output = await world.filled(Int32Array.of(99, 99, 99, 99));
    const one = world.semaphore();
    const options = { ...scale(world, [await world.filled(INPUT), output]), groups: [0, 1, 1] };
    world.queue.dispatch({ ...options, signals: [one.at(1)] });
    await one.at(1);
    await world.expect(output, Int32Array.of(99, 99, 99, 99));
  },
  DeferredNoopDispatch: async (world) => {
    const gate = world.semaphore();
    const output = await world.filled(Int32Array.of(99, 99, 99, 99));
    const options = { ...scale(world, [await world.filled(INPUT), output]), groups: [1, 0, 1] };
    const end = world.queue.dispatch({ ...options, waits: [gate.at(1)] });
    gate.signal(1);
    await end;
    await world.expect(output, Int32Array.of(99, 99, 99, 99));
  },
  DeferredWaitBeforeSignalDispatch: executing(async (world) => {
    const one = world.semaphore();
    const output = world.buffer(16);
    const bindings = [await world.filled(INPUT), output];
    world.queue.dispatch({ ...scale(world, bindings), waits: [one.at(1)], signals: [one.at(2)] });
    await world.otherQueue.barrier({ signals: [one.at(1)] });
    await one.at(2);
    await world.expect(output, SCALED);
  }),
};

/** Counts workgroups of a dispatch whose group counts a buffer holds. */
async function countIndirect(world: World, counts: readonly number[], offsetBytes = 0): Promise<void> {
  const words = new Uint32Array(offsetBytes / 4 + 3);
  words.set(counts, offsetBytes / 4);
  const params = await world.filled(words);
  const output = world.buffer(4);
  const from = offsetBytes === 0 ? params : { buffer: params, offsetBytes, sizeBytes: 12 };
  await world.queue.dispatch({ entry: world.entry('count_workgroups'), groups: { from }, bindings: [output] });
  await world.expect(output, Uint32Array.of(counts.reduce((product, each) => product * each, 1)));
}

/** As `countIndirect`, where a kernel writes the counts. */
async function countWritten(world: World): Promise<void> {
  const [params, output] = [world.buffer(12), world.buffer(4)];
  const first = world.queue.dispatch({
    entry: world.entry('write_dispatch_params'),
    groups: 1,
    constants: [5, 2, 1],
    bindings: [params],
  });
  const entry = world.entry('count_workgroups');
  await world.otherQueue.dispatch({ entry, groups: { from: params }, bindings: [output], waits: [first] });
  await world.expect(output, Uint32Array.of(10));
}

export const QueueDispatchIndirectParametersTest: Group = {
  StaticParameters: executing((world) => countIndirect(world, [2, 3, 4], 16)),
  DynamicParameters: executing((world) => countWritten(world)),
  StaticParametersWhileProfiling: measuring(async (world) => {
    const [event] = await kernelsOf(world, () => countIndirect(world, [2, 3, 4], 16));
    assert.deepEqual(event!.kernel.groups, [2, 3, 4]);
  }),
  DynamicParametersWhileProfiling: measuring(async (world) => {
    const events = await kernelsOf(world, () => countWritten(world));
    assert.deepEqual(
      events.map(({ kernel }) => [kernel.entry.name, kernel.groups]),
      [
        ['write_dispatch_params', [1, 1, 1]],
        ['count_workgroups', [5, 2, 1]],
      ],
    );
    assert.ok(events[0]!.endTicks <= events[1]!.startTicks);
  }),
  WholeBufferParameterRef: executing((world) => countIndirect(world, [7, 1, 1])),
};

export const DispatchTest: Group = {
  DispatchAbs: executing(async (world) => {
    const output = await world.filled(Float32Array.of(-9, -9, -9, -9));
    const input = await world.filled(Float32Array.of(-2.5, 2.5, -2.5, 7.5));
    await world.commands({ input, output }, (commands, ref) =>
      commands.dispatch({
        entry: world.entry('absolute'),
        groups: 2,
        bindings: [ref('input', 4, 8), ref('output', 4, 8)],
      }),
    );
    await world.expect(output, Float32Array.of(-9, 2.5, 2.5, -9));
  }),
};

export const DispatchConstantsTest: Group = {
  DispatchWithDispatchConstants: executing(async (world) => {
    const output = world.buffer(16);
    const entry = world.entry('write_constants');
    await world.commands({ output }, (commands, ref) =>
      commands.dispatch({ entry, groups: 1, constants: Uint32Array.of(11, 22, 33, 44), bindings: [ref('output')] }),
    );
    await world.expect(output, Uint32Array.of(11, 22, 33, 44));
  }),
};

export const DispatchConstantsBindingsTest: Group = {
  ScaleAndOffset: executing(async (world) => {
    const buffers = { input: await world.filled(INPUT), output: world.buffer(16) };
    await world.commands(buffers, (commands, ref) =>
      commands.dispatch({ ...scale(world, []), bindings: [ref('input'), ref('output')] }),
    );
    await world.expect(buffers.output, SCALED);
  }),
};

export const DispatchMultiWorkgroupTest: Group = {
  WriteWorkgroupIds: executing(async (world) => {
    const output = world.buffer(32 * 4);
    await world.commands({ output }, (commands, ref) =>
      commands.dispatch({ entry: world.entry('write_workgroup_ids'), groups: 32, bindings: [ref('output')] }),
    );
    await world.expect(
      output,
      Uint32Array.from({ length: 32 }, (_, i) => i),
    );
  }),
};

export const DispatchMultiEntrypointTest: Group = {
  NegateAndDouble: executing(async (world) => {
    const buffers = {
      input: await world.filled(Float32Array.of(1, -2, 3, -4)),
      a: world.buffer(16),
      b: world.buffer(16),
    };
    await world.commands(buffers, (commands, ref) => {
      commands.dispatch({ entry: world.entry('negate'), groups: 1, bindings: [ref('input'), ref('a')] });
      commands.dispatch({ entry: world.entry('double_it'), groups: 1, bindings: [ref('input'), ref('b')] });
    });
    await world.expect(buffers.a, Float32Array.of(-1, 2, -3, 4));
    await world.expect(buffers.b, Float32Array.of(2, -4, 6, -8));
  }),
};

/** Group counts that something of the program made, then a count of the groups that ran. */
const indirectCommands = (
  make: (world: World, params: HalBuffer, commands: Parameters<Parameters<World['commands']>[1]>) => void,
  expected: number,
  offsetBytes = 0,
) =>
  executing(async (world: World) => {
    const buffers = { params: world.buffer(offsetBytes + 16), output: world.buffer(4) };
    await world.commands(buffers, (commands, ref) => {
      make(world, buffers.params, [commands, ref]);
      const from = ref('params', offsetBytes, 12);
      commands
        .barrier()
        .dispatch({ entry: world.entry('count_workgroups'), groups: { from }, bindings: [ref('output')] });
    });
    await world.expect(buffers.output, Uint32Array.of(expected));
  });

export const DispatchIndirectParametersTest: Group = {
  StaticParametersFromQueueUpdate: executing(async (world) => {
    const buffers = { params: await world.filled(Uint32Array.of(3, 2, 1)), output: world.buffer(4) };
    await world.commands(buffers, (commands, ref) =>
      commands.dispatch({
        entry: world.entry('count_workgroups'),
        groups: { from: ref('params') },
        bindings: [ref('output')],
      }),
    );
    await world.expect(buffers.output, Uint32Array.of(6));
  }),
  WholeBufferParameterRef: indirectCommands(
    (_, __, [commands, ref]) => commands.update({ target: ref('params'), contents: Uint32Array.of(4, 1, 1) }),
    4,
  ),
  DynamicParametersFromUpdate: indirectCommands(
    (_, __, [commands, ref]) => commands.update({ target: ref('params'), contents: Uint32Array.of(2, 2, 2) }),
    8,
  ),
  DynamicParametersFromFill: indirectCommands(
    (_, __, [commands, ref]) => commands.fill({ target: ref('params'), pattern: Uint8Array.of(3, 0, 0, 0) }),
    27,
  ),
  DynamicParametersFromDispatch: indirectCommands((world, _, [commands, ref]) => {
    const entry = world.entry('write_dispatch_params');
    commands.dispatch({ entry, groups: 1, constants: [5, 3, 1], bindings: [ref('params')] });
  }, 15),
  SubAllocatedParameterBuffer: indirectCommands(
    (_, __, [commands, ref]) => commands.update({ target: ref('params', 8), contents: Uint32Array.of(2, 3, 1) }),
    6,
    8,
  ),
};

export const DispatchPipelineTest: Group = {
  UpdateThenDispatch: executing(async (world) => {
    const buffers = { input: world.buffer(16), output: world.buffer(16) };
    await world.commands(buffers, (commands, ref) => {
      commands.update({ target: ref('input'), contents: INPUT }).barrier();
      commands.dispatch({ ...scale(world, []), bindings: [ref('input'), ref('output')] });
    });
    await world.expect(buffers.output, SCALED);
  }),
  ChainedDispatches: executing(async (world) => {
    const buffers = { input: await world.filled(INPUT), middle: world.buffer(16), output: world.buffer(16) };
    await world.commands(buffers, (commands, ref) => {
      commands.dispatch({ ...scale(world, []), bindings: [ref('input'), ref('middle')] }).barrier();
      commands.dispatch({ ...scale(world, []), bindings: [ref('middle'), ref('output')] });
    });
    await world.expect(buffers.output, Int32Array.of(49, 58, 67, 76));
  }),
  FillDispatchDispatchPipeline: executing(async (world) => {
    const buffers = { input: world.buffer(16), middle: world.buffer(16), output: world.buffer(16) };
    await world.commands(buffers, (commands, ref) => {
      commands.fill({ target: ref('input'), pattern: Uint8Array.of(2, 0, 0, 0) }).barrier();
      commands.dispatch({ ...scale(world, []), bindings: [ref('input'), ref('middle')] }).barrier();
      commands.dispatch({ ...scale(world, []), bindings: [ref('middle'), ref('output')] });
    });
    await world.expect(buffers.output, Int32Array.of(58, 58, 58, 58));
  }),
  TransientInputPipeline: executing(async (world) => {
    const output = world.buffer(16);
    const memory = world.queue.alloca({ sizeBytes: 16 });
    const update = world.queue.update({ target: memory.result, contents: INPUT, waits: [memory] });
    const end = world.otherQueue.dispatch({ ...scale(world, [memory.result, output]), waits: [update] });
    await world.queue.dealloca({ buffer: memory.result, waits: [end] });
    await world.expect(output, SCALED);
  }),
  ReusablePipelineWithDifferentInputs: executing(async (world) => {
    const output = world.buffer(16);
    using program = world.device.record({ slots: ['input', 'output'] }, (commands) =>
      commands.dispatch({ ...scale(world, []), bindings: [{ slot: 'input' }, { slot: 'output' }] }),
    );
    for (const start of [1, 5, 9]) {
      const input = await world.filled(INPUT.map((each) => each + start));
      await world.queue.execute({ commands: program, bindings: { input, output } });
      await world.expect(
        output,
        SCALED.map((each) => each + 3 * start),
      );
    }
  }),
};

const scaleProgram = (world: World) =>
  world.device.record({ slots: ['input', 'output'] }, (commands) =>
    commands.dispatch({ ...scale(world, []), bindings: [{ slot: 'input' }, { slot: 'output' }] }),
  );

export const DispatchReuseTest: Group = {
  ResubmitWithDifferentBindings: executing(async (world) => {
    using program = scaleProgram(world);
    const input = await world.filled(INPUT);
    const outputs = [world.buffer(16), world.buffer(16)];
    for (const output of outputs) await world.queue.execute({ commands: program, bindings: { input, output } });
    for (const output of outputs) await world.expect(output, SCALED);
  }),
  DispatchProfilingRecordsCommandBufferDispatch: measuring(async (world) => {
    using program = scaleProgram(world);
    const bindings = { input: await world.filled(INPUT), output: world.buffer(16) };
    const [event, ...others] = await kernelsOf(world, () => world.queue.execute({ commands: program, bindings }));
    assert.deepEqual([event!.operation.kind, event!.kernel.entry.name, others], ['execute', 'scale_and_offset', []]);
    assert.equal(typeof event!.kernel.commandIndex, 'number');
  }),
  LargeWorkgroupCount: executing(async (world) => {
    const output = world.buffer(1024 * 4);
    await world.commands({ output }, (commands, ref) =>
      commands.dispatch({ entry: world.entry('write_workgroup_ids'), groups: 1024, bindings: [ref('output')] }),
    );
    await world.expect(
      output,
      Uint32Array.from({ length: 1024 }, (_, i) => i),
    );
  }),
  MixedDirectAndIndirectBindings: executing(async (world) => {
    const [input, output] = [await world.filled(INPUT), world.buffer(16)];
    using program = world.device.record({ slots: 1 }, (commands) =>
      commands.dispatch({ ...scale(world, []), bindings: [input, { slot: 0 }] }),
    );
    await world.queue.execute({ commands: program, bindings: [output] });
    await world.expect(output, SCALED);
  }),
  DeferredExecuteRetainsDispatchBindingTable: executing(async (world) => {
    const gate = world.semaphore();
    using program = scaleProgram(world);
    const [input, output] = [await world.filled(INPUT), world.buffer(16)];
    const end = world.queue.execute({ commands: program, bindings: { input, output }, waits: [gate.at(1)] });
    input[Symbol.dispose]();
    program[Symbol.dispose]();
    gate.signal(1);
    await end;
    await world.expect(output, SCALED);
  }),
  AllocaExecuteDeallocaCycle: executing(async (world) => {
    using program = scaleProgram(world);
    const input = await world.filled(INPUT);
    for (let i = 0; i < 4; i++) {
      const memory = world.queue.alloca({ sizeBytes: 16 });
      const bindings = { input, output: memory.result };
      await world.queue.execute({ commands: program, bindings, waits: [memory] });
      await world.expect(memory.result, SCALED);
      await world.queue.dealloca({ buffer: memory.result });
    }
  }),
  PipelinedAllocaExecuteDealloca: executing(async (world) => {
    using program = scaleProgram(world);
    const input = await world.filled(INPUT);
    const one = world.semaphore();
    for (let i = 0; i < 4; i++) {
      const [start, ready, ran, end] = [0, 1, 2, 3].map((step) => one.at(3 * i + step));
      const { result: output } = world.queue.alloca({ sizeBytes: 16, waits: [start!], signals: [ready!] });
      world.otherQueue.execute({ commands: program, bindings: { input, output }, waits: [ready!], signals: [ran!] });
      world.queue.dealloca({ buffer: output, waits: [ran!], signals: [end!] });
    }
    await one.at(12);
  }),
  MultipleDispatchesInSingleCommandBuffer: executing(async (world) => {
    const buffers = { input: await world.filled(INPUT), output: world.buffer(16 * 8) };
    await world.commands(buffers, (commands, ref) => {
      for (let i = 0; i < 8; i++) {
        commands.dispatch({
          ...scale(world, []),
          constants: [1, i],
          bindings: [ref('input'), ref('output', 16 * i, 16)],
        });
      }
    });
    const expected = Int32Array.from({ length: 32 }, (_, i) => INPUT[i % 4]! + Math.floor(i / 4));
    await world.expect(buffers.output, expected);
  }),
  MultiDispatchProfilingFiltersCommandIndex: measuring(async (world) => {
    const buffers = { input: await world.filled(INPUT), output: world.buffer(16) };
    const run = () =>
      world.commands(buffers, (commands, ref) => {
        for (let i = 0; i < 3; i++) {
          commands.dispatch({ ...scale(world, []), bindings: [ref('input'), ref('output')] }).barrier();
        }
      });
    const all = (await kernelsOf(world, run)).map(({ kernel }) => kernel.commandIndex!);
    assert.equal(new Set(all).size, 3);
    const [event, ...others] = await kernelsOf(world, run, { commandIndex: all[1]! });
    assert.deepEqual([event!.kernel.commandIndex, others], [all[1], []]);
    await world.expect(buffers.output, SCALED);
  }),
  MultiDispatchMultiResubmit: executing(async (world) => {
    const total = world.buffer(4);
    using program = world.device.record({ slots: 1 }, (commands) => {
      for (let i = 0; i < 4; i++) {
        commands.dispatch({ entry: world.entry('count_workgroups'), groups: 2, bindings: [{ slot: 0 }] }).barrier();
      }
    });
    const all = Array.from({ length: 8 }, () => world.queue.execute({ commands: program, bindings: [total] }));
    await world.otherQueue.barrier({ waits: all });
    await world.expect(total, Uint32Array.of(64));
  }),
};
