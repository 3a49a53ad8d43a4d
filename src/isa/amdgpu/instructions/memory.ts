/**
 * What the memory formats share: loads, stores and atomics on an access path, and the rows that FLAT, GLOBAL, SCRATCH and MUBUF have
 * under the same opcodes (CDNA2 ISA 12.13 and 12.16).
 */
import { WavewrightError } from '../../../base/errors.ts';
import type { MemorySpace, Value } from '../../../ir/types.ts';
import type { Family, FormatName } from '../formats.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type Opcodes, type OperandType, type Row, row, type Semantics } from '../row.ts';
import { type AtomicUpdate, CACHE_FLOAT_UPDATES, INTEGER_UPDATES } from './atomics.ts';

/** Where the address of an instruction leads; per lane. */
export interface MemoryPort {
  /** The dwords at the address; 1 and 2 bytes are zero-extended. */
  load(sizeBytes: number): Value[];
  /** Of 1 and 2 bytes the low ones of the first value are stored. */
  store(sizeBytes: number, data: readonly Value[]): void;
  /** `operands` are i32 or i64; returns the old value. */
  atomic(operands: readonly Value[], update: AtomicUpdate): Value;
}

/** Computes the address of the instruction being built. */
export type PortOf = (b: InstructionBuilder) => MemoryPort;

/** Consecutive bytes from `address` on. */
export function linearPort(b: InstructionBuilder, space: MemorySpace, address: Value): MemoryPort {
  return {
    load: (sizeBytes) => b.load(space, sizeBytes, address),
    store: (sizeBytes, data) => b.store(space, sizeBytes, address, data),
    atomic: (operands, update) => b.atomic(space, address, operands, update as AtomicOfBuilder),
  };
}

/** An update takes as many parameters as the atomic has operands. */
export type AtomicOfBuilder = Parameters<InstructionBuilder['atomic']>[3];

/** Throws UNSUPPORTED when a bit of the encoding asks for what is not emulated. */
export function refuse(b: InstructionBuilder, field: string): void {
  if (b.field(field) === 0) return;
  throw new WavewrightError('UNSUPPORTED', `unsupported instruction '${b.instruction.row.name}' with ${field}`);
}

/** The operand that the instruction writes, if it writes one: an atomic without glc does not. */
export function destination(b: InstructionBuilder): number | undefined {
  const index = b.instruction.row.operands.findIndex((_, i) => b.instruction.access(i)?.includes('write'));
  return index < 0 ? undefined : index;
}

export interface LoadKind {
  readonly sizeBytes: number;
  readonly signed?: boolean;
  /** A d16 load: which half of the register it writes; the other half stays. */
  readonly half?: 'low' | 'high';
}

export const load =
  (portOf: PortOf, kind: LoadKind): Semantics =>
  (b) => {
    const target = destination(b)!;
    const values = portOf(b).load(kind.sizeBytes);
    const extended = kind.signed ? [kind.sizeBytes === 1 ? b.sext8(values[0]!) : b.sext16(values[0]!)] : values;
    b.setDwords(target, kind.half ? [withHalf(b, b.dword(target, 0), extended[0]!, kind.half)] : extended);
  };

function withHalf(b: InstructionBuilder, register: Value, value: Value, half: 'low' | 'high'): Value {
  if (half === 'high') return b.or(b.bits(register, 0, 16), b.shl(value, 16));
  return b.or(b.and(register, b.i32(0xffff0000)), b.bits(value, 0, 16));
}

export const store =
  (portOf: PortOf, source: string, sizeBytes: number, half: 'low' | 'high' = 'low'): Semantics =>
  (b) => {
    const data = b.dwords(b.index(source));
    portOf(b).store(sizeBytes, half === 'high' ? [b.shrU(data[0]!, 16)] : data);
  };

/** `sources` name the data registers in the order of the update's parameters; each holds one or two values of `bits`. */
export const atomic =
  (portOf: PortOf, sources: readonly string[], bits: 32 | 64, update: AtomicUpdate): Semantics =>
  (b) => {
    const dwords = sources.flatMap((source) => b.dwords(b.index(source)));
    const old = portOf(b).atomic(bits === 32 ? dwords : pairs(b, dwords), update);
    const target = destination(b);
    if (target !== undefined) b.setDwords(target, bits === 32 ? [old] : [b.low(old), b.high(old)]);
  };

const pairs = (b: InstructionBuilder, dwords: readonly Value[]): Value[] =>
  Array.from({ length: dwords.length / 2 }, (_, i) => b.pack(dwords[i * 2]!, dwords[i * 2 + 1]!));

/** The register type that holds `sizeBytes`. */
export const registerType = (sizeBytes: number): OperandType => `b${Math.max(sizeBytes, 4) * 8}` as OperandType;

const LOADS: readonly (readonly [name: string, opcode: number, kind: LoadKind])[] = [
  ['ubyte', 16, { sizeBytes: 1 }],
  ['sbyte', 17, { sizeBytes: 1, signed: true }],
  ['ushort', 18, { sizeBytes: 2 }],
  ['sshort', 19, { sizeBytes: 2, signed: true }],
  ['dword', 20, { sizeBytes: 4 }],
  ['dwordx2', 21, { sizeBytes: 8 }],
  ['dwordx3', 22, { sizeBytes: 12 }],
  ['dwordx4', 23, { sizeBytes: 16 }],
  ['ubyte_d16', 32, { sizeBytes: 1, half: 'low' }],
  ['ubyte_d16_hi', 33, { sizeBytes: 1, half: 'high' }],
  ['sbyte_d16', 34, { sizeBytes: 1, signed: true, half: 'low' }],
  ['sbyte_d16_hi', 35, { sizeBytes: 1, signed: true, half: 'high' }],
  ['short_d16', 36, { sizeBytes: 2, half: 'low' }],
  ['short_d16_hi', 37, { sizeBytes: 2, half: 'high' }],
];

