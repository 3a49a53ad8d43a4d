/** What a dispatch asks for, held against what its code takes (iree_hal_device_queue_dispatch). */
import type { DispatchCommand } from '../backend/command.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import type { ExecutableExport, ExportInfo } from '../executables/executable.ts';
import {
  type BufferRange,
  bufferRange,
  bytesOfRange,
  checkUse,
  type DirectRef,
  type StorageRange,
  storageOf,
} from '../memory/buffer-ref.ts';
import type { Retained } from '../memory/retained.ts';

/** Workgroups in x, y, z; or 12 bytes of a buffer that hold them when the dispatch begins. */
export type GroupCounts = number | readonly number[] | { readonly from: DirectRef };

export type Constants = readonly (number | ArrayBufferView)[] | ArrayBufferView;

export interface QueueDispatch<Ref = DirectRef> {
  readonly entry: ExecutableExport;
  readonly groups: number | readonly number[] | { readonly from: Ref };
  /** Work-items in x, y, z; needed where the code does not fix them, and only there. */
  readonly workgroupSize?: number | readonly number[];
  /**
   * 32-bit words: an array of integers from -2^31 to 2^32 - 1, the bytes of a view, for floats, or an array
   * of both: `[Float32Array.of(0.5), 64]`.
   */
  readonly constants?: Constants;
  readonly bindings?: readonly Ref[];
  /**
   * The kernel's block of arguments as it is, in place of `constants`: as many bytes as all its parameters
   * have, or a buffer that holds them when the dispatch begins. `bindings`, of any number, are then only what
   * its addresses lead to.
   */
  readonly arguments?: ArrayBufferView | { readonly from: Ref };
  /** Group memory beyond that of the code. */
  readonly dynamicGroupSizeBytes?: number;
}

/** Everything of a dispatch but its buffers, checked. */
export interface CheckedDispatch {
  readonly entry: ExecutableExport;
  readonly workgroupSize: Extent;
  readonly constants: Uint32Array;
  /** Undefined also where a buffer has them. */
  readonly customArguments: Uint8Array | undefined;
  readonly dynamicGroupSizeBytes: number;
}

const MAX_GRID_SIZE = 2 ** 32 - 1;
export const GROUP_COUNTS_BYTES = 12;

/** Throws INVALID_ARGUMENT with what was found and what is expected. */
export function checkDispatch(options: QueueDispatch<unknown>, device: object): CheckedDispatch {
  const { entry, constants = [], bindings = [], dynamicGroupSizeBytes = 0 } = options;
  entry.executable.expectLive();
  if (entry.executable.device !== device) throw invalidArgument(`'${entry.name}' was loaded for another device`);
  const words = wordsOfConstants(constants);
  const customArguments = checkArguments(options, words.length);
  if (options.arguments === undefined) checkCounts(entry.info, bindings.length, words.length);
  if (!Number.isInteger(dynamicGroupSizeBytes) || dynamicGroupSizeBytes < 0 || dynamicGroupSizeBytes > MAX_GRID_SIZE) {
    throw invalidArgument(`${dynamicGroupSizeBytes} bytes of group memory`);
  }
  return { entry, workgroupSize: workgroupSize(options), constants: words, customArguments, dynamicGroupSizeBytes };
}

function checkCounts(
  { bindingCount, constantCount, name, problem }: ExportInfo,
  bindings: number,
  words: number,
): void {
  if (problem !== undefined) {
    const hint = 'the option `arguments` takes a block of arguments as it is';
    throw new HalError('UNIMPLEMENTED', `'${name}' cannot be dispatched: ${problem}`, { hint });
  }
  if (bindings !== bindingCount) throw invalidArgument(`${bindings} bindings, '${name}' takes ${bindingCount}`);
  if (words !== constantCount) throw invalidArgument(`${words} words of constants, '${name}' takes ${constantCount}`);
}

/** A copy of the block of arguments that was given; undefined where none was, or a buffer has it. */
function checkArguments({ entry, arguments: given }: QueueDispatch<unknown>, words: number): Uint8Array | undefined {
  if (given === undefined) return undefined;
  const { name, argumentsSizeBytes } = entry.info;
  if (argumentsSizeBytes === undefined) {
    throw new HalError('UNIMPLEMENTED', `'${name}' has no block of arguments: it takes bindings and constants`);
  }
  if (words > 0) throw invalidArgument(`'${name}' gets ${words} words of constants and a block of arguments as well`);
  if (!ArrayBuffer.isView(given)) return undefined;
  const { buffer, byteOffset, byteLength } = given;
  if (byteLength === argumentsSizeBytes) return new Uint8Array(buffer, byteOffset, byteLength).slice();
  throw invalidArgument(`${byteLength} bytes of arguments, '${name}' takes ${argumentsSizeBytes}`);
}

