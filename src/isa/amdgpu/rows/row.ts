/**
 * One row per instruction: name, opcodes per generation, operands with their roles, meaning. Decoder, disassembler, liveness
 * and every executor derive from it. The rows stand in `instructions/<format>.ts`.
 */
import type { MemoryEffect, RegisterFile, WaitCounter } from '../../../ir/effects.ts';
import type { StateSlot, Value } from '../../../ir/types.ts';
import type { Family, FormatName } from '../encoding/formats.ts';
import type { InstructionBuilder } from '../semantics/instruction-builder.ts';

/**
 * How an operand is read. The letter says what modifiers and constants mean (b bits, u unsigned, i signed, f float), the
 * number is the width in bits. `mask` is one bit per lane: 64 bits in wave64, 32 in wave32. `address` is part of a memory address:
 * how many registers it takes, none of them included, depends on the addressing mode. `wave256` is a matrix of 256 dwords over the
 * wave, `wave256f16` one whose constants are f16; smaller ones likewise.
 */
export type OperandType =
  | 'b16'
  | 'u16'
  | 'i16'
  | 'f16'
  | 'bf16'
  | 'b32'
  | 'u32'
  | 'i32'
  | 'f32'
  | 'b64'
  | 'u64'
  | 'i64'
  | 'f64'
  | 'b96'
  | 'b128'
  | 'b256'
  | 'b512'
  | 'b1024'
  | 'wave256'
  | 'wave256f16'
  | 'wave128'
  | 'wave128f16'
  | 'wave64'
  | 'wave32'
  | 'v2f16'
  | 'v2b16'
  | 'v2bf16'
  | 'v2f32'
  | 'v2b32'
  | 'mask'
  | 'address'
  | ImmediateType;

/** A constant inside the encoding: `imm` zero-extended, `simm` sign-extended. A label is a dword offset from the next instruction. */
export type ImmediateType = 'imm8' | 'imm12' | 'imm16' | 'simm13' | 'simm16' | 'simm21' | 'literal32' | 'label';

/** What an instruction does with an operand. */
export type Access = 'read' | 'write' | 'readwrite';

/**
 * When an operand is written: `glc`, the old value of an atomic; `vgpr`, a load that does not go to the LDS (lds = 0). Otherwise the
 * instruction at most reads it.
 */
export type WriteCondition = 'glc' | 'vgpr';

export interface OperandSpec {
  /** Field of the encoding. A field that an encoding lacks is implied: VCC for `sdst` and a mask `src2`. */
  readonly field: string;
  readonly type: OperandType;
  readonly access: Access;
  /** The register file that the field addresses. */
  readonly file: 'scalar' | 'vector' | 'accumulator' | 'any' | 'immediate';
  readonly writtenIf?: WriteCondition;
  /** Bits of M0 that are added to the number of the register: all, 9:0 or 25:16. */
  readonly relative?: 'whole' | 'low' | 'high';
}

/** Computes the results from the sources, both in operand order. Effects are calls on the builder. */
// biome-ignore lint/suspicious/noConfusingVoidType: a row that has effects only is a function without a result.
export type Semantics = (b: InstructionBuilder, ...sources: Value[]) => Value | readonly Value[] | undefined | void;

