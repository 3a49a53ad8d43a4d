/**
 * Shaped arrays of elements and IREE's text of them: `2x3xf32=[1 2 3][4 5 6]` (iree/hal/buffer_view_util.h).
 */
import { HalError, invalidArgument } from '../core/status.ts';
import { elementTypeNamed, type TensorElement } from './element-type.ts';

export interface Tensor {
  readonly type: TensorElement;
  /** Sizes of the dimensions, outermost first; empty for one element without a dimension. */
  readonly shape: readonly number[];
  /** Dense and row-major. */
  readonly bytes: Uint8Array;
}

/** The text before `=`. */
export interface TensorType {
  readonly type: TensorElement;
  readonly shape: readonly number[];
}

const MAX_RANK = 128;
/** No device has more memory. */
const MAX_TENSOR_BYTES = 2 ** 32;
/** IREE prints so many elements, then three dots. */
export const DEFAULT_MAX_ELEMENTS = 1024;

const dataViewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

export const elementCount = ({ shape }: Pick<TensorType, 'shape'>): number =>
  shape.reduce((all, size) => all * size, 1);

/** `2x3xf32`; `f32` for one element. Throws INVALID_ARGUMENT, OUT_OF_RANGE. */
export function parseTensorType(text: string): TensorType {
  const [, dimensions = '', name = ''] = /^((?:\d+x)*)(.*)$/s.exec(text)!;
  const type = elementTypeNamed(name);
  const shape = dimensions.split('x').slice(0, -1).map(Number);
  const sizeBytes = elementCount({ shape }) * type.sizeBytes;
  if (shape.length > MAX_RANK) throw new HalError('OUT_OF_RANGE', `${shape.length} dimensions, at most ${MAX_RANK}`);
  if (sizeBytes <= MAX_TENSOR_BYTES) return { type, shape };
  throw new HalError('OUT_OF_RANGE', `${text} has ${sizeBytes} bytes, at most ${MAX_TENSOR_BYTES}`);
}

export const tensorTypeText = ({ type, shape }: TensorType): string => [...shape, type.name].join('x');

/**
 * Elements as text, apart by spaces, commas and brackets: all of them, one for all, or none, which are zeros.
 * Throws INVALID_ARGUMENT for text that is no element, OUT_OF_RANGE for another number of them.
 */
export function parseElements(tensor: TensorType, text: string): Tensor {
  const { type } = tensor;
  const count = elementCount(tensor);
  const bytes = new Uint8Array(count * type.sizeBytes);
  const data = dataViewOf(bytes);
  const words = text.split(/[\s,[\]]+/).filter((word) => word !== '');
  if (words.length > 1 && words.length !== count) {
    throw new HalError(
      'OUT_OF_RANGE',
      `${words.length} elements for ${tensorTypeText(tensor)}, expected ${count} or 1`,
    );
  }
  if (words.length === 1 && count > 0) {
    type.parse(words[0]!, data, 0);
    for (let at = type.sizeBytes; at < bytes.length; at *= 2) bytes.copyWithin(at, 0, at);
  } else words.forEach((word, i) => void type.parse(word, data, i * type.sizeBytes));
  return { ...tensor, bytes };
}

/** The elements, at most so many, with brackets around all rows where there are several dimensions. */
export function elementsText({ type, shape, bytes }: Tensor, maxElements = DEFAULT_MAX_ELEMENTS): string {
  const data = dataViewOf(bytes);
  let left = maxElements;
  let at = 0;
  const row = (length: number): string => {
    const shown = Math.min(left, length);
    left -= shown;
    const words = Array.from({ length: shown }, (_, i) => type.format(data, at + i * type.sizeBytes));
    at += length * type.sizeBytes;
    return words.join(' ') + (shown < length ? '...' : '');
  };
  const part = (depth: number): string => {
    if (depth >= shape.length - 1) return row(shape[depth] ?? 1);
    return Array.from({ length: shape[depth]! }, () => `[${part(depth + 1)}]`).join('');
  };
  return part(0);
}

export const tensorText = (tensor: Tensor, maxElements?: number): string =>
  `${tensorTypeText(tensor)}=${elementsText(tensor, maxElements)}`;

/** How far floats may lie apart and be equal. */
export interface Thresholds {
  readonly f16: number;
  readonly f32: number;
  readonly f64: number;
}

/** IREE's (iree/tooling/comparison.cc). */
export const DEFAULT_THRESHOLDS: Thresholds = { f16: 0.001, f32: 0.0001, f64: 0.0001 };

/** What differs, in IREE's words; undefined where nothing does. */
export function differenceText(expected: Tensor, actual: Tensor, thresholds = DEFAULT_THRESHOLDS): string | undefined {
  const [wanted, found] = [tensorTypeText(expected), tensorTypeText(actual)];
  if (wanted !== found) return `metadata is ${found}; expected that the view matches ${wanted}`;
  const { type } = expected;
  const threshold =
    type.kind === 'float' ? thresholds[type.name === 'bf16' ? 'f16' : (type.name as keyof Thresholds)] : 0;
  const [a, b] = [dataViewOf(expected.bytes), dataViewOf(actual.bytes)];
  for (let i = 0, at = 0; at < expected.bytes.length; i++, at += type.sizeBytes) {
    if (sameBytes(expected.bytes, actual.bytes, at, type.sizeBytes)) continue;
    if (type.kind === 'float' && Math.abs(type.read(a, at) - type.read(b, at)) <= threshold) continue;
    const what = `element at index ${i} (${type.format(b, at)}) does not match the expected (${type.format(a, at)})`;
    return `${what}; expected that the view is equal to contents of a view of ${wanted}`;
  }
  return undefined;
}

function sameBytes(a: Uint8Array, b: Uint8Array, at: number, sizeBytes: number): boolean {
  for (let i = at; i < at + sizeBytes; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Throws INVALID_ARGUMENT where the bytes are not as many as the type has. */
export function tensorOf(tensor: TensorType, bytes: Uint8Array): Tensor {
  const sizeBytes = elementCount(tensor) * tensor.type.sizeBytes;
  if (bytes.length === sizeBytes) return { ...tensor, bytes };
  throw invalidArgument(`${bytes.length} bytes for ${tensorTypeText(tensor)}, which has ${sizeBytes}`);
}
