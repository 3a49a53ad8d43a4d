/** Options of tools: a table says which there are, and text on a command line gives them values. */
import { WavewrightError } from '../../base/errors.ts';

export type ToolOption = { readonly description: string } & (
  | { readonly kind: 'choice'; readonly choices: readonly string[]; readonly default: string }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number; readonly default: number }
  /** Without a value it is the empty text. */
  | { readonly kind: 'text' }
);

/** Options by name. */
export type ToolOptionTable = Readonly<Record<string, ToolOption>>;

/** What `parseToolOptions` yields: each option has a value. */
export type ToolOptionValues<T extends ToolOptionTable> = {
  readonly [K in keyof T]: T[K] extends { kind: 'integer' }
    ? number
    : T[K] extends { kind: 'choice'; choices: readonly (infer C)[] }
      ? C
      : string;
};

/** What `NAME:option=value,option=value` says. */
export interface ToolRequest {
  readonly name: string;
  readonly given: ReadonlyMap<string, string>;
}

/** Where the next option begins: values, regular expressions among them, may have commas. */
const NEXT_OPTION = /,(?=[a-z][a-z-]*=)/;

/** Throws USAGE for another form, and for an option that stands there twice. */
export function parseToolRequest(text: string): ToolRequest {
  const colon = text.indexOf(':');
  const name = colon < 0 ? text : text.slice(0, colon);
  const given = new Map<string, string>();
  for (const part of colon < 0 ? [] : text.slice(colon + 1).split(NEXT_OPTION)) {
    const [, option, value] = /^([a-z][a-z-]*)=(.*)$/s.exec(part) ?? [];
    if (option === undefined || value === undefined)
      throw new WavewrightError('USAGE', `'${part}' of tool '${name}': expected option=value`);
    if (given.has(option)) throw new WavewrightError('USAGE', `option '${option}' of tool '${name}' is given twice`);
    given.set(option, value);
  }
  return { name, given };
}

/**
 * The values of the options of `table`: those given, and defaults. Throws USAGE for a value out of its range
 * and for options that no table of `others` has either.
 */
export function parseToolOptions<T extends ToolOptionTable>(
  { name, given }: ToolRequest,
  table: T,
  others: ToolOptionTable = {},
): ToolOptionValues<T> {
  for (const option of given.keys()) {
    if (option in table || option in others) continue;
    const known = [...Object.keys(table), ...Object.keys(others)].join(', ');
    throw new WavewrightError('USAGE', `tool '${name}' has no option '${option}'`, { hint: `its options: ${known}` });
  }
  const values = Object.entries(table).map(([option, row]) => [
    option,
    optionValue(`option '${option}' of tool '${name}'`, row, given.get(option)),
  ]);
  return Object.fromEntries(values) as ToolOptionValues<T>; // reason: made of the table, entry by entry
}

function optionValue(what: string, row: ToolOption, text: string | undefined): string | number {
  if (text === undefined) return row.kind === 'text' ? '' : row.default;
  if (row.kind === 'text') return text;
  if (row.kind === 'choice') {
    if (row.choices.includes(text)) return text;
    throw new WavewrightError('USAGE', `${what} takes ${row.choices.join(' or ')}, not '${text}'`);
  }
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= row.min && value <= row.max) return value;
  throw new WavewrightError('USAGE', `${what} takes an integer from ${row.min} to ${row.max}, not '${text}'`);
}

/** A half-open range of numbers. */
export interface Interval {
  readonly begin: number;
  readonly end: number;
}

export const EVERYTHING: Interval = { begin: 0, end: Number.POSITIVE_INFINITY };

/**
 * `BEGIN-END`, both included as people count, either may be missing; a number alone is that one. Throws
 * USAGE.
 */
export function parseInterval(what: string, text: string): Interval {
  if (text === '') return EVERYTHING;
  const match = /^(\d*)(-?)(\d*)$/.exec(text);
  const begin = Number(match?.[1] || 0);
  const last = match?.[3] ? Number(match[3]) : match?.[2] ? Number.POSITIVE_INFINITY : begin;
  if (match !== null && begin <= last) return { begin, end: last + 1 };
  throw new WavewrightError('USAGE', `${what} takes FIRST-LAST, not '${text}'`, { hint: 'for example 0-99, 5- or 7' });
}

export const contains = ({ begin, end }: Interval, index: number): boolean => index >= begin && index < end;
