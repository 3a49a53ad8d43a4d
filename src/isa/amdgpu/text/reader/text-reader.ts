/** Reads the text of one statement of assembler source: words, punctuation, numbers, expressions. */
import { WavewrightError } from '../../../../base/errors.ts';
import {
  type BinaryOperator,
  type Expression,
  evaluateExpression,
  FUNCTIONS,
  type FunctionName,
  isBinaryOperator,
  isFunctionName,
  isUnaryOperator,
  PRECEDENCE,
  type Symbols,
} from './expression.ts';

const BLANKS = /[ \t]*/y;
const WORD = /[A-Za-z_.$][\w.$]*/y;
const NUMBER = /0[xX][\da-fA-F]+|0[bB][01]+|\d+/y;
const OPERATOR = /\|\||&&|==|!=|<>|<=|>=|<<|>>|[<>+\-|^&*/%]/y;
const STRING = /"((?:[^"\\]|\\.)*)"/y;
/** Parentheses and signs that an expression may nest. */
const DEPTH_LIMIT = 200;

const NO_SYMBOLS: Symbols = () => undefined;

export class TextReader {
  readonly text: string;
  position: number;
  /** Where the last error lies, as an index into `text`. */
  failedAt = 0;
  readonly symbols: Symbols;
  #depth = 0;

  constructor(text: string, position = 0, symbols = NO_SYMBOLS) {
    this.text = text;
    this.position = position;
    this.symbols = symbols;
  }

  /** Throws BAD_INPUT; `at` is where the wrong thing begins, the next token by default. */
  fail(what: string, at?: number): never {
    if (at === undefined) this.skipBlanks();
    this.failedAt = at ?? this.position;
    throw new WavewrightError('BAD_INPUT', what);
  }

  skipBlanks(): void {
    this.#match(BLANKS);
  }

  get atEnd(): boolean {
    this.skipBlanks();
    return this.position >= this.text.length;
  }

  /** Takes `symbol` if it is next. */
  accept(symbol: string): boolean {
    this.skipBlanks();
    if (!this.text.startsWith(symbol, this.position)) return false;
    this.position += symbol.length;
    return true;
  }

  expect(symbol: string): void {
    if (!this.accept(symbol)) this.fail(`expected '${symbol}'`);
  }

  /** Whether `symbol` is next, without taking it. */
  peek(symbol: string): boolean {
    this.skipBlanks();
    return this.text.startsWith(symbol, this.position);
  }

  /** Takes a name: letters, digits, `_`, `.` and `$`. */
  word(): string | undefined {
    this.skipBlanks();
    return this.#match(WORD)?.[0];
  }

  peekWord(): string | undefined {
    const start = this.position;
    const word = this.word();
    this.position = start;
    return word;
  }

  /** Takes `word` if it is the next word. */
  acceptWord(word: string): boolean {
    if (this.peekWord() !== word) return false;
    this.word();
    return true;
  }

  /** Takes what is between quotes, escapes as written. */
  string(): string | undefined {
    this.skipBlanks();
    return this.#match(STRING)?.[1];
  }

  /** An expression whose value is known here. */
  integer(): bigint {
    this.skipBlanks();
    const start = this.position;
    const value = evaluateExpression(this.expression(), this.symbols);
    return value ?? this.fail('expected an absolute expression', start);
  }

  /** An integer of `low` to `high`, both included; `what` names it in the error. */
  integerIn(low: number, high: number, what: string): number {
    this.skipBlanks();
    const start = this.position;
    const value = this.integer();
    if (value < low || value > high) this.fail(`${what} is ${value}, expected ${low} to ${high}`, start);
    return Number(value);
  }

  /** `[a,b,c]`: as many as there are, at most `limit`, each of 0 to `high`. */
  list(limit: number, high: number, what: string): number[] {
    this.expect('[');
    const values: number[] = [];
    do {
      if (values.length === limit) this.fail(`expected at most ${limit} values of ${what}`);
      values.push(this.integerIn(0, high, what));
    } while (this.accept(','));
    this.expect(']');
    return values;
  }

  expression(): Expression {
    return this.#binary(this.#operand(), 1);
  }

  #binary(first: Expression, lowest: number): Expression {
    let left = first;
    for (;;) {
      const operator = this.#peekOperator();
      if (operator === undefined || PRECEDENCE[operator] < lowest) return left;
      this.accept(operator);
      let right = this.#operand();
      const next = this.#peekOperator();
      if (next !== undefined && PRECEDENCE[next] > PRECEDENCE[operator]) {
        right = this.#binary(right, PRECEDENCE[operator] + 1);
      }
      left = { kind: 'binary', operator, left, right };
    }
  }

  #peekOperator(): BinaryOperator | undefined {
    this.skipBlanks();
    const start = this.position;
    const operator = this.#match(OPERATOR)?.[0];
    this.position = start;
    return operator !== undefined && isBinaryOperator(operator) ? operator : undefined;
  }

  #operand(): Expression {
    this.skipBlanks();
    if (++this.#depth > DEPTH_LIMIT) this.fail(`the expression nests deeper than ${DEPTH_LIMIT}`);
    try {
      return this.#primary();
    } finally {
      this.#depth--;
    }
  }

  #primary(): Expression {
    const character = this.text.charAt(this.position);
    if (character !== '' && isUnaryOperator(character)) {
      this.position++;
      return { kind: 'unary', operator: character, operand: this.#operand() };
    }
    if (this.accept('(')) {
      const inner = this.expression();
      this.expect(')');
      return inner;
    }
    const number = this.#number();
    if (number) return number;
    const name = this.word() ?? this.#quotedName();
    if (name === undefined) return this.fail('expected an expression');
    if (isFunctionName(name) && this.accept('(')) return this.#call(name);
    return { kind: 'symbol', name, variant: this.#variant() };
  }

  /** The arguments of a function, behind its parenthesis. */
  #call(name: FunctionName): Expression {
    const args: Expression[] = [];
    do args.push(this.expression());
    while (this.accept(','));
    const count = FUNCTIONS[name];
    if (count !== undefined && args.length !== count) this.fail(`expected ${count} arguments of '${name}'`);
    this.expect(')');
    return { kind: 'call', name, args };
  }

  #quotedName(): string | undefined {
    return this.string();
  }

  /** `@rel32@lo`. */
  #variant(): string | undefined {
    const match = this.#match(/@[\w@]+/y);
    return match?.[0].slice(1);
  }

  /** A number, or the label that `1b` and `1f` name. */
  #number(): Expression | undefined {
    const start = this.position;
    const text = this.#match(NUMBER)?.[0];
    if (text === undefined) return undefined;
    const direction = this.#match(/[bf](?![\w.$])/y)?.[0];
    if (direction !== undefined && /^\d+$/.test(text)) {
      return { kind: 'symbol', name: `${text}${direction}`, variant: undefined };
    }
    const next = this.text.charAt(this.position);
    if (/[\w$]/.test(next)) this.fail('expected a number', start);
    if (/^0\d/.test(text)) {
      if (!/^[0-7]+$/.test(text)) this.fail('expected an octal number', start);
      return { kind: 'number', value: BigInt(`0o${text}`) };
    }
    return { kind: 'number', value: BigInt(text.toLowerCase()) };
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.position;
    const match = pattern.exec(this.text) ?? undefined;
    if (match) this.position = pattern.lastIndex;
    return match;
  }
}
