/**
 * What lanes compute where nothing rare happens: conditions of `i1.rare` are false there, so that what they
 * choose among falls away. Fast code computes this, and looks whether one of the conditions was true.
 */
import { addressParts } from './address-parts.ts';
import { constantOf, type Graph, isOp } from './graph.ts';
import type { AddressParts, Node } from './node.ts';

export class UsualValues {
  /** Values of lanes, each behind those that it is computed from; accesses in the order of the code. */
  readonly lanes: readonly Node[];
  /** Values that were made for it, of lanes or of the wave. */
  readonly made: ReadonlySet<Node>;
  /** Those that must not be true. */
  readonly conditions: ReadonlySet<Node>;
  readonly #graph: Graph;
  /** Of those that differ. */
  readonly #usual = new Map<Node, Node>();
  readonly #ordered = new Set<Node>();

  /**
   * `lanes`: values in order. Nothing changes behind an atomic, which cannot be done again when a condition
   * is true.
   */
  constructor(graph: Graph, lanes: readonly Node[]) {
    this.#graph = graph;
    const conditions = new Set<Node>();
    const first = graph.nodes.length;
    let isLate = false;
    for (const node of lanes) {
      isLate ||= node.leaf.kind === 'atomic';
      const condition = isOp(node, 'i1.rare') && !isLate ? this.of(node.args[0]!) : undefined;
      // One that comes from another condition may be known by now, and is then no question.
      if (condition && (condition.lane || constantOf(condition) === 0n)) {
        if (condition.lane) conditions.add(condition);
        this.#usual.set(node, graph.constant(0n, 'i1'));
      } else {
        const usual = this.#rebuilt(node);
        if (usual !== node) this.#usual.set(node, usual);
        this.#order(usual);
      }
    }
    this.lanes = [...this.#ordered];
    this.conditions = conditions;
    this.made = new Set(graph.nodes.slice(first));
  }

  /** Whether any value differs: a condition that is known to be false makes others, and none to look at. */
  get differs(): boolean {
    return this.#usual.size > 0;
  }

  of(node: Node): Node {
    return this.#usual.get(node) ?? node;
  }

  #rebuilt(node: Node): Node {
    const { leaf, type, lane, phase, instruction } = node;
    const args = node.args.map((arg) => this.of(arg));
    const address = node.address && this.#addressOf(node, args[0]!);
    const active = node.active && this.of(node.active);
    if (address === node.address && active === node.active && args.every((arg, i) => arg === node.args[i])) return node;
    if (leaf.kind === 'pure') return this.#graph.op(leaf.op, ...args);
    return this.#graph.add(leaf, type, lane, args, { phase, instruction, address, active });
  }

  #addressOf(node: Node, usual: Node): AddressParts | undefined {
    return usual === node.args[0] ? node.address : addressParts(this.#graph, usual, usual.type === 'i64');
  }

  /** Puts a value behind what it is computed from; nearly all of that is there already. */
  #order(node: Node): void {
    if (!node.lane || this.#ordered.has(node)) return;
    const { low, high, floor } = node.address ?? {};
    for (const arg of [...node.args, low, high, floor, node.active]) if (arg) this.#order(arg);
    this.#ordered.add(node);
  }
}
