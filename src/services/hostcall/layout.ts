/**
 * The buffer in which waves ask the host for services, as ROCm 5 and 6 have it: a record of pointers that
 * kernels find through `hidden_hostcall_buffer`, headers of packets, and their payloads. Offsets in bytes,
 * all values little-endian.
 *
 * A wave takes a packet from the stack of free ones, fills header and payload, pushes it on the stack of
 * ready ones and waits until the host takes the ready flag away; then it reads its results in the payload and
 * gives the packet back. A pointer of a stack is the number of a packet below a tag that grows with every
 * use.
 */
import { alignUp } from '../../base/align.ts';
import type { HostAddress } from '../../device/guest-address.ts';

export const BUFFER = { headers: 0, payloads: 8, doorbell: 16, freeStack: 24, readyStack: 32, indexMask: 40 } as const;
export const HEADER = { next: 0, activeMask: 8, service: 16, control: 20, sizeBytes: 24 } as const;
/** The bit of the control word that says that a packet is ready. */
export const READY = 1;
/** 64-bit words that a lane has in a payload, for its request and then for the answer. */
export const SLOT_WORDS = 8;
const LANES = 64;
export const PAYLOAD_SIZE_BYTES = LANES * SLOT_WORDS * 8;

const RECORD_SIZE_BYTES = 64;

/**
 * The packet that lies lowest in the stack of free ones and never leaves it: waves that find no other one
 * take it, and spoil each other's requests. So the host refuses it when it is ready.
 */
export const GUARD = 0;

export interface HostcallLayout {
  /** A power of two, the guard included. */
  readonly packetCount: number;
  readonly headers: number;
  readonly payloads: number;
  readonly sizeBytes: number;
}

/**
 * Packets for so many waves at once, where that is not more than `MAX_PACKETS`: a device never has more of
 * them resident by far.
 */
export function hostcallLayout(waves: number): HostcallLayout {
  const packetCount = Math.min(2 ** Math.ceil(Math.log2(waves + 1)), MAX_PACKETS);
  const headers = RECORD_SIZE_BYTES;
  const payloads = alignUp(headers + packetCount * HEADER.sizeBytes, PAYLOAD_SIZE_BYTES);
  return { packetCount, headers, payloads, sizeBytes: payloads + packetCount * PAYLOAD_SIZE_BYTES };
}

const MAX_PACKETS = 16_384;

/**
 * `buffer`: where the buffer is in the memory of the device. `doorbell`: the address of a signal that waves
 * ring.
 */
export function initializeHostcallBuffer(
  view: DataView,
  { packetCount, headers, payloads }: HostcallLayout,
  buffer: HostAddress,
  doorbell: HostAddress,
): void {
  view.setBigUint64(BUFFER.headers, buffer + BigInt(headers), true);
  view.setBigUint64(BUFFER.payloads, buffer + BigInt(payloads), true);
  view.setBigUint64(BUFFER.doorbell, doorbell, true);
  view.setBigUint64(BUFFER.readyStack, 0n, true);
  view.setBigUint64(BUFFER.indexMask, BigInt(packetCount - 1), true);
  // A pointer to packet 0 needs a tag, because 0 ends a stack. Behind the guard comes the guard.
  let next = BigInt(packetCount + GUARD);
  for (let index = 0; index < packetCount; index++) {
    const header = headers + index * HEADER.sizeBytes;
    view.setBigUint64(header + HEADER.next, next, true);
    view.setUint32(header + HEADER.control, 0, true);
    if (index !== GUARD) next = BigInt(index);
  }
  view.setBigUint64(BUFFER.freeStack, next, true);
}