export interface RowFlags {
  /** Changes control flow: nothing after it in straight line unless it is a conditional branch or a call. */
  readonly terminator?: 'branch' | 'conditional' | 'jump' | 'end';
  /** Sends a message to the host or to another part of the GPU. */
  readonly message?: boolean;
  /** Waits, sleeps or signals, in a format of scalar arithmetic. */
  readonly synchronises?: boolean;
  /** Writes EXEC besides its operands. */
  readonly writesExec?: boolean;
  readonly noVop3?: boolean;
  readonly noSdwa?: boolean;
  readonly noDpp?: boolean;
  /** The VOP3 encoding cannot have DPP (gfx11 and later). */
  readonly noVop3Dpp?: boolean;
  /** The VOP3P encoding can have DPP (gfx11 and later). */
  readonly vop3pDpp?: boolean;
  /**
   * Whose halves LLVM 19 lets op_sel choose in VOP3: `none`, although there are 16-bit operands; `all` and the destination once more as the
   * third source (gfx11).
   */
  readonly opSelText?: 'none' | 'all';
  /** LLVM says in which encoding the instruction is although there is no other. */
  readonly alwaysSuffixed?: boolean;
  /** LLVM says which half of a register each operand is in the 32-bit encoding. */
  readonly spellsHalves?: boolean;
  /** Opcode in the halves of VOPD; from 16 on, in the Y half only (RDNA3 ISA 15.3.7). */
  readonly vopd?: number;
  /** VOP3 form has an SGPR destination in place of op_sel and abs. */
  readonly vop3b?: boolean;
  /** A 16-bit result leaves the high half of the register as it was. */
  readonly keepsHighHalf?: boolean;
  /** A 16-bit result goes to the high half of the register and leaves the low half as it was. */
  readonly writesHighHalf?: boolean;
  /** SDWA selects a part of the source only: the whole destination is written. */
  readonly noSdwaDestination?: boolean;
  /** The semantics look at the clamp bit themselves: integers saturate, packed results, conversions that ignore it. */
  readonly integerClamp?: boolean;
  /** How results can differ from the hardware's; without it they are exact. */
  readonly approximate?: string;
  /** What it touches besides its operands and what its meaning says, where the format does not tell. */
  readonly touches?: Touches;
  /** The counter that it raises, where the format does not tell: that of stores, of ray tracing, of scalar memory. */
  readonly counter?: 'store' | 'bvh' | 'scalar';
  /** Waits for all counters; for those that s_waitcnt has in simm16; for these: one in bits 5:0, the first of two in bits 13:8. */
  readonly waits?: 'all' | 'packed' | readonly WaitCounter[];
}

export interface Touches {
  readonly readsState?: readonly StateSlot[];
  readonly writesState?: readonly StateSlot[];
  readonly readsAnyOf?: readonly RegisterFile[];
  readonly writesAnyOf?: readonly RegisterFile[];
  /** Its accesses, in place of what the format and the operands tell. */
  readonly memory?: readonly MemoryEffect[];
  /** Reads vector registers in lanes that are off, too. */
  readonly isCrossLane?: boolean;
  /** Leaves some of its destination as it was, and writes lanes that are off where others of their group are on. */
  readonly isPartial?: boolean;
}

/** Branches of gfx9 that keep what is left to do on a stack in SGPRs (CDNA2 ISA 4.2.1). */
export const FORK: RowFlags = {
  terminator: 'jump',
  writesExec: true,
  touches: { readsAnyOf: ['scalar'], writesAnyOf: ['scalar'] },
};

/** Opcode -1: the family lacks what its ancestors have. */
export interface Opcode {
  readonly opcode: number;
  readonly name: string;
}

export interface Row {
  /** Of the oldest target that has it. */
  readonly name: string;
  readonly format: FormatName;
  readonly opcodes: Readonly<Partial<Record<Family, Opcode>>>;
  readonly operands: readonly OperandSpec[];
  readonly flags: RowFlags;
  /** The rows of the two operations of VOPD; their operands follow one another. */
  readonly halves?: readonly [Row, Row];
  /** Absent: the instruction is known by name but not executable yet. */
  readonly semantics?: Semantics;
}

const VECTOR_FIELDS = new Set([
  ...['vdst', 'vdata', 'vaddr', 'addr', 'data', 'data0', 'data1'],
  ...['vsrc0', 'vsrc1', 'vsrc2', 'vsrc3'],
]);
const ANY_FIELDS = new Set(['src0', 'src1', 'src2']);
const IMMEDIATE_TYPE = /imm|literal|label/;

/**
 * Operands in text: `field:type` separated by spaces; `=field:type` is written, `+field:type` is read and written. The file
 * follows from the field; a mask is scalar, and `/s` makes another field scalar (`=vdst:b32/s` of v_readfirstlane_b32), `/a` an
 * accumulator register. `/glc` and `/vgpr` are write conditions; `/whole`, `/low` and `/high` are the bits of M0 that a register is relative to.
 */
export function operands(text: string): readonly OperandSpec[] {
  let known = parsedOperands.get(text);
  if (!known) {
    known = parseOperands(text);
    parsedOperands.set(text, known);
  }
  return known;
}

/** Rows of one shape have the same text: there are some hundred texts for thousands of rows. */
const parsedOperands = new Map<string, readonly OperandSpec[]>([['', []]]);

