/** Values of a hook while it is compiled: dwords that are known, or in registers. */
import { WavewrightError } from '../../base/errors.ts';
import type { PointLiteral, SymbolHalf } from '../layout/payload-code.ts';
import type { VirtualRegister } from '../machine/machine-code.ts';
import { high, low, type PayloadBuilder, type Placeholder, type RegisterPart } from '../machine/payload-builder.ts';

/** Of a register: text is one of the application's. */
type Where = RegisterPart | string;

/** A dword. */
export type Piece =
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'literal'; readonly literal: SymbolHalf | PointLiteral }
  | { readonly kind: 'scalar'; readonly where: Where }
  | { readonly kind: 'vector'; readonly where: Where }
  /** The number of lanes in a mask: vector instructions count bits without changing SCC. */
  | { readonly kind: 'popcount'; readonly mask: readonly Piece[] };

export const constantPiece = (value: number): Piece => ({ kind: 'constant', value: value | 0 });
export const scalarPiece = (where: Where): Piece => ({ kind: 'scalar', where });
export const vectorPiece = (where: Where): Piece => ({ kind: 'vector', where });

/** Constants that need no literal (CDNA2 ISA 13.1, RDNA3 ISA 15.1). */
export const isInline = (value: number): boolean => value >= -16 && value <= 64;
const needsLiteral = (piece: Piece): boolean =>
  piece.kind === 'literal' || (piece.kind === 'constant' && !isInline(piece.value));

/** Puts pieces where instructions want them. */
export class Pieces {
  readonly #b: PayloadBuilder;

  constructor(b: PayloadBuilder) {
    this.#b = b;
  }

  /** As a source of a scalar instruction that has at most one literal; `first`: its other source. */
  salu(piece: Piece, first?: Piece): Placeholder {
    if (first && needsLiteral(first) && needsLiteral(piece)) return this.scalar(piece);
    switch (piece.kind) {
      case 'constant':
        return piece.value;
      case 'literal':
        return piece.literal;
      case 'scalar':
        return piece.where;
      default:
        return this.scalar(piece);
    }
  }

  /** In a scalar register. */
  scalar(piece: Piece): Where {
    const b = this.#b;
    if (piece.kind === 'scalar') return piece.where;
    if (piece.kind === 'vector') throw new WavewrightError('INTERNAL', 'a value of lanes is used for the whole wave');
    const register = b.scalar();
    if (piece.kind === 'popcount') {
      const { mask } = piece;
      if (mask.length > 1) b.emit`s_bcnt1_i32_b64 ${register}, ${this.scalarPair(mask)}`;
      else b.emit`s_bcnt1_i32_b32 ${register}, ${this.salu(mask[0]!)}`;
    } else b.emit`s_mov_b32 ${register}, ${this.salu(piece)}`;
    return low(register);
  }

  /** As the one source of a vector instruction that may be scalar, but no literal. */
  valu(piece: Piece): Placeholder {
    if (piece.kind === 'popcount' || needsLiteral(piece)) return this.vector(piece);
    return piece.kind === 'vector' ? piece.where : this.salu(piece);
  }

  /** In a vector register. */
  vector(piece: Piece): Where {
    if (piece.kind === 'vector') return piece.where;
    const register = this.#b.vector();
    this.toVector(low(register), piece);
    return low(register);
  }

  toVector(to: Where, piece: Piece): void {
    const b = this.#b;
    if (piece.kind === 'popcount') {
      const [first, second] = piece.mask.map((each) => (needsLiteral(each) ? this.scalar(each) : this.salu(each)));
      b.emit`v_bcnt_u32_b32 ${to}, ${first!}, 0`;
      if (second !== undefined) b.emit`v_bcnt_u32_b32 ${to}, ${second}, ${to}`;
    } else b.emit`v_mov_b32 ${to}, ${piece.kind === 'vector' ? piece.where : this.salu(piece)}`;
  }

  /** As neighbours, for instructions of 64 bits. */
  scalarPair(pieces: readonly Piece[]): VirtualRegister | string {
    const whole = pairOf(pieces, 'scalar');
    if (whole !== undefined) return whole;
    const pair = this.#b.scalar(2);
    this.#b.emit`s_mov_b32 ${low(pair)}, ${this.salu(pieces[0]!)}`;
    this.#b.emit`s_mov_b32 ${high(pair)}, ${this.salu(pieces[1]!)}`;
    return pair;
  }

  vectorPair(pieces: readonly Piece[]): VirtualRegister | string {
    const whole = pairOf(pieces, 'vector');
    if (whole !== undefined) return whole;
    const pair = this.#b.vector(2);
    this.toVector(low(pair), pieces[0]!);
    this.toVector(high(pair), pieces[1]!);
    return pair;
  }
}

/** Both dwords of one virtual register. */
export function pairOf(pieces: readonly Piece[], kind: 'scalar' | 'vector'): VirtualRegister | undefined {
  const [first, second] = pieces;
  if (first?.kind !== kind || second?.kind !== kind) return undefined;
  if (typeof first.where === 'string' || typeof second.where === 'string') return undefined;
  const { register, firstDword } = first.where;
  const isWhole = register.dwords === 2 && firstDword === 0 && second.where.register === register;
  return isWhole && second.where.firstDword === 1 ? register : undefined;
}
