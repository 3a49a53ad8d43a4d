/**
 * Code as text for tests, an instruction on a line: `s1 = s0 v2` reads s0 and v2 and writes s1, a row (v0) in
 * the active lanes; `cross v1` reads v1 in all lanes; `exec &= s0`, `exec |= s0` and `exec = s0` change the
 * active lanes; `if L` and `goto L` branch to the line that begins with `L:`, and `jump`, `end` and `any`
 * (which reads what only running it tells) stand alone.
 */
import fc from 'fast-check';
import type { MaskChange } from '../ir/effects.ts';
import { type BasicBlock, basicBlocks, type Followed, reachable } from './blocks.ts';
import type { LaneEffects, PlaceSets } from './lane-liveness.ts';

export interface Line {
  readonly number: number;
  readonly text: string;
  readonly reads: readonly string[];
  readonly crossReads: readonly string[];
  readonly writes: readonly string[];
  readonly maskChange: MaskChange;
}

const MASK_CHANGES: Readonly<Record<string, MaskChange>> = { '&=': 'shrinks', '|=': 'grows', '=': 'any' };

export class CodeText {
  readonly lines: readonly Line[];
  readonly code: Map<number, Followed<Line>>;
  readonly blocks: readonly BasicBlock<Line>[];
  readonly #labels = new Map<string, number>();

  /** What the first line reaches. */
  constructor(text: string) {
    const lines = text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean);
    this.lines = lines.map((line, number) => this.#line(line, number));
    const found = [...reachable((place) => this.#follow(place), [0])].sort(([a], [b]) => a - b);
    this.code = new Map(found);
    this.blocks = basicBlocks(this.code, [0]);
  }

  #line(line: string, number: number): Line {
    const [, label, text = ''] = /^(?:(\w+):)?\s*(.*)$/.exec(line)!;
    if (label !== undefined) this.#labels.set(label, number);
    const [, mask, sources = ''] = /^exec (\S+) ?(.*)$/.exec(text) ?? [];
    const [left = '', right = ''] = text.split('=').map((part) => part.trim());
    const names = (part: string): readonly string[] => part.split(/\s+/).filter((name) => /^[sv]\d$/.test(name));
    const none = { number, text, reads: [], crossReads: [], writes: [], maskChange: 'none' } as const;
    if (mask !== undefined) return { ...none, reads: names(sources), maskChange: MASK_CHANGES[mask]! };
    if (text.startsWith('cross ')) return { ...none, crossReads: names(text) };
    return text.includes('=') ? { ...none, writes: names(left), reads: names(right) } : none;
  }

  #follow(place: number): Followed<Line> | undefined {
    const instruction = this.lines[place];
    if (!instruction) return undefined;
    const [word, label] = instruction.text.split(' ');
    const isBranch = word === 'if' || word === 'goto';
    return {
      instruction,
      next: word === 'goto' || word === 'jump' || word === 'end' ? undefined : place + 1,
      target: isBranch ? (this.#labels.get(label!) ?? -1) : undefined,
      leaves: word === 'jump',
      endsBlock: isBranch || word === 'jump' || word === 'end',
    };
  }

  /** The numbers of the lines of each block, and where it leads. */
  listing(): readonly string[] {
    return this.blocks.map(({ instructions, next, target, leaves }) => {
      const ways = [next && `next ${next.index}`, target && `target ${target.index}`, leaves && 'leaves'];
      return [instructions.map(({ number }) => number).join(' '), ...ways].filter(Boolean).join(', ');
    });
  }
}

const NAMES = ['s0', 's1', 'v0', 'v1'];
const bits = (names: readonly string[]): bigint =>
  names.reduce((sum, name) => sum | (1n << BigInt(NAMES.indexOf(name))), 0n);
const isRow = (name: string): boolean => name.startsWith('v');

export const PLACES: PlaceSets = { everything: bits(NAMES), rows: bits(NAMES.filter(isRow)) };

export const namesOf = (set: bigint): string => NAMES.filter((name) => (set & bits([name])) !== 0n).join(' ');

export const effectsOf = ({ text, reads, crossReads, writes, maskChange }: Line): LaneEffects => ({
  reads: bits(reads),
  crossReads: bits(crossReads),
  scalarWrites: bits(writes.filter((name) => !isRow(name))),
  rowWrites: bits(writes.filter(isRow)),
  maskChange,
  isOpaque: text === 'any',
  ends: text === 'end',
});

const anyPlace = fc.constantFrom('s0', 's1', 'v0', 'v1');
const anyLine = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(anyPlace, anyPlace).map(([to, from]) => `${to} = ${from}`) },
  fc.constantFrom('cross v0', 'exec &= s0', 'exec |= s0', 'exec = s1', 'end', 'jump', 'any'),
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('if', 'goto'), fc.nat(9)).map(([word, to]) => `${word} L${to}`) },
);

/** Up to ten lines, each of which can be branched to. */
export const anyCode: fc.Arbitrary<string> = fc
  .array(anyLine, { minLength: 1, maxLength: 10 })
  .map((lines) => lines.map((line, i) => `L${i}: ${line}`).join('\n'));
