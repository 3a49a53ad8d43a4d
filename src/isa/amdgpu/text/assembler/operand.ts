/** Operands of an instruction as they stand in the text, before it is known which encoding takes them. */

import { FIRST_TTMP, type ScalarFile, scalarByName } from '../../encoding/registers.ts';
import type { Target } from '../../encoding/targets.ts';
import type { ImmediateSpelling } from '../immediate-text.ts';
import { type Expression, evaluateExpression } from '../reader/expression.ts';
import type { TextReader } from '../reader/text-reader.ts';

export type OperandValue =
  | {
      readonly kind: 'vector';
      readonly accumulator: boolean;
      readonly first: number;
      readonly count: number;
      readonly high: boolean | undefined;
    }
  /** `encoding` is that of the target; a special value (src_scc) counts for any number of registers. */
  | { readonly kind: 'scalar'; readonly encoding: number; readonly count: number | undefined }
  | { readonly kind: 'off' }
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number }
  /** Depends on symbols that are not known yet. */
  | { readonly kind: 'expression'; readonly expression: Expression }
  /** An immediate that the instruction spells its own way. */
  | { readonly kind: 'spelled'; readonly value: number };

export interface ParsedOperand {
  readonly value: OperandValue;
  readonly abs: boolean;
  readonly neg: boolean;
  readonly sext: boolean;
  /** Index of its first character. */
  readonly at: number;
}

const FLOAT =
  /(?:\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0[xX][\da-fA-F]*\.?[\da-fA-F]*[pP][+-]?\d+)(?![\w.])/y;

/** Hexadecimal floats: the digits, then a power of 2. */
function parseFloatText(text: string): number {
  const hexadecimal = /^0x([\da-f]*)\.?([\da-f]*)p([+-]?\d+)$/i.exec(text);
  if (!hexadecimal) return Number(text);
  const [, whole, fraction, exponent] = hexadecimal;
  return Number(`0x0${whole}${fraction}`) * 2 ** (Number(exponent) - 4 * fraction!.length);
}

const REGISTER_NAME = /^(v|a|s|ttmp)(\d{1,4})(\.[lh])?$/;
const FILE_NAME = /^(v|a|s|ttmp)$/;
const LIMITS: Readonly<Record<string, (scalars: ScalarFile) => number>> = {
  v: () => 256,
  a: () => 256,
  s: ({ sgprCount }) => sgprCount,
  ttmp: () => 16,
};

function registers(
  reader: TextReader,
  target: Target,
  at: number,
  [file, first, count]: readonly [file: string, first: number, count: number],
  half?: string,
): OperandValue {
  if (count < 1 || first + count > LIMITS[file]!(target.scalars)) reader.fail('register index is out of range', at);
  if (file === 'v' || file === 'a') {
    const accumulator = file === 'a';
    if (accumulator && !target.hasAccumulators) reader.fail(`${target.processor} has no accumulator registers`, at);
    return { kind: 'vector', accumulator, first, count, high: half === undefined ? undefined : half === '.h' };
  }
  const alignment = count === 1 ? 1 : count === 2 ? 2 : 4;
  if (first % alignment !== 0) reader.fail('invalid register alignment', at);
  return { kind: 'scalar', encoding: first + (file === 'ttmp' ? FIRST_TTMP : 0), count };
}

/** `[4:7]` or `[4]` behind the name of a register file. */
function range(reader: TextReader, target: Target, at: number, file: string): OperandValue {
  reader.expect('[');
  const first = reader.integerIn(0, 255, 'register index');
  const last = reader.accept(':') ? reader.integerIn(0, 255, 'register index') : first;
  reader.expect(']');
  return registers(reader, target, at, [file, first, last - first + 1]);
}

/**
 * The next word where it may name a register, not taken: before a relocation (`s1@rel32@lo`) it is a symbol
 * of that name.
 */
function registerWord(reader: TextReader): string | undefined {
  const start = reader.position;
  const word = reader.word();
  const isSymbol = reader.text.charAt(reader.position) === '@';
  reader.position = start;
  return isSymbol ? undefined : word;
}

/** A register by its name; undefined, with nothing read, when there is none. */
function parseRegister(reader: TextReader, target: Target): OperandValue | undefined {
  reader.skipBlanks();
  const at = reader.position;
  if (reader.peek('[')) return registerList(reader, target);
  const word = registerWord(reader);
  if (word === undefined) return undefined;
  reader.word();
  if (FILE_NAME.test(word) && reader.peek('[')) return range(reader, target, at, word);
  const numbered = REGISTER_NAME.exec(word);
  if (numbered) {
    const [, file, index, half] = numbered;
    return registers(reader, target, at, [file!, Number(index), 1], half);
  }
  if (word === 'off') return { kind: 'off' };
  if (word === 'm0') return { kind: 'scalar', encoding: target.scalars.m0, count: 1 };
  if (word === 'null' && target.scalars.null !== undefined) {
    return { kind: 'scalar', encoding: target.scalars.null, count: undefined };
  }
  const special = scalarByName(word);
  if (special) return { kind: 'scalar', ...special };
  reader.position = at;
  return undefined;
}

