/**
 * Constant expressions: the operators of C on numbers of 64 bits, which are signed unless they are too large
 * or end in U (PTX ISA 4.5 "Constants", 4.5.5 table of types). A float is no part of an expression.
 */
import { LIMITS } from '../../base/limits.ts';
import type { Constant } from './syntax.ts';
import { describeToken, type TokenStream } from './token.ts';

type Integer = Extract<Constant, { kind: 'integer' }>;

const SIGN_BIT = 1n << 63n;
const U64 = (1n << 64n) - 1n;
const WARP_SIZE = 32n;
/** Decimal numbers of so many digits are exact as numbers of the host. */
const PLAIN_DIGITS = 15;

const integer = (value: bigint, isUnsigned: boolean): Integer => ({
  kind: 'integer',
  value: isUnsigned ? BigInt.asUintN(64, value) : BigInt.asIntN(64, value),
  isUnsigned,
});
/** Comparisons give signed numbers. */
const truth = (condition: boolean): Integer => integer(condition ? 1n : 0n, false);

const scratch = new DataView(new ArrayBuffer(8));

/** Of a decimal literal: double precision. */
function doubleBits(value: number): bigint {
  scratch.setFloat64(0, value);
  return scratch.getBigUint64(0);
}

/** The pattern of a float in another width, rounded to nearest. */
export function convertedBits(bits: bigint, from: 32 | 64, to: 32 | 64): bigint {
  if (from === to) return bits;
  if (from === 32) {
    scratch.setUint32(0, Number(bits));
    return doubleBits(scratch.getFloat32(0));
  }
  scratch.setBigUint64(0, bits);
  scratch.setFloat32(0, scratch.getFloat64(0));
  return BigInt(scratch.getUint32(0));
}

/** A float literal's pattern. */
export function floatLiteral(text: string): Constant {
  if (/^0[fF]/.test(text)) return { kind: 'float', bits: BigInt(`0x${text.slice(2)}`), sizeBits: 32 };
  if (/^0[dD]/.test(text)) return { kind: 'float', bits: BigInt(`0x${text.slice(2)}`), sizeBits: 64 };
  return { kind: 'float', bits: doubleBits(Number(text)), sizeBits: 64 };
}

/** Larger numbers than 64 bits hold are refused. */
function integerLiteral(tokens: TokenStream): Integer {
  const { text, offset } = tokens.next();
  if (text === '0' || (text.length <= PLAIN_DIGITS && !text.startsWith('0') && !text.endsWith('U')))
    return { kind: 'integer', value: BigInt(Number(text)), isUnsigned: false };
  const digits = text.replace(/U$/, '').replace(/^0(?=[0-7])/, '0o');
  const value = BigInt(digits);
  if (value > U64) tokens.fail(`${text} has more than 64 bits`, offset);
  return integer(value, text.endsWith('U') || value >= SIGN_BIT);
}

type Binary = (a: Integer, b: Integer, isUnsigned: boolean) => Integer | undefined;

const arithmetic =
  (compute: (a: bigint, b: bigint) => bigint): Binary =>
  (a, b, isUnsigned) =>
    integer(compute(a.value, b.value), isUnsigned);
const dividing =
  (compute: (a: bigint, b: bigint) => bigint): Binary =>
  (a, b, isUnsigned) =>
    b.value === 0n ? undefined : integer(compute(a.value, b.value), isUnsigned);
const comparing =
  (compute: (a: bigint, b: bigint) => boolean): Binary =>
  (a, b) =>
    truth(compute(a.value, b.value));
/** The type is that of the first operand. */
const shifting =
  (compute: (a: bigint, amount: bigint) => bigint): Binary =>
  (a, b) =>
    integer(compute(a.value, BigInt.asUintN(64, b.value) & 63n), a.isUnsigned);

/** By precedence, the strongest first. */
const LEVELS: readonly Readonly<Record<string, Binary>>[] = [
  { '*': arithmetic((a, b) => a * b), '/': dividing((a, b) => a / b), '%': dividing((a, b) => a % b) },
  { '+': arithmetic((a, b) => a + b), '-': arithmetic((a, b) => a - b) },
  { '<<': shifting((a, n) => a << n), '>>': shifting((a, n) => a >> n) },
  {
    '<': comparing((a, b) => a < b),
    '>': comparing((a, b) => a > b),
    '<=': comparing((a, b) => a <= b),
    '>=': comparing((a, b) => a >= b),
  },
  { '==': comparing((a, b) => a === b), '!=': comparing((a, b) => a !== b) },
  { '&': arithmetic((a, b) => a & b) },
  { '^': arithmetic((a, b) => a ^ b) },
  { '|': arithmetic((a, b) => a | b) },
  { '&&': comparing((a, b) => a !== 0n && b !== 0n) },
  { '||': comparing((a, b) => a !== 0n || b !== 0n) },
];

