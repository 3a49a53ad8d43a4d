/**
 * What tools put into a code object: which tools, with which options, and what each number in their variables
 * means. It stands in the section `.wavewright.tools`, which is not loaded, as JSON:
 *
 * `{ schema, version, tools: [{ name, summary, options, kernels, strings, variables }] }`, in the order of
 * the tools; a variable is `{ name, symbol, sizeBytes, kind, parts, points }`, a part `{ name, offset,
 * sizeBytes }`, and a point `[index, address, where, amount, function, line]`, the last four as indices of
 * `strings`.
 */
import { concatenate } from '../base/concatenate.ts';
import { type ErrorContext, WavewrightError } from '../base/errors.ts';
import type { ElfFile } from '../elf/elf.ts';

export const TOOLS_SECTION = '.wavewright.tools';
const SCHEMA = 'wavewright.inserted-tools';
const VERSION = 1;
/** A list of six numbers of at most 16 digits, with what stands between them. */
const MOST_POINT_BYTES = 6 * 17 + 2;
const FIRST_POINT_BYTES = 32;
const [COMMA, OPEN, CLOSE, ZERO] = [0x2c, 0x5b, 0x5d, 0x30];

/** A place in the code that a number is about. */
export interface InsertedPoint {
  /** Of the counter in its variable; of a record, the number that it names as its point. */
  readonly index: number;
  /** Image address of the instruction in the code before the tool came. */
  readonly address: number;
  /** `before` or `after` the instruction, on the way of a branch (`taken`), or at the function's `entry`. */
  readonly where: string;
  /** What is added or written there: `waves`, `lanes`, `active waves`, or what the tool calls it. */
  readonly amount: string;
  readonly function: string;
  /** `FILE:LINE`; the empty text without line table. */
  readonly line: string;
}

export interface InsertedVariable {
  /** What the tool calls it. */
  readonly name: string;
  /** By which hosts find it in the loaded code. */
  readonly symbol: string;
  readonly sizeBytes: number;
  /** `counters`: of 64 bits; `records`: a trace (`readTrace`); `bytes`: what the tool knows. */
  readonly kind: 'counters' | 'records' | 'bytes';
  /** Variables of a compiled hook that are in it. */
  readonly parts: readonly { readonly name: string; readonly offset: number; readonly sizeBytes: number }[];
  readonly points: readonly InsertedPoint[];
}

export interface InsertedTool {
  readonly name: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, string | number>>;
  /** The regular expression that chose kernels. */
  readonly kernels: string;
  readonly variables: readonly InsertedVariable[];
}

export function encodeInsertedTools(tools: readonly InsertedTool[]): Uint8Array {
  const report = JSON.stringify({ schema: SCHEMA, version: VERSION });
  const encoded = tools.map((tool, i) => [...(i === 0 ? [] : [utf8(',')]), ...encodeTool(tool)]);
  return concatenate([utf8(`${report.slice(0, -1)},"tools":[`), ...encoded.flat(), utf8(']}')]);
}

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function encodeTool({ variables, ...tool }: InsertedTool): Uint8Array[] {
  const strings = new Map<string, number>();
  const numberOf = (text: string): number => {
    let number = strings.get(text);
    if (number === undefined) {
      number = strings.size;
      strings.set(text, number);
    }
    return number;
  };
  const encoded = variables.flatMap(({ points, ...variable }, i) => [
    utf8(`${i === 0 ? '' : ','}${JSON.stringify(variable).slice(0, -1)},"points":`),
    encodePoints(points, numberOf),
    utf8('}'),
  ]);
  const own = JSON.stringify({ ...tool, strings: [...strings.keys()] });
  return [utf8(`${own.slice(0, -1)},"variables":[`), ...encoded, utf8(']}')];
}

/** Code has many points: no text is made of them. */
function encodePoints(points: readonly InsertedPoint[], numberOf: (text: string) => number): Uint8Array {
  let bytes = new Uint8Array(2 + MOST_POINT_BYTES + points.length * FIRST_POINT_BYTES);
  let at = 0;
  bytes[at++] = OPEN;
  for (let i = 0; i < points.length; i++) {
    if (at + MOST_POINT_BYTES + 1 > bytes.length) {
      const larger = new Uint8Array(bytes.length * 2);
      larger.set(bytes);
      bytes = larger;
    }
    const { index, address, where, amount, line, function: name } = points[i]!;
    bytes[at++] = i === 0 ? OPEN : COMMA;
    if (i > 0) bytes[at++] = OPEN;
    at = writeDecimal(bytes, at, index);
    at = writeNext(bytes, at, address);
    at = writeNext(bytes, at, numberOf(where));
    at = writeNext(bytes, at, numberOf(amount));
    at = writeNext(bytes, at, numberOf(name));
    at = writeNext(bytes, at, numberOf(line));
    bytes[at++] = CLOSE;
  }
  bytes[at++] = CLOSE;
  return bytes.subarray(0, at);
}

