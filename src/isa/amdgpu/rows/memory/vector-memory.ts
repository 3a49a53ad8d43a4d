/**
 * The rows that FLAT, GLOBAL, SCRATCH and MUBUF have under the same opcodes. CDNA2 ISA 12.13 and 12.16; RDNA3
 * ISA 9.1 and 11.
 */
import type { FormatName } from '../../encoding/format.ts';
import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import { type AtomicUpdate, CACHE_FLOAT_UPDATES, INTEGER_UPDATES, MODE_COMPARISONS } from '../../semantics/atomics.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';
import { atomic, type LoadKind, load, type PortOf, store } from '../../semantics/memory.ts';
import { variant } from '../table/opcode-variants.ts';
import { type Opcodes, row } from '../table/row.ts';

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
 * The 32-bit forms; without `_x2`, and with the letter of the type for gfx11. The 64-bit forms are 32 opcodes
 * further on up to gfx10.
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
/**
 * The 64-bit form of a 32-bit one on gfx11: the subtraction that clamps, between them, has no 64-bit form.
 */
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
  /**
   * Operand text; `destination` is '=', or '+' for a load that keeps half of the register, `type` that of the
   * data.
   */
  readonly loadOperands: (access: '=' | '+', type: string) => string;
  readonly storeOperands: (type: string) => string;
  readonly atomicOperands: (type: string, oldType: string) => string;
}

export function loadAndStoreRows(memory: VectorMemory): Row[] {
  const { format, prefix, portOf, source } = memory;
  const common = (
    verb: string,
    [[name, gfx9], gfx10, [name11, gfx11]]: PerTarget,
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
      return common('load', [gfx9, gfx10, gfx11], operandText, load(portOf, kind));
    }),
    ...STORES.map(([gfx9, gfx10, gfx11, sizeBytes, half]) => {
      const semantics = store(portOf, source, sizeBytes, half);
      return common('store', [gfx9, gfx10, gfx11], memory.storeOperands(registerType(sizeBytes)), semantics);
    }),
  ];
}

/** Updates of floats that the first processors with them cannot return, and CDNA2 cannot give a scope. */
const FLOAT_UPDATES: ReadonlySet<AtomicUpdate> = new Set<AtomicUpdate>([
  ...[CACHE_FLOAT_UPDATES.addF64, CACHE_FLOAT_UPDATES.minF64, CACHE_FLOAT_UPDATES.maxF64],
  ...[CACHE_FLOAT_UPDATES.addF32, CACHE_FLOAT_UPDATES.packedAddF16],
]);

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
  const flags: RowFlags = FLOAT_UPDATES.has(update) ? { floatAtomic: true } : {};
  const text = atomicOperands(`b${bits * values}`, `b${bits}`);
  return row(format, full(name), variant(opcodes, 0, full), text, atomic(portOf, [source], bits, update), flags);
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
