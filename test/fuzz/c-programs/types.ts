/** The types of generated C programs. Names of scalars are those of `prelude.h`. */

export interface Integer {
  readonly kind: 'integer';
  readonly name: string;
  readonly bits: number;
  readonly signed: boolean;
}

export interface Float {
  readonly kind: 'float';
  readonly name: string;
  /** Of the significand, the hidden one included. */
  readonly precision: number;
}

export type Scalar = Integer | Float;

export interface Field {
  readonly name: string;
  readonly type: Scalar | Struct;
  /** Of an array field: a power of two. */
  readonly length?: number;
  readonly bitWidth?: number;
}

/** A struct, or a union of which all members cover all bytes. */
export interface Struct {
  readonly kind: 'struct' | 'union';
  /** With its tag: usable as a type name. */
  readonly name: string;
  readonly fields: readonly Field[];
}

const integer = (name: string, bits: number, signed: boolean): Integer => ({ kind: 'integer', name, bits, signed });

export const I32 = integer('i32', 32, true);
export const U8 = integer('u8', 8, false);
export const U16 = integer('u16', 16, false);
export const U32 = integer('u32', 32, false);
export const U64 = integer('u64', 64, false);
export const INTEGERS: readonly Integer[] = [
  integer('i8', 8, true),
  U8,
  integer('i16', 16, true),
  U16,
  I32,
  U32,
  integer('i64', 64, true),
  U64,
];
/** Only a destination: its arithmetic is that of int. */
export const BOOL = integer('bool', 1, false);

export const F16: Float = { kind: 'float', name: 'f16', precision: 11 };
export const F32: Float = { kind: 'float', name: 'f32', precision: 24 };
export const F64: Float = { kind: 'float', name: 'f64', precision: 53 };
export const FLOATS: readonly Float[] = [F16, F32, F64];

/** `name[length]` where the field is an array, or the bit field's width. */
export function declareField({ name, type, length, bitWidth }: Field): string {
  const suffix = length !== undefined ? `[${length}]` : bitWidth !== undefined ? ` : ${bitWidth}` : '';
  return `  ${type.name} ${name}${suffix};`;
}

export const declareStruct = ({ name, fields }: Struct): string =>
  `${name} {\n${fields.map(declareField).join('\n')}\n};`;
