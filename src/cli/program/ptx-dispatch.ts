/** `wavewright dispatch` of PTX: the device, and what of its options PTX has. */
import { WavewrightError } from '../../base/errors.ts';
import { PTX_PROCESSORS } from '../../devices/emulated/ptx/processors.ts';
import { isPtxText, ptxText } from '../../ptx/text/recognize.ts';
import type { PtxRunOutcome, PtxRunRequest, PtxText, RunningPtxKernel } from '../../ptx-host/run-kernel.ts';

const DEFAULT_PROCESSOR = 'sm_70';

/** The files as PTX, where the first one is; throws BAD_INPUT where others are not. */
export function ptxTexts(
  files: readonly { readonly bytes: Uint8Array; readonly name: string }[],
): PtxText[] | undefined {
  if (!files[0] || !isPtxText(files[0].bytes)) return undefined;
  return files.map(({ bytes, name }) => {
    if (isPtxText(bytes)) return { text: ptxText(bytes), name };
    throw new WavewrightError('BAD_INPUT', 'is no PTX text, as the first file is', { file: name });
  });
}

/** The processor of `ptx:sm_80`. Throws NO_DEVICE. */
function processorOf(device: string | undefined): string {
  const [kind, processor = DEFAULT_PROCESSOR, ...rest] = (device ?? 'ptx').split(':');
  if (kind === 'ptx' && rest.length === 0 && PTX_PROCESSORS.includes(processor)) return processor;
  throw new WavewrightError('NO_DEVICE', `no device '${device}' for PTX`, {
    hint: `devices for PTX are ${PTX_PROCESSORS.map((each) => `ptx:${each}`).join(', ')}`,
  });
}

export interface PtxDispatchOptions {
  readonly device: string | undefined;
  readonly workers: number | undefined;
  readonly memorySizeBytes: number;
  readonly countsClasses: boolean;
  /** Options of the command that PTX has no use for, and whether each was given. */
  readonly refused: Readonly<Record<string, boolean>>;
}

/** Throws UNSUPPORTED for an option that PTX does not have here. */
export async function dispatchPtx(
  { device: name, workers, memorySizeBytes, countsClasses, refused }: PtxDispatchOptions,
  request: Omit<PtxRunRequest, 'device'>,
  pause: (kernel: RunningPtxKernel) => Promise<void>,
): Promise<{ readonly outcome: PtxRunOutcome; readonly deviceName: string }> {
  const given = Object.entries(refused).find(([, isGiven]) => isGiven);
  if (given) throw new WavewrightError('UNSUPPORTED', `--${given[0]} for PTX`);
  const processor = processorOf(name);
  const [{ createPtxDevice }, { nodeThreads }, { runPtxKernel }] = await Promise.all([
    import('../../devices/emulated/ptx-device.ts'),
    import('../../devices/emulated/node-threads.ts'),
    import('../../ptx-host/run-kernel.ts'),
  ]);
  const threads = { threads: nodeThreads, ...(workers !== undefined && { workers }) };
  using device = createPtxDevice({ processor, memorySizeBytes, countsClasses, ...threads });
  const outcome = await runPtxKernel({ device, ...request }, pause);
  return { outcome, deviceName: device.name };
}
