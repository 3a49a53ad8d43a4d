/** Formats a printf call, see `parse.ts` and `arguments.ts`. */

import { concatenate } from '../base/concatenate.ts';
import { WavewrightError } from '../base/errors.ts';
import type { ConversionArguments } from './arguments.ts';
import { decodeDouble, exponentDigits, fixedDigits, generalDigits, hexDigits } from './float.ts';
import type { Conversion, Flags, PrintfDialect, Section } from './parse.ts';

/** Bytes that one printf call may print. */
export const MAX_OUTPUT_BYTES = 64 * 2 ** 20;

const ascii = new TextEncoder();
const NULL_STRING = ascii.encode('(null)');

class Output {
  readonly #chunks: Uint8Array[] = [];
  #sizeBytes = 0;

  /** Throws when `sizeBytes` more are too many; called before anything of that size is made. */
  reserve(sizeBytes: number): void {
    if (this.#sizeBytes + sizeBytes > MAX_OUTPUT_BYTES) {
      throw new WavewrightError('LIMIT_EXCEEDED', `a printf call prints more than ${MAX_OUTPUT_BYTES} bytes`);
    }
  }

  push(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.#chunks.push(bytes);
    this.#sizeBytes += bytes.length;
  }

  /** `body` padded with spaces to `width`. */
  pad(body: Uint8Array, width: number, left: boolean): void {
    this.reserve(Math.max(width, body.length));
    const padding = new Uint8Array(Math.max(width - body.length, 0)).fill(0x20);
    this.push(left ? body : padding);
    this.push(left ? padding : body);
  }

  toBytes(): Uint8Array {
    return concatenate(this.#chunks);
  }
}

/** A conversion with its `*` arguments put in. */
interface Resolved {
  readonly flags: Readonly<Flags>;
  readonly width: number;
  readonly precision: number | undefined;
  readonly bits: number;
  readonly value: bigint;
}

/**
 * The bytes that the call prints. `strings` are the contents of the non-null `%s` arguments in order, without
 * NUL. Throws LIMIT_EXCEEDED above `MAX_OUTPUT_BYTES`.
 */
export function formatPrintf(
  sections: readonly Section[],
  values: readonly (ConversionArguments | undefined)[],
  strings: readonly Uint8Array[],
  dialect: PrintfDialect,
): Uint8Array {
  const output = new Output();
  let nextString = 0;
  for (const [index, { text, conversion }] of sections.entries()) {
    const given = values[index];
    if (conversion?.specifier === undefined || given === undefined) {
      output.push(text);
      continue;
    }
    const resolved = resolve(conversion, given);
    const { flags, width, precision, value } = resolved;
    if (conversion.specifier === 's') {
      const string = value === 0n ? NULL_STRING : strings[nextString++]!;
      output.pad(precision === undefined ? string : string.subarray(0, precision), width, flags.left);
    } else if (conversion.specifier === 'c') {
      output.pad(Uint8Array.of(Number(value & 0xffn)), width, flags.left);
    } else {
      output.reserve(Math.max(width, precision ?? 0));
      output.push(ascii.encode(convert(conversion.specifier, resolved, dialect)));
    }
  }
  return output.toBytes();
}

function resolve(conversion: Conversion, { width = 0, precision, value }: ConversionArguments): Resolved {
  return {
    // A negative `*` width is the flag `-` and a width; a negative `*` precision counts as none.
    flags: width < 0 ? { ...conversion.flags, left: true } : conversion.flags,
    width: Math.abs(width),
    precision: precision === undefined || precision < 0 ? undefined : precision,
    bits: conversion.bits,
    value,
  };
}

function convert(specifier: string, resolved: Resolved, dialect: PrintfDialect): string {
  switch (specifier) {
    case '%':
      return '%';
    case 'n':
      return '';
    case 'p':
      return resolved.value === 0n
        ? align(dialect.nullPointer, '', { ...resolved, flags: { ...resolved.flags, zero: false } })
        : convertInteger('x', { ...resolved, bits: 64, flags: { ...resolved.flags, alternate: true } });
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
    case 'b':
    case 'B':
      return convertInteger(specifier, resolved);
    default:
      return convertFloat(specifier, resolved);
  }
}

function signText(negative: boolean, { plus, space }: Flags): string {
  return negative ? '-' : plus ? '+' : space ? ' ' : '';
}

const RADIX: Readonly<Record<string, number>> = { o: 8, x: 16, X: 16, b: 2, B: 2 };

function convertInteger(specifier: string, resolved: Resolved): string {
  const { flags, bits, precision, value } = resolved;
  const signed = specifier === 'd' || specifier === 'i';
  const number = signed ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  const radix = RADIX[specifier] ?? 10;
  const magnitude = number < 0n ? -number : number;
  // The value 0 with precision 0 has no digits.
  let digits = number === 0n && precision === 0 ? '' : magnitude.toString(radix).padStart(precision ?? 1, '0');
  if (specifier === 'X') digits = digits.toUpperCase();
  let prefix = signed ? signText(number < 0n, flags) : '';
  if (flags.alternate && radix === 8 && !digits.startsWith('0')) digits = `0${digits}`;
  if (flags.alternate && (radix === 16 || radix === 2) && number !== 0n) prefix = `0${specifier}`;
  const zero = flags.zero && precision === undefined;
  return align(digits, prefix, { ...resolved, flags: { ...flags, zero } });
}

function convertFloat(specifier: string, resolved: Resolved): string {
  const { flags, precision } = resolved;
  const double = decodeDouble(resolved.value);
  const lower = specifier.toLowerCase();
  const sign = signText(double.negative, flags);
  const cased = (text: string) => (lower === specifier ? text : text.toUpperCase());
  if (double.kind !== 'finite')
    return align(cased(double.kind), sign, { ...resolved, flags: { ...flags, zero: false } });
  switch (lower) {
    case 'f':
      return align(fixedDigits(double, precision ?? 6, flags.alternate), sign, resolved);
    case 'e':
      return align(cased(exponentDigits(double, precision ?? 6, flags.alternate)), sign, resolved);
    case 'g':
      return align(cased(generalDigits(double, precision ?? 6, flags.alternate)), sign, resolved);
    default:
      return align(cased(hexDigits(double, precision, flags.alternate)), sign + cased('0x'), resolved);
  }
}

/** Pads with spaces, or with zeros behind the prefix. */
function align(body: string, prefix: string, { flags, width }: Resolved): string {
  if (flags.left) return (prefix + body).padEnd(width);
  if (flags.zero) return prefix + body.padStart(width - prefix.length, '0');
  return (prefix + body).padStart(width);
}
