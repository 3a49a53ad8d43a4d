/**
 * What a row is: name, opcodes per generation, operands with their roles, meaning of one instruction.
 * Decoder, disassembler, liveness and every executor derive from it. The rows themselves stand in `rows/`.
 */
import type { MemoryEffect, RegisterFile, WaitCounter } from '../../../ir/effects.ts';
import type { StateSlot, Value } from '../../../ir/types.ts';
import type { Family, FormatName } from './format.ts';

/**
 * How an operand is read. The letter says what modifiers and constants mean (b bits, u unsigned, i signed, f
 * float), the number is the width in bits. `mask` is one bit per lane: 64 bits in wave64, 32 in wave32.
 * `address` is part of a memory address: how many registers it takes, none of them included, depends on the
 * addressing mode. `wave256` is a matrix of 256 dwords over the wave, `wave256f16` one whose constants are
 * f16; smaller ones likewise.
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

/**
 * A constant inside the encoding: `imm` zero-extended, `simm` sign-extended. A label is a dword offset from
 * the next instruction.
 */
export type ImmediateType = 'imm8' | 'imm12' | 'imm16' | 'simm13' | 'simm16' | 'simm21' | 'literal32' | 'label';

/** What an instruction does with an operand. */
export type OperandAccess = 'read' | 'write' | 'readwrite';

/**
 * When an operand is written: `glc`, the old value of an atomic; `vgpr`, a load that does not go to the LDS
 * (lds = 0). Otherwise the instruction at most reads it.
 */
export type WriteCondition = 'glc' | 'vgpr';

export interface OperandSpec {
  /** Field of the encoding. A field that an encoding lacks is implied: VCC for `sdst` and a mask `src2`. */
  readonly field: string;
  readonly type: OperandType;
  readonly access: OperandAccess;
  /** The register file that the field addresses. */
  readonly file: 'scalar' | 'vector' | 'accumulator' | 'any' | 'immediate';
  readonly writtenIf?: WriteCondition;
  /** Bits of M0 that are added to the number of the register: all, 9:0 or 25:16. */
  readonly relative?: 'whole' | 'low' | 'high';
}

/** What the semantics of a row give: a value for each operand that is written, or nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a row that has effects only returns nothing.
export type Results = Value | readonly Value[] | undefined | void;

/** C (m x n) += A (m x k) * B (k x n), in each block. */
export interface MatrixProductSize {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly blocks: number;
  readonly format: string;
}

