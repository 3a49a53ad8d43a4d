/** Arguments of a launch as JavaScript has them, made those that are placed in a kernarg segment. */
import { WavewrightError } from '../base/errors.ts';
import type { KernelArgument } from '../codeobject/metadata.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import { numberBytes } from '../launch/argument-text.ts';
import {
  argumentError,
  type BufferArgument,
  describeParameter,
  explicitParameters,
  type LaunchArgument,
  valueType,
} from '../launch/kernel-arguments.ts';
import { DeviceBuffer } from './buffer.ts';
import { elementBytes, elementOf, isTypedArray, type TypedArray, valueText } from './elements.ts';

/**
 * Memory of the workgroup that a kernel gets a pointer to (OpenCL's `local`, HIP's dynamic shared memory).
 */
export class LocalMemory {
  readonly sizeBytes: number;

  /** Throws USAGE for a size that is no positive integer. */
  constructor(sizeBytes: number) {
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 1) {
      throw new WavewrightError('USAGE', `${valueText(sizeBytes)} bytes of local memory, expected at least 1`);
    }
    this.sizeBytes = sizeBytes;
  }
}

/** A device function of what is loaded: a kernel that gets its address can call it. */
export class FunctionAddress {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A buffer for a pointer; a number, or an array of numbers for a vector, where the metadata says the type, as
 * that of OpenCL C does; a bigint for an integer of any size; a typed array for what it holds:
 * `Float32Array.of(2)` is a float whatever the metadata says, a `Uint8Array` the bytes of a struct; local
 * memory; a device function.
 */
export type ArgumentValue =
  | DeviceBuffer
  | number
  | bigint
  | readonly number[]
  | TypedArray
  | LocalMemory
  | FunctionAddress;

export interface PlacedBuffer extends BufferArgument {
  readonly buffer: DeviceBuffer;
}

/** Throws USAGE for a value that does not fit what the metadata says, or whose type it does not say. */
export function launchArguments(kernel: KernelSymbol, values: readonly unknown[]): LaunchArgument<PlacedBuffer>[] {
  const parameters = explicitParameters(kernel);
  const missing = parameters?.[values.length];
  if (missing !== undefined) {
    throw new WavewrightError('USAGE', `argument ${values.length + 1} is missing: ${describeParameter(missing)}`);
  }
  return values.map((value, i) => {
    // Too many are refused as such.
    const isExtra = parameters !== undefined && i >= parameters.length;
    return isExtra ? { kind: 'value', text: '', bytes: new Uint8Array() } : launchArgument(value, i, parameters?.[i]);
  });
}

function launchArgument(value: unknown, index: number, parameter?: KernelArgument): LaunchArgument<PlacedBuffer> {
  const text = value instanceof DeviceBuffer ? `a buffer, ${value.elements} of ${value.length}` : valueText(value);
  if (value instanceof DeviceBuffer)
    return { kind: 'buffer', text, elements: elementOf(value.elements), buffer: value };
  if (value instanceof LocalMemory)
    return { kind: 'local', text: `local:${value.sizeBytes}`, sizeBytes: value.sizeBytes };
  if (value instanceof FunctionAddress) return { kind: 'function', text: `function ${value.name}`, name: value.name };
  const fail = (why: string): never => {
    throw argumentError(index, text, why, parameter);
  };
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  if (!isNumber && !Array.isArray(value) && !isTypedArray(value)) {
    return fail(
      'expected a buffer, a number, a bigint, an array of numbers, a typed array, local memory or a function',
    );
  }
  if (parameter?.valueKind === 'global_buffer' && typeof value !== 'bigint') {
    fail(`expected a buffer${isTypedArray(value) ? ', which `context.buffer(array)` makes of it' : ''}`);
  }
  try {
    return { kind: 'value', text, bytes: valueBytes(value, fail, parameter) };
  } catch (error) {
    const isAbout = error instanceof WavewrightError && error.code === 'USAGE' && !error.what.startsWith('argument ');
    throw isAbout ? argumentError(index, text, error.what, parameter) : error;
  }
}

function valueBytes(
  value: number | bigint | readonly unknown[] | TypedArray,
  fail: (why: string) => never,
  parameter: KernelArgument | undefined,
): Uint8Array {
  const type = parameter && valueType(parameter);
  // A vector of three takes as much as one of four.
  const padded = (bytes: Uint8Array): Uint8Array => {
    const all = new Uint8Array(type?.count === 3 ? Math.max(parameter!.sizeBytes, bytes.length) : bytes.length);
    all.set(bytes);
    return all;
  };
  if (isTypedArray(value)) {
    const element = elementOf(value[Symbol.toStringTag]);
    if (type && element && element !== type.element) fail(`expected elements of type ${type.element}`);
    return padded(elementBytes(value));
  }
  if (type !== undefined) {
    const values = Array.isArray(value) ? value : [value];
    if (values.length !== type.count) fail(`expected ${type.count === 1 ? 'one number' : `${type.count} numbers`}`);
    const kind = type.isUnsigned ? type.element.replace('i', 'u') : type.element;
    return padded(numberBytes(kind, values.map(String)));
  }
  if (typeof value === 'bigint') {
    const { sizeBytes = 8 } = parameter ?? {};
    return [1, 2, 4, 8].includes(sizeBytes) ? numberBytes(`i${8 * sizeBytes}`, [`${value}`]) : fail('expected bytes');
  }
  return fail('the metadata does not say the type; a typed array does, such as Int32Array.of(1) or Float32Array.of(1)');
}
