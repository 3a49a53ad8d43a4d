/**
 * Random loops that combine masks in any way: lanes that leave and come back, lanes that are off and do
 * something, masks of the iteration before. `WAVEWRIGHT_SEEDS=FROM:COUNT` runs other programs than the usual
 * ones.
 */
import { IS_FULL_SCALE } from '../scale.ts';
import { randomGenerator } from './lockstep.test-support.ts';
import { compareLoops, DATA, type Dialect, laneNumber } from './loop-cases.test-support.ts';

const [FROM = 1, COUNT = 1] = (process.env['WAVEWRIGHT_SEEDS'] ?? (IS_FULL_SCALE ? '1:400' : '1:20'))
  .split(':')
  .map(Number);
/** Who has left, and who leaves now; others. */
const [DONE, LEAVING] = [16, 8];
const MASKS = [DONE, LEAVING, 10, 12, 18];
const SAVED = [20, 22];
const MAX_DEPTH = SAVED.length;

class MaskLoop {
  readonly #d: Dialect;
  readonly #random: () => number;
  readonly #lines: string[] = [];
  #labels = 2;

  constructor(d: Dialect, seed: number) {
    this.#d = d;
    this.#random = randomGenerator(seed);
  }

  text(): string {
    const { exec, b, s } = this.#d;
    const done = s(DONE);
    this.#add(laneNumber(this.#d));
    for (let i = 2; i < 8; i++) this.#add(`v_mul_u32_u24 v${i}, ${2 * i + 1}, v0`);
    this.#add('v_cvt_f32_u32 v8, v2', 'v_cvt_f32_u32 v9, v0', 's_mov_b32 s24, 0');
    for (const mask of MASKS) this.#add(`s_mov_${b} ${s(mask)}, ${this.#one('0', '0', '0', exec, this.#mask())}`);
    if (this.#below(4) === 0) this.#add(`s_lshr_${b} ${exec}, ${exec}, ${this.#below(30)}`);
    this.#add(`s_cbranch_execz 9f`, '1:');
    this.#body(2 + this.#below(6), 0);
    this.#add('s_add_i32 s24, s24, 1', `s_cmp_ge_i32 s24, ${2 + this.#below(8)}`);
    if (this.#below(4) === 0) this.#add('s_cbranch_scc0 1b');
    else {
      this.#add(`s_cselect_${b} ${s(LEAVING)}, -1, 0`);
      this.#compare(this.#one(this.#d.vcc, s(10)));
      const leaves = this.#one(this.#d.vcc, this.#mask());
      this.#add(`s_or_${b} ${s(LEAVING)}, ${this.#one(`${leaves}, ${s(LEAVING)}`, `${s(LEAVING)}, ${leaves}`)}`);
      if (this.#below(3) > 0) this.#add(`s_and_${b} ${s(LEAVING)}, ${exec}, ${s(LEAVING)}`);
      this.#add(`s_or_${b} ${done}, ${s(LEAVING)}, ${done}`);
      if (this.#below(4) === 0) this.#maskOperation(MASKS.filter((mask) => mask !== DONE));
      this.#add(`s_andn2_${b} ${exec}, ${exec}, ${done}`);
      if (this.#below(4) === 0) this.#add(`s_mov_${b} ${s(18)}, ${this.#mask()}`);
      for (let i = this.#below(6); i > 3; i--) this.#waveGoesOn();
      this.#add('s_cbranch_execnz 1b');
    }
    this.#add('9:');
    // What is dead behind a loop need not be right.
    for (const mask of MASKS) if (this.#below(3) === 0) this.#add(`s_mov_${b} ${s(mask)}, 0`);
    this.#add(`s_or_${b} ${exec}, ${exec}, ${done}`, 's_nop 0');
    return this.#lines.join('\n');
  }

  #add(...lines: string[]): void {
    this.#lines.push(...lines);
  }

  #below(limit: number): number {
    return this.#random() % limit;
  }

  #one<T>(...choices: readonly T[]): T {
    return choices[this.#below(choices.length)]!;
  }

  #mask(masks: readonly number[] = MASKS): string {
    return this.#d.s(this.#one(...masks));
  }

  #row(): string {
    return `v${2 + this.#below(6)}`;
  }

  #body(size: number, depth: number): void {
    for (let left = size; left > 0; left--) {
      const kind = this.#below(12);
      if (kind < 5) this.#rows();
      else if (kind < 7) this.#compare(this.#one(this.#d.vcc, this.#mask()));
      else if (kind < 9) this.#maskOperation(MASKS);
      else if (depth === MAX_DEPTH) this.#rows();
      else if (kind < 11) this.#masked(1 + this.#below(3), depth);
      else this.#otherLanes(1 + this.#below(3), depth);
    }
  }

  #rows(): void {
    const [to, a, b] = [this.#row(), this.#row(), this.#row()];
    this.#add(
      this.#one(
        `v_add_u32 ${to}, ${a}, ${b}`,
        `v_xor_b32 ${to}, ${a}, ${b}`,
        `v_mul_lo_u32 ${to}, ${a}, ${b}`,
        `v_lshrrev_b32 ${to}, 3, ${a}`,
        `v_cndmask_b32 ${to}, ${a}, ${b}, ${this.#mask()}`,
        `v_mov_b32 ${to}, s24`,
        `v_mul_f32 v8, v8, v9\nv_sub_f32 v9, v8, v9`,
        `v_xor_b32 ${to}, ${a}, v8`,
        `v_and_b32 v10, 0xfc, ${a}\nglobal_load_dword ${to}, v10, ${DATA}\ns_waitcnt vmcnt(0)`,
      ),
    );
  }

