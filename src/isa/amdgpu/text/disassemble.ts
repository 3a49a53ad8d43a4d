/** Instructions as text, in the words of LLVM's disassembler (llvm-objdump -d). */

import { hex } from '../../../base/text.ts';
import type { FormatName } from '../encoding/formats.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { isImmediate, type OperandSpec } from '../encoding/row.ts';
import { spellingOf } from './immediate-text.ts';
import { modifierText } from './modifier-text.ts';
import { constantText, hexOffset, literalText, operandText } from './operand-text.ts';

const SUFFIXES: Readonly<Partial<Record<FormatName, string>>> = {
  VOP1_SDWA: '_sdwa',
  VOP2_SDWA: '_sdwa',
  VOPC_SDWA: '_sdwa',
  VOP1_DPP: '_dpp',
  VOP2_DPP: '_dpp',
  VOP3_DPP: '_e64_dpp',
  VOP3B_DPP: '_e64_dpp',
  VOP3P_DPP: '_e64_dpp',
  VOP1_DPP8: '_dpp',
  VOP2_DPP8: '_dpp',
  VOP3_DPP8: '_e64_dpp',
  VOP3B_DPP8: '_e64_dpp',
  VOP3P_DPP8: '_e64_dpp',
  VOP3: '_e64',
  VOP3B: '_e64',
  VOP1: '_e32',
  VOP2: '_e32',
  VOPC: '_e32',
};

/** Only instructions that exist in several encodings say in which they are. */
export function suffix({ row, format }: Instruction): string {
  const { noVop3, alwaysSuffixed } = row.flags;
  if (row.operands.length === 0) return '';
  if (row.format === format.name && noVop3 && !alwaysSuffixed) return '';
  if (row.format === 'VOP3' && (format.name === 'VOP3' || format.name === 'VOP3B')) return '';
  return SUFFIXES[format.name] ?? '';
}

function immediateText(instruction: Instruction, spec: OperandSpec, target?: string): string {
  if (spec.type === 'literal32') {
    return instruction.format.name === 'SOPK' ? literalText(instruction.literal!, 'b32') : hex(instruction.literal!);
  }
  const value = instruction.field(spec.field);
  if (spec.type === 'label') return target ?? String(value);
  if (spec.field === 'offset') return hexOffset(instruction.immediate(spec));
  return instruction.format.name === 'SOPK' ? hex(value) : constantText(BigInt(value), 'b32');
}

/**
 * Whether an operand does not stand among the operands: offsets of vector memory accesses, and one of a
 * scalar access behind a register, are modifiers. A scalar access without a register does not say so, but
 * from gfx10 on where there is no offset either.
 */
export function isElsewhere(instruction: Instruction, index: number): boolean {
  const { field } = instruction.row.operands[index]!;
  if (instruction.access(index) === undefined) return true;
  if (instruction.row.halves && instruction.row.operands[index]!.type === 'mask') return true;
  if (instruction.format.name !== 'SMEM') return field.startsWith('offset');
  if (field !== 'offset' && field !== 'soffset') return false;
  const register = instruction.row.operands.findIndex((spec) => spec.field === 'soffset');
  // Prefetches say both.
  if (instruction.row.operands[register]!.type !== 'address') return false;
  const showsOffset =
    instruction.operand(register).kind === 'off' &&
    (instruction.has('imm') || instruction.has('th') || instruction.field('offset') !== 0);
  return (field === 'offset') !== showsOffset;
}

function operandTexts(
  instruction: Instruction,
  first = 0,
  end = instruction.row.operands.length,
  target?: string,
): string[] {
  const { row } = instruction;
  const { spelled } = row.flags;
  const texts: string[] = [];
  for (let index = first; index < end; index++) {
    const spec = row.operands[index]!;
    if (spec.field === spelled?.field || isElsewhere(instruction, index)) continue;
    texts.push(isImmediate(spec.type) ? immediateText(instruction, spec, target) : operandText(instruction, index));
  }
  if (!spelled) return texts;
  const text = spellingOf(spelled).print(instruction.field(spelled.field), instruction.target);
  if (spelled.bare) return [`${text} ${texts[0]}`, ...texts.slice(1)];
  return (spelled.first ? [text, ...texts] : [...texts, text]).filter((part) => part !== '');
}

/** VOPD: each operation with its own operands, VCC unmentioned. */
function formatHalves(instruction: Instruction, middle: number): string {
  const [x, y] = instruction.name.split(' :: ');
  const operands = (first: number, end?: number): string => operandTexts(instruction, first, end).join(', ');
  return `${x} ${operands(0, middle)} :: ${y} ${operands(middle)}`;
}

/**
 * Text of an instruction as `llvm-objdump -d` of LLVM 19 prints it: mnemonic with its encoding suffix,
 * operands, modifiers. A branch goes to `target`, or to what its 16-bit field says. Never throws: reserved
 * field values are shown as numbers.
 */
export function formatInstruction(instruction: Instruction, target?: string): string {
  if (instruction.row.halves) return formatHalves(instruction, instruction.row.halves[0].operands.length);
  const operands = operandTexts(instruction, 0, undefined, target).join(', ');
  const modifiers = modifierText(instruction);
  return `${instruction.name}${suffix(instruction)}${operands && ` ${operands}`}${modifiers}`;
}
