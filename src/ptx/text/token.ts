/** The words of PTX: PTX ISA chapter 4, "Syntax". Comments and white space are none. */
import type { PtxSource } from './source.ts';

/**
 * `word`: an identifier, which may hold `$`, `_` and `%`; `dotted`: a directive or a modifier with its dot,
 * and with `::` inside (`.shared::cta`); `integer`: 64 bits, `float`: an exact pattern of 32 or 64 bits;
 * `punctuation`: one or two characters; `end`: behind the last one.
 */
export type TokenKind = 'word' | 'dotted' | 'integer' | 'float' | 'string' | 'punctuation' | 'end';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  /** Of its first character. */
  readonly offset: number;
}

const SPACE = /(?:[ \t\r\n\f\v\0]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
/** Words of texts are read without patterns, but for numbers that are more than digits, and strings. */
const NUMBERS = [
  ['float', /0[fF][0-9a-fA-F]{8}(?![0-9a-zA-Z_$])|0[dD][0-9a-fA-F]{16}(?![0-9a-zA-Z_$])/y],
  ['float', /[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+/y],
  ['integer', /0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|0[0-7]*U?|[1-9][0-9]*U?/y],
] as const;
const STRING = /"(?:[^"\\\n]|\\.)*"/y;
const PAIRS: ReadonlySet<string> = new Set(['<<', '>>', '<=', '>=', '==', '!=', '&&', '||']);

/** What a character may be a part of, as bits. */
const DIGIT = 1;
const OF_NAME = 2;
const PUNCTUATION = 4;
const kindOf = (code: number): number => {
  const character = String.fromCharCode(code);
  if (/[0-9]/.test(character)) return DIGIT | OF_NAME;
  if (/[a-zA-Z_$]/.test(character)) return OF_NAME;
  return '-+*/%!~&|^?:;,(){}[]<>=@#'.includes(character) ? PUNCTUATION : 0;
};
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => kindOf(code));
const kindAt = (text: string, offset: number): number => {
  const code = text.charCodeAt(offset);
  return code < KINDS.length ? KINDS[code]! : 0;
};

/** What no space and no comment begins with stands above it, but for this. */
const SPACE_CODE = 0x20;
const TAB_CODE = 0x09;
const LINE_CODE = 0x0a;
const SLASH_CODE = 0x2f;
const DOT_CODE = 0x2e;
const PERCENT_CODE = 0x25;
const QUOTE_CODE = 0x22;
const COLON_CODE = 0x3a;
const DOLLAR_CODE = 0x24;
const ZERO_CODE = 0x30;

/** The words of a text, one after the other; an `end` follows the last one again and again. */
export class TokenStream {
  readonly source: PtxSource;
  readonly #text: string;
  /** Behind the words that are read. */
  #offset = 0;
  /** The next words, where they are read. */
  #first: Token | undefined;
  #second: Token | undefined;
  /** Names stand again and again: those that are one string are soon found to be the same. */
  readonly #names = new Map<string, string>();

  constructor(source: PtxSource) {
    this.source = source;
    this.#text = source.text;
  }

  /** Throws BAD_INPUT for what is no word. */
  peek(): Token {
    this.#first ??= this.#read();
    return this.#first;
  }

  /** The word behind the next one. */
  peekSecond(): Token {
    this.peek();
    this.#second ??= this.#read();
    return this.#second;
  }

  next(): Token {
    const token = this.#first ?? this.#read();
    this.#first = this.#second;
    this.#second = undefined;
    return token;
  }

  /** The next word if it is this one. */
  take(text: string): Token | undefined {
    const token = this.peek();
    return token.text === text && token.kind !== 'string' && token.kind !== 'end' ? this.next() : undefined;
  }

  expect(text: string, where: string): Token {
    return this.take(text) ?? this.fail(`expected '${text}' ${where}, found ${describeToken(this.peek())}`);
  }

  /** The next word, which must be of this kind. */
  expectKind(kind: TokenKind, what: string): Token {
    return this.peek().kind === kind ? this.next() : this.fail(`expected ${what}, found ${describeToken(this.peek())}`);
  }

