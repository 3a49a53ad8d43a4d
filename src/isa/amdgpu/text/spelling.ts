/** How one immediate is spelled, in both directions; immediate-text.ts says which instruction has which. */
import type { Target } from '../encoding/targets.ts';
import type { TextReader } from './reader/text-reader.ts';

/** One way to spell an immediate. A plain number is always another. */
export interface ImmediateSpelling {
  readonly print: (value: number, target: Target) => string;
  /** Undefined, with nothing read, when the text is not spelled so. */
  readonly parse: (reader: TextReader, target: Target) => number | undefined;
}

/** Runs `parse` on what is between the parentheses of `name(...)`. */
export function call<T>(reader: TextReader, name: string, parse: () => T): T | undefined {
  const start = reader.position;
  if (!reader.acceptWord(name) || !reader.accept('(')) {
    reader.position = start;
    return undefined;
  }
  const value = parse();
  reader.expect(')');
  return value;
}

/** A name of the table, or a number of 0 to `high`. */
export function named(reader: TextReader, names: Readonly<Record<number, string>>, high: number, what: string): number {
  const word = reader.peekWord();
  const found = Object.keys(names).find((value) => names[Number(value)] === word);
  if (word === undefined || found === undefined) return reader.integerIn(0, high, what);
  reader.word();
  return Number(found);
}
