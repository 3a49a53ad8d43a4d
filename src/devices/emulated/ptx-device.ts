/** A device that runs PTX: a virtual NVIDIA GPU. */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { Device } from '../../device/device.ts';
import type { KernelLaunch } from '../../device/launch.ts';
import { Emulator } from '../../emulator/emulator.ts';
import { checkLaunchSizes } from '../../launch/launch-sizes.ts';
import { checkWholeBlocks } from '../../launch/whole-blocks.ts';
import { KERNEL_HEADER_BYTES, type KernelHeader, readKernelHeader } from '../../ptx/compile/kernel-header.ts';
import { ROWS_PER_FILE } from '../../ptx/machine/places.ts';
import { EmulatedDevice, type EmulatorDeviceOptions } from './emulated-device.ts';
import { PtxFrontEnd, type PtxLaunch } from './ptx/front-end.ts';
import { isPtxProcessor, PTX_PROCESSORS } from './ptx/processors.ts';

const WARP_SIZE = 32;

export interface PtxDeviceOptions extends EmulatorDeviceOptions {
  /** As `.target` names it: `sm_70`. */
  readonly processor: string;
}

/**
 * Its code is what `compilePtx` makes, loaded by `loadPtx`; `entry` of a launch is the address of a kernel's
 * header. Throws UNSUPPORTED for a processor that is none of `PTX_PROCESSORS`.
 */
export function createPtxDevice({ processor, ...options }: PtxDeviceOptions): Device {
  if (!isPtxProcessor(processor)) {
    throw new WavewrightError('UNSUPPORTED', `processor '${processor}'`, {
      hint: `there are ${PTX_PROCESSORS.join(', ')}`,
    });
  }
  if (options.checkWaits) throw new WavewrightError('UNSUPPORTED', 'a check of waits: PTX has none');
  return new EmulatedDevice(options, (emulatorOptions) => {
    const emulator = new Emulator(new PtxFrontEnd(processor), emulatorOptions);
    return {
      ...{ emulator, name: `ptx:${processor}`, processor, targetId: processor, wavefrontSize: WARP_SIZE },
      launch: (device, launch) => launchOf(emulator, device, launch),
    };
  });
}

/** Throws BAD_INPUT for what is no kernel, USAGE for a grid of parts of workgroups, LIMIT_EXCEEDED. */
function launchOf(emulator: Emulator, device: Device, launch: KernelLaunch): PtxLaunch {
  const { workgroupSize, gridSize, resources, argumentsAddress } = launch;
  const header = headerAt(device, launch);
  checkWholeBlocks(device, launch);
  const entry = emulator.memory.offset(launch.entry)!;
  const ldsSizeBytes = resources.groupSizeBytes;
  const privateSizeBytes = Math.max(resources.privateSizeBytes, header.privateBytes);
  checkLaunchSizes(device, undefined, {
    groupSegmentSizeBytes: ldsSizeBytes,
    privateSegmentSizeBytes: privateSizeBytes,
  });
  return {
    ...{
      entry: entry + KERNEL_HEADER_BYTES,
      waveSize: WARP_SIZE,
      workgroupSize,
      gridSize,
      ldsSizeBytes,
      privateSizeBytes,
    },
    ...{ workgroupIdSgprs: [0, 1, 2], mode: 0, parameters: argumentsAddress },
    givesWay: header.givesWay,
    dynamicSharedBytes: Math.max(0, ldsSizeBytes - header.sharedBytes),
    vgprCount: header.vectorRows,
    agprCount: header.accumulatorRows,
  };
}

function headerAt({ memory }: Device, { entry }: KernelLaunch): KernelHeader {
  const bytes = memory.guestView(entry, KERNEL_HEADER_BYTES, 'read');
  const header = bytes && readKernelHeader(bytes);
  if (header && header.vectorRows <= ROWS_PER_FILE && header.accumulatorRows <= ROWS_PER_FILE) return header;
  throw new WavewrightError('BAD_INPUT', `there is no kernel at ${hex(entry)}`);
}
