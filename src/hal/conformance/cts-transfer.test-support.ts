/** Transfers of queues and of command buffers. */
import assert from 'node:assert/strict';
import { bytesOf, type Group, repeated, replaced, someBytes, type World } from './cts.test-support.ts';

const PATTERNS = [[0x11], [0x11, 0x22], [0x11, 0x22, 0x33, 0x44]] as const;
const BIG = 2 ** 20;
/** Offsets into source and target, and lengths, that drivers copy by different ways. */
const OFFSETS = [
  [0, 0],
  [8, 8],
  [4, 4],
  [1, 2],
] as const;
const LENGTHS = [4, 8, 12, 16, 60, 128, 252, 1024, 4096, 65_536];

const fills =
  (pattern: readonly number[], size: number, offset = 0, length = size) =>
  async (world: World) => {
    const target = world.buffer(size);
    await world.queue.fill({ target: target.subspan(offset, length), pattern: Uint8Array.from(pattern) });
    await world.expect(target, replaced(new Uint8Array(size), offset, repeated(pattern, length)));
  };

/** Every pattern at every offset and length that it fits, by `fill`. */
const fillClasses = async (
  world: World,
  fill: (target: ReturnType<World['buffer']>, pattern: readonly number[], offset: number, length: number) => unknown,
) => {
  for (const pattern of PATTERNS) {
    for (const [offset] of OFFSETS) {
      for (const length of LENGTHS.slice(0, 8)) {
        if (offset % pattern.length !== 0) continue;
        const target = world.buffer(offset + length + 4);
        await fill(target, pattern, offset, length);
        const expected = replaced(new Uint8Array(offset + length + 4), offset, repeated(pattern, length));
        await world.expect(target, expected);
        target[Symbol.dispose]();
      }
    }
  }
};

const copyClasses = async (
  world: World,
  copy: (
    buffers: { source: ReturnType<World['buffer']>; target: ReturnType<World['buffer']> },
    from: number,
    to: number,
    length: number,
  ) => unknown,
) => {
  const contents = someBytes(65_536 + 16);
  const source = await world.filled(contents);
  for (const [from, to] of OFFSETS) {
    for (const length of LENGTHS) {
      const target = world.buffer(to + length + 3);
      await copy({ source, target }, from, to, length);
      await world.expect(target, replaced(new Uint8Array(to + length + 3), to, contents.subarray(from, from + length)));
      target[Symbol.dispose]();
    }
  }
};