/** Words that no expression goes on with. */
const ENDS: ReadonlySet<string> = new Set([',', ';', ']', '}', ')']);

/** Throws BAD_INPUT for what is no expression, LIMIT_EXCEEDED for one that is nested too deeply. */
export function integerExpression(tokens: TokenStream, depth = 0): Integer {
  if (depth > LIMITS.ptxDepth) {
    const what = `an expression of more levels than the limit ptxDepth = ${LIMITS.ptxDepth}`;
    throw tokens.source.error(tokens.peek().offset, what, 'LIMIT_EXCEEDED');
  }
  // Most are a number alone.
  if (tokens.peek().kind === 'integer' && ENDS.has(tokens.peekSecond().text)) return integerLiteral(tokens);
  const condition = level(tokens, LEVELS.length - 1, depth);
  if (!tokens.take('?')) return condition;
  const chosen = integerExpression(tokens, depth + 1);
  tokens.expect(':', 'in a condition');
  const other = integerExpression(tokens, depth + 1);
  const isUnsigned = chosen.isUnsigned || other.isUnsigned;
  return integer(condition.value === 0n ? other.value : chosen.value, isUnsigned);
}

function level(tokens: TokenStream, index: number, depth: number): Integer {
  if (index < 0) return unary(tokens, depth);
  const operators = LEVELS[index]!;
  let left = level(tokens, index - 1, depth);
  for (;;) {
    const { text, kind, offset } = tokens.peek();
    const compute = kind === 'punctuation' && Object.hasOwn(operators, text) ? operators[text] : undefined;
    if (!compute) return left;
    tokens.next();
    const right = level(tokens, index - 1, depth);
    const isUnsigned = left.isUnsigned || right.isUnsigned;
    const as = (value: Integer): Integer => integer(value.value, isUnsigned);
    const isShift = text === '<<' || text === '>>';
    const result = isShift ? compute(left, right, isUnsigned) : compute(as(left), as(right), isUnsigned);
    left = result ?? tokens.fail('a division by zero', offset);
  }
}

function unary(tokens: TokenStream, depth: number): Integer {
  const { kind, text } = tokens.peek();
  if (kind === 'integer') return integerLiteral(tokens);
  if (tokens.take('WARP_SZ')) return integer(WARP_SIZE, false);
  const operator = ['-', '+', '~', '!'].find((each) => each === text);
  if (operator !== undefined && kind === 'punctuation') {
    tokens.next();
    if (depth > LIMITS.ptxDepth) tokens.fail('too many signs');
    const operand = unary(tokens, depth + 1);
    if (operator === '!') return truth(operand.value === 0n);
    const value = operator === '-' ? -operand.value : operator === '~' ? ~operand.value : operand.value;
    return integer(value, operand.isUnsigned);
  }
  if (text === '(' && kind === 'punctuation') return parenthesized(tokens, depth);
  return tokens.fail(`expected a number, found ${describeToken(tokens.peek())}`);
}

/** A number alone, as between `<` and `>`. */
export const integerTerm = (tokens: TokenStream): Integer => unary(tokens, 0);

/** `(expression)`, or a cast: `(.s64) 5`. */
function parenthesized(tokens: TokenStream, depth: number): Integer {
  tokens.next();
  const cast = tokens.peek();
  if (cast.kind === 'dotted') {
    tokens.next();
    if (cast.text !== '.s64' && cast.text !== '.u64') tokens.fail(`a cast to ${cast.text}`, cast.offset);
    tokens.expect(')', 'behind a cast');
    if (depth > LIMITS.ptxDepth) tokens.fail('too many casts');
    return integer(unary(tokens, depth + 1).value, cast.text === '.u64');
  }
  const value = integerExpression(tokens, depth + 1);
  tokens.expect(')', 'behind an expression');
  return value;
}

/** A float, perhaps with a sign, or an integer expression. */
export function constantAt(tokens: TokenStream): Constant {
  const hasSign = tokens.peek().text === '-';
  const { kind } = hasSign ? tokens.peekSecond() : tokens.peek();
  if (kind !== 'float') return integerExpression(tokens);
  if (hasSign) tokens.next();
  const literal = floatLiteral(tokens.next().text);
  if (!hasSign || literal.kind !== 'float') return literal;
  return { ...literal, bits: literal.bits ^ (1n << BigInt(literal.sizeBits - 1)) };
}
