/** `wavewright dispatch` of code for NVIDIA GPUs: the device, and what of its options such code has. */
import { WavewrightError } from '../../base/errors.ts';
import type { NvptxImage } from '../../nvptx/images.ts';
import { ptxText } from '../../ptx/text/recognize.ts';
import type { PtxRunOutcome, PtxRunRequest, RunningPtxKernel } from '../../ptx-host/run-kernel.ts';
import type { DeviceOptions } from '../arguments/device-options.ts';
import { nvptxImages } from '../arguments/file-code.ts';

export interface PtxFiles {
  /** Of --device. */
  readonly device: string | undefined;
  readonly images: readonly NvptxImage[];
}

/**
 * The code for NVIDIA GPUs in the files, where the first one has some. Throws BAD_INPUT where others have
 * none.
 */
export async function ptxFiles(
  files: readonly { readonly bytes: Uint8Array; readonly name: string }[],
  device: string | undefined,
  memorySizeBytes: number,
): Promise<PtxFiles | undefined> {
  const [first, ...others] = files;
  const images = first && (await nvptxImages(first.bytes, first.name, { device, memorySizeBytes }));
  if (!images) return undefined;
  const all = [...images];
  for (const { bytes, name } of others) {
    const unit = all.length;
    const more = (await nvptxImages(bytes, name, { device: device ?? 'ptx', memorySizeBytes })) ?? [];
    all.push(...more.map((image) => ({ ...image, unit: unit + image.unit })));
  }
  return { device, images: all };
}

export interface PtxDispatchOptions extends DeviceOptions {
  /** Options of the command that PTX has no use for, and whether each was given. */
  readonly refused: Readonly<Record<string, boolean>>;
}

/** Throws UNSUPPORTED for an option that such code does not have here. */
export async function dispatchPtx(
  files: PtxFiles,
  { refused, ...options }: PtxDispatchOptions,
  request: Omit<PtxRunRequest, 'device' | 'texts'>,
  pause: (kernel: RunningPtxKernel) => Promise<void>,
): Promise<{ readonly outcome: PtxRunOutcome; readonly deviceName: string }> {
  const given = Object.entries(refused).find(([, isGiven]) => isGiven);
  if (given) throw new WavewrightError('UNSUPPORTED', `--${given[0]} for PTX`);
  const { runPtxKernel } = await import('../../ptx-host/run-kernel.ts');
  const { openNvptxDevice } = await import('../arguments/nvptx-device.ts');
  const { device: opened, picked } = await openNvptxDevice(files.device, files.images, options);
  using device = opened;
  const texts = picked.filter(({ kind }) => kind === 'ptx').map(({ bytes, name }) => ({ text: ptxText(bytes), name }));
  const cubins = picked.filter(({ kind }) => kind === 'cubin');
  const outcome = await runPtxKernel({ device, texts, cubins, ...request }, pause);
  return { outcome, deviceName: device.name };
}
