/** A thread that writes packets into a queue: it knows the structures in shared memory and nothing else. */
import { parentPort, workerData } from 'node:worker_threads';
import { AQL_PACKET_SIZE_BYTES, PACKET, QUEUE, SIGNAL } from '../objects/layouts.ts';

export interface ProducerTask {
  readonly buffer: SharedArrayBuffer;
  /** Places in the buffer. */
  readonly queueOffset: number;
  readonly ringOffset: number;
  readonly doorbellOffset: number;
  readonly sizePackets: number;
  /** Bytes of a packet without its first four and its kernel arguments, and those four. */
  readonly packet: Uint8Array;
  readonly header: number;
  readonly producer: number;
  readonly count: number;
}

/** A thread that adds to a signal. */
export interface AdderTask {
  readonly buffer: SharedArrayBuffer;
  readonly signalOffset: number;
  readonly addend: bigint;
  readonly count: number;
}

function produce({ buffer, queueOffset, ringOffset, doorbellOffset, sizePackets, ...task }: ProducerTask): void {
  const indices = new BigInt64Array(buffer, queueOffset, QUEUE.sizeBytes / 8);
  const doorbell = new BigInt64Array(buffer, doorbellOffset, 1);
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let number = 0; number < task.count; number++) {
    const index = Atomics.add(indices, QUEUE.writeDispatchId / 8, 1n);
    while (index - Atomics.load(indices, QUEUE.readDispatchId / 8) >= BigInt(sizePackets)) Atomics.wait(pause, 0, 0, 1);
    const offset = ringOffset + Number(index % BigInt(sizePackets)) * AQL_PACKET_SIZE_BYTES;
    new Uint8Array(buffer, offset + 4, AQL_PACKET_SIZE_BYTES - 4).set(task.packet.subarray(4));
    const kernarg = (BigInt(task.producer) << 32n) | BigInt(number);
    new DataView(buffer, offset).setBigUint64(PACKET.dispatch.kernargAddress, kernarg, true);
    Atomics.store(new Int32Array(buffer, offset, 1), 0, task.header);
    Atomics.store(doorbell, 0, index);
  }
}

function add({ buffer, signalOffset, addend, count }: AdderTask): void {
  const words = new BigInt64Array(buffer, signalOffset, SIGNAL.sizeBytes / 8);
  for (let i = 0; i < count; i++) Atomics.add(words, SIGNAL.value / 8, addend);
}

if (parentPort !== null) {
  const task = workerData as ProducerTask | AdderTask;
  if ('addend' in task) add(task);
  else produce(task);
}
