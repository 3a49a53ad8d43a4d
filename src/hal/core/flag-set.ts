/** Sets of named bits: names for programs, numbers as IREE's files and tools have them. */
import { hex } from '../../base/text.ts';
import { invalidArgument } from './status.ts';

/** What a parameter of flags takes: names, of which one may stand for several bits, or a set. */
export type FlagInput<Name extends string> = Name | readonly Name[] | FlagSet<Name>;

/** The bits of one kind of flags, by name; a name may have several bits. */
export class FlagTable<Name extends string> {
  readonly what: string;
  readonly bits: Readonly<Record<Name, number>>;
  /** Sets of one name, which every operation asks for. */
  readonly #single = new Map<unknown, FlagSet<Name>>();

  /** `what`: what errors call such a flag. */
  constructor(what: string, bits: Readonly<Record<Name, number>>) {
    this.what = what;
    this.bits = bits;
  }

  get names(): Name[] {
    return Object.keys(this.bits) as Name[]; // reason: the keys are the names by the type of `bits`
  }

  /** Throws INVALID_ARGUMENT for a name that is not in the table. */
  set(input: FlagInput<Name>): FlagSet<Name> {
    if (input instanceof FlagSet) return input;
    const known = this.#single.get(input);
    if (known !== undefined) return known;
    let bits = 0;
    for (const name of [input].flat() as Name[]) {
      if (!Object.hasOwn(this.bits, name)) {
        throw invalidArgument(`no ${this.what} '${name}', expected ${this.names.join(', ')}`);
      }
      bits |= this.bits[name];
    }
    const set = new FlagSet(this, bits);
    if (typeof input === 'string') this.#single.set(input, set);
    return set;
  }

  /** Throws INVALID_ARGUMENT for bits that have no name. */
  ofBits(bits: number): FlagSet<Name> {
    const known = this.names.reduce((all, name) => all | this.bits[name], 0);
    if ((bits & ~known) !== 0) throw invalidArgument(`${this.what} ${hex(bits >>> 0)} has bits without a name`);
    return new FlagSet(this, bits);
  }
}

export class FlagSet<Name extends string> implements Iterable<Name> {
  readonly bits: number;
  readonly #table: FlagTable<Name>;

  /** Use `FlagTable`. */
  constructor(table: FlagTable<Name>, bits: number) {
    this.#table = table;
    this.bits = bits;
  }

  /** Whether all bits of `flags` are in. */
  has(flags: FlagInput<Name>): boolean {
    const { bits } = this.#table.set(flags);
    return (this.bits & bits) === bits;
  }

  /** Whether some bit of `flags` is in. */
  hasAny(flags: FlagInput<Name>): boolean {
    return (this.bits & this.#table.set(flags).bits) !== 0;
  }

  with(flags: FlagInput<Name>): FlagSet<Name> {
    return new FlagSet(this.#table, this.bits | this.#table.set(flags).bits);
  }

  without(flags: FlagInput<Name>): FlagSet<Name> {
    return new FlagSet(this.#table, this.bits & ~this.#table.set(flags).bits);
  }

  /** Names whose bits are in, but for those that a name of more bits stands for already. */
  *[Symbol.iterator](): IterableIterator<Name> {
    const present = this.#table.names.filter((name) => this.bits !== 0 && this.has(name));
    const bitsOf = (name: Name): number => this.#table.bits[name];
    const isCovered = (name: Name) =>
      present.some((other) => bitsOf(other) !== bitsOf(name) && (bitsOf(other) & bitsOf(name)) === bitsOf(name));
    for (const name of present) if (!isCovered(name)) yield name;
  }

  toString(): string {
    return [...this].join('|') || 'none';
  }

  toJSON(): Name[] {
    return [...this];
  }
}
