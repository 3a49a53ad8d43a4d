/** Registers of the application, as a hook finds them. */
import { WavewrightError } from '../../base/errors.ts';
import { SGPR_M0, scalarText } from '../../isa/amdgpu/encoding/registers.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';
import { low, type PayloadBuilder, type RegisterPart } from '../machine/payload-builder.ts';
import { type Piece, type Pieces, scalarPiece, vectorPiece } from './pieces.ts';

const keyOf = ({ file, first }: PhysicalRange): string => `${file} ${first}`;

const M0: PhysicalRange = { file: 'scalar', first: SGPR_M0, dwords: 1 };

export class ApplicationRegisters {
  /** All that were asked for, as far as they have a number of their own. */
  readonly reads: PhysicalRange[] = [];
  readonly #b: PayloadBuilder;
  readonly #pieces: Pieces;
  /** Registers that the hook reads and changes, as they were at first. */
  readonly #copies = new Map<string, Piece>();
  /** By their places among the registers of a point. */
  readonly #named = new Map<number, Piece>();

  /** `copies`: what there is of SGPRs that the payload may have changed by now, by their number. */
  constructor(b: PayloadBuilder, pieces: Pieces, copies: ReadonlyMap<number, RegisterPart>) {
    this.#b = b;
    this.#pieces = pieces;
    for (const [first, copy] of copies)
      this.#copies.set(keyOf({ file: 'scalar', first, dwords: 1 }), scalarPiece(copy));
  }

  /** Keeps what a register has now for who reads it later. */
  keep(range: PhysicalRange): void {
    this.#copies.set(keyOf(range), this.#copy(range));
  }

  get m0(): Piece {
    return this.#copies.get(keyOf(M0)) ?? scalarPiece('m0');
  }

  /** Undefined where there is none. */
  copyOf(register: number): Piece | undefined {
    return this.#copies.get(keyOf({ file: 'scalar', first: register, dwords: 1 }));
  }

  read(range: PhysicalRange): Piece {
    this.reads.push(range);
    return this.#copies.get(keyOf(range)) ?? this.#physical(range);
  }

  /** One that each point names: `index` is its place among those of a point. */
  named(file: 'scalar' | 'vector', index: number): Piece {
    let piece = this.#named.get(index);
    if (!piece) {
      const where = low(this.#b.pointRegister(file, index));
      piece = file === 'scalar' ? scalarPiece(where) : vectorPiece(where);
      this.#named.set(index, piece);
    }
    return piece;
  }

  /** Throws USAGE for a number that no register has. */
  scalarName(register: number): string {
    const { scalars } = this.#b.code.target;
    const name = scalarText(register === SGPR_M0 ? scalars.m0 : register, 1, scalars);
    if (name !== undefined) return name;
    throw new WavewrightError('USAGE', `there is no scalar register ${register}`);
  }

  #physical({ file, first }: PhysicalRange): Piece {
    return file === 'scalar' ? scalarPiece(this.scalarName(first)) : vectorPiece(`v${first}`);
  }

  #copy(range: PhysicalRange): Piece {
    const piece = this.#physical(range);
    if (piece.kind === 'vector') {
      const copy = low(this.#b.vector());
      this.#pieces.toVector(copy, piece);
      return vectorPiece(copy);
    }
    const copy = low(this.#b.scalar());
    this.#b.emit`s_mov_b32 ${copy}, ${this.#pieces.salu(piece)}`;
    return scalarPiece(copy);
  }
}
