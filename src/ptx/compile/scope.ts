/** What names mean in a function: registers, variables and what the module declares. */

import { dwordsOfType, elementsOfType, type PtxType } from '../machine/types.ts';
import type { PtxSource } from '../text/source.ts';
import type { RegisterDeclaration, Targets } from '../text/syntax.ts';
import type { FunctionRegister } from './lir.ts';
import type { CallSignature } from './signature.ts';

export interface DeclaredRegister {
  readonly register: FunctionRegister;
  readonly type: PtxType;
}

/** A function. `isOwn`: the module defines it, and no other module can. */
export interface Callable {
  readonly signature: CallSignature;
  readonly isOwn: boolean;
}

/** A variable with its place. `frame`: in the lane's private memory, from the start of the frame. */
export type NamePlace =
  | { readonly kind: 'register'; readonly declared: DeclaredRegister }
  | { readonly kind: 'vector'; readonly elements: readonly DeclaredRegister[] }
  | { readonly kind: 'frame'; readonly offset: number; readonly sizeBytes: number }
  | { readonly kind: 'parameter'; readonly offset: number }
  | { readonly kind: 'shared'; readonly offset: number }
  | { readonly kind: 'symbol'; readonly name: string; readonly called?: Callable | undefined }
  | { readonly kind: 'prototype'; readonly signature: CallSignature }
  | { readonly kind: 'targets'; readonly targets: Targets };

/** Names that a module gives to all of its functions. */
export type ModuleNames = ReadonlyMap<string, NamePlace>;

/** Registers of a function at most: hostile text declares many with few words. */
const MAX_REGISTERS = 2 ** 22;

/** A range such as `%r<14>`: its registers get numbers when they are used. */
interface Range {
  readonly type: PtxType;
  /** Elements of each; undefined where they are no vectors. */
  readonly length: number | undefined;
  readonly count: number;
}

const ZERO_CODE = 0x30;
const NINE_CODE = 0x39;
const isDigit = (code: number): boolean => code >= ZERO_CODE && code <= NINE_CODE;

/** One pair of braces; names of those around it are seen, too. */
export class Scope {
  readonly #source: PtxSource;
  readonly #outer: Scope | ModuleNames;
  readonly #names = new Map<string, NamePlace>();
  readonly #ranges = new Map<string, Range>();
  readonly #registers: DeclaredRegister[];

  /** `registers`: those of the function so far. */
  constructor(source: PtxSource, outer: Scope | ModuleNames, registers: DeclaredRegister[]) {
    this.#source = source;
    this.#outer = outer;
    this.#registers = registers;
  }

  inner(): Scope {
    return new Scope(this.#source, this, this.#registers);
  }

  declareRegisters({ type: text, vector, names, offset }: RegisterDeclaration): void {
    const elements = elementsOfType(text, vector);
    if (!elements || (elements.length !== undefined && elements.length > 4)) {
      throw this.#source.error(offset, `registers of type ${vector ?? ''}${text}`, 'UNSUPPORTED');
    }
    const { type, length } = elements;
    for (const { name, count } of names) {
      if (count !== undefined) this.#ranges.set(name, { type, length, count });
      else this.#names.set(name, this.#placeOf(type, length, offset));
    }
  }

  /** New registers. */
  #placeOf(type: PtxType, length: number | undefined, offset: number): NamePlace {
    if (length === undefined) return { kind: 'register', declared: this.#register(type, offset) };
    return { kind: 'vector', elements: Array.from({ length }, () => this.#register(type, offset)) };
  }

  define(name: string, place: NamePlace): void {
    this.#names.set(name, place);
  }

  #register(type: PtxType, offset: number): DeclaredRegister {
    const id = this.#registers.length;
    if (id >= MAX_REGISTERS) throw this.#source.error(offset, 'too many registers', 'LIMIT_EXCEEDED');
    const declared: DeclaredRegister = { register: { kind: 'virtual', id, dwords: dwordsOfType(type) }, type };
    this.#registers.push(declared);
    return declared;
  }

  /** A register that the text does not name. */
  temporary(type: PtxType): DeclaredRegister {
    return this.#register(type, 0);
  }

  find(name: string): NamePlace | undefined {
    const known = this.#names.get(name) ?? this.#inRange(name);
    if (known) return known;
    return this.#outer instanceof Scope ? this.#outer.find(name) : this.#outer.get(name);
  }

  #inRange(name: string): NamePlace | undefined {
    if (this.#ranges.size === 0) return undefined;
    let first = name.length;
    while (first > 0 && isDigit(name.charCodeAt(first - 1))) first--;
    const split = this.#rangeOf(name, first);
    if (!split) return undefined;
    const place = this.#placeOf(split.type, split.length, 0);
    this.#names.set(name, place);
    return place;
  }

  /** The digits of a stem that ends in some belong to either: `%a1<5>` declares %a10. */
  #rangeOf(name: string, first: number): Range | undefined {
    for (let end = first; end < name.length; end++) {
      const isLeading = name.charCodeAt(end) === ZERO_CODE && end + 1 < name.length;
      const range = isLeading ? undefined : this.#ranges.get(name.slice(0, end));
      if (range && Number(name.slice(end)) < range.count) return range;
    }
    return undefined;
  }
}
