/**
 * A dispatch of an export with values as IREE's tools name them: inputs in the order of its parameters, and
 * results, which are buffers that it may write.
 */
import { concatenate } from '../../base/concatenate.ts';
import { pointeeElement } from '../../launch/kernel-arguments.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import type { ExecutableExport, ExportParameter } from '../executables/executable.ts';
import type { HalBuffer } from '../memory/buffer.ts';
import type { HalQueue } from '../queues/queue.ts';
import type { Submission } from '../queues/submission.ts';
import { elementTypeNamed, type TensorElement } from './element-type.ts';
import type { Input } from './inputs.ts';
import { type Tensor, tensorTypeText } from './tensor.ts';

export interface CallShape {
  /** Workgroups in x, y, z. */
  readonly groups: readonly number[];
  /** Needed where the code does not fix it. */
  readonly workgroupSize?: readonly number[] | undefined;
  readonly dynamicGroupSizeBytes?: number | undefined;
}

/** An argument that is a buffer, with what is in it before the first dispatch. */
interface BufferArgument {
  readonly buffer: HalBuffer;
  readonly initial: Tensor;
  readonly isStorage: boolean;
  readonly isReadOnly: boolean;
}

/** Buffers of a call, until it is disposed. */
export class ExportCall implements Disposable {
  readonly #entry: ExecutableExport;
  readonly #shape: CallShape;
  readonly #buffers: BufferArgument[] = [];
  readonly #constants: Uint8Array;

