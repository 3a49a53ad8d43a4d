/** What a hostile application may send and write: statuses, never a thrown error. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { createEmulatedDevice } from '../devices/emulated/index.ts';
import { HSA_STATUS } from '../hsa/index.ts';
import { PACKET, PACKET_TYPE, QUEUE, SIGNAL } from '../hsa/objects/layouts.ts';
import { LinuxCalls } from './libc.ts';
import {
  CONTROL_WORDS,
  concernOf,
  LISTS,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
  SUBJECTS,
} from './protocol.ts';
import { Session } from './session.ts';

const isHere = process.platform === 'linux' && process.arch === 'x64';
const skip = isHere ? false : 'exec is for x64 Linux';

const linux = isHere ? await LinuxCalls.load() : undefined;
const openDevice = (index: number) => createEmulatedDevice({ processor: 'gfx90a', index });

function open(): Session {
  return new Session({ linux: linux!, openDevice, report: assert.fail }, () => {});
}

interface Answer {
  readonly status: number;
  readonly words: readonly bigint[];
  readonly text: string;
}

function ask(session: Session, operation: OperationName, words: Record<string, bigint> = {}, tail = new Uint8Array(0)) {
  const names: readonly string[] = OPERATIONS[operation].request;
  const all = Object.fromEntries(names.map((name) => [name, words[name] ?? 0n]));
  const reply = session.answer({ operation, words: all, tail });
  const bytes = Buffer.from(reply ?? new Uint8Array(8));
  const status = bytes.readUInt32LE(0);
  const count = status === 0 ? OPERATIONS[operation].reply.length : 0;
  const found = Array.from({ length: count }, (_, i) => bytes.readBigUInt64LE(8 + 8 * i));
  return { status, words: found, text: bytes.subarray(8).toString() } satisfies Answer;
}

const HELLO = { version: 3n, window: 0x7f00n };
const session = isHere ? open() : undefined;
after(() => session?.[Symbol.dispose]());

test('a session begins once, with the right version and addresses that devices have', { skip }, () => {
  using other = open();
  assert.equal(ask(other, 'allocate', { pool: 1n }).status, HSA_STATUS.NOT_INITIALIZED.value);
  const failure = other.answer({
    operation: 'hello',
    words: { version: 2n, window: 0x7f00n },
    tail: new Uint8Array(0),
  })!;
  assert.match(Buffer.from(failure).toString(), /speaks version 2 of the protocol, expected 3/);
  // A byte in place of the one that brings the file, then the reply.
  assert.equal(Buffer.from(failure).readUInt32LE(1), HSA_STATUS.INVALID_ARGUMENT.value);
  for (const window of [0n, 0x7f80n, 2n ** 64n - 1n]) {
    const bytes = other.answer({ operation: 'hello', words: { version: 3n, window }, tail: new Uint8Array(0) })!;
    assert.notEqual(Buffer.from(bytes).readUInt32LE(1), 0, String(window));
  }
  assert.equal(ask(session!, 'hello', HELLO).status, 0);
  const again = Buffer.from(session!.answer({ operation: 'hello', words: HELLO, tail: new Uint8Array(0) })!);
  assert.equal(again.readUInt32LE(1), HSA_STATUS.INVALID_RUNTIME_STATE.value);
});

test('memory is allocated and freed, and refused with statuses', { skip }, () => {
  const pool = BigInt(SUBJECTS.pool);
  const { status, words } = ask(session!, 'allocate', { pool, sizeBytes: 4096n });
  assert.equal(status, 0);
  assert.equal(words[0]! >> 32n, 0x7f00n);
  assert.equal(ask(session!, 'free', { address: words[0]! }).status, 0);
  const statusOf = (asked: Record<string, bigint>) => ask(session!, 'allocate', asked).status;
  assert.equal(statusOf({ pool, sizeBytes: 0n }), HSA_STATUS.INVALID_ARGUMENT.value);
  assert.equal(statusOf({ pool, sizeBytes: 2n ** 64n - 1n }), HSA_STATUS.INVALID_ARGUMENT.value);
  assert.equal(statusOf({ pool, sizeBytes: 2n ** 40n }), HSA_STATUS.INVALID_ALLOCATION.value);
  assert.equal(statusOf({ pool, sizeBytes: 2n ** 32n - 2n ** 16n }), HSA_STATUS.OUT_OF_RESOURCES.value);
  assert.equal(statusOf({ pool: 5n, sizeBytes: 1n }), HSA_STATUS.INVALID_MEMORY_POOL.value);
  assert.equal(ask(session!, 'free', { address: 8n }).status, HSA_STATUS.INVALID_ALLOCATION.value);
});

test('any requests have a status', { skip }, () => {
  const near = fc.constantFrom(
    ...[0n, 1n, 2n, 3n, 64n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n],
    ...[SUBJECTS.agent, SUBJECTS.agent + 1, SUBJECTS.pool, SUBJECTS.pool + 3, LISTS.pools, 0xa015, 0xa118].map(BigInt),
  );
  const names = OPERATION_NAMES.filter((name) => name !== 'hello');
  const one = fc.record({
    operation: fc.constantFrom(...names),
    words: fc.array(near, { minLength: 5, maxLength: 5 }),
  });
  const known: bigint[] = [];
  fc.assert(
    fc.property(one, fc.uint8Array({ maxLength: 200 }), fc.nat(), (asked, tail, pick) => {
      const fields: readonly string[] = OPERATIONS[asked.operation].request;
      // Some addresses and handles that are there.
      const value = (i: number) =>
        pick % (i + 2) === 1 && known.length > 0 ? known[pick % known.length]! : asked.words[i]!;
      const words = Object.fromEntries(fields.map((name, i) => [name, value(i)]));
      const { status, words: found } = ask(session!, asked.operation, words, tail);
      assert.ok(status === 0 || status >= 40, asked.operation);
      if (found[0] !== undefined) known.push(found[0]);
    }),
    { numRuns: 600 },
  );
  session!.advance(1);
});

test('completion signals wake whom they concern, and time everybody', { skip }, (t) => {
  const woken: number[] = [];
  const recording: LinuxCalls = Object.create(linux!, {
    wake: { value: (_: bigint, bits: number) => woken.push(bits) },
  });
  for (const name of ['createMemoryFile', 'addressOf', 'mapPages'] as const) {
    Object.defineProperty(recording, name, { value: linux![name].bind(linux!) });
  }
  let memory: DataView | undefined;
  const host = {
    linux: recording,
    openDevice: (index: number) => {
      const device = openDevice(index);
      const address = device.memory.allocate(4096);
      memory = new DataView(device.memory.view(address, 4096).buffer);
      device.memory.free(address);
      return device;
    },
    report: assert.fail,
  };
  using watched = new Session(host, () => {});
  ask(watched, 'hello', HELLO);
  const [signals] = ask(watched, 'allocate', { pool: BigInt(SUBJECTS.pool), sizeBytes: 4096n }).words;
  const agent = BigInt(SUBJECTS.agent + 1);
  const sizes = { privateSegmentBytes: 0xffff_ffffn, groupSegmentBytes: 0xffff_ffffn };
  const [queue] = ask(watched, 'createQueue', { agent, sizePackets: 16n, type: 0n, ...sizes }).words;
  const at = (address: bigint): number => Number(address & 0xffff_ffffn);
  const pointer = (address: bigint): bigint => memory!.getBigUint64(at(address), true);
  const nowMs = t.mock.method(performance, 'now', () => 1000);
  const finish = (index: bigint, signal: bigint): void => {
    const packet = at(pointer(queue! + BigInt(QUEUE.baseAddress)) + index * 64n);
    memory!.setBigUint64(packet + PACKET.completionSignal, signal, true);
    memory!.setUint16(packet, PACKET_TYPE.barrierAnd, true);
    memory!.setBigUint64(
      at(pointer(pointer(queue! + BigInt(QUEUE.doorbellSignal)) + BigInt(SIGNAL.value))),
      index,
      true,
    );
    watched.advance(1);
  };
  finish(0n, signals!);
  assert.deepEqual(woken, [], 'nobody waits');
  memory!.setInt32(4 * CONTROL_WORDS.waiters, 1, true);
  watched.advance(1);
  assert.deepEqual(woken.splice(0), [-1], 'the first time');
  finish(1n, signals! + 64n);
  assert.deepEqual(woken.splice(0), [concernOf(signals! + 64n)]);
  assert.notEqual(concernOf(signals! + 64n), concernOf(signals!));
  watched.advance(1);
  assert.deepEqual(woken, []);
  nowMs.mock.mockImplementation(() => 1001);
  watched.advance(1);
  assert.deepEqual(woken, [-1]);
});

test('who waits is woken, and who sleeps says so', { skip }, () => {
  using other = open();
  let control: Int32Array | undefined;
  const watched = new Session(
    {
      linux: linux!,
      openDevice: (index) => {
        const device = openDevice(index);
        const address = device.memory.allocate(4096);
        control = new Int32Array(device.memory.view(address, 4096).buffer, 0, 16);
        device.memory.free(address);
        return device;
      },
      report: assert.fail,
    },
    () => {},
  );
  other.isSleeping = true;
  assert.equal(other.advance(1), 'idle');
  assert.equal(ask(watched, 'hello', HELLO).status, 0);
  watched.isSleeping = true;
  assert.equal(control![CONTROL_WORDS.sleeping], 1);
  watched.isSleeping = false;
  assert.equal(control![CONTROL_WORDS.sleeping], 0);
  watched.advance(1);
  assert.equal(control![CONTROL_WORDS.epoch], 0);
  control![CONTROL_WORDS.waiters] = 1;
  watched.advance(1);
  assert.equal(control![CONTROL_WORDS.epoch], 1);
  watched[Symbol.dispose]();
});