const STORES: readonly (readonly [name: string, opcode: number, sizeBytes: number, half?: 'high'])[] = [
  ['byte', 24, 1],
  ['byte_d16_hi', 25, 1, 'high'],
  ['short', 26, 2],
  ['short_d16_hi', 27, 2, 'high'],
  ['dword', 28, 4],
  ['dwordx2', 29, 8],
  ['dwordx3', 30, 12],
  ['dwordx4', 31, 16],
];

/** Names without `_x2`; the 64-bit form is 32 opcodes further on. */
const INTEGER_ATOMICS: readonly (readonly [name: string, opcode: number, update: AtomicUpdate])[] = [
  ['swap', 64, INTEGER_UPDATES.swap],
  ['cmpswap', 65, INTEGER_UPDATES.compareSwap],
  ['add', 66, INTEGER_UPDATES.add],
  ['sub', 67, INTEGER_UPDATES.sub],
  ['smin', 68, INTEGER_UPDATES.minS],
  ['umin', 69, INTEGER_UPDATES.minU],
  ['smax', 70, INTEGER_UPDATES.maxS],
  ['umax', 71, INTEGER_UPDATES.maxU],
  ['and', 72, INTEGER_UPDATES.and],
  ['or', 73, INTEGER_UPDATES.or],
  ['xor', 74, INTEGER_UPDATES.xor],
  ['inc', 75, INTEGER_UPDATES.inc],
  ['dec', 76, INTEGER_UPDATES.dec],
];

const F64_ATOMICS: readonly (readonly [name: string, opcode: number, update: AtomicUpdate])[] = [
  ['add_f64', 79, CACHE_FLOAT_UPDATES.addF64],
  ['min_f64', 80, CACHE_FLOAT_UPDATES.minF64],
  ['max_f64', 81, CACHE_FLOAT_UPDATES.maxF64],
];

/** How a format of vector memory instructions writes its operands and finds its address. */
export interface VectorMemory {
  readonly format: FormatName;
  readonly prefix: string;
  readonly portOf: PortOf;
  /** The field that holds data to be stored or combined. */
  readonly source: string;
  /** Operand text; `destination` is '=', or '+' for a load that keeps half of the register, `type` that of the data. */
  readonly loadOperands: (access: '=' | '+', type: string) => string;
  readonly storeOperands: (type: string) => string;
  readonly atomicOperands: (type: string, oldType: string) => string;
}

export function loadAndStoreRows(memory: VectorMemory): Row[] {
  const { format, prefix, portOf, source } = memory;
  return [
    ...LOADS.map(([name, opcode, kind]) => {
      // Only loads of at most a dword can go to the LDS.
      const type = registerType(kind.sizeBytes) + (kind.half || kind.sizeBytes > 4 ? '' : '/vgpr');
      return row(
        format,
        `${prefix}_load_${name}`,
        opcode,
        memory.loadOperands(kind.half ? '+' : '=', type),
        load(portOf, kind),
      );
    }),
    ...STORES.map(([name, opcode, sizeBytes, half]) => {
      const semantics = store(portOf, source, sizeBytes, half);
      return row(format, `${prefix}_store_${name}`, opcode, memory.storeOperands(registerType(sizeBytes)), semantics);
    }),
  ];
}

export function atomicRows(memory: VectorMemory): Row[] {
  const { format, prefix, portOf, source } = memory;
  const one = (name: string, opcodes: Opcodes, bits: 32 | 64, update: AtomicUpdate, values = 1): Row => {
    const text = memory.atomicOperands(`b${bits * values}`, `b${bits}`);
    return row(format, `${prefix}_atomic_${name}`, opcodes, text, atomic(portOf, [source], bits, update));
  };
  return [
    ...INTEGER_ATOMICS.map(([name, opcode, update]) => one(name, opcode, 32, update, name === 'cmpswap' ? 2 : 1)),
    ...INTEGER_ATOMICS.map(([name, opcode, update]) =>
      one(`${name}_x2`, opcode + 32, 64, update, name === 'cmpswap' ? 2 : 1),
    ),
    ...F64_ATOMICS.map(([name, opcode, update]) => one(name, { gfx90a: opcode }, 64, update)),
  ];
}

/** Floating-point atomics of 32 bits, from `family` on. */
export function floatAtomicRows(memory: VectorMemory, family: Family): Row[] {
  const { format, prefix, portOf, source } = memory;
  const one = (name: string, opcode: number, update: AtomicUpdate, since = family): Row => {
    const text = memory.atomicOperands('b32', 'b32');
    return row(format, `${prefix}_atomic_${name}`, { [since]: opcode }, text, atomic(portOf, [source], 32, update));
  };
  return [
    one('add_f32', 77, CACHE_FLOAT_UPDATES.addF32),
    one('pk_add_f16', 78, CACHE_FLOAT_UPDATES.packedAddF16),
    ...(format === 'MUBUF' ? [] : [one('pk_add_bf16', 82, CACHE_FLOAT_UPDATES.packedAddBf16, 'gfx940')]),
  ];
}
