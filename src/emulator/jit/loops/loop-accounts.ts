/** What the iterations of a loop cost, and how often each of its instructions ran. */
import { assign, change, mul, sub, sum } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { classMix, emitClassCounts } from '../../lowering/class-counts.ts';
import { emitPcCounts, emitPcSums, emitTaken } from '../../lowering/pc-counts.ts';
import { WAVE_BUDGET, WAVE_LOOPED } from '../../machine/layout.ts';
import type { Decoded } from '../function/decoded.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { Skip } from './loop-graph.ts';
import { changesLanes, type LoopPlan } from './loop-plan.ts';
import type { SkipNotes } from './skip-notes.ts';

export class LoopAccounts {
  readonly #state: FunctionState;
  readonly #plan: LoopPlan;
  readonly #notes: SkipNotes | undefined;

  constructor(state: FunctionState, plan: LoopPlan, notes: SkipNotes | undefined) {
    this.#state = state;
    this.#plan = plan;
    this.#notes = notes;
  }

  /** Whether lanes are counted that are not the same in all that the iterations run. */
  get countsLanes(): boolean {
    return this.#state.context.countsPcs && changesLanes(this.#plan);
  }

  /**
   * Emits what comes behind `longest` iterations. `unfinished`: whether another one follows; `counted`:
   * lanes, as the environment has them.
   */
  settle(longest: Local, unfinished: Local, counted: readonly Local[]): void {
    const { f, context } = this.#state;
    // In how many iterations the wave did not skip the code of each skip.
    const entered = this.#notes?.countRan(longest) ?? [];
    this.#pay(longest, entered);
    if (context.countsPcs) {
      if (this.countsLanes) this.#countSpans(longest, entered, counted);
      else this.#countPcs(longest);
      this.#countLatch(longest, unfinished);
    }
    f.free(...entered);
  }

  #pay(longest: Local, entered: readonly Local[]): void {
    const { f, wave } = this.#state;
    const { graph } = this.#plan;
    const spent = f.local('i32');
    assign(f, spent, mul(longest, graph.instructions.length));
    this.#countClasses(graph.instructions, longest);
    for (const [skip, { instructions }] of graph.skips.entries()) {
      assign(f, spent, sum(spent, mul(entered[skip]!, instructions.length)));
      this.#countClasses(instructions, entered[skip]!);
    }
    change(f, wave, WAVE_BUDGET, (budget) => sub(budget, spent));
    change(f, wave, WAVE_LOOPED, (looped) => sum(looped, spent));
    f.free(spent);
  }

  /** Each iteration executed all of the loop, with the lanes that EXEC has. */
  #countPcs(longest: Local): void {
    const { f, wave, spaces } = this.#state;
    const pushPlace = (): void => this.#state.pushCounts(this.#plan.graph.instructions);
    emitPcCounts(f, pushPlace, wave, spaces.waveSize, () => f.get(longest));
  }

  /** `counted`: lanes, as the environment has them. */
  #countSpans(longest: Local, entered: readonly Local[], counted: readonly Local[]): void {
    const { f } = this.#state;
    const { skips, spans } = this.#plan.graph;
    const timesOf = (skip: Skip | undefined): Local => (skip ? entered[skips.indexOf(skip)]! : longest);
    for (const { exec, skip, instructions } of spans) {
      const pushPlace = (): void => this.#state.pushCounts(instructions);
      emitPcSums(f, pushPlace, [() => f.get(timesOf(skip)), () => f.get(counted[exec]!)]);
    }
    for (const skip of skips) {
      const taken = (): void => {
        if (skip.isTaken) f.get(timesOf(skip.outer));
        f.get(timesOf(skip));
        if (skip.isTaken) f.op('i32.sub');
      };
      emitTaken(f, () => this.#state.pushCounts([skip.branch]), taken);
    }
  }

  /** How often the branch at the end was taken. */
  #countLatch(longest: Local, unfinished: Local): void {
    const { f } = this.#state;
    const { loop } = this.#plan;
    const latch = loop.latch.instructions.at(-1)!;
    const taken = (): void => {
      if (loop.exit === 'next') f.get(longest);
      f.get(unfinished);
      f.op('i32.eqz');
      if (loop.exit === 'next') f.op('i32.sub');
    };
    emitTaken(f, () => this.#state.pushCounts([latch]), taken);
  }

  /** Instructions that ran so many times. */
  #countClasses(instructions: readonly Decoded[], times: Local): void {
    const { f, wave, context } = this.#state;
    if (!context.countsClasses) return;
    emitClassCounts(f, wave, classMix(instructions.map(({ step }) => step)), () => f.get(times));
  }
}
