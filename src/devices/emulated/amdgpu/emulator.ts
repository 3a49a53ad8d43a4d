/** The emulator of an AMD GPU. */

import type { EmulatorDispatch } from '../../../emulator/dispatch.ts';
import { Emulator, type EmulatorOptions } from '../../../emulator/emulator.ts';
import type { Target } from '../../../isa/amdgpu/encoding/targets.ts';
import { AmdgpuFrontEnd } from './front-end.ts';
import type { AmdgpuLaunch } from './initial-registers.ts';

export interface AmdgpuEmulatorOptions extends EmulatorOptions {
  readonly processor: string;
}

export class AmdgpuEmulator extends Emulator {
  readonly target: Target;

  /** Throws UNSUPPORTED for a processor without instruction tables. */
  constructor({ processor, ...options }: AmdgpuEmulatorOptions) {
    const frontEnd = new AmdgpuFrontEnd(processor);
    super(frontEnd, options);
    this.target = frontEnd.target;
  }

  override dispatch(launch: AmdgpuLaunch): EmulatorDispatch {
    return super.dispatch(launch);
  }
}
