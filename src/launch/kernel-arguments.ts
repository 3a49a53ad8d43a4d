/**
 * Explicit arguments in the kernarg segment of a kernel, each checked against what the metadata says of it:
 * `placeArguments` finds where they go, `writeArguments` writes them when there is memory. `writeHidden` of
 * `prepare.ts` adds the hidden ones, whose table is `src/codeobject/hidden-arguments.ts`.
 */
import { alignUp } from '../base/align.ts';
import { WavewrightError } from '../base/errors.ts';
import { isHiddenArgument } from '../codeobject/hidden-arguments.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { KernelArgument } from '../codeobject/metadata.ts';
import type { LaunchableKernel } from './launchable-kernel.ts';

/** Memory that a pointer points to; who launches says where it is. */
export interface BufferArgument {
  readonly kind: 'buffer';
  readonly text: string;
  /** What it was made of; undefined: bytes that fit every type. */
  readonly elements?: ElementType | undefined;
}

/**
 * An argument before it is placed: its bytes, memory that a pointer points to, LDS, or a device function.
 * `text`: what errors call it.
 */
export type LaunchArgument<Buffer extends BufferArgument> =
  | {
      readonly kind: 'value';
      readonly text: string;
      readonly bytes: Uint8Array;
      /** What it was written as; undefined: bytes that fit every type. */
      readonly elements?: 'integer' | 'float' | undefined;
    }
  | Buffer
  | { readonly kind: 'local'; readonly text: string; readonly sizeBytes: number }
  | { readonly kind: 'function'; readonly text: string; readonly name: string };

/** An argument with its place in the segment. */
interface Place<Buffer extends BufferArgument> {
  readonly argument: LaunchArgument<Buffer>;
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** The alignment in LDS of a `local` argument. */
  readonly alignmentBytes: number;
}

export interface PlacedArguments<Buffer extends BufferArgument> {
  readonly places: readonly (Place<Buffer> & {
    /** Where a `local` argument lies in group memory. */
    readonly localOffsetBytes: number;
  })[];
  /** Where the last argument ends in the segment. */
  readonly argumentsSizeBytes: number;
  /** Group memory of the `local` ones, with the gaps before them. */
  readonly localSizeBytes: number;
}

export interface ArgumentContext<Buffer extends BufferArgument> {
  /** The address of the memory of a buffer. */
  readonly address: (argument: Buffer) => bigint;
  /** The address of a device function. */
  readonly functionAddress: (name: string) => bigint;
}

/** Element types of memory; signed and unsigned integers are one. */
export type ElementType = 'i8' | 'i16' | 'i32' | 'i64' | 'f16' | 'f32' | 'f64';

const MAX_LDS_ALIGNMENT_BYTES = 16;
const SHARED = 'dynamic_shared_pointer';
/** Kinds of values that each kind of argument can be. */
const FITTING: Readonly<Record<LaunchArgument<BufferArgument>['kind'], readonly string[]>> = {
  value: ['by_value', 'global_buffer'],
  buffer: ['global_buffer', 'by_value'],
  local: [SHARED],
  function: ['by_value', 'global_buffer'],
};

/** What the metadata says of a parameter, for errors. */
export function describeParameter({ name, typeName, valueKind, sizeBytes }: KernelArgument, unnamed = 'it'): string {
  const type = typeName === undefined ? `${sizeBytes} bytes` : `${typeName}, ${sizeBytes} bytes`;
  return `${name === undefined ? unnamed : `'${name}'`} is ${valueKind} (${type})`;
}

/** Names of OpenCL C, which its metadata says. */
const ELEMENT_TYPES: Readonly<Record<string, ElementType>> = {
  ...{ char: 'i8', short: 'i16', int: 'i32', long: 'i64' },
  ...{ half: 'f16', float: 'f32', double: 'f64' },
};

export interface NumberType {
  readonly element: ElementType;
  readonly isUnsigned: boolean;
  /** Numbers of a vector, 1 for a scalar. */
  readonly count: number;
}

function numberType(typeName: string): NumberType | undefined {
  const [, sign, name = '', count = ''] = /^(u?)(char|short|int|long|half|float|double)(\d*)$/.exec(typeName) ?? [];
  const element = ELEMENT_TYPES[name];
  return element && { element, isUnsigned: sign === 'u', count: count === '' ? 1 : Number(count) };
}

/** Type of a parameter that is a number or a vector, where the metadata says it. */
export const valueType = ({ valueKind, typeName = '' }: KernelArgument): NumberType | undefined =>
  valueKind === 'by_value' ? numberType(typeName) : undefined;

/** Whether a parameter is an integer or a float, where the metadata says it. */
function numberKind(parameter: KernelArgument): 'integer' | 'float' | undefined {
  const type = valueType(parameter);
  if (type !== undefined) return type.element.startsWith('f') ? 'float' : 'integer';
  const { valueKind, typeName = '' } = parameter;
  return valueKind === 'by_value' && /^(bool|size_t|ptrdiff_t|u?intptr_t)$/.test(typeName) ? 'integer' : undefined;
}

/** Elements of what a pointer of this type points to, `float*` or `uint4*`; undefined for others. */
export const pointeeElement = (typeName: string): ElementType | undefined =>
  numberType(typeName.replace(/\*$/, ''))?.element;

/** Elements of what a pointer points to, where the metadata says it. */
const pointeeType = ({ valueKind, typeName = '' }: KernelArgument): ElementType | undefined =>
  valueKind === 'global_buffer' ? pointeeElement(typeName) : undefined;

/** The parameters that the caller gives arguments for, in order; undefined without metadata. */
export const explicitParameters = ({ metadata }: LaunchableKernel): KernelArgument[] | undefined =>
  metadata?.args.filter((argument) => !isHiddenArgument(argument));

