import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { FakeDevice, FakeFault } from '../hsa/runtime/fake-device.test-support.ts';
import { buildImage } from '../hsa/runtime/image.test-support.ts';
import {
  CLIENT_OFFSET,
  CLOCK_OFFSET,
  DATA_BYTES,
  DATA_OFFSET,
  DEVICE_BYTES,
  exit,
  run,
  type Setup,
  type Wave,
  type WaveBody,
  wave,
} from './program.test-support.ts';
import { runProgram } from './program.ts';
import { formatResources } from './resource-usage.ts';
import { GENERATIONS } from './rpc/protocol/generation.ts';

const refused = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof WavewrightError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return true;
};

for (const generation of Object.values(GENERATIONS)) {
  test(`${generation.name}: _begin, _start, _end run in order; main sees argv and envp, its value is the status`, async () => {
    const { promise, log, output } = await run({
      generation,
      begin: (wave) => wave.print(`begin ${wave.argc}\n`),
      start: function* (wave) {
        assert.deepEqual(wave.argv, ['prog.co', 'one', 'two three']);
        assert.deepEqual(wave.environment, ['HOME=/root', 'X=']);
        yield* wave.print('main\n');
        wave.result(0x1_0000 | 42);
      },
    });
    const result = await promise;
    assert.deepEqual(log, ['_begin', '_start', '_end']);
    assert.equal(output(), 'begin 3\nmain\n');
    assert.equal(result.status, 42);
    assert.equal(result.generation, generation.name);
    assert.equal(result.ended, generation.name === 'P23' ? 'return' : 'exit');
    assert.deepEqual(
      result.statistics.kernels.map(({ kernel, statistics }) => [kernel, statistics.instructions]).slice(0, 2),
      [
        ['_begin', 7],
        ['_start', 7],
      ],
    );
  });
}

test('slices of the device double from 5 us to 5 ms, and are short again after a conversation', async () => {
  const { promise, device } = await run({
    start: function* (wave) {
      for (let i = 0; i < 12; i++) yield 'waiting';
      yield* wave.print('asks');
      for (let i = 0; i < 3; i++) yield 'waiting';
    },
  });
  const slices: (number | undefined)[] = [];
  const advance = device.advance.bind(device);
  Object.assign(device, {
    advance: (sliceMs?: number) => {
      slices.push(sliceMs);
      return advance();
    },
  });
  await promise;
  const doubling = [...Array.from({ length: 10 }, (_, i) => 0.005 * 2 ** i), 5, 5];
  const first = slices.indexOf(5);
  assert.deepEqual(slices.slice(first - 10, first + 2), doubling);
  const afterwards = slices.slice(first);
  assert.deepEqual(afterwards.slice(afterwards.indexOf(0.005)).slice(0, 2), [0.005, 0.01]);
});

test('the grid of _start and its hidden arguments are those that were asked for, the others are single', async () => {
  const { promise, device } = await run({
    start: function* ({ launch, memory }) {
      const data = memory.data(launch.argumentsAddress, 288);
      const at = (offset: number) => data.getUint32(32 + offset, true);
      assert.deepEqual([at(0), at(4), data.getUint16(44, true), data.getUint16(96, true)], [2, 3, 8, 2]);
      yield 'waiting';
    },
    options: { blocks: [2, 3, 1], threads: [8, 4, 1] },
  });
  assert.equal((await promise).status, 0);
  const [begin, start, end] = device.launches;
  assert.deepEqual(
    [begin!.gridSize, begin!.workgroupSize],
    [
      [1, 1, 1],
      [1, 1, 1],
    ],
  );
  assert.deepEqual(
    [start!.gridSize, start!.workgroupSize],
    [
      [16, 12, 1],
      [8, 4, 1],
    ],
  );
  assert.deepEqual(end!.gridSize, [1, 1, 1]);
});

test('a kernel with a dynamic stack gets 16 KiB of scratch, or what was asked for', async () => {
  const first = await run();
  await first.promise;
  assert.deepEqual(
    first.device.launches.map((launch) => launch.resources.privateSizeBytes),
    [0, 16_384, 0],
  );
  const second = await run({ options: { stackSizeBytes: 65_536 } });
  await second.promise;
  assert.equal(second.device.launches[1]!.resources.privateSizeBytes, 65_536);
  const third = await run({ options: { stackSizeBytes: 2 ** 30 } });
  const refusal =
    /kernel '_start' asks for 1073741824 bytes of private memory for each work-item, fake:gfx90a has at most 262128$/;
  await assert.rejects(third.promise, refusal);
  assert.equal(third.device.launches.length, 0, 'it is known before the first kernel runs');
});

