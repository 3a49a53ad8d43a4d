/** Arguments in the kernarg segment of a kernel, each checked against what the metadata says of it. */
import { WavewrightError } from '../base/errors.ts';
import { type HiddenArgumentValues, isHiddenArgument, writeHiddenArguments } from '../codeobject/hidden-arguments.ts';
import type { KernelArgument } from '../codeobject/metadata.ts';
import type { KernelSymbol } from '../hsa/executable-symbol.ts';
import { checkLaunchSizes, type LaunchSizes } from '../hsa/launch-sizes.ts';
import type { DispatchArgument } from './argument-text.ts';

/** Where an argument goes. */
interface Place {
  readonly argument: DispatchArgument;
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** Of LDS. */
  readonly alignmentBytes: number;
}

export interface ArgumentContext {
  /** Memory for a buffer, with its contents. */
  readonly allocate: (argument: DispatchArgument & { readonly kind: 'buffer' }) => bigint;
  /** Address of a device function. */
  readonly functionAddress: (name: string) => bigint;
}

const MAX_LDS_ALIGNMENT_BYTES = 16;
/** Of a segment, which kernels without arguments have, too. */
const MIN_KERNARG_BYTES = 16;

const SHARED = 'dynamic_shared_pointer';
/** Kinds of values that each kind of argument can be. */
const FITTING: Readonly<Record<DispatchArgument['kind'], readonly string[]>> = {
  value: ['by_value', 'global_buffer'],
  buffer: ['global_buffer', 'by_value'],
  local: [SHARED],
  function: ['by_value', 'global_buffer'],
};

function describe({ name, typeName, valueKind, sizeBytes }: KernelArgument, unnamed = 'it'): string {
  const type = typeName === undefined ? `${sizeBytes} bytes` : `${typeName}, ${sizeBytes} bytes`;
  return `${name === undefined ? unnamed : `'${name}'`} is ${valueKind} (${type})`;
}

/** Whether a parameter has the type of a number, which the metadata of OpenCL C says. */
function numberType({ valueKind, typeName = '' }: KernelArgument): 'integer' | 'float' | undefined {
  if (valueKind !== 'by_value') return undefined;
  if (/^(half|float|double)\d*$/.test(typeName)) return 'float';
  return /^(u?(char|short|int|long)\d*|bool|size_t|ptrdiff_t|u?intptr_t)$/.test(typeName) ? 'integer' : undefined;
}

/** Throws USAGE where number, kind or size of the arguments is not what the kernel takes. */
export function placeArguments(kernel: KernelSymbol, args: readonly DispatchArgument[]): Place[] {
  const { metadata } = kernel;
  if (metadata === undefined) return placeByAlignment(kernel, args);
  const parameters = metadata.args.filter((argument) => !isHiddenArgument(argument));
  if (args.length !== parameters.length) {
    throw new WavewrightError(
      'USAGE',
      `${args.length} arguments, kernel '${metadata.name}' takes ${parameters.length}`,
      {
        ...(parameters.length > 0 && {
          hint: `its arguments: ${parameters.map((each, i) => describe(each, `number ${i + 1}`)).join('; ')}`,
        }),
      },
    );
  }
  return parameters.map((parameter, i) => {
    const argument = args[i]!;
    const { offsetBytes, sizeBytes, valueKind, pointeeAlignmentBytes } = parameter;
    const fail = (why: string): never => {
      throw new WavewrightError('USAGE', `argument ${i + 1}, ${argument.text}: ${why}; ${describe(parameter)}`);
    };
    const known = Object.values(FITTING).flat();
    if (!known.includes(valueKind)) {
      throw new WavewrightError('UNSUPPORTED', `argument ${i + 1}: ${describe(parameter)}`);
    }
    if (!FITTING[argument.kind].includes(valueKind))
      fail(`expected ${valueKind === SHARED ? 'local:BYTES' : 'no local memory'}`);
    if (argument.kind === 'value' && argument.bytes.length !== sizeBytes) fail(`it has ${argument.bytes.length} bytes`);
    if (argument.kind !== 'value' && argument.kind !== 'local' && sizeBytes !== 8) fail('an address has 8 bytes');
    const wanted = numberType(parameter);
    if (wanted === 'float' && argument.kind !== 'value') fail('expected a number');
    if (argument.kind === 'value' && argument.elements !== undefined && wanted && argument.elements !== wanted) {
      fail(`expected ${wanted === 'float' ? 'f16, f32 or f64' : 'an integer'}, or hex`);
    }
    const alignmentBytes = Math.max(pointeeAlignmentBytes ?? MAX_LDS_ALIGNMENT_BYTES, 1);
    return { argument, offsetBytes, sizeBytes, alignmentBytes };
  });
}

