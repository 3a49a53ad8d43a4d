/** Operands of instructions. PTX ISA chapter 6, "Instruction Operands". */
import { constantAt, integerExpression } from './constant.ts';
import type { AddressOperand, ConstantOperand, NameOperand, PtxOperand, VectorOperand } from './syntax.ts';
import { describeToken, type TokenStream } from './token.ts';

/** `[name + 4]`: names may be registers or variables, and the number may be negative. */
function address(tokens: TokenStream): AddressOperand {
  const { offset } = tokens.next();
  let base: string | undefined;
  if (tokens.peek().kind === 'word' && tokens.peek().text !== 'WARP_SZ') base = tokens.next().text;
  let addend = 0n;
  if (base === undefined) addend = integerExpression(tokens).value;
  else if (tokens.peek().text === '+' || tokens.peek().text === '-') {
    const isNegative = tokens.next().text === '-';
    const { value } = integerExpression(tokens);
    addend = isNegative ? -value : value;
  }
  const coordinates: AddressOperand['coordinates'][number][] = [];
  while (tokens.take(',')) coordinates.push(tokens.peek().text === '{' ? vector(tokens) : element(tokens));
  tokens.expect(']', 'behind an address');
  return { kind: 'address', base, addend: BigInt.asIntN(64, addend), coordinates, offset };
}

/** A register, a variable with a number that is added, a label, a special register, `d|p`, `!p`. */
function name(tokens: TokenStream): NameOperand {
  const { offset } = tokens.peek();
  const isNegated = tokens.take('!') !== undefined;
  const { text } = tokens.expectKind('word', 'an operand');
  const component = tokens.peek().kind === 'dotted' ? tokens.next().text : undefined;
  let addend = 0n;
  if (tokens.peek().text === '+' || tokens.peek().text === '-') {
    const sign = tokens.next().text;
    const { value } = integerExpression(tokens);
    addend = BigInt.asIntN(64, sign === '-' ? -value : value);
  }
  const pair = tokens.take('|') ? tokens.expectKind('word', 'a second destination').text : undefined;
  return { kind: 'name', name: text, component, addend, isNegated, pair, offset };
}

function constant(tokens: TokenStream): ConstantOperand {
  const { offset } = tokens.peek();
  return { kind: 'constant', constant: constantAt(tokens), offset };
}

/** Whether a name begins here: `!5` is a number, `!%p1` a predicate. */
function isName(tokens: TokenStream): boolean {
  const { kind, text } = tokens.peek();
  if (kind === 'word') return text !== 'WARP_SZ';
  return (
    kind === 'punctuation' &&
    text === '!' &&
    tokens.peekSecond().kind === 'word' &&
    tokens.peekSecond().text !== 'WARP_SZ'
  );
}

const element = (tokens: TokenStream): NameOperand | ConstantOperand =>
  isName(tokens) ? name(tokens) : constant(tokens);

function elements(tokens: TokenStream, end: string): (NameOperand | ConstantOperand)[] {
  tokens.next();
  const found: (NameOperand | ConstantOperand)[] = [];
  if (tokens.take(end)) return found;
  do found.push(element(tokens));
  while (tokens.take(','));
  tokens.expect(end, 'behind a list');
  return found;
}

function vector(tokens: TokenStream): VectorOperand {
  const { offset } = tokens.peek();
  return { kind: 'vector', elements: elements(tokens, '}'), offset };
}

/** Whether a parenthesis opens a list, as in a call, and no expression. */
function opensList(tokens: TokenStream): boolean {
  const { kind, text } = tokens.peekSecond();
  return kind === 'word' ? text !== 'WARP_SZ' : text === ')';
}

/** Throws BAD_INPUT. `isCall`: parentheses are lists. */
export function operandAt(tokens: TokenStream, isCall: boolean): PtxOperand {
  const { kind, text, offset } = tokens.peek();
  if (kind === 'end') tokens.fail(`expected an operand, found ${describeToken(tokens.peek())}`);
  if (kind === 'punctuation') {
    if (text === '[') return address(tokens);
    if (text === '{') return vector(tokens);
    if (text === '(' && (isCall || opensList(tokens))) return { kind: 'list', elements: elements(tokens, ')'), offset };
  }
  return element(tokens);
}

/** Operands up to `;`. */
export function operandsAt(tokens: TokenStream, isCall: boolean): PtxOperand[] {
  const found: PtxOperand[] = [];
  if (tokens.take(';')) return found;
  do found.push(operandAt(tokens, isCall));
  while (tokens.take(','));
  tokens.expect(';', 'behind an instruction');
  return found;
}
