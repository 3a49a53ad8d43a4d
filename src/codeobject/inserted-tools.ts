/**
 * What tools put into a code object: which tools, with which options, and what each number in their variables
 * means. It stands in the section `.wavewright.tools`, which is not loaded, as JSON:
 *
 * `{ schema, version, tools: [{ name, summary, options, kernels, strings, variables }] }`, in the order of
 * the tools; a variable is `{ name, symbol, sizeBytes, kind, parts, points }`, a part `{ name, offset,
 * sizeBytes }`, and a point `[index, address, where, amount, function, line]`, the last four as indices of
 * `strings`.
 */
import { type ErrorContext, WavewrightError } from '../base/errors.ts';
import type { ElfFile } from '../elf/elf.ts';

export const TOOLS_SECTION = '.wavewright.tools';
const SCHEMA = 'wavewright.inserted-tools';
const VERSION = 1;
const POINTS_AT_ONCE = 4096;

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
  return new TextEncoder().encode(`${report.slice(0, -1)},"tools":[${tools.map(encodeTool).join()}]}`);
}

function encodeTool({ variables, ...tool }: InsertedTool): string {
  const strings = new Map<string, number>();
  const numberOf = (text: string): number => {
    const known = strings.get(text) ?? strings.size;
    strings.set(text, known);
    return known;
  };
  const encoded = variables.map(({ points, ...variable }) => {
    // Code has many points: lists of a few at a time become text.
    const texts: string[] = [];
    for (let first = 0; first < points.length; first += POINTS_AT_ONCE) {
      const rows = points.slice(first, first + POINTS_AT_ONCE).map((point) => {
        const { index, address, where, amount, line, function: name } = point;
        return [index, address, numberOf(where), numberOf(amount), numberOf(name), numberOf(line)];
      });
      texts.push(JSON.stringify(rows).slice(1, -1));
    }
    return `${JSON.stringify(variable).slice(0, -1)},"points":[${texts.join()}]}`;
  });
  const own = JSON.stringify({ ...tool, strings: [...strings.keys()] });
  return `${own.slice(0, -1)},"variables":[${encoded.join()}]}`;
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
