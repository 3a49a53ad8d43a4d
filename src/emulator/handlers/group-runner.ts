/**
 * Runs the waves of a workgroup, and further workgroups in its place, until the host is needed: in
 * WebAssembly, because small kernels spend less time in a wave than it takes to call it.
 */
import type { BlockLabel, FunctionBuilder, Local } from '../../wasm/function.ts';
import type { FunctionRef } from '../../wasm/types.ts';
import type { AddressSpaces } from '../lowering/memory-access.ts';
import type { ModuleContext } from '../lowering/module-context.ts';
import {
  GROUP,
  GROUP_STATES,
  type GroupField,
  ID_REGISTERS,
  stateCode,
  TEMPLATE_ROWS_OFFSET,
  TEMPLATE_SCALAR_BYTES,
  templateBytes,
} from '../machine/group-layout.ts';
import {
  DEVICE_MEMORY,
  EXIT_CODES,
  LEADER_AGPRS,
  LEADER_SGPRS,
  LEADER_VGPRS,
  STATE_OFFSETS,
  WAVE_CLOCK,
  WAVE_COMPILED,
  WAVE_EXIT,
  WAVE_LOOPED,
  WAVE_RECORD,
  WAVE_SGPRS,
  waveAgprs,
} from '../machine/layout.ts';

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

/** SGPRs below this one are always set up. */
const FIRST_SGPRS = 32;
/** From VCC on all scalar state is set up. */
const LAST_SCALARS = STATE_OFFSETS.vcc & -16;

class GroupRunner {
  readonly #f: FunctionBuilder;
  readonly #run: FunctionRef;
  readonly #waveSize: 32 | 64;
  readonly #stoppedScalar: number | undefined;
  readonly #hasLeaders: boolean;
  readonly #group: Local;
  readonly #clock: Local;
  readonly #index: Local;
  readonly #wave: Local;
  /** Address of the state of the wave. */
  readonly #state: Local;
  readonly #waiting: Local;

  constructor(f: FunctionBuilder, run: FunctionRef, { waveSize, stoppedScalar }: AddressSpaces, hasLeaders: boolean) {
    this.#f = f;
    this.#run = run;
    this.#waveSize = waveSize;
    this.#stoppedScalar = stoppedScalar;
    this.#hasLeaders = hasLeaders;
    this.#group = f.param(0);
    this.#clock = f.param(1);
    this.#index = f.local('i32');
    this.#wave = f.local('i32');
    this.#state = f.local('i32');
    this.#waiting = f.local('i32');
  }