test('the clock frequency of the device is stored for the program', async () => {
  const { promise, device } = await run({
    start: function* ({ memory }) {
      const at = device.published[0]!.address + DATA_OFFSET + BigInt(CLOCK_OFFSET);
      assert.equal(memory.data(at, 8).getBigUint64(0, true), 25_000_000n);
      yield 'waiting';
    },
  });
  await promise;
});

test('exit in any kernel ends the program at once, with the low byte of its status', async () => {
  for (const kernel of ['begin', 'start', 'end'] as const) {
    const { promise, log } = await run({
      [kernel]: function* (wave: Wave) {
        yield* exit(wave, 0x1ffn);
        yield 'waiting';
        assert.fail('the wave goes on');
      },
    });
    const result = await promise;
    assert.deepEqual([result.status, result.ended], [255, 'exit']);
    assert.equal(log.at(-1), `_${kernel}`);
    assert.deepEqual(
      result.statistics.kernels.map((each) => each.kernel),
      log,
    );
  }
});

test('exit ends waves that would run for ever', async () => {
  const { promise } = await run({
    start: function* (wave) {
      yield* exit(wave, 1n);
      for (;;) yield 'waiting';
    },
  });
  assert.equal((await promise).status, 1);
});

test('abort is status 134', async () => {
  const { promise } = await run({
    start: (wave) =>
      wave.call('ABORT', [0], function* (port) {
        yield* port.send(() => undefined);
        yield* port.receive(() => undefined);
        yield* port.send(() => undefined);
      }),
  });
  const { status, ended } = await promise;
  assert.deepEqual([status, ended], [134, 'abort']);
});

test('requests without a reply that a kernel leaves behind are served before the next kernel', async () => {
  let address = 0n;
  const { promise } = await run({
    start: function* (wave) {
      yield* wave.call('MALLOC', [0], function* (port) {
        yield* port.sendWords([[64n]]);
        [address] = (yield* port.receiveWords()) as [bigint];
      });
      yield* wave.call('NOOP', [0], (port) => port.sendWords([[0n]]));
      yield* wave.call('FREE', [0], (port) => port.sendWords([[address]]));
    },
    end: function* (wave) {
      assert.ok(address !== 0n);
      assert.equal(wave.memory.find(address), undefined);
      yield* exit(wave, 3n);
    },
  });
  assert.equal((await promise).status, 3);
});

test('freeing what malloc did not return is reported', async () => {
  const { promise } = await run({
    start: (wave) => wave.call('FREE', [0], (port) => port.sendWords([[0x40n]])),
  });
  await assert.rejects(
    promise,
    refused('RPC_PROTOCOL', /^prog\.co: RPC port 0, FREE, lane 0: free of 0x40, which malloc did not/),
  );
});

test('a kernel that ends inside a conversation is reported', async () => {
  const { promise } = await run({
    start: (wave) =>
      wave.call('WRITE_TO_STDOUT', [0], (port) => port.send((packet) => packet.setBigUint64(0, 99n, true))),
  });
  await assert.rejects(promise, refused('RPC_PROTOCOL', /WRITE_TO_STDOUT: _start ended in the middle/));
});

test('host state lives across kernels: a file that _begin opens is read by main', async () => {
  let handle = 0n;
  const { promise, files } = await run({
    begin: (wave) =>
      wave.call('OPEN_FILE', [0], function* (port) {
        yield* port.sendBytes([new TextEncoder().encode('out\0')]);
        yield* port.send((packet) => packet.setUint16(0, 0x77, true));
        [handle] = (yield* port.receiveWords()) as [bigint];
      }),
    start: (wave) =>
      wave.call('WRITE_TO_STREAM', [0], function* (port) {
        yield* port.sendWords([[handle]]);
        yield* port.sendBytes([Uint8Array.of(1, 2, 3)]);
        yield* port.receiveWords();
      }),
  });
  await promise;
  assert.deepEqual(files.get('out'), Uint8Array.of(1, 2, 3));
});

test('the time limit is TIMEOUT with where the waves stand', async () => {
  for (const state of ['running', 'waiting'] as const) {
    let nowMs = 0;
    const { promise } = await run({
      start: function* () {
        nowMs = 20;
        for (;;) yield state as 'waiting';
      },
      options: { timeoutMs: 20, clock: () => nowMs },
    });
    await assert.rejects(
      promise,
      (error: unknown) =>
        refused(
          'TIMEOUT',
          /the time limit of 0\.02 s ran out in kernel '_start'\n {2}workgroup 0,0,0 wave 0: fake/,
        )(error) && (error as WavewrightError).exitStatus === 124,
    );
  }
});

