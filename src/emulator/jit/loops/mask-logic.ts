/**
 * Masks of lanes as Boolean functions of what is known of one lane: the masks when an iteration begins, and
 * comparisons and conditions, of which nothing is known. Truth tables of up to 2^12 rows, as bits of a
 * number, decide what follows from what.
 */
import { OPS } from '../../../ir/ops.ts';
import type { Node } from '../regions/node.ts';

export const MAX_VARIABLES = 12;
const ROWS = 1n << BigInt(MAX_VARIABLES);
const ALL = (1n << ROWS) - 1n;

/** Rows in which a variable is true. */
const VARIABLES = Array.from({ length: MAX_VARIABLES }, (_, i) => {
  const half = 1n << BigInt(i);
  let rows = ((1n << half) - 1n) << half;
  for (let width = 2n * half; width < ROWS; width *= 2n) rows |= rows << width;
  return rows;
});

/**
 * One iteration: the values of masks when it begins, other than free variables, and what has been computed.
 */
export interface Iteration {
  readonly masks: ReadonlyMap<Node, bigint>;
  readonly tables: Map<Node, bigint | undefined>;
}

export const iteration = (masks: ReadonlyMap<Node, bigint> = new Map()): Iteration => ({ masks, tables: new Map() });

export class MaskLogic {
  readonly first = iteration();
  /** Rows that can be. */
  #possible = ALL;
  readonly #nodes = new Map<bigint, Node>();
  #variables = 0;

  /** Takes it for granted that no lane is in both masks when an iteration begins. */
  assumeDisjoint(a: Node, b: Node): void {
    const [x, y] = [this.table(a), this.table(b)];
    if (x !== undefined && y !== undefined) this.#possible &= (x & y) ^ ALL;
  }

  /** Undefined when too many things would have to be told apart. */
  table(node: Node, at: Iteration = this.first): bigint | undefined {
    if (!at.tables.has(node)) {
      const table = this.#compute(node, at);
      at.tables.set(node, table);
      if (at === this.first && table !== undefined && !this.#nodes.has(table)) this.#nodes.set(table, node);
    }
    return at.tables.get(node);
  }

  /** The first node in an iteration that is the same in every lane. */
  node(table: bigint): Node | undefined {
    return this.#nodes.get(table);
  }

  #compute(node: Node, at: Iteration): bigint | undefined {
    const { leaf, args } = node;
    if (leaf.kind === 'const') return leaf.value === 0n ? 0n : ALL;
    const known = at.masks.get(node);
    if (known !== undefined) return known;
    if (leaf.kind === 'pure' && leaf.op.startsWith('i1.') && OPS[leaf.op].result === 'i1') {
      const [a, b] = args.map((arg) => this.table(arg, at));
      if (a === undefined || (args.length > 1 && b === undefined)) return undefined;
      switch (leaf.op) {
        case 'i1.and':
          return a & b!;
        case 'i1.or':
          return a | b!;
        case 'i1.xor':
          return a ^ b!;
        case 'i1.not':
          return a ^ ALL;
        case 'i1.rare':
          return a;
      }
    }
    return VARIABLES[this.#variables++];
  }

  /** Whether `a` is false wherever `given` is true and `b` is false; an unknown table proves nothing. */
  implies(a: bigint | undefined, b: bigint | undefined, given: bigint | undefined = ALL): boolean {
    return a !== undefined && b !== undefined && given !== undefined && (a & given & this.#possible & (b ^ ALL)) === 0n;
  }

  equal(a: bigint | undefined, b: bigint | undefined, given: bigint | undefined = ALL): boolean {
    return a !== undefined && b !== undefined && given !== undefined && ((a ^ b) & given & this.#possible) === 0n;
  }

  either(a: bigint | undefined, b: bigint | undefined): bigint | undefined {
    return a === undefined || b === undefined ? undefined : a | b;
  }

  not(a: bigint | undefined): bigint | undefined {
    return a === undefined ? undefined : a ^ ALL;
  }
}
