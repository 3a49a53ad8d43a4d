/**
 * What the memory formats share: loads, stores and atomics on an access path, and the rows that FLAT, GLOBAL, SCRATCH and MUBUF have
 * under the same opcodes (CDNA2 ISA 12.13 and 12.16; RDNA3 ISA 9.1 and 11).
 */
import { WavewrightError } from '../../../base/errors.ts';
import type { MemorySpace, Value } from '../../../ir/types.ts';
import type { FormatName } from '../encoding/formats.ts';
import { variant } from '../rows/opcode-variants.ts';
import { type Opcodes, type OperandType, type Row, row, type Semantics } from '../rows/row.ts';
import { type AtomicUpdate, CACHE_FLOAT_UPDATES, INTEGER_UPDATES, MODE_COMPARISONS } from './atomics.ts';
import type { InstructionBuilder } from './instruction-builder.ts';

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

/**
 * Where in the LDS a lane's dword of a transfer between LDS and memory is: M0, whose value is a multiple of 4, plus the offset of the
 * instruction plus 4 for each lane (CDNA2 ISA 9.1.9, CDNA3 ISA 10.3).
 */
export function transferAddress(b: InstructionBuilder): Value {
  const base = b.add(b.and(b.state('m0'), b.i32(0xfffc)), b.dword(b.index('offset'), 0));
  return b.add(base, b.shl(b.laneId(), 2));
}

export interface LoadKind {
  readonly sizeBytes: number;
  readonly signed?: boolean;
  /** A d16 load: which half of the register it writes; the other half stays. */
  readonly half?: 'low' | 'high';
}

/**
 * Whether an access passes the caches of the compute unit, as what other compute units write must be read: GLC, SC1 or a scope beyond the
 * compute unit (CDNA2 ISA 9.1.10, CDNA3 ISA 9.1.10, RDNA3 ISA 4.1.1; LLVM's memory models).
 */
const isCoherent = (b: InstructionBuilder): boolean =>
  b.instruction.has('scope') ? b.field('scope') > 1 : (b.field('glc') | b.field('scc')) !== 0;

export const load =
  (portOf: PortOf, kind: LoadKind): Semantics =>
  (b) => {
    if (isCoherent(b)) b.fence();
    const values = portOf(b).load(kind.sizeBytes);
    const extended = kind.signed ? [kind.sizeBytes === 1 ? b.sext8(values[0]!) : b.sext16(values[0]!)] : values;
    const target = destination(b);
    if (target === undefined) return b.store('lds', 4, transferAddress(b), [extended[0]!]);
    refuse(b, 'lds');
    b.setDwords(target, kind.half ? [withHalf(b, b.dword(target, 0), extended[0]!, kind.half)] : extended);
  };

function withHalf(b: InstructionBuilder, register: Value, value: Value, half: 'low' | 'high'): Value {
  if (half === 'high') return b.or(b.bits(register, 0, 16), b.shl(value, 16));
  return b.or(b.and(register, b.i32(0xffff0000)), b.bits(value, 0, 16));
}

export const store =
  (portOf: PortOf, source: string, sizeBytes: number, half: 'low' | 'high' = 'low'): Semantics =>
  (b) => {
    refuse(b, 'lds');
    const data = b.dwords(b.index(source));
    portOf(b).store(sizeBytes, half === 'high' ? [b.shrU(data[0]!, 16)] : data);
  };

/** `sources` name the data registers in the order of the update's parameters; each holds one or two values of `bits`. */
export const atomic =
  (portOf: PortOf, sources: readonly string[], bits: 32 | 64, update: AtomicUpdate): Semantics =>
  (b) => {
    refuse(b, 'lds');
    const dwords = sources.flatMap((source) => b.dwords(b.index(source)));
    const old = portOf(b).atomic(bits === 32 ? dwords : pairs(b, dwords), update);
    const target = destination(b);
    if (target !== undefined) b.setDwords(target, bits === 32 ? [old] : [b.low(old), b.high(old)]);
  };

const pairs = (b: InstructionBuilder, dwords: readonly Value[]): Value[] =>
  Array.from({ length: dwords.length / 2 }, (_, i) => b.pack(dwords[i * 2]!, dwords[i * 2 + 1]!));

/** The register type that holds `sizeBytes`. */
export const registerType = (sizeBytes: number): OperandType => `b${Math.max(sizeBytes, 4) * 8}` as OperandType;

/** On gfx9; on gfx10; name and opcode on gfx11, where bits take the place of dwords and d16 comes first. */
type PerTarget = readonly [gfx9: readonly [string, number], gfx10: number, gfx11: readonly [string, number]];

