/**
 * printf formats as the RPC server must read them (C23 7.23.6.1): the client sends the format and a block of
 * arguments whose size only the server knows, so both sides must agree on every conversion. HIP's and
 * OpenCL's are read with it, too.
 */
import { WavewrightError } from '../base/errors.ts';

/** What differs between the servers of LLVM generations. */
export interface PrintfDialect {
  /** How `%p` shows a null pointer. */
  readonly nullPointer: string;
  /** `%n` takes a pointer and writes nothing; otherwise it is no conversion. */
  readonly takesCountPointer: boolean;
  /** `q` is a length modifier, the same as `ll`. */
  readonly hasQuadModifier: boolean;
  /** `v2` to `v16` make a conversion one of vectors, and `hl` is their length modifier for 32 bits. */
  readonly hasVectors: boolean;
}

/** LLVM 19 to 22 print with LLVM's own engine. */
export const LLVM_DIALECT: PrintfDialect = {
  nullPointer: '(nullptr)',
  takesCountPointer: false,
  hasQuadModifier: false,
  hasVectors: false,
};
/** LLVM 23 and HIP print with the host's C library, glibc here. */
export const GLIBC_DIALECT: PrintfDialect = {
  nullPointer: '(nil)',
  takesCountPointer: true,
  hasQuadModifier: true,
  hasVectors: false,
};
/** OpenCL C 2.0, section 6.13.13. */
export const OPENCL_DIALECT: PrintfDialect = {
  nullPointer: '(nil)',
  takesCountPointer: false,
  hasQuadModifier: false,
  hasVectors: true,
};

export interface Flags {
  left: boolean;
  plus: boolean;
  space: boolean;
  alternate: boolean;
  zero: boolean;
}

/** A width or precision: absent, in the format, or an int argument of its own. */
export type Measure = number | 'argument' | undefined;

export interface Conversion {
  readonly flags: Readonly<Flags>;
  readonly width: Measure;
  readonly precision: Measure;
  /** Of a vector; 1 for everything else. */
  readonly elementCount: number;
  /** Width of an integer value, 1 to 64. */
  readonly bits: number;
  /** Bytes of the value in the argument area: 0, 4 or 8. */
  readonly argumentSizeBytes: 0 | 4 | 8;
  /**
   * The conversion specifier; absent for a specification that is none: its text is printed, its `*` arguments
   * are consumed.
   */
  readonly specifier: string | undefined;
}

export interface Section {
  /** The bytes in the format. */
  readonly text: Uint8Array;
  /** Absent for text. */
  readonly conversion?: Conversion;
}

const INTEGERS = 'dioxXubB';
const FLOATS = 'aAeEfFgG';
const VECTOR_SIZES = [2, 3, 4, 8, 16];
/** Bytes that a format may have; C asks for 4095 that one conversion may print. */
const MAX_FORMAT_BYTES = 65_536;
const PERCENT = 0x25;
const MAX_INT = 0x7fff_ffff;
const FLAGS: Readonly<Record<string, keyof Flags>> = {
  '-': 'left',
  '+': 'plus',
  ' ': 'space',
  '#': 'alternate',
  '0': 'zero',
};

/**
 * Whatever is no conversion is text. `format` ends before its NUL. Throws LIMIT_EXCEEDED for one above
 * `MAX_FORMAT_BYTES`.
 */
export function parseFormat(format: Uint8Array, dialect: PrintfDialect): Section[] {
  if (format.length > MAX_FORMAT_BYTES) {
    const what = `a printf format of ${format.length} bytes, at most ${MAX_FORMAT_BYTES}`;
    throw new WavewrightError('LIMIT_EXCEEDED', what);
  }
  const sections: Section[] = [];
  let at = 0;
  while (at < format.length) {
    if (format[at] === PERCENT) {
      const parser = new ConversionParser(format, at + 1, dialect);
      const conversion = parser.parse();
      sections.push({ text: format.subarray(at, parser.at), conversion });
      at = parser.at;
    } else {
      const next = format.indexOf(PERCENT, at);
      const end = next < 0 ? format.length : next;
      sections.push({ text: format.subarray(at, end) });
      at = end;
    }
  }
  return sections;
}

