/**
 * Programs on a fake device: an image of each generation, and waves in JavaScript that talk to the server.
 */
import { cStringAt, FakeDevice, type KernelBody, type KernelContext } from '../hsa/runtime/fake-device.test-support.ts';
import { buildImage, IMAGE_BASE, IMAGE_DATA, type ImageOptions } from '../hsa/runtime/image.test-support.ts';
import { MemoryFileSystem } from './host/memory-file-system.ts';
import { runProgram } from './program.ts';
import { type ClientPort, RpcClient, type Spin } from './rpc/client.test-support.ts';
import { GENERATIONS, type Generation } from './rpc/protocol/generation.ts';
import { OPCODES, type OpcodeName } from './rpc/protocol/opcodes.ts';
import type { RunOptions } from './run-options.ts';

export const CLIENT_OFFSET = 64;
export const CLOCK_OFFSET = 8;
export const DATA_BYTES = CLIENT_OFFSET + 2200;
/** Of the data area, from the start of the loaded image. */
export const DATA_OFFSET = BigInt(IMAGE_DATA - IMAGE_BASE);
export const DEVICE_BYTES = 80 * 2 ** 20;

const hidden = (offset: number) => [
  { '.value_kind': 'hidden_block_count_x', '.offset': offset, '.size': 4 },
  { '.value_kind': 'hidden_block_count_y', '.offset': offset + 4, '.size': 4 },
  { '.value_kind': 'hidden_group_size_x', '.offset': offset + 12, '.size': 2 },
  { '.value_kind': 'hidden_grid_dims', '.offset': offset + 64, '.size': 2 },
];
const byValue = (offset: number, size: number) => ({ '.value_kind': 'by_value', '.offset': offset, '.size': size });
const arguments24 = [byValue(0, 4), byValue(8, 8), byValue(16, 8)];

/** A program image of a generation: start-up kernels, RPC client, clock. */
function programImage(generation: Generation, change: Partial<ImageOptions> = {}): Uint8Array {
  const { clientSymbol, clientIsPointer, clientSymbolSizeBytes, name } = generation;
  const endArguments = name === 'P23' ? [] : [byValue(0, 4)];
  return buildImage({
    data: new Uint8Array(DATA_BYTES),
    kernels: [
      { name: '_begin', metadata: { '.args': [...arguments24, ...hidden(24)], '.kernarg_segment_size': 280 } },
      {
        name: '_start',
        metadata: {
          '.args': [...arguments24, byValue(24, 8), ...hidden(32)],
          '.kernarg_segment_size': 288,
          '.uses_dynamic_stack': true,
        },
      },
      { name: '_end', metadata: { '.args': [...endArguments, ...hidden(8)], '.kernarg_segment_size': 264 } },
    ],
    symbols: [
      { name: clientSymbol, dataOffset: clientIsPointer ? 0 : CLIENT_OFFSET, sizeBytes: clientSymbolSizeBytes },
      { name: '__llvm_libc_clock_freq', dataOffset: CLOCK_OFFSET, sizeBytes: 8 },
    ],
    relocations: clientIsPointer ? [{ dataOffset: 0, type: 13, addend: BigInt(IMAGE_DATA + CLIENT_OFFSET) }] : [],
    ...change,
  });
}

export interface Wave extends KernelContext {
  readonly argc: number;
  readonly argv: string[];
  readonly environment: string[];
  /** Value of main: ORed into the result of `_start`. */
  result(value: number): void;
  /** An opcode of the C library by name or number. */
  call(name: OpcodeName | number, lanes: readonly number[], talk: (port: ClientPort) => Spin): Spin;
  print(text: string): Spin;
}

export type WaveBody = (wave: Wave) => Spin;

function* strings(context: KernelContext, address: bigint) {
  for (let at = address; ; at += 8n) {
    const pointer = context.memory.data(at, 8).getBigUint64(0, true);
    if (pointer === 0n) return;
    yield cStringAt(context.memory, pointer);
  }
}

