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
import { endingOf, type FullWave, fullWaveFrom, type IdleWave, isEnd } from './regions/full-waves.ts';
import type { Region } from './regions/region.ts';
import { RegionLowering } from './regions/region-lowering.ts';
import type { SeriesPlan } from './regions/series.ts';
import { IdleWaves, SeriesWaves } from './series-waves.ts';

interface Entry {
  readonly block: Block;
  readonly full: FullWave;
  readonly lowering: RegionLowering;
  /** Of a wave that ends with all registers as they were, if it may be in a series. */
  readonly plan: SeriesPlan | undefined;
  /** Of one that ends if a condition tells it. */
  readonly early: EarlyEnd | undefined;
}

/** What tells that a wave ends, and what it does then. */
interface EarlyEnd {
  /** Of the region without what it leaves in registers. */
  readonly lowering: RegionLowering;
  readonly plan: SeriesPlan;
  readonly way: 'next' | 'target';
  readonly ending: IdleWave;
}

/**
 * A region without results that nothing reads. `own`: its instructions; `next`: where all waves go on, where
 * that is known.
 */
type WithoutDead = (region: Region, own: readonly Decoded[], next: Block | undefined) => Region;

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

/** Of a wave whose last branch leads to the end of the program, one way or the other. */
function earlyEnd(state: FunctionState, { way, last }: FullWave, region: Region): EarlyEnd | undefined {
  if (way !== 'branch') return undefined;
  for (const side of ['target', 'next'] as const) {
    const ending = last[side] && endingOf(last[side]);
    if (!ending) continue;
    const lowering = new RegionLowering(state, { ...region, scalars: new Map(), rows: new Map(), laneWrites: [] });
    const plan = lowering.mayBeWhole && !lowering.hasFoundLoads && !lowering.stores ? lowering.seriesPlan : undefined;
    return plan && { lowering, plan, way: side, ending };
  }
  return undefined;
}

/** Whether a region leaves all registers as they were. */
const isUnchanged = ({ scalars, rows }: Region): boolean => scalars.size === 0 && rows.size === 0;

interface EndedWave {
  /** Whether all registers are as they were. */
  readonly isUnchanged: boolean;
  /** Emits what is to be said of waves that ended before it. */
  readonly others?: (() => void) | undefined;
}

export class FullWaveEntries {
  /** Blocks that a series may begin with, once they are emitted. */
  readonly series: number[] = [];
  readonly #state: FunctionState;
  readonly #entries: readonly Entry[];

  /** `blocks`: those that nothing of the function leads to. */
  constructor(state: FunctionState, blocks: readonly Block[], withoutDead: WithoutDead) {
    this.#state = state;
    const { spaces, literals } = state;
    // Lanes that take turns are not all on.
    const candidates = spaces.stoppedScalar === undefined ? blocks : [];
    this.#entries = candidates.flatMap((block) => {
      const full = fullWaveFrom(block, { ...spaces, literals });
      if (!full) return [];
      const { region, instructions, last, way } = full;
      const all = way === 'leave' ? [...instructions, last.instructions.at(-1)!] : instructions;
      const next = way === 'next' || way === 'target' ? last[way] : undefined;
      const lowering = new RegionLowering(state, withoutDead(region, all, next));
      if (!lowering.mayBeWhole) return [];
      const ends = way === 'leave' && isEnd(last.instructions.at(-1)!) && isUnchanged(lowering.region);
      const plan = ends ? lowering.seriesPlan : undefined;
      // What loads are found at is computed twice, which takes more than a start of the wave.
      const isWorth = plan !== undefined || !lowering.hasFoundLoads;
      return isWorth ? [{ block, full, lowering, plan, early: earlyEnd(state, full, region) }] : [];
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

  #emitEntry({ block, full, lowering, plan, early }: Entry, ways: Ways, otherwise: BlockLabel): void {
    const { f, wave } = this.#state;
    const { instructions, last, way, idle } = full;
    const fits = new Fits(this.#state, block.instructions[0]!.index);
    fits.emitRefusal(otherwise);
    if (early) this.#emitEarly(early, block, instructions, ways);
    f.block(undefined, (misfit) => {
      const emit = (idleWave?: BlockLabel): void => {
        const end = (others?: () => void): void =>
          this.#end(instructions, last.instructions.at(-1)!, ways, {
            isUnchanged: isUnchanged(lowering.region),
            others,
          });
        if (plan) {
          this.series.push(block.index);
          const series = new SeriesWaves(this.#state, plan, block.instructions[0]!.index, instructions.length + 1);
          series.emit(
            (no, idle) => lowering.emit(no, idle, series),
            misfit,
            idleWave,
            () => {
              fits.emitFit(series.count);
              end(() => series.emitOthers());
            },
          );
          return;
        }
        const condition = lowering.emit(misfit, idleWave);
        fits.emitFit();
        if (way === 'leave') end();
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
        this.#end(idle.instructions, idle.end, ways, { isUnchanged: true });
      }
    });
    fits.emitMisfit();
  }

  /** Workgroups of which all waves end early; others go on behind it. */
  #emitEarly({ lowering, plan, way, ending }: EarlyEnd, block: Block, own: readonly Decoded[], ways: Ways): void {
    const instructions = [...own, ...ending.instructions];
    this.series.push(block.index);
    const entered = block.instructions[0]!.index;
    const waves = new IdleWaves(this.#state, plan, entered, instructions.length + 1, way === 'target');
    waves.emit(
      (no) => lowering.emit(no, undefined, waves),
      () => this.#end(instructions, ending.end, ways, { isUnchanged: true, others: () => waves.emitOthers() }),
    );
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

  /** `end`: the instruction behind the others. */
  #end(instructions: readonly Decoded[], end: Decoded, { leave }: Ways, { isUnchanged, others }: EndedWave): void {
    const { f, wave } = this.#state;
    if (isUnchanged) {
      f.get(wave);
      push(f, select(STILL_FRESH, 0, isFresh(wave)));
      f.store('i32.store', WAVE_FRESHNESS);
    }
    others?.();
    addToBudget(f, wave, -instructions.length - 1);
    emitAlone(this.#state, end, () => f.br(leave));
    f.br(leave);
  }
}
