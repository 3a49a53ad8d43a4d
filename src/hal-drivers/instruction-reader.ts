/** What emulated GPUs tell of single instructions. */
import type { InstructionReader } from '../hal/index.ts';
import { COUNTED_CLASSES } from '../isa/amdgpu/encoding/instruction-class.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import { AmdgpuStepReader } from '../isa/amdgpu/step.ts';

/** Reads code of a processor. */
export function instructionReader(processor: string, countsAccesses: boolean): InstructionReader {
  const readers = new Map<number, AmdgpuStepReader>();
  return {
    segmentBytes: countsAccesses ? targetFor(processor).cacheLineBytes : 0,
    instructionAt: (code, offset, waveSize) => {
      // MODE changes what an instruction does, but not what it is.
      const reader = readers.get(waveSize) ?? new AmdgpuStepReader(processor, waveSize, 0);
      readers.set(waveSize, reader);
      const step = reader.step(code, offset);
      if (typeof step === 'string') return undefined;
      const { sizeBytes, control, target, classIndex } = step;
      return { text: step.text().trim(), sizeBytes, control, target, className: COUNTED_CLASSES[classIndex]! };
    },
  };
}
