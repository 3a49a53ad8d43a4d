/** Directives for sections, data and symbols, as LLVM's assembler for AMDGPU takes them. */
import { WavewrightError } from '../base/errors.ts';
import { floatBits } from '../isa/amdgpu/assembler/constant.ts';
import type { TextReader } from '../isa/amdgpu/assembler/text-reader.ts';
import type { Assembly } from './assembly.ts';
import { numberBytes, SECTION_FLAGS, SECTION_TYPES } from './section.ts';
import { stringBytes } from './source.ts';

export type Directive = (assembly: Assembly, reader: TextReader) => void;

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
      assembly.append(numberBytes(number, bits / 8));
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
  assembly.appendRepeated(size, numberBytes(value, 1));
};

/** Elements of up to 8 bytes, of which the value fills 4. */
const fill: Directive = (assembly, reader) => {
  const repeat = count(assembly, reader, 'repeat count');
  const size = reader.accept(',') ? Math.min(count(assembly, reader, 'size'), 8) : 1;
  const value = reader.accept(',') ? assembly.absolute(reader, 'value') : 0n;
  assembly.appendRepeated(repeat, numberBytes(BigInt.asUintN(32, value), size));
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
  assembly.appendRepeated(offset - assembly.current.sizeBytes, numberBytes(value, 1));
};

const S_NOP = Uint8Array.of(0, 0, 0x80, 0xbf);

/** Up to the next multiple of `alignment`, unless that takes more than `limit` bytes: with the value, or with s_nop in code. */
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
      if (!reader.peek(',')) value = numberBytes(assembly.absolute(reader, 'value'), sizeBytes);
      if (reader.accept(',')) limit = count(assembly, reader, 'limit');
    }
    align(assembly, isPower ? 2 ** amount : Math.max(amount, 1), value, limit);
  };

/** `.section NAME, "flags", @type, SIZE`. */
function sectionArguments(assembly: Assembly, reader: TextReader): ReturnType<Assembly['section']> {
  reader.skipBlanks();
  const name = reader.string() ?? /^[^\s,]+/.exec(reader.text.slice(reader.position))?.[0];
  if (name === undefined) return reader.fail('expected the name of a section');
  if (!reader.text.slice(0, reader.position).endsWith('"')) reader.position += name.length;
  if (!reader.accept(',')) return assembly.section(name);
  reader.skipBlanks();
  const at = reader.position;
  const letters = reader.string() ?? reader.fail('expected the flags of a section in quotes');
  let flags = 0n;
  for (const letter of letters) {
    const flag = SECTION_FLAGS[letter];
    if (flag === undefined) {
      reader.failedAt = at;
      throw new WavewrightError('UNSUPPORTED', `section flag '${letter}'`);
    }
    flags |= flag;
  }
  let type: number | undefined;
  let entrySize = 0;
  if (reader.accept(',')) {
    if (!reader.accept('@') && !reader.accept('%')) reader.fail("expected '@' and the type of a section");
    const typeName = reader.word() ?? '';
    type = SECTION_TYPES[typeName] ?? reader.fail(`unknown section type '${typeName}'`);
    if (reader.accept(',')) entrySize = count(assembly, reader, 'entry size');
  }
  return assembly.section(name, type ?? SECTION_TYPES['progbits'], flags, entrySize);
}

const named =
  (name: string): Directive =>
  (assembly) =>
    assembly.switchTo(assembly.section(name));

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
  const { constant, plus, minus } = assembly.symbols.evaluate(expression);
  const value = plus || minus ? expression : { kind: 'number' as const, value: constant };
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

/** A symbol that names the source, first in the symbol table. */
const file: Directive = (assembly, reader) => {
  const name = reader.string();
  if (name === undefined) {
    throw new WavewrightError('UNSUPPORTED', 'line tables: .file with a number', { hint: 'compile without -g' });
  }
  const symbol = assembly.symbols.get(name);
  symbol.type = 4;
  symbol.binding = 'local';
};

const EMPTY = new Uint8Array(0);

export const DIRECTIVES: Readonly<Record<string, Directive>> = {
  '.text': named('.text'),
  '.data': named('.data'),
  '.bss': named('.bss'),
  '.rodata': named('.rodata'),
  '.section': (assembly, reader) => assembly.switchTo(sectionArguments(assembly, reader)),
  '.pushsection': (assembly, reader) => {
    const section = sectionArguments(assembly, reader);
    assembly.stack.push(assembly.current);
    assembly.switchTo(section);
  },
  '.popsection': (assembly, reader) => {
    assembly.switchTo(assembly.stack.pop() ?? reader.fail('.popsection without .pushsection'));
  },
  '.previous': (assembly, reader) => {
    assembly.switchTo(assembly.previous ?? reader.fail('there is no previous section'));
  },
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
  '.file': file,
  '.addrsig': (assembly) => {
    assembly.addressSignificant ??= [];
  },
  '.addrsig_sym': eachSymbol((assembly, name) => {
    assembly.addressSignificant ??= [];
    assembly.addressSignificant.push(name);
    assembly.symbols.get(name).isUsed = true;
  }),
  // Says to the linker of Mach-O what it must keep.
  '.no_dead_strip': eachSymbol(() => {}),
};
