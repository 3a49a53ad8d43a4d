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
    const indexed = { baseLow: floor, baseHigh: high, index: index.args[0]!, shift: 0, isSigned: false, summands: [] };
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
export function withoutOffset(address: Node): { readonly base: Node; readonly offset: number } {
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
  const base = { baseLow: lows[0], baseHigh: highs[0]! };
  const index = extendedIndex(lows[1], highs[1]);
  if (index) return { ...base, ...index, summands: [] };
  if (!highs[1]) return undefined;
  const summed = summedIndex(graph, lows[1], highs[1]);
  if (summed) return { ...base, ...summed };
  // A negative offset of the access, to what is a base and an index already.
  const inner = indexedAddress(graph, lows[1], highs[1]);
  if (!inner) return undefined;
  const wide = ({ baseLow, baseHigh }: typeof base): Node => graph.op('i64.pack', baseLow, baseHigh);
  const both = graph.op('i64.add', wide(inner), wide(base));
  return { ...inner, baseLow: graph.op('i64.low', both), baseHigh: graph.op('i64.high', both) };
}

const MAX_SUMMANDS = 3;

/** What was shifted to give these words, a sum of several values that were extended to 64 bits. */
function summedIndex(
  graph: Graph,
  low: Node,
  high: Node,
): Pick<IndexedAddress, 'index' | 'shift' | 'isSigned' | 'summands'> | undefined {
  let [index, upper, shift] = [low, high, 0];
  if (isOp(low, 'i32.shl') && isOp(high, 'i32.or')) {
    index = low.args[0]!;
    shift = Number(constantOf(low.args[1]!) ?? 0n);
    const isUpper = (node: Node): boolean => isOp(node, 'i32.shl') && constantOf(node.args[1]!) === BigInt(shift);
    const found = bothWays(high).find(([own, below]) => isUpper(own) && isShift(below, 'i32.shrU', index, 32 - shift));
    if (!found || shift > MAX_SHIFT) return undefined;
    upper = found[0].args[0]!;
  }
  const summands = extendedSummands(graph, index, upper);
  if (!summands || summands.length > MAX_SUMMANDS) return undefined;
  return { index, shift, isSigned: true, summands };
}

/** Values whose sum, each extended with its sign, has these words. */
function extendedSummands(graph: Graph, low: Node, high: Node): readonly Node[] | undefined {
  const constant = constantOf(low);
  const isExtended = constant === undefined ? isShift(high, 'i32.shrS', low, 31) : constantOf(high) === constant >> 31n;
  if (isExtended) return [low];
  const sum = isOp(low, 'i32.add') ? withoutCarry(graph, low, high) : undefined;
  if (!sum) return undefined;
  const highs = isOp(sum, 'i32.add') ? bothWays(sum) : [];
  const zero = graph.constant(0n, 'i32');
  for (const [a, b] of [...highs, [sum, zero], [zero, sum]] as const) {
    const [first, second] = [extendedSummands(graph, low.args[0]!, a), extendedSummands(graph, low.args[1]!, b)];
    if (first && second) return [...first, ...second];
  }
  return undefined;
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
