/** Instructions as text, in the words of LLVM's disassembler (llvm-objdump -d). */
import type { FormatName } from './formats.ts';
import { hardwareRegisterText, indexModeText, messageText, waitCountText } from './immediate-text.ts';
import type { Instruction } from './instruction.ts';
import { modifierText } from './modifier-text.ts';
import { constantText, hex, hexOffset, literalText, operandText } from './operand-text.ts';
import { isImmediate, type OperandSpec } from './row.ts';

const SUFFIXES: Readonly<Partial<Record<FormatName, string>>> = {
  VOP1_SDWA: '_sdwa',
  VOP2_SDWA: '_sdwa',
  VOPC_SDWA: '_sdwa',
  VOP1_DPP: '_dpp',
  VOP2_DPP: '_dpp',
  VOP3: '_e64',
  VOP3B: '_e64',
  VOP1: '_e32',
  VOP2: '_e32',
  VOPC: '_e32',
};

/** Only instructions that exist in several encodings say in which they are. */
function suffix({ row, format }: Instruction): string {
  if (row.operands.length === 0 || row.format.startsWith('VOP3')) return '';
  return row.format === format.name && row.flags.noVop3 && row.name !== 'v_pk_fmac_f16'
    ? ''
    : (SUFFIXES[format.name] ?? '');
}

/** An immediate that is spelled its own way; it may stand in a field that is no operand of the row. */
interface Spelling {
  readonly field: string;
  readonly text: (value: number, instruction: Instruction) => string;
  readonly first?: boolean;
}

const registerFieldText = (value: number, { families }: Instruction): string => hardwareRegisterText(value, families);

const SPELLINGS: Readonly<Record<string, Spelling>> = {
  s_endpgm: { field: 'simm16', text: (value) => (value === 0 ? '' : String(value)) },
  s_waitcnt: { field: 'simm16', text: waitCountText },
  s_sendmsg: { field: 'simm16', text: messageText },
  s_sendmsghalt: { field: 'simm16', text: messageText },
  s_getreg_b32: { field: 'simm16', text: registerFieldText },
  s_setreg_b32: { field: 'simm16', text: registerFieldText, first: true },
  s_setreg_imm32_b32: { field: 'simm16', text: registerFieldText, first: true },
  s_set_gpr_idx_on: { field: 'ssrc1', text: indexModeText },
  s_set_gpr_idx_mode: { field: 'simm16', text: indexModeText },
};

function immediateText(instruction: Instruction, spec: OperandSpec): string {
  if (spec.type === 'literal32') {
    return instruction.format.name === 'SOPK' ? literalText(instruction.literal!, 'b32') : hex(instruction.literal!);
  }
  const value = instruction.field(spec.field);
  if (spec.type === 'label') return String(value);
  if (spec.field === 'offset') return hexOffset(instruction.immediate(spec));
  return instruction.format.name === 'SOPK' ? hex(value) : constantText(BigInt(value), 'b32');
}

/**
 * Whether an operand does not stand among the operands: offsets of vector memory accesses, and one of a scalar access behind a register,
 * are modifiers; a scalar access without a register does not say so.
 */
function isElsewhere(instruction: Instruction, index: number): boolean {
  const { field } = instruction.row.operands[index]!;
  if (instruction.access(index) === undefined) return true;
  if (instruction.format.name !== 'SMEM') return field.startsWith('offset');
  if (field === 'offset') return instruction.field('imm') === 0 || instruction.field('soffset_en') === 1;
  return instruction.operand(index).kind === 'off';
}

function operandTexts(instruction: Instruction): string[] {
  const { row } = instruction;
  const spelling = SPELLINGS[row.name];
  const texts = row.operands.flatMap((spec, index) => {
    if (spec.field === spelling?.field || isElsewhere(instruction, index)) return [];
    return [isImmediate(spec.type) ? immediateText(instruction, spec) : operandText(instruction, index)];
  });
  if (!spelling) return texts;
  const text = spelling.text(instruction.field(spelling.field), instruction);
  return (spelling.first ? [text, ...texts] : [...texts, text]).filter((part) => part !== '');
}

/**
 * Text of an instruction as `llvm-objdump -d` of LLVM 19 prints it: mnemonic with its encoding suffix, operands, modifiers. Branch
 * targets are the 16-bit field, as there. Never throws: reserved field values are shown as numbers.
 */
export function formatInstruction(instruction: Instruction): string {
  const { row } = instruction;
  const operands = operandTexts(instruction).join(', ');
  const modifiers = modifierText(instruction);
  return `${row.name}${suffix(instruction)}${operands && ` ${operands}`}${modifiers}`;
}
