/**
 * Takes addresses apart: accesses whose addresses differ by a constant share what is found out about them.
 */
import { DEVICE_START } from '../../machine/layout.ts';
import { constantOf, type Graph, isOp } from './graph.ts';
import type { AddressParts, IndexedAddress, Node } from './node.ts';

/** A sum that wraps around 2^32 ends below this, where no access is permitted. */
const MAX_OFFSET = DEVICE_START;
const MAX_SHIFT = 15;

/** `isWide`: the address has 64 bits. */
export function addressParts(graph: Graph, address: Node, isWide: boolean): AddressParts {
  const { base, offset } = withoutOffset(address);
  if (!isWide) return { low: base, high: undefined, floor: undefined, offset, indexed: undefined };
  for (const [scalar, index] of isOp(base, 'i64.add') ? bothWays(base) : []) {
    if (scalar.lane || !index.lane || !isOp(index, 'i64.zext32')) continue;
    const inner = withoutOffset(scalar);
    if (offset + inner.offset >= MAX_OFFSET) break;
    const floor = graph.op('i64.low', inner.base);
    const high = graph.op('i64.high', inner.base);
    const indexed = { baseLow: floor, baseHigh: high, index: index.args[0]!, shift: 0, isSigned: false };
    return { low: graph.op('i32.add', floor, index.args[0]!), high, floor, offset: offset + inner.offset, indexed };
  }
  const [low, high] = [graph.op('i64.low', base), graph.op('i64.high', base)];
  return { low, high, floor: undefined, offset, indexed: indexedAddress(graph, low, high) };
}

export const bothWays = ({ args: [a, b] }: Node): readonly (readonly [Node, Node])[] => [
  [a!, b!],
  [b!, a!],
];

/** Takes constants that are added off an address. */
function withoutOffset(address: Node): { readonly base: Node; readonly offset: number } {
  if (!isOp(address, 'i64.add') && !isOp(address, 'i32.add')) return { base: address, offset: 0 };
  for (const [constant, rest] of bothWays(address)) {
    const value = constantOf(constant);
    if (value === undefined || value < 0n) continue;
    const { base, offset } = withoutOffset(rest);
    if (Number(value) + offset < MAX_OFFSET) return { base, offset: offset + Number(value) };
  }
  return { base: address, offset: 0 };
}

/** Words of a sum with a carry between them, one operand uniform and one an extended 32-bit value. */
function indexedAddress(graph: Graph, low: Node, high: Node): IndexedAddress | undefined {
  if (!isOp(low, 'i32.add')) return undefined;
  const sum = withoutCarry(graph, low, high);
  const lows = bothWays(low).find(([base, offset]) => !base.lane && offset.lane);
  if (!sum || !lows) return undefined;
  const highs = !sum.lane ? [sum] : isOp(sum, 'i32.add') ? bothWays(sum).find(([base]) => !base.lane) : undefined;
  if (!highs) return undefined;
  const index = extendedIndex(lows[1], highs[1]);
  return index && { baseLow: lows[0], baseHigh: highs[0]!, ...index };
}

/** What the carry of `low` was added to. */
export function withoutCarry(graph: Graph, low: Node, high: Node): Node | undefined {
  if (!isOp(high, 'i32.sub') || !isOp(high.args[1]!, 'i1.toMask')) return undefined;
  const test = high.args[1]!.args[0]!;
  const isCarry = low.args.some((operand) => graph.op('i32.ltU', low, operand) === test);
  return isCarry ? high.args[0] : undefined;
}

/** What was extended to 64 bits and shifted to give these words; a high word that is absent is 0. */
export function extendedIndex(
  low: Node,
  high: Node | undefined,
): Pick<IndexedAddress, 'index' | 'shift' | 'isSigned'> | undefined {
  if (!high || constantOf(high) === 0n) return { index: low, shift: 0, isSigned: false };
  if (isShift(high, 'i32.shrS', low, 31)) return { index: low, shift: 0, isSigned: true };
  if (!isOp(low, 'i32.shl')) return undefined;
  const [index, amount] = low.args as [Node, Node];
  const shift = Number(constantOf(amount) ?? 0n);
  if (shift < 1 || shift > MAX_SHIFT) return undefined;
  if (isShift(high, 'i32.shrU', index, 32 - shift)) return { index, shift, isSigned: false };
  return isShift(high, 'i32.shrS', index, 32 - shift) ? { index, shift, isSigned: true } : undefined;
}

const isShift = (node: Node, op: 'i32.shrS' | 'i32.shrU', value: Node, amount: number): boolean =>
  isOp(node, op) && node.args[0] === value && constantOf(node.args[1]!) === BigInt(amount);
