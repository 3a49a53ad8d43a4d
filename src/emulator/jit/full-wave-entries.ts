/**
 * What waves with all lanes on run that enter a function at one of its blocks. The blocks themselves are
 * another function then, which many waves never come to.
 */
import { loadFrom, ltS, ne, push, select } from '../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../wasm/function.ts';
import { addToBudget } from '../handlers/handler-table.ts';
import { STILL_FRESH, WAVE_BUDGET, WAVE_FRESHNESS } from '../machine/layout.ts';
import type { Block } from './function/control-flow.ts';
import type { Decoded } from './function/decoded.ts';
import { Fits } from './function/fits.ts';
import type { FunctionState } from './function/function-state.ts';
import { emitAlone } from './regions/alone.ts';
import { isFresh } from './regions/first-look.ts';
import { type FullWave, fullWaveFrom } from './regions/full-waves.ts';
import type { Region } from './regions/region.ts';
import { RegionLowering } from './regions/region-lowering.ts';

interface Entry {
  readonly block: Block;
  readonly full: FullWave;
  readonly lowering: RegionLowering;
}

/** Where waves go from an entry. */
interface Ways {
  /** To the block whose number is in `next`. */
  readonly blocks: BlockLabel;
  readonly next: Local;
  /** Takes the record to go on with, or 0. */
  readonly leave: BlockLabel;
}

/** One of the ways that the last block of a full wave leads. */
interface Exit extends Pick<Entry, 'block'>, Pick<FullWave, 'last'> {
  readonly way: 'next' | 'target';
}

export class FullWaveEntries {
  readonly #state: FunctionState;
  readonly #entries: readonly Entry[];

  /** `blocks`: those that nothing of the function leads to. */
  constructor(
    state: FunctionState,
    blocks: readonly Block[],
    withoutDead: (region: Region, own: readonly Decoded[]) => Region,
  ) {
    this.#state = state;
    const { spaces, literals } = state;
    // Lanes that take turns are not all on.
    const candidates = spaces.stoppedScalar === undefined ? blocks : [];
    this.#entries = candidates.flatMap((block) => {
      const full = fullWaveFrom(block, { ...spaces, literals });
      if (!full) return [];
      const lowering = new RegionLowering(state, withoutDead(full.region, full.instructions));
      return lowering.mayBeWhole ? [{ block, full, lowering }] : [];
    });
  }

  get any(): boolean {
    return this.#entries.length > 0;
  }

  /** Waves that no entry is for go on behind it; `next`: the number of the block that they are at. */
  emit(next: Local, blocks: BlockLabel, leave: BlockLabel): void {
    const { f } = this.#state;
    for (const entry of this.#entries)
      f.block(undefined, (otherwise) => {
        push(f, ne(next, entry.block.index));
        f.brIf(otherwise);
        this.#emitEntry(entry, { blocks, next, leave }, otherwise);
      });
  }

  #emitEntry({ block, full, lowering }: Entry, ways: Ways, otherwise: BlockLabel): void {
    const { f, wave } = this.#state;
    const { instructions, last, way, idle } = full;
    const { scalars, rows } = lowering.region;
    const isUnchanged = scalars.size === 0 && rows.size === 0;
    const fits = new Fits(this.#state, block.instructions[0]!.index);
    fits.emitRefusal(otherwise);
    f.block(undefined, (misfit) => {
      const emit = (idleWave?: BlockLabel): void => {
        const condition = lowering.emit(misfit, idleWave);
        fits.emitFit();
        if (way === 'leave') this.#end(instructions, last.instructions.at(-1)!, isUnchanged, ways);
        else {
          addToBudget(f, wave, -instructions.length);
          if (condition) {
            f.get(condition);
            f.free(condition);
            f.if(undefined, () => this.#goTo({ block, last, way: 'target' }, ways));
          }
          this.#goTo({ block, last, way: way === 'target' ? 'target' : 'next' }, ways);
        }
      };
      if (!idle) emit();
      else {
        f.block(undefined, emit);
        fits.emitFit();
        this.#end(idle.instructions, idle.end, true, ways);
      }
    });
    fits.emitMisfit();
  }

  /** Where the last block of an entry leads. */
  #goTo({ block, last, way }: Exit, { blocks, next, leave }: Ways): void {
    const { f, wave } = this.#state;
    const successor = last[way];
    const leaveFunction = (): void => {
      this.#state.pushSuccessor(way, last.instructions.at(-1)!);
      f.br(leave);
    };
    if (!successor) {
      leaveFunction();
      return;
    }
    if (successor.index <= block.index) {
      push(f, ltS(loadFrom('i32.load', wave, WAVE_BUDGET), 1));
      f.if(undefined, leaveFunction);
    }
    f.i32(successor.index);
    f.set(next);
    f.br(blocks);
  }

  /** `isUnchanged`: whether all registers are as they were. */
  #end(instructions: readonly Decoded[], end: Decoded, isUnchanged: boolean, { leave }: Ways): void {
    const { f, wave } = this.#state;
    if (isUnchanged) {
      f.get(wave);
      push(f, select(STILL_FRESH, 0, isFresh(wave)));
      f.store('i32.store', WAVE_FRESHNESS);
    }
    addToBudget(f, wave, -instructions.length - 1);
    emitAlone(this.#state, end, () => f.br(leave));
    f.br(leave);
  }
}
