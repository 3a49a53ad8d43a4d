/** What stores of loops have in common, whatever way they go. */
import type { BlockLabel } from '../../../wasm/function.ts';
import type { LoopEnvironment } from './chunk-state.ts';
import { FinalStore } from './final-store.ts';
import type { LoopBody } from './loop-body.ts';
import type { LoopStore } from './loop-plan.ts';
import type { Evaluate } from './side-by-side-accesses.ts';
import { StreamedStore } from './streamed-store.ts';

export interface OpenedStore {
  /** Comes before the iterations; goes to `otherwise` where lanes may not store, or not so. */
  prepare(otherwise: BlockLabel): void;
  /** Gives the wave back what it had before the iterations. */
  undo(): void;
  /** Comes behind the iterations of all chunks. */
  finish(): void;
}

/** `body`: what runs the iterations. */
export function openStore(environment: LoopEnvironment, store: LoopStore, body: LoopBody): OpenedStore {
  const evaluate: Evaluate = (...asked) => body.evaluate(...asked);
  return store.isStreamed
    ? new StreamedStore(environment, body.accessGroups, evaluate)
    : new FinalStore(environment, store, evaluate);
}