function parseOperands(text: string): OperandSpec[] {
  return text.split(' ').map((part) => {
    const access: Access = part[0] === '=' ? 'write' : part[0] === '+' ? 'readwrite' : 'read';
    const [field, typeText] = part.replace(/^[=+]/, '').split(':') as [string, string];
    const [type, option] = typeText.split('/') as [OperandType, string | undefined];
    const file = fileOf(field, type, option);
    return {
      ...{ field, type, access, file },
      ...((option === 'glc' || option === 'vgpr') && { writtenIf: option }),
      ...((option === 'whole' || option === 'low' || option === 'high') && { relative: option }),
    };
  });
}

function fileOf(field: string, type: OperandType, option: string | undefined): OperandSpec['file'] {
  if (IMMEDIATE_TYPE.test(type)) return 'immediate';
  if (option === 's' || type === 'mask') return 'scalar';
  if (option === 'a') return 'accumulator';
  return VECTOR_FIELDS.has(field) ? 'vector' : ANY_FIELDS.has(field) ? 'any' : 'scalar';
}

/** A plain number means the opcode of all gfx9 targets. With a name: the family calls the instruction so, `{ gfx9: 54, gfx11: ['ds_load_b32', 54] }`. */
export type Opcodes = number | Readonly<Partial<Record<Family, number | readonly [name: string, opcode: number]>>>;

/** Opcodes whose name is that of the row everywhere. */
export type ByFamily = Readonly<Partial<Record<Family, number>>>;

/** The opcodes `distance` above. */
export const moved = (first: ByFamily, distance: number): ByFamily =>
  Object.fromEntries(Object.entries(first).map(([family, opcode]) => [family, opcode + distance]));

function opcodesByFamily(name: string, opcodes: Opcodes): Row['opcodes'] {
  if (typeof opcodes === 'number') return { gfx9: { name, opcode: opcodes } };
  return Object.fromEntries(
    Object.entries(opcodes).map(([family, entry]) => [
      family,
      typeof entry === 'number' ? { name, opcode: entry } : { name: entry[0], opcode: entry[1] },
    ]),
  );
}

export function row(
  format: FormatName,
  name: string,
  opcodes: Opcodes,
  operandText: string,
  semantics?: Semantics,
  flags: RowFlags = {},
): Row {
  return {
    name,
    format,
    opcodes: opcodesByFamily(name, opcodes),
    operands: operands(operandText),
    flags,
    ...(semantics && { semantics }),
  };
}

/** A row and the one of families that have the instruction in another format. */
export const alsoIn = (format: FormatName, original: Row, opcodes: Opcodes): Row[] => [
  original,
  { ...original, format, opcodes: opcodesByFamily(original.name, opcodes) },
];

const DWORDS: Readonly<Partial<Record<OperandType, number>>> = {
  b64: 2,
  u64: 2,
  i64: 2,
  f64: 2,
  b96: 3,
  b128: 4,
  b256: 8,
  b512: 16,
  b1024: 32,
  v2f32: 2,
  v2b32: 2,
};

/** Registers that an operand of this type takes; an address: see `Instruction.dwords`. */
export function dwordsOf(type: OperandType, waveSize: 32 | 64): number {
  if (type.startsWith('wave')) return Math.max(Number.parseInt(type.slice(4), 10) / waveSize, 1);
  return type === 'mask' ? waveSize / 32 : (DWORDS[type] ?? 1);
}

/** A property of operand types that is worked out once for each. */
export function byType<T extends number | boolean>(compute: (type: OperandType) => T): (type: OperandType) => T {
  const known = new Map<OperandType, T>();
  return (type) => {
    let value = known.get(type);
    if (value === undefined) {
      value = compute(type);
      known.set(type, value);
    }
    return value;
  };
}

export const isFloat = byType((type) => /^(v2)?b?f(16|32|64)$/.test(type));
const isConstant = byType((type) => IMMEDIATE_TYPE.test(type));
export const isImmediate = (type: OperandType): type is ImmediateType => isConstant(type);
/** Width of an immediate. */
export const immediateBits = byType((type) => Number(type.replace(/\D+/, '')));
/** The values that an immediate can have. */
export function immediateRange(type: OperandType): readonly [low: number, high: number] {
  const bits = immediateBits(type);
  return type.startsWith('s') ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
}
/** Takes a pair of registers. */
export const is64Bit = (type: OperandType): boolean => DWORDS[type] === 2;
export const is16Bit = (type: OperandType): boolean =>
  type === 'b16' || type === 'u16' || type === 'i16' || type === 'f16' || type === 'bf16';