  /** Whether the next word is a name, and a colon follows. */
  isLabel(): boolean {
    if (this.peek().kind !== 'word') return false;
    if (!this.#second && this.#text.charCodeAt(this.#offset) === DOT_CODE) return false;
    return this.peekSecond().text === ':';
  }

  /** The next word, with all that follows with a dot: `ld.global.u32`. */
  opcode(): string {
    const { text: word, offset } = this.expectKind('word', 'an instruction');
    let text = word;
    if (!this.#first) {
      this.#offset = this.#behindDotted();
      text = this.#name(offset, this.#offset);
    }
    if (this.peek().kind !== 'dotted') return text;
    while (this.peek().kind === 'dotted') text += this.next().text;
    return text;
  }

  /** Throws BAD_INPUT at the next word, or at `offset`. */
  fail(what: string, offset = this.peek().offset): never {
    throw this.source.error(offset, what);
  }

  #behindSpace(): number {
    const text = this.#text;
    let at = this.#offset;
    let code = text.charCodeAt(at);
    while (code === SPACE_CODE || code === TAB_CODE || code === LINE_CODE) code = text.charCodeAt(++at);
    if (code > SPACE_CODE && code !== SLASH_CODE) return at;
    SPACE.lastIndex = at;
    return at + SPACE.exec(text)![0].length;
  }

  /** Where a name ends, of which the characters from `at` on may be a part. */
  #behindName(at: number): number {
    let end = at;
    while (kindAt(this.#text, end) & OF_NAME) end++;
    return end;
  }

  /** Where the words end that follow with a dot, each of them directly. */
  #behindDotted(): number {
    let at = this.#offset;
    while (this.#text.charCodeAt(at) === DOT_CODE) {
      const end = this.#behindOneDotted(at);
      if (end === at) break;
      at = end;
    }
    return at;
  }

  /** `at` where there is none. */
  #behindOneDotted(at: number): number {
    let end = this.#behindName(at + 1);
    if (end === at + 1) return at;
    while (this.#text.charCodeAt(end) === COLON_CODE && this.#text.charCodeAt(end + 1) === COLON_CODE) {
      let next = end + 2;
      while (kindAt(this.#text, next) & OF_NAME && this.#text.charCodeAt(next) !== DOLLAR_CODE) next++;
      if (next === end + 2) break;
      end = next;
    }
    return end;
  }

  #name(start: number, end: number): string {
    const text = this.#text.slice(start, end);
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    this.#names.set(text, text);
    return text;
  }

  #token(kind: TokenKind, offset: number, end: number): Token {
    this.#offset = end;
    return { kind, text: this.#text.slice(offset, end), offset };
  }

  #read(): Token {
    const text = this.#text;
    const offset = this.#behindSpace();
    const code = text.charCodeAt(offset);
    const kind = kindAt(text, offset);
    if (kind & DIGIT) return this.#number(offset);
    if (kind & OF_NAME) return this.#token('word', offset, this.#behindName(offset + 1));
    if (code === PERCENT_CODE && kindAt(text, offset + 1) & OF_NAME)
      return this.#token('word', offset, this.#behindName(offset + 1));
    if (code === SLASH_CODE && text.startsWith('/*', offset))
      throw this.source.error(offset, 'a comment without an end');
    if (kind & PUNCTUATION) {
      const isPair = (kindAt(text, offset + 1) & PUNCTUATION) !== 0 && PAIRS.has(text.slice(offset, offset + 2));
      return this.#token('punctuation', offset, offset + (isPair ? 2 : 1));
    }
    const end = code === DOT_CODE ? this.#behindOneDotted(offset) : offset;
    if (end > offset) return this.#token('dotted', offset, end);
    if (code === QUOTE_CODE) {
      STRING.lastIndex = offset;
      const match = STRING.exec(text);
      if (match) return this.#token('string', offset, offset + match[0].length);
    }
    this.#offset = offset;
    if (offset >= text.length) return { kind: 'end', text: '', offset: text.length };
    const character = JSON.stringify(String.fromCodePoint(text.codePointAt(offset)!));
    throw this.source.error(offset, `unexpected character ${character}`);
  }

  #number(offset: number): Token {
    const text = this.#text;
    let end = offset + 1;
    while (kindAt(text, end) & DIGIT) end++;
    const isPlain = !(kindAt(text, end) & OF_NAME) && text.charCodeAt(end) !== DOT_CODE;
    if (isPlain && (text.charCodeAt(offset) !== ZERO_CODE || end === offset + 1))
      return this.#token('integer', offset, end);
    for (const [kind, pattern] of NUMBERS) {
      pattern.lastIndex = offset;
      const match = pattern.exec(text);
      if (match) return this.#token(kind, offset, offset + match[0].length);
    }
    return this.#token('integer', offset, end);
  }
}

/** A word for errors. */
export const describeToken = ({ kind, text }: Token): string => (kind === 'end' ? 'the end' : `'${text}'`);
