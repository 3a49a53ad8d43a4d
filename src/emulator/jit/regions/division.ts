/**
 * Quotients that code refines by fused multiply-adds, where they are what one division gives: of a reciprocal
 * and such steps compilers make a correctly rounded division.
 *
 * Two facts make a step exact. p is the precision, RN rounds to nearest. Scaled by powers of two, operands
 * are whole numbers, 2^(p-1) <= n < 2^p and 2^(p-1) < d < 2^p (divisions by powers of two are exact); n / d
 * is in those bounds, too, and y is near 1 / d.
 *
 * 1. If y = RN(1 / d), then RN(y + e y) with e = RN(1 - d y) is y again. y is a multiple of 2^(1-2p) and at
 *    most 2^-2p off, so that 1 - d y is a multiple of 2^(1-2p) below 2^-p: e is exact. Then y = (1 - e) / d,
 *    and what is rounded is (1 - e^2) / d, where e^2 < 2^-2p. The middles between two numbers are odd
 *    multiples of 2^-2p; d times one of them is a multiple of 2^-2p, too, but not 1. So none lies between
 *    that and 1 / d. The exception in Markstein's theorem, a divisor with all bits set, begins with another
 *    y.
 *
 * 2. If y = RN(1 / d), and q is RN(n y) or RN(n / d), then RN(q + r y) with r = RN(n - d q) is RN(n / d).
 *    For RN(n / d) this is Markstein's theorem (Computation of elementary functions on the IBM RISC
 *    System/6000 processor, IBM Journal of Research and Development 34, 1990); for RN(n y) see Brisebarre,
 *    Muller and Raina (Accelerating correctly rounded floating-point division when the divisor is known in
 *    advance, IEEE Transactions on Computers 53, 2004). r y must lie on the side of odd halves where r / d
 *    is. With r exact, 2 r differs from an odd multiple of d by at least 1. One half: (d + 1) y > 1 and
 *    (d - 1) y < 1, because y is at most 2^-2p off and d (d + 1) < 2^2p. Further halves are out of reach: n y
 *    is off by n 2^-(p+1) < 1/2 if n >= d, else by n 2^-p with n < d, and q by less than 3/2 - 2^-p. There,
 *    an r of 2^p or more is rounded, by 1; even so r y stays below 3/2.
 *
 * division.test.ts holds both against all numbers of few bits. Nothing may overflow, and nothing be denormal
 * but r, if it is a multiple of the smallest denormal. Whether that is so is asked of what is known of the
 * operands: code that divides looks for others first.
 */
import type { OpName } from '../../../ir/ops.ts';
import { constantOf, type Graph, isOp } from './graph.ts';
import type { KnownRanges } from './known-ranges.ts';
import type { Node } from './node.ts';

type FloatType = 'f32' | 'f64';

interface Format {
  /** Of its patterns. */
  readonly type: 'i32' | 'i64';
  readonly one: bigint;
  readonly sign: bigint;
  readonly magnitude: bigint;
  readonly fractionBits: number;
  /** Of the fraction, bits in the dword with the exponent. */
  readonly topFractionBits: number;
  readonly bias: number;
}

const FORMATS: Readonly<Record<FloatType, Format>> = {
  f32: {
    type: 'i32',
    one: 0x3f800000n,
    sign: -0x80000000n,
    magnitude: 0x7fffffffn,
    fractionBits: 23,
    topFractionBits: 23,
    bias: 127,
  },
  f64: {
    type: 'i64',
    one: 0x3ff0000000000000n,
    sign: 0x8000000000000000n,
    magnitude: 0x7fffffffffffffffn,
    fractionBits: 52,
    topFractionBits: 20,
    bias: 1023,
  },
};

interface Fraction {
  readonly type: FloatType;
  readonly numerator: Node;
  readonly denominator: Node;
}

const floatTypeOf = ({ leaf }: Node, name: string): FloatType | undefined =>
  leaf.kind !== 'pure' ? undefined : leaf.op === `f32.${name}` ? 'f32' : leaf.op === `f64.${name}` ? 'f64' : undefined;

/** The operand beside another one. */
const beside = ([a, b]: readonly Node[], other: Node): Node | undefined =>
  b === other ? a : a === other ? b : undefined;

export class Quotients {
  readonly #graph: Graph;
  readonly #known: KnownRanges;
  /** Divisions of numbers whose quotient is a normal number. */
  readonly #quotients = new Map<Node, Fraction>();

  constructor(graph: Graph, known: KnownRanges) {
    this.#graph = graph;
    this.#known = known;
  }

