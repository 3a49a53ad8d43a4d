/** The GPU code in a file that the user named: for AMD's GPUs, or for NVIDIA's. */
import { WavewrightError } from '../../base/errors.ts';
import { type CodeObjectImage, type ContainerOptions, isBitcode, openCodeObjects } from '../../codeobject/container.ts';
import { EM_AMDGPU } from '../../codeobject/elf-flags.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { elfMachine } from '../../elf/header.ts';
import type { NvptxFile, NvptxImage } from '../../nvptx/images.ts';
import { readInput } from '../process/input.ts';
import { expectCuda, isCudaName } from './cuda-device.ts';
import { MAX_DEVICE_MEMORY_BYTES } from './device-name.ts';

export type FileCode =
  | { readonly kind: 'amdgpu'; readonly images: readonly CodeObjectImage[] }
  | { readonly kind: 'nvptx'; readonly images: readonly NvptxImage[] };

export interface FileCodeOptions {
  /** Of --device: where a file has code for both, the device says which. */
  readonly device?: string | undefined;
  /** Memory of the device; what is compressed is no larger. */
  readonly memorySizeBytes?: number;
}

const isForNvptx = (device: string | undefined): boolean => /^(?:ptx|cuda)(?::|$)/.test(device ?? '');

const isAmdgpuElf = (bytes: Uint8Array): boolean => elfMachine(bytes) === EM_AMDGPU;

/** Throws IO, and BAD_INPUT where the file has no GPU code. */
export async function openFileCode(file: string, options: FileCodeOptions = {}): Promise<FileCode> {
  const bytes = readInput(file);
  const images = await nvptxImages(bytes, file, options);
  if (images) return { kind: 'nvptx', images };
  return { kind: 'amdgpu', images: openCodeObjects(bytes, file, containerOptions(options)) };
}

const containerOptions = ({ memorySizeBytes = MAX_DEVICE_MEMORY_BYTES }: FileCodeOptions): ContainerOptions => ({
  ...{ decompress: nodeDecompress, maxExpandedBytes: memorySizeBytes },
});

/**
 * What NVIDIA's GPUs have in the file; undefined where it is for others. Throws BAD_INPUT where the device
 * wants some and there is none, NO_DEVICE where there is no such device either.
 */
export async function nvptxImages(
  bytes: Uint8Array,
  file: string,
  options: FileCodeOptions,
): Promise<readonly NvptxImage[] | undefined> {
  const found = await openNvptxFile(bytes, file, options);
  if (found || !isForNvptx(options.device)) return found?.images;
  if (isCudaName(options.device)) await expectCuda(options.device!);
  throw new WavewrightError('BAD_INPUT', `no code for NVIDIA GPUs, which ${options.device} runs`, {
    file,
    hint: 'expected PTX, a fat binary, an offload binary or bundle, or a program with one inside',
  });
}

/** The same with the kind of the file; a file with code for AMD's GPUs, too, is theirs without a device. */
export async function openNvptxFile(
  bytes: Uint8Array,
  file: string,
  options: FileCodeOptions,
): Promise<NvptxFile | undefined> {
  const isWanted = isForNvptx(options.device);
  // Reading what NVIDIA's GPUs have takes a while to load.
  if (!isWanted && (isAmdgpuElf(bytes) || isBitcode(bytes))) return undefined;
  const { openNvptx } = await import('../../nvptx/images.ts');
  const found = openNvptx(bytes, file, containerOptions(options));
  return isWanted || !hasCodeObjects(bytes, file, options) ? found : undefined;
}

function hasCodeObjects(bytes: Uint8Array, file: string, options: FileCodeOptions): boolean {
  try {
    return openCodeObjects(bytes, file, containerOptions(options)).length > 0;
  } catch (error) {
    if (error instanceof WavewrightError) return false;
    throw error;
  }
}
