/** AQL packets: 64 bytes in a queue's ring (HSA system architecture 1.2, section 2.9). */
import { type GuestAddress, guestAddress } from '../../device/guest-address.ts';
import {
  AMD_FORMAT_BARRIER_VALUE,
  BARRIER_BIT,
  BARRIER_DEPENDENCIES,
  PACKET,
  PACKET_TYPE,
  SIGNAL_CONDITIONS,
  SYSTEM_SCOPE_FENCES,
} from '../objects/layouts.ts';
import { HsaError } from '../objects/status.ts';

/** A size in each of x, y and z. */
export type Extent = readonly [number, number, number];

/** `Address`: who chose the addresses. What is decoded comes from outside: GPU code writes packets, too. */
export interface KernelDispatchPacket<Address extends bigint = bigint> {
  readonly dimensions: number;
  /** Work-items of a workgroup, 16 bits each. */
  readonly workgroupSize: Extent;
  /** Work-items of the grid; the last workgroup of a dimension may be partial. */
  readonly gridSize: Extent;
  readonly privateSegmentSizeBytes: number;
  readonly groupSegmentSizeBytes: number;
  readonly kernelObject: Address;
  readonly kernargAddress: Address;
  /** Address of a signal, 0 for none. */
  readonly completionSignal: Address;
}

export interface BarrierPacket<Address extends bigint = bigint> {
  /** At most five signal addresses; 0 for none. */
  readonly dependencies: readonly Address[];
  readonly completionSignal: Address;
}

export interface BarrierValuePacket<Address extends bigint = bigint> {
  /** Address of a signal; 0 waits for nothing. */
  readonly signal: Address;
  readonly condition: (typeof SIGNAL_CONDITIONS)[number];
  /** `(signal & mask) condition value` lets later packets start. */
  readonly value: bigint;
  readonly mask: bigint;
  readonly completionSignal: Address;
}

export interface PacketHeader {
  readonly type: number;
  readonly barrier: boolean;
}

export function decodeHeader(word: number): PacketHeader {
  return { type: word & 0xff, barrier: (word & BARRIER_BIT) !== 0 };
}

/** The 16-bit header: type, barrier bit, acquire and release fences at system scope. */
export function encodeHeader(type: number, barrier: boolean): number {
  return type | (barrier ? BARRIER_BIT : 0) | SYSTEM_SCOPE_FENCES;
}

const VIEWS = new WeakMap<ArrayBufferLike, DataView>();

/** A view of the whole buffer, so that it is made once for a ring; fields are at the packet's offset. */
function dataView({ buffer }: Uint8Array): DataView {
  const known = VIEWS.get(buffer);
  if (known !== undefined) return known;
  const view = new DataView(buffer);
  VIEWS.set(buffer, view);
  return view;
}

/** The address at an offset of the buffer. */
const addressAt = (data: DataView, offset: number): GuestAddress => guestAddress(data.getBigUint64(offset, true));

/**
 * Fills all of `packet` but the first four bytes and returns those, {header, setup}: storing them with
 * release order is what hands the packet over.
 */
export function encodeKernelDispatch(packet: Uint8Array, fields: KernelDispatchPacket, barrier: boolean): number {
  const { dispatch } = PACKET;
  const data = dataView(packet);
  const base = packet.byteOffset;
  packet.fill(0, 4);
  for (let dimension = 0; dimension < 3; dimension++) {
    data.setUint16(base + dispatch.workgroupSize + 2 * dimension, fields.workgroupSize[dimension]!, true);
    data.setUint32(base + dispatch.gridSize + 4 * dimension, fields.gridSize[dimension]!, true);
  }
  data.setUint32(base + dispatch.privateSegmentSize, fields.privateSegmentSizeBytes, true);
  data.setUint32(base + dispatch.groupSegmentSize, fields.groupSegmentSizeBytes, true);
  data.setBigUint64(base + dispatch.kernelObject, fields.kernelObject, true);
  data.setBigUint64(base + dispatch.kernargAddress, fields.kernargAddress, true);
  data.setBigUint64(base + PACKET.completionSignal, fields.completionSignal, true);
  return encodeHeader(PACKET_TYPE.kernelDispatch, barrier) | (fields.dimensions << 16);
}

