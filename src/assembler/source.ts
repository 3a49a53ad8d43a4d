/** Assembler source as lines without comments, at their places. */
import { WavewrightError } from '../base/errors.ts';

export interface AssemblyLine {
  /** What errors call the file. */
  readonly file: string;
  /** From 1. */
  readonly number: number;
  /** As written, with the arguments of the macro in place of its parameters. */
  readonly text: string;
  /** With blanks in place of comments: columns stay. */
  readonly code: string;
  /** What the line was made of, and where that was asked for. */
  readonly expansion?: { readonly what: string; readonly at: AssemblyLine };
}

export interface MacroParameter {
  readonly name: string;
  readonly fallback: string;
  /** `req`: it must be given; `vararg`: it takes the rest. */
  readonly qualifier: string | undefined;
}

/** Lines that stand for others, with names in place of texts. */
export interface Macro {
  readonly name: string;
  readonly parameters: readonly MacroParameter[];
  readonly body: readonly AssemblyLine[];
}

/** `;`, `//` and block comments; strings are left alone. A block comment may span lines. */
export function sourceLines(source: string, file: string): AssemblyLine[] {
  let inBlock = false;
  return source.split(/\r?\n/).map((text, index) => {
    let code = '';
    let at = 0;
    while (at < text.length) {
      if (inBlock) {
        const end = text.indexOf('*/', at);
        const next = end < 0 ? text.length : end + 2;
        code += ' '.repeat(next - at);
        inBlock = end < 0;
        at = next;
        continue;
      }
      const character = text[at]!;
      if (character === '"') {
        const end = endOfString(text, at);
        code += text.slice(at, end);
        at = end;
      } else if (character === ';' || text.startsWith('//', at)) break;
      else if (text.startsWith('/*', at)) {
        inBlock = true;
        code += '  ';
        at += 2;
      } else {
        code += character;
        at++;
      }
    }
    return { file, number: index + 1, text, code: code.trimEnd() };
  });
}

/** Behind the closing quote, or the end of the line. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return Math.min(at + 1, text.length);
}

/** The first word of a line: what it does, unless that is the name of a label. */
export function firstWord({ code }: AssemblyLine): string | undefined {
  return /^\s*([A-Za-z_.$][\w.$]*)/.exec(code)?.[1];
}

const ESCAPES: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, b: 8, f: 12, '"': 34, '\\': 92 };

/** The bytes of a string literal without its quotes; octal and hexadecimal escapes are bytes. */
export function stringBytes(literal: string): Uint8Array {
  const bytes: number[] = [];
  const pattern = /\\([0-7]{1,3})|\\[xX]([\da-fA-F]+)|\\(.)|([^\\]+)/gsu;
  for (const [, octal, hexadecimal, letter, plain] of literal.matchAll(pattern)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8) & 255);
    else if (hexadecimal !== undefined) bytes.push(Number.parseInt(hexadecimal.slice(-2), 16));
    else if (plain !== undefined) bytes.push(...new TextEncoder().encode(plain));
    else {
      const byte = ESCAPES[letter!];
      if (byte === undefined) throw new WavewrightError('BAD_INPUT', `unknown escape '\\${letter}' in a string`);
      bytes.push(byte);
    }
  }
  return Uint8Array.from(bytes);
}
