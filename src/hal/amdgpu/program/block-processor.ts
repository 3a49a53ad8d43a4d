/**
 * Commands of a block as packets and arguments, in memory that was reserved for them. It allocates nothing on
 * a GPU and waits for nothing: `measureSpan` says how far one submission goes, `encodeSpan` writes it.
 */
import {
  AQL_PACKET_SIZE_BYTES,
  BARRIER_BIT,
  PACKET,
  PACKET_TYPE,
  SYSTEM_SCOPE_FENCES,
} from '../../../hsa/objects/layouts.ts';
import { HalError, invalidArgument } from '../../core/status.ts';
import { CONTENTS_OFFSET, type DeviceLibrary, type LibraryLaunch } from '../library/device-library.ts';
import type { BatchPlace } from '../packets/packet-batch.ts';
import {
  BINDING_KIND,
  BLOCK,
  COMMAND,
  COMMAND_FLAG,
  COPY,
  DISPATCH,
  DISPATCH_INDIRECT,
  FILL,
  NO_IMPLICIT,
  OPCODE,
  PROGRAM_DATA,
  SOURCE,
  SOURCE_FLAG,
  STRATEGY,
  UPDATE,
  WHOLE_LENGTH,
} from './abi.ts';
import type { CommandBlock } from './program.ts';

/** A buffer as commands name it: where it is now. */
export interface BoundBuffer {
  readonly address: bigint;
  readonly sizeBytes: number;
  /** Whether kernels of the GPU reach it. */
  readonly isReached: boolean;
}

/** What the numbers of a program stand for in one execution. */
export interface ProgramBindings {
  /** Throws FAILED_PRECONDITION where the memory is not there now. */
  slot(slot: number): BoundBuffer;
  static(ordinal: number): BoundBuffer;
  readonly data: readonly Uint8Array[];
  /** Of arguments that were published. */
  readonly kernargAddress: bigint;
  /** Does transfers; without one the host does them. */
  readonly library: DeviceLibrary | undefined;
}

/** Room for one submission. */
export interface SpanLimits {
  readonly packets: number;
  readonly kernargBytes: number;
}

export interface Span {
  /** Offsets of the first command, and of the one behind the last. */
  readonly start: number;
  readonly end: number;
  readonly packetCount: number;
  readonly kernargBytes: number;
  /** Commands that wait for all before them. */
  readonly barrierCount: number;
  /** `host`: the host has to do the next command; `room`: it comes with the next submission. */
  readonly stop: 'room' | 'host' | 'end';
}

const ARGUMENT_ALIGNMENT = 64;
const LIBRARY_ARGUMENTS = 64;
const aligned = (sizeBytes: number): number => Math.ceil(sizeBytes / ARGUMENT_ALIGNMENT) * ARGUMENT_ALIGNMENT;

interface Needs {
  readonly packets: number;
  readonly kernargBytes: number;
}
const NOTHING: Needs = { packets: 0, kernargBytes: 0 };
const LIBRARY_NEEDS: Needs = { packets: 1, kernargBytes: LIBRARY_ARGUMENTS };
const PUBLISHED_NEEDS: Needs = { packets: 1, kernargBytes: 0 };

/** Whether a command waits for all before it. */
export const waits = (block: CommandBlock, at: number): boolean =>
  (block.bytes[at + COMMAND.flags]! & COMMAND_FLAG.barrier) !== 0;

const commandsEnd = (block: CommandBlock): number =>
  block.field32(BLOCK.commandOffset) + block.field32(BLOCK.commandBytes);

