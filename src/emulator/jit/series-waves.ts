/**
 * The workgroups of a series (regions/series.ts), each with all of its waves in their order. Before the first
 * one changes anything, all waves of the first workgroup are looked at: then all that are in the series do
 * the same, or a wave does no more than its own part.
 */
import { and, assign, eq, eqz, gtU, loadFrom, ltU, mul, push, select, sub, sum, tee } from '../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../wasm/function.ts';
import { GROUP } from '../machine/group-layout.ts';
import { MAX_SERIES, WAVE_BUDGET, WAVE_GROUP, WAVE_SERIES, WAVE_TURN } from '../machine/layout.ts';
import { Fits } from './function/fits.ts';
import type { FunctionState } from './function/function-state.ts';
import { isFresh } from './regions/first-look.ts';
import type { Series, SeriesPlan, SeriesSteps } from './regions/series.ts';

/** Instructions that are done without a look at the budget, where a workgroup has so many waves. */
const MAX_INSTRUCTIONS = 30_000;
const USUAL_WAVES = 8;

abstract class WavesOfSeries implements Series {
  readonly plan: SeriesPlan;
  readonly count: Local;
  protected readonly state: FunctionState;
  protected readonly fits: Fits;
  /** The first wave, and what is behind the last one. */
  protected readonly first: Local;
  protected readonly end: Local;
  /** Whether waves are only looked at. */
  protected readonly looks: Local;
  /** Where another wave is looked at. */
  protected again!: BlockLabel;
  readonly #instructions: number;
  readonly #group: Local;

  /** `entry`: where waves begin; `instructions`: how many a wave has, with the one that ends it. */
  constructor(state: FunctionState, plan: SeriesPlan, entry: number, instructions: number) {
    this.plan = plan;
    this.state = state;
    this.#instructions = instructions;
    this.fits = new Fits(state, entry, 'series');
    const local = (): Local => state.f.local('i32');
    this.count = local();
    this.first = local();
    this.end = local();
    this.#group = local();
    this.looks = local();
  }

  emitLooked(onFirst: () => void, onOther: () => void, begin: () => void): void {
    const { f, wave } = this.state;
    f.get(this.looks);
    f.if(undefined, () => {
      push(f, eq(wave, this.first));
      f.if(undefined, onFirst, onOther);
      f.get(this.count);
      f.if(
        undefined,
        () => {
          this.goToNext();
          push(f, ltU(wave, this.end));
          f.if(undefined, () => {
            this.#copyTurn();
            f.br(this.again);
          });
          this.goToFirst();
        },
        () => this.emitAlone(),
      );
      begin();
    });
  }

  /** Emits where a wave goes that was looked at while no other workgroup goes with its own. */
  protected abstract emitAlone(): void;

  abstract emitEach(emitWave: () => void, steps: SeriesSteps): void;

