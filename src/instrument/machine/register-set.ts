/** Sets of registers of one file. */

const WORD_BITS = 32;
const WORDS = 8;

/** Registers 0 to 255 of a file. */
export class RegisterSet {
  readonly #words = new Uint32Array(WORDS);

  /** The registers from `first` to before `end`. */
  static range(first: number, end: number): RegisterSet {
    const set = new RegisterSet();
    set.addRange(first, end);
    return set;
  }

  get isEmpty(): boolean {
    return this.#words.every((word) => word === 0);
  }

  get size(): number {
    let size = 0;
    for (let register = 0; register < WORDS * WORD_BITS; register++) size += Number(this.has(register));
    return size;
  }

  clear(): void {
    this.#words.fill(0);
  }

  /** The set becomes those of `of` whose bit is 0; bit 0 of word `first` is that of register 0. */
  assignAbsent(words: Int32Array, first: number, of: RegisterSet): void {
    for (let i = 0; i < WORDS; i++) this.#words[i] = ~words[first + i]! & of.#words[i]!;
  }

  /** Adds those of `of` whose bit is 0. */
  addAbsent(words: Int32Array, first: number, of: RegisterSet): void {
    for (let i = 0; i < WORDS; i++) this.#words[i]! |= ~words[first + i]! & of.#words[i]!;
  }

  /** Leaves those whose bit is 0, and those that are in `others`. */
  keepAbsent(words: Int32Array, first: number, others: RegisterSet): void {
    for (let i = 0; i < WORDS; i++) this.#words[i]! &= ~words[first + i]! | others.#words[i]!;
  }

  copy(other: RegisterSet): void {
    for (let i = 0; i < WORDS; i++) this.#words[i] = other.#words[i]!;
  }

  has(register: number): boolean {
    return ((this.#words[register >>> 5]! >>> (register & 31)) & 1) === 1;
  }

  addAt(register: number): void {
    this.#words[register >>> 5]! |= 1 << (register & 31);
  }

  addRange(first: number, end: number): void {
    for (let register = first; register < end; register++) this.addAt(register);
  }

  removeRange(first: number, end: number): void {
    for (let register = first; register < end; register++) this.#words[register >>> 5]! &= ~(1 << (register & 31));
  }

  add(other: RegisterSet): void {
    for (let i = 0; i < WORDS; i++) this.#words[i]! |= other.#words[i]!;
  }

  remove(other: RegisterSet): void {
    for (let i = 0; i < WORDS; i++) this.#words[i]! &= ~other.#words[i]!;
  }

  keep(other: RegisterSet): void {
    for (let i = 0; i < WORDS; i++) this.#words[i]! &= other.#words[i]!;
  }

  /** The first of `count` neighbours, at a multiple of `alignment`; -1 where there are none. */
  find(count: number, alignment: number): number {
    let register = 0;
    while (register + count <= WORDS * WORD_BITS) {
      const word = this.#words[register >>> 5]! >>> (register & 31);
      if (word === 0) {
        register = (register | (WORD_BITS - 1)) + 1;
        continue;
      }
      register += WORD_BITS - 1 - Math.clz32(word & -word);
      const aligned = alignment === 1 ? register : Math.ceil(register / alignment) * alignment;
      if (aligned === register && this.#hasAll(register, count)) return register;
      register = Math.max(aligned, register + 1);
    }
    return -1;
  }

  #hasAll(first: number, count: number): boolean {
    if (first + count > WORDS * WORD_BITS) return false;
    for (let register = first; register < first + count; register++) if (!this.has(register)) return false;
    return true;
  }
}
