/** Directives for sections, data and symbols, as LLVM's assembler for AMDGPU takes them. */
import { WavewrightError } from '../base/errors.ts';
import { floatBits } from '../isa/amdgpu/text/assembler/constant.ts';
import type { Expression } from '../isa/amdgpu/text/reader/expression.ts';
import type { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { Assembly, Directive } from './assembly.ts';
import { CFI_DIRECTIVES } from './call-frame-directives.ts';
import { CONDITIONAL_DIRECTIVES } from './conditionals.ts';
import { DEBUG_DIRECTIVES } from './debug-directives.ts';
import { MACRO_DIRECTIVES } from './macros.ts';
import { littleEndian, SECTION_TYPES } from './section.ts';
import { SECTION_DIRECTIVES } from './section-directives.ts';
import { sourceLines, stringBytes } from './source.ts';

function symbolName(reader: TextReader): string {
  return reader.string() ?? reader.word() ?? reader.fail('expected the name of a symbol');
}

/** `handle` for each of the names that follow. */
const eachSymbol =
  (handle: (assembly: Assembly, name: string) => void): Directive =>
  (assembly, reader) => {
    do handle(assembly, symbolName(reader));
    while (reader.accept(','));
  };

const binding = (value: 'local' | 'global' | 'weak'): Directive =>
  eachSymbol((assembly, name) => {
    const symbol = assembly.symbols.get(name);
    symbol.binding = value;
    symbol.isUsed = true;
  });

const visibility = (value: number): Directive =>
  eachSymbol((assembly, name) => {
    const symbol = assembly.symbols.get(name);
    symbol.visibility = value;
    symbol.isUsed = true;
  });

const values =
  (sizeBytes: 1 | 2 | 4 | 8): Directive =>
  (assembly, reader) => {
    do assembly.appendValue(assembly.localize(reader.expression()), sizeBytes);
    while (reader.accept(','));
  };

const floats =
  (bits: 32 | 64): Directive =>
  (assembly, reader) => {
    do {
      reader.skipBlanks();
      const at = reader.position;
      const text = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/.exec(reader.text.slice(at))?.[0];
      const number = text === undefined ? undefined : floatBits(Number(text), bits);
      if (text === undefined || number === undefined) return reader.fail('expected a floating-point number', at);
      reader.position += text.length;
      assembly.append(littleEndian(number, bits / 8));
    } while (reader.accept(','));
  };

const strings =
  (end: Uint8Array): Directive =>
  (assembly, reader) => {
    do {
      const text = reader.string() ?? reader.fail('expected a string');
      assembly.append(stringBytes(text));
      assembly.append(end);
    } while (reader.accept(','));
  };

/** A count of bytes that is not negative. */
function count(assembly: Assembly, reader: TextReader, what: string): number {
  reader.skipBlanks();
  const at = reader.position;
  const value = assembly.absolute(reader, what);
  return value < 0n || value > 2n ** 32n ? reader.fail(`${what} is ${value}`, at) : Number(value);
}

const skip: Directive = (assembly, reader) => {
  const size = count(assembly, reader, 'size');
  const value = reader.accept(',') ? assembly.absolute(reader, 'value') : 0n;
  assembly.appendRepeated(size, littleEndian(value, 1));
};

/** Elements of up to 8 bytes, of which the value fills 4. */
const fill: Directive = (assembly, reader) => {
  const repeat = count(assembly, reader, 'repeat count');
  const size = reader.accept(',') ? Math.min(count(assembly, reader, 'size'), 8) : 1;
  const value = reader.accept(',') ? assembly.absolute(reader, 'value') : 0n;
  assembly.appendRepeated(repeat, littleEndian(BigInt.asUintN(32, value), size));
};

const origin: Directive = (assembly, reader) => {
  const at = reader.position;
  const { constant, plus, minus } = assembly.symbols.evaluate(assembly.localize(reader.expression()));
  const base = plus?.symbol.definition;
  const isHere = base?.kind === 'label' && base.section === assembly.current && !minus;
  if (plus && !isHere) return reader.fail('the place must be in this section', at);
  const offset = Number(constant) + (isHere ? base.offset : 0);
  const value = reader.accept(',') ? assembly.absolute(reader, 'value') : 0n;
  if (offset < assembly.current.sizeBytes) return reader.fail('the place is behind the end of the section', at);
  assembly.appendRepeated(offset - assembly.current.sizeBytes, littleEndian(value, 1));
};

const S_NOP = Uint8Array.of(0, 0, 0x80, 0xbf);

/**
 * Up to the next multiple of `alignment`, unless that takes more than `limit` bytes: with the value, or with
 * s_nop in code.
 */
function align(assembly: Assembly, alignment: number, value: Uint8Array | undefined, limit: number): void {
  const { current } = assembly;
  const padding = (alignment - (current.sizeBytes % alignment)) % alignment;
  current.alignmentBytes = Math.max(current.alignmentBytes, alignment);
  if (padding > limit) return;
  const isCode = current.isCode && value === undefined;
  if (isCode && padding % 4 !== 0) assembly.appendZeros(padding % 4);
  const element = isCode ? S_NOP : (value ?? Uint8Array.of(0));
  const rest = isCode ? padding - (padding % 4) : padding;
  if (rest % element.length !== 0) {
    throw new WavewrightError('BAD_INPUT', `${rest} bytes of padding are no multiple of ${element.length}`);
  }
  assembly.appendRepeated(rest / element.length, element);
}

/** `.p2align POWER, VALUE, LIMIT` or `.balign BYTES, VALUE, LIMIT`. */
const alignment =
  (isPower: boolean, sizeBytes: 1 | 2 | 4): Directive =>
  (assembly, reader) => {
    reader.skipBlanks();
    const at = reader.position;
    const amount = count(assembly, reader, 'alignment');
    if (isPower ? amount > 30 : amount > 2 ** 30 || (amount & (amount - 1)) !== 0) {
      reader.fail(`an alignment cannot be ${amount}`, at);
    }
    let value: Uint8Array | undefined;
    let limit = Number.POSITIVE_INFINITY;
    if (reader.accept(',')) {
      if (!reader.peek(',')) value = littleEndian(assembly.absolute(reader, 'value'), sizeBytes);
      if (reader.accept(',')) limit = count(assembly, reader, 'limit');
    }
    align(assembly, isPower ? 2 ** amount : Math.max(amount, 1), value, limit);
  };

const SYMBOL_TYPES: Readonly<Record<string, number>> = {
  notype: 0,
  object: 1,
  function: 2,
  STT_NOTYPE: 0,
  STT_OBJECT: 1,
  STT_FUNC: 2,
};

const symbolType: Directive = (assembly, reader) => {
  const symbol = assembly.symbols.get(symbolName(reader));
  reader.accept(',');
  if (!reader.accept('@')) reader.accept('%');
  const at = reader.position;
  const name = reader.word() ?? '';
  symbol.type = SYMBOL_TYPES[name] ?? reader.fail(`unknown symbol type '${name}'`, at);
};

const symbolSize: Directive = (assembly, reader) => {
  const symbol = assembly.symbols.get(symbolName(reader));
  reader.expect(',');
  symbol.size = assembly.localize(reader.expression());
};

/** A symbol that stands for a value; the last one counts where it is a number. */
export function setSymbol(assembly: Assembly, name: string, reader: TextReader): void {
  const symbol = assembly.symbols.get(name);
  if (symbol.definition && symbol.definition.kind !== 'equal') reader.fail(`symbol '${name}' is already defined`);
  const expression = assembly.localize(reader.expression());
  const known = assembly.symbols.isOpen(expression) ? undefined : assembly.symbols.evaluate(expression);
  const isNumber = known && !known.plus && !known.minus;
  const value: Expression = isNumber ? { kind: 'number', value: known.constant } : expression;
  symbol.definition = { kind: 'equal', expression: value };
}

const set: Directive = (assembly, reader) => {
  const name = symbolName(reader);
  reader.expect(',');
  setSymbol(assembly, name, reader);
};

/** The alignment is a power of two by its exponent. A local symbol gets its place in .bss at once. */
const common: Directive = (assembly, reader) => {
  const name = symbolName(reader);
  reader.expect(',');
  const size = count(assembly, reader, 'size');
  const power = reader.accept(',') ? count(assembly, reader, 'alignment') : 0;
  if (power > 30) reader.fail(`an alignment cannot be 2 to the power of ${power}`);
  const symbol = assembly.symbols.get(name);
  if (symbol.definition) reader.fail(`symbol '${name}' is already defined`);
  symbol.type = 1;
  symbol.size = { kind: 'number', value: BigInt(size) };
  if (symbol.binding !== 'local') {
    symbol.binding = 'global';
    symbol.definition = { kind: 'common', sizeBytes: BigInt(size), alignmentBytes: BigInt(2 ** power) };
    return;
  }
  const { current } = assembly;
  assembly.current = assembly.section('.bss');
  align(assembly, 2 ** power, undefined, Number.POSITIVE_INFINITY);
  assembly.defineLabel(name);
  assembly.appendZeros(size);
  assembly.current = current;
};

/** `.ident "tool"`: a string of the section .comment, which starts with an empty one. */
const identify: Directive = (assembly, reader) => {
  const text = reader.string() ?? reader.fail('expected a string');
  const { current } = assembly;
  assembly.current = assembly.section('.comment', SECTION_TYPES['progbits'], 0x30n, 1);
  if (assembly.current.sizeBytes === 0) assembly.appendZeros(1);
  assembly.append(stringBytes(text));
  assembly.appendZeros(1);
  assembly.current = current;
};

const leb128 =
  (isSigned: boolean): Directive =>
  (assembly, reader) => {
    do assembly.appendLeb128(assembly.localize(reader.expression()), isSigned);
    while (reader.accept(','));
  };

/** `.include "FILE"`: its lines come next. */
const include: Directive = (assembly, reader) => {
  const { name, bytes } = namedFile(assembly, reader);
  const source = new TextDecoder().decode(bytes);
  assembly.lines.count(source);
  const expansion = { what: 'this .include', at: assembly.line };
  assembly.lines.push(
    sourceLines(source, name).map((line) => ({ ...line, expansion })),
    false,
  );
};

/** `.incbin "FILE", SKIP, COUNT`: its bytes. */
const includeBytes: Directive = (assembly, reader) => {
  const { bytes } = namedFile(assembly, reader);
  const start = reader.accept(',') && !reader.peek(',') ? count(assembly, reader, 'offset') : 0;
  const size = reader.accept(',') ? count(assembly, reader, 'size') : bytes.length;
  assembly.append(bytes.subarray(start, start + size));
};

function namedFile(assembly: Assembly, reader: TextReader): { readonly name: string; readonly bytes: Uint8Array } {
  reader.skipBlanks();
  reader.failedAt = reader.position;
  const literal = reader.string() ?? reader.fail('expected the name of a file in quotes');
  const name = new TextDecoder().decode(stringBytes(literal));
  try {
    return { name, bytes: assembly.readFile(name) };
  } catch (error) {
    if (!(error instanceof WavewrightError)) throw error;
    throw new WavewrightError(error.code, `'${name}': ${error.what}`, { ...error.context, cause: error });
  }
}

/** `.error "TEXT"`. */
const error: Directive = (_, reader) => {
  const text = reader.string();
  throw new WavewrightError('BAD_INPUT', text ?? 'the source says .err');
};

const EMPTY = new Uint8Array(0);

export const DIRECTIVES: Readonly<Record<string, Directive>> = {
  ...SECTION_DIRECTIVES,
  ...MACRO_DIRECTIVES,
  ...CONDITIONAL_DIRECTIVES,
  ...DEBUG_DIRECTIVES,
  ...CFI_DIRECTIVES,
  '.byte': values(1),
  '.short': values(2),
  '.hword': values(2),
  '.2byte': values(2),
  '.long': values(4),
  '.int': values(4),
  '.4byte': values(4),
  '.quad': values(8),
  '.8byte': values(8),
  '.float': floats(32),
  '.single': floats(32),
  '.double': floats(64),
  '.ascii': strings(EMPTY),
  '.asciz': strings(Uint8Array.of(0)),
  '.string': strings(Uint8Array.of(0)),
  '.zero': skip,
  '.skip': skip,
  '.space': skip,
  '.fill': fill,
  '.org': origin,
  '.align': alignment(false, 1),
  '.balign': alignment(false, 1),
  '.balignw': alignment(false, 2),
  '.balignl': alignment(false, 4),
  '.p2align': alignment(true, 1),
  '.p2alignw': alignment(true, 2),
  '.p2alignl': alignment(true, 4),
  '.globl': binding('global'),
  '.global': binding('global'),
  '.local': binding('local'),
  '.weak': binding('weak'),
  '.internal': visibility(1),
  '.hidden': visibility(2),
  '.protected': visibility(3),
  '.type': symbolType,
  '.size': symbolSize,
  '.set': set,
  '.equ': set,
  '.comm': common,
  '.ident': identify,
  '.uleb128': leb128(false),
  '.sleb128': leb128(true),
  '.include': include,
  '.incbin': includeBytes,
  '.error': error,
  '.err': error,
  '.end': (assembly) => assembly.lines.end(),
  '.addrsig': (assembly) => {
    assembly.addressSignificant ??= [];
  },
  '.addrsig_sym': eachSymbol((assembly, name) => {
    assembly.addressSignificant ??= [];
    assembly.addressSignificant.push(name);
    assembly.symbols.get(name);
  }),
  // Says to the linker of Mach-O what it must keep.
  '.no_dead_strip': eachSymbol(() => {}),
};