/** Commands from `start` on that one submission takes: none where the host has to do the first. */
export function measureSpan(block: CommandBlock, start: number, bindings: ProgramBindings, limits: SpanLimits): Span {
  const end = commandsEnd(block);
  let [packetCount, kernargBytes, barrierCount, at] = [0, 0, 0, start];
  for (; at < end; at += 8 * block.field16(at + COMMAND.qwords)) {
    const needs = needsOf(block, at, bindings);
    // What does not fit into empty rings is the host's, too.
    if (needs === undefined || needs.packets > limits.packets || needs.kernargBytes > limits.kernargBytes) {
      const isLast = block.bytes[at + COMMAND.opcode]! >= OPCODE.branch;
      return { start, end: at, packetCount, kernargBytes, barrierCount, stop: isLast ? 'end' : 'host' };
    }
    if (packetCount + needs.packets > limits.packets || kernargBytes + needs.kernargBytes > limits.kernargBytes) {
      return { start, end: at, packetCount, kernargBytes, barrierCount, stop: 'room' };
    }
    packetCount += needs.packets;
    kernargBytes += needs.kernargBytes;
    if (waits(block, at)) barrierCount++;
  }
  return { start, end: at, packetCount, kernargBytes, barrierCount, stop: 'end' };
}

/** Undefined: it is not the GPU's to do. */
function needsOf(block: CommandBlock, at: number, bindings: ProgramBindings): Needs | undefined {
  switch (block.bytes[at + COMMAND.opcode]) {
    case OPCODE.barrier:
    case OPCODE.profileMarker:
      return NOTHING;
    case OPCODE.dispatch:
      return dispatchNeeds(block, at, bindings);
    case OPCODE.fill:
      return isTransferred(bindings, targetOf(block, at, FILL, bindings)) ? LIBRARY_NEEDS : undefined;
    case OPCODE.copy: {
      const source = buffer(block, at + COPY.source, at + COPY.sourceKind, bindings);
      const isOurs = isTransferred(bindings, source) && isTransferred(bindings, targetOf(block, at, COPY, bindings));
      return isOurs ? LIBRARY_NEEDS : undefined;
    }
    case OPCODE.update: {
      if (!isTransferred(bindings, targetOf(block, at, UPDATE, bindings))) return undefined;
      return { packets: 1, kernargBytes: aligned(CONTENTS_OFFSET + block.field32(at + UPDATE.length)) };
    }
  }
  return undefined;
}

const isTransferred = ({ library }: ProgramBindings, { isReached }: BoundBuffer): boolean =>
  library !== undefined && isReached;

function dispatchNeeds(block: CommandBlock, at: number, { library }: ProgramBindings): Needs | undefined {
  const strategy = block.bytes[at + DISPATCH.strategy];
  if (strategy === STRATEGY.prepublished) return PUBLISHED_NEEDS;
  if (strategy === STRATEGY.host) return undefined;
  const ownBytes = aligned(8 * block.field16(at + DISPATCH.kernargQwords));
  if ((block.bytes[at + DISPATCH.flags]! & DISPATCH_INDIRECT) === 0) return { packets: 1, kernargBytes: ownBytes };
  return library && { packets: 2, kernargBytes: ownBytes + LIBRARY_ARGUMENTS };
}

const buffer = (block: CommandBlock, ordinalAt: number, kindAt: number, bindings: ProgramBindings): BoundBuffer => {
  const ordinal = block.view.getUint32(ordinalAt, true);
  return block.bytes[kindAt] === BINDING_KIND.dynamic ? bindings.slot(ordinal) : bindings.static(ordinal);
};

const targetOf = (
  block: CommandBlock,
  at: number,
  { target, targetKind }: { readonly target: number; readonly targetKind: number },
  bindings: ProgramBindings,
): BoundBuffer => buffer(block, at + target, at + targetKind, bindings);

/** Writes what `measureSpan` found room for. `headers`: takes the first word of each packet. */
export function encodeSpan(
  block: CommandBlock,
  { start, end, packetCount }: Span,
  bindings: ProgramBindings,
  place: BatchPlace,
  headers: Int32Array,
): void {
  const writer = new SpanWriter(block, bindings, place, headers);
  for (let at = start; at < end; at += 8 * block.field16(at + COMMAND.qwords)) writer.command(at);
  writer.finish(packetCount);
}

