/** Machine code from assembler text, for tests. */
import { parseElf } from '../elf/elf.ts';
import { assembleFile } from './assemble-file.ts';

/** The bytes of `.text`. Labels are local to it: nothing is linked. */
export function machineCode(source: string, processor = 'gfx90a', features: readonly string[] = []): Uint8Array {
  const elf = parseElf(assembleFile(`.text\n${source}\n`, { processor, features }), 'test.o');
  return elf.sectionBytes(elf.sectionNamed('.text')!);
}

/** The same as dwords. */
export function machineWords(source: string, processor?: string): number[] {
  const bytes = machineCode(source, processor);
  return [...new Uint32Array(Uint8Array.from(bytes).buffer)];
}

/** Ends code so that all registers count: two traps, since a branch may pass over one, and the end. */
export const endOfCode = (processor: string): number[] => machineWords('s_trap 2\n s_trap 2\n s_endpgm', processor);
