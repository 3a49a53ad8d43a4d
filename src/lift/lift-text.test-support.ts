/** Code objects from assembler text, for tests of what is lifted of them. */
import { assembleFile } from '../assembler/assemble-file.ts';
import { type CodeObject, parseCodeObject } from '../codeobject/code-object.ts';
import { linkCodeObject } from '../linker/link.ts';
import { type LiftedCode, liftCodeObject } from './lifted-code.ts';
import type { LiftedFunction } from './lifted-function.ts';

/** A function `name` with these lines; `isKernel` gives it a descriptor. */
export const functionText = (name: string, lines: string): string =>
  `.globl ${name}\n.protected ${name}\n.p2align 8\n.type ${name},@function\n${name}:\n${lines}\n.size ${name}, .-${name}\n`;

export const kernelText = (name: string, lines: string, directives = ''): string =>
  `.text\n${functionText(name, lines)}.rodata\n.p2align 6\n.amdhsa_kernel ${name}
   .amdhsa_next_free_vgpr 64\n .amdhsa_next_free_sgpr 64\n ${directives}\n.end_amdhsa_kernel\n.text\n`;

export function codeObjectOf(source: string, processor = 'gfx90a', features: readonly string[] = []): CodeObject {
  const accum = /gfx9[04]/.test(processor)
    ? source.replaceAll('.end_amdhsa_kernel', '.amdhsa_accum_offset 64\n.end_amdhsa_kernel')
    : source;
  const bytes = assembleFile(accum, { processor, features });
  return parseCodeObject(linkCodeObject([{ bytes, name: 'test.o' }]), 'test.co');
}

export const liftText = (source: string, processor?: string): LiftedCode =>
  liftCodeObject(codeObjectOf(source, processor));

/** The texts of all instructions of a function, block by block. */
export const textsOf = ({ blocks }: LiftedFunction): readonly (readonly string[])[] =>
  blocks.map(({ instructions }) => instructions.map((step) => step.text().trim()));

export function functionNamed(code: LiftedCode, name: string): LiftedFunction {
  const found = code.functions.find((each) => each.name === name);
  if (!found) throw new Error(`no function ${name}, only ${code.functions.map((each) => each.name).join()}`);
  return found;
}

/** `call f complete getpc` for each site of all code. */
export const sitesText = (code: LiftedCode): readonly string[] =>
  code.sites.map(({ kind, targets, isComplete, how, function: { name } }) => {
    const names = targets.map((target) => code.functionAt(target)?.name ?? '?').join(' ');
    return `${name}: ${kind} ${names}${isComplete ? '' : ' incomplete'} ${how}`;
  });