export function wave(context: KernelContext, clientAddress: bigint, generation: Generation, laneCount = 64): Wave {
  const { memory, launch } = context;
  const kernarg = (offset: number) => memory.data(launch.argumentsAddress + BigInt(offset), 8);
  const connect = () => {
    const skip = generation.hasDoorbell ? 1 : 0;
    const struct = memory.data(clientAddress, generation.clientStructSizeBytes);
    const at = (index: number) => memory.view(struct.getBigUint64(8 + 8 * (index + skip), true), 1).byteOffset;
    const portCount = struct.getUint32(0, true);
    const view = { buffer: memory.buffer, portCount, mailboxA: at(0), mailboxB: at(1), headers: at(2), packets: at(3) };
    return new RpcClient(generation, view, laneCount);
  };
  let client: RpcClient | undefined;
  const call = function* (name: OpcodeName | number, lanes: readonly number[], talk: (port: ClientPort) => Spin): Spin {
    client ??= connect();
    const port = yield* client.open(generation.opcodeClass + (typeof name === 'number' ? name : OPCODES[name]), lanes);
    yield* talk(port);
    port.close();
  };
  return {
    ...context,
    get argc() {
      return kernarg(0).getInt32(0, true);
    },
    get argv() {
      return [...strings(context, kernarg(8).getBigUint64(0, true))];
    },
    get environment() {
      return [...strings(context, kernarg(16).getBigUint64(0, true))];
    },
    result(value) {
      const result = memory.data(kernarg(24).getBigUint64(0, true), 4);
      result.setInt32(0, result.getInt32(0, true) | value, true);
    },
    call,
    print: (text) =>
      call('WRITE_TO_STDOUT', [0], function* (port) {
        yield* port.sendBytes([new TextEncoder().encode(text)]);
        yield* port.receiveWords();
      }),
  };
}

export interface Setup {
  readonly generation?: Generation;
  readonly image?: Partial<ImageOptions>;
  readonly begin?: WaveBody;
  readonly start?: WaveBody;
  readonly end?: WaveBody;
  readonly options?: Partial<RunOptions>;
}

export const exit = (wave: Wave, status: bigint) =>
  wave.call('EXIT', [0], function* (port) {
    yield* port.send(() => undefined);
    yield* port.receive(() => undefined);
    yield* port.sendWords([[status]]);
  });

/** `_end` up to LLVM 21: exits with main's result. */
const endOf19: WaveBody = (wave) =>
  exit(wave, BigInt(wave.memory.data(wave.launch.argumentsAddress, 4).getInt32(0, true)));

const nothing: WaveBody = function* () {};

export async function run(setup: Setup = {}) {
  const {
    generation = GENERATIONS.P20,
    begin = nothing,
    start = nothing,
    end = generation.name === 'P23' ? nothing : endOf19,
  } = setup;
  const device = new FakeDevice(DEVICE_BYTES);
  const log: string[] = [];
  const body = (name: string, talk: WaveBody): KernelBody =>
    function* (context) {
      log.push(name);
      yield* talk(wave(context, device.published[0]!.address + DATA_OFFSET + BigInt(CLIENT_OFFSET), generation));
    };
  Object.assign(device.kernels, {
    _begin: body('_begin', begin),
    _start: body('_start', start),
    _end: body('_end', end),
  });
  let stdout = '';
  const files = new MemoryFileSystem();
  const promise = runProgram(programImage(generation, setup.image), {
    device,
    args: ['prog.co', 'one', 'two three'],
    env: { HOME: '/root', NONE: undefined, X: '' },
    onStdout: (chunk) => {
      stdout += new TextDecoder().decode(chunk);
    },
    onStderr: () => undefined,
    filesystem: files,
    ...setup.options,
  });
  return { promise, device, log, files, output: () => stdout };
}
