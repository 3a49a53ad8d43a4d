/** Command buffers as blocks: what is in them, what is wrong with damaged ones, and that they run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PACKET_TYPE } from '../../../hsa/objects/layouts.ts';
import { decodeHeader, decodeKernelDispatch } from '../../../hsa/queues/packet.ts';
import type { CommandBuffer } from '../../commands/command-buffer.ts';
import { bufferOf, integersOf } from '../../conformance/readback.test-support.ts';
import { conformanceCode, createRegistry } from '../../conformance/subject.test-support.ts';
import { seededIntegers } from '../../core/random.ts';
import type { LogicalDevice } from '../../devices/logical-device.ts';
import { HostQueue } from '../host-queue.ts';
import { BLOCK, COMMAND, COMMAND_FLAG, DISPATCH, OPCODE, STRATEGY, UPDATE } from './abi.ts';
import { encodeSpan, measureSpan, type ProgramBindings } from './block-processor.ts';
import { CommandBlock, type CommandProgram } from './program.ts';
import { validateProgram } from './program-validation.ts';

interface Bench extends AsyncDisposable {
  readonly device: LogicalDevice;
  readonly queue: HostQueue;
  readonly entry: (name: string) => ReturnType<ReturnType<LogicalDevice['load']>['lookup']>;
}

async function benchOf(parameters = ''): Promise<Bench> {
  const registry = createRegistry();
  const device = await registry.open(`amdgpu?target=gfx90a${parameters}`);
  const code = device.load(conformanceCode('gfx90a'));
  const queue = device.queue().backend;
  assert.ok(queue instanceof HostQueue);
  const dispose = async (): Promise<void> => registry[Symbol.dispose]();
  return { device, queue, entry: (name) => code.lookup(name), [Symbol.asyncDispose]: dispose };
}

/** Offsets of the commands of a block. */
function commandsOf(block: CommandBlock): number[] {
  const end = block.field32(BLOCK.commandOffset) + block.field32(BLOCK.commandBytes);
  const found: number[] = [];
  for (let at = BLOCK.sizeBytes as number; at < end; at += 8 * block.field16(at + COMMAND.qwords)) found.push(at);
  return found;
}

const opcodesOf = (block: CommandBlock): number[] => commandsOf(block).map((at) => block.bytes[at + COMMAND.opcode]!);

const findingsOf = (program: CommandProgram, blocks = program.blocks) =>
  validateProgram({
    ...program,
    blocks,
    slotCount: program.commands.slots.length,
    kernargBytes: program.kernargs?.bytes.length ?? 0,
  });

test('arguments that stay are published, others are formed from what is known', async () => {
  await using bench = await benchOf();
  const { device, queue, entry } = bench;
  using buffer = device.allocate(16, { usage: ['default', 'dispatch-indirect-parameters'] });
  const scale = { entry: entry('scale_and_offset'), groups: 1, constants: [2, 1] };
  const strategiesOf = (commands: CommandBuffer): number[] =>
    queue.programOf(commands).blocks.flatMap((block) =>
      commandsOf(block)
        .filter((at) => block.bytes[at] === OPCODE.dispatch)
        .map((at) => block.bytes[at + DISPATCH.strategy]!),
    );
  const build = (mode: 'one-shot' | 'unretained' | undefined) =>
    device.record({ slots: 2, ...(mode && { mode }) }, (commands) => {
      commands.dispatch({ ...scale, bindings: [buffer, buffer] });
      commands.dispatch({ ...scale, bindings: [{ slot: 0 }, { slot: 1 }] });
      commands.dispatch({ ...scale, bindings: [buffer, { slot: 1 }] });
      commands.dispatch({ ...scale, groups: { from: buffer }, bindings: [buffer, { slot: 1 }] });
    });
  const { prepublished, dynamicBindings, patchedTemplate, hal } = STRATEGY;
  using plain = build(undefined);
  assert.deepEqual(strategiesOf(plain), [prepublished, dynamicBindings, patchedTemplate, hal]);
  using once = build('one-shot');
  assert.deepEqual(strategiesOf(once), [patchedTemplate, dynamicBindings, patchedTemplate, hal]);
  using loose = build('unretained');
  assert.deepEqual(strategiesOf(loose), [patchedTemplate, dynamicBindings, patchedTemplate, hal]);
  const { kernargs } = queue.programOf(plain);
  assert.ok(queue.reaches(kernargs!.address));
  plain[Symbol.dispose]();
  assert.ok(!queue.reaches(kernargs!.address), 'published arguments go with the command buffer');
});