/** Without metadata: one after the other, each aligned to its size. */
function placeByAlignment({ name, kernargSegmentSizeBytes }: KernelSymbol, args: readonly DispatchArgument[]): Place[] {
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
    const offsetBytes = Math.ceil(end / alignmentBytes) * alignmentBytes;
    end = offsetBytes + sizeBytes;
    return { argument, offsetBytes, sizeBytes, alignmentBytes };
  });
  if (end > kernargSegmentSizeBytes && kernargSegmentSizeBytes > 0) {
    throw new WavewrightError('USAGE', `${end} bytes of arguments, kernel '${name}' takes ${kernargSegmentSizeBytes}`);
  }
  return places;
}

/** Where each `local` argument begins in group memory, in order, and the end of the last one. */
function placeLocals(start: number, places: readonly Place[]): { readonly offsets: number[]; readonly end: number } {
  const offsets: number[] = [];
  let end = start;
  for (const { argument, alignmentBytes } of places) {
    if (argument.kind !== 'local') continue;
    const offset = Math.ceil(end / alignmentBytes) * alignmentBytes;
    offsets.push(offset);
    end = offset + argument.sizeBytes;
  }
  return { offsets, end };
}

/**
 * What a launch takes: group memory with that of `local` arguments and what is asked for besides, the kernarg segment, and `privateSegmentSizeBytes`.
 * Throws INVALID_ALLOCATION where the device does not have so much.
 */
export function launchSizes(
  kernel: KernelSymbol,
  places: readonly Place[],
  dynamicLdsSizeBytes: number,
  privateSegmentSizeBytes: number,
): Required<LaunchSizes> {
  const groupSegmentSizeBytes = placeLocals(kernel.groupSegmentSizeBytes, places).end + dynamicLdsSizeBytes;
  const sizes = {
    groupSegmentSizeBytes,
    privateSegmentSizeBytes,
    kernargSizeBytes: Math.max(
      kernel.kernargSegmentSizeBytes,
      MIN_KERNARG_BYTES,
      ...places.map((place) => place.offsetBytes + place.sizeBytes),
    ),
  };
  checkLaunchSizes(kernel.agent.requireDevice(), kernel, sizes);
  return sizes;
}

/** Fills the segment. `sizes`: what `launchSizes` said. */
export function writeArguments(
  segment: Uint8Array,
  kernel: KernelSymbol,
  places: readonly Place[],
  sizes: LaunchSizes,
  context: ArgumentContext,
  launch: HiddenArgumentValues,
): void {
  const view = new DataView(segment.buffer, segment.byteOffset, segment.byteLength);
  const locals = placeLocals(kernel.groupSegmentSizeBytes, places).offsets;
  for (const { argument, offsetBytes } of places) {
    switch (argument.kind) {
      case 'value':
        segment.set(argument.bytes, offsetBytes);
        break;
      case 'buffer':
        view.setBigUint64(offsetBytes, context.allocate(argument), true);
        break;
      case 'function':
        view.setBigUint64(offsetBytes, context.functionAddress(argument.name), true);
        break;
      case 'local':
        view.setUint32(offsetBytes, locals.shift()!, true);
    }
  }
  const dynamicLdsSizeBytes = sizes.groupSegmentSizeBytes - kernel.groupSegmentSizeBytes;
  if (kernel.metadata !== undefined) writeHiddenArguments(view, kernel.metadata, { ...launch, dynamicLdsSizeBytes });
}
