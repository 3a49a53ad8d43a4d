/** What the emission of a node in a loop reads. */
import { usedBy } from '../regions/access-group.ts';
import { isOp } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';

/** Shifts by a uniform amount take that as a number. */
const isShift = ({ leaf }: Node): boolean => leaf.kind === 'pure' && /\.(shl|shrU|shrS)$/.test(leaf.op);

/** Of a & ~b: a and b. */
export function removal(node: Node): readonly Node[] {
  if (!isOp(node, 'i1.and')) return [];
  const [a, b] = node.args as [Node, Node];
  return isOp(b, 'i1.not') ? [a, b.args[0]!] : isOp(a, 'i1.not') ? [b, a.args[0]!] : [];
}

export function argumentsOf(node: Node, isFast: boolean): readonly Node[] {
  const removing = removal(node);
  return removing.length > 0 ? removing : usedBy(node, isFast);
}

/** Arguments that must be there as vectors. */
export function vectorArguments(node: Node, isFast: boolean): readonly Node[] {
  if (node.leaf.kind === 'laneMask') return [];
  const used = argumentsOf(node, isFast);
  return isShift(node) && !used[1]!.lane ? [used[0]!] : used;
}

/** What an access looks at before it is emitted. */
export const accessArguments = (node: Node): readonly Node[] => (node.address ? usedBy(node, true) : []);