class ConversionParser {
  /** Behind the last byte read. */
  at: number;
  readonly #format: Uint8Array;
  readonly #dialect: PrintfDialect;

  constructor(format: Uint8Array, at: number, dialect: PrintfDialect) {
    this.#format = format;
    this.at = at;
    this.#dialect = dialect;
  }

  parse(): Conversion {
    const flags: Flags = { left: false, plus: false, space: false, alternate: false, zero: false };
    for (let flag = FLAGS[this.#peek()]; flag !== undefined; flag = FLAGS[this.#peek()]) {
      flags[flag] = true;
      this.at++;
    }
    const width = this.#measure();
    const precision = this.#take('.') ? (this.#measure() ?? 0) : undefined;
    const elementCount = this.#vector();
    const bits = this.#lengthModifier();
    const specifier = this.#peek();
    if (specifier !== '') this.at++;
    const argumentSizeBytes = this.#argumentSizeBytes(specifier, bits);
    const isVector = elementCount !== 1;
    const known =
      argumentSizeBytes !== undefined &&
      (bits !== undefined || specifier === '%') &&
      (!isVector || (VECTOR_SIZES.includes(elementCount) && (INTEGERS + FLOATS).includes(specifier)));
    return {
      flags,
      width,
      precision,
      elementCount,
      bits: bits ?? 32,
      argumentSizeBytes: known ? argumentSizeBytes : 0,
      specifier: known ? specifier : undefined,
    };
  }

  /** `undefined`: no conversion. */
  #argumentSizeBytes(specifier: string, bits: number | undefined): 0 | 4 | 8 | undefined {
    if (specifier === '') return undefined;
    if (specifier === '%') return 0;
    if (specifier === 'c') return 4;
    if (INTEGERS.includes(specifier)) return (bits ?? 32) <= 32 ? 4 : 8;
    if (FLOATS.includes(specifier) || specifier === 'p' || specifier === 's') return 8;
    return specifier === 'n' && this.#dialect.takesCountPointer ? 8 : undefined;
  }

  #peek(): string {
    const byte = this.#format[this.at];
    return byte === undefined ? '' : String.fromCharCode(byte);
  }

  #take(character: string): boolean {
    const found = this.#peek() === character;
    if (found) this.at++;
    return found;
  }

  #measure(): Measure {
    return this.#take('*') ? 'argument' : this.#number();
  }

  #number(): number | undefined {
    let value: number | undefined;
    for (let digit = this.#peek(); digit >= '0' && digit <= '9'; digit = this.#peek()) {
      value = Math.min((value ?? 0) * 10 + Number(digit), MAX_INT);
      this.at++;
    }
    return value;
  }

  /** Elements of a vector, 0 for a `v` without a number; 1 where there is no `v`. */
  #vector(): number {
    if (!this.#dialect.hasVectors || !this.#take('v')) return 1;
    return this.#number() ?? 0;
  }

  /** Bits of an integer; `undefined` for a `w` without a usable width. */
  #lengthModifier(): number | undefined {
    if (this.#take('h')) {
      if (this.#dialect.hasVectors && this.#take('l')) return 32;
      return this.#take('h') ? 8 : 16;
    }
    if (this.#take('l')) {
      this.#take('l');
      return 64;
    }
    for (const modifier of ['L', 'j', 'z', 't']) if (this.#take(modifier)) return 64;
    if (this.#dialect.hasQuadModifier && this.#take('q')) return 64;
    if (!this.#take('w')) return 32;
    const fast = this.#take('f');
    const bits = this.#number();
    if (bits === undefined || bits === 0) return undefined;
    return fast && bits > 8 && bits <= 32 ? 32 : Math.min(bits, 64);
  }
}
