/** Typed arrays and the types of GPU code that they hold the elements of. */
import type { ElementType } from '../launch/kernel-arguments.ts';

/** What a buffer is made of and read as, by name. */
export interface TypedArrays {
  Int8Array: Int8Array<ArrayBuffer>;
  Uint8Array: Uint8Array<ArrayBuffer>;
  Int16Array: Int16Array<ArrayBuffer>;
  Uint16Array: Uint16Array<ArrayBuffer>;
  Int32Array: Int32Array<ArrayBuffer>;
  Uint32Array: Uint32Array<ArrayBuffer>;
  BigInt64Array: BigInt64Array<ArrayBuffer>;
  BigUint64Array: BigUint64Array<ArrayBuffer>;
  Float16Array: Float16Array<ArrayBuffer>;
  Float32Array: Float32Array<ArrayBuffer>;
  Float64Array: Float64Array<ArrayBuffer>;
}

export type TypedArrayName = keyof TypedArrays;

/** Any memory of that kind, shared or not. */
export interface TypedArray<Name extends TypedArrayName = TypedArrayName> extends ArrayBufferView {
  readonly [Symbol.toStringTag]: Name;
  readonly length: number;
  readonly BYTES_PER_ELEMENT: number;
}

interface Row<Name extends TypedArrayName> {
  /** Undefined: bytes, which fit every type. */
  readonly element: ElementType | undefined;
  readonly over: (bytes: ArrayBuffer) => TypedArrays[Name];
}

const ROWS: { readonly [Name in TypedArrayName]: Row<Name> } = {
  Int8Array: { element: 'i8', over: (bytes) => new Int8Array(bytes) },
  Uint8Array: { element: undefined, over: (bytes) => new Uint8Array(bytes) },
  Int16Array: { element: 'i16', over: (bytes) => new Int16Array(bytes) },
  Uint16Array: { element: 'i16', over: (bytes) => new Uint16Array(bytes) },
  Int32Array: { element: 'i32', over: (bytes) => new Int32Array(bytes) },
  Uint32Array: { element: 'i32', over: (bytes) => new Uint32Array(bytes) },
  BigInt64Array: { element: 'i64', over: (bytes) => new BigInt64Array(bytes) },
  BigUint64Array: { element: 'i64', over: (bytes) => new BigUint64Array(bytes) },
  // A JavaScript engine without half precision has the others.
  Float16Array: { element: 'f16', over: (bytes) => new Float16Array(bytes) },
  Float32Array: { element: 'f32', over: (bytes) => new Float32Array(bytes) },
  Float64Array: { element: 'f64', over: (bytes) => new Float64Array(bytes) },
};

export const isTypedArray = (value: unknown): value is TypedArray =>
  ArrayBuffer.isView(value) && Symbol.toStringTag in value && Object.hasOwn(ROWS, String(value[Symbol.toStringTag]));

export const elementOf = (name: TypedArrayName): ElementType | undefined => ROWS[name].element;

export const elementBytes = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** A copy of the bytes as an array of that kind. */
export const arrayOf = <Name extends TypedArrayName>(name: Name, bytes: Uint8Array): TypedArrays[Name] =>
  ROWS[name].over(Uint8Array.from(bytes).buffer);

/** What errors call a value. */
export function valueText(value: unknown): string {
  if (isTypedArray(value)) return `a ${value[Symbol.toStringTag]} of ${value.length}`;
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `a value of class ${value.constructor?.name ?? 'Object'}`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
