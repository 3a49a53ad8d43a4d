/** Takes addresses apart: accesses whose addresses differ by a constant share what is found out about them. */
import { constantOf, type Graph, isOp } from './graph.ts';
import type { AddressParts, Node } from './node.ts';

/** A sum that wraps around 2^32 ends below this, where the emulator's own state is and no access is permitted. */
const MAX_OFFSET = 0x10000;

/** `isWide`: the address has 64 bits. */
export function addressParts(graph: Graph, address: Node, isWide: boolean): AddressParts {
  const { base, offset } = withoutOffset(address);
  if (!isWide) return { low: base, high: undefined, floor: undefined, offset };
  if (isOp(base, 'i64.add')) {
    const [a, b] = base.args as [Node, Node];
    for (const [scalar, index] of [
      [a, b],
      [b, a],
    ] as const) {
      if (scalar.lane || !isOp(index, 'i64.zext32')) continue;
      const inner = withoutOffset(scalar);
      if (offset + inner.offset >= MAX_OFFSET) break;
      const floor = graph.op('i64.low', inner.base);
      const low = graph.op('i32.add', floor, index.args[0]!);
      return { low, high: graph.op('i64.high', inner.base), floor, offset: offset + inner.offset };
    }
  }
  return { low: graph.op('i64.low', base), high: graph.op('i64.high', base), floor: undefined, offset };
}

/** Takes constants that are added off an address. */
function withoutOffset(address: Node): { readonly base: Node; readonly offset: number } {
  if (!isOp(address, 'i64.add') && !isOp(address, 'i32.add')) return { base: address, offset: 0 };
  const [a, b] = address.args as [Node, Node];
  for (const [constant, rest] of [
    [a, b],
    [b, a],
  ] as const) {
    const value = constantOf(constant);
    if (value === undefined || value < 0n) continue;
    const { base, offset } = withoutOffset(rest);
    if (Number(value) + offset < MAX_OFFSET) return { base, offset: offset + Number(value) };
  }
  return { base: address, offset: 0 };
}
