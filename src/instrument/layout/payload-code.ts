/** Code of payloads, as the points that have the same in the same registers share it. */
import { WavewrightError } from '../../base/errors.ts';
import { DWORD_BYTES, displacement } from './branches.ts';

/** Of an address of 64 bits. */
export type Half = 'low' | 'high';

/** A place in a payload that its branches lead to. */
export interface PayloadLabel {
  readonly name: string;
}

/** A literal whose value is known when the code is loaded: half of the address of a symbol and more. */
export interface SymbolHalf {
  readonly half: Half;
  /** Undefined: that of the point. */
  readonly symbol: string | undefined;
  /** Bytes from the symbol on; those of a point literal differ from point to point. */
  readonly addend: number | PointLiteral;
}

/** A number that differs from point to point, by its place among those of a point: one payload serves all. */
export interface PointLiteral {
  readonly pointLiteral: number;
}

export type PayloadItem =
  | {
      readonly kind: 'instruction';
      /** All dwords, with the literal if there is one. */
      readonly words: readonly number[];
      /** What the literal becomes. */
      readonly literal?: SymbolHalf | PointLiteral;
      readonly endsFlow?: undefined;
      readonly isGlued?: undefined;
    }
  | { readonly kind: 'label'; readonly label: PayloadLabel }
  | {
      readonly kind: 'branch';
      readonly words: readonly number[];
      readonly target: PayloadLabel;
      /** Control never goes on behind it. */
      readonly endsFlow: boolean;
      readonly isGlued?: undefined;
    };

/** A literal to fill in. */
export interface PayloadFixup {
  /** Bytes from the beginning of the code to the literal. */
  readonly at: number;
  readonly literal: SymbolHalf | PointLiteral;
}

/** It is made once, and copied to each point. Control enters at its first byte and leaves behind the last. */
export class PayloadCode {
  readonly items: readonly PayloadItem[];
  /** With the displacements of branches; literals that differ from point to point are any number. */
  readonly bytes: Uint8Array;
  /** Of each instruction. */
  readonly sizesBytes: readonly number[];
  readonly fixups: readonly PayloadFixup[];

  /** Throws UNSUPPORTED where a branch does not reach its label. */
  constructor(items: readonly PayloadItem[]) {
    this.items = items;
    const places = new Map<PayloadLabel, number>();
    const [sizesBytes, fixups]: [number[], PayloadFixup[]] = [[], []];
    let end = 0;
    for (const item of items) {
      if (item.kind === 'label') {
        places.set(item.label, end);
        continue;
      }
      const sizeBytes = item.words.length * DWORD_BYTES;
      end += sizeBytes;
      sizesBytes.push(sizeBytes);
      if (item.kind === 'instruction' && item.literal) fixups.push({ at: end - DWORD_BYTES, literal: item.literal });
    }
    this.sizesBytes = sizesBytes;
    this.fixups = fixups;
    this.bytes = new Uint8Array(end);
    this.#write(places);
  }

  #write(places: ReadonlyMap<PayloadLabel, number>): void {
    const view = new DataView(this.bytes.buffer);
    let at = 0;
    for (const item of this.items) {
      if (item.kind === 'label') continue;
      const start = at;
      for (const word of item.words) {
        view.setUint32(at, word, true);
        at += DWORD_BYTES;
      }
      if (item.kind === 'branch') view.setUint16(start, displacementOf(item.target, at, places), true);
    }
  }
}

function displacementOf(label: PayloadLabel, behind: number, places: ReadonlyMap<PayloadLabel, number>): number {
  const target = places.get(label);
  const field = target === undefined ? undefined : displacement(behind, target);
  if (field !== undefined) return field;
  throw new WavewrightError('UNSUPPORTED', `a payload whose branch does not reach '${label.name}'`);
}
