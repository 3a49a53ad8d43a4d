/** Lines of the source that a compiler made a text of: PTX ISA 11.5 ".loc" and ".file". */
import { firstAbove } from '../../base/search.ts';
import type { PtxModule, Statement } from './syntax.ts';

/** `column` is 0 where it is not known. */
export interface DebugLine {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

interface Entry {
  /** The place in the text from which on it counts. */
  readonly address: number;
  readonly line: DebugLine | undefined;
}

export class DebugLines {
  /** In the order of the text. */
  readonly #entries: Entry[] = [];
  /** By their numbers. */
  readonly #files = new Map<number, string>();

  constructor({ items }: PtxModule) {
    for (const item of items) {
      if (item.kind !== 'directive' || item.name !== '.file') continue;
      const [number, name] = item.words as [string, string, ...string[]]; // reason: the parser made it so
      this.#files.set(Number(number), name.replace(/^"(.*)"$/s, '$1'));
    }
    for (const item of items) {
      if (item.kind !== 'function' || !item.body) continue;
      // What a function before it says is not for this one.
      this.#entries.push({ address: item.offset, line: undefined });
      this.#add(item.body);
    }
  }

  #add(statements: readonly Statement[]): void {
    for (const each of statements) {
      if (each.kind === 'block') this.#add(each.statements);
      if (each.kind !== 'directive' || each.name !== '.loc') continue;
      const [number, line, column] = each.words.map(Number) as [number, number, number, ...number[]]; // reason: the parser made it so
      const file = this.#files.get(number);
      // Line 0 is that of code which comes from no line.
      const isKnown = file !== undefined && line > 0;
      this.#entries.push({ address: each.offset, line: isKnown ? { file, line, column } : undefined });
    }
  }

  /** The line that an instruction comes from, which begins at an offset of the text. */
  at(offset: number): DebugLine | undefined {
    return this.#entries[firstAbove(this.#entries, offset) - 1]?.line;
  }
}
