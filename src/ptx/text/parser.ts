/** PTX texts to modules. PTX ISA chapter 4 "Syntax" and 11 "Directives". */
import { LIMITS } from '../../base/limits.ts';
import { attributesAt, directiveAt, LINKAGE, parametersAt, registersAt, SPACES, variablesAt } from './declaration.ts';
import { operandsAt } from './operand.ts';
import { PtxSource } from './source.ts';
import type {
  Alias,
  DebugSection,
  Item,
  Prototype,
  PtxDirective,
  PtxFunction,
  PtxGuard,
  PtxInstruction,
  PtxModule,
  Statement,
  Targets,
} from './syntax.ts';
import { describeToken, TokenStream } from './token.ts';

/** Directives of kernels and functions, between parameters and body: PTX ISA 11.4. */
const FUNCTION_DIRECTIVES: ReadonlySet<string> = new Set([
  ...['.maxnreg', '.maxntid', '.reqntid', '.minnctapersm', '.maxnctapersm', '.noreturn', '.pragma', '.abi_preserve'],
  ...['.explicitcluster', '.reqnctapercluster', '.maxclusterrank', '.blocksareclusters', '.abi_preserve_control'],
]);

/**
 * Reads a module. Throws BAD_INPUT with line, column and the line itself for what is no PTX, LIMIT_EXCEEDED.
 *
 * @param name what errors call the text
 */
export function parsePtx(text: string, name: string): PtxModule {
  return parseSource(new PtxSource(text, name));
}

export function parseSource(source: PtxSource): PtxModule {
  if (source.text.length > LIMITS.ptxCharacters) {
    throw source.error(0, `more characters than the limit ptxCharacters = ${LIMITS.ptxCharacters}`, 'LIMIT_EXCEEDED');
  }
  return new Parser(new TokenStream(source)).module();
}

class Parser {
  readonly #tokens: TokenStream;

  constructor(tokens: TokenStream) {
    this.#tokens = tokens;
  }

  module(): PtxModule {
    const tokens = this.#tokens;
    tokens.expect('.version', 'at the beginning');
    const { text, offset } = tokens.expectKind('float', 'a version such as 6.0');
    const [, major, minor] = /^(\d+)\.(\d+)$/.exec(text) ?? tokens.fail(`'${text}' is no version`, offset);
    const target = this.#target();
    // The manual (11.1.3) says 32; drivers and assemblers of 64 bits take what does not say as 64, and most
    // PTX before 2.3, where the directive came, is for those.
    let addressSizeBits: 32 | 64 = 64;
    let sizeOffset = offset;
    const items: Item[] = [];
    while (tokens.peek().kind !== 'end') {
      if (tokens.take('.address_size')) {
        const size = tokens.expectKind('integer', '32 or 64');
        if (size.text !== '32' && size.text !== '64') tokens.fail('expected 32 or 64', size.offset);
        addressSizeBits = size.text === '64' ? 64 : 32;
        sizeOffset = size.offset;
      } else if (tokens.peek().text === '.target') this.#target();
      else if (!tokens.take(';')) items.push(...this.#items());
    }
    const version = { major: Number(major), minor: Number(minor) };
    return { version, target, addressSizeBits, offset: sizeOffset, items };
  }

  #target(): string[] {
    const tokens = this.#tokens;
    tokens.expect('.target', 'behind the version');
    const words = [tokens.expectKind('word', 'a target such as sm_70').text];
    while (tokens.take(',')) words.push(tokens.expectKind('word', 'an option of the target').text);
    return words;
  }

  #items(): readonly Item[] {
    const tokens = this.#tokens;
    const { text, offset } = tokens.peek();
    switch (text) {
      case '.file':
        return [this.#file()];
      case '.section':
        return [this.#section()];
      case '.alias':
        return [this.#alias()];
      case '.pragma':
        return [this.#pragma()];
    }
    const linkage = LINKAGE.has(text) ? tokens.next().text : undefined;
    const next = tokens.peek();
    if (next.text === '.entry' || next.text === '.func') return [this.#function(linkage, offset)];
    if (SPACES.has(next.text)) return variablesAt(tokens, linkage);
    return tokens.fail(`expected a directive, found ${describeToken(next)}`);
  }

  /** `.file 1 "name" , 123, 456` */
  #file(): PtxDirective {
    const tokens = this.#tokens;
    const { text: name, offset } = tokens.next();
    const words = [
      tokens.expectKind('integer', 'the number of a file').text,
      tokens.expectKind('string', 'a name').text,
    ];
    while (tokens.take(',')) words.push(tokens.expectKind('integer', 'a number').text);
    return { kind: 'directive', name, words, offset };
  }

  #pragma(): PtxDirective {
    const directive = directiveAt(this.#tokens);
    this.#tokens.expect(';', 'behind a pragma');
    return directive;
  }

  #alias(): Alias {
    const tokens = this.#tokens;
    const { offset } = tokens.next();
    const { text: name } = tokens.expectKind('word', 'a name');
    tokens.expect(',', 'behind the name of an alias');
    const { text: target } = tokens.expectKind('word', 'the name of a function');
    tokens.expect(';', 'behind an alias');
    return { kind: 'alias', name, target, offset };
  }

  /** Lines of debug data have no end of their own: the next type or label begins a new one. */
  #section(): DebugSection {
    const tokens = this.#tokens;
    const { offset } = tokens.next();
    const name = tokens.next();
    if (name.kind !== 'dotted' && name.kind !== 'word') tokens.fail('expected the name of a section', name.offset);
    tokens.expect('{', 'behind the name of a section');
    const lines: string[][] = [];
    while (!tokens.take('}')) {
      const token = tokens.next();
      if (token.kind === 'end') tokens.fail("expected '}' behind a section");
      if (token.kind === 'dotted' || (token.kind === 'word' && tokens.peek().text === ':')) lines.push([token.text]);
      else (lines.at(-1) ?? tokens.fail('expected data', token.offset)).push(token.text);
    }
    return { kind: 'section', name: name.text, lines, offset };
  }

  #function(linkage: string | undefined, offset: number): PtxFunction {
    const tokens = this.#tokens;
    const isEntry = tokens.next().text === '.entry';
    const attributes = attributesAt(tokens);
    const results = isEntry ? [] : parametersAt(tokens);
    const { text: name } = tokens.expectKind('word', 'the name of a function');
    const parameters = parametersAt(tokens);
    const directives = this.#functionDirectives();
    const body = tokens.peek().text === '{' ? this.#block(0) : undefined;
    // Compilers before PTX 3.0 end declarations with nothing.
    if (body === undefined && !this.#isBeforeDirective()) tokens.expect(';', 'behind a declaration');
    const head = { linkage, isEntry, attributes, results, name, parameters, directives };
    return { kind: 'function', ...head, body, offset };
  }

  #isBeforeDirective(): boolean {
    const { kind } = this.#tokens.peek();
    return kind === 'dotted' || kind === 'end';
  }

