/**
 * Values of scalar registers of which more is known, or less, than one number: one of several places in code,
 * or an address behind one that the code has made. A number above all values of 32 bits stands for each.
 */

/** Above what stands for registers as they were on entry. */
const FIRST_NOTE = 2 ** 41;
/** Beyond it nothing is known: compilers choose between few, tables may have many more. */
const MAX_CHOICES = 64;

/** One of these, in ascending order. */
export interface Choice {
  readonly kind: 'choice';
  readonly values: readonly number[];
}

/** Half of an address that was computed from `base` by additions; `value`, where it is known. */
export interface BasedAddress {
  readonly kind: 'based';
  readonly base: number;
  readonly value: number | undefined;
}

export type Note = Choice | BasedAddress;

export const isNoted = (value: number): boolean => value >= FIRST_NOTE;

/** What all states of one walk through code know of such values. */
export class NotedValues {
  readonly #notes: Note[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #isPlace: (value: number) => boolean;

  /** `isPlace`: whether a value may be the low half of an address in code. */
  constructor(isPlace: (value: number) => boolean) {
    this.#isPlace = isPlace;
  }

  /** Undefined for plain values. */
  noteOf(value: number): Note | undefined {
    return isNoted(value) ? this.#notes[value - FIRST_NOTE] : undefined;
  }

  based(base: number, value: number | undefined): number {
    return this.#numberOf(`${base} ${value}`, { kind: 'based', base, value });
  }

  /** Undefined where they are too many. */
  choice(values: Iterable<number>): number | undefined {
    const sorted = [...new Set(values)].sort((a, b) => a - b);
    if (sorted.length > MAX_CHOICES) return undefined;
    return sorted.length === 1 ? sorted[0] : this.#numberOf(sorted.join(), { kind: 'choice', values: sorted });
  }

  /** What is known of a value that is one of two; undefined: nothing. */
  either(a: number | undefined, b: number | undefined): number | undefined {
    if (a === b || a === undefined || b === undefined) return a === b ? a : undefined;
    const [one, other] = [this.noteOf(a), this.noteOf(b)];
    if (one?.kind === 'based' && other?.kind === 'based' && one.base === other.base) {
      return this.based(one.base, undefined);
    }
    const [left, right] = [this.#placesOf(a), this.#placesOf(b)];
    return left && right && this.choice([...left, ...right]);
  }

  /** All that a value may be; undefined where it may be anything. */
  valuesOf(value: number | undefined): readonly number[] | undefined {
    if (value === undefined) return undefined;
    const note = this.noteOf(value);
    if (note?.kind === 'choice') return note.values;
    const known = note ? note.value : value;
    return known === undefined || known !== (known | 0) ? undefined : [known];
  }

  #placesOf(value: number): readonly number[] | undefined {
    const values = this.valuesOf(value);
    return values?.every(this.#isPlace) ? values : undefined;
  }

  #numberOf(key: string, note: Note): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = FIRST_NOTE + this.#notes.push(note) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}
