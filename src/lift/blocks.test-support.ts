/** Blocks of code for tests, from assembler text or from the functions of a file. */
import { assembleFile } from '../assembler/assemble-file.ts';
import { STT_FUNC } from '../elf/constants.ts';
import { parseElf } from '../elf/elf.ts';
import { isInSection } from '../elf/symbols.ts';
import type { BasicBlock } from '../flow/blocks.ts';
import { stepBlocks } from '../flow/steps.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../isa/amdgpu/step.ts';

export type StepBlocks = readonly BasicBlock<AmdgpuStep>[];

/** The blocks of code from its first byte on. */
function blocksOf(bytes: Uint8Array, processor: string, waveSize: 32 | 64): StepBlocks {
  const reader = new AmdgpuStepReader(processor, waveSize, 0);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return stepBlocks((offset) => (offset < view.byteLength ? reader.step(view, offset) : undefined), [0]);
}

/** The blocks of assembler text, which is entered at its start; without a path on it ends there. */
export function blocksOfText(
  source: string,
  processor = 'gfx90a',
  waveSize = targetFor(processor).waveSizes[0]!,
): StepBlocks {
  const features = processor.startsWith('gfx9') ? [] : [`+wavefrontsize${waveSize}`];
  const elf = parseElf(assembleFile(`${source}\n s_endpgm\n`, { processor, features }), 'test');
  return blocksOf(elf.sectionBytes(elf.sectionNamed('.text')!), processor, waveSize);
}

/** The blocks of each function that a symbol names, in a relocatable or in a shared object. */
export function blocksOfFunctions(file: Uint8Array, processor: string, waveSize: 32 | 64): Map<string, StepBlocks> {
  const elf = parseElf(file, 'test');
  const functions = elf.symbols.filter(
    (symbol) => symbol.type === STT_FUNC && isInSection(symbol) && symbol.sizeBytes > 0,
  );
  return new Map(
    functions.map((symbol) => {
      const section = elf.sections[symbol.sectionIndex]!;
      const start = Number(symbol.value - section.address);
      const bytes = elf.sectionBytes(section).subarray(start, start + symbol.sizeBytes);
      return [symbol.name, blocksOf(bytes, processor, waveSize)];
    }),
  );
}