const DISPATCH_SETUP = 3 << 16;
/** Packets that may run at once; more keep a device no busier, and it has to look after all of them. */
const MAX_OVERLAPPING = 64;
const WORDS = {
  workgroupSize: PACKET.dispatch.workgroupSize / 4,
  gridSize: PACKET.dispatch.gridSize / 4,
  privateSegmentSize: PACKET.dispatch.privateSegmentSize / 4,
  groupSegmentSize: PACKET.dispatch.groupSegmentSize / 4,
  kernelObject: PACKET.dispatch.kernelObject / 4,
  kernargAddress: PACKET.dispatch.kernargAddress / 4,
  completionSignal: PACKET.completionSignal / 4,
  count: AQL_PACKET_SIZE_BYTES / 4,
} as const;

class SpanWriter {
  readonly #block: CommandBlock;
  readonly #bindings: ProgramBindings;
  readonly #place: BatchPlace;
  readonly #headers: Int32Array;
  readonly #ring: Uint32Array;
  /** Packets and bytes of arguments so far. */
  #packets = 0;
  #used = 0;

  constructor(block: CommandBlock, bindings: ProgramBindings, place: BatchPlace, headers: Int32Array) {
    this.#block = block;
    this.#bindings = bindings;
    this.#place = place;
    this.#headers = headers;
    const { ring } = place;
    this.#ring = new Uint32Array(ring.buffer, ring.byteOffset, ring.byteLength / 4);
  }

  command(at: number): void {
    switch (this.#block.bytes[at + COMMAND.opcode]) {
      case OPCODE.dispatch:
        this.#dispatch(at);
        break;
      case OPCODE.fill:
        this.#launch(at, this.#fill(at));
        break;
      case OPCODE.copy:
        this.#launch(at, this.#copy(at));
        break;
      case OPCODE.update:
        this.#launch(at, this.#update(at));
    }
  }

  /** The last packet ends the submission: it waits for all others. */
  finish(packetCount: number): void {
    const last = packetCount - 1;
    const { completionSignal } = this.#place;
    const word = this.#wordOf(last) + WORDS.completionSignal;
    this.#ring[word] = Number(completionSignal & 0xffff_ffffn);
    this.#ring[word + 1] = Number(completionSignal >> 32n);
    if ((this.#headers[last]! & 0xff) !== PACKET_TYPE.invalid) this.#headers[last]! |= BARRIER_BIT;
  }

  #wordOf = (packet: number): number => this.#place.packetOffset(packet) / 4;

  /** The next packet, all zeros but for its first word. */
  #take(header: number): number {
    const word = this.#wordOf(this.#packets);
    this.#ring.fill(0, word + 1, word + WORDS.count);
    const isFull = this.#packets % MAX_OVERLAPPING === MAX_OVERLAPPING - 1;
    this.#headers[this.#packets++] = header | SYSTEM_SCOPE_FENCES | (isFull ? BARRIER_BIT : 0);
    return word;
  }

  #barrierOf(at: number): number {
    return waits(this.#block, at) ? BARRIER_BIT : 0;
  }

  /** Bytes for arguments; their offset in the memory for them. */
  #reserve(sizeBytes: number): number {
    const offset = this.#place.offsetBytes + this.#used;
    this.#used += aligned(sizeBytes);
    return offset;
  }