  #compare(mask: string): void {
    this.#add(`v_cmp_${this.#one('gt', 'lt', 'eq', 'ne')}_u32 ${mask}, ${this.#row()}, ${this.#row()}`);
  }

  #maskOperation(results: readonly number[]): void {
    const { b, exec, vcc } = this.#d;
    const operand = (): string => this.#one(exec, vcc, this.#mask(), this.#mask());
    const to = this.#mask(results);
    const [x, y] = [operand(), operand()];
    this.#add(
      this.#one(
        ...['and', 'or', 'xor', 'andn2', 'orn2'].map((name) => `s_${name}_${b} ${to}, ${x}, ${y}`),
        `s_not_${b} ${to}, ${x}`,
        `s_mov_${b} ${to}, ${x}`,
      ),
    );
  }

  /** No lane goes on unless a condition of the wave is true, which may stay the same. */
  #waveGoesOn(): void {
    const { b, exec, s } = this.#d;
    this.#add(this.#one('s_cmp_eq_u32 s30, s30', 's_cmp_lt_u32 s30, s31', 's_cmp_lt_i32 s24, 5'));
    this.#add(`s_cselect_${b} ${s(26)}, ${this.#one('-1, 0', '-1, 0', '0, -1')}`);
    this.#add(`s_and_${b} ${exec}, ${exec}, ${s(26)}`);
  }

  #masked(size: number, depth: number): void {
    const { b, exec, s, vcc } = this.#d;
    const saved = s(SAVED[depth]!);
    const label = this.#labels++;
    const isSkipped = this.#below(2) === 0;
    this.#add(`s_and_saveexec_${b} ${saved}, ${this.#one(vcc, this.#mask())}`);
    if (isSkipped) this.#add(`s_cbranch_execz L${label}`);
    this.#body(size, depth + 1);
    if (isSkipped) this.#add(`L${label}:`);
    this.#add(`s_or_${b} ${exec}, ${exec}, ${saved}`);
  }

  /** Lanes that are off, or those of a mask, do something. */
  #otherLanes(size: number, depth: number): void {
    const { b, exec, s } = this.#d;
    const saved = s(SAVED[depth]!);
    this.#add(`s_mov_${b} ${saved}, ${exec}`);
    this.#add(this.#one(`s_not_${b} ${exec}, ${exec}`, `s_mov_${b} ${exec}, ${this.#mask()}`));
    this.#body(size, depth + 1);
    this.#add(`s_mov_${b} ${exec}, ${saved}`);
  }
}

const seeds = Array.from({ length: COUNT }, (_, i) => FROM + i);
compareLoops(Object.fromEntries(seeds.map((seed) => [`masks, seed ${seed}`, (d) => new MaskLoop(d, seed).text()])));
