/** A look at lanes: whether the values that addresses are sums of grow by a step from lane to lane. */
import { assign, gtU, operation, or, type Push, push, sum, type Term } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { followsFromIds, onFirstLook } from './first-look.ts';
import { type LaneRows, LaneSteps, termsOf } from './lane-steps.ts';
import type { EmittedValues, LinearEnvironment } from './linear-access.ts';
import type { Node } from './node.ts';

/** Emits values of a chunk, by its number. */
export type ChunkValues = (chunk: number) => EmittedValues;

/**
 * A summand is below this in the first lane, either way, and grows by no more than a step from lane to lane
 * and to the next rows: so in all lanes it is below three times this, and three of them do not wrap.
 */
const SUMMAND_REACH = 2 ** 27;
const MAX_SUMMAND_STEP = 2 ** 23 - 1;

const isFar = (first: Term): Push => gtU(sum(first, SUMMAND_REACH), 2 * SUMMAND_REACH);

/** Whether a summand is too far in the first lane of the last of several workgroups; `growth`: of each. */
export const isSummandFar = (first: Local, growth: Local, count: Local): Push =>
  or(gtU(growth, MAX_SUMMAND_STEP), isFar(sum(first, operation('i32.mul', growth, count))));

export class LinearTerms {
  /** Lane values that looking needs. */
  readonly nodes: readonly Node[];
  readonly #environment: LinearEnvironment;
  readonly #terms: readonly Node[];
  readonly #highWords: ReadonlySet<Node>;
  readonly #summands: ReadonlySet<Node>;

  /** Of sums; of words that must be the high word of the window; of values whose sum must not wrap. */
  constructor(
    environment: LinearEnvironment,
    sums: readonly Node[],
    highWords: ReadonlySet<Node>,
    summands: ReadonlySet<Node>,
  ) {
    this.#environment = environment;
    this.#summands = summands;
    this.#terms = termsOf([...sums, ...summands]);
    this.#highWords = highWords;
    this.nodes = [...this.#terms, ...highWords];
  }

  /**
   * Looks at `chunks` chunks, and goes to `no` where a term does not grow by a step; the result, which the
   * caller releases, says of sums how they grow. `rows`: where rows have steps of their own.
   */
  look(chunks: number, at: ChunkValues, no: BlockLabel, rows?: LaneRows): LaneSteps {
    const { state, hoisted, scalar } = this.#environment;
    const steps = new LaneSteps(state.f, hoisted, scalar, rows);
    const compare = (): void => this.#compare(steps, chunks, at, no, rows?.chunks);
    const isFirst = rows?.isEntry && this.#highWords.size === 0 && followsFromIds(this.#terms, state.spaces.waveSize);
    if (!isFirst) compare();
    else {
      const reserved = this.#terms.map((term) => steps.reserve(term));
      onFirstLook(state, reserved, compare);
    }
    for (const summand of this.#summands) {
      const { first, step, pitches } = steps.of(summand);
      push(state.f, or(isFar(first), gtU(pitches.reduce<Term>(or, step), MAX_SUMMAND_STEP)));
      state.f.brIf(no);
    }
    return steps;
  }

  #compare(steps: LaneSteps, chunks: number, at: ChunkValues, no: BlockLabel, rowChunks: number | undefined): void {
    const { state, hoisted } = this.#environment;
    const { f } = state;
    const unusual = f.local('v128');
    f.v128([0, 0, 0, 0]);
    f.set(unusual);
    for (let chunk = 0; chunk < chunks; chunk++) {
      const { argument, release } = at(chunk);
      const compare = (node: Node, expected: Local): void =>
        assign(f, unusual, operation('v128.or', unusual, operation('v128.xor', argument(node).lanes[0]!, expected)));
      for (const term of this.#terms) compare(term, steps.expected(term, chunk, argument(term).lanes[0]!));
      for (const high of this.#highWords) compare(high, hoisted.window);
      release();
      // Most that do not suit show it in their first row.
      if (chunk + 1 !== chunks && chunk + 1 !== rowChunks) continue;
      push(f, operation('v128.any_true', unusual));
      f.brIf(no);
    }
    steps.close();
    f.free(unusual);
  }
}