test('blocks are filled, split and counted', async () => {
  await using bench = await benchOf('&block=512');
  const { device, queue, entry } = bench;
  using total = device.allocate(4);
  const count = { entry: entry('count_workgroups'), groups: 2 };
  using commands = device.record({ slots: 1 }, (recorder) => {
    for (let i = 0; i < 100; i++) recorder.dispatch({ ...count, bindings: [i % 2 === 0 ? total : { slot: 0 }] });
    recorder.barrier().barrier();
    recorder.dispatch({ ...count, bindings: [total] });
  });
  const program = queue.programOf(commands);
  assert.deepEqual(findingsOf(program), []);
  assert.ok(program.blocks.length > 20);
  for (const [i, block] of program.blocks.entries()) {
    assert.ok(block.bytes.length <= 512);
    assert.equal(block.field32(BLOCK.ordinal), i);
    assert.equal(
      block.field16(BLOCK.dispatchCount),
      opcodesOf(block).filter((each) => each === OPCODE.dispatch).length,
    );
    assert.equal(block.field32(BLOCK.maxPackets), block.field16(BLOCK.dispatchCount));
    assert.equal(block.terminator, i === program.blocks.length - 1 ? OPCODE.return : OPCODE.branch);
  }
  const all = program.blocks.flatMap(opcodesOf);
  assert.equal(all.filter((opcode) => opcode === OPCODE.dispatch).length, 101);
  assert.equal(all.filter((opcode) => opcode === OPCODE.barrier).length, 1, 'two barriers are one');
  const last = program.blocks.at(-1)!;
  const waiting = commandsOf(last).filter((at) => (last.bytes[at + COMMAND.flags]! & COMMAND_FLAG.barrier) !== 0);
  assert.equal(waiting.length, 1);
  for (let i = 0; i < 3; i++) await device.queue().execute({ commands, bindings: [total] });
  assert.deepEqual(await integersOf(device, total), [3 * 202]);
});

test('programs of nothing, of barriers and of contents', async () => {
  await using bench = await benchOf();
  const { device, queue } = bench;
  const firstOf = (build: Parameters<LogicalDevice['record']>[1]) => {
    const program = queue.programOf(device.record({}, build));
    assert.deepEqual([findingsOf(program), program.blocks.length], [[], 1]);
    const block = program.blocks[0]!;
    const counts = [BLOCK.maxPackets, BLOCK.maxKernargBytes, BLOCK.dataBytes].map((at) => block.field32(at));
    return { program, block, opcodes: opcodesOf(block), counts };
  };
  const empty = firstOf(() => {});
  assert.deepEqual([empty.opcodes, empty.counts], [[OPCODE.return], [0, 0, 0]]);
  const barrier = firstOf((commands) => commands.barrier());
  assert.deepEqual([barrier.opcodes, barrier.counts[0]], [[OPCODE.barrier, OPCODE.return], 0]);
  using buffer = device.allocate(8);
  const contents = [Uint8Array.of(1, 2, 3), Uint8Array.of(4, 5)];
  const updates = firstOf((commands) => {
    for (const each of contents) commands.update({ contents: each, target: buffer }).barrier();
  });
  const ordinals = commandsOf(updates.block)
    .filter((at) => updates.block.bytes[at] === OPCODE.update)
    .map((at) => Number(updates.block.view.getBigUint64(at + UPDATE.data, true)));
  assert.deepEqual(
    [ordinals, updates.program.data.map((each) => [...each])],
    [[0, 1], contents.map((each) => [...each])],
  );
});