/** `[s4,s5]`: registers that follow each other. */
function registerList(reader: TextReader, target: Target): OperandValue {
  const at = reader.position;
  reader.expect('[');
  const list: { file: string; index: number }[] = [];
  do {
    reader.skipBlanks();
    const element = /^(v|a|s|ttmp)(\d{1,4})$/.exec(reader.word() ?? '');
    if (!element) return reader.fail('expected a register', at);
    const [, file, index] = element;
    const first = list[0] ?? { file, index: Number(index) };
    if (file !== first.file || Number(index) !== first.index + list.length) {
      reader.fail('registers in a list must have consecutive indices', at);
    }
    list.push({ file: file!, index: Number(index) });
  } while (reader.accept(','));
  reader.expect(']');
  return registers(reader, target, at, [list[0]!.file, list[0]!.index, list.length]);
}

/** A floating-point number with its sign; undefined, with nothing read, when there is none. */
function parseFloatOperand(reader: TextReader): OperandValue | undefined {
  const start = reader.position;
  const negative = reader.accept('-');
  reader.skipBlanks();
  FLOAT.lastIndex = reader.position;
  const text = FLOAT.exec(reader.text)?.[0];
  if (text === undefined) {
    reader.position = start;
    return undefined;
  }
  reader.position += text.length;
  const value = parseFloatText(text);
  return { kind: 'float', value: negative ? -value : value };
}

function parseNumber(reader: TextReader): OperandValue {
  const float = parseFloatOperand(reader);
  if (float) return float;
  const expression = reader.expression();
  const value = evaluateExpression(expression, reader.symbols);
  return value === undefined ? { kind: 'expression', expression } : { kind: 'integer', value };
}

/** What stands between bars must not contain any. */
function parseBetweenBars(reader: TextReader, target: Target): OperandValue {
  const register = parseRegister(reader, target);
  const value = register ?? parseFloatOperand(reader) ?? parseBarredInteger(reader);
  reader.expect('|');
  return value;
}

function parseBarredInteger(reader: TextReader): OperandValue {
  reader.skipBlanks();
  const match = /[+-]?\w+/y;
  match.lastIndex = reader.position;
  const text = match.exec(reader.text)?.[0];
  if (text === undefined || !/^[+-]?(0x[\da-f]+|\d+)$/i.test(text))
    return reader.fail('expected a register or a number');
  reader.position += text.length;
  const magnitude = BigInt(text.replace(/^[+-]/, ''));
  return { kind: 'integer', value: text.startsWith('-') ? -magnitude : magnitude };
}

/** Whether a minus sign in front of the reader negates a register or a magnitude, and not a number. */
function negatesSource(reader: TextReader, target: Target): boolean {
  const start = reader.position;
  reader.accept('-');
  const isSource =
    reader.peek('|') || /^(abs|neg|sext)$/.test(reader.peekWord() ?? '') || isRegisterNext(reader, target);
  reader.position = start;
  return isSource;
}

function isRegisterNext(reader: TextReader, target: Target): boolean {
  const word = registerWord(reader);
  if (word === undefined) return false;
  if (REGISTER_NAME.test(word) || scalarByName(word) || word === 'm0') return true;
  const start = reader.position;
  reader.word();
  const isRange = FILE_NAME.test(word) && reader.peek('[');
  reader.position = start;
  return isRange || (word === 'null' && target.scalars.null !== undefined);
}

function acceptCall(reader: TextReader, name: string): boolean {
  const start = reader.position;
  if (reader.acceptWord(name) && reader.accept('(')) return true;
  reader.position = start;
  return false;
}

/** `-v1`, `|v1|`, `neg(abs(v1))`, `sext(v1)`, a number, a register. */
export function parseOperand(reader: TextReader, target: Target, spelling?: ImmediateSpelling): ParsedOperand {
  reader.skipBlanks();
  const at = reader.position;
  const spelled = spelling?.parse(reader, target);
  if (spelled !== undefined) {
    return { value: { kind: 'spelled', value: spelled }, abs: false, neg: false, sext: false, at };
  }
  const sext = acceptCall(reader, 'sext');
  const minus = reader.peek('-') && negatesSource(reader, target) && reader.accept('-');
  const neg = acceptCall(reader, 'neg');
  const abs = acceptCall(reader, 'abs');
  const bars = !abs && reader.accept('|');
  const literal = acceptCall(reader, 'lit');
  const value = bars ? parseBetweenBars(reader, target) : (parseRegister(reader, target) ?? parseNumber(reader));
  for (const open of [literal, abs, neg, sext]) if (open) reader.expect(')');
  return { value, abs: abs || bars, neg: minus || neg, sext, at };
}
