/**
 * Runs the waves of a workgroup, and further workgroups in its place, until the host is needed: in
 * WebAssembly, because small kernels spend less time in a wave than it takes to call it.
 */
import {
  assign,
  eq,
  eqz,
  loadFrom,
  ltU,
  or,
  type Push,
  push,
  select,
  sub,
  sum,
  type Term,
} from '../../wasm/expression.ts';
import type { BlockLabel, FunctionBuilder, Local } from '../../wasm/function.ts';
import type { FunctionRef } from '../../wasm/types.ts';
import type { AddressSpaces } from '../lowering/memory-access.ts';
import type { ModuleContext } from '../lowering/module-context.ts';
import { GROUP, GROUP_STATES, type GroupField, stateCode } from '../machine/group-layout.ts';
import {
  DEVICE_MEMORY,
  EXIT_CODES,
  WAVE_CLOCK,
  WAVE_COMPILED,
  WAVE_EXIT,
  WAVE_FRESHNESS,
  WAVE_GROUP,
  WAVE_LOOPED,
  WAVE_RECORD,
  WAVE_SERIES,
  WAVE_SGPRS,
} from '../machine/layout.ts';
import { WaveStarter } from './wave-starter.ts';

/**
 * (group, clock) -> number of the wave whose exit the host must look at, -1 when no wave can go on or the
 * host has its turn.
 */
export type RunGroup = (group: number, clock: bigint) => number;

/**
 * `run`: (record, wave, budget) -> budget left. `hasLeaders`: waves start at leaders, which say what has to
 * be set up.
 */
export function emitRunGroup(
  context: ModuleContext,
  run: FunctionRef,
  spaces: AddressSpaces,
  hasLeaders: boolean,
): FunctionBuilder {
  const f = context.module.function(['i32', 'i64'], ['i32'], 'run group');
  new GroupRunner(f, run, spaces, hasLeaders).emit();
  return f;
}

class GroupRunner {
  readonly #f: FunctionBuilder;
  readonly #run: FunctionRef;
  readonly #stoppedScalar: number | undefined;
  readonly #start: WaveStarter;
  readonly #group: Local;
  readonly #clock: Local;
  readonly #index: Local;
  readonly #wave: Local;
  /** Address of the state of the wave. */
  readonly #state: Local;
  readonly #count: Local;
  /** How many waves wait at the barrier. */
  readonly #waiting: Local;
  /** State of waves that may go on, besides those that are ready. */
  readonly #goesOn: Local;

  constructor(f: FunctionBuilder, run: FunctionRef, { waveSize, stoppedScalar }: AddressSpaces, hasLeaders: boolean) {
    this.#f = f;
    this.#run = run;
    this.#stoppedScalar = stoppedScalar;
    this.#group = f.param(0);
    this.#clock = f.param(1);
    this.#index = f.local('i32');
    this.#wave = f.local('i32');
    this.#state = f.local('i32');
    this.#count = f.local('i32');
    this.#waiting = f.local('i32');
    this.#goesOn = f.local('i32');
    this.#start = new WaveStarter(f, { group: this.#group, wave: this.#wave, waveSize, hasLeaders });
  }

  emit(): void {
    const f = this.#f;
    this.#setCount();
    this.#setReleased(false);
    assign(f, this.#waiting, 0);
    this.#eachWave(() => assign(f, this.#waiting, sum(this.#waiting, this.#isState(stateCode('barrier')))));
    f.loop(undefined, (turns) => {
      this.#eachWave(() => this.#runWave());
      this.#setReleased(false);
      this.#push('live');
      f.op('i32.eqz');
      f.if(undefined, () => {
        this.#returnUnlessNext();
        this.#startNext();
        f.br(turns);
      });
      // When all that live wait at the barrier, they go on.
      f.get(this.#waiting);
      this.#push('live');
      f.op('i32.eq');
      f.if(undefined, () => {
        assign(f, this.#waiting, 0);
        this.#setReleased(true);
        this.#pushIsBelowLimit();
        f.brIf(turns);
        this.#set('current', () => f.i32(-1));
      });
    });
    f.i32(-1);
  }

  /** Whether the waves behind the current one that wait at the barrier may go on. */
  #setReleased(isReleased: boolean): void {
    const f = this.#f;
    this.#set('released', () => f.i32(isReleased ? 1 : 0));
    assign(f, this.#goesOn, stateCode(isReleased ? 'barrier' : 'ready'));
  }

  #setCount(): void {
    this.#push('count');
    this.#f.set(this.#count);
  }

  #push(field: GroupField): void {
    this.#f.get(this.#group);
    this.#f.load('i32.load', GROUP[field]);
  }

  #set(field: GroupField, push: () => void): void {
    this.#f.get(this.#group);
    push();
    this.#f.store('i32.store', GROUP[field]);
  }

