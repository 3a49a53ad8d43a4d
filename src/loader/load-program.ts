import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import { isElf } from '../elf/header.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import { AmdgpuProgram } from './amdgpu-program.ts';
import type { LoadedProgram } from './loaded-program.ts';

export interface ProgramLoadOptions {
  readonly device: Device;
  /** What errors call the image. */
  readonly name: string;
  readonly observer?: LaunchObserver | undefined;
}

/** Loads and links a program for its device: a code object, or PTX. Throws what loading throws. */
export async function loadProgram(bytes: Uint8Array, options: ProgramLoadOptions): Promise<LoadedProgram> {
  const { device, name, observer } = options;
  // Not everybody needs PTX, which takes a while to load.
  if (!isElf(bytes) && (await import('../ptx/text/recognize.ts')).isPtxText(bytes)) {
    if (observer) throw new WavewrightError('UNSUPPORTED', 'tools for PTX', { file: name });
    if (!device.properties.targetId.startsWith('sm_')) {
      const hint = 'devices for PTX are ptx:sm_70 and later ones';
      throw new WavewrightError('UNSUPPORTED', `PTX, which ${device.name} does not run`, { file: name, hint });
    }
    return new (await import('./ptx-program.ts')).PtxProgram(device, bytes, name);
  }
  return new AmdgpuProgram(device, bytes, name, observer);
}
