/** What a body of chunks computes. */
import type { Local } from '../../../wasm/function.ts';
import type { Node } from './node.ts';
import type { UsualFacts } from './usual.ts';

export interface BodyValues extends UsualFacts {
  /** In order. */
  readonly lanes: readonly Node[];
  /** Rows of registers, by their offset in the wave state, with what they get. */
  readonly rows: ReadonlyMap<number, Node>;
  /** Masks that the loop collects, and their conditions. */
  readonly ballots: ReadonlyMap<Local, Node>;
  /** Conditions of those that it collects in the wave state (ballots.ts). */
  readonly manyBallots: readonly Node[];
  /** Values that are there when a chunk ends. */
  readonly kept?: readonly Node[];
}

/** Rows and conditions of masks. */
export const resultNodes = ({ rows, ballots, manyBallots }: BodyValues): readonly Node[] => [
  ...rows.values(),
  ...ballots.values(),
  ...manyBallots,
];