  /** Whether there is to be a series, and of which waves. */
  protected begin(): void {
    const { f, wave } = this.state;
    const [group, count] = [this.#group, this.count];
    const field = (name: 'sgprX' | 'fullCount' | 'waveStride') => loadFrom('i32.load', group, GROUP[name]);
    assign(f, this.first, wave);
    assign(f, count, loadFrom('i32.load', wave, WAVE_SERIES));
    f.get(count);
    f.if(undefined, () => {
      f.get(wave);
      f.i32(0);
      f.store('i32.store', WAVE_SERIES);
      f.block(undefined, (yes) => {
        f.block(undefined, (no) => {
          assign(f, group, loadFrom('i32.load', wave, WAVE_GROUP));
          push(f, eqz(and(isFresh(wave), eq(field('sgprX'), this.plan.position))));
          f.brIf(no);
          this.fits.emitRefusal(no);
          f.br(yes);
        });
        assign(f, count, 0);
      });
      const most = Math.min(MAX_SERIES, Math.floor(MAX_INSTRUCTIONS / USUAL_WAVES / this.#instructions));
      if (most < MAX_SERIES) assign(f, count, select(count, most, ltU(count, most)));
      assign(f, this.end, sum(wave, mul(field('fullCount'), field('waveStride'))));
    });
    assign(f, this.looks, count);
  }

  protected goToFirst(): void {
    const { f, wave } = this.state;
    assign(f, this.looks, 0);
    assign(f, wave, this.first);
  }

  protected goToNext(): void {
    const { f, wave } = this.state;
    assign(f, wave, sum(wave, loadFrom('i32.load', this.#group, GROUP.waveStride)));
  }

  /** The wave begins its turn like the first one. */
  #copyTurn(): void {
    const { f, wave } = this.state;
    for (const field of [WAVE_TURN, WAVE_BUDGET]) {
      push(f, wave);
      push(f, loadFrom('i32.load', this.first, field));
      f.store('i32.store', field);
    }
  }

  /** Tells the runner of `more` workgroups behind the first one, and takes what all ran off the budget. */
  protected emitDone(more: Local): void {
    const { f, wave } = this.state;
    push(f, this.#group);
    push(f, sum(more, 1));
    f.store('i32.store', GROUP.series);
    const waves = mul(sum(more, 1), loadFrom('i32.load', this.#group, GROUP.fullCount));
    push(f, wave);
    push(f, sub(loadFrom('i32.load', wave, WAVE_BUDGET), mul(sum(waves, -1), this.#instructions)));
    f.store('i32.store', WAVE_BUDGET);
    this.fits.emitFit();
  }

  protected release(): void {
    this.state.f.free(this.count, this.first, this.end, this.#group, this.looks);
  }
}

/** Waves that run to their end. */
export class SeriesWaves extends WavesOfSeries {
  /**
   * `run`: emits a wave, with where one goes that does not suit and where one that has nothing to do. Goes to
   * `misfit` or `idle` with the first wave. `end`: is emitted behind all that ran, at the first wave.
   */
  emit(
    run: (no: BlockLabel, idle: BlockLabel | undefined) => void,
    misfit: BlockLabel,
    idle: BlockLabel | undefined,
    end: () => void,
  ): void {
    const { f } = this.state;
    this.begin();
    f.block(undefined, (done) => {
      f.loop(undefined, (again) => {
        this.again = again;
        f.block(undefined, (no) => {
          const emit = (nothing?: BlockLabel): void => {
            run(no, nothing);
            f.br(done);
          };
          if (!idle) emit();
          else {
            f.block(undefined, emit);
            push(f, eqz(this.looks));
            f.brIf(idle);
          }
        });
        push(f, eqz(this.looks));
        f.brIf(misfit);
        this.fits.emitMisfit();
        assign(f, this.count, 0);
        this.goToFirst();
        f.br(again);
      });
    });
    assign(f, this.state.wave, this.first);
    end();
    this.release();
  }

  override emitEach(emitWave: () => void, { next, onward }: SeriesSteps): void {
    const { f, wave } = this.state;
    const left = f.local('i32');
    assign(f, left, this.count);
    f.block(undefined, (done) => {
      f.loop(undefined, (again) => {
        emitWave();
        push(f, eqz(this.count));
        f.brIf(done);
        this.goToNext();
        push(f, eq(wave, this.end));
        f.if(undefined, () => {
          push(f, eqz(left));
          f.brIf(done);
          assign(f, left, sum(left, -1));
          assign(f, wave, this.first);
          onward();
        });
        next();
        f.br(again);
      });
    });
    f.free(left);
  }

  protected override emitAlone(): void {
    this.goToFirst();
    this.state.f.br(this.again);
  }

  /** Of a series, tells the runner of the other waves. */
  emitOthers(): void {
    const { f } = this.state;
    f.get(this.count);
    f.if(undefined, () => this.emitDone(this.count));
  }
}

/**
 * Waves of which no lane has anything to do, as only what they load tells: workgroups all of whose waves are
 * so end without one of them having begun.
 */
export class IdleWaves extends WavesOfSeries {
  readonly #endsIf: boolean;
  /** Workgroups that are done. */
  readonly #done: Local;
  #stop!: BlockLabel;
  #no!: BlockLabel;

  /** `endsIf`: what the condition of the region's branch is where a wave ends. */
  constructor(state: FunctionState, plan: SeriesPlan, entry: number, instructions: number, endsIf: boolean) {
    super(state, plan, entry, instructions);
    this.#endsIf = endsIf;
    this.#done = state.f.local('i32');
  }

  /**
   * `run`: emits a wave, with where one goes that does not suit. Goes on behind it, at the first wave, unless
   * its workgroup is done; `end`: is emitted for that.
   */
  emit(run: (no: BlockLabel) => void, end: () => void): void {
    const { f, wave } = this.state;
    this.begin();
    f.get(this.count);
    f.if(undefined, () => {
      assign(f, this.#done, 0);
      f.block(undefined, (no) => {
        this.#no = no;
        f.loop(undefined, (again) => {
          this.again = again;
          f.block(undefined, (stop) => {
            this.#stop = stop;
            run(no);
          });
        });
      });
      assign(f, wave, this.first);
      f.get(this.#done);
      f.if(undefined, () => {
        assign(f, this.count, sum(this.#done, -1));
        end();
      });
      this.fits.emitMisfit();
    });
    f.free(this.#done);
    this.release();
  }

  override emitEach(emitWave: () => void, { next, onward }: SeriesSteps): void {
    const { f, wave } = this.state;
    f.loop(undefined, (again) => {
      emitWave();
      this.goToNext();
      push(f, eq(wave, this.end));
      f.if(undefined, () => {
        push(f, gtU(tee(this.#done, sum(this.#done, 1)), this.count));
        f.brIf(this.#stop);
        assign(f, wave, this.first);
        onward();
      });
      next();
      f.br(again);
    });
  }

  protected override emitAlone(): void {
    this.state.f.br(this.#no);
  }

  emitBranch(condition: Local): void {
    const { f } = this.state;
    push(f, this.#endsIf ? eqz(condition) : condition);
    f.brIf(this.#stop);
  }

  /** Tells the runner of the waves that ended. */
  emitOthers(): void {
    this.emitDone(this.count);
  }
}
