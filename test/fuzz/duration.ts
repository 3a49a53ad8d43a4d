/**
 * The host has its turn in time, whatever code asks of the decoder, the compiler and the scheduler: code
 * without end, many shapes in many modes, large blocks and many branches. A call that advances the device
 * returns soon, and a cancelled dispatch is over.
 */

import type { Device } from '../../src/device/device.ts';
import { guestAddress } from '../../src/device/guest-address.ts';
import type { Dispatch } from '../../src/device/launch.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { descriptorBytes, Emitter, LITERAL, ZERO } from './emitter.ts';
import { HostileInstructions } from './hostile-instructions.ts';
import { Found, type Oracle, oracleMain, type Subject, type Tally } from './oracle.ts';
import type { Random } from './random.ts';
import { EXECUTOR_OPTIONS } from './wave-machine.ts';

const MEMORY_SIZE_BYTES = 2 ** 28;
/** Of a dispatch; then it is cancelled. */
const RUN_MS = 400;
const SLICE_MS = 5;

/** CPU time of this thread: what others do on the machine does not count. */
function ownCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** A call of `advance` may take so long on a machine that does other things besides. */
const ADVANCE_LIMIT_MS = 1000;
const CANCEL_LIMIT_MS = 500;
/** The process may grow by so much for the code of one kernel. */
const GROWTH_LIMIT_BYTES = 2 ** 30;
const MODE_REGISTER = 1;
const CODE_SIZES = [64, 256, 1024, 4096, 16384, 65536];
const LARGE_CODE_SIZES = [2 ** 20, 4 * 2 ** 20];

type Shape = 'same' | 'random words' | 'instructions' | 'modes' | 'branches' | 'stores' | 'jumps';
const SHAPES: readonly (readonly [weight: number, shape: Shape])[] = [
  [2, 'same'],
  [2, 'random words'],
  [3, 'instructions'],
  [4, 'modes'],
  [2, 'branches'],
  [3, 'stores'],
  [1, 'jumps'],
];
/** Of two dwords each: many shapes of what is compiled to much. */
const LARGE = [
  'buffer_store_format_xyzw',
  'buffer_load_format_xyzw',
  'buffer_store_dwordx4',
  'ds_read2st64_b64',
  'flat_atomic_add_x2',
];

class Duration implements Subject {
  readonly #target: string;
  readonly #emitter: Emitter;
  readonly #instructions: HostileInstructions;

  constructor(target: string) {
    this.#target = target;
    this.#emitter = new Emitter(target);
    this.#instructions = new HostileInstructions(target, /gfx9/.test(target) ? 64 : 32);
  }

  iterate(random: Random, tally: Tally): void {
    const tier = random.pick(['handlers', 'regions', 'regions', 'loops'] as const);
    const shape = random.weighted(SHAPES);
    const dwords = random.pick(random.chance(10) ? LARGE_CODE_SIZES : CODE_SIZES);
    tally.doing = `${shape}, ${dwords} dwords, on ${tier}`;
    const device = createEmulatedDevice({
      processor: this.#target,
      memorySizeBytes: MEMORY_SIZE_BYTES,
      ...EXECUTOR_OPTIONS[tier],
    });
    try {
      this.#run(device, this.#code(shape, dwords, random), tally);
    } finally {
      device.close();
    }
  }

  #run(device: Device, code: Uint32Array, tally: Tally): void {
    const { memory } = device;
    const address = memory.allocate(code.byteLength, { readOnly: true });
    memory.view(address, code.byteLength).set(new Uint8Array(code.buffer));
    const descriptor = memory.allocate(64);
    const isWave32 = !/gfx9/.test(this.#target);
    memory
      .view(descriptor, 64)
      .set(descriptorBytes({ entryOffset: address - descriptor, isWave32, ldsSizeBytes: 1024 }));
    const dispatch = device.dispatch({
      workgroupSize: [64, 1, 1],
      gridSize: [128, 1, 1],
      entry: guestAddress(descriptor),
      argumentsAddress: guestAddress(address),
      resources: { privateSizeBytes: 64, groupSizeBytes: 0 },
    });
    this.#advance(device, dispatch, tally);
    tally.executions++;
    tally.instructions += dispatch.statistics.instructions;
    if (dispatch.fault) tally.fault(dispatch.fault.kind);
    else tally.event(dispatch.state);
  }

