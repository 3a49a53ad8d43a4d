/** What the preparation of launches knows of a kernel for NVIDIA GPUs, in the words of AMD's metadata. */
import type { KernelArgument, KernelMetadata } from '../codeobject/metadata.ts';

export interface PlacedParameter {
  readonly name?: string;
  /** As PTX writes it, without its dot; undefined in machine code. */
  readonly type?: string;
  readonly offset: number;
  readonly sizeBytes: number;
  readonly isPointer?: boolean;
}

export interface KernelFacts {
  readonly name: string;
  readonly parameters: readonly PlacedParameter[];
  readonly parametersSizeBytes: number;
  readonly sharedSizeBytes: number;
  readonly privateSizeBytes: number;
  readonly requiredSize: readonly number[] | undefined;
  readonly maxWorkgroupSize: number;
}

/** Names that errors use, and that say whether a number is an integer or a float. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  ...{ u8: 'uchar', s8: 'char', u16: 'ushort', s16: 'short', u32: 'uint', s32: 'int' },
  ...{ f16: 'half', f32: 'float', f64: 'double' },
};

function argumentOf({ name, type, offset, sizeBytes, isPointer = false }: PlacedParameter): KernelArgument {
  return {
    ...{ name, typeName: type && TYPE_NAMES[type], sizeBytes, offsetBytes: offset, unknown: {} },
    valueKind: isPointer ? 'global_buffer' : 'by_value',
    ...{ pointeeAlignmentBytes: undefined, addressSpace: undefined, access: undefined, actualAccess: undefined },
    ...{ isConst: undefined, isRestrict: undefined, isVolatile: undefined, isPipe: undefined },
  };
}

export function kernelMetadata(kernel: KernelFacts): KernelMetadata {
  const { name, parameters, parametersSizeBytes, sharedSizeBytes, privateSizeBytes } = kernel;
  return {
    ...{ name, symbol: name, language: 'PTX', languageVersion: undefined, args: parameters.map(argumentOf) },
    ...{ reqdWorkgroupSize: kernel.requiredSize, workgroupSizeHint: undefined, vecTypeHint: undefined },
    ...{
      deviceEnqueueSymbol: undefined,
      kernargSegmentSizeBytes: parametersSizeBytes,
      kernargSegmentAlignmentBytes: 16,
    },
    ...{ groupSegmentFixedSizeBytes: sharedSizeBytes, privateSegmentFixedSizeBytes: privateSizeBytes },
    ...{ wavefrontSize: 32, sgprCount: 0, vgprCount: 0, agprCount: undefined },
    ...{ maxFlatWorkgroupSize: kernel.maxWorkgroupSize, sgprSpillCount: undefined, vgprSpillCount: undefined },
    ...{ kind: undefined, maxWorkgroupsX: undefined, maxWorkgroupsY: undefined, maxWorkgroupsZ: undefined },
    ...{ uniformWorkgroupSize: 1, usesDynamicStack: undefined, workgroupProcessorMode: undefined },
    ...{ clusterDims: undefined, unknown: {} },
  };
}
