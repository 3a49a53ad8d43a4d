/** HookArithmetic of hooks: scalar instructions for what is uniform, vector instructions for the rest. */
import { assert, WavewrightError } from '../../base/errors.ts';
import type { VirtualRegister } from '../machine/machine-code.ts';
import {
  high,
  low,
  type PayloadBuilder,
  type Placeholder,
  part,
  type RegisterPart,
} from '../machine/payload-builder.ts';
import type {
  Bits,
  HookComparison,
  HookCondition,
  HookOperator,
  HookValue,
  Joined,
  ShiftOperator,
  Spread,
  Uniform,
} from './hook.ts';
import { constantPiece, type Piece, Pieces, scalarPiece, vectorPiece } from './pieces.ts';

/** A value as the compiler has it. */
export interface Compiled<S extends Spread, B extends Bits | 1> extends HookValue<S, B> {
  readonly pieces: readonly Piece[];
  /** Of a condition: how to find out, where that is not done yet. */
  readonly test?: Test;
}

type Test =
  | {
      readonly kind: 'compare';
      readonly comparison: HookComparison;
      readonly a: readonly Piece[];
      readonly b: readonly Piece[];
    }
  | { readonly kind: 'mask'; readonly mask: VirtualRegister };

/** The bits follow from the pieces. */
export const compiled = <S extends Spread, B extends Bits>(spread: S, pieces: readonly Piece[]): Compiled<S, B> => ({
  spread,
  // reason: callers ask for the width that they give pieces for.
  bits: (pieces.length * 32) as B,
  pieces,
});

// reason: all values of a hook that is compiled come from `compiled`.
const asCompiled = (value: HookValue): Compiled<Spread, Bits | 1> => value as Compiled<Spread, Bits | 1>;

/** How the result of two values is spread. */
export const joined = <A extends Spread, C extends Spread>(
  a: { readonly spread: A },
  b: { readonly spread: C },
): Joined<A, C> =>
  // reason: a comparison of two type parameters does not narrow a conditional type.
  (a.spread === 'lane' || b.spread === 'lane' ? 'lane' : 'uniform') as Joined<A, C>;
const isZero = (piece: Piece): boolean => piece.kind === 'constant' && piece.value === 0;

export const piecesOf = (value: HookValue): readonly Piece[] => asCompiled(value).pieces;

const SCALAR_NAMES: Readonly<Record<HookOperator | ShiftOperator, string>> = {
  ...{ add: 's_add_u32', sub: 's_sub_u32', and: 's_and_b32', or: 's_or_b32', xor: 's_xor_b32' },
  ...{ shl: 's_lshl_b32', shrU: 's_lshr_b32', shrS: 's_ashr_i32' },
};
const SCALAR_WIDE_SHIFTS: Readonly<Record<ShiftOperator, string>> = {
  ...{ shl: 's_lshl_b64', shrU: 's_lshr_b64', shrS: 's_ashr_i64' },
};
const SCALAR_CARRIES = { add: ['s_add_u32', 's_addc_u32'], sub: ['s_sub_u32', 's_subb_u32'] } as const;
/** The amount of shifts comes first. */
const VECTOR_NAMES: Readonly<Record<HookOperator | ShiftOperator, string>> = {
  ...{ add: 'v_add_u32', sub: 'v_sub_u32', and: 'v_and_b32', or: 'v_or_b32', xor: 'v_xor_b32' },
  ...{ shl: 'v_lshlrev_b32', shrU: 'v_lshrrev_b32', shrS: 'v_ashrrev_i32' },
};
const VECTOR_WIDE_SHIFTS: Readonly<Record<ShiftOperator, string>> = {
  ...{ shl: 'v_lshlrev_b64', shrU: 'v_lshrrev_b64', shrS: 'v_ashrrev_i64' },
};
const VECTOR_CARRIES = {
  add: ['v_add_co_u32_e64', 'v_addc_co_u32_e64'],
  sub: ['v_sub_co_u32_e64', 'v_subb_co_u32_e64'],
} as const;
const PRODUCTS = { low: ['s_mul_i32', 'v_mul_lo_u32'], high: ['s_mul_hi_u32', 'v_mul_hi_u32'] } as const;
const SCALAR_TESTS: Readonly<Record<HookComparison, string>> = {
  ...{ eq: 'eq_u32', ne: 'lg_u32', ltU: 'lt_u32', leU: 'le_u32', ltS: 'lt_i32', leS: 'le_i32' },
};
const VECTOR_TESTS: Readonly<Record<HookComparison, string>> = {
  ...{ eq: 'eq_u', ne: 'ne_u', ltU: 'lt_u', leU: 'le_u', ltS: 'lt_i', leS: 'le_i' },
};