  #add(field: GroupField, amount: Term): void {
    this.#set(field, () => {
      this.#push(field);
      push(this.#f, amount);
      this.#f.op('i32.add');
    });
  }

  #addOfWave(field: GroupField, offset: number): void {
    this.#set(field, () => {
      this.#push(field);
      this.#f.get(this.#wave);
      this.#f.load('i32.load', offset);
      this.#f.op('i32.add');
    });
  }

  #eachWave(body: () => void): void {
    const f = this.#f;
    assign(f, this.#index, 0);
    assign(f, this.#state, sum(this.#group, GROUP_STATES));
    this.#push('waves');
    f.set(this.#wave);
    f.loop(undefined, (again) => {
      body();
      assign(f, this.#state, sum(this.#state, 4));
      assign(f, this.#wave, sum(this.#wave, this.#field('waveStride')));
      assign(f, this.#index, sum(this.#index, 1));
      push(f, ltU(this.#index, this.#count));
      f.brIf(again);
    });
  }

  #field(name: GroupField): Push {
    return loadFrom('i32.load', this.#group, GROUP[name]);
  }

  #isState(state: Term): Push {
    return eq(loadFrom('i32.load', this.#state, 0), state);
  }

  #setState(state: 'ready' | 'sleeping' | 'barrier' | 'ended'): void {
    this.#f.get(this.#state);
    this.#f.i32(stateCode(state));
    this.#f.store('i32.store', 0);
  }

  #pushIsBelowLimit(): void {
    this.#push('used');
    this.#push('limit');
    this.#f.op('i32.lt_u');
  }

  #runWave(): void {
    const f = this.#f;
    f.block(undefined, (done) => {
      push(f, eqz(or(this.#isState(stateCode('ready')), this.#isState(this.#goesOn))));
      f.brIf(done);
      this.#setState('ready');
      this.#set('current', () => f.get(this.#index));
      f.get(this.#wave);
      f.get(this.#clock);
      f.store('i64.store', WAVE_CLOCK);
      this.#set('used', () => {
        this.#push('used');
        this.#push('turn');
        f.op('i32.add');
        f.get(this.#wave);
        f.load('i32.load', WAVE_RECORD);
        f.get(this.#wave);
        this.#push('turn');
        f.call(this.#run);
        f.op('i32.sub');
      });
      // What was FRESH has run, what is STILL_FRESH will run as such.
      f.get(this.#wave);
      f.get(this.#wave);
      f.load('i32.load', WAVE_FRESHNESS);
      f.i32(1);
      f.op('i32.shr_u');
      f.store('i32.store', WAVE_FRESHNESS);
      this.#addOfWave('compiled', WAVE_COMPILED);
      this.#addOfWave('looped', WAVE_LOOPED);
      this.#onExit('end', done, () => {
        this.#returnIfStopped();
        this.#endSeries();
        this.#setState('ended');
        this.#add('live', -1);
        this.#add('events', 1);
      });
      this.#onExit('barrier', done, () => {
        this.#add('events', 1);
        this.#setState('barrier');
        assign(f, this.#waiting, sum(this.#waiting, 1));
      });
      this.#onExit('sleep', done, () => this.#setState('sleeping'));
      f.get(this.#index);
      f.return();
    });
  }

  #onExit(reason: 'end' | 'barrier' | 'sleep', done: BlockLabel, body: () => void): void {
    const f = this.#f;
    f.get(this.#wave);
    f.load('i32.load', WAVE_EXIT);
    f.i32(EXIT_CODES[reason]);
    f.op('i32.eq');
    f.if(undefined, () => {
      body();
      f.br(done);
    });
  }

  /** The wave may have done all of its workgroup, and others behind it. */
  #endSeries(): void {
    const f = this.#f;
    this.#push('series');
    f.if(undefined, () => {
      const done = f.local('i32');
      this.#push('series');
      f.i32(1);
      f.op('i32.sub');
      f.set(done);
      this.#set('series', () => f.i32(0));
      this.#set('live', () => f.i32(1));
      // No other wave of the workgroup has its turn.
      assign(f, this.#index, sub(this.#count, 1));
      this.#add('remaining', sub(0, done));
      this.#add('started', done);
      this.#advance('nextX', 'countX', () => this.#carry(), done);
      f.free(done);
    });
  }

  /** Those behind the workgroup that begins may be done with it that are not cut, nor in another row. */
  #grantSeries(): void {
    const f = this.#f;
    const granted = f.local('i32');
    assign(f, granted, sub(sub(this.#field('fullX'), this.#field('idX')), 1));
    for (const most of ['remaining', 'maxSeries'] as const)
      assign(f, granted, select(granted, this.#field(most), ltU(granted, this.#field(most))));
    for (const [value, at] of [
      [granted, WAVE_SERIES],
      [this.#group, WAVE_GROUP],
    ] as const) {
      push(f, this.#field('waves'));
      push(f, value);
      f.store('i32.store', at);
    }
    f.free(granted);
  }

  /** Lanes of the wave are left that have not had their turn: the host says which of them go on. */
  #returnIfStopped(): void {
    if (this.#stoppedScalar === undefined) return;
    const f = this.#f;
    f.get(this.#wave);
    f.load('i32.load', WAVE_SGPRS + this.#stoppedScalar * 4);
    f.if(undefined, () => {
      f.get(this.#index);
      f.return();
    });
  }

  /**
   * Returns when the host has its turn, when there is no further workgroup, and when the next one is cut at
   * the edge of the grid.
   */
  #returnUnlessNext(): void {
    const f = this.#f;
    this.#pushIsBelowLimit();
    this.#push('remaining');
    f.i32(0);
    f.op('i32.ne');
    f.op('i32.and');
    for (const [next, full] of [
      ['nextX', 'fullX'],
      ['nextY', 'fullY'],
      ['nextZ', 'fullZ'],
    ] as const) {
      this.#push(next);
      this.#push(full);
      f.op('i32.lt_u');
      f.op('i32.and');
    }
    f.op('i32.eqz');
    f.if(undefined, () => {
      f.i32(-1);
      f.return();
    });
  }

  #startNext(): void {
    const f = this.#f;
    this.#add('remaining', -1);
    this.#add('started', 1);
    for (const [id, next] of [
      ['idX', 'nextX'],
      ['idY', 'nextY'],
      ['idZ', 'nextZ'],
    ] as const)
      this.#set(id, () => this.#push(next));
    this.#set('count', () => this.#push('fullCount'));
    this.#setCount();
    this.#set('live', () => this.#push('fullCount'));
    this.#push('ldsBytes');
    f.if(undefined, () => {
      this.#push('lds');
      f.i32(0);
      this.#push('ldsBytes');
      f.memoryFill(DEVICE_MEMORY);
    });
    const template = f.local('i32');
    this.#push('templates');
    f.set(template);
    this.#eachWave(() => {
      this.#start.emit(template);
      this.#setState('ready');
    });
    this.#push('templates');
    f.set(template);
    this.#start.pushMayBeSeries(template);
    f.if(undefined, () => this.#grantSeries());
    f.free(template);
    this.#advance('nextX', 'countX', () => this.#carry());
  }

  #carry(): void {
    this.#advance('nextY', 'countY', () => this.#add('nextZ', 1));
  }

  /** Counts up to a limit; there, from 0 again and `carry`. */
  #advance(next: GroupField, count: GroupField, carry: () => void, amount: Term = 1): void {
    const f = this.#f;
    this.#add(next, amount);
    this.#push(next);
    this.#push(count);
    f.op('i32.eq');
    f.if(undefined, () => {
      this.#set(next, () => f.i32(0));
      carry();
    });
  }
}