test('a fault ends the program with the report; what was printed before is out', async () => {
  const { promise, output } = await run({
    start: function* (wave) {
      yield* wave.print('before');
      throw new FakeFault({ kind: 'memory', message: 'load from 0x0 at _start+0x10', address: 0n, access: 'read' });
    },
  });
  await assert.rejects(
    promise,
    refused('GPU_FAULT', /^prog\.co: load from 0x0 at _start\+0x10; kernel _start; agent 1 \(gfx90a\)$/),
  );
  assert.equal(output(), 'before');
});

test('an instruction that is not implemented is UNSUPPORTED', async () => {
  const { promise } = await run({
    start: function* () {
      yield 'waiting';
      throw new FakeFault({ kind: 'unsupported', message: "unsupported instruction 'v_x' (gfx90a)" });
    },
  });
  await assert.rejects(promise, refused('UNSUPPORTED', /unsupported instruction 'v_x'/));
});

test('all memory that a program took is given back, also after a failure', async () => {
  const malloc: WaveBody = (wave) =>
    wave.call('MALLOC', [0], function* (port) {
      yield* port.sendWords([[5000n]]);
      const [address] = yield* port.receiveWords();
      wave.memory.view(address!, 5000).fill(1);
    });
  const good = await run({ start: malloc });
  await good.promise;
  const bad = await run({
    start: function* (wave) {
      yield* malloc(wave);
      throw new FakeFault({ kind: 'exception', message: 'trap' });
    },
  });
  await assert.rejects(bad.promise);
  for (const { device } of [good, bad]) {
    assert.deepEqual([...device.memory.allocations.values()], []);
    assert.deepEqual(device.published, []);
  }
});

test('memory that is exhausted is a null pointer', async () => {
  const { promise } = await run({
    start: (wave) =>
      wave.call('MALLOC', [0], function* (port) {
        yield* port.sendWords([[BigInt(DEVICE_BYTES)]]);
        assert.deepEqual(yield* port.receiveWords(), [0n]);
      }),
  });
  assert.equal((await promise).status, 0);
});

test('timers of the host run while a program runs', async () => {
  let fired = false;
  const { promise } = await run({
    start: function* (wave) {
      setTimeout(() => {
        fired = true;
      }, 1);
      while (!fired) yield 'running' as 'waiting';
      wave.result(5);
    },
    options: { timeoutMs: 600_000 },
  });
  assert.equal((await promise).status, 5);
});

test('each kernel talks in packets of its own wave size', async () => {
  const generation = GENERATIONS.P20;
  const device = new FakeDevice(DEVICE_BYTES, 'gfx1100');
  const kernels = [
    { name: '_begin', wave32: true, metadata: { '.wavefront_size': 32, '.kernarg_segment_size': 24 } },
    { name: '_start', metadata: { '.kernarg_segment_size': 32 } },
    { name: '_end', wave32: true, metadata: { '.wavefront_size': 32, '.kernarg_segment_size': 0 } },
  ];
  for (const { name, wave32 } of kernels) {
    device.kernels[name] = function* (context) {
      const laneCount = wave32 ? 32 : 64;
      const client = device.published[0]!.address + DATA_OFFSET + BigInt(CLIENT_OFFSET);
      const { call } = wave(context, client, generation, laneCount);
      // Two ports at once: the second one shows the stride.
      const print = (text: string) =>
        call('WRITE_TO_STDOUT', [laneCount - 1], function* (port) {
          yield* port.sendBytes([new TextEncoder().encode(text)]);
          yield* port.receiveWords();
        });
      const waves = [print(`${name} a\n`), print(`${name} b\n`)];
      while (waves.map((one) => one.next().done).includes(false)) yield 'waiting';
    };
  }
  const image = buildImage({
    data: new Uint8Array(DATA_BYTES),
    kernels,
    eFlags: 0x41,
    symbols: [{ name: generation.clientSymbol, dataOffset: CLIENT_OFFSET, sizeBytes: 552 }],
  });
  const { output } = await runProgram(image, { device, args: ['x'], portCount: 2 });
  assert.equal(new TextDecoder().decode(output.stdout), '_begin a\n_begin b\n_start a\n_start b\n_end a\n_end b\n');
});