export const QueueTransferTest: Group = {
  FillEntireBuffer_1Byte: fills(PATTERNS[0], 16),
  FillEntireBuffer_2Byte: fills(PATTERNS[1], 16),
  FillEntireBuffer_4Byte: fills(PATTERNS[2], 16),
  FillSubrange: fills(PATTERNS[0], 16, 4, 8),
  FillLargeBuffer: fills(PATTERNS[2], BIG),
  FillSizeAlignmentAndPatternClasses: (world) =>
    fillClasses(world, (target, pattern, offset, length) =>
      world.queue.fill({ target: target.subspan(offset, length), pattern: Uint8Array.from(pattern) }),
    ),
  UpdateEntireBuffer: async (world) => world.expect(await world.filled(someBytes(32)), someBytes(32)),
  UpdateSubrange: async (world) => {
    const target = world.buffer(16);
    await world.queue.update({ target: target.subspan(4, 8), contents: someBytes(8) });
    await world.expect(target, replaced(new Uint8Array(16), 4, someBytes(8)));
  },
  UpdateWithSourceOffset: async (world) => {
    const target = await world.filled(someBytes(32).subarray(5, 21));
    await world.expect(target, someBytes(32).slice(5, 21));
  },
  UpdateLargerThanCommandBufferLimit: async (world) =>
    world.expect(await world.filled(someBytes(70_001)), someBytes(70_001)),
  UpdateCapturesSourceBeforeWaitResolves: async (world) => {
    const gate = world.semaphore();
    const target = world.buffer(8);
    const contents = someBytes(8);
    const update = world.queue.update({ target, contents, waits: [gate.at(1)] });
    contents.fill(0);
    gate.signal(1);
    await update;
    await world.expect(target, someBytes(8));
  },
  UpdateSizeAndAlignmentClasses: async (world) => {
    for (const [, offset] of OFFSETS) {
      for (const length of LENGTHS) {
        const target = world.buffer(offset + length);
        await world.queue.update({ target: target.subspan(offset), contents: someBytes(length) });
        await world.expect(target, replaced(new Uint8Array(offset + length), offset, someBytes(length)));
        target[Symbol.dispose]();
      }
    }
  },
  CopyEntireBuffer: async (world) => {
    const target = world.buffer(64);
    await world.queue.copy({ source: await world.filled(someBytes(64)), target });
    await world.expect(target, someBytes(64));
  },
  CopyWithOffsets: async (world) => {
    const source = await world.filled(someBytes(64));
    const target = world.buffer(64);
    await world.queue.copy({ source: source.subspan(3, 17), target: target.subspan(8, 17) });
    await world.expect(target, replaced(new Uint8Array(64), 8, someBytes(64).slice(3, 20)));
    const overlapping = { source: source.subspan(0, 8), target: source.subspan(4, 8) };
    assert.throws(() => world.queue.copy(overlapping), { status: 'INVALID_ARGUMENT' });
  },
  CopyLargeBuffer: async (world) => {
    const target = world.buffer(BIG);
    await world.queue.copy({ source: await world.filled(someBytes(BIG)), target });
    await world.expect(target, someBytes(BIG));
  },
  CopySizeAndAlignmentClasses: (world) =>
    copyClasses(world, ({ source, target }, from, to, length) =>
      world.queue.copy({ source: source.subspan(from, length), target: target.subspan(to, length) }),
    ),
  BurstCopySubmit: async (world) => {
    const contents = someBytes(64 * 4096);
    const [source, target] = [await world.filled(contents), world.buffer(contents.length)];
    for (let burst = 0; burst < 8; burst++) {
      const all = Array.from({ length: 64 }, (_, i) =>
        world.device
          .queue(i % 2)
          .copy({ source: source.subspan(4096 * i, 4096), target: target.subspan(4096 * i, 4096) }),
      );
      await world.queue.barrier({ waits: all });
    }
    await world.expect(target, contents);
  },
  FillAndCopyHostQueueEventProfiling: async (world) => {
    const [a, b] = [world.buffer(16), world.buffer(16)];
    const events = await world.profiled({ data: ['queue-events'] }, () => {
      const fill = world.queue.fill({ target: a, pattern: Uint8Array.of(5) });
      return world.queue.copy({ source: a, target: b, waits: [fill] });
    });
    const of = (wanted: string) =>
      events.flatMap((event) => (event.data === 'queue-events' && event.operation.kind === wanted ? [event.kind] : []));
    for (const kind of ['fill', 'copy']) assert.deepEqual(of(kind), ['submitted', 'ready', 'started', 'complete']);
    assert.equal(events.length, 8);
    await world.expect(b, repeated([5], 16));
  },
  ChainedFillThenCopy: async (world) => {
    const [a, b] = [world.buffer(16), world.buffer(16)];
    const fill = world.queue.fill({ target: a, pattern: Uint8Array.of(5) });
    await world.otherQueue.copy({ source: a, target: b, waits: [fill] });
    await world.expect(b, repeated([5], 16));
  },
  ChainedUpdateThenCopy: async (world) => {
    const [a, b] = [world.buffer(16), world.buffer(16)];
    const one = world.semaphore();
    world.otherQueue.update({ target: a, contents: someBytes(16), signals: [one.at(1)] });
    await world.queue.copy({ source: a, target: b, waits: [one.at(1)] });
    await world.expect(b, someBytes(16));
  },
  ChainedFillCopyFill: async (world) => {
    const [a, b] = [world.buffer(16), world.buffer(16)];
    const one = world.semaphore();
    world.queue.fill({ target: b, pattern: Uint8Array.of(2), waits: [one.at(2)], signals: [one.at(3)] });
    world.queue.copy({ source: a, target: b, waits: [one.at(1)], signals: [one.at(2)] });
    world.queue.fill({ target: a, pattern: Uint8Array.of(1), signals: [one.at(1)] });
    await one.at(3);
    await world.expect(a, repeated([1], 16));
    await world.expect(b, repeated([2], 16));
  },
  BarrierSignals: async (world) => {
    const one = world.semaphore();
    world.queue.barrier({ signals: [one.at(1)] });
    await one.at(1);
  },
  BarrierPreservesOrdering: async (world) => {
    const [a, b] = [world.buffer(16), world.buffer(16)];
    const fill = world.queue.fill({ target: a, pattern: Uint8Array.of(5) });
    const barrier = world.otherQueue.barrier({ waits: [fill] });
    await world.queue.copy({ source: a, target: b, waits: [barrier] });
    await world.expect(b, repeated([5], 16));
  },
};

const fillCommand =
  (pattern: readonly number[], size: number, offset: number, length: number) => async (world: World) => {
    const target = world.buffer(Math.max(size, offset + length));
    await world.commands({ target }, (commands, ref) =>
      commands.fill({ target: ref('target', offset, length), pattern: Uint8Array.from(pattern) }),
    );
    await world.expect(target, replaced(new Uint8Array(target.sizeBytes), offset, repeated(pattern, length)));
  };

