/** `wavewright dispatch` of PTX: the device, and what of its options PTX has. */
import { WavewrightError } from '../../base/errors.ts';
import { ptxText } from '../../ptx/text/recognize.ts';
import type { PtxRunOutcome, PtxRunRequest, PtxText, RunningPtxKernel } from '../../ptx-host/run-kernel.ts';
import { openDevice } from '../arguments/device-name.ts';
import type { DeviceOptions } from '../arguments/device-options.ts';
import { nvptxImages } from '../arguments/file-code.ts';

export interface PtxFiles {
  readonly device: string;
  readonly texts: readonly PtxText[];
}

/**
 * The PTX in the files that the device runs, where the first one has some, and the device. Throws
 * BAD_INPUT where others have none, UNSUPPORTED where none fits.
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
  const { choosePtx } = await import('../arguments/ptx-device.ts');
  const { name, picked } = choosePtx(device, all);
  return { device: name, texts: picked.map((each) => ({ text: ptxText(each.bytes), name: each.name })) };
}

export interface PtxDispatchOptions extends DeviceOptions {
  /** Options of the command that PTX has no use for, and whether each was given. */
  readonly refused: Readonly<Record<string, boolean>>;
}

/** Throws UNSUPPORTED for an option that PTX does not have here. */
export async function dispatchPtx(
  files: PtxFiles,
  { refused, ...options }: PtxDispatchOptions,
  request: Omit<PtxRunRequest, 'device' | 'texts'>,
  pause: (kernel: RunningPtxKernel) => Promise<void>,
): Promise<{ readonly outcome: PtxRunOutcome; readonly deviceName: string }> {
  const given = Object.entries(refused).find(([, isGiven]) => isGiven);
  if (given) throw new WavewrightError('UNSUPPORTED', `--${given[0]} for PTX`);
  const { runPtxKernel } = await import('../../ptx-host/run-kernel.ts');
  using device = await openDevice(files.device, [], options);
  const outcome = await runPtxKernel({ device, texts: files.texts, ...request }, pause);
  return { outcome, deviceName: device.name };
}