  #advance(device: Device, dispatch: Dispatch, tally: Tally): void {
    const endMs = performance.now() + RUN_MS;
    const rssBytes = process.memoryUsage.rss();
    let longestMs = 0;
    while (dispatch.state === 'running' && performance.now() < endMs) {
      const startMs = ownCpuMs();
      device.advance(SLICE_MS);
      longestMs = Math.max(longestMs, ownCpuMs() - startMs);
    }
    const cancelMs = ownCpuMs();
    if (dispatch.state === 'running') dispatch.cancel();
    device.advance(SLICE_MS);
    const cancelledMs = ownCpuMs() - cancelMs;
    if (longestMs > ADVANCE_LIMIT_MS)
      throw new Found('hang', `a slice of ${SLICE_MS} ms took ${Math.round(longestMs)} ms`);
    if (cancelledMs > CANCEL_LIMIT_MS) throw new Found('hang', `cancelling took ${Math.round(cancelledMs)} ms`);
    const grownBytes = process.memoryUsage.rss() - rssBytes;
    if (grownBytes > GROWTH_LIMIT_BYTES)
      throw new Found('hang', `the process grew by ${Math.round(grownBytes / 2 ** 20)} MiB`);
    tally.event(longestMs > 100 ? 'slices above 100 ms' : 'slices up to 100 ms');
  }

  #code(shape: Shape, dwords: number, random: Random): Uint32Array {
    const e = this.#emitter;
    const endsAt = (words: readonly number[]): Uint32Array => {
      const code = new Uint32Array(Math.max(words.length, dwords) + 2);
      code.set(words);
      code.fill(e.end()[0]!, words.length);
      return code;
    };
    const body = (count: number, make: () => readonly number[]): number[] => {
      const words: number[] = [];
      while (words.length < count) words.push(...make());
      return words;
    };
    const back = (words: readonly number[]): number[] =>
      words.length > 30_000 ? [...words] : [...words, ...e.emit('s_branch', { simm16: (-words.length - 1) & 0xffff })];
    switch (shape) {
      case 'same':
        return new Uint32Array(dwords).fill(random.pick([0, 0x7e000280, 0xffffffff, e.emit('s_nop')[0]!]));
      case 'random words':
        return Uint32Array.from({ length: Math.min(dwords, 65536) }, () => random.next());
      case 'instructions':
        return endsAt(back(body(Math.min(dwords, 8192), () => this.#instructions.program(random))));
      case 'branches':
        return endsAt(
          body(Math.min(dwords, 65536), () =>
            e.emit(random.pick(['s_cbranch_scc1', 's_cbranch_scc0', 's_cbranch_execz']), {
              simm16: random.below(dwords) & 0x3fff,
            }),
          ),
        );
      case 'stores':
        return endsAt(back([...this.#nowhere(), ...body(Math.min(dwords, 4096), () => this.#large(random))]));
      case 'modes':
        return endsAt(
          back([...this.#nextMode(), ...body(Math.min(dwords, 8192), () => this.#instructions.vector(random))]),
        );
      case 'jumps':
        return endsAt(
          body(Math.min(dwords, 4096), () => [
            ...e.emit('s_mov_b32', { sdst: 4, ssrc0: LITERAL }),
            random.next() & ~3,
            ...e.emit('s_setpc_b64', { ssrc0: 4 }),
          ]),
        );
    }
  }

  /** EXEC is 0, so that nothing faults. */
  #nowhere(): number[] {
    return this.#emitter.emit('s_mov_b64', { sdst: 126, ssrc0: ZERO });
  }

  /** Rounding and denormals become the next ones: MODE[9:0] counts. */
  #nextMode(): number[] {
    const e = this.#emitter;
    const simm16 = MODE_REGISTER | ((10 - 1) << 11);
    return [
      ...this.#nowhere(),
      ...e.emit('s_add_u32', { sdst: 30, ssrc0: 30, ssrc1: ZERO + 1 }),
      ...e.emit('s_setreg_b32', { sdst: 30, simm16 }),
    ];
  }

  #large(random: Random): number[] {
    return this.#instructions.named(random.pick(LARGE), random) ?? this.#emitter.emit('s_nop');
  }

  [Symbol.dispose](): void {}
}

export const duration: Oracle = {
  name: 'duration',
  lifetime: 64,
  stuckMs: 10_000,
  create: (target) => new Duration(target),
};

oracleMain(duration, import.meta);
