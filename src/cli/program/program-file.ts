/** A program that the user named, and the device that runs it. */
import { WavewrightError } from '../../base/errors.ts';
import { type CodeObjectImage, pickCodeObject } from '../../codeobject/container.ts';
import { parseTargetId } from '../../codeobject/target-id.ts';
import type { Device } from '../../device/device.ts';
import { openDevice } from '../arguments/device-name.ts';
import type { DeviceOptions } from '../arguments/device-options.ts';
import { openFileCode } from '../arguments/file-code.ts';

export interface ProgramFile {
  readonly device: Device;
  /** What errors call the image, and its bytes: a code object, PTX or a cubin. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Absent for PTX and cubins. */
  readonly codeObject: CodeObjectImage | undefined;
}

/**
 * The image in the file that fits the device, which --device names, or the image itself. Throws what opening
 * files and devices throws, UNSUPPORTED where no image fits.
 */
export async function openProgram(
  file: string,
  deviceName: string | undefined,
  options: DeviceOptions,
): Promise<ProgramFile> {
  const { memorySizeBytes } = options;
  const code = await openFileCode(file, {
    device: deviceName,
    ...(memorySizeBytes !== undefined && { memorySizeBytes }),
  });
  if (code.kind === 'nvptx') {
    const { openNvptxDevice } = await import('../arguments/nvptx-device.ts');
    const { device, picked } = await openNvptxDevice(deviceName, code.images, options);
    const [only, ...others] = picked;
    if (only && others.length === 0) return { ...only, codeObject: undefined, device };
    if (device !== options.open) device.close();
    throw new WavewrightError('UNSUPPORTED', `a program of ${picked.length} modules, expected one`, {
      file,
      hint: 'link them to one: clang-nvlink-wrapper --lto-emit-asm; kernels run with `wavewright dispatch`',
    });
  }
  const device = await openDevice(deviceName, code.images, options);
  try {
    const codeObject = pickCodeObject(code.images, parseTargetId(device.properties.targetId));
    return { name: codeObject.name, bytes: codeObject.bytes, codeObject, device };
  } catch (error) {
    if (device !== options.open) device.close();
    throw error;
  }
}