  emit(): void {
    const f = this.#f;
    f.loop(undefined, (turns) => {
      this.#eachWave(() => this.#runWave());
      this.#push('live');
      f.op('i32.eqz');
      f.if(undefined, () => {
        this.#returnUnlessNext();
        this.#startNext();
        f.br(turns);
      });
      // When all that live wait at the barrier, they go on.
      f.i32(0);
      f.set(this.#waiting);
      this.#eachWave(() => {
        f.get(this.#waiting);
        this.#pushIsState('barrier');
        f.op('i32.add');
        f.set(this.#waiting);
      });
      f.get(this.#waiting);
      this.#push('live');
      f.op('i32.eq');
      f.if(undefined, () => {
        this.#eachWave(() => {
          this.#pushIsState('barrier');
          f.if(undefined, () => this.#setState('ready'));
        });
        this.#pushIsBelowLimit();
        f.brIf(turns);
      });
    });
    f.i32(-1);
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

  #add(field: GroupField, amount: number): void {
    this.#set(field, () => {
      this.#push(field);
      this.#f.i32(amount);
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
    f.i32(0);
    f.set(this.#index);
    f.get(this.#group);
    f.i32(GROUP_STATES);
    f.op('i32.add');
    f.set(this.#state);
    this.#push('waves');
    f.set(this.#wave);
    f.loop(undefined, (again) => {
      body();
      f.get(this.#state);
      f.i32(4);
      f.op('i32.add');
      f.set(this.#state);
      f.get(this.#wave);
      this.#push('waveStride');
      f.op('i32.add');
      f.set(this.#wave);
      f.get(this.#index);
      f.i32(1);
      f.op('i32.add');
      f.tee(this.#index);
      this.#push('count');
      f.op('i32.lt_u');
      f.brIf(again);
    });
  }

  #pushIsState(state: 'ready' | 'barrier'): void {
    this.#f.get(this.#state);
    this.#f.load('i32.load', 0);
    this.#f.i32(stateCode(state));
    this.#f.op('i32.eq');
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
      this.#pushIsState('ready');
      f.op('i32.eqz');
      f.brIf(done);
      f.loop(undefined, (again) => {
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
        this.#addOfWave('compiled', WAVE_COMPILED);
        this.#addOfWave('looped', WAVE_LOOPED);
        this.#onExit('end', done, () => {
          this.#returnIfStopped();
          this.#setState('ended');
          this.#add('live', -1);
          this.#add('events', 1);
        });
        this.#onExit('barrier', done, () => {
          this.#add('events', 1);
          this.#goOnIfAlone(again);
          this.#setState('barrier');
        });
        this.#onExit('sleep', done, () => this.#setState('sleeping'));
      });
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

  /**
   * The only wave of a workgroup waits for nobody. Threads of PTX may wait for others of their warp, which
   * the host tells apart.
   */
  #goOnIfAlone(again: BlockLabel): void {
    if (this.#stoppedScalar !== undefined) return;
    const f = this.#f;
    this.#push('count');
    f.i32(1);
    f.op('i32.eq');
    this.#pushIsBelowLimit();
    f.op('i32.and');
    f.brIf(again);
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
      this.#startWave(template);
      this.#setState('ready');
    });
    f.free(template);
    this.#advance('nextX', 'countX', () => this.#advance('nextY', 'countY', () => this.#add('nextZ', 1)));
  }

  /** Counts up to a limit; there, from 0 again and `carry`. */
  #advance(next: GroupField, count: GroupField, carry: () => void): void {
    const f = this.#f;
    this.#add(next, 1);
    this.#push(next);
    this.#push(count);
    f.op('i32.eq');
    f.if(undefined, () => {
      this.#set(next, () => f.i32(0));
      carry();
    });
  }

  /** Runs `body` when a wave may read register `index` of a file before it writes it. */
  #ifLive(leader: Local, file: number, index: number, body: () => void): void {
    const f = this.#f;
    if (!this.#hasLeaders) {
      body();
      return;
    }
    f.get(leader);
    f.load('i32.load', file);
    f.i32(index);
    f.op('i32.gt_u');
    f.if(undefined, body);
  }

  /** Into the wave. Sizes are multiples of 16 bytes: a call of memory.copy takes longer than the copy. */
  #copy(template: Local, from: number, to: number, sizeBytes: number): void {
    const f = this.#f;
    for (let at = 0; at < sizeBytes; at += 16) {
      f.get(this.#wave);
      f.get(template);
      f.load('v128.load', from + at);
      f.store('v128.store', to + at);
    }
  }

  /**
   * The rows of `file` from `first` on that may be read, as far as the kernel has them. Sizes are multiples
   * of 128 bytes.
   */
  #clearRows(leader: Local, file: number, first: number, offset: number, sizeBytes: GroupField): void {
    this.#ifLive(leader, file, first, () => this.#clear(leader, file, first, offset, sizeBytes));
  }

  #clear(leader: Local, file: number, first: number, offset: number, sizeBytes: GroupField): void {
    const f = this.#f;
    const at = f.local('i32');
    const end = f.local('i32');
    f.get(this.#wave);
    f.i32(offset);
    f.op('i32.add');
    f.tee(at);
    this.#push(sizeBytes);
    f.op('i32.add');
    f.set(end);
    if (this.#hasLeaders) {
      const live = f.local('i32');
      f.get(leader);
      f.load('i32.load', file);
      f.i32(first);
      f.op('i32.sub');
      f.i32(this.#waveSize * 4);
      f.op('i32.mul');
      f.get(at);
      f.op('i32.add');
      f.tee(live);
      f.get(end);
      f.get(live);
      f.get(end);
      f.op('i32.lt_u');
      f.select();
      f.set(end);
      f.free(live);
    }
    f.get(at);
    f.get(end);
    f.op('i32.lt_u');
    f.if(undefined, () =>
      f.loop(undefined, (again) => {
        for (let i = 0; i < 128; i += 16) {
          f.get(at);
          f.v128([0, 0, 0, 0]);
          f.store('v128.store', i);
        }
        f.get(at);
        f.i32(128);
        f.op('i32.add');
        f.tee(at);
        f.get(end);
        f.op('i32.lt_u');
        f.brIf(again);
      }),
    );
    f.free(at, end);
  }

  /** Writes the value that `push` leaves to the SGPR at the offset in a field, where there is one. */
  #setId(sgpr: GroupField, push: () => void): void {
    const f = this.#f;
    this.#push(sgpr);
    f.i32(0);
    f.op('i32.ge_s');
    f.if(undefined, () => {
      f.get(this.#wave);
      this.#push(sgpr);
      f.op('i32.add');
      push();
      f.store('i32.store', 0);
    });
  }

  #startWave(template: Local): void {
    const f = this.#f;
    const row = this.#waveSize * 4;
    const leader = f.local('i32');
    f.get(template);
    f.load('i32.load', WAVE_RECORD);
    f.set(leader);
    const first = FIRST_SGPRS * 4;
    this.#copy(template, 0, 0, first);
    this.#ifLive(leader, LEADER_SGPRS, FIRST_SGPRS, () => this.#copy(template, first, first, LAST_SCALARS - first));
    this.#copy(template, LAST_SCALARS, LAST_SCALARS, TEMPLATE_SCALAR_BYTES - LAST_SCALARS);
    for (let id = 0; id < ID_REGISTERS; id++) {
      const [from, to] = [TEMPLATE_SCALAR_BYTES + id * row, TEMPLATE_ROWS_OFFSET + id * row];
      this.#ifLive(leader, LEADER_VGPRS, id, () => this.#copy(template, from, to, row));
    }
    this.#clearRows(leader, LEADER_VGPRS, ID_REGISTERS, TEMPLATE_ROWS_OFFSET + ID_REGISTERS * row, 'vgprBytes');
    this.#clearRows(leader, LEADER_AGPRS, 0, waveAgprs(this.#waveSize), 'agprBytes');
    f.free(leader);
    this.#setId('sgprX', () => this.#push('idX'));
    this.#setId('sgprY', () => this.#push('idY'));
    this.#setId('sgprZ', () => this.#push('idZ'));
    this.#setId('sgprYZ', () => {
      this.#push('idY');
      this.#push('idZ');
      f.i32(16);
      f.op('i32.shl');
      f.op('i32.or');
    });
    f.get(template);
    f.i32(templateBytes(this.#waveSize));
    f.op('i32.add');
    f.set(template);
  }
}
