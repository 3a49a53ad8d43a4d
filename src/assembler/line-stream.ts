/**
 * The lines of a source in the order in which they are assembled: files that are included, macros and
 * repetitions stand in their places.
 */
import { WavewrightError } from '../base/errors.ts';
import { checkLimit, LIMITS } from '../base/limits.ts';
import { type AssemblyLine, sourceLines } from './source.ts';

/** An `.if` that is open: whether one of its branches has been assembled, and whether `.else` has come. */
export interface Condition {
  readonly line: AssemblyLine;
  isDone: boolean;
  hasElse: boolean;
}

/** A file, or what a macro or a repetition stands for. */
interface Frame {
  readonly lines: readonly AssemblyLine[];
  readonly isMacro: boolean;
  /** Where the next line is. */
  at: number;
  /** How many times all of them come after this time. */
  repetitions: number;
  readonly conditions: Condition[];
}

/** What a line costs besides its characters. */
const LINE_COST = 16;

export class LineStream {
  readonly #frames: Frame[] = [];
  /** The one that is being assembled. */
  line: AssemblyLine;
  #expandedSize = 0;

  constructor(source: string, file: string) {
    this.line = { file, number: 0, text: '', code: '' };
    this.#frames.push({ lines: sourceLines(source, file), isMacro: false, at: 0, repetitions: 0, conditions: [] });
  }

  /** Conditions that were opened in what is being read now. */
  get conditions(): Condition[] {
    return this.#frames.at(-1)?.conditions ?? [];
  }

  /**
   * The next line; undefined at the end of everything. Throws BAD_INPUT at the end of something in which an
   * `.if` is open.
   */
  next(): AssemblyLine | undefined {
    while (this.#frames.length > 0) {
      const line = this.nextHere();
      if (line) {
        this.line = line;
        return line;
      }
      const open = this.#frames.pop()?.conditions[0];
      if (!open) continue;
      this.line = open.line;
      throw new WavewrightError('BAD_INPUT', `no '.endif' behind`);
    }
    return undefined;
  }

  /** The next line of the file or expansion that is being read now; undefined at its end. */
  nextHere(): AssemblyLine | undefined {
    const frame = this.#frames.at(-1);
    if (!frame) return undefined;
    if (frame.at >= frame.lines.length) {
      if (frame.repetitions === 0 || frame.conditions.length > 0) return undefined;
      frame.repetitions--;
      frame.at = 0;
    }
    const line = frame.lines[frame.at++];
    if (line && this.#frames.length > 1) this.count(line.text);
    return line;
  }

  /** Lines that come before the rest, `times` times. */
  push(lines: readonly AssemblyLine[], isMacro: boolean, times = 1): void {
    if (times < 1 || lines.length === 0) return;
    checkLimit('expansionDepth', this.#frames.length, {});
    this.#frames.push({ lines, isMacro, at: 0, repetitions: times - 1, conditions: [] });
  }

  /** Leaves the macro that is being read; false where there is none. */
  leaveMacro(): boolean {
    const index = this.#frames.findLastIndex(({ isMacro }) => isMacro);
    if (index >= 0) this.#frames.length = index;
    return index >= 0;
  }

  /** Nothing more comes. */
  end(): void {
    this.#frames.length = 0;
  }

  /** Counts a text that the file does not have itself. Throws LIMIT_EXCEEDED when it has become too much. */
  count(text: string): void {
    this.#expandedSize += text.length + LINE_COST;
    if (this.#expandedSize <= LIMITS.expandedCharacters) return;
    this.end();
    checkLimit('expandedCharacters', this.#expandedSize, {});
  }
}
