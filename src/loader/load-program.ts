import { WavewrightError } from '../base/errors.ts';
import { EM_CUDA } from '../codeobject/elf-flags.ts';
import type { Device } from '../device/device.ts';
import { elfMachine, isElf } from '../elf/header.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import type { LoadedProgram } from './loaded-program.ts';

export interface ProgramLoadOptions {
  readonly device: Device;
  /** What errors call the image. */
  readonly name: string;
  readonly observer?: LaunchObserver | undefined;
}

/** Loads and links a program for its device: a code object, PTX or a cubin. Throws what loading throws. */
export async function loadProgram(bytes: Uint8Array, options: ProgramLoadOptions): Promise<LoadedProgram> {
  const { device, name, observer } = options;
  const isCubin = elfMachine(bytes) === EM_CUDA;
  // What serves one kind of code takes a while to load, and a program is of one kind.
  if (!isCubin && (isElf(bytes) || !(await import('../ptx/text/recognize.ts')).isPtxText(bytes))) {
    if (!device.driver) {
      const { AmdgpuProgram } = await import('./amdgpu-program.ts');
      return new AmdgpuProgram(device, bytes, name, observer);
    }
    throw new WavewrightError('BAD_INPUT', `no PTX and no cubin, which ${device.name} runs`, { file: name });
  }
  const code = isCubin ? 'a cubin' : 'PTX';
  if (observer) throw new WavewrightError('UNSUPPORTED', `tools for ${code}`, { file: name });
  if (!device.driver && (isCubin || !device.properties.targetId.startsWith('sm_'))) {
    const hint = isCubin
      ? 'NVIDIA GPUs run cubins: cuda:0'
      : 'devices for PTX are ptx:sm_70 and later ones, and cuda:0';
    throw new WavewrightError('UNSUPPORTED', `${code}, which ${device.name} does not run`, { file: name, hint });
  }
  const [{ PtxProgram }, { loadExecutable }, { ptxText }] = await Promise.all([
    import('./ptx-program.ts'),
    import('../ptx-host/load.ts'),
    import('../ptx/text/recognize.ts'),
  ]);
  const texts = isCubin ? [] : [{ text: ptxText(bytes), name }];
  return new PtxProgram(device, await loadExecutable(device, { texts, cubins: isCubin ? [{ bytes, name }] : [] }));
}
