/**
 * Code without a place: what rewriting makes of functions and payloads, and what `layOutCode` makes bytes of.
 *
 * An *image address* is an address in the address space of a code object's own file. A *point* is an original
 * instruction, by its image address.
 */
import { DWORD_BYTES } from './branches.ts';
import type { Half, PayloadCode, PayloadItem } from './payload-code.ts';

/** A place in code that is not known before it is laid out; labels are told apart by identity. */
export class Label {
  /** For messages alone. */
  readonly name: string;

  constructor(name = '') {
    this.name = name;
  }
}

/** What `LiteralFixup` and relocations name: a symbol of the new code object, and bytes from it. */
export interface SymbolPlace {
  readonly symbol: string;
  readonly addend: number;
}

/** What becomes of the literal of an instruction, its last dword. */
export type LiteralFixup =
  /**
   * Half of the loaded address of a symbol: the loader writes it (R_AMDGPU_ABS32_LO, R_AMDGPU_ABS32_HI), so
   * it needs neither SCC nor a register.
   */
  | ({ readonly kind: 'absolute'; readonly half: Half } & SymbolPlace)
  /**
   * Half of `target` minus the place of `from`, which stands behind an s_getpc_b64. A number is an image
   * address and means just that one, whatever became of the code there.
   */
  | {
      readonly kind: 'relative';
      readonly half: Half;
      readonly from: Label;
      readonly target: Label | number | NewCodeOf;
    };

/**
 * Where control goes that comes to an original address from outside of its code: the label that says so, else
 * the one with this `origin`; the original address where there is none.
 */
export interface NewCodeOf {
  readonly origin: number;
}

/** What a payload has at one point and not elsewhere; asked for when the code gets its bytes. */
export interface PointValues {
  readonly literals: readonly number[];
  /** The symbol that literals name which name none. */
  readonly symbol?: string;
}

/** Whose an item is, for the map between new and old addresses. */
interface Owned {
  /** Image address of the original instruction that this is; undefined: it is payload or filler. */
  readonly origin?: number;
  /** Image address of the original instruction that a payload serves, or behind which the way goes on. */
  readonly point?: number;
  /** Keeps control on the way that it had in the original code: neither original nor payload. */
  readonly keepsWay?: boolean;
  /** Control never goes on behind the item: branch islands may stand there. */
  readonly endsFlow?: boolean;
  /** The next item has to follow at once: no branch island may stand between. */
  readonly isGlued?: boolean;
}

export type CodeItem =
  | ({
      readonly kind: 'instruction';
      /** All dwords, with the literal if there is one. */
      readonly words: readonly number[];
      readonly fixup?: LiteralFixup;
    } & Owned)
  | {
      readonly kind: 'label';
      readonly label: Label;
      /**
       * Original image address whose control comes here: what branches to it by number goes to this place. It
       * stands before what is to run before the instruction.
       */
      readonly origin?: number;
      /** Original image address that control from outside comes to by this place. */
      readonly outsideOf?: number;
    }
  /**
   * A direct branch: the format SOPP or SOPK with a label in the low 16 bits of its first dword, which is
   * filled in. A number is an original image address: the label with this `origin`, or the original code
   * where there is none.
   */
  | ({ readonly kind: 'branch'; readonly words: readonly number[]; readonly target: Label | number } & Owned)
  /** Code that serves `point`. */
  | { readonly kind: 'payload'; readonly code: PayloadCode; readonly hook: PointValues; readonly point: number }
  /** The next item stands at a multiple of `sizeBytes`; what is skipped is filled with s_nop. */
  | { readonly kind: 'align'; readonly sizeBytes: number };

/** One instruction. */
export type InstructionItem = Extract<CodeItem, { readonly words: readonly number[] }>;

/** An item that becomes code. */
export type PlacedItem = InstructionItem | Extract<CodeItem, { readonly kind: 'payload' }>;

export const becomesCode = (item: CodeItem): item is PlacedItem => item.kind !== 'label' && item.kind !== 'align';

export const sizeBytesOf = (item: PlacedItem): number =>
  item.kind === 'payload' ? item.code.bytes.length : item.words.length * DWORD_BYTES;

/** Payloads come back, and something may stand behind them. */
export const endsFlow = (item: CodeItem | PayloadItem): boolean =>
  (item.kind === 'instruction' || item.kind === 'branch') && item.endsFlow === true;
export const isGlued = (item: CodeItem | PayloadItem): boolean =>
  (item.kind === 'instruction' || item.kind === 'branch') && item.isGlued === true;

/** What tools add; what laying out code adds by itself is none. */
export const isPayload = (item: CodeItem): boolean =>
  item.kind === 'payload' ||
  (becomesCode(item) && item.origin === undefined && item.point !== undefined && !item.keepsWay);
