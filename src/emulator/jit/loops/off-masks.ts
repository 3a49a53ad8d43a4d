/** What masks have of lanes that are off when a loop is entered: a function of the masks at that time. */
import { operation, type Push, type Term, zext64 } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { STATE_OFFSETS } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import { constantOf, isOp } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';
import type { LoopPlan } from './loop-plan.ts';

type Bits = bigint | ((uniform: (node: Node) => Local) => Term);

export class OffMasks {
  /** With EXEC as it is. */
  readonly plan: LoopPlan;

  constructor(plan: LoopPlan) {
    this.plan = plan;
  }

  /** Whether they are known, the lanes stay off, and rows stay as they are. */
  get areKnown(): boolean {
    const { masks, tests, rows, rowsOutside, graph } = this.plan;
    const all = [...masks.values(), ...[...tests.values()].map(({ mask }) => mask)];
    return (
      !graph.readsInactive &&
      graph.again.kind === 'lanes' &&
      this.#bits(graph.again.mask) === 0n &&
      all.every((mask) => this.#bits(mask) !== undefined) &&
      [...rows].every(([offset, node]) => !rowsOutside.has(offset) || this.#isKept(node, offset))
    );
  }

  /** The bits of a mask, in lanes that are off only. */
  push(state: FunctionState, mask: Node, uniform: (node: Node) => Local): Push {
    const bits = this.#bits(mask)!;
    const all = state.spaces.waveSize === 64 ? -1n : 0xffffffffn;
    const off = operation('i64.xor', state.mask(STATE_OFFSETS.exec), all);
    return operation('i64.and', typeof bits === 'bigint' ? bits : bits(uniform), off);
  }

  #isKept(node: Node, offset: number): boolean {
    if (isOp(node, 'i32.select')) {
      const bits = this.#bits(node.args[0]!);
      if (bits === 0n) return this.#isKept(node.args[2]!, offset);
      if (bits === -1n) return this.#isKept(node.args[1]!, offset);
    }
    return node.leaf.kind === 'row' && node.leaf.offset === offset;
  }

  /** Undefined where more than masks decides. */
  #bits(node: Node): Bits | undefined {
    const { graph, variant } = this.plan;
    const constant = constantOf(node);
    if (constant !== undefined) return constant === 0n ? 0n : -1n;
    if (node === graph.exec) return 0n;
    if (node.leaf.kind === 'laneMask') return variant.has(node.args[0]!) ? undefined : (local) => local(node.args[0]!);
    if (!node.lane) return variant.has(node) ? undefined : (local) => operation('i64.sub', 0n, zext64(local(node)));
    const isNot = isOp(node, 'i1.not');
    const name = isOp(node, 'i1.and')
      ? 'i64.and'
      : isOp(node, 'i1.or')
        ? 'i64.or'
        : isOp(node, 'i1.xor')
          ? 'i64.xor'
          : undefined;
    if (!isNot && !name) return undefined;
    const [a, b] = isNot ? [this.#bits(node.args[0]!), -1n] : node.args.map((arg) => this.#bits(arg));
    if (name === 'i64.and' && (a === 0n || b === 0n)) return 0n;
    if (name === 'i64.or' && (a === -1n || b === -1n)) return -1n;
    if (a === undefined || b === undefined) return undefined;
    if (typeof a === 'bigint' && typeof b === 'bigint')
      return name === 'i64.and' ? a & b : name === 'i64.or' ? a | b : a ^ b;
    const term = (bits: Bits, local: (node: Node) => Local): Term => (typeof bits === 'bigint' ? bits : bits(local));
    return (local) => operation(name ?? 'i64.xor', term(a, local), term(b, local));
  }
}
