/**
 * Values that grow from lane to lane by one step, and with them their sums and their products with values of
 * the wave. So only terms are looked at in each lane; of a sum, the first lane's value and the step follow.
 */
import { assert } from '../../../base/errors.ts';
import { assign, laneOf, operation, type Push, shl, sub, sum, type Term } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import { constantOf } from './graph.ts';
import type { Hoisted } from './hoisted.ts';
import { lanesBehind, type Node } from './node.ts';

/** A sign that changes is 2^31 more, modulo 2^32. */
export const SIGN = -0x80000000n;

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
    case 'i32.xor':
      return args.some((arg) => constantOf(arg) === SIGN) ? lanes : undefined;
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
  /**
   * Where lanes are in rows: what the first lane of the second row has more, and where there are four, that
   * of the third; the fourth has both.
   */
  readonly pitches: readonly Local[];
}

/** What a term is expected to be in the lanes of a chunk. */
interface Expected {
  readonly lanes: Local;
  /** From chunk to chunk. */
  readonly step: Local;
  /** In the first chunk of the first or third row; as the step has them. */
  readonly row: Local | undefined;
  readonly pitches: readonly Local[];
}

/** Two or four rows of lanes that have steps of their own. */
export interface LaneRows {
  readonly chunks: number;
  readonly count: number;
  /** Whether a wave may begin here. */
  readonly isEntry: boolean;
}

export class LaneSteps {
  readonly #f: FunctionBuilder;
  readonly #hoisted: Hoisted;
  readonly #scalar: (node: Node) => Local;
  readonly #rows: LaneRows | undefined;
  readonly #steps = new Map<Node, LaneStep>();
  readonly #expected = new Map<Node, Expected>();
  readonly #all: Local[] = [];

  constructor(f: FunctionBuilder, hoisted: Hoisted, scalar: (node: Node) => Local, rows?: LaneRows) {
    this.#f = f;
    this.#hoisted = hoisted;
    this.#scalar = scalar;
    this.#rows = rows;
  }

  /**
   * Emits what `term` is in the lanes of a chunk if it grows by one step; chunks come in order, from 0 on,
   * whose first two lanes say what to expect, and the first one of the second row.
   */
  expected(term: Node, chunk: number, lanes: Local): Local {
    const known = this.#expected.get(term);
    if (!known) return this.#begin(term, lanes);
    assert(chunk > 0, 'chunks come in order');
    const f = this.#f;
    const { row, pitches } = known;
    if (!this.#rows || !row || chunk % this.#rows.chunks !== 0) {
      assign(f, known.lanes, operation('i32x4.add', known.lanes, known.step));
      return known.lanes;
    }
    const number = chunk / this.#rows.chunks;
    const isOdd = number % 2 === 1;
    const [pitch, own] = [pitches[isOdd ? 0 : 1]!, this.#steps.get(term)!.pitches[isOdd ? 0 : 1]!];
    if (number < 3) {
      assign(f, own, sub(laneOf(lanes, 0), this.#steps.get(term)!.first));
      assign(f, pitch, operation('i32x4.splat', own));
    }
    assign(f, known.lanes, operation('i32x4.add', row, pitch));
    if (!isOdd) assign(f, row, known.lanes);
    return known.lanes;
  }

  /** What comparing sets of a term. */
  reserve(term: Node): LaneStep {
    let found = this.#steps.get(term);
    if (!found) {
      found = { first: this.#held(), step: this.#held(), pitches: this.#pitches.map(() => this.#held()) };
      this.#steps.set(term, found);
    }
    return found;
  }

  #begin(term: Node, lanes: Local): Local {
    const f = this.#f;
    const { first, step, pitches } = this.reserve(term);
    assign(f, first, laneOf(lanes, 0));
    assign(f, step, sub(laneOf(lanes, 1), first));
    const vector = (): Local => f.local('v128');
    const expected: Expected = {
      lanes: vector(),
      step: vector(),
      row: this.#rows && vector(),
      pitches: pitches.map(vector),
    };
    this.#expected.set(term, expected);
    assign(f, expected.step, operation('i32x4.splat', step));
    const grown = operation('i32x4.mul', expected.step, this.#hoisted.lanes);
    assign(f, expected.lanes, operation('i32x4.add', operation('i32x4.splat', first), grown));
    assign(f, expected.step, operation('i32x4.shl', expected.step, 2));
    if (expected.row) assign(f, expected.row, expected.lanes);
    return expected.lanes;
  }

  /** Ends the comparison. */
  close(): void {
    for (const { lanes, step, row, pitches } of this.#expected.values())
      this.#f.free(lanes, step, ...(row ? [row] : []), ...pitches);
    this.#expected.clear();
  }

  release(): void {
    this.#f.free(...this.#all.splice(0));
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

  #computed(node: Node): LaneStep {
    const { leaf, lane, args } = node;
    if (!lane)
      return { first: this.#scalar(node), step: this.#made(0), pitches: this.#pitches.map(() => this.#made(0)) };
    assert(leaf.kind === 'pure', 'a sum or product');
    const [a, b] = args as [Node, Node];
    const each = (made: (part: (node: Node) => Term) => Push): LaneStep => ({
      first: this.#made(made((node) => (node.lane ? this.of(node).first : this.#scalar(node)))),
      step: this.#made(made((node) => (node.lane ? this.of(node).step : 0))),
      pitches: this.#pitches.map((i) => this.#made(made((node) => (node.lane ? this.of(node).pitches[i]! : 0)))),
    });
    switch (leaf.op) {
      case 'i32.add':
      case 'i32.xor':
        return each((part) => sum(part(a), part(b)));
      case 'i32.sub':
        return each((part) => sub(part(a), part(b)));
      case 'i32.shl':
        return each((part) => shl(part(a), this.#scalar(b)));
      default: {
        const [lanes, factor] = a.lane ? [a, this.#scalar(b)] : [b, this.#scalar(a)];
        return each((part) => operation('i32.mul', part(lanes), factor));
      }
    }
  }

  /** Their numbers. */
  get #pitches(): readonly number[] {
    return this.#rows ? [0, 1].slice(0, Math.log2(this.#rows.count)) : [];
  }

  #made(value: Term): Local {
    const local = this.#held();
    assign(this.#f, local, value);
    return local;
  }

  #held(): Local {
    const local = this.#f.local('i32');
    this.#all.push(local);
    return local;
  }
}
