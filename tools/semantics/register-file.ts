/** Registers by the names of recordings. */
import { dwordsOfHex, hexOfDwords, type Registers } from '../../test/semantics/recorded.ts';

export class RegisterFile {
  readonly #values = new Map<string, number[]>();

  constructor(registers: Registers) {
    for (const [name, text] of Object.entries(registers)) this.#values.set(name, dwordsOfHex(text));
  }

  /** A dword; lanes and registers that are not given are 0. A single value counts for all columns. */
  get(name: string, column = 0): bigint {
    const values = this.#values.get(name);
    if (!values) return 0n;
    const isPerLane = /^[avp]/.test(name);
    return BigInt(values[isPerLane ? column : Math.min(column, values.length - 1)] ?? 0);
  }

  set(name: string, column: number, value: bigint): void {
    const values = this.#values.get(name) ?? [];
    this.#values.set(name, values);
    while (values.length <= column) values.push(values.length > 0 && !/^[avp]/.test(name) ? values[0]! : 0);
    values[column] = Number(BigInt.asUintN(32, value));
  }

  wide(names: readonly string[], column = 0): bigint {
    return names.reduce((all, name, i) => all | (this.get(name, column) << BigInt(32 * i)), 0n);
  }

  setWide(names: readonly string[], column: number, value: bigint): void {
    for (const [i, name] of names.entries()) this.set(name, column, value >> BigInt(32 * i));
  }

  mask(first: number): bigint {
    return this.wide([`s${first}`, `s${first + 1}`]);
  }

  get exec(): bigint {
    const [low, high] = this.#values.get('exec')!;
    return BigInt(low!) | (BigInt(high!) << 32n);
  }

  set exec(mask: bigint) {
    this.#values.set('exec', [Number(mask & 0xffffffffn), Number(mask >> 32n)]);
  }

  /** The first `columns` columns. */
  text(name: string, columns: number): string {
    if (name === 'exec') return hexOfDwords(this.#values.get('exec')!);
    return hexOfDwords(Array.from({ length: columns }, (_, i) => Number(this.get(name, i))));
  }

  copy(): RegisterFile {
    const other = new RegisterFile({});
    for (const [name, values] of this.#values) other.#values.set(name, [...values]);
    return other;
  }
}

/** Names of an operand's dwords. */
export const namesOf = (file: 's' | 'v' | 'a' | 'p', first: number, dwords: number): string[] =>
  Array.from({ length: dwords }, (_, i) => `${file}${first + i}`);