  #functionDirectives(): PtxDirective[] {
    const tokens = this.#tokens;
    const found: PtxDirective[] = [];
    while (FUNCTION_DIRECTIVES.has(tokens.peek().text)) {
      found.push(directiveAt(tokens));
      if (found.at(-1)!.name === '.pragma') tokens.take(';');
    }
    return found;
  }

  #block(depth: number): Statement[] {
    const tokens = this.#tokens;
    if (depth > LIMITS.ptxDepth) {
      const what = `a block of more levels than the limit ptxDepth = ${LIMITS.ptxDepth}`;
      throw tokens.source.error(tokens.peek().offset, what, 'LIMIT_EXCEEDED');
    }
    tokens.expect('{', 'before a body');
    const statements: Statement[] = [];
    while (!tokens.take('}')) {
      if (tokens.peek().kind === 'end') tokens.fail("expected '}' behind a body");
      for (const statement of this.#statement(depth)) statements.push(statement);
    }
    return statements;
  }

  #statement(depth: number): readonly Statement[] {
    const tokens = this.#tokens;
    const { kind, text, offset } = tokens.peek();
    if (tokens.take(';')) return [];
    if (text === '{') return [{ kind: 'block', statements: this.#block(depth + 1), offset }];
    if (kind === 'dotted') return this.#declaration();
    if (tokens.isLabel()) {
      tokens.next();
      tokens.next();
      const { text: directive } = tokens.peek();
      if (directive === '.callprototype') return [this.#prototype(text, offset)];
      if (directive === '.branchtargets' || directive === '.calltargets') return [this.#targets(text, offset)];
      return [{ kind: 'label', name: text, offset }];
    }
    return [this.#instruction()];
  }

  #declaration(): readonly Statement[] {
    const tokens = this.#tokens;
    const { text } = tokens.peek();
    if (text === '.reg') return [registersAt(tokens)];
    if (text === '.loc') return [this.#loc()];
    if (text === '.pragma') return [this.#pragma()];
    const linkage = LINKAGE.has(text) ? tokens.next().text : undefined;
    if (SPACES.has(tokens.peek().text)) return variablesAt(tokens, linkage);
    return tokens.fail(`expected a directive, found ${describeToken(tokens.peek())}`);
  }

  /** `.loc 1 2 3, function_name name + 4, inlined_at 1 5 6` */
  #loc(): PtxDirective {
    const tokens = this.#tokens;
    const { text: name, offset } = tokens.next();
    const words: string[] = [];
    const numbers = (): void => {
      for (let i = 0; i < 3; i++) words.push(tokens.expectKind('integer', 'file, line and column').text);
    };
    numbers();
    while (tokens.take(',')) {
      const { text: word, offset: at } = tokens.expectKind('word', 'function_name or inlined_at');
      words.push(word);
      if (word === 'inlined_at') numbers();
      else if (word === 'function_name') {
        words.push(tokens.expectKind('word', 'a label').text);
        if (tokens.take('+')) words.push('+', tokens.expectKind('integer', 'a number').text);
      } else tokens.fail(`expected function_name or inlined_at, found '${word}'`, at);
    }
    return { kind: 'directive', name, words, offset };
  }

  #prototype(name: string, offset: number): Prototype {
    const tokens = this.#tokens;
    tokens.next();
    const results = parametersAt(tokens);
    tokens.expect('_', 'in a prototype');
    const parameters = parametersAt(tokens);
    const attributes = this.#functionDirectives();
    tokens.expect(';', 'behind a prototype');
    return { kind: 'prototype', name, results, parameters, attributes, offset };
  }

  #targets(name: string, offset: number): Targets {
    const tokens = this.#tokens;
    const directive = tokens.next().text as Targets['directive']; // reason: the caller looked at it
    const targets: string[] = [];
    do targets.push(tokens.expectKind('word', 'a name').text);
    while (tokens.take(','));
    tokens.expect(';', 'behind a list of targets');
    return { kind: 'targets', name, directive, targets, offset };
  }

  #instruction(): PtxInstruction {
    const tokens = this.#tokens;
    const { offset } = tokens.peek();
    let guard: PtxGuard | undefined;
    if (tokens.take('@')) {
      const isNegated = tokens.take('!') !== undefined;
      guard = { register: tokens.expectKind('word', 'a predicate').text, isNegated };
    }
    const opcode = tokens.opcode();
    const isCall = opcode === 'call' || opcode.startsWith('call.');
    return { kind: 'instruction', guard, opcode, operands: operandsAt(tokens, isCall), offset };
  }
}