test('what is wrong with a program is said, all of it', async () => {
  await using bench = await benchOf();
  const { device, queue, entry } = bench;
  using buffer = device.allocate(16);
  const scale = { entry: entry('scale_and_offset'), groups: 1, constants: [2, 1] };
  using commands = device.record({ slots: 2 }, (recorder) => {
    recorder.dispatch({ ...scale, bindings: [buffer, { slot: 1 }] });
    recorder.fill({ target: { slot: 0 }, pattern: Uint8Array.of(1) });
    recorder.if({ slot: 0, sizeBytes: 4 }, (body) => body.update({ contents: Uint8Array.of(1), target: buffer }));
  });
  const program = queue.programOf(commands);
  const damaged = (change: (view: DataView, block: CommandBlock) => void, index = 0): string[] => {
    const bytes = program.blocks[index]!.bytes.slice();
    const copy = new CommandBlock(bytes);
    change(copy.view, copy);
    return findingsOf(program, program.blocks.toSpliced(index, 1, copy)).map(({ message }) => message);
  };
  assert.deepEqual(findingsOf(program), []);
  const first = BLOCK.sizeBytes;
  assert.deepEqual(
    damaged((view) => {
      view.setUint32(BLOCK.magic, 1, true);
      view.setUint16(BLOCK.version, 7, true);
    }),
    ['magic number 1, expected 1145914180', 'version 7, expected 0'].map((text) =>
      text.replace('1145914180', String(0x444d_4342)),
    ),
  );
  assert.match(damaged((view) => view.setUint8(first, 99))[0]!, /opcode 99/);
  assert.match(damaged((view) => view.setUint8(first + DISPATCH.strategy, 9))[0]!, /strategy 9/);
  assert.match(damaged((view) => view.setUint32(first + DISPATCH.payload, 0x7000, true))[0]!, /arguments of \d+ bytes/);
  assert.match(damaged((view) => view.setUint32(first + DISPATCH.sourceOffset, 8, true))[0]!, /binding sources at 8/);
  assert.match(damaged((view) => view.setUint8(BLOCK.terminator, OPCODE.return))[0]!, /terminator 9/);
  assert.match(damaged((view) => view.setUint16(BLOCK.commandCount, 77, true))[0]!, /77 commands/);
  const [, fillAt] = commandsOf(program.blocks[0]!);
  assert.match(damaged((view) => view.setUint32(fillAt! + 32, 5, true))[0]!, /slot 5, there are 2/);
  const branchAt = commandsOf(program.blocks[0]!).at(-1)!;
  assert.match(damaged((view) => view.setUint32(branchAt + 8, 50, true))[0]!, /block 50/);
});

test('damaged blocks end in findings or none, and in nothing else', async () => {
  await using bench = await benchOf();
  const { device, queue, entry } = bench;
  using buffer = device.allocate(64);
  using commands = device.record({ slots: 2 }, (recorder) => {
    for (let i = 0; i < 4; i++) {
      const bindings = [buffer, { slot: 1 }];
      recorder.dispatch({ entry: entry('scale_and_offset'), groups: 1, constants: [i, 1], bindings }).barrier();
      recorder.copy({ source: { slot: 0 }, target: buffer.subspan(0, 16) });
    }
  });
  const program = queue.programOf(commands);
  const pick = seededIntegers(7);
  let found = 0;
  for (let round = 0; round < 3000; round++) {
    const bytes = program.blocks[0]!.bytes.slice();
    for (let i = pick(4); i >= 0; i--) bytes[pick(bytes.length)] = pick(256);
    if (findingsOf(program, [new CommandBlock(bytes)]).length > 0) found++;
  }
  assert.ok(found > 1000, `${found} of 3000 are found`);
});

