/**
 * Programs as text, a line for each value or effect, and back:
 *
 *     wave64
 *     v0:i32.lane = op1[0]
 *     v1:i32 = 255
 *     v2:i32.lane = i32.and v0, v1
 *     v3:i1.lane = i32.eq v2, v1
 *     v4:i64 = ballot v3
 *     vcc = v4
 *     op0[0].lane = v2 if v3
 *
 * `.lane` marks what is there for each lane, `op1[0]` is dword 0 of operand 1, and a mask or a predicate
 * follows `if`. Effects have numbers too, but no names. Empty lines and what follows # are not read.
 */
import { WavewrightError } from '../base/errors.ts';
import { type LeafWord, parseLeaf, parseTarget, printLeaf, type Tail } from './leaf-text.ts';
import { formatProduct, parseProduct } from './product-text.ts';
import type { Leaf, Program, Type, Update, Value } from './types.ts';

const nameOf = ({ id }: Value): string => `v${id}`;

// Printing

/** Text that `parseProgram` reads. */
export const printProgram = ({ values, waveSize }: Program): string =>
  `${[`wave${waveSize}`, ...printValues(values, waveSize)].join('\n')}\n`;

const printValues = (values: readonly Value[], waveSize: 32 | 64): string[] =>
  values.flatMap((value) => {
    const [line, ...block] = printValue(value, waveSize);
    return block.length === 0 ? [line!] : [`${line} {`, ...block.map((inner) => `  ${inner}`), '}'];
  });

/** A line, and those of its block. */
function printValue(value: Value, waveSize: 32 | 64): string[] {
  const { leaf, type, args } = value;
  const lane = value.lane ? '.lane' : '';
  const word = printLeaf(leaf, type);
  if (leaf.kind === 'setOperand' || leaf.kind === 'setState') {
    const [data, mask] = args.map(nameOf);
    return [`${word}${lane} = ${data}${mask ? ` if ${mask}` : ''}`];
  }
  const head = type === 'void' ? `${word}${lane}` : `${nameOf(value)}:${type}${lane} = ${word}`;
  return [`${head}${printArguments(leaf, args)}`, ...printBlock(leaf, waveSize)];
}

function printArguments(leaf: Leaf, args: readonly Value[]): string {
  const predicate = 'predicated' in leaf && leaf.predicated ? args.at(-1) : undefined;
  const list = args.slice(0, predicate ? -1 : undefined).map(nameOf);
  const rare = 'isRare' in leaf && leaf.isRare ? 'rare ' : '';
  return `${list.length > 0 ? ` ${list.join(', ')}` : ''}${predicate ? ` if ${rare}${nameOf(predicate)}` : ''}`;
}

function printBlock(leaf: Leaf, waveSize: 32 | 64): string[] {
  if (leaf.kind === 'matrixProduct') return formatProduct(leaf.product, waveSize);
  if (leaf.kind !== 'atomic') return [];
  const { body, result } = leaf.update;
  return [...printValues(body, waveSize), `return ${nameOf(result)}`];
}

// Parsing

/** Throws BAD_INPUT with line and column. What the text says may still be wrong: see `problemsOf`. */
export function parseProgram(text: string): Program {
  return new ProgramReader(text).program();
}

const TOKEN = /\s+|v\w+|[\w.[\]-]+|[:=,{}]/y;

interface Token {
  readonly text: string;
  /** From 1 on. */
  readonly column: number;
}

/** One line: tokens, read from left to right. */
class Line {
  readonly number: number;
  readonly text: string;
  readonly #tokens: Token[] = [];
  #next = 0;

  constructor(text: string, number: number) {
    this.number = number;
    this.text = text.replace(/#.*/, '').trimEnd();
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < this.text.length) {
      const column = TOKEN.lastIndex + 1;
      const [token] = TOKEN.exec(this.text) ?? fail(number, column, `unexpected '${this.text[column - 1]}'`);
      if (token.trim() !== '') this.#tokens.push({ text: token, column });
    }
  }

  get isEmpty(): boolean {
    return this.#tokens.length === 0;
  }

  get column(): number {
    return this.#tokens[this.#next]?.column ?? this.text.length + 1;
  }

  fail(what: string, column = this.column): never {
    return fail(this.number, column, what);
  }

  /** The next token if it is `text`. */
  takes(text: string): boolean {
    const isNext = this.is(text);
    if (isNext) this.#next++;
    return isNext;
  }

  is(text: string): boolean {
    return this.#tokens[this.#next]?.text === text;
  }

  get isAtEnd(): boolean {
    return this.#next === this.#tokens.length;
  }

  expect(text: string): void {
    if (!this.takes(text)) this.fail(`expected '${text}'`);
  }

  word(what: string): string {
    const token = this.#tokens[this.#next];
    if (!token || /^[:=,{}]$/.test(token.text)) return this.fail(`expected ${what}`);
    this.#next++;
    return token.text;
  }