/** The named cases of IREE's suite: pattern, size of the buffer, offset and length. */
const FILL_CASES: readonly (readonly [1 | 2 | 4, number, number, number])[] = [
  [1, 1, 0, 1],
  [1, 5, 0, 5],
  [1, 16, 0, 1],
  [1, 16, 0, 3],
  [1, 16, 0, 8],
  [1, 16, 2, 8],
  [2, 2, 0, 2],
  [2, 16, 0, 8],
  [2, 16, 0, 10],
  [2, 16, 2, 8],
  [4, 4, 0, 4],
  [4, 4, 16, 4],
  [4, 16, 0, 8],
  [4, 16, 8, 8],
];

export const CommandBufferFillBufferTest: Group = {
  ...Object.fromEntries(
    FILL_CASES.map(([pattern, size, offset, length]) => [
      `Pattern${pattern}_Size${size}_Offset${offset}_Length${length}`,
      fillCommand(PATTERNS[2].slice(0, pattern), size, offset, length),
    ]),
  ),
  FillSizeAlignmentAndPatternClasses: (world) =>
    fillClasses(world, (target, pattern, offset, length) =>
      world.commands({ target }, (commands, ref) =>
        commands.fill({ target: ref('target', offset, length), pattern: Uint8Array.from(pattern) }),
      ),
    ),
};

const updateCommand =
  (size: number, offset: number, contents: Uint8Array, spanOffset = 0) =>
  async (world: World) => {
    const whole = world.buffer(size);
    const target = whole.subspan(spanOffset);
    await world.commands({ target }, (commands, ref) =>
      commands.update({ target: ref('target', offset, contents.length), contents }),
    );
    await world.expect(whole, replaced(new Uint8Array(size), spanOffset + offset, contents));
  };

export const CommandBufferUpdateBufferTest: Group = {
  WholeBuffer: updateCommand(16, 0, someBytes(16)),
  LargerPayload: updateCommand(65_536, 0, someBytes(65_536)),
  WithOffsets: updateCommand(16, 5, someBytes(32).subarray(3, 11)),
  Subspan: updateCommand(32, 4, someBytes(8), 8),
};

export const CommandBufferCopyBufferTest: Group = {
  CopyWholeBuffer: async (world) => {
    const buffers = { source: await world.filled(someBytes(1024)), target: world.buffer(1024) };
    await world.commands(buffers, (commands, ref) => commands.copy({ source: ref('source'), target: ref('target') }));
    await world.expect(buffers.target, someBytes(1024));
  },
  CopySubBuffer: async (world) => {
    const buffers = { source: await world.filled(someBytes(64)), target: world.buffer(64) };
    await world.commands(buffers, (commands, ref) =>
      commands.copy({ source: ref('source', 7, 20), target: ref('target', 30, 20) }),
    );
    await world.expect(buffers.target, replaced(new Uint8Array(64), 30, someBytes(64).slice(7, 27)));
  },
  CopySizeAndAlignmentClasses: (world) =>
    copyClasses(world, (buffers, from, to, length) =>
      world.commands(buffers, (commands, ref) =>
        commands.copy({ source: ref('source', from, length), target: ref('target', to, length) }),
      ),
    ),
};

export const CommandBufferBasicTest: Group = {
  Create: ({ device }) => device.record({}, () => {})[Symbol.dispose](),
  BeginEnd: ({ device }) => {
    using program = device.record({ mode: 'one-shot' }, () => {});
    assert.equal(program.commands.length, 0);
  },
  SubmitEmpty: (world) => world.commands({}, () => {}),
};

export const CommandBufferStressTest: Group = {
  RapidFillSubmit: async (world) => {
    const target = world.buffer(200 * 4);
    const all = Array.from({ length: 200 }, (_, i) => {
      using program = world.device.record({ mode: 'one-shot' }, (commands) =>
        commands.fill({ target: target.subspan(4 * i, 4), pattern: bytesOf(Uint32Array.of(i)) }),
      );
      return world.queue.execute({ commands: program });
    });
    await world.queue.barrier({ waits: all });
    await world.expect(
      target,
      Uint32Array.from({ length: 200 }, (_, i) => i),
    );
  },
  RapidCopySubmit: async (world) => {
    const [source, target] = [await world.filled(someBytes(800)), world.buffer(800)];
    const all = Array.from({ length: 200 }, (_, i) => {
      const range = { offsetBytes: 4 * i, sizeBytes: 4 };
      using program = world.device.record({ mode: 'one-shot' }, (commands) =>
        commands.copy({ source: { buffer: source, ...range }, target: { buffer: target, ...range } }),
      );
      return world.queue.execute({ commands: program });
    });
    await world.queue.barrier({ waits: all });
    await world.expect(target, someBytes(800));
  },
  LargeFillCommandBuffer: async (world) => {
    const target = world.buffer(512 * 4);
    await world.commands({ target }, (commands, ref) => {
      for (let i = 0; i < 512; i++) {
        commands.fill({ target: ref('target', 4 * i, 4), pattern: bytesOf(Uint32Array.of(i)) });
      }
    });
    await world.expect(
      target,
      Uint32Array.from({ length: 512 }, (_, i) => i),
    );
  },
};