export class HookArithmetic {
  readonly #b: PayloadBuilder;
  readonly #pieces: Pieces;

  constructor(b: PayloadBuilder, pieces: Pieces) {
    this.#b = b;
    this.#pieces = pieces;
  }

  maskPieces(mask: VirtualRegister): readonly Piece[] {
    return Array.from({ length: mask.dwords }, (_, i) => scalarPiece(part(mask, i)));
  }

  binary<S extends Spread, B extends Bits>(
    operator: HookOperator,
    a: HookValue<Spread, B>,
    b: HookValue<Spread, B>,
    spread: S,
  ): Compiled<S, B> {
    const [left, right] = [piecesOf(a), piecesOf(b)];
    const carries = operator === 'add' || operator === 'sub' ? operator : undefined;
    if (carries && left.length > 1) return compiled(spread, this.#wideSum(carries, left, right, spread));
    const isUniform = spread === 'uniform';
    const pieces = left.map((piece, i) =>
      isUniform
        ? this.#scalar(SCALAR_NAMES[operator], piece, right[i]!)
        : this.#vector(VECTOR_NAMES[operator], piece, right[i]!),
    );
    return compiled(spread, pieces);
  }

  multiply<S extends Spread>(
    half: 'low' | 'high',
    [a, b]: readonly [HookValue<Spread, 32>, HookValue<Spread, 32>],
    spread: S,
  ): Compiled<S, 32> {
    const [scalar, vector] = PRODUCTS[half];
    const [[left], [right]] = [piecesOf(a), piecesOf(b)];
    const piece = spread === 'uniform' ? this.#scalar(scalar, left!, right!) : this.#vector(vector, left!, right!);
    return compiled(spread, [piece]);
  }

  shift<S extends Spread, B extends Bits>(
    operator: ShiftOperator,
    value: HookValue<Spread, B>,
    amount: HookValue<Spread, 32>,
    spread: S,
  ): Compiled<S, B> {
    const [pieces, [by]] = [piecesOf(value), piecesOf(amount)];
    if (pieces.length === 1) {
      const piece =
        spread === 'uniform'
          ? this.#scalar(SCALAR_NAMES[operator], pieces[0]!, by!)
          : this.#vector(VECTOR_NAMES[operator], by!, pieces[0]!);
      return compiled(spread, [piece]);
    }
    if (spread === 'uniform') {
      const result = this.#b.scalar(2);
      const [source, count] = [this.#pieces.scalarPair(pieces), this.#pieces.salu(by!)];
      this.#b.emit`${SCALAR_WIDE_SHIFTS[operator]} ${result}, ${source}, ${count}`;
      return compiled(spread, this.maskPieces(result));
    }
    const [count, source] = [this.#pieces.valu(by!), this.#pieces.vectorPair(pieces)];
    const result = this.#b.vector(2);
    this.#b.emit`${VECTOR_WIDE_SHIFTS[operator]} ${result}, ${count}, ${source}`;
    return compiled(spread, [vectorPiece(low(result)), vectorPiece(high(result))]);
  }

  compare<S extends Spread>(
    comparison: HookComparison,
    a: HookValue,
    b: HookValue,
    spread: S,
  ): HookCondition<S> & { test: Test } {
    const test: Test = { kind: 'compare', comparison, a: piecesOf(a), b: piecesOf(b) };
    if (spread === 'uniform') return { spread, bits: 1, test };
    // Lanes are compared at once, while those are on that are to be compared.
    return { spread, bits: 1, test: { kind: 'mask', mask: this.#vectorTest(test) } };
  }

  /** SCC says whether a uniform condition holds. */
  toScc(condition: HookCondition): void {
    const { test } = asCompiled(condition);
    assert(test?.kind === 'compare', () => 'a uniform condition is a comparison');
    const { comparison, a, b } = test;
    if (a.length === 1) {
      const [left, right] = this.#sources(a[0]!, b[0]!);
      this.#b.emit`s_cmp_${SCALAR_TESTS[comparison]} ${left}, ${right}`;
    } else if (comparison === 'eq' || comparison === 'ne') this.#wideEquality(comparison, a, b);
    else this.#wideOrder(comparison, a, b);
  }

  #wideEquality(comparison: 'eq' | 'ne', a: readonly Piece[], b: readonly Piece[]): void {
    const test = comparison === 'eq' ? 'eq' : 'lg';
    if (isZero(a[1]!) && isZero(b[1]!)) {
      const [left, right] = this.#sources(a[0]!, b[0]!);
      this.#b.emit`s_cmp_${test}_u32 ${left}, ${right}`;
      return;
    }
    const [left, right] = [this.#pieces.scalarPair(a), b.every(isZero) ? 0 : this.#pieces.scalarPair(b)];
    this.#b.emit`s_cmp_${test}_u64 ${left}, ${right}`;
  }

  /** There is no order of 64 bits among scalar comparisons: what a subtraction borrows tells. */
  #wideOrder(comparison: HookComparison, a: readonly Piece[], b: readonly Piece[]): void {
    if (comparison === 'ltS' || comparison === 'leS') {
      throw new WavewrightError('UNSUPPORTED', 'signed order of uniform values of 64 bits');
    }
    const unused = this.#b.scalar();
    const [low, high] = [0, 1].map((i) => (comparison === 'ltU' ? [a[i]!, b[i]!] : [b[i]!, a[i]!]));
    const [first, second] = [this.#sources(low![0]!, low![1]!), this.#sources(high![0]!, high![1]!)];
    this.#b.emit`s_sub_u32 ${unused}, ${first[0]}, ${first[1]}`;
    this.#b.emit`s_subb_u32 ${unused}, ${second[0]}, ${second[1]}`;
    // a <= b where b - a borrows nothing.
    if (comparison === 'leU') {
      this.#b.emit`s_cselect_b32 ${unused}, 0, 1`;
      this.#b.emit`s_cmp_lg_u32 ${unused}, 0`;
    }
  }

  /** Whether a condition of lanes holds, in a bit for each; 0 for those that were off. */
  laneMask(condition: HookCondition): VirtualRegister {
    const { test } = asCompiled(condition);
    assert(test?.kind === 'mask', () => 'a condition of lanes is a mask');
    return test.mask;
  }

  #vectorTest({ comparison, a, b }: Extract<Test, { kind: 'compare' }>): VirtualRegister {
    const result = this.#b.mask();
    const name = `v_cmp_${VECTOR_TESTS[comparison]}${a.length * 32}_e64`;
    if (a.length === 1) {
      const [left, right] = [this.#pieces.valu(a[0]!), this.#pieces.vector(b[0]!)];
      this.#b.emit`${name} ${result}, ${left}, ${right}`;
    } else {
      const [left, right] = [this.#pieces.vectorPair(a), this.#pieces.vectorPair(b)];
      this.#b.emit`${name} ${result}, ${left}, ${right}`;
    }
    return result;
  }

  /** `exec`: of the lanes that are on, where a uniform condition chooses between values of lanes. */
  select<S extends Spread, B extends Bits>(
    condition: HookCondition,
    [a, b]: readonly [HookValue<Spread, B>, HookValue<Spread, B>],
    spread: S,
    exec: VirtualRegister | undefined,
  ): Compiled<S, B> {
    const [yes, no] = [piecesOf(a), piecesOf(b)];
    if (spread === 'uniform') {
      const sources = yes.map((piece, i) => this.#sources(piece, no[i]!));
      this.toScc(condition);
      return compiled(
        spread,
        sources.map(([left, right]) => {
          const result = this.#b.scalar();
          this.#b.emit`s_cselect_b32 ${result}, ${left}, ${right}`;
          return scalarPiece(low(result));
        }),
      );
    }
    const mask = exec ? this.#uniformMask(condition, exec) : this.laneMask(condition);
    // The mask is the scalar value that such an instruction may have (CDNA2 ISA 6.2.1).
    const pieces = yes.map((piece, i) => {
      const [left, right] = [this.#pieces.vector(no[i]!), this.#pieces.vector(piece)];
      const result = this.#b.vector();
      this.#b.emit`v_cndmask_b32_e64 ${result}, ${left}, ${right}, ${mask}`;
      return vectorPiece(low(result));
    });
    return compiled(spread, pieces);
  }

  #uniformMask(condition: HookCondition, exec: VirtualRegister): VirtualRegister {
    const mask = this.#b.mask();
    this.toScc(condition);
    this.#b.emit`s_cselect_${this.#b.maskBits} ${mask}, ${exec}, 0`;
    return mask;
  }

  /** Adds to physical registers. */
  count(names: readonly string[], value: HookValue<'uniform', Bits>): void {
    const pieces = piecesOf(value);
    names.forEach((name, i) => {
      const source = this.#pieces.salu(pieces[i] ?? constantPiece(0));
      this.#b.emit`${SCALAR_CARRIES.add[i]!} ${name}, ${name}, ${source}`;
    });
  }

  popcount<S extends Spread>(value: HookValue<S, Bits>): Compiled<S, 32> {
    const pieces = piecesOf(value);
    if (value.spread === 'uniform') {
      const [first, second] = pieces;
      const isNarrow = second === undefined || (second.kind === 'constant' && second.value === 0);
      return compiled(value.spread, [{ kind: 'popcount', mask: isNarrow ? [first!] : pieces }]);
    }
    const sources = pieces.map((piece) => this.#pieces.valu(piece));
    const result = this.#b.vector();
    sources.forEach((source, i) => {
      this.#b.emit`v_bcnt_u32_b32 ${result}, ${source}, ${i === 0 ? 0 : result}`;
    });
    return compiled(value.spread, [vectorPiece(low(result))]);
  }

  #sources(a: Piece, b: Piece) {
    return [this.#pieces.salu(a), this.#pieces.salu(b, a)] as const;
  }

  #scalar(name: string, a: Piece, b: Piece): Piece {
    const [left, right] = this.#sources(a, b);
    const result = this.#b.scalar();
    this.#b.emit`${name} ${result}, ${left}, ${right}`;
    return scalarPiece(low(result));
  }

  #vector(name: string, a: Piece, b: Piece): Piece {
    const [left, right] = [this.#pieces.valu(a), this.#pieces.vector(b)];
    const result = this.#b.vector();
    this.#b.emit`${name} ${result}, ${left}, ${right}`;
    return vectorPiece(low(result));
  }

  #wideSum(operator: 'add' | 'sub', a: readonly Piece[], b: readonly Piece[], spread: Spread): readonly Piece[] {
    if (spread === 'uniform') {
      const result = this.#b.scalar(2);
      const sources = [this.#sources(a[0]!, b[0]!), this.#sources(a[1]!, b[1]!)];
      sources.forEach(([left, right], i) => {
        this.#b.emit`${SCALAR_CARRIES[operator][i]!} ${part(result, i)}, ${left}, ${right}`;
      });
      return this.maskPieces(result);
    }
    const carry = this.#b.mask();
    const result = this.#b.vector(2);
    // The carry is the scalar value that the second instruction may have.
    const left = [this.#pieces.valu(a[0]!), this.#pieces.vector(a[1]!)];
    const right = b.map((piece) => this.#pieces.vector(piece));
    const [first, second] = VECTOR_CARRIES[operator];
    this.#b.emit`${first} ${low(result)}, ${carry}, ${left[0]!}, ${right[0]!}`;
    this.#b.emit`${second} ${high(result)}, ${carry}, ${left[1]!}, ${right[1]!}, ${carry}`;
    return [vectorPiece(low(result)), vectorPiece(high(result))];
  }
}

/** The value that scalar registers of a payload hold: of 32 bits, or of 64. */
export const uniformIn = <B extends Bits>(...parts: readonly RegisterPart[]): Uniform<B> =>
  compiled('uniform', parts.map(scalarPiece));

/** The dwords of a value as sources of moves. */
export const sourcesOf = (b: PayloadBuilder, value: HookValue): readonly MoveSource[] =>
  piecesOf(value).map((piece) => {
    const isVector = piece.kind === 'vector';
    return { isVector, from: isVector ? piece.where : new Pieces(b).salu(piece) };
  });

export interface MoveSource {
  readonly isVector: boolean;
  readonly from: Placeholder;
}
