/** AMDGPU machine code, as the emulator runs it. */
import type { FrontEnd, StepReader, WaveStart } from '../../../emulator/code/front-end.ts';
import type { Memories } from '../../../emulator/machine/memory.ts';
import { COUNTED_CLASSES } from '../../../isa/amdgpu/encoding/instruction-class.ts';
import { PRIVATE_APERTURE_HI, SHARED_APERTURE_HI } from '../../../isa/amdgpu/encoding/registers.ts';
import { type Target, targetFor } from '../../../isa/amdgpu/encoding/targets.ts';
import { MODE_KEY_BITS, MODE_REFUSED_BITS } from '../../../isa/amdgpu/semantics/mode.ts';
import { AmdgpuStepReader } from '../../../isa/amdgpu/step.ts';
import { type AmdgpuLaunch, writeInitialRegisters } from './initial-registers.ts';

export class AmdgpuFrontEnd implements FrontEnd {
  readonly target: Target;
  readonly classes = COUNTED_CLASSES;
  readonly modeKeyBits = MODE_KEY_BITS;
  readonly modeRefusedBits = MODE_REFUSED_BITS;
  readonly sharedApertureHi = SHARED_APERTURE_HI;
  readonly privateApertureHi = PRIVATE_APERTURE_HI;
  /** SOPP: s_barrier, s_sleep. */
  readonly waitSizeBytes = 4;

  /** Throws UNSUPPORTED for a processor without instruction tables. */
  constructor(processor: string) {
    this.target = targetFor(processor);
  }

  get processor(): string {
    return this.target.processor;
  }

  get segmentBytes(): number {
    return this.target.cacheLineBytes;
  }

  reader(waveSize: 32 | 64, mode: number): StepReader {
    return new AmdgpuStepReader(this.processor, waveSize, mode);
  }

  startWave(memories: Memories, launch: AmdgpuLaunch, start: WaveStart): void {
    writeInitialRegisters(memories, this.target, launch, start);
  }
}