  /** Throws INVALID_ARGUMENT for inputs that the export does not take, RESOURCE_EXHAUSTED. */
  constructor(device: LogicalDevice, entry: ExecutableExport, inputs: readonly Input[], shape: CallShape) {
    this.#entry = entry;
    this.#shape = shape;
    const { name, parameters } = entry.info;
    if (inputs.length !== parameters.length) {
      const list = parameters.map(parameterText).join(', ');
      throw invalidArgument(`${inputs.length} inputs, '${name}' takes ${parameters.length}`, {
        ...(list !== '' && { hint: `its parameters: ${list}` }),
      });
    }
    const constants: Uint8Array[] = [];
    try {
      for (const [i, parameter] of parameters.entries()) {
        const input = inputs[i]!;
        if (parameter.kind === 'constant') constants.push(constantOf(input, parameter, i));
        else this.#buffers.push(bufferOf(device, input, parameter, i));
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
    this.#constants = concatenate(constants);
  }

  /** Dispatches once more, with what the buffers hold. */
  submit(queue: HalQueue): Submission {
    const { groups, workgroupSize, dynamicGroupSizeBytes } = this.#shape;
    return queue.dispatch({
      entry: this.#entry,
      groups,
      ...(workgroupSize !== undefined && { workgroupSize }),
      ...(dynamicGroupSizeBytes !== undefined && { dynamicGroupSizeBytes }),
      bindings: this.#buffers.map(({ buffer }) => buffer),
      constants: this.#constants,
    });
  }

  /**
   * What the buffers hold that are results: those that the inputs name as storage, else all that the code
   * does not say it only reads.
   */
  results(): Tensor[] {
    const named = this.#buffers.filter(({ isStorage }) => isStorage);
    const results = named.length > 0 ? named : this.#buffers.filter(({ isReadOnly }) => !isReadOnly);
    return results.map(({ buffer, initial }) => ({ ...initial, bytes: buffer.read().slice(0, initial.bytes.length) }));
  }

  [Symbol.dispose](): void {
    for (const { buffer } of this.#buffers) buffer[Symbol.dispose]();
  }
}

/** `parameter 3 'n' (int, 4 bytes at 24 of the arguments)`. */
function parameterText({ kind, name, typeName, sizeBytes, offsetBytes }: ExportParameter, index: number): string {
  const what = [kind === 'binding' ? 'buffer' : undefined, typeName].filter((each) => each !== undefined);
  const which =
    name === undefined ? `parameter ${index}, which the code does not name` : `parameter ${index} '${name}'`;
  return `${which} (${what.join(', ') || 'value'}, ${sizeBytes} bytes at ${offsetBytes} of the arguments)`;
}

/** A size of 0 has no memory; such a buffer gets some that nobody counts. */
const MIN_BUFFER_BYTES = 16;

function bufferOf(device: LogicalDevice, input: Input, parameter: ExportParameter, index: number): BufferArgument {
  if (input.kind !== 'tensor') {
    throw invalidArgument(`input ${index} is no buffer, expected one for ${parameterText(parameter, index)}`, {
      hint: 'for example --input=16xf32=0',
    });
  }
  const { tensor, isStorage } = input;
  checkArray(input, parameter, index);
  const buffer = device.allocate(Math.max(tensor.bytes.length, MIN_BUFFER_BYTES), {
    memoryType: 'host-local',
    usage: ['default', 'mapping'],
  });
  buffer.write(tensor.bytes);
  return { buffer, initial: tensor, isStorage, isReadOnly: parameter.isReadOnly ?? false };
}

/**
 * A file of numpy says what its elements are; a kernel for others would take their bits for something else.
 * Throws INVALID_ARGUMENT. What the command line says of the elements is the user's word.
 */
function checkArray(input: Extract<Input, { kind: 'tensor' }>, parameter: ExportParameter, index: number): void {
  const { arrayFile, tensor } = input;
  const wanted = pointeeElement(parameter.typeName ?? '');
  if (arrayFile === undefined || wanted === undefined || storedElement(tensor.type) === wanted) return;
  const what = `input ${index}: ${arrayFile} holds ${tensorTypeText(tensor)}`;
  throw invalidArgument(`${what}, expected elements of ${wanted} for ${parameterText(parameter, index)}`, {
    hint: 'numpy.ndarray.astype converts an array',
  });
}

/** How elements are stored: signed and unsigned integers are one, complex numbers are two floats. */
function storedElement({ kind, sizeBytes }: TensorElement): string {
  const bits = 8 * sizeBytes;
  return kind === 'bytes' ? `f${bits / 2}` : `${kind === 'float' ? 'f' : 'i'}${bits}`;
}

/** The words of a constant; what does not fill its last word is zero. */
function constantOf(input: Input, parameter: ExportParameter, index: number): Uint8Array {
  const words = new Uint8Array(Math.ceil(parameter.sizeBytes / 4) * 4);
  if (input.kind === 'value') {
    try {
      elementTypeNamed(typeOfConstant(parameter, input.text)).parse(input.text, new DataView(words.buffer), 0);
    } catch (error) {
      if (!(error instanceof HalError)) throw error;
      throw invalidArgument(`input ${index}: ${error.what}, expected ${parameterText(parameter, index)}`);
    }
  } else if (input.kind === 'tensor' && input.tensor.bytes.length === parameter.sizeBytes) {
    words.set(input.tensor.bytes);
  } else if (input.kind !== 'null') {
    const found = input.kind === 'tensor' ? tensorTypeText(input.tensor) : input.kind;
    throw invalidArgument(`input ${index} is ${found}, expected ${parameterText(parameter, index)}`);
  }
  return words;
}

const FLOATS: Readonly<Record<string, string>> = { half: 'f16', _Float16: 'f16', float: 'f32', double: 'f64' };

/** Of a plain number: the type that the code names, else what the number looks like. */
function typeOfConstant({ typeName = '', sizeBytes }: ExportParameter, text: string): string {
  const isInteger = /^[+-]?(?:\d+|0x[\da-f]+)$/i.test(text);
  const named = FLOATS[typeName];
  if (named !== undefined) return named;
  if (typeName === '' && !isInteger) return `f${sizeBytes * 8}`;
  return `i${sizeBytes * 8}`;
}