const LOADS: readonly (readonly [...PerTarget, kind: LoadKind])[] = [
  [['ubyte', 16], 8, ['u8', 16], { sizeBytes: 1 }],
  [['sbyte', 17], 9, ['i8', 17], { sizeBytes: 1, signed: true }],
  [['ushort', 18], 10, ['u16', 18], { sizeBytes: 2 }],
  [['sshort', 19], 11, ['i16', 19], { sizeBytes: 2, signed: true }],
  [['dword', 20], 12, ['b32', 20], { sizeBytes: 4 }],
  [['dwordx2', 21], 13, ['b64', 21], { sizeBytes: 8 }],
  [['dwordx3', 22], 15, ['b96', 22], { sizeBytes: 12 }],
  [['dwordx4', 23], 14, ['b128', 23], { sizeBytes: 16 }],
  [['ubyte_d16', 32], 32, ['d16_u8', 30], { sizeBytes: 1, half: 'low' }],
  [['ubyte_d16_hi', 33], 33, ['d16_hi_u8', 33], { sizeBytes: 1, half: 'high' }],
  [['sbyte_d16', 34], 34, ['d16_i8', 31], { sizeBytes: 1, signed: true, half: 'low' }],
  [['sbyte_d16_hi', 35], 35, ['d16_hi_i8', 34], { sizeBytes: 1, signed: true, half: 'high' }],
  [['short_d16', 36], 36, ['d16_b16', 32], { sizeBytes: 2, half: 'low' }],
  [['short_d16_hi', 37], 37, ['d16_hi_b16', 35], { sizeBytes: 2, half: 'high' }],
];

const STORES: readonly (readonly [...PerTarget, sizeBytes: number, half?: 'high'])[] = [
  [['byte', 24], 24, ['b8', 24], 1],
  [['byte_d16_hi', 25], 25, ['d16_hi_b8', 36], 1, 'high'],
  [['short', 26], 26, ['b16', 25], 2],
  [['short_d16_hi', 27], 27, ['d16_hi_b16', 37], 2, 'high'],
  [['dword', 28], 28, ['b32', 26], 4],
  [['dwordx2', 29], 29, ['b64', 27], 8],
  [['dwordx3', 30], 31, ['b96', 28], 12],
  [['dwordx4', 31], 30, ['b128', 29], 16],
];

/**
 * The 32-bit forms; without `_x2`, and with the letter of the type for gfx11. The 64-bit forms are 32 opcodes further on up to gfx10.
 */
const INTEGER_ATOMICS: readonly (readonly [...PerTarget, update: AtomicUpdate])[] = [
  [['swap', 64], 48, ['swap_b', 51], INTEGER_UPDATES.swap],
  [['cmpswap', 65], 49, ['cmpswap_b', 52], INTEGER_UPDATES.compareSwap],
  [['add', 66], 50, ['add_u', 53], INTEGER_UPDATES.add],
  [['sub', 67], 51, ['sub_u', 54], INTEGER_UPDATES.sub],
  [['smin', 68], 53, ['min_i', 56], INTEGER_UPDATES.minS],
  [['umin', 69], 54, ['min_u', 57], INTEGER_UPDATES.minU],
  [['smax', 70], 55, ['max_i', 58], INTEGER_UPDATES.maxS],
  [['umax', 71], 56, ['max_u', 59], INTEGER_UPDATES.maxU],
  [['and', 72], 57, ['and_b', 60], INTEGER_UPDATES.and],
  [['or', 73], 58, ['or_b', 61], INTEGER_UPDATES.or],
  [['xor', 74], 59, ['xor_b', 62], INTEGER_UPDATES.xor],
  [['inc', 75], 60, ['inc_u', 63], INTEGER_UPDATES.inc],
  [['dec', 76], 61, ['dec_u', 64], INTEGER_UPDATES.dec],
];
const WIDE_STEP = 32;
/** The 64-bit form of a 32-bit one on gfx11: the subtraction that clamps, between them, has no 64-bit form. */
const wideGfx11 = (opcode: number): number => opcode + (opcode < 56 ? 14 : 13);

