/** Looks for what makes results wrong: NaNs, as nan-checks.ts finds necessary, and rare conditions. */
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import type { Emitter } from '../../lowering/emitter.ts';
import { widenMask } from '../../lowering/int-emission.ts';
import type { Node } from '../regions/node.ts';
import type { Chunk, LoopEnvironment } from './chunk-state.ts';
import { type NanChecks, nanChecks } from './nan-checks.ts';

export class NanWatch {
  readonly #environment: LoopEnvironment;
  readonly #checks: NanChecks;

  constructor(environment: LoopEnvironment, nodes: readonly Node[]) {
    this.#environment = environment;
    this.#checks = nanChecks(nodes, environment.plan);
  }

  /** Whether there is something to look for. */
  get mayGiveUp(): boolean {
    return this.#checks.values.size + this.#checks.rows.size + this.#environment.plan.rare.size > 0;
  }

  /**
   * Whether active lanes are picked out at once: where EXEC changes, those with which an iteration begins,
   * but if it goes on with others.
   */
  get #picksActive(): boolean {
    const { writesExec, readsInactive } = this.#environment.plan.graph;
    return writesExec && !readsInactive;
  }

  /** Where a chunk collects what it sees. */
  begin(): Chunk['nans'] {
    if (this.#checks.values.size + this.#environment.plan.rare.size === 0) return undefined;
    const { f } = this.#environment.state;
    const [f32x4, low, high] = [f.local('v128'), f.local('v128'), f.local('v128')];
    for (const local of [f32x4, low, high]) {
      f.v128([0, 0, 0, 0]);
      f.set(local);
    }
    return { f32x4, f64x2: [low, high] };
  }

  /** Looks for NaNs of the node in active lanes, where that is necessary, and goes on. */
  emitter(node: Node, { nans, lanes }: Chunk): Emitter {
    const { state, plan } = this.#environment;
    const { f, context } = state;
    const { exec } = plan.graph;
    let half = 0;
    const deferNan: Emitter['deferNan'] = (width, result) => {
      if (!nans || !this.#checks.values.has(node)) return;
      const index = width === 'f64x2' ? half++ & 1 : 0;
      const into = width === 'f32x4' ? nans.f32x4 : nans.f64x2[index]!;
      f.get(into);
      f.get(result);
      f.get(result);
      f.op(`${width}.ne`);
      if (this.#picksActive) {
        const active = lanes.get(exec)![0]!;
        const masks = width === 'f64x2' ? widenMask(state.e, active) : [];
        f.get(masks[index] ?? active);
        f.op('v128.and');
        f.free(...masks);
      }
      f.op('v128.or');
      f.set(into);
    };
    return { f, context, deferNan };
  }

  /** As `noteRare`, before the iterations, of a condition that does not change, if EXEC does not, either. */
  noteFirst(node: Node, chunk: Chunk): void {
    const { variant, graph } = this.#environment.plan;
    if (!variant.has(node) && !graph.writesExec) this.noteRare(node, chunk.lanes.get(node)![0]!, chunk);
  }

  /** The same in each iteration, of a condition that is there when one begins. */
  noteFixed(node: Node, condition: Local, chunk: Chunk): void {
    const { variant, graph } = this.#environment.plan;
    if (variant.has(node) || graph.writesExec) this.noteRare(node, condition, chunk);
  }

  /** Notes where a condition of the plan that must be false is true in an active lane. */
  noteRare(node: Node, condition: Local, { nans, lanes }: Chunk): void {
    const { state, plan } = this.#environment;
    if (!plan.rare.has(node)) return;
    const { f } = state;
    f.get(nans!.f32x4);
    f.get(condition);
    if (this.#picksActive) {
      f.get(lanes.get(plan.graph.exec)![0]!);
      f.op('v128.and');
    }
    f.op('v128.or');
    f.set(nans!.f32x4);
  }

  /** Goes to `slow` if there was a NaN that counts, or something rare. */
  giveUp({ nans, lanes, rows }: Chunk, slow: BlockLabel): void {
    const { state, plan } = this.#environment;
    const { f } = state;
    const { exec, writesExec } = plan.graph;
    const active = lanes.get(exec)![0]!;
    const leaveIfAny = (): void => {
      f.op('v128.any_true');
      f.brIfRare(slow);
    };
    if (nans) {
      // Where EXEC changes, active lanes were picked out at once.
      const wide = writesExec ? [] : widenMask(state.e, active);
      for (const [local, mask] of [
        [nans.f32x4, active],
        [nans.f64x2[0], wide[0]],
        [nans.f64x2[1], wide[1]],
      ] as const) {
        f.get(local);
        if (!writesExec) {
          f.get(mask!);
          f.op('v128.and');
        }
        leaveIfAny();
      }
      f.free(...wide);
    }
    for (const offset of this.#checks.rows) {
      f.get(rows.get(offset)!);
      f.get(rows.get(offset)!);
      f.op('f32x4.ne');
      // Of rows that count inside the loop only, lanes that go on.
      if (!writesExec || (this.#picksActive && !plan.rowsOutside.has(offset))) {
        f.get(active);
        f.op('v128.and');
      }
      leaveIfAny();
    }
  }
}
