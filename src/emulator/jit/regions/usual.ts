/**
 * What lanes compute where nothing rare happens: conditions of `i1.rare` are false there, so that what they
 * choose among falls away. Fast code computes this, and looks whether one of the conditions was true.
 */
import { addressParts } from './address-parts.ts';
import { Quotients } from './division.ts';
import { type Graph, isOp } from './graph.ts';
import { KnownRanges } from './known-ranges.ts';
import type { AddressParts, Node } from './node.ts';

/** What makes values right. */
export interface UsualFacts {
  /** Conditions that must be false in all active lanes. */
  readonly rare: ReadonlySet<Node>;
  /** Results that are no NaN then. */
  readonly numbers: ReadonlySet<Node>;
}

export const NO_FACTS: UsualFacts = { rare: new Set(), numbers: new Set() };

export class UsualValues {
  /** Values of lanes, each behind those that it is computed from; accesses in the order of the code. */
  readonly lanes: readonly Node[];
  /** Values that were made for it, of lanes or of the wave. */
  readonly made: ReadonlySet<Node>;
  readonly facts: UsualFacts;
  readonly #graph: Graph;
  readonly #known = new KnownRanges();
  readonly #quotients: Quotients;
  /** Of those that differ. */
  readonly #usual = new Map<Node, Node>();
  readonly #ordered = new Set<Node>();

  /**
   * `lanes`: values in order. Nothing changes behind an atomic, which cannot be done again when a condition
   * is true. `known`: what some are.
   */
  constructor(graph: Graph, lanes: readonly Node[], known: ReadonlyMap<Node, Node> = new Map()) {
    this.#graph = graph;
    this.#quotients = new Quotients(graph, this.#known);
    for (const [node, value] of known) this.#usual.set(node, value);
    const rare = new Set<Node>();
    const first = graph.nodes.length;
    let isLate = false;
    for (const node of lanes) {
      isLate ||= node.leaf.kind === 'atomic';
      if (known.has(node)) continue;
      const condition = isOp(node, 'i1.rare') && !isLate ? this.of(node.args[0]!) : undefined;
      // One that follows from other conditions is known by now, and is then no question.
      const isKnown = condition !== undefined && this.#known.isCertain(condition, false);
      if (condition && (condition.lane || isKnown)) {
        if (!isKnown) rare.add(condition);
        this.#known.learn(condition, false);
        this.#usual.set(node, graph.constant(0n, 'i1'));
      } else {
        const usual = this.#quotients.simplified(this.#rebuilt(node));
        if (usual !== node) this.#usual.set(node, usual);
        this.#order(usual);
      }
    }
    this.lanes = [...this.#ordered];
    this.facts = { rare, numbers: this.#quotients.numbers };
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
