/**
 * Where a loop must look for NaNs. WebAssembly leaves their bits open, and that matters only where bits are
 * stored or used as a number; a NaN that the loop carries on can be found at its end.
 */
import { constantOf, keepsNan } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';
import type { LoopPlan } from './loop-plan.ts';

/** Operations to which all NaNs are the same. */
const TAKES_ANY_NAN = /^f(32|64)\.(eq|lt|le|toI32S|toI32U)$/;

export interface NanChecks {
  /** Values to look at in each iteration. */
  readonly values: ReadonlySet<Node>;
  /** Rows to look at after the last one. */
  readonly rows: ReadonlySet<number>;
}

const operation = ({ leaf }: Node): string => (leaf.kind === 'pure' ? leaf.op : '');

/** Arguments that pass through a node as NaNs when they are NaNs. */
function passed(node: Node): readonly Node[] {
  const op = operation(node);
  if (op === 'i32.select' || op === 'i64.select') return node.args.slice(1);
  const [a, b] = node.args;
  const constant = b && constantOf(b);
  if (constant === undefined) return [];
  const isSign = BigInt.asUintN(32, constant) === 0x80000000n;
  const isMagnitude = BigInt.asUintN(32, constant) === 0x7fffffffn;
  return op === 'i32.or' || (op === 'i32.xor' && isSign) || (op === 'i32.and' && isMagnitude) ? [a!] : [];
}

/** Of the nodes of a loop whose plan has these rows, and these results that are no NaN. */
export function nanChecks(nodes: readonly Node[], { rows, numbers }: Pick<LoopPlan, 'rows' | 'numbers'>): NanChecks {
  const mayBeNan = (node: Node): boolean => keepsNan(node) && !numbers.has(node);
  /** Nodes whose bits count, even of a NaN. */
  const exact = new Set<Node>();
  for (const node of nodes) {
    if (keepsNan(node) || TAKES_ANY_NAN.test(operation(node))) continue;
    const through = passed(node);
    for (const arg of node.args) if (!through.includes(arg)) exact.add(arg);
  }
  const carrying = new Set<number>();
  /** Nodes that may be a NaN which was not looked at. */
  const open = new Set<Node>();
  for (let size = -1; size !== exact.size; ) {
    size = exact.size;
    for (const node of nodes.toReversed()) {
      if (!exact.has(node)) continue;
      for (const arg of passed(node)) exact.add(arg);
      const next = node.leaf.kind === 'row' ? rows.get(node.leaf.offset) : undefined;
      if (next) exact.add(next);
    }
  }
  for (let size = -1; size !== open.size; ) {
    size = open.size;
    for (const node of nodes) {
      const isOpen =
        (mayBeNan(node) && !exact.has(node)) ||
        (node.leaf.kind === 'row' && carrying.has(node.leaf.offset)) ||
        passed(node).some((arg) => open.has(arg));
      if (isOpen) open.add(node);
    }
    for (const [offset, node] of rows) if (open.has(node)) carrying.add(offset);
  }
  return { values: new Set(nodes.filter((node) => mayBeNan(node) && exact.has(node))), rows: carrying };
}
