/**
 * One call of OpenCL's printf, as the metadata describes it: `NUMBER:COUNT:SIZE...:FORMAT`. A record holds
 * the number, then the arguments, each in as many bytes as its size says, rounded up to dwords: floats,
 * vectors and the bytes of strings as they are.
 */
import { alignUp } from '../../base/align.ts';
import { beforeNul } from '../../base/bytes.ts';
import { WavewrightError } from '../../base/errors.ts';
import type { ConversionArguments } from '../../printf/arguments.ts';
import { formatPrintf } from '../../printf/format.ts';
import { type Conversion, OPENCL_DIALECT, parseFormat, type Section } from '../../printf/parse.ts';

const MAX_ARGUMENTS = 4096;
const FLOATS = 'aAeEfFgG';
const COMMA: Section = { text: Uint8Array.of(0x2c) };
const ESCAPES: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', v: '\v', '72': ':' };

export class OpenclFormat {
  readonly number: number;
  /** The bytes that the arguments take in a record. */
  readonly sizeBytes: number;
  readonly #sizes: readonly number[];
  readonly #sections: readonly Section[];

  private constructor(number: number, sizes: readonly number[], format: Uint8Array) {
    this.number = number;
    this.#sizes = sizes;
    this.sizeBytes = sizes.reduce((sum, size) => sum + dwordsOf(size), 0);
    this.#sections = parseFormat(format, OPENCL_DIALECT);
  }

  /** Throws BAD_INPUT, LIMIT_EXCEEDED for a format that is too long. */
  static parse(line: string): OpenclFormat {
    const fail = (): never => {
      const shown = line.length > 40 ? `${line.slice(0, 40)}…` : line;
      throw new WavewrightError(
        'BAD_INPUT',
        `metadata amdhsa.printf is '${shown}', expected NUMBER:COUNT:SIZE...:FORMAT`,
      );
    };
    const [, number, count, rest] = /^(\d{1,10}):(\d{1,4}):([\s\S]*)$/.exec(line) ?? fail();
    const sizes: number[] = [];
    let format = rest!;
    if (Number(count) > MAX_ARGUMENTS) fail();
    for (let i = 0; i < Number(count); i++) {
      const [all, size] = /^(\d{1,9}):/.exec(format) ?? fail();
      sizes.push(Number(size));
      format = format.slice(all.length);
    }
    // The compiler writes control characters and colons so, and leaves other backslashes as they are.
    const text = format.replace(/\\([abfnrv]|72)/g, (_, name: string) => ESCAPES[name]!);
    return new OpenclFormat(Number(number), sizes, new TextEncoder().encode(text));
  }

  /**
   * What the call prints; what follows the last argument that is there is not printed. Throws LIMIT_EXCEEDED.
   */
  text(area: Uint8Array): Uint8Array {
    const sections: Section[] = [];
    const values: (ConversionArguments | undefined)[] = [];
    const strings: Uint8Array[] = [];
    const sizes = this.#sizes.values();
    let at = 0;
    const take = (): Uint8Array | undefined => {
      const { value: size } = sizes.next();
      if (size === undefined) return undefined;
      at += dwordsOf(size);
      return area.subarray(at - dwordsOf(size), at - dwordsOf(size) + size);
    };
    const measure = (given: Conversion['width']) => (given === 'argument' ? integer(take()) : given);
    for (const section of this.#sections) {
      const { conversion } = section;
      if (conversion === undefined || conversion.argumentSizeBytes === 0) {
        sections.push(section);
        values.push(conversion && { width: undefined, precision: undefined, value: 0n });
        continue;
      }
      const [width, precision] = [measure(conversion.width), measure(conversion.precision)];
      const argument = take();
      if (argument === undefined) break;
      if (conversion.specifier === 's') strings.push(beforeNul(argument));
      for (const [index, element] of elementsOf(argument, conversion.elementCount).entries()) {
        if (index > 0) {
          sections.push(COMMA);
          values.push(undefined);
        }
        sections.push(section);
        values.push({ width, precision, value: printedValue(element, conversion) });
      }
    }
    return formatPrintf(sections, values, strings, OPENCL_DIALECT);
  }
}

const dwordsOf = (sizeBytes: number): number => alignUp(sizeBytes, 4);

/**
 * A vector of three takes as much room as one of four; elements of one that would end within a dword are
 * wider than their type.
 */
function elementsOf(argument: Uint8Array, count: number): Uint8Array[] {
  if (count === 1) return [argument];
  const sizeBytes = Math.floor(argument.length / (count === 3 ? 4 : count));
  return Array.from({ length: count }, (_, i) => argument.subarray(i * sizeBytes, (i + 1) * sizeBytes));
}

/** The first 8 bytes, unsigned. */
function bitsOf(bytes: Uint8Array): bigint {
  return bytes.subarray(0, 8).reduceRight((bits, byte) => (bits << 8n) | BigInt(byte), 0n);
}

const integer = (bytes: Uint8Array | undefined): number => Number(BigInt.asIntN(32, bitsOf(bytes ?? new Uint8Array())));

/**
 * As `formatPrintf` takes it: the bits of a double, whatever the element's own size; any address but null for
 * a string.
 */
function printedValue(element: Uint8Array, { specifier = '' }: Conversion): bigint {
  if (specifier === 's') return 1n;
  if (!FLOATS.includes(specifier) || element.length >= 8) return bitsOf(element);
  const view = new DataView(new ArrayBuffer(8));
  view.setUint32(0, Number(bitsOf(element)), true);
  view.setFloat64(0, element.length >= 4 ? view.getFloat32(0, true) : view.getFloat16(0, true), true);
  return view.getBigUint64(0, true);
}
