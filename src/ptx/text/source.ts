/** A PTX text, and errors that name a place in it. */
import { type ErrorCode, WavewrightError } from '../../base/errors.ts';

/** Longer lines, which no compiler writes, are cut in errors. */
const MAX_SHOWN_COLUMNS = 160;

/** Line and column, from 1 on. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export class PtxSource {
  readonly text: string;
  /** What errors call it. */
  readonly name: string;
  /** Offsets at which lines begin; made when a place is first asked for. */
  #lines: number[] | undefined;

  constructor(text: string, name: string) {
    this.text = text;
    this.name = name;
  }

  /** The place of a character, by its offset. */
  position(offset: number): Position {
    const lines = this.#lineStarts();
    let [low, high] = [0, lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (lines[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - lines[low]! + 1 };
  }

  /** The error with file, line and column in front, and the source line with a caret behind it. */
  error(offset: number, what: string, code: ErrorCode = 'BAD_INPUT'): WavewrightError {
    const { line, column } = this.position(offset);
    const start = this.#lineStarts()[line - 1]!;
    const end = this.text.indexOf('\n', start);
    const text = this.text.slice(start, end < 0 ? undefined : end).replace(/\r$/, '');
    const shown = text.slice(0, MAX_SHOWN_COLUMNS);
    const indent = ' '.repeat(untabbed(shown.slice(0, column - 1)).length);
    const caret = column <= MAX_SHOWN_COLUMNS ? `\n${indent}^` : '';
    return new WavewrightError(code, `${what}\n${untabbed(shown)}${caret}`, { file: `${this.name}:${line}:${column}` });
  }

  #lineStarts(): number[] {
    if (this.#lines) return this.#lines;
    const starts = [0];
    for (let at = this.text.indexOf('\n'); at >= 0; at = this.text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#lines = starts;
    return starts;
  }
}

const TAB_COLUMNS = 8;

/** Tabs as blanks, as terminals show them: errors print other control characters as numbers. */
function untabbed(text: string): string {
  let shown = '';
  for (const each of text) shown += each === '\t' ? ' '.repeat(TAB_COLUMNS - (shown.length % TAB_COLUMNS)) : each;
  return shown;
}