function writeNext(bytes: Uint8Array, at: number, value: number): number {
  bytes[at] = COMMA;
  return writeDecimal(bytes, at + 1, value);
}

/** A safe integer that is not negative. Returns where it ends. */
function writeDecimal(bytes: Uint8Array, at: number, value: number): number {
  let end = at + 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) end++;
  let rest = value;
  for (let place = end - 1; place >= at; place--) {
    const tens = Math.floor(rest / 10);
    bytes[place] = ZERO + rest - tens * 10;
    rest = tens;
  }
  return end;
}

/** Undefined where no tool is in the file. Throws BAD_INPUT for what `encodeInsertedTools` does not write. */
export function readInsertedTools(elf: ElfFile): readonly InsertedTool[] | undefined {
  const section = elf.sectionNamed(TOOLS_SECTION);
  if (!section) return undefined;
  const at = { ...(elf.name !== undefined && { file: elf.name }), section: TOOLS_SECTION };
  let root: unknown;
  try {
    root = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(elf.sectionBytes(section)));
  } catch {
    throw new WavewrightError('BAD_INPUT', 'it is no JSON', at);
  }
  return new Reader(at).report(root);
}

type Fields = Readonly<Record<string, unknown>>;

class Reader {
  readonly #at: ErrorContext;
  #strings: readonly string[] = [];

  constructor(at: ErrorContext) {
    this.#at = at;
  }

  report(value: unknown): InsertedTool[] {
    const root = this.#fields(value);
    if (root.schema !== SCHEMA || root.version !== VERSION)
      this.#fail(`schema '${root.schema}', version ${root.version}, expected '${SCHEMA}' ${VERSION}`);
    return this.#list(root.tools).map((tool) => this.#tool(this.#fields(tool)));
  }

  #tool({ name, summary, options, kernels, strings, variables }: Fields): InsertedTool {
    this.#strings = this.#list(strings).map((each) => this.#text(each));
    const values = Object.entries(this.#fields(options)).map(([option, value]) => {
      return [option, typeof value === 'number' ? value : this.#text(value)] as const;
    });
    return {
      ...{ name: this.#text(name), summary: this.#text(summary), kernels: this.#text(kernels) },
      options: Object.fromEntries(values),
      variables: this.#list(variables).map((each) => this.#variable(this.#fields(each))),
    };
  }

  #variable({ name, symbol, sizeBytes, kind, parts, points }: Fields): InsertedVariable {
    if (kind !== 'counters' && kind !== 'records' && kind !== 'bytes') this.#fail(`a variable of kind '${kind}'`);
    return {
      ...{ name: this.#text(name), symbol: this.#text(symbol), sizeBytes: this.#count(sizeBytes), kind },
      parts: this.#list(parts).map((part) => {
        const { name: partName, offset, sizeBytes: size } = this.#fields(part);
        return { name: this.#text(partName), offset: this.#count(offset), sizeBytes: this.#count(size) };
      }),
      points: this.#list(points).map((point) => this.#point(this.#list(point))),
    };
  }

  #point([index, address, ...texts]: readonly unknown[]): InsertedPoint {
    const [where, amount, name, line] = [0, 1, 2, 3].map((i) => this.#text(this.#strings[this.#count(texts[i])]));
    return {
      ...{ index: this.#count(index), address: this.#count(address) },
      ...{ where: where!, amount: amount!, function: name!, line: line! },
    };
  }

  #fields(value: unknown): Fields {
    return isFields(value) ? value : this.#fail('no object where one is expected');
  }

  #list(value: unknown): readonly unknown[] {
    return Array.isArray(value) ? value : this.#fail('no list where one is expected');
  }

  #text(value: unknown): string {
    return typeof value === 'string' ? value : this.#fail('no text where one is expected');
  }

  #count(value: unknown): number {
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
      ? value
      : this.#fail('no number from 0 on where one is expected');
  }

  #fail(what: string): never {
    throw new WavewrightError('BAD_INPUT', what, this.#at);
  }
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
