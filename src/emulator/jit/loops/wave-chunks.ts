/** The chunks of a wave before the iterations of a loop, and behind them. */
import { assign, loadFrom, ltU, operation, push } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { STATE_OFFSETS, WAVE_MATRIX_ROWS } from '../../machine/layout.ts';
import { ChunkCursor } from '../regions/chunk-cursor.ts';
import { lanesBehind, type Node } from '../regions/node.ts';
import type { LoopEnvironment } from './chunk-state.ts';
import type { LoopValues } from './loop-values.ts';
import type { Evaluate } from './side-by-side-accesses.ts';

/** What a chunk has: `argument` of the roots, `nibble`: which of its lanes are active. */
export type ChunkUse = (at: ChunkCursor, argument: (node: Node) => Local, nibble: Local) => void;

/** A loop over the chunks with an active lane; `values`: of the wave, which it splats. */
export function forEachActiveChunk(
  { state }: LoopEnvironment,
  evaluate: Evaluate,
  values: LoopValues,
  roots: readonly Node[],
  use: ChunkUse,
): void {
  const { f } = state;
  const at = new ChunkCursor(state);
  const [exec, nibble] = [f.local('i64'), f.local('i32')];
  assign(f, exec, state.mask(STATE_OFFSETS.exec));
  const ofWave = [...lanesBehind(roots).flatMap(({ args }) => args), ...roots].filter(({ lane }) => !lane);
  for (const node of ofWave) values.splat(node);
  at.goToFirst();
  f.block(undefined, (done) =>
    f.loop(undefined, (again) => {
      at.skipInactive(exec, done);
      at.setNibble(nibble, exec, 15);
      const { argument, release } = evaluate({ ...at, offset: 0 }, roots, values);
      use(at, (node) => argument(node).lanes[0]!, nibble);
      release();
      at.advance();
      at.pushIsBeforeEnd();
      f.brIf(again);
    }),
  );
  at.release();
  f.free(exec, nibble);
}

/** Keeps what the rows of a loop hold, where products of matrices would stand, or gives it back. */
export function copyRows({ state, plan }: LoopEnvironment, what: 'keep' | 'restore'): void {
  const { f, wave, spaces } = state;
  const rowSize = spaces.waveSize * 4;
  const [pointer, end] = [f.local('i32'), f.local('i32')];
  assign(f, pointer, wave);
  assign(f, end, operation('i32.add', wave, rowSize));
  f.loop(undefined, (again) => {
    for (const [i, row] of [...plan.rows.keys()].entries()) {
      const kept = WAVE_MATRIX_ROWS + i * rowSize;
      const [from, to] = what === 'keep' ? [row, kept] : [kept, row];
      f.get(pointer);
      push(f, loadFrom('v128.load', pointer, from));
      f.store('v128.store', to);
    }
    assign(f, pointer, operation('i32.add', pointer, 16));
    push(f, ltU(pointer, end));
    f.brIf(again);
  });
  f.free(pointer, end);
}