/** `start`: where the packet is in the bytes, as in all that decode. */
export function decodeKernelDispatch(bytes: Uint8Array, start = 0): KernelDispatchPacket<GuestAddress> {
  const { dispatch } = PACKET;
  const data = dataView(bytes);
  const base = bytes.byteOffset + start;
  const group = (dimension: number) => data.getUint16(base + dispatch.workgroupSize + 2 * dimension, true);
  const grid = (dimension: number) => data.getUint32(base + dispatch.gridSize + 4 * dimension, true);
  return {
    dimensions: data.getUint16(base + dispatch.setup, true) & 3,
    workgroupSize: [group(0), group(1), group(2)],
    gridSize: [grid(0), grid(1), grid(2)],
    privateSegmentSizeBytes: data.getUint32(base + dispatch.privateSegmentSize, true),
    groupSegmentSizeBytes: data.getUint32(base + dispatch.groupSegmentSize, true),
    kernelObject: addressAt(data, base + dispatch.kernelObject),
    kernargAddress: addressAt(data, base + dispatch.kernargAddress),
    completionSignal: addressAt(data, base + PACKET.completionSignal),
  };
}

/** As `encodeKernelDispatch`, for a barrier-AND (`all`) or barrier-OR (`any`) packet. */
export function encodeBarrier(
  packet: Uint8Array,
  fields: BarrierPacket,
  mode: 'all' | 'any',
  barrier: boolean,
): number {
  const data = dataView(packet);
  const base = packet.byteOffset;
  packet.fill(0, 4);
  for (const [index, address] of fields.dependencies.entries()) {
    data.setBigUint64(base + PACKET.barrier.dependencies + 8 * index, address, true);
  }
  data.setBigUint64(base + PACKET.completionSignal, fields.completionSignal, true);
  return encodeHeader(mode === 'all' ? PACKET_TYPE.barrierAnd : PACKET_TYPE.barrierOr, barrier);
}

export function decodeBarrier(bytes: Uint8Array, start = 0): BarrierPacket<GuestAddress> {
  const data = dataView(bytes);
  const base = bytes.byteOffset + start;
  const dependencies: GuestAddress[] = [];
  for (let index = 0; index < BARRIER_DEPENDENCIES; index++) {
    const address = addressAt(data, base + PACKET.barrier.dependencies + 8 * index);
    if (address !== 0n) dependencies.push(address);
  }
  return { dependencies, completionSignal: addressAt(data, base + PACKET.completionSignal) };
}

/** As `encodeKernelDispatch`, for the vendor packet that waits for a value of a signal. */
export function encodeBarrierValue(packet: Uint8Array, fields: BarrierValuePacket, barrier: boolean): number {
  const { barrierValue } = PACKET;
  const data = dataView(packet);
  const base = packet.byteOffset;
  packet.fill(0, 4);
  data.setBigUint64(base + barrierValue.signal, fields.signal, true);
  data.setBigInt64(base + barrierValue.value, fields.value, true);
  data.setBigInt64(base + barrierValue.mask, fields.mask, true);
  data.setUint32(base + barrierValue.condition, SIGNAL_CONDITIONS.indexOf(fields.condition), true);
  data.setBigUint64(base + PACKET.completionSignal, fields.completionSignal, true);
  return encodeHeader(PACKET_TYPE.vendor, barrier) | (AMD_FORMAT_BARRIER_VALUE << 16);
}

/** Throws INVALID_PACKET_FORMAT for another vendor packet or an unknown condition. */
export function decodeBarrierValue(bytes: Uint8Array, start = 0): BarrierValuePacket<GuestAddress> {
  const { barrierValue } = PACKET;
  const data = dataView(bytes);
  const base = bytes.byteOffset + start;
  const format = data.getUint8(base + barrierValue.format);
  if (format !== AMD_FORMAT_BARRIER_VALUE) {
    throw new HsaError('INVALID_PACKET_FORMAT', `AMD vendor packet ${format}, expected a barrier-value (2)`);
  }
  const code = data.getUint32(base + barrierValue.condition, true);
  const condition = SIGNAL_CONDITIONS[code];
  if (condition === undefined) {
    throw new HsaError('INVALID_PACKET_FORMAT', `a barrier-value packet with condition ${code}, expected 0 to 3`);
  }
  return {
    signal: addressAt(data, base + barrierValue.signal),
    condition,
    value: data.getBigInt64(base + barrierValue.value, true),
    mask: data.getBigInt64(base + barrierValue.mask, true),
    completionSignal: addressAt(data, base + PACKET.completionSignal),
  };
}
