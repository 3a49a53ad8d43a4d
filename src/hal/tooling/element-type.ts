/** Types of elements as IREE names them (iree/hal/string_util.h): `i32`, `si8`, `f16`, `bf16`, `x64`. */
import { toHex } from '../../base/bytes.ts';
import { WavewrightError } from '../../base/errors.ts';
import { numberBytes } from '../../launch/argument-text.ts';
import { decodeDouble, generalDigits } from '../../printf/float.ts';
import { invalidArgument } from '../core/status.ts';

export interface TensorElement {
  readonly name: string;
  readonly sizeBytes: number;
  /** How far a value may lie from an expected one and still be equal to it; 0 for all but floats. */
  readonly kind: 'integer' | 'float' | 'bytes';
  /** numpy's name of it (little-endian), where it has one. */
  readonly numpy: string | undefined;
  /** The element at an offset, as text. */
  format(data: DataView, at: number): string;
  /** Writes the element that the text says. Throws INVALID_ARGUMENT for text that is none. */
  parse(text: string, data: DataView, at: number): void;
  /** The element as a number, for comparing floats. */
  read(data: DataView, at: number): number;
}

/** Digits that C prints for `%G`. */
const GENERAL_PRECISION = 6;

const notA = (name: string, text: string): Error => invalidArgument(`'${text}' is no ${name}`);

/** Writes a number of a kind that arguments of kernels have, `u8` to `f64`. */
function writeNumber(kind: string, name: string, text: string, data: DataView, at: number): void {
  try {
    const bytes = numberBytes(kind, [text]);
    new Uint8Array(data.buffer, data.byteOffset + at, bytes.length).set(bytes);
  } catch (error) {
    throw error instanceof WavewrightError ? notA(name, text) : error;
  }
}

function integerType(name: string, bits: number, sign: 'signed' | 'unsigned' | 'either'): TensorElement {
  const sizeBytes = bits / 8;
  const valueAt = (data: DataView, at: number): bigint => {
    let value = 0n;
    for (let i = sizeBytes - 1; i >= 0; i--) value = (value << 8n) | BigInt(data.getUint8(at + i));
    return sign === 'unsigned' ? value : BigInt.asIntN(bits, value);
  };
  const isUnsigned = (text: string): boolean => sign === 'unsigned' || (sign === 'either' && !text.startsWith('-'));
  const numpy = `${bits === 8 ? '|' : '<'}${sign === 'unsigned' ? 'u' : 'i'}${sizeBytes}`;
  return {
    ...{ name, sizeBytes, kind: 'integer', numpy },
    format: (data, at) => String(valueAt(data, at)),
    parse: (text, data, at) => {
      writeNumber(`${isUnsigned(text) ? 'u' : 'i'}${bits}`, name, text, data, at);
      // Arguments of kernels may spell a negative number by its bits; a signed element may not.
      if (sign === 'signed' && valueAt(data, at) < 0n && !text.startsWith('-')) throw notA(name, text);
    },
    read: (data, at) => Number(valueAt(data, at)),
  };
}

const BOOLEAN: TensorElement = {
  ...{ name: 'i1', sizeBytes: 1, kind: 'integer', numpy: '|b1' },
  format: (data, at) => String(data.getUint8(at)),
  parse: (text, data, at) => {
    if (!/^[01]$/.test(text)) throw notA('i1, which is 0 or 1', text);
    data.setUint8(at, Number(text));
  },
  read: (data, at) => data.getUint8(at),
};

type Read = (data: DataView, at: number) => number;

function floatType(name: string, sizeBytes: number, read: Read): TensorElement {
  return {
    ...{ name, sizeBytes, kind: 'float', numpy: `<${name.replace(/\d+/, String(sizeBytes))}` },
    format: (data, at) => floatText(read(data, at)),
    parse: (text, data, at) => writeNumber(name, name, text, data, at),
    read,
  };
}

/** As C's `%G` prints it. */
export function floatText(value: number): string {
  const data = new DataView(new ArrayBuffer(8));
  data.setFloat64(0, value);
  const parts = decodeDouble(data.getBigUint64(0));
  const digits = parts.kind === 'finite' ? generalDigits(parts, GENERAL_PRECISION, false) : parts.kind;
  return `${parts.negative ? '-' : ''}${digits.toUpperCase()}`;
}

const readBfloat: Read = (data, at) => {
  const single = new DataView(new ArrayBuffer(4));
  single.setUint16(2, data.getUint16(at, true), true);
  return single.getFloat32(0, true);
};

const BFLOAT: TensorElement = {
  ...{ name: 'bf16', sizeBytes: 2, kind: 'float', numpy: undefined },
  format: (data, at) => floatText(readBfloat(data, at)),
  parse: (text, data, at) => {
    const single = new DataView(new ArrayBuffer(4));
    writeNumber('f32', 'bf16', text, single, 0);
    const bits = single.getUint32(0, true);
    // To nearest, ties to even; a NaN stays one.
    const rounded = (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
    data.setUint16(at, Number.isNaN(single.getFloat32(0, true)) ? (bits >>> 16) | 0x40 : rounded, true);
  },
  read: readBfloat,
};

/** Elements that are only bytes: as many pairs of hexadecimal digits. */
function bytesType(name: string, sizeBytes: number, numpy?: string): TensorElement {
  const bytesAt = (data: DataView, at: number) => new Uint8Array(data.buffer, data.byteOffset + at, sizeBytes);
  return {
    ...{ name, sizeBytes, kind: 'bytes', numpy },
    format: (data, at) => toHex(bytesAt(data, at)).toUpperCase(),
    parse: (text, data, at) => {
      if (!/^[\da-f]*$/i.test(text) || text.length !== 2 * sizeBytes) {
        throw notA(`${name}, which is ${2 * sizeBytes} hexadecimal digits`, text);
      }
      bytesAt(data, at).set(Uint8Array.fromHex(text));
    },
    read: () => Number.NaN,
  };
}

const BITS = [8, 16, 32, 64] as const;
const TYPES: readonly TensorElement[] = [
  BOOLEAN,
  ...BITS.map((bits) => integerType(`i${bits}`, bits, 'either')),
  ...BITS.map((bits) => integerType(`si${bits}`, bits, 'signed')),
  ...BITS.map((bits) => integerType(`ui${bits}`, bits, 'unsigned')),
  floatType('f16', 2, (data, at) => data.getFloat16(at, true)),
  BFLOAT,
  floatType('f32', 4, (data, at) => data.getFloat32(at, true)),
  floatType('f64', 8, (data, at) => data.getFloat64(at, true)),
  bytesType('cf64', 8, '<c8'),
  bytesType('cf128', 16, '<c16'),
  ...BITS.map((bits) => bytesType(`x${bits}`, bits / 8)),
];

const BY_NAME = new Map(TYPES.map((type) => [type.name, type]));

/** Throws INVALID_ARGUMENT with the names that there are. */
export function elementTypeNamed(name: string): TensorElement {
  const found = BY_NAME.get(name.replace(/^\*/, 'x'));
  if (found !== undefined) return found;
  throw invalidArgument(`no element type '${name}'`, { hint: `element types are ${[...BY_NAME.keys()].join(', ')}` });
}

/** The type of an array of numpy; undefined for one that it has not. */
export const elementTypeOfNumpy = (descr: string): TensorElement | undefined =>
  TYPES.find(({ numpy }) => numpy === descr || (numpy?.startsWith('|') && `<${numpy.slice(1)}` === descr));
