/**
 * Operations on masks of lanes: a mask of the wave is a `ballot` of a value per lane, and what combines masks
 * bit by bit combines these. What is the same in every lane becomes one node.
 */
import type { OpName } from '../../../ir/ops.ts';
import { constantOf, type Graph, isOp } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';
import { isBallot } from './loop-graph.ts';
import { MaskLogic } from './mask-logic.ts';

/** Merges in merges that are looked into. */
const MAX_MERGES = 4;

const MASK_OPS: Partial<Record<OpName, 'and' | 'or' | 'xor' | 'select'>> = {
  'i32.and': 'and',
  'i64.and': 'and',
  'i32.or': 'or',
  'i64.or': 'or',
  'i32.xor': 'xor',
  'i64.xor': 'xor',
  'i32.select': 'select',
  'i64.select': 'select',
};

export class MaskAlgebra {
  readonly logic = new MaskLogic();
  readonly #graph: Graph;
  readonly #waveSize: 32 | 64;

  constructor(graph: Graph, waveSize: 32 | 64) {
    this.#graph = graph;
    this.#waveSize = waveSize;
  }

  implies(a: Node, b: Node): boolean {
    return this.logic.implies(this.logic.table(a), this.logic.table(b));
  }

  and(a: Node, b: Node): Node {
    const [x, y] = this.#tables(a, b);
    if (x === undefined || y === undefined) return this.#graph.op('i1.and', a, b);
    // Each needs only be right where the other is true.
    return this.#known(x & y) ?? this.#graph.op('i1.and', a, this.#decided(b, x));
  }

  or(a: Node, b: Node): Node {
    const [x, y] = this.#tables(a, b);
    const off = this.logic.not(x);
    if (x === undefined || y === undefined || off === undefined) return this.#graph.op('i1.or', a, b);
    return this.#known(x | y) ?? this.#graph.op('i1.or', a, this.#decided(b, off));
  }

  not(a: Node): Node {
    return this.#graph.op('i1.not', a);
  }

  xor(a: Node, b: Node): Node {
    if (this.implies(b, a)) return this.and(a, this.not(b));
    return this.implies(a, b) ? this.and(b, this.not(a)) : this.#graph.op('i1.xor', a, b);
  }