export interface RowFlags {
  /** Changes control flow: nothing after it in straight line unless it is a conditional branch or a call. */
  readonly terminator?: 'branch' | 'conditional' | 'jump' | 'end';
  /**
   * Says how the next instructions are best issued, and may be left out: as a group of so many
   * (`clause`), or after those that they depend on (`delay`).
   */
  readonly hint?: 'clause' | 'delay';
  /** Sends a message to the host or to another part of the GPU. */
  readonly message?: boolean;
  /** Waits until all waves of the workgroup have come to it. */
  readonly barrier?: boolean;
  /** Waits, sleeps or signals, in a format of scalar arithmetic. */
  readonly synchronises?: boolean;
  /** The instruction writes EXEC besides its operands. */
  readonly writesExec?: boolean;
  /** An instruction of VOP1, VOP2 or VOPC that has no encoding in VOP3. */
  readonly noVop3?: boolean;
  /** An instruction of VOP1, VOP2 or VOPC that has no encoding with SDWA. */
  readonly noSdwa?: boolean;
  /** An instruction of VOP1, VOP2 or VOPC that has no encoding with DPP. */
  readonly noDpp?: boolean;
  /** The VOP3 encoding cannot have DPP (gfx11 and later). */
  readonly noVop3Dpp?: boolean;
  /** The VOP3P encoding can have DPP (gfx11 and later). */
  readonly vop3pDpp?: boolean;
  /**
   * What op_sel says in LLVM 19's text, where the types of the operands do not tell (RDNA3 ISA 7.4, RDNA4 ISA
   * 7.5):
   * - `none`: nothing, although there are 16-bit operands;
   * - `all`: halves of the sources, and of the destination once more as the third one (gfx11);
   * - `halves`: halves, although there are no 16-bit operands;
   * - `four`: four bits as they stand;
   * - `resultByte`, `sourceByte`: a byte of the result or of the source, by number;
   * - `permutation`: fetching inactive lanes, and the bound of a row (v_permlane);
   * - `indexKey`: which set of indices a sparse product takes.
   */
  readonly opSelText?: 'none' | 'all' | 'halves' | 'four' | 'resultByte' | 'sourceByte' | 'permutation' | 'indexKey';
  /**
   * Sources whose sign bits LLVM 19 leaves free, where floats among them do not tell: `any`, also of sources
   * that are not there; `floats`, as if all were floats; `first`, of the first alone (CDNA2 ISA 6.2.2).
   */
  readonly signs?: 'any' | 'floats' | 'first';
  /**
   * LLVM 19 takes the clamp bit `never`, although a result is a float or saturates, or `always`, although
   * neither is so.
   */
  readonly clampBit?: 'never' | 'always';
  /**
   * LLVM 19 lets the result be scaled although it is no float: in VOP3 (`wide`), or in SDWA too (`always`).
   */
  readonly scaled?: 'wide' | 'always';
  /**
   * Sources are registers, never constants: addresses, which apertures can be, or `plain` values (CDNA2 ISA
   * 12.3).
   */
  readonly registerSource?: 'address' | 'plain';
  /** The first source is a VGPR (v_readlane). */
  readonly vectorSource?: boolean;
  /** The scalar source counts nothing but NULL (RDNA2 ISA 12.2, S_WAITCNT_VSCNT). */
  readonly nullSource?: boolean;
  /** VCC is a source that the text does not mention: one scalar value more (RDNA3 ISA 7.2.1). */
  readonly readsVcc?: boolean;
  /** A source in M0 does not count among the scalar values that an instruction may read (V_WRITELANE_B32). */
  readonly freeM0?: boolean;
  /** An operand that LLVM spells its own way; it may stand in a field that is no operand of the row. */
  readonly spelled?: SpelledOperand;
  /** The modifier `offset` is a pattern of lanes (CDNA2 ISA 12.12.1). */
  readonly offsetPattern?: boolean;
  /** A multiply-add of mixed precision: signs and magnitudes stand on the sources (RDNA3 ISA 7.5). */
  readonly mixed?: boolean;
  /** A dot product of VOP3P: gfx94x takes its halves in order (CDNA3 ISA 12.10). */
  readonly dot?: boolean;
  /** A matrix product with half of A, whose indices are in the third source (CDNA3 ISA 7.4). */
  readonly sparse?: boolean;
  /** A matrix product of f64, whose signs CDNA3 has in BLGP (CDNA3 ISA 7.1.5.3). */
  readonly doubles?: boolean;
  /** The sizes of a matrix product of VOP3P-MAI, and the format of its factors: how long it takes. */
  readonly product?: MatrixProductSize;
  /** A multiply-add of f64, which shares its unit with matrix products (CDNA2 ISA 7.5). */
  readonly doubleFma?: boolean;
  /** The unit for transcendental functions executes it, beside the others (RDNA3 ISA 3.2). */
  readonly transcendental?: boolean;
  /** It does nothing for as many wait states as simm16 says, and one more. */
  readonly idles?: boolean;
  /**
   * In wave32 LLVM 19 takes literals, or all constants, in place of matrices for 64-bit ones (RDNA3 ISA 7.9).
   */
  readonly wideConstants?: 'literals' | 'all';
  /** The types as which LLVM 19 prints constants and literals, where they are not those of the operands. */
  readonly constantTypes?: { readonly inline: OperandType; readonly literal: OperandType };
  /** A floating-point atomic, without a scope on CDNA2 and without a result on gfx908 (CDNA2 ISA 9.1.10). */
  readonly floatAtomic?: boolean;
  /** Writes back or invalidates caches up to a scope (CDNA3 ISA 9.1.10). */
  readonly scoped?: boolean;
  /**
   * From the LDS to memory: the LDS bit is always set, and there is no address register (CDNA2 ISA 9.1.9).
   */
  readonly storesLds?: boolean;
  /**
   * The GDS bit is `always` set (global wave sync, ordered count) or `never` (between lanes). CDNA2 ISA
   * 12.12.
   */
  readonly gds?: 'always' | 'never';
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
  /**
   * The semantics look at the clamp bit themselves: integers saturate, packed results, conversions that
   * ignore it.
   */
  readonly integerClamp?: boolean;
  /** How results can differ from the hardware's; without it they are exact. */
  readonly approximate?: string;
  /** What it touches besides its operands and what its meaning says, where the format does not tell. */
  readonly touches?: Touches;
  /**
   * The counter that it raises, where the format does not tell: that of stores, of ray tracing, of scalar
   * memory; or `none` that code may rely on (effects/counters.ts).
   */
  readonly counter?: 'store' | 'bvh' | 'scalar' | 'none';
  /**
   * The instruction waits for `all` counters; for those that s_waitcnt has `packed` into simm16
   * (encoding/wait-counters.ts); or for those that are listed: one has its count in bits 5:0, the first of
   * two in bits 13:8.
   */
  readonly waits?: 'all' | 'packed' | readonly WaitCounter[];
}

