/** What is known of numbers where conditions are false: between which bounds they are. */
import type { OpName } from '../../../ir/ops.ts';
import { constantOf, isOp } from './graph.ts';
import type { Node } from './node.ts';

/** Numbers of 32 bits from `start` on; they may go beyond the largest, and on at 0. */
interface Range {
  readonly start: number;
  readonly length: number;
}

interface Bound {
  readonly node: Node;
  readonly range: Range;
}

const MODULUS = 2 ** 32;
const SIGN = 2 ** 31;

const wrapped = (value: number): number => ((value % MODULUS) + MODULUS) % MODULUS;

/** The numbers outside. */
const complement = ({ start, length }: Range): Range => ({ start: wrapped(start + length), length: MODULUS - length });

/** A number as another one less a constant; a changed sign is such a difference, too. */
function lessConstant(value: Node): { readonly node: Node; readonly less: number } {
  const [node, constant] = value.args as [Node, Node];
  const less = constant && Number(constantOf(constant) ?? 0n);
  const isLess = isOp(value, 'i32.sub') || (isOp(value, 'i32.xor') && less === -SIGN);
  return isLess && constantOf(constant) !== undefined ? { node, less } : { node: value, less: 0 };
}

/** Both signed and unsigned comparisons with a constant say that a number, less a constant, is in a range. */
function boundOf(comparison: Node): Bound | undefined {
  const isSigned = isOp(comparison, 'i32.ltS');
  if (!isSigned && !isOp(comparison, 'i32.ltU')) return undefined;
  const [value, limit] = comparison.args as [Node, Node];
  const end = constantOf(limit);
  if (end === undefined || constantOf(value) !== undefined) return undefined;
  const { node, less } = lessConstant(value);
  return {
    node,
    range: isSigned
      ? { start: wrapped(less - SIGN), length: Number(BigInt.asIntN(32, end)) + SIGN }
      : { start: wrapped(less), length: wrapped(Number(end)) },
  };
}

const OF_CONSTANTS: Readonly<Partial<Record<OpName, (a: number, b: number) => number>>> = {
  'i32.add': (a, b) => (a + b) | 0,
  'i32.sub': (a, b) => (a - b) | 0,
  'i32.shl': (a, b) => a << b,
  'i32.and': (a, b) => a & b,
};

/** The values that a number can have, if that is two at most: a choice between constants, or made of it. */
function valuesOf(node: Node): ReadonlySet<number> | undefined {
  const { leaf, args } = node;
  const constant = constantOf(node);
  if (constant !== undefined) return new Set([Number(constant)]);
  if (leaf.kind !== 'pure') return undefined;
  if (leaf.op === 'i1.toI32') return new Set([0, 1]);
  if (leaf.op === 'i1.toMask') return new Set([0, -1]);
  const of = OF_CONSTANTS[leaf.op];
  const [a, b] = (of || leaf.op === 'i32.select' ? args.slice(-2) : []).map(valuesOf);
  if (!a || !b) return undefined;
  const values = of ? new Set([...a].flatMap((x) => [...b].map((y) => of(x, y)))) : a.union(b);
  return values.size <= 2 ? values : undefined;
}

export class KnownRanges {
  readonly #ranges = new Map<Node, Range[]>();

  /** Takes a condition for true, or for false; what it says in other ways is not learned. */
  learn(condition: Node, isTrue: boolean): void {
    const [a, b] = condition.args as [Node, Node];
    if (isOp(condition, 'i1.not')) this.learn(a, !isTrue);
    if (isOp(condition, isTrue ? 'i1.and' : 'i1.or')) {
      this.learn(a, isTrue);
      this.learn(b, isTrue);
    }
    const bound = boundOf(condition);
    if (!bound) return;
    const ranges = this.#ranges.get(bound.node) ?? [];
    ranges.push(isTrue ? bound.range : complement(bound.range));
    this.#ranges.set(bound.node, ranges);
  }

  /** Whether a condition follows from what was learned. */
  isCertain(condition: Node, isTrue: boolean): boolean {
    const [a, b] = condition.args as [Node, Node];
    const constant = constantOf(condition);
    if (constant !== undefined) return constant === (isTrue ? 1n : 0n);
    if (isOp(condition, 'i1.not')) return this.isCertain(a, !isTrue);
    if (isOp(condition, isTrue ? 'i1.and' : 'i1.or')) return this.isCertain(a, isTrue) && this.isCertain(b, isTrue);
    if (isOp(condition, isTrue ? 'i1.or' : 'i1.and')) return this.isCertain(a, isTrue) || this.isCertain(b, isTrue);
    const bound = boundOf(condition);
    return bound !== undefined && this.#isWithin(bound.node, isTrue ? bound.range : complement(bound.range));
  }

  /** Whether a number is known to be at least `low` and below `end`, which may be negative. */
  isBetween(node: Node, low: number, end: number): boolean {
    return this.#isWithin(node, { start: wrapped(low), length: end - low });
  }

  #isWithin(node: Node, { start, length }: Range): boolean {
    const values = valuesOf(node);
    if (values) return [...values].every((value) => wrapped(value - start) < length);
    return this.#ranges.get(node)?.some((range) => wrapped(range.start - start) + range.length <= length) ?? false;
  }
}
