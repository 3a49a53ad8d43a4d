/**
 * The machine code that PTX is compiled to, and that the emulator decodes: PTX's own instructions, whose
 * registers have places, and whose addresses are numbers. An instruction is a header of 4 bytes, its opcode
 * as text, filled up to 4 bytes, then its operands: 4 bytes each, and 8 more of a constant. What branches
 * ends with the distance to its target, in bytes, from its own start.
 */
import type { RegisterOperand, StepOperand } from '../../ir/step.ts';
import { ROWS_PER_FILE } from './places.ts';

const MAGIC = 0x50;
const WORD_BYTES = 4;
const MAX_WORDS = 255;
const CONSTANT_BYTES = 8;
const FILES = ['scalar', 'vector', 'accumulator'] as const;
const CONSTANT = 3;
const CODE_ADDRESS = 4;
/** Where a step's scalars may be: those with a meaning of their own are behind. */
const SCALARS = 100;

/** Low half of the address that is so many bytes behind the start of the instruction. */
export interface CodeAddress {
  readonly kind: 'code';
  readonly distance: number;
}

export interface CodeInstruction<Operand = StepOperand | CodeAddress> {
  /** With its modifiers; `@` or `@!` in front: the last operand is a guard. */
  readonly opcode: string;
  readonly operands: readonly Operand[];
  /** Bytes from its start to where it branches. */
  readonly distance: number | undefined;
}

const aligned = (bytes: number): number => (bytes + WORD_BYTES - 1) & -WORD_BYTES;

const operandBytes = ({ kind }: StepOperand | CodeAddress): number =>
  WORD_BYTES + (kind === 'register' ? 0 : CONSTANT_BYTES);

export function machineSizeBytes({ opcode, operands, distance }: CodeInstruction): number {
  let bytes = WORD_BYTES + aligned(opcode.length) + (distance === undefined ? 0 : WORD_BYTES);
  for (let i = 0; i < operands.length; i++) bytes += operandBytes(operands[i]!);
  return bytes;
}

/** Offset of the constant of an operand from the start of the instruction. */
export function constantOffset({ opcode, operands }: CodeInstruction, index: number): number {
  const before = operands.slice(0, index).reduce((sum, operand) => sum + operandBytes(operand), 0);
  return WORD_BYTES + aligned(opcode.length) + before + WORD_BYTES;
}

/** Where the distance of a branch stands, from the start of the instruction. */
export const distanceOffset = (instruction: CodeInstruction): number => machineSizeBytes(instruction) - WORD_BYTES;

export function writeMachine(code: DataView, offset: number, instruction: CodeInstruction): void {
  const { opcode, operands, distance } = instruction;
  const words = machineSizeBytes(instruction) / WORD_BYTES;
  code.setUint8(offset, MAGIC);
  code.setUint8(offset + 1, opcode.length);
  code.setUint8(offset + 2, operands.length | (distance === undefined ? 0 : 0x80));
  code.setUint8(offset + 3, words);
  for (let i = 0; i < opcode.length; i++) code.setUint8(offset + WORD_BYTES + i, opcode.charCodeAt(i));
  let at = offset + WORD_BYTES + aligned(opcode.length);
  for (const operand of operands) {
    if (operand.kind === 'constant') {
      code.setUint32(at, CONSTANT, true);
      code.setBigUint64(at + WORD_BYTES, BigInt.asUintN(64, operand.value), true);
    } else if (operand.kind === 'code') {
      code.setUint32(at, CODE_ADDRESS, true);
      code.setBigInt64(at + WORD_BYTES, BigInt(operand.distance), true);
    } else if (operand.kind === 'register') {
      code.setUint32(at, FILES.indexOf(operand.file) | (operand.dwords << 4) | (operand.first << 8), true);
    }
    at += operandBytes(operand);
  }
  if (distance !== undefined) code.setInt32(at, distance, true);
}

/** The instruction at an offset of device memory, with its size; a text where there is none. */
export function readMachine(
  code: DataView,
  offset: number,
): { readonly instruction: CodeInstruction<StepOperand>; readonly sizeBytes: number } | string {
  if (offset % WORD_BYTES !== 0) return 'misaligned address';
  const left = code.byteLength - offset;
  if (left < WORD_BYTES) return 'the end of code';
  if (code.getUint8(offset) !== MAGIC) return 'no code of this device';
  const length = code.getUint8(offset + 1);
  const flags = code.getUint8(offset + 2);
  const sizeBytes = code.getUint8(offset + 3) * WORD_BYTES;
  if (sizeBytes > left) return 'the end of code';
  const end = offset + sizeBytes;
  let at = offset + WORD_BYTES + aligned(length);
  if (at > end) return 'no code of this device';
  let opcode = '';
  for (let i = 0; i < length; i++) opcode += String.fromCharCode(code.getUint8(offset + WORD_BYTES + i));
  const operands: StepOperand[] = [];
  for (let i = 0; i < (flags & 0x7f); i++) {
    const operand = at + WORD_BYTES <= end ? readOperand(code, at, { start: offset, end }) : undefined;
    if (!operand) return 'no code of this device';
    operands.push(operand);
    at += operandBytes(operand);
  }
  const branches = (flags & 0x80) !== 0;
  if (at + (branches ? WORD_BYTES : 0) !== end) return 'no code of this device';
  const distance = branches ? code.getInt32(at, true) : undefined;
  return { instruction: { opcode, operands, distance }, sizeBytes };
}

/** `start`: of the instruction. */
function readOperand(
  code: DataView,
  at: number,
  { start, end }: { readonly start: number; readonly end: number },
): StepOperand | undefined {
  const word = code.getUint32(at, true);
  const kind = word & 15;
  if (kind === CONSTANT || kind === CODE_ADDRESS) {
    if (at + WORD_BYTES + CONSTANT_BYTES > end) return undefined;
    const value = code.getBigUint64(at + WORD_BYTES, true);
    return { kind: 'constant', value: kind === CONSTANT ? value : BigInt.asUintN(32, value + BigInt(start)) };
  }
  const file = FILES[kind];
  return file && registerAt(file, word >>> 8, (word >> 4) & 15);
}

/** Undefined for a register that does not exist. */
function registerAt(file: RegisterOperand['file'], first: number, dwords: number): RegisterOperand | undefined {
  const count = file === 'scalar' ? SCALARS : ROWS_PER_FILE;
  if (dwords < 1 || dwords > 2 || first + dwords > count) return undefined;
  return { kind: 'register', file, first, dwords, isHighHalf: false };
}

/** Whether there is room for it. */
export const fits = (instruction: CodeInstruction): boolean =>
  instruction.opcode.length < 256 && machineSizeBytes(instruction) <= MAX_WORDS * WORD_BYTES;