  /** Those that were found. */
  get numbers(): ReadonlySet<Node> {
    return new Set(this.#quotients.keys());
  }

  /** The same value for less, if it comes from a quotient. */
  simplified(node: Node): Node {
    return this.#refined(node) ?? this.#withItsSign(node) ?? this.#comparedWithItself(node) ?? node;
  }

  /** A quotient in which a step changes nothing any more. */
  #refined(node: Node): Node | undefined {
    const type = floatTypeOf(node, 'fma');
    const step = type && this.#stepOf(type, node);
    if (!step) return undefined;
    const { denominator, numerator, quotient, reciprocal } = step;
    const known = this.#quotients.get(quotient);
    const isRounded = known?.numerator === numerator && known.denominator === denominator;
    const isEstimate = (): boolean => {
      const factor = isOp(quotient, `${type}.mul`) ? beside(quotient.args, numerator) : undefined;
      return factor !== undefined && this.#isReciprocal(type, factor, denominator);
    };
    if (!this.#isReciprocal(type, reciprocal, denominator) || !(isRounded || isEstimate())) return undefined;
    const fraction = { type, numerator, denominator };
    if (!this.#isPlain(fraction)) return undefined;
    const division = this.#graph.op(`${type}.div`, numerator, denominator);
    this.#quotients.set(division, fraction);
    return division;
  }

  /** The parts of fma(fma(-denominator, quotient, numerator), reciprocal, quotient). */
  #stepOf(type: FloatType, { args }: Node) {
    const quotient = args[2]!;
    for (const [remainder, reciprocal] of [
      [args[0]!, args[1]!],
      [args[1]!, args[0]!],
    ] as const) {
      if (!isOp(remainder, `${type}.fma`)) continue;
      const factor = beside(remainder.args.slice(0, 2), quotient);
      const denominator = factor && this.#negated(type, factor);
      if (denominator) return { denominator, numerator: remainder.args[2]!, quotient, reciprocal };
    }
    return undefined;
  }

  /** What a number is the negative of. */
  #negated(type: FloatType, node: Node): Node | undefined {
    const { type: integer, sign } = FORMATS[type];
    const isNegation = isOp(node, `${integer}.xor`) && constantOf(node.args[1]!) === sign;
    if (isNegation) return node.args[0];
    return constantOf(node) === undefined
      ? undefined
      : this.#graph.op(`${integer}.xor`, node, this.#constant(type, sign));
  }

  /** Whether it is 1 / d correctly rounded, if d and that are normal numbers. */
  #isReciprocal(type: FloatType, node: Node, denominator: Node): boolean {
    const one = this.#constant(type, FORMATS[type].one);
    if (constantOf(node) !== undefined) return this.#graph.op(`${type}.div`, one, denominator) === node;
    if (isOp(node, `${type}.div`)) return node.args[0] === one && node.args[1] === denominator;
    const step = isOp(node, `${type}.fma`) ? this.#stepOf(type, node) : undefined;
    return (
      step !== undefined &&
      step.denominator === denominator &&
      step.numerator === one &&
      step.quotient === step.reciprocal &&
      this.#isReciprocal(type, step.quotient, denominator)
    );
  }

  /**
   * Whether operands, reciprocal and quotient are known to be normal numbers, and remainders to be multiples
   * of the smallest denormal: these are multiples of the last bit of the divisor times that of the quotient.
   * A difference of patterns, taken for one of logarithms, is off by less than 0.1.
   */
  #isPlain({ type, numerator, denominator }: Fraction): boolean {
    const { bias, fractionBits, topFractionBits } = FORMATS[type];
    const pattern = (exponent: number): number => exponent * 2 ** topFractionBits;
    const [n, d] = [numerator, denominator].map((operand) => this.#topOf(type, operand)) as [Node, Node];
    return (
      this.#known.isBetween(n, pattern(fractionBits + 2), pattern(2 * bias + 1)) &&
      this.#known.isBetween(d, pattern(1), pattern(2 * bias - 1)) &&
      this.#known.isBetween(this.#graph.op('i32.sub', n, d), pattern(2 - bias), pattern(bias))
    );
  }

  /** The dword with the exponent, without the sign. */
  #topOf(type: FloatType, operand: Node): Node {
    const top = type === 'f64' ? this.#graph.op('i64.high', operand) : operand;
    return this.#graph.op('i32.and', top, this.#graph.constant(0x7fffffffn, 'i32'));
  }

  /** A quotient that gets the sign of both operands has it already. */
  #withItsSign(node: Node): Node | undefined {
    const { leaf, args } = node;
    if (leaf.kind !== 'pure' || (leaf.op !== 'i32.or' && leaf.op !== 'i64.or')) return undefined;
    const quotient = args[0]!.args[0];
    const fraction = quotient && this.#quotients.get(quotient);
    if (!fraction) return undefined;
    const { type, numerator, denominator } = fraction;
    const { type: integer, sign, magnitude } = FORMATS[type];
    const made = (name: 'and' | 'xor', a: Node, b: Node): Node => this.#graph.op(`${integer}.${name}` as OpName, a, b);
    const ofBoth = (a: Node, b: Node): Node => made('and', made('xor', a, b), this.#constant(type, sign));
    const isOfBoth = [ofBoth(numerator, denominator), ofBoth(denominator, numerator)].includes(args[1]!);
    return isOfBoth && args[0] === made('and', quotient, this.#constant(type, magnitude)) ? quotient : undefined;
  }

  /** A quotient is a number. */
  #comparedWithItself(node: Node): Node | undefined {
    const [a, b] = node.args;
    const isTrue = floatTypeOf(node, 'eq') !== undefined && a === b && this.#quotients.has(a!);
    return isTrue ? this.#graph.constant(1n, 'i1') : undefined;
  }

  #constant(type: FloatType, value: bigint): Node {
    return this.#graph.constant(value, FORMATS[type].type);
  }
}