/** Floating-point atomics that all vector memory formats have, with the families that have them. */
const FLOAT_ATOMICS: readonly (readonly [name: string, opcodes: Opcodes, bits: 32 | 64, update: AtomicUpdate])[] = [
  ['add_f64', { gfx90a: 0x4f }, 64, CACHE_FLOAT_UPDATES.addF64],
  ['min_f64', { gfx90a: 0x50 }, 64, CACHE_FLOAT_UPDATES.minF64],
  ['max_f64', { gfx90a: 0x51 }, 64, CACHE_FLOAT_UPDATES.maxF64],
  ['fcmpswap', { gfx10: 0x3e, gfx11: ['cmpswap_f32', 0x50], gfx12: -1 }, 32, MODE_COMPARISONS.compareSwapF32],
  ['fmin', { gfx10: 0x3f, gfx11: ['min_f32', 0x51], gfx12: ['min_num_f32', 0x51] }, 32, MODE_COMPARISONS.minF32],
  ['fmax', { gfx10: 0x40, gfx11: ['max_f32', 0x52], gfx12: ['max_num_f32', 0x52] }, 32, MODE_COMPARISONS.maxF32],
  ['fcmpswap_x2', { gfx10: 0x5e, gfx11: -1 }, 64, MODE_COMPARISONS.compareSwapF64],
  ['fmin_x2', { gfx10: 0x5f, gfx11: -1 }, 64, MODE_COMPARISONS.minF64],
  ['fmax_x2', { gfx10: 0x60, gfx11: -1 }, 64, MODE_COMPARISONS.maxF64],
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
  const common = (
    verb: string,
    [name, gfx9]: readonly [string, number],
    gfx10: number,
    [name11, gfx11]: readonly [string, number],
    operandText: string,
    semantics: Semantics,
  ): Row => {
    const opcodes = { gfx9, gfx10, gfx11: [`${prefix}_${verb}_${name11}`, gfx11] } as const;
    return row(format, `${prefix}_${verb}_${name}`, opcodes, operandText, semantics);
  };
  return [
    ...LOADS.map(([gfx9, gfx10, gfx11, kind]) => {
      // Only loads of at most a dword can go to the LDS.
      const type = registerType(kind.sizeBytes) + (kind.half || kind.sizeBytes > 4 ? '' : '/vgpr');
      const operandText = memory.loadOperands(kind.half ? '+' : '=', type);
      return common('load', gfx9, gfx10, gfx11, operandText, load(portOf, kind));
    }),
    ...STORES.map(([gfx9, gfx10, gfx11, sizeBytes, half]) => {
      const semantics = store(portOf, source, sizeBytes, half);
      return common('store', gfx9, gfx10, gfx11, memory.storeOperands(registerType(sizeBytes)), semantics);
    }),
  ];
}

/** An atomic of the format; names without the prefix. A compare and swap has both values in its data. */
export function atomicRow(
  { format, prefix, portOf, source, atomicOperands }: VectorMemory,
  name: string,
  opcodes: Opcodes,
  bits: 32 | 64,
  update: AtomicUpdate,
): Row {
  const values = name.includes('cmpswap') ? 2 : 1;
  const full = (part: string): string => `${prefix}_atomic_${part}`;
  const text = atomicOperands(`b${bits * values}`, `b${bits}`);
  return row(format, full(name), variant(opcodes, 0, full), text, atomic(portOf, [source], bits, update));
}

export function atomicRows(memory: VectorMemory): Row[] {
  const integer = INTEGER_ATOMICS.flatMap(([[name, gfx9], gfx10, [name11, gfx11], update]) => {
    const short = { gfx9, gfx10, gfx11: [`${name11}32`, gfx11] } as const;
    const wide = {
      gfx9: gfx9 + WIDE_STEP,
      gfx10: gfx10 + WIDE_STEP,
      gfx11: [`${name11}64`, wideGfx11(gfx11)],
    } as const;
    return [atomicRow(memory, name, short, 32, update), atomicRow(memory, `${name}_x2`, wide, 64, update)];
  });
  return [...integer, ...FLOAT_ATOMICS.map((each) => atomicRow(memory, ...each))];
}

/** The subtraction that stops at 0; it always returns what was there. */
export const clampedSubtraction = (memory: VectorMemory): Row =>
  atomicRow(
    memory,
    'csub',
    { gfx10: 0x34, gfx101: -1, gfx11: ['csub_u32', 0x37], gfx12: ['sub_clamp_u32', 0x37] },
    32,
    INTEGER_UPDATES.clampedSub,
  );

/** The subtraction that does nothing where it would go below 0. */
export const conditionalSubtraction = (memory: VectorMemory): Row =>
  atomicRow(memory, 'cond_sub_u32', { gfx12: 0x50 }, 32, INTEGER_UPDATES.conditionalSub);