  /** Of masks of lanes; conditions of the wave stay what they are. */
  #tables(a: Node, b: Node): readonly (bigint | undefined)[] {
    return a.lane || b.lane ? [this.logic.table(a), this.logic.table(b)] : [];
  }

  #known(table: bigint | undefined): Node | undefined {
    if (table === undefined) return undefined;
    return this.logic.implies(table, 0n) ? this.#graph.constant(0n, 'i1') : this.logic.node(table);
  }

  /** A mask in lanes of which `exec` is true. */
  given(mask: Node, exec: Node): Node {
    if (!isOp(mask, 'i1.and')) return mask;
    const [a, b] = mask.args as [Node, Node];
    return this.implies(exec, b) ? this.given(a, exec) : this.implies(exec, a) ? this.given(b, exec) : mask;
  }

  /** Mask of the wave. */
  ballot(lanes: Node): Node {
    return constantOf(lanes) === 0n
      ? this.#graph.constant(0n, 'i64')
      : this.#graph.share({ kind: 'ballot' }, 'i64', false, [lanes]);
  }

  /** Whether a number is a mask that depends on lanes; in waves of 32 lanes masks are i32 too. */
  #isMask(node: Node): boolean {
    return isBallot(node) || (this.#waveSize === 32 && isOp(node, 'i64.low') && isBallot(node.args[0]!));
  }

  /** The bit of a mask for each lane; undefined where a number depends on lanes otherwise. */
  lift(node: Node): Node | undefined {
    const graph = this.#graph;
    if (isBallot(node)) return node.args[0]!;
    const value = constantOf(node);
    if (value !== undefined) {
      const bits = BigInt.asUintN(node.type === 'i64' ? 64 : 32, value);
      const all = BigInt.asUintN(this.#waveSize, -1n);
      if (bits === 0n || bits === all) return graph.constant(bits === all ? 1n : 0n, 'i1');
    }
    if (this.#isMask(node)) return node.args[0]!.args[0]!;
    if (isOp(node, 'i64.select') || isOp(node, 'i32.select')) {
      const [condition, a, b] = node.args as [Node, Node, Node];
      const [liftedA, liftedB] = [this.lift(a), this.lift(b)];
      if (!liftedA || !liftedB) return undefined;
      return this.or(this.and(condition, liftedA), this.and(this.not(condition), liftedB));
    }
    if (isOp(node, 'i64.zext32') && this.#waveSize === 32) return this.lift(node.args[0]!);
    const mask = node.type === 'i32' ? graph.op('i64.zext32', node) : node;
    return graph.share({ kind: 'laneMask' }, 'i1', true, [mask]);
  }

  /** An operation, in every lane where it is one on masks. */
  op(op: OpName, ...args: Node[]): Node {
    const graph = this.#graph;
    if (args.some((arg) => !arg.lane && this.#isMask(arg))) {
      const isShort = op.startsWith('i32.');
      const combine = MASK_OPS[op];
      const lifted = combine && args.map((arg) => (arg.type === 'i1' ? arg : this.lift(arg)));
      if (lifted?.every((node) => node !== undefined)) {
        const mask = this.ballot(this.#combined(combine!, lifted));
        return isShort ? graph.op('i64.low', mask) : mask;
      }
      // Comparisons with zero, in one form.
      const [a, b] = args;
      if (op === 'i32.eq' && this.#waveSize === 32 && isOp(a!, 'i64.low') && constantOf(b!) === 0n)
        return graph.op('i64.eq', a!.args[0]!, graph.constant(0n, 'i64'));
    }
    return graph.op(op, ...args);
  }

  #combined(op: 'and' | 'or' | 'xor' | 'select', [a, b, c]: readonly Node[]): Node {
    switch (op) {
      case 'and':
        return this.and(a!, b!);
      case 'or':
        return this.or(a!, b!);
      case 'xor':
        return this.xor(a!, b!);
      case 'select':
        return this.or(this.and(a!, b!), this.and(this.not(a!), c!));
    }
  }

  /**
   * A value that is the same in lanes for which `given` is true: without merges, and parts of masks, that are
   * decided there.
   */
  simplified(node: Node, given: bigint | undefined, depth = 0): Node {
    if (given === undefined || depth > MAX_MERGES || !isOp(node, 'i32.select') || !node.args[0]!.lane) return node;
    const [mask, a, b] = node.args as [Node, Node, Node];
    const table = this.logic.table(mask);
    const off = this.logic.not(table);
    if (table === undefined || off === undefined) return node;
    if (this.logic.implies(given, table)) return this.simplified(a, given, depth);
    if (this.logic.implies(given, off)) return this.simplified(b, given, depth);
    const on = this.#decided(mask, given);
    const [x, y] = [this.simplified(a, given & table, depth + 1), this.simplified(b, given & off, depth + 1)];
    return isOp(on, 'i1.not') ? this.op('i32.select', on.args[0]!, y, x) : this.op('i32.select', on, x, y);
  }

  /** A mask that is the same in lanes for which `given` is true. */
  #decided(mask: Node, given: bigint): Node {
    if (isOp(mask, 'i1.not')) return this.not(this.#decided(mask.args[0]!, given));
    const isAnd = isOp(mask, 'i1.and');
    if (!isAnd && !isOp(mask, 'i1.or')) return mask;
    const [a, b] = mask.args as [Node, Node];
    for (const [decided, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const table = this.logic.table(decided);
      if (this.logic.implies(given, isAnd ? table : this.logic.not(table))) return this.#decided(other, given);
    }
    const [x, y] = [this.#decided(a, given), this.#decided(b, given)];
    return x === a && y === b ? mask : isAnd ? this.and(x, y) : this.or(x, y);
  }
}