function workgroupSize({ entry, workgroupSize: wanted }: QueueDispatch<unknown>): Extent {
  const { name, workgroupSize: fixed, maxWorkgroupSize } = entry.info;
  const size = wanted === undefined ? fixed : extent(wanted, 1, 'a workgroup');
  if (size === undefined) throw invalidArgument(`'${name}' needs a workgroup size: its code does not say one`);
  if (fixed?.some((each, i) => each !== size[i])) {
    throw invalidArgument(`a workgroup of ${size.join(' x ')}, '${name}' must have ${fixed.join(' x ')}`);
  }
  const count = size[0] * size[1] * size[2];
  if (count <= maxWorkgroupSize) return size;
  throw invalidArgument(`a workgroup of ${count} work-items, '${name}' takes at most ${maxWorkgroupSize}`);
}

/** A copy, so that later changes of the caller's array do not matter. Throws INVALID_ARGUMENT. */
export function wordsOfConstants(constants: Constants): Uint32Array {
  if (ArrayBuffer.isView(constants)) return wordsOfView(constants);
  const words = new Uint32Array(constants.length);
  for (let i = 0; i < words.length; i++) {
    const constant = constants[i]!;
    if (ArrayBuffer.isView(constant)) return wordsOfParts(constants);
    words[i] = wordOf(constant, i);
  }
  return words;
}

const wordsOfParts = (constants: readonly (number | ArrayBufferView)[]): Uint32Array =>
  Uint32Array.from(
    constants.flatMap((each, i) => (ArrayBuffer.isView(each) ? [...wordsOfView(each)] : wordOf(each, i))),
  );

function wordsOfView(constants: ArrayBufferView): Uint32Array {
  const { buffer, byteOffset, byteLength } = constants;
  if (byteLength % 4 !== 0) throw invalidArgument(`${byteLength} bytes of constants, expected whole words of 4`);
  return new Uint32Array(buffer.slice(byteOffset, byteOffset + byteLength));
}

function wordOf(constant: number, index: number): number {
  if (constant === (constant | 0) || constant === constant >>> 0) return constant >>> 0;
  throw invalidArgument(`constant ${index}, ${constant}, is no integer of 32 bits`, {
    hint: 'a view in its place gives the bytes of others, for example Float32Array.of(0.5)',
  });
}

/** In x, y, z. */
type Extent = readonly [number, number, number];

/** Extents of one number, of which programs use few. */
const LINES: readonly Extent[] = Array.from({ length: 1025 }, (_, x) => [x, 1, 1]);

function extent(sizes: number | readonly number[], minimum: number, what: string): Extent {
  if (typeof sizes === 'number' && sizes >= minimum && LINES[sizes] !== undefined) return LINES[sizes];
  const list = typeof sizes === 'number' ? [sizes] : sizes;
  const [x = 1, y = 1, z = 1] = list;
  const isExtent = list.length >= 1 && list.length <= 3;
  if (isExtent && [x, y, z].every((each) => Number.isInteger(each) && each >= minimum && each <= MAX_GRID_SIZE)) {
    return [x, y, z];
  }
  throw invalidArgument(`${what} of ${list.join(' x ')}, expected 1 to 3 integers from ${minimum} to ${MAX_GRID_SIZE}`);
}

/** Workgroups that are known now. Throws INVALID_ARGUMENT where the grid has more work-items than 32 bits. */
export function directGroups(groups: number | readonly number[], shape: CheckedDispatch): Extent {
  const counts = extent(groups, 0, 'a grid');
  if (counts.every((count, i) => count * shape.workgroupSize[i]! <= MAX_GRID_SIZE)) return counts;
  const what = `a grid of ${counts.join(' x ')} workgroups of ${shape.workgroupSize.join(' x ')}`;
  throw invalidArgument(`${what}, at most ${MAX_GRID_SIZE} work-items fit in each dimension`);
}

/** The range that holds group counts. Throws INVALID_ARGUMENT, OUT_OF_RANGE and PERMISSION_DENIED. */
export function groupCountsRange(ref: DirectRef, device: object): BufferRange {
  const range = bufferRange(ref);
  checkUse(range, device, 'dispatch-indirect-parameters', 'read');
  if (range.sizeBytes < GROUP_COUNTS_BYTES || (range.buffer.offsetBytes + range.offsetBytes) % 4 !== 0) {
    throw invalidArgument(`${range.sizeBytes} bytes of group counts at ${range.offsetBytes}, expected 12 aligned to 4`);
  }
  return range;
}

