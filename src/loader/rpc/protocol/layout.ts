/** The buffer that an RPC client and its server share, and the client's own struct. */
import { alignUp } from '../../../base/align.ts';
import type { Generation } from './generation.ts';

export const RPC_PACKET_SIZE_BYTES = 64;
export const HEADER_SIZE_BYTES = 16;
const DOORBELL_SIZE_BYTES = 64;

/** Byte offsets in the shared buffer. */
export interface RpcLayout {
  readonly portCount: number;
  /** u32 for each port; the server writes, the client reads. */
  readonly mailboxA: number;
  /** u32 for each port; the client writes, the server reads. */
  readonly mailboxB: number;
  /** 16 bytes for each port: lane mask, opcode. */
  readonly headers: number;
  /** 64 bytes for each lane of each port. */
  readonly packets: number;
  readonly sizeBytes: number;
}

/** `laneCount`: lanes of the widest wave. */
export function rpcLayout(generation: Generation, portCount: number, laneCount: number): RpcLayout {
  const mailboxA = generation.hasDoorbell ? DOORBELL_SIZE_BYTES : 0;
  const mailboxB = mailboxA + 4 * portCount;
  const headers = align8(mailboxA + 8 * portCount);
  const packets = align8(headers + HEADER_SIZE_BYTES * portCount);
  const sizeBytes = packets + portCount * laneCount * RPC_PACKET_SIZE_BYTES;
  return { portCount, mailboxA, mailboxB, headers, packets, sizeBytes };
}

function align8(offset: number): number {
  return alignUp(offset, 8);
}

/** The client struct for a buffer at `bufferAddress`; its locks are free. */
export function clientStruct(
  generation: Generation,
  layout: RpcLayout,
  bufferAddress: bigint,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(generation.clientStructSizeBytes);
  const data = new DataView(bytes.buffer);
  data.setUint32(0, layout.portCount, true);
  const parts = [layout.mailboxA, layout.mailboxB, layout.headers, layout.packets];
  // The doorbell comes first in the buffer, and its pointer first in the struct.
  if (generation.hasDoorbell) parts.unshift(0);
  for (const [index, offset] of parts.entries()) {
    data.setBigUint64(8 + 8 * index, bufferAddress + BigInt(offset), true);
  }
  return bytes;
}
