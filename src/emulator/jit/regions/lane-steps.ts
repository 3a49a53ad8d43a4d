/**
 * Values that grow from lane to lane by one step, and with them their sums and their products with values of
 * the wave. So only terms are looked at in each lane; of a sum, the first lane's value and the step follow.
 */
import { assert } from '../../../base/errors.ts';
import { assign, laneOf, operation, type Push, shl, sub, sum, type Term } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import type { Hoisted } from './hoisted.ts';
import { lanesBehind, type Node } from './node.ts';

/** Of a sum, product or shift, the operands that are of lanes; undefined of another value. */
function operandsOf({ leaf, args }: Node): readonly Node[] | undefined {
  if (leaf.kind !== 'pure') return undefined;
  const lanes = args.filter(({ lane }) => lane);
  switch (leaf.op) {
    case 'i32.add':
    case 'i32.sub':
      return lanes;
    case 'i32.mul':
      return lanes.length === 1 ? lanes : undefined;
    case 'i32.shl':
      return args[1]!.lane ? undefined : lanes;
    default:
      return undefined;
  }
}

/** What looking at a term costs in a chunk, in vector operations beside those that compute it. */
const COMPARISON = 5;
/** What an operation of a sum costs, which is not done for each chunk. */
const SCALAR_OPERATION = 0.5;

/**
 * Lane values that `roots` are made of by sums and products with values of the wave: the roots themselves, or
 * what these are computed from where less is to be done for that.
 */
export function termsOf(roots: readonly Node[]): readonly Node[] {
  const [terms, seen] = [new Set<Node>(), new Set<Node>()];
  const visit = (node: Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    const operands = operandsOf(node);
    if (operands) operands.forEach(visit);
    else terms.add(node);
  };
  roots.forEach(visit);
  const costOf = (nodes: ReadonlySet<Node>): number => COMPARISON * nodes.size + lanesBehind([...nodes]).length;
  const whole = new Set(roots);
  const sums = seen.size - terms.size;
  return [...(costOf(terms) + sums * SCALAR_OPERATION < costOf(whole) ? terms : whole)];
}

/** The value of the first lane, and what each lane has more than the one before, modulo 2^32. */
export interface LaneStep {
  readonly first: Local;
  readonly step: Local;
}

/** What a term is expected to be in the lanes of a chunk. */
interface Expected {
  readonly lanes: Local;
  /** From chunk to chunk. */
  readonly step: Local;
}

export class LaneSteps {
  readonly #f: FunctionBuilder;
  readonly #hoisted: Hoisted;
  readonly #scalar: (node: Node) => Local;
  readonly #steps = new Map<Node, LaneStep>();
  readonly #expected = new Map<Node, Expected>();
  readonly #held = new Set<Local>();

  constructor(f: FunctionBuilder, hoisted: Hoisted, scalar: (node: Node) => Local) {
    this.#f = f;
    this.#hoisted = hoisted;
    this.#scalar = scalar;
  }

  /**
   * Emits what `term` is in the lanes of a chunk if it grows by one step; chunks come in order, from 0 on,
   * whose first two lanes say what to expect.
   */
  expected(term: Node, chunk: number, lanes: Local): Local {
    const f = this.#f;
    const known = this.#expected.get(term);
    if (known) {
      assert(chunk > 0, 'chunks come in order');
      assign(f, known.lanes, operation('i32x4.add', known.lanes, known.step));
      return known.lanes;
    }
    const first = this.#made(laneOf(lanes, 0));
    const step = this.#made(sub(laneOf(lanes, 1), first));
    this.#steps.set(term, { first, step });
    const expected = { lanes: f.local('v128'), step: f.local('v128') };
    this.#expected.set(term, expected);
    assign(f, expected.step, operation('i32x4.splat', step));
    const grown = operation('i32x4.mul', expected.step, this.#hoisted.lanes);
    assign(f, expected.lanes, operation('i32x4.add', operation('i32x4.splat', first), grown));
    assign(f, expected.step, operation('i32x4.shl', expected.step, 2));
    return expected.lanes;
  }

  /** Ends the comparison. */
  close(): void {
    for (const { lanes, step } of this.#expected.values()) this.#f.free(lanes, step);
    this.#expected.clear();
  }

  release(): void {
    this.#f.free(...this.#held);
    this.#held.clear();
  }

  /** Emits a value whose terms all grow by a step. */
  of(node: Node): LaneStep {
    let found = this.#steps.get(node);
    if (!found) {
      found = this.#computed(node);
      this.#steps.set(node, found);
    }
    return found;
  }

  #computed({ leaf, args }: Node): LaneStep {
    assert(leaf.kind === 'pure', 'a sum or product');
    const [a, b] = args as [Node, Node];
    const first = (node: Node): Term => (node.lane ? this.of(node).first : this.#scalar(node));
    const step = (node: Node): Term => (node.lane ? this.of(node).step : 0);
    const both = (combined: (a: Term, b: Term) => Push): LaneStep => ({
      first: this.#made(combined(first(a), first(b))),
      step: this.#made(combined(step(a), step(b))),
    });
    switch (leaf.op) {
      case 'i32.add':
        return both(sum);
      case 'i32.sub':
        return both(sub);
      case 'i32.shl': {
        const amount = this.#scalar(b);
        return { first: this.#made(shl(first(a), amount)), step: this.#made(shl(step(a), amount)) };
      }
      default: {
        const [lanes, factor] = a.lane ? [a, this.#scalar(b)] : [b, this.#scalar(a)];
        const times = (value: Term): Push => operation('i32.mul', value, factor);
        return { first: this.#made(times(first(lanes))), step: this.#made(times(step(lanes))) };
      }
    }
  }

  #made(value: Term): Local {
    const local = this.#f.local('i32');
    this.#held.add(local);
    assign(this.#f, local, value);
    return local;
  }
}