test('spans take what there is room for, go on there, and become packets', async () => {
  await using bench = await benchOf();
  const { device, queue, entry } = bench;
  using buffer = device.allocate(16);
  const scale = { entry: entry('scale_and_offset'), constants: [2, 1] };
  using commands = device.record({ slots: 2 }, (recorder) => {
    recorder.dispatch({ ...scale, groups: 3, bindings: [{ slot: 0 }, { slot: 1 }] });
    recorder.dispatch({ ...scale, groups: 4, bindings: [buffer, buffer] }).barrier();
    recorder.dispatch({ ...scale, groups: [5, 1, 2], bindings: [buffer, { slot: 0 }] });
    recorder.fill({ target: { slot: 0 }, pattern: Uint8Array.of(1) });
  });
  const program = queue.programOf(commands);
  const block = program.blocks[0]!;
  const bound = (address: bigint) => ({ address, sizeBytes: 64, isReached: true });
  const bindings: ProgramBindings = {
    slot: (slot) => bound(BigInt(0x1000 * (slot + 1))),
    static: () => bound(0x9000n),
    data: program.data,
    kernargAddress: 0x100_0000n,
    library: undefined,
  };
  const spans = [];
  for (let start = BLOCK.sizeBytes as number; ; ) {
    const span = measureSpan(block, start, bindings, { packets: 2, kernargBytes: 1 << 16 });
    spans.push([span.packetCount, span.stop, span.barrierCount]);
    if (span.stop !== 'room') break;
    start = span.end;
  }
  assert.deepEqual(spans, [
    [2, 'room', 0],
    [1, 'host', 1],
  ]);
  assert.equal(measureSpan(block, BLOCK.sizeBytes, bindings, { packets: 8, kernargBytes: 64 }).packetCount, 2);
  const span = measureSpan(block, BLOCK.sizeBytes, bindings, { packets: 8, kernargBytes: 1 << 16 });
  assert.deepEqual([span.packetCount, span.stop], [3, 'host']);
  const ring = new Uint8Array(4 * 64).fill(0xee);
  const kernargs = new Uint8Array(64 + span.kernargBytes);
  const headers = new Int32Array(3);
  const place = {
    queueAddress: 5n,
    kernargs: { bytes: kernargs, data: new DataView(kernargs.buffer) },
    offsetBytes: 64,
    address: 0x20_0000n,
    completionSignal: 0x7_0000_0040n,
    ring,
    ringAddress: 0n,
  };
  // The batch goes over the end of the ring.
  encodeSpan(block, span, bindings, { ...place, packetOffset: (i) => ((3 + i) % 4) * 64 }, headers);
  const packets = [3, 0, 1].map((slot) => {
    ring.fill(0, slot * 64, slot * 64 + 4);
    return decodeKernelDispatch(ring.subarray(slot * 64, slot * 64 + 64));
  });
  assert.deepEqual(
    packets.map(({ gridSize }) => gridSize),
    [
      [12, 1, 1],
      [16, 1, 1],
      [20, 1, 2],
    ],
  );
  assert.deepEqual(
    packets.map(({ completionSignal, kernargAddress }) => [completionSignal, kernargAddress].map(BigInt)),
    [
      [0n, 0x20_0000n],
      [0n, 0x100_0000n],
      [0x7_0000_0040n, 0x20_0040n],
    ],
  );
  assert.deepEqual(
    [...headers].map((header) => decodeHeader(header)),
    [false, false, true].map((barrier) => ({ type: PACKET_TYPE.kernelDispatch, barrier })),
  );
  const words = new BigUint64Array(kernargs.buffer, 64);
  assert.deepEqual([words[0], words[1], words[2], words[9]], [0x1000n, 0x2000n, (1n << 32n) | 2n, 0x1000n]);
  assert.deepEqual([...ring.subarray(128, 192)], Array(64).fill(0xee), 'the fourth packet is nobody’s');
});

for (const parameters of ['', '&block=256', '&block=256&ring=2&transfers=kernels', '&transfers=kernels', '&ring=1']) {
  test(`counts that a program computes reach its dispatches: ${parameters || 'as by default'}`, async () => {
    await using bench = await benchOf(parameters);
    const { device, entry } = bench;
    using total = device.allocate(4);
    using counts = device.allocate(32, { usage: ['default', 'dispatch-indirect-parameters'] });
    using commands = device.record({ slots: ['total'] }, (recorder) => {
      for (const [i, [x, y, z]] of [
        [3, 2, 1],
        [0, 1, 1],
        [5, 1, 1],
      ].entries()) {
        recorder.fill({ target: counts, pattern: Uint8Array.of(0xee) }).barrier();
        const target = counts.subspan(4 + 4 * i, 12);
        recorder.dispatch({
          entry: entry('write_dispatch_params'),
          groups: 1,
          constants: [x!, y!, z!],
          bindings: [target],
        });
        recorder.barrier();
        recorder.dispatch({
          entry: entry('count_workgroups'),
          groups: { from: target },
          bindings: [{ slot: 'total' }],
        });
        recorder.barrier();
      }
    });
    for (let i = 0; i < 2; i++) await device.queue().execute({ commands, bindings: { total } });
    assert.deepEqual(await integersOf(device, total), [2 * (6 + 5)]);
  });

  test(`a grid that is too large fails the execution: ${parameters || 'as by default'}`, async () => {
    await using bench = await benchOf(parameters);
    const { device, entry } = bench;
    using total = device.allocate(16);
    using counts = await bufferOf(device, Int32Array.of(2 ** 30, 1, 1));
    using params = device.allocate(12, { usage: ['default', 'dispatch-indirect-parameters'] });
    await device.queue().copy({ source: counts, target: params });
    using commands = device.record({}, (recorder) => {
      const scale = { entry: entry('scale_and_offset'), constants: [1, 1], bindings: [total, total] };
      recorder.dispatch({ ...scale, groups: { from: params } });
    });
    await assert.rejects(async () => device.queue().execute({ commands }), { name: 'HalError' });
    await device.queue().barrier();
  });
}
