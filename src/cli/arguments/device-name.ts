import { WavewrightError } from '../../base/errors.ts';
import { type CodeObjectImage, openCodeObjects } from '../../codeobject/container.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { formatTargetId, parseTargetId, type TargetId } from '../../codeobject/target-id.ts';
import type { Device } from '../../device/device.ts';
import { TARGET_PROCESSORS } from '../../isa/amdgpu/encoding/targets.ts';
import { readInput } from '../process/input.ts';
import type { DeviceOptions } from './device-options.ts';

/** What a GPU address of 32 bits inside a device reaches. */
export const MAX_DEVICE_MEMORY_BYTES = 2 ** 32;

/** Of commands that run kernels. */
export const WORKERS_OPTION = {
  kind: 'integer',
  placeholder: 'N',
  min: 1,
  max: 256,
  description: 'threads that run the workgroups of a kernel; by default as many as the machine has cores',
} as const;

/** Of commands that run kernels. */
export const MEMORY_OPTION = {
  kind: 'integer',
  placeholder: 'BYTES',
  min: 2 ** 20,
  max: MAX_DEVICE_MEMORY_BYTES,
  default: MAX_DEVICE_MEMORY_BYTES,
  description:
    'memory of the emulated device, for code, buffers and malloc together; decompressed bundles are no larger',
} as const;

const EMULATED = TARGET_PROCESSORS.map((processor) => `emulated:${processor}`).join(', ');
const HINT = `devices are ${EMULATED}, hsa:0 on for AMD GPUs of this machine, cuda:0 on for its NVIDIA GPUs, and ptx:sm_70 on for PTX`;

/** The code objects in a file, for a device with so much memory. */
export function openImages(file: string, memorySizeBytes = MAX_DEVICE_MEMORY_BYTES): CodeObjectImage[] {
  return openCodeObjects(readInput(file), file, { decompress: nodeDecompress, maxExpandedBytes: memorySizeBytes });
}

/**
 * The device of --device, for example `emulated:gfx90a` or `emulated:gfx90a:xnack-`, also without
 * `emulated:`; without a name, or with `emulated` alone, the emulator for the target of the first image that
 * it can run; `hsa:1` is the second AMD GPU of the machine. Throws NO_DEVICE for another kind of device, an
 * unknown processor or features that the device does not have, UNSUPPORTED for a processor that is not
 * emulated. `ptx:sm_80` runs PTX, `cuda:0` is the first NVIDIA GPU.
 */
export async function openDevice(
  name: string | undefined,
  images: readonly CodeObjectImage[],
  { open, ...options }: DeviceOptions = {},
): Promise<Device> {
  const [first = '', ...others] = (name ?? 'emulated').split(':');
  const [kind, ...rest] = TARGET_PROCESSORS.includes(first) ? ['emulated', first, ...others] : [first, ...others];
  if (kind === 'hsa' && rest.length <= 1 && /^\d*$/.test(rest[0] ?? '')) {
    const index = Number(rest[0] ?? 0);
    const unsupported =
      options.findings?.check !== undefined ? '--check' : options.countsPcs ? '--pc-counts' : undefined;
    if (unsupported !== undefined) {
      throw new WavewrightError('UNSUPPORTED', `${unsupported} on hsa:${index}`, { hint: 'emulated devices have it' });
    }
    if (open?.name === `hsa:${index}`) return open;
    const { openNativeDevice } = await import('../../devices/hsa-native/index.ts');
    return openNativeDevice({ index });
  }
  if (kind === 'ptx') return await (await import('./ptx-device.ts')).openPtxDevice(name!, { ...options, open });
  if (kind === 'cuda') return await (await import('./cuda-device.ts')).openCuda(name!, { ...options, open });
  if (kind !== 'emulated') throw noDevice(`no device '${name}'`);
  const processor = rest.length > 0 ? await emulatedProcessor(rest.join(':')) : ownProcessor(images);
  return open?.name === `emulated:${processor}` ? open : await createDevice(processor, options);
}

/** Of a target id. Throws NO_DEVICE for features that the emulated device does not have. */
async function emulatedProcessor(text: string): Promise<string> {
  const wanted = parseName(text);
  // What is not emulated at all is told by who makes the device.
  if (!TARGET_PROCESSORS.includes(wanted.processor)) return wanted.processor;
  const targetId = (await loadEmulator()).emulatedTargetId(wanted.processor);
  const present = parseTargetId(targetId);
  for (const feature of ['xnack', 'sramecc'] as const) {
    if (wanted[feature] !== 'any' && wanted[feature] !== present[feature]) {
      throw noDevice(`no device 'emulated:${text}', only emulated:${targetId}`);
    }
  }
  return wanted.processor;
}

/** Emulated devices take long to load, and not every command that names devices opens one. */
export async function loadEmulator() {
  const [{ createEmulatedDevice, emulatedTargetId }, { nodeThreads }, { keepCodeInFolder }] = await Promise.all([
    import('../../devices/emulated/index.ts'),
    import('../../devices/emulated/node-threads.ts'),
    import('./code-folder.ts'),
  ]);
  keepCodeInFolder();
  return { createEmulatedDevice, emulatedTargetId, nodeThreads };
}

/**
 * Opens emulated AMD GPUs of one name, as many as there are indices. Throws NO_DEVICE for all other names,
 * now.
 */
export async function openDeviceNamed(
  name: string,
  options: Omit<DeviceOptions, 'open'>,
): Promise<(index: number) => Device> {
  const targetId = name.replace(/^emulated:/, '');
  if (!TARGET_PROCESSORS.includes(targetId.split(':')[0]!)) {
    throw new WavewrightError('NO_DEVICE', `no emulated device '${name}'`, { hint: `there are ${EMULATED}` });
  }
  return await deviceMaker(await emulatedProcessor(targetId), options);
}

const createDevice = async (processor: string, options: DeviceOptions): Promise<Device> =>
  (await deviceMaker(processor, options))(0);

async function deviceMaker(
  processor: string,
  {
    workers,
    countsClasses = false,
    countsPcs = false,
    countsAccesses = false,
    tracesWaves = false,
    memorySizeBytes = MAX_DEVICE_MEMORY_BYTES,
    findings,
  }: DeviceOptions,
): Promise<(index: number) => Device> {
  const { createEmulatedDevice, nodeThreads } = await loadEmulator();
  const threads = { threads: nodeThreads, ...(workers !== undefined && { workers }) };
  const check = findings?.check && {
    checkWaits: {},
    onMissedWait: ({ message }: { readonly message: string }) => findings.add(message),
  };
  const how = {
    processor,
    countsClasses,
    countsPcs,
    countsAccesses,
    tracesWaves,
    memorySizeBytes,
    ...threads,
    ...check,
  };
  return (index) => createEmulatedDevice({ ...how, index });
}

function parseName(text: string): TargetId {
  try {
    return parseTargetId(text);
  } catch (error) {
    throw error instanceof WavewrightError ? noDevice(error.what) : error;
  }
}

function noDevice(what: string): WavewrightError {
  return new WavewrightError('NO_DEVICE', what, { hint: HINT });
}

function ownProcessor(images: readonly CodeObjectImage[]): string {
  const image = images.find(({ target }) => TARGET_PROCESSORS.includes(target.processor));
  if (image !== undefined) return image.target.processor;
  const targets = images.map(({ target }) => formatTargetId(target)).join(', ');
  throw new WavewrightError('UNSUPPORTED', `is for ${targets}, expected a target that is emulated`, {
    ...(images[0] && { file: images[0].name }),
    hint: HINT,
  });
}