  #addressOf(kernargOffset: number): bigint {
    const { address, offsetBytes } = this.#place;
    return address + BigInt(kernargOffset - offsetBytes);
  }

  #dispatch(at: number): void {
    const { words, bytes } = this.#block;
    const isIndirect = (bytes[at + DISPATCH.flags]! & DISPATCH_INDIRECT) !== 0;
    const kernarg = this.#arguments(at, isIndirect);
    const header = PACKET_TYPE.kernelDispatch | DISPATCH_SETUP;
    if (isIndirect) this.#patch(at, header | BARRIER_BIT | SYSTEM_SCOPE_FENCES, kernarg);
    const packet = this.#take(header | this.#barrierOf(at));
    if (isIndirect) this.#headers[this.#packets - 1] = PACKET_TYPE.invalid;
    const ring = this.#ring;
    const from = at / 4;
    ring[packet + WORDS.workgroupSize] = words[from + DISPATCH.workgroupSize / 4]!;
    ring[packet + WORDS.workgroupSize + 1] = words[from + DISPATCH.workgroupSize / 4 + 1]! & 0xffff;
    for (let i = 0; i < 3; i++) ring[packet + WORDS.gridSize + i] = words[from + DISPATCH.grid / 4 + i]!;
    ring[packet + WORDS.privateSegmentSize] = words[from + DISPATCH.privateBytes / 4]!;
    ring[packet + WORDS.groupSegmentSize] = words[from + DISPATCH.groupBytes / 4]!;
    ring[packet + WORDS.kernelObject] = words[from + DISPATCH.kernelObject / 4]!;
    ring[packet + WORDS.kernelObject + 1] = words[from + DISPATCH.kernelObject / 4 + 1]!;
    this.#setAddress(packet + WORDS.kernargAddress, kernarg);
  }

  #setAddress(word: number, address: bigint): void {
    this.#ring[word] = Number(address & 0xffff_ffffn);
    this.#ring[word + 1] = Number(address >> 32n);
  }

  /** Forms the arguments where the strategy does not have them already. Returns their address. */
  #arguments(at: number, isIndirect: boolean): bigint {
    const block = this.#block;
    const { bytes } = block;
    const payload = block.field32(at + DISPATCH.payload);
    const strategy = bytes[at + DISPATCH.strategy];
    if (strategy === STRATEGY.prepublished) return this.#bindings.kernargAddress + BigInt(payload);
    const sizeBytes = 8 * block.field16(at + DISPATCH.kernargQwords);
    const offset = this.#reserve(sizeBytes);
    const { bytes: kernargs, data: view } = this.#place.kernargs;
    const first = strategy === STRATEGY.dynamicBindings ? 8 * block.field16(at + DISPATCH.bindingCount) : 0;
    const [data, from] = payload >= PROGRAM_DATA ? [this.#bindings.data[payload - PROGRAM_DATA]!, 0] : [bytes, payload];
    kernargs.set(data.subarray(from, from + sizeBytes - first), offset + first);
    const tail = block.field16(at + DISPATCH.tailQwords);
    const patchCount = strategy === STRATEGY.dynamicBindings ? block.field16(at + DISPATCH.bindingCount) : tail;
    let source = block.field32(at + DISPATCH.sourceOffset) + (isIndirect ? SOURCE.sizeBytes : 0);
    for (let i = 0; i < patchCount; i++, source += SOURCE.sizeBytes) {
      const qword = block.field16(source + SOURCE.qword);
      view.setBigUint64(offset + 8 * qword, sourceAddress(block, source, this.#bindings, this.#place), true);
    }
    return this.#addressOf(offset);
  }

  /** The kernel that makes the next packet valid, when it knows the workgroups. */
  #patch(at: number, header: number, kernarg: bigint): void {
    const { library } = this.#bindings;
    const block = this.#block;
    const counts = sourceAddress(block, block.field32(at + DISPATCH.sourceOffset), this.#bindings, this.#place);
    const implicit = block.field16(at + DISPATCH.implicitQwords);
    const write = ({ buffer, byteOffset }: Uint8Array): void => {
      const view = new DataView(buffer, byteOffset);
      const { ringAddress, packetOffset } = this.#place;
      view.setBigUint64(0, counts, true);
      view.setBigUint64(8, ringAddress + BigInt(packetOffset.call(this.#place, this.#packets)), true);
      view.setBigUint64(16, implicit === NO_IMPLICIT ? 0n : kernarg + BigInt(8 * implicit), true);
      view.setUint32(24, header, true);
    };
    const kernel = library!.kernel('dispatch_patch_indirect_params');
    this.#launch(at, { kernel, groups: 1, kernargBytes: LIBRARY_ARGUMENTS, write });
  }

  /** A kernel of the library; nothing to do is a barrier that waits for nothing. */
  #launch(at: number, launch: LibraryLaunch | undefined): void {
    if (launch === undefined) {
      this.#take(PACKET_TYPE.barrierAnd | this.#barrierOf(at));
      return;
    }
    const { kernel, groups, kernargBytes } = launch;
    const packet = this.#take(PACKET_TYPE.kernelDispatch | DISPATCH_SETUP | this.#barrierOf(at));
    const offset = this.#reserve(kernargBytes);
    const address = this.#addressOf(offset);
    launch.write(this.#place.kernargs.bytes.subarray(offset, offset + kernargBytes), address);
    const ring = this.#ring;
    ring[packet + WORDS.workgroupSize] = kernel.wavefrontSize | (1 << 16);
    ring[packet + WORDS.workgroupSize + 1] = 1;
    ring[packet + WORDS.gridSize] = groups * kernel.wavefrontSize;
    ring[packet + WORDS.gridSize + 1] = 1;
    ring[packet + WORDS.gridSize + 2] = 1;
    ring[packet + WORDS.privateSegmentSize] = kernel.privateSegmentSizeBytes;
    ring[packet + WORDS.groupSegmentSize] = kernel.groupSegmentSizeBytes;
    this.#setAddress(packet + WORDS.kernelObject, kernel.kernelObject);
    this.#setAddress(packet + WORDS.kernargAddress, address);
  }

  #fill(at: number): LibraryLaunch | undefined {
    const { view } = this.#block;
    const target = targetOf(this.#block, at, FILL, this.#bindings);
    const range = rangeOf(
      target,
      view.getBigUint64(at + FILL.targetOffset, true),
      view.getBigUint64(at + FILL.length, true),
    );
    const pattern = this.#block.bytes.subarray(
      at + FILL.pattern,
      at + FILL.pattern + this.#block.bytes[at + FILL.patternBytes]!,
    );
    return this.#bindings.library!.fill(range.address, range.sizeBytes, pattern);
  }

  #copy(at: number): LibraryLaunch | undefined {
    const { view } = this.#block;
    const length = view.getBigUint64(at + COPY.length, true);
    const source = buffer(this.#block, at + COPY.source, at + COPY.sourceKind, this.#bindings);
    const target = targetOf(this.#block, at, COPY, this.#bindings);
    const from = rangeOf(source, view.getBigUint64(at + COPY.sourceOffset, true), length);
    const to = rangeOf(target, view.getBigUint64(at + COPY.targetOffset, true), length);
    if (from.sizeBytes !== to.sizeBytes) {
      throw invalidArgument(`a copy of ${from.sizeBytes} to ${to.sizeBytes} bytes`);
    }
    return this.#bindings.library!.copy(from.address, to.address, to.sizeBytes);
  }

  #update(at: number): LibraryLaunch | undefined {
    const { view } = this.#block;
    const target = targetOf(this.#block, at, UPDATE, this.#bindings);
    const contents = this.#bindings.data[Number(view.getBigUint64(at + UPDATE.data, true))]!;
    const { address } = rangeOf(target, view.getBigUint64(at + UPDATE.targetOffset, true), BigInt(contents.length));
    return this.#bindings.library!.update(address, contents);
  }
}

/** The pointer of a binding source. Throws FAILED_PRECONDITION, OUT_OF_RANGE. */
export function sourceAddress(
  block: CommandBlock,
  at: number,
  bindings: ProgramBindings,
  { queueAddress }: Pick<BatchPlace, 'queueAddress'>,
): bigint {
  const flags = block.bytes[at + SOURCE.flags]!;
  const pointer = block.view.getBigUint64(at + SOURCE.pointer, true);
  if ((flags & SOURCE_FLAG.queue) !== 0) return queueAddress;
  const slot = block.field32(at + SOURCE.slot);
  if ((flags & SOURCE_FLAG.dynamic) !== 0) return rangeOf(bindings.slot(slot), pointer, WHOLE_LENGTH).address;
  if ((flags & SOURCE_FLAG.static) !== 0) return rangeOf(bindings.static(slot), pointer, WHOLE_LENGTH).address;
  return pointer;
}

/** Throws OUT_OF_RANGE. */
function rangeOf(bound: BoundBuffer, offset: bigint, length: bigint): { address: bigint; sizeBytes: number } {
  const left = BigInt(bound.sizeBytes) - offset;
  const size = length === WHOLE_LENGTH ? left : length;
  if (size >= 0n && size <= left) return { address: bound.address + offset, sizeBytes: Number(size) };
  throw new HalError('OUT_OF_RANGE', `${size} bytes at ${offset} of a buffer of ${bound.sizeBytes}`);
}
