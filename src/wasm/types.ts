/** Value types and function types of WebAssembly (core specification 2.0, section 5.3). */
export type ValueType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128';

export const VALUE_TYPE_BYTE: Readonly<Record<ValueType, number>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
};

/** A function signature that stands in a module's type section; `index` is its place there. */
export interface FunctionType {
  readonly index: number;
  readonly parameters: readonly ValueType[];
  readonly results: readonly ValueType[];
}

/** A function of a module: imported, or defined by a `FunctionBuilder`. */
export interface FunctionRef {
  readonly index: number;
  readonly type: FunctionType;
}
