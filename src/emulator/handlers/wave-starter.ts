/** What the runner of workgroups sets up of a wave before it runs. */
import { loadFrom, push } from '../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import {
  GROUP,
  type GroupField,
  ID_REGISTERS,
  TEMPLATE_ROWS_OFFSET,
  TEMPLATE_SCALAR_BYTES,
  templateBytes,
} from '../machine/group-layout.ts';
import {
  FRESH,
  LEADER_AGPRS,
  LEADER_SERIES,
  LEADER_SGPRS,
  LEADER_VGPRS,
  STATE_OFFSETS,
  WAVE_FRESHNESS,
  WAVE_RECORD,
  waveAgprs,
} from '../machine/layout.ts';

/** SGPRs below this one are always set up. */
const FIRST_SGPRS = 32;
/** From VCC on all scalar state is set up. */
const LAST_SCALARS = STATE_OFFSETS.vcc & -16;

interface StartedWave {
  /** Addresses of the workgroup's fields and of the wave at hand. */
  readonly group: Local;
  readonly wave: Local;
  readonly waveSize: 32 | 64;
  /** Whether waves start at leaders, which say what has to be set up. */
  readonly hasLeaders: boolean;
}

export class WaveStarter {
  readonly #f: FunctionBuilder;
  readonly #group: Local;
  readonly #wave: Local;
  readonly #waveSize: 32 | 64;
  readonly #hasLeaders: boolean;

  constructor(f: FunctionBuilder, { group, wave, waveSize, hasLeaders }: StartedWave) {
    this.#f = f;
    this.#group = group;
    this.#wave = wave;
    this.#waveSize = waveSize;
    this.#hasLeaders = hasLeaders;
  }

  #push(field: GroupField): void {
    this.#f.get(this.#group);
    this.#f.load('i32.load', GROUP[field]);
  }

  /** Pushes whether a workgroup whose first wave begins as `template` has it may be done with others. */
  pushMayBeSeries(template: Local): void {
    const f = this.#f;
    if (!this.#hasLeaders) f.i32(0);
    else push(f, loadFrom('i32.load', loadFrom('i32.load', template, WAVE_RECORD), LEADER_SERIES));
  }

  /** Sets the wave up as the template has it that is at `template`, which becomes the place of the next. */
  emit(template: Local): void {
    const f = this.#f;
    const leader = f.local('i32');
    f.get(template);
    f.load('i32.load', WAVE_RECORD);
    f.set(leader);
    f.get(this.#wave);
    f.load('i32.load', WAVE_FRESHNESS);
    f.i32(FRESH);
    f.op('i32.eq');
    f.if(
      undefined,
      () => {
        f.get(this.#wave);
        f.get(leader);
        f.store('i32.store', WAVE_RECORD);
      },
      () => this.#setRegisters(template, leader),
    );
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

  #setRegisters(template: Local, leader: Local): void {
    const row = this.#waveSize * 4;
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
}
