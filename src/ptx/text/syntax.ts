/**
 * What a PTX text says, as it was written: PTX ISA chapters 4, 5 and 11. Offsets are places in the text;
 * a printed module that is parsed again differs in them alone.
 */

/** A number with the type that C gives it: 64 bits, signed or unsigned; or a float's exact pattern. */
export type Constant =
  | { readonly kind: 'integer'; readonly value: bigint; readonly isUnsigned: boolean }
  | { readonly kind: 'float'; readonly bits: bigint; readonly sizeBits: 32 | 64 };

/** `name`, with the component `.x` of a special register or vector, if any; or an address of a variable. */
export interface NameOperand {
  readonly kind: 'name';
  readonly name: string;
  readonly component: string | undefined;
  /** Added to the address of the variable. */
  readonly addend: bigint;
  /** `!`: the opposite of a predicate. */
  readonly isNegated: boolean;
  /** `d|p`: the second destination. */
  readonly pair: string | undefined;
  readonly offset: number;
}

export interface AddressOperand {
  readonly kind: 'address';
  /** Register or variable; undefined where the address is a number. */
  readonly base: string | undefined;
  readonly addend: bigint;
  /** Of a texture or a tensor: what stands behind its name. */
  readonly coordinates: readonly (NameOperand | ConstantOperand | VectorOperand)[];
  readonly offset: number;
}

export interface ConstantOperand {
  readonly kind: 'constant';
  readonly constant: Constant;
  readonly offset: number;
}

/** `{a, b}`; `_` is a name. */
export interface VectorOperand {
  readonly kind: 'vector';
  readonly elements: readonly (NameOperand | ConstantOperand)[];
  readonly offset: number;
}

/** `(a, b)` of a call. */
export interface ListOperand {
  readonly kind: 'list';
  readonly elements: readonly (NameOperand | ConstantOperand)[];
  readonly offset: number;
}

export type PtxOperand = NameOperand | AddressOperand | ConstantOperand | VectorOperand | ListOperand;

export interface PtxGuard {
  readonly register: string;
  readonly isNegated: boolean;
}

export interface PtxInstruction {
  readonly kind: 'instruction';
  readonly guard: PtxGuard | undefined;
  /** With its modifiers: `ld.global.u32`. */
  readonly opcode: string;
  readonly operands: readonly PtxOperand[];
  readonly offset: number;
}

export interface PtxLabel {
  readonly kind: 'label';
  readonly name: string;
  readonly offset: number;
}

/** `.reg .b32 %r<5>;` declares %r0 to %r4; `count` is undefined for a name alone. */
export interface RegisterDeclaration {
  readonly kind: 'registers';
  /** With its dot. */
  readonly type: string;
  /** `.v2`, `.v4`. */
  readonly vector: string | undefined;
  readonly names: readonly { readonly name: string; readonly count: number | undefined }[];
  readonly offset: number;
}

/** An element of an initialiser. `mask`: `0xFF(address)`, the byte of the address that the mask selects. */
export type Initializer =
  | { readonly kind: 'constant'; readonly constant: Constant }
  | {
      readonly kind: 'address';
      readonly name: string;
      readonly addend: bigint;
      readonly isGeneric: boolean;
      readonly mask: bigint | undefined;
      readonly offset: number;
    }
  | { readonly kind: 'list'; readonly elements: readonly Initializer[] };

/** A variable, or a parameter. */
export interface Variable {
  readonly kind: 'variable';
  /** `.extern`, `.visible`, `.weak`, `.common`. */
  readonly linkage: string | undefined;
  /** `.global`, `.const`, `.shared`, `.local`, `.param`, `.tex`, `.reg`. */
  readonly space: string;
  readonly alignmentBytes: number | undefined;
  readonly vector: string | undefined;
  readonly type: string;
  /** `.ptr` of a kernel's parameter: what it points to. */
  readonly pointer: { readonly space: string | undefined; readonly alignmentBytes: number | undefined } | undefined;
  /** `.attribute(.managed)`: the words between the parentheses. */
  readonly attributes: readonly string[];
  readonly name: string;
  /** Elements in each dimension; 0 where the text leaves it open: `name[]`. */
  readonly dimensions: readonly number[];
  readonly initializer: Initializer | undefined;
  readonly offset: number;
}

/** `.pragma "nounroll";`, `.loc`, `.file`, `.maxntid`: a word and what follows. */
export interface PtxDirective {
  readonly kind: 'directive';
  readonly name: string;
  readonly words: readonly string[];
  readonly offset: number;
}

/** `name: .callprototype (results) _ (parameters);` */
export interface Prototype {
  readonly kind: 'prototype';
  readonly name: string;
  readonly results: readonly Variable[];
  readonly parameters: readonly Variable[];
  readonly attributes: readonly PtxDirective[];
  readonly offset: number;
}

/** `name: .branchtargets L1, L2;` or `.calltargets`. */
export interface Targets {
  readonly kind: 'targets';
  readonly name: string;
  readonly directive: '.branchtargets' | '.calltargets';
  readonly targets: readonly string[];
  readonly offset: number;
}

export interface ScopeBlock {
  readonly kind: 'block';
  readonly statements: readonly Statement[];
  readonly offset: number;
}

export type Statement =
  | PtxInstruction
  | PtxLabel
  | RegisterDeclaration
  | Variable
  | PtxDirective
  | Prototype
  | Targets
  | ScopeBlock;

export interface PtxFunction {
  readonly kind: 'function';
  readonly linkage: string | undefined;
  readonly isEntry: boolean;
  readonly attributes: readonly string[];
  readonly results: readonly Variable[];
  readonly name: string;
  readonly parameters: readonly Variable[];
  /** `.maxntid 1, 1, 1`, `.noreturn`: each with its numbers. */
  readonly directives: readonly PtxDirective[];
  /** Undefined for a declaration. */
  readonly body: readonly Statement[] | undefined;
  readonly offset: number;
}

/** `.section .debug_info { .b8 1, 2; ... }`: lines of data and labels, as words. */
export interface DebugSection {
  readonly kind: 'section';
  readonly name: string;
  readonly lines: readonly (readonly string[])[];
  readonly offset: number;
}

/** `.alias f, g;`: f is another name of g. */
export interface Alias {
  readonly kind: 'alias';
  readonly name: string;
  readonly target: string;
  readonly offset: number;
}

export type Item = Variable | PtxFunction | DebugSection | Alias | PtxDirective;

export interface PtxModule {
  /** `.version 7.8` */
  readonly version: { readonly major: number; readonly minor: number };
  /** `sm_70`, then `debug` and the like. */
  readonly target: readonly string[];
  readonly addressSizeBits: 32 | 64;
  /** Where that is said; where it is not, the version. */
  readonly offset: number;
  readonly items: readonly Item[];
}