  end(): void {
    if (this.#next < this.#tokens.length) this.fail('expected the end of the line');
  }
}

function fail(line: number, column: number, what: string): never {
  throw new WavewrightError('BAD_INPUT', `line ${line}, column ${column}: ${what}`);
}

const TYPES: readonly Type[] = ['i1', 'i32', 'i64'];

/** The word without the mark of what is there for each lane. */
const withoutLane = (word: string): [word: string, lane: boolean] =>
  word.endsWith('.lane') ? [word.slice(0, -'.lane'.length), true] : [word, false];

/** The word that says what a value is. */
interface Head extends LeafWord {
  readonly column: number;
}

class ProgramReader {
  readonly #lines: readonly Line[];
  readonly #lineCount: number;
  #next = 0;
  #waveSize: 32 | 64 = 64;

  constructor(text: string) {
    const lines = text.split('\n');
    this.#lineCount = lines.length;
    this.#lines = lines.map((line, i) => new Line(line, i + 1)).filter(({ isEmpty }) => !isEmpty);
  }

  program(): Program {
    const first = this.#line('wave32 or wave64');
    const size = first.takes('wave32') ? 32 : first.takes('wave64') ? 64 : first.fail('expected wave32 or wave64');
    first.end();
    this.#waveSize = size;
    const values: Value[] = [];
    const names = new Map<string, Value>();
    while (this.#next < this.#lines.length) this.#value(this.#line('a value'), values, names);
    return { values, waveSize: size };
  }

  #line(what: string): Line {
    return this.#lines[this.#next++] ?? fail(this.#lineCount, 1, `expected ${what}`);
  }

  #value(line: Line, values: Value[], names: Map<string, Value>): void {
    const append = (leaf: Leaf, type: Value['type'], lane: boolean, args: readonly Value[]): Value => {
      const value = { id: values.length, leaf, type, lane, args };
      values.push(value);
      return value;
    };
    const { column } = line;
    const name = line.word('a value or an effect');
    if (line.takes(':')) {
      if (names.has(name) || !/^v\w+$/.test(name)) line.fail(`expected a new name instead of '${name}'`, column);
      const at = line.column;
      const [text, lane] = withoutLane(line.word('a type'));
      const type = TYPES.find((candidate) => candidate === text) ?? line.fail(`'${text}' is no type`, at);
      line.expect('=');
      const head = { column: line.column, word: line.word('what it is'), type };
      const [leaf, args] = this.#leaf(line, head, names);
      names.set(name, append(leaf, type, lane, args));
      return;
    }
    const [word, lane] = withoutLane(name);
    if (line.takes('=')) {
      const leaf = parseTarget(word) ?? line.fail(`expected an operand or a state instead of '${word}'`, column);
      const args = [this.#name(line, names), ...(line.takes('if') ? [this.#name(line, names)] : [])];
      line.end();
      append(leaf, 'void', lane, args);
    } else {
      const [leaf, args] = this.#leaf(line, { column, word, type: 'void' }, names);
      append(leaf, 'void', lane, args);
    }
  }

  /** What follows the word: arguments, a predicate, a block. */
  #leaf(line: Line, head: Head, names: ReadonlyMap<string, Value>): [Leaf, Value[]] {
    const args: Value[] = [];
    while (!line.isAtEnd && !line.is('if') && !line.is('{')) {
      if (args.length > 0) line.expect(',');
      args.push(this.#name(line, names));
    }
    const predicated = line.takes('if');
    const isRare = predicated && line.takes('rare');
    if (predicated) args.push(this.#name(line, names));
    const block = line.takes('{') ? this.#block(line, head.word) : {};
    line.end();
    const complain = (what: string): never => line.fail(what, head.column);
    const leaf = parseLeaf(head, { predicated, isRare, ...block }, complain);
    if (predicated && !('predicated' in leaf)) complain('only accesses to memory have a predicate');
    return [leaf, args];
  }

  #block(line: Line, word: string): Pick<Tail, 'product' | 'update'> {
    line.end();
    const first = this.#next;
    if (word !== 'matrixProduct') return { update: this.#update() };
    const lines: Line[] = [];
    for (let inner = this.#line('}'); !inner.is('}'); inner = this.#line('}')) lines.push(inner);
    const complain = (index: number, what: string): never => (this.#lines[first + index] ?? line).fail(what);
    return {
      product: parseProduct(
        lines.map(({ text }) => text.trim()),
        this.#waveSize,
        complain,
      ),
    };
  }

  #update(): Update {
    const body: Value[] = [];
    const names = new Map<string, Value>();
    for (let line = this.#line('return'); ; line = this.#line('return')) {
      if (!line.takes('return')) {
        this.#value(line, body, names);
        continue;
      }
      const result = this.#name(line, names);
      line.end();
      const last = this.#line('}');
      last.expect('}');
      last.end();
      return { body, result };
    }
  }

  #name(line: Line, names: ReadonlyMap<string, Value>): Value {
    const { column } = line;
    const name = line.word('the name of a value');
    return names.get(name) ?? line.fail(`no value before is called '${name}'`, column);
  }
}
