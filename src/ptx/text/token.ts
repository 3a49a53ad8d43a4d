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
/** With the characters that one may begin with. */
const WORDS = [
  ['float', /[0-9]/, /0[fF][0-9a-fA-F]{8}(?![0-9a-zA-Z_$])|0[dD][0-9a-fA-F]{16}(?![0-9a-zA-Z_$])/y],
  ['float', /[0-9]/, /[0-9]+\.[0-9]*(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+/y],
  ['integer', /[0-9]/, /0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|0[0-7]*U?|[1-9][0-9]*U?/y],
  ['word', /[a-zA-Z_$%]/, /[a-zA-Z][a-zA-Z0-9_$]*|[_$][a-zA-Z0-9_$]*|%[a-zA-Z0-9_$]+/y],
  ['dotted', /\./, /\.[a-zA-Z0-9_$]+(?:::[a-zA-Z0-9_]+)*/y],
  ['string', /"/, /"(?:[^"\\\n]|\\.)*"/y],
  ['punctuation', /[^a-zA-Z0-9_$."]/, /<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%!~&|^?:;,(){}[\]<>=@#]/y],
] as const;
/** By the first character, so that few are tried for each word of long texts. */
const WORDS_BY_START = Array.from({ length: 128 }, (_, code) =>
  WORDS.filter(([, start]) => start.test(String.fromCharCode(code))),
);
/** What no space and no comment begins with stands above it, but for this. */
const SPACE_CODE = 0x20;
const SLASH_CODE = 0x2f;

/** The words of a text, one after the other; an `end` follows the last one again and again. */
export class TokenStream {
  readonly source: PtxSource;
  #offset = 0;
  readonly #ahead: Token[] = [];

  constructor(source: PtxSource) {
    this.source = source;
  }

  /** Throws BAD_INPUT for what is no word. */
  peek(distance = 0): Token {
    while (this.#ahead.length <= distance) this.#ahead.push(this.#read());
    return this.#ahead[distance]!;
  }

  next(): Token {
    const token = this.peek();
    this.#ahead.shift();
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

  /** Throws BAD_INPUT at the next word, or at `offset`. */
  fail(what: string, offset = this.peek().offset): never {
    throw this.source.error(offset, what);
  }

  #behindSpace(): number {
    const { text } = this.source;
    const code = text.charCodeAt(this.#offset);
    if (code > SPACE_CODE && code !== SLASH_CODE) return this.#offset;
    SPACE.lastIndex = this.#offset;
    return this.#offset + SPACE.exec(text)![0].length;
  }

  #read(): Token {
    const { text } = this.source;
    const offset = this.#behindSpace();
    this.#offset = offset;
    if (offset >= text.length) return { kind: 'end', text: '', offset: text.length };
    if (text.startsWith('/*', offset)) throw this.source.error(offset, 'a comment without an end');
    for (const [kind, , pattern] of WORDS_BY_START[text.charCodeAt(offset)] ?? []) {
      pattern.lastIndex = offset;
      const match = pattern.exec(text);
      if (!match) continue;
      this.#offset = offset + match[0].length;
      return { kind, text: match[0], offset };
    }
    const character = JSON.stringify(String.fromCodePoint(text.codePointAt(offset)!));
    throw this.source.error(offset, `unexpected character ${character}`);
  }
}

/** A word for errors. */
export const describeToken = ({ kind, text }: Token): string => (kind === 'end' ? 'the end' : `'${text}'`);
