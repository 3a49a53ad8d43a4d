/** Types of PTX operands: PTX ISA 5.2 "Types". Names are without the dot. */

/** Bits of each type that an instruction may name. */
const TYPE_BITS = {
  ...{ b8: 8, b16: 16, b32: 32, b64: 64, u8: 8, u16: 16, u32: 32, u64: 64, s8: 8, s16: 16, s32: 32, s64: 64 },
  ...{ f16: 16, bf16: 16, f16x2: 32, bf16x2: 32, tf32: 32, f32: 32, f64: 64, u16x2: 32, s16x2: 32, pred: 1 },
} as const;

export type PtxType = keyof typeof TYPE_BITS;

export const isType = (name: string): name is PtxType => Object.hasOwn(TYPE_BITS, name);

/** What registers and variables consist of. `length`: undefined where they are no vectors. */
export interface Elements {
  readonly type: PtxType;
  readonly length: number | undefined;
}

/** 128 bits are their halves, low first; there are no vectors of those. Names are as texts have them. */
export function elementsOfType(name: string, vector: string | undefined): Elements | undefined {
  if (name === '.b128') return vector === undefined ? { type: 'b64', length: 2 } : undefined;
  const type = name.slice(1);
  return isType(type) ? { type, length: vector === undefined ? undefined : Number(vector.slice(2)) } : undefined;
}

export const bitsOf = (type: PtxType): number => TYPE_BITS[type];

/** What it takes in memory. */
export const sizeOf = (type: PtxType): number => Math.max(1, TYPE_BITS[type] / 8);

/** What a packed type holds two of; another type is its own element. */
export const elementTypeOf = (type: PtxType): PtxType => (type.endsWith('x2') ? (type.slice(0, -2) as PtxType) : type); // reason: every packed type is named after one

export const isSigned = (type: PtxType): boolean => type.startsWith('s');

export const isFloatType = (type: PtxType): boolean => type.startsWith('f') || type.startsWith('bf');

/** Registers of 32 bits that hold a value. */
export const dwordsOfType = (type: PtxType): 1 | 2 => (TYPE_BITS[type] === 64 ? 2 : 1);