/** How an immediate is spelled: as one of the calls of LLVM's syntax, or as a plain number of a kind. */
export type SpellingName =
  | 'optional'
  | 'hexadecimal'
  | 'waitCount'
  | 'dependencyCount'
  | 'delay'
  | 'message'
  | 'hardwareRegister'
  | 'indexMode'
  | 'version'
  | 'exportTarget'
  | 'attribute';

export interface SpelledOperand {
  readonly field: string;
  readonly as: SpellingName;
  /** In front of the other operands, instead of behind them. */
  readonly first?: boolean;
  /** The text is followed by an operand without a comma between them. */
  readonly bare?: boolean;
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
  /**
   * Leaves some of its destination as it was, and writes lanes that are off where others of their group are
   * on.
   */
  readonly isPartial?: boolean;
}

/** What a family calls an instruction; opcode -1 means that it lacks what its ancestors have. */
export interface Opcode {
  readonly opcode: number;
  readonly name: string;
}

export interface Row {
  /** The name that the oldest target with the instruction calls it by. */
  readonly name: string;
  readonly format: FormatName;
  readonly opcodes: Readonly<Partial<Record<Family, Opcode>>>;
  readonly operands: readonly OperandSpec[];
  readonly flags: RowFlags;
  /** The rows of the two operations of VOPD; their operands follow one another. */
  readonly halves?: readonly [Row, Row];
  /**
   * Computes the results from the sources. Its builder belongs to a layer above: see `semanticsOf`. Absent:
   * the instruction is known by name but not executable yet.
   */
  readonly semantics?: (b: never, ...sources: Value[]) => Results;
}

const VECTOR_FIELDS = new Set([
  ...['vdst', 'vdata', 'vaddr', 'addr', 'data', 'data0', 'data1'],
  ...['vsrc0', 'vsrc1', 'vsrc2', 'vsrc3'],
]);
const ANY_FIELDS = new Set(['src0', 'src1', 'src2']);
const IMMEDIATE_TYPE = /imm|literal|label/;

/**
 * Operands in text: `field:type` separated by spaces; `=field:type` is written, `+field:type` is read and
 * written. The file follows from the field; a mask is scalar, and `/s` makes another field scalar
 * (`=vdst:b32/s` of v_readfirstlane_b32), `/a` an accumulator register. `/glc` and `/vgpr` are write
 * conditions; `/whole`, `/low` and `/high` are the bits of M0 that a register is relative to.
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
    const access: OperandAccess = part[0] === '=' ? 'write' : part[0] === '+' ? 'readwrite' : 'read';
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
/** Whether an operand of the type takes a pair of registers. */
export const is64Bit = (type: OperandType): boolean => DWORDS[type] === 2;
export const is16Bit = (type: OperandType): boolean =>
  type === 'b16' || type === 'u16' || type === 'i16' || type === 'f16' || type === 'bf16';

/** Combines memory with its data: what was there is returned where a bit of the encoding says so. */
export const isAtomic = ({ operands }: Row): boolean => operands.some(({ writtenIf }) => writtenIf === 'glc');
/** Writes registers to memory. */
export const storesData = (row: Row): boolean =>
  !isAtomic(row) && row.operands.some(({ field, access }) => /^v?data$/.test(field) && access === 'read');
