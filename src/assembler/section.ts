/** A section that is being filled. */
import {
  SHF_ALLOC,
  SHF_EXCLUDE,
  SHF_EXECINSTR,
  SHF_GNU_RETAIN,
  SHF_GROUP,
  SHF_LINK_ORDER,
  SHF_MERGE,
  SHF_STRINGS,
  SHF_WRITE,
  SHT_NOBITS,
  SHT_NOTE,
  SHT_PROGBITS,
} from '../elf/constants.ts';
import type { Expression } from '../isa/amdgpu/text/reader/expression.ts';
import type { AssemblyLine } from './source.ts';

/** A field whose value is known at the end. */
export interface FieldFixup {
  readonly offset: number;
  /** `literal` and `branch` belong to instructions; a number is the size of a data field. */
  readonly kind: 'literal' | 'branch' | 1 | 2 | 4 | 8 | Leb128Field;
  readonly expression: Expression;
  readonly line: AssemblyLine;
}

/** A number in LEB128 that was not known where it stands. */
export interface Leb128Field {
  readonly isSigned: boolean;
  readonly ordinal: number;
  readonly sizeBytes: number;
}

/** What tells sections of one name apart, and ties them together. */
export interface SectionIdentity {
  /** The symbol that names the group. */
  readonly group?: string;
  /** Of the groups of one name in all objects, one is linked. */
  readonly isComdat?: boolean;
  readonly unique?: number;
  /** The symbol in whose section's order it is linked. */
  readonly linkedTo?: string;
}

/** Letters in the flags of `.section`; threads are not supported. */
export const SECTION_FLAGS: Readonly<Record<string, bigint>> = {
  w: SHF_WRITE,
  a: SHF_ALLOC,
  x: SHF_EXECINSTR,
  M: SHF_MERGE,
  S: SHF_STRINGS,
  e: SHF_EXCLUDE,
  o: SHF_LINK_ORDER,
  G: SHF_GROUP,
  R: SHF_GNU_RETAIN,
};

export const SECTION_TYPES: Readonly<Record<string, number>> = {
  progbits: SHT_PROGBITS,
  nobits: SHT_NOBITS,
  note: SHT_NOTE,
  init_array: 14,
  fini_array: 15,
  preinit_array: 16,
};

interface SectionKind {
  readonly pattern: RegExp;
  readonly type: number;
  readonly flags: bigint;
}

/** What a section is by its name when nothing is said. */
const KINDS: readonly SectionKind[] = [
  { pattern: /^\.text(\.|$)/, type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_EXECINSTR },
  { pattern: /^\.(init|fini)$/, type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_EXECINSTR },
  { pattern: /^\.rodata(\.|$|1$)/, type: SHT_PROGBITS, flags: SHF_ALLOC },
  { pattern: /^\.data(\.|$|1$)/, type: SHT_PROGBITS, flags: SHF_ALLOC | SHF_WRITE },
  { pattern: /^\.bss(\.|$)/, type: SHT_NOBITS, flags: SHF_ALLOC | SHF_WRITE },
  { pattern: /^\.init_array(\.|$)/, type: 14, flags: SHF_ALLOC | SHF_WRITE },
  { pattern: /^\.fini_array(\.|$)/, type: 15, flags: SHF_ALLOC | SHF_WRITE },
  { pattern: /^\.preinit_array(\.|$)/, type: 16, flags: SHF_ALLOC | SHF_WRITE },
  { pattern: /^\.note/, type: SHT_NOTE, flags: 0n },
];

export function usualKind(name: string): { readonly type: number; readonly flags: bigint } {
  return KINDS.find(({ pattern }) => pattern.test(name)) ?? { type: SHT_PROGBITS, flags: 0n };
}

export class AssembledSection {
  readonly name: string;
  readonly type: number;
  readonly flags: bigint;
  readonly entrySizeBytes: number;
  readonly identity: SectionIdentity;
  alignmentBytes = 1;
  readonly fixups: FieldFixup[] = [];
  #bytes = new Uint8Array(256);
  #sizeBytes = 0;

  constructor(name: string, type: number, flags: bigint, entrySizeBytes = 0, identity: SectionIdentity = {}) {
    this.name = name;
    this.type = type;
    this.flags = flags;
    this.entrySizeBytes = entrySizeBytes;
    this.identity = identity;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get isCode(): boolean {
    return (this.flags & SHF_EXECINSTR) !== 0n;
  }

  get isMergeable(): boolean {
    return (this.flags & SHF_MERGE) !== 0n;
  }

  get hasBytes(): boolean {
    return this.type !== SHT_NOBITS;
  }

  get bytes(): Uint8Array {
    return this.hasBytes ? this.#bytes.subarray(0, this.#sizeBytes) : new Uint8Array(0);
  }

  append(bytes: Uint8Array): void {
    const end = this.#sizeBytes + bytes.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#sizeBytes));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#sizeBytes);
    this.#sizeBytes = end;
  }

  /** Little-endian. */
  appendNumber(value: bigint, sizeBytes: 1 | 2 | 4 | 8): void {
    this.append(littleEndian(value, sizeBytes));
  }

  /** Overwrites what is there. */
  patch(offset: number, value: bigint, sizeBytes: 1 | 2 | 4 | 8): void {
    this.patchBytes(offset, littleEndian(value, sizeBytes));
  }

  patchBytes(offset: number, bytes: Uint8Array): void {
    this.#bytes.set(bytes, offset);
  }
}

/** Where the tables go that are made at the end of the file. */
export interface SectionOutput {
  /** The section that is filled. */
  current: AssembledSection;
  /** The line that errors are about. */
  line: AssemblyLine;
  section(name: string, type?: number, flags?: bigint, entrySizeBytes?: number): AssembledSection;
  append(bytes: Uint8Array): void;
  appendZeros(count: number): void;
  /** Puts a field of `sizeBytes` there; what is not known yet is filled in at the end. */
  appendValue(expression: Expression, sizeBytes: 1 | 2 | 4 | 8): void;
  /** The address of a place, of which the linker knows more. */
  appendPlace(section: AssembledSection, offset: number, sizeBytes: 4 | 8): void;
  defineLabel(name: string): void;
}

export function littleEndian(value: bigint, sizeBytes: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt.asUintN(64, value), true);
  return bytes.subarray(0, sizeBytes);
}