test('resources of each kernel are told before it runs', async () => {
  const lines: string[] = [];
  const { promise } = await run({
    start: function* () {
      assert.equal(lines.length, 2);
      yield 'waiting';
    },
    options: {
      onKernel: (resources) => {
        lines.push(formatResources(resources));
      },
    },
  });
  await promise;
  assert.deepEqual(lines, [
    '_begin: 8 VGPRs, 0 AGPRs, 16 SGPRs, LDS 0 bytes, scratch 0 bytes per work-item, kernarg 280 bytes, wave64, occupancy 8 waves/SIMD',
    '_start: 8 VGPRs, 0 AGPRs, 16 SGPRs, LDS 0 bytes, scratch 16384 bytes per work-item (dynamic stack), kernarg 288 bytes, wave64, occupancy 8 waves/SIMD',
    '_end: 8 VGPRs, 0 AGPRs, 16 SGPRs, LDS 0 bytes, scratch 0 bytes per work-item, kernarg 264 bytes, wave64, occupancy 8 waves/SIMD',
  ]);
});

test('constructors and destructors of P23 are kernels around the program', async () => {
  const generation = GENERATIONS.P23;
  const device = new FakeDevice(DEVICE_BYTES);
  const names = ['amdgcn.device.init', '_begin', '_start', '_end', 'amdgcn.device.fini'];
  const log: string[] = [];
  for (const name of names) {
    device.kernels[name] = function* () {
      log.push(name);
      yield 'running';
    };
  }
  const image = buildImage({
    data: new Uint8Array(DATA_BYTES),
    kernels: [...names]
      .reverse()
      .map((name) => ({ name, metadata: { '.kernarg_segment_size': name.startsWith('_') ? 64 : 0 } })),
    symbols: [{ name: generation.clientSymbol, dataOffset: CLIENT_OFFSET, sizeBytes: 2096 }],
  });
  await runProgram(image, { device, args: ['x'] });
  assert.deepEqual(log, names);
});

const notPrograms: Record<string, { change: Setup; code: string; message: RegExp }> = {
  'no start-up kernels': {
    change: { image: { kernels: [], relocations: [] } },
    code: 'BAD_INPUT',
    message: /no kernel '_begin'/,
  },
  'no _end': {
    change: { image: { kernels: [{ name: '_begin' }, { name: '_start' }] } },
    code: 'BAD_INPUT',
    message: /^prog\.co: symbol table: the image has no kernel '_end'$/,
  },
  'an RPC client of another size': {
    change: { image: { symbols: [{ name: '__llvm_rpc_client', dataOffset: 64, sizeBytes: 1000 }] } },
    code: 'UNSUPPORTED',
    message: /__llvm_rpc_client has 1000 bytes, expected 552 or 2096/,
  },
  'a clock outside the image': {
    change: {
      image: {
        symbols: [
          { name: '__llvm_rpc_client', dataOffset: CLIENT_OFFSET, sizeBytes: 552 },
          { name: '__llvm_libc_clock_freq', absolute: 0x1000 },
        ],
      },
    },
    code: 'BAD_INPUT',
    message: /symbol __llvm_libc_clock_freq is 0x1000, expected the address of 8 bytes of the image/,
  },
  'a client pointer to nowhere': {
    change: { generation: GENERATIONS.P19, image: { relocations: [] } },
    code: 'BAD_INPUT',
    message: /the pointer __llvm_libc_rpc_client is 0x0, expected the address of 552 bytes of the image/,
  },
  'another target': {
    change: { image: { eFlags: 0x54c } },
    code: 'UNSUPPORTED',
    message: /built for gfx942, not for gfx90a/,
  },
  'a kernel with too few arguments': {
    change: { image: { kernels: ['_begin', '_start', '_end'].map((name) => ({ name })) } },
    code: 'BAD_INPUT',
    message: /kernel '_begin' takes 0 bytes of arguments, expected at least 24/,
  },
  'too many threads': {
    change: { options: { threads: [1025, 1, 1] } },
    code: 'USAGE',
    message: /a workgroup of 1025 work-items, kernel '_start' takes at most 1024/,
  },
  'too many blocks': {
    change: { options: { blocks: [2 ** 31, 1, 1], threads: [2, 1, 1] } },
    code: 'USAGE',
    message: /4294967296/,
  },
  'no ports': { change: { options: { portCount: 0 } }, code: 'USAGE', message: /0 RPC ports, expected 1 to 4096/ },
  'a NUL in an argument': { change: { options: { args: ['a\0b'] } }, code: 'USAGE', message: /NUL/ },
};

for (const [what, { change, code, message }] of Object.entries(notPrograms)) {
  test(`${what}: ${code}, and nothing stays allocated`, async () => {
    const { promise, device } = await run(change);
    await assert.rejects(promise, refused(code, message));
    assert.deepEqual([...device.memory.allocations.values()], []);
  });
}