/** The range that holds a block of arguments. Throws as `groupCountsRange`. */
function argumentsRange(ref: DirectRef, { info: { name, argumentsSizeBytes = 0 } }: ExecutableExport, device: object) {
  const range = bufferRange(ref);
  checkUse(range, device, 'dispatch-indirect-parameters', 'read');
  if (range.sizeBytes >= argumentsSizeBytes) return range;
  throw invalidArgument(`${range.sizeBytes} bytes of arguments, '${name}' takes ${argumentsSizeBytes}`);
}

/** What the memory holds when the dispatch begins. */
export function readGroups(range: StorageRange, shape: CheckedDispatch): Extent {
  const bytes = bytesOfRange(range);
  const data = new DataView(bytes.buffer, bytes.byteOffset, GROUP_COUNTS_BYTES);
  return directGroups([data.getUint32(0, true), data.getUint32(4, true), data.getUint32(8, true)], shape);
}

/** A dispatch of a queue: its command, complete when it begins, and what it needs until its end. */
export class PreparedDispatch implements DispatchCommand, Retained {
  readonly kind = 'dispatch';
  readonly entry: ExecutableExport;
  readonly workgroupSize: Extent;
  readonly constants: Uint32Array;
  readonly dynamicGroupSizeBytes: number;
  /** What the kernel gets. */
  readonly ranges: readonly BufferRange[];
  /** Where workgroup counts are read when it begins. */
  readonly counts: BufferRange | undefined;
  /** Where its block of arguments is read when it begins. */
  readonly argumentsFrom: BufferRange | undefined;
  customArguments: Uint8Array | undefined;
  groups: Extent;
  bindings: readonly StorageRange[] = NO_STORAGE;

  /** See `checkDispatch`. */
  constructor(options: QueueDispatch, device: object) {
    const shape = checkDispatch(options, device);
    const { groups } = options;
    this.entry = shape.entry;
    this.workgroupSize = shape.workgroupSize;
    this.constants = shape.constants;
    this.customArguments = shape.customArguments;
    this.dynamicGroupSizeBytes = shape.dynamicGroupSizeBytes;
    this.ranges = (options.bindings ?? []).map(bufferRange);
    for (const range of this.ranges) checkUse(range, device, 'storage-read', 'read');
    const isIndirect = typeof groups === 'object' && 'from' in groups;
    this.counts = isIndirect ? groupCountsRange(groups.from, device) : undefined;
    const { arguments: given } = options;
    const from = given === undefined || ArrayBuffer.isView(given) ? undefined : given.from;
    this.argumentsFrom = from && argumentsRange(from, this.entry, device);
    this.groups = isIndirect ? NO_GROUPS : directGroups(groups, shape);
  }

  /** Events that name it can be written as JSON. */
  toJSON() {
    const { entry, groups, workgroupSize } = this;
    return { entry, groups, workgroupSize };
  }

  /** The command, with the memory that is there now. Throws FAILED_PRECONDITION, INVALID_ARGUMENT. */
  resolve(): DispatchCommand {
    if (this.counts !== undefined) this.groups = readGroups(storageOf(this.counts), this);
    this.bindings = this.ranges.map(storageOf);
    if (this.argumentsFrom !== undefined) {
      this.customArguments = bytesOfRange(storageOf(this.argumentsFrom)).slice(0, this.entry.info.argumentsSizeBytes);
    }
    return this;
  }

  /** Whether memory is read when it begins, by the host. */
  get isIndirect(): boolean {
    return this.counts !== undefined || this.argumentsFrom !== undefined;
  }

  retain(): void {
    this.entry.executable.retain();
    this.counts?.buffer.allocation.retain();
    this.argumentsFrom?.buffer.allocation.retain();
    for (const { buffer } of this.ranges) buffer.allocation.retain();
  }

  release(): void {
    this.entry.executable.release();
    this.counts?.buffer.allocation.release();
    this.argumentsFrom?.buffer.allocation.release();
    for (const { buffer } of this.ranges) buffer.allocation.release();
  }

  pin(): void {
    this.counts?.buffer.allocation.pin();
    this.argumentsFrom?.buffer.allocation.pin();
    for (const { buffer } of this.ranges) buffer.allocation.pin();
  }

  unpin(): void {
    this.counts?.buffer.allocation.unpin();
    this.argumentsFrom?.buffer.allocation.unpin();
    for (const { buffer } of this.ranges) buffer.allocation.unpin();
  }
}

const NO_GROUPS: Extent = [0, 0, 0];
const NO_STORAGE: readonly StorageRange[] = [];