/** `index`: from 0. `parameter`: what the metadata says of it, if anything. */
export function argumentError(index: number, text: string, why: string, parameter?: KernelArgument): WavewrightError {
  const known = parameter === undefined ? '' : `; ${describeParameter(parameter)}`;
  return new WavewrightError('USAGE', `argument ${index + 1}, ${text}: ${why}${known}`);
}

/** Throws USAGE where number, kind or size of the arguments is not what the kernel takes. */
export function placeArguments<Buffer extends BufferArgument>(
  kernel: LaunchableKernel,
  args: readonly LaunchArgument<Buffer>[],
): PlacedArguments<Buffer> {
  const parameters = explicitParameters(kernel);
  const placed = parameters === undefined ? placeByAlignment(kernel, args) : placeByMetadata(kernel, parameters, args);
  let localEnd = kernel.groupSegmentSizeBytes;
  const places = placed.map((place) => {
    const localOffsetBytes = alignUp(localEnd, place.alignmentBytes);
    if (place.argument.kind === 'local') localEnd = localOffsetBytes + place.argument.sizeBytes;
    return { ...place, localOffsetBytes };
  });
  return {
    places,
    argumentsSizeBytes: Math.max(0, ...places.map(({ offsetBytes, sizeBytes }) => offsetBytes + sizeBytes)),
    localSizeBytes: localEnd - kernel.groupSegmentSizeBytes,
  };
}

function placeByMetadata<Buffer extends BufferArgument>(
  kernel: LaunchableKernel,
  parameters: readonly KernelArgument[],
  args: readonly LaunchArgument<Buffer>[],
): Place<Buffer>[] {
  if (args.length !== parameters.length) {
    throw new WavewrightError(
      'USAGE',
      `${args.length} arguments, kernel '${kernelName(kernel)}' takes ${parameters.length}`,
      {
        ...(parameters.length > 0 && {
          hint: `its arguments: ${parameters.map((each, i) => describeParameter(each, `number ${i + 1}`)).join('; ')}`,
        }),
      },
    );
  }
  return parameters.map((parameter, i) => {
    const argument = args[i]!;
    const { offsetBytes, sizeBytes, valueKind, pointeeAlignmentBytes } = parameter;
    const fail = (why: string): never => {
      throw argumentError(i, argument.text, why, parameter);
    };
    const known = Object.values(FITTING).flat();
    if (!known.includes(valueKind)) {
      throw new WavewrightError('UNSUPPORTED', `argument ${i + 1}: ${describeParameter(parameter)}`);
    }
    if (!FITTING[argument.kind].includes(valueKind))
      fail(`expected ${valueKind === SHARED ? 'local:BYTES' : 'no local memory'}`);
    if (argument.kind === 'value' && argument.bytes.length !== sizeBytes) fail(`it has ${argument.bytes.length} bytes`);
    if (argument.kind !== 'value' && argument.kind !== 'local' && sizeBytes !== 8) fail('an address has 8 bytes');
    const wanted = numberKind(parameter);
    if (wanted === 'float' && argument.kind !== 'value') fail('expected a number');
    if (argument.kind === 'value' && argument.elements !== undefined && wanted && argument.elements !== wanted) {
      fail(`expected ${wanted === 'float' ? 'f16, f32 or f64' : 'an integer'}, or hex`);
    }
    const pointee = pointeeType(parameter);
    if (argument.kind === 'buffer' && argument.elements && pointee && argument.elements !== pointee) {
      fail(`expected elements of type ${pointee}`);
    }
    const alignmentBytes = Math.max(pointeeAlignmentBytes ?? MAX_LDS_ALIGNMENT_BYTES, 1);
    return { argument, offsetBytes, sizeBytes, alignmentBytes };
  });
}

/** Without metadata, arguments lie one after the other, each aligned to its size. */
function placeByAlignment<Buffer extends BufferArgument>(
  kernel: LaunchableKernel,
  args: readonly LaunchArgument<Buffer>[],
): Place<Buffer>[] {
  const name = kernelName(kernel);
  const { kernargSegmentSizeBytes } = kernel;
  let end = 0;
  const places = args.map((argument) => {
    if (argument.kind === 'local') {
      throw new WavewrightError(
        'USAGE',
        `${argument.text}: the metadata does not say where kernel '${name}' expects it`,
      );
    }
    const sizeBytes = argument.kind === 'value' ? argument.bytes.length : 8;
    const alignmentBytes = Math.min(2 ** Math.ceil(Math.log2(sizeBytes)), 16);
    const offsetBytes = alignUp(end, alignmentBytes);
    end = offsetBytes + sizeBytes;
    return { argument, offsetBytes, sizeBytes, alignmentBytes };
  });
  if (end > kernargSegmentSizeBytes && kernargSegmentSizeBytes > 0) {
    throw new WavewrightError('USAGE', `${end} bytes of arguments, kernel '${name}' takes ${kernargSegmentSizeBytes}`);
  }
  return places;
}

/** Fills in the explicit arguments. */
export function writeArguments<Buffer extends BufferArgument>(
  segment: DataView,
  { places }: PlacedArguments<Buffer>,
  context: ArgumentContext<Buffer>,
): void {
  for (const { argument, offsetBytes, localOffsetBytes } of places) {
    switch (argument.kind) {
      case 'value':
        for (const [i, byte] of argument.bytes.entries()) segment.setUint8(offsetBytes + i, byte);
        break;
      case 'buffer':
        segment.setBigUint64(offsetBytes, context.address(argument), true);
        break;
      case 'function':
        segment.setBigUint64(offsetBytes, context.functionAddress(argument.name), true);
        break;
      case 'local':
        segment.setUint32(offsetBytes, localOffsetBytes, true);
    }
  }
}
