/** Code of counters in registers: what counts at a point, and what adds all to memory where a wave ends. */
import { atomicScope } from '../dsl/global-memory.ts';
import type { Payload, PhysicalRange, VirtualRegister } from '../machine/machine-code.ts';
import { high, low, PayloadBuilder } from '../machine/payload-builder.ts';
import type { Amount } from '../tool/counting.ts';
import type { PointHook } from '../tool/hook.ts';
import { COUNTER_BYTES } from '../tool/variables.ts';

/** What a wave adds up in SGPRs. */
export interface ScalarCounter {
  readonly first: number;
  readonly dwords: 1 | 2;
}

/** Counters of which each has a lane of two VGPRs, which hold its low and high half. */
export interface LaneRow {
  /** The first of the VGPRs; undefined where there are none before the wave ends. */
  readonly first: number | undefined;
  /** By lane: `lane` is there all the time, others come when the wave ends. */
  readonly slots: (ScalarCounter | 'lane')[];
}

export interface CountersToFlush {
  readonly rows: readonly LaneRow[];
  readonly vectors: readonly LaneCounter[];
}

/** Two VGPRs in which each lane counts for itself. */
export interface LaneCounter {
  readonly first: number;
  /** Lanes have counted the same, or nothing: how often is what is wanted besides. */
  readonly isPaired: boolean;
}

/** What counts at points of one code object; where the same counts in the same registers, it has one code. */
export class CounterHooks {
  readonly #known = new Map<string, PointHook>();
  readonly #flushes = new Map<string, PointHook['codes']>();

  /** Sets a counter that is 0 and is come by once, or adds to one of 64 bits. */
  scalar({ first, dwords }: ScalarCounter, amount: Amount): PointHook {
    return this.#changing(`scalar ${first} ${dwords} ${amount}`, [{ file: 'scalar', first, dwords }], (b) => {
      if (dwords === 1) countOnce(b, amount, first);
      else countAgain(b, amount, first);
    });
  }

  /** The same for a counter in a lane; `scratch`: two SGPRs. */
  inLane(
    { row, lane, dwords }: { readonly row: number; readonly lane: number; readonly dwords: 1 | 2 },
    amount: Amount,
    scratch: number,
  ): PointHook {
    const ranges: PhysicalRange[] = [
      { file: 'vector', first: row, dwords },
      { file: 'scalar', first: scratch, dwords: 2 },
    ];
    return this.#changing(`lane ${row} ${lane} ${dwords} ${amount} ${scratch}`, ranges, (b) => {
      const registers = [0, 1].slice(0, dwords);
      if (dwords === 1 && amount === 'waves') {
        b.emit`v_writelane_b32 v${row}, 1, ${lane}`;
        return;
      }
      if (dwords === 1) countOnce(b, amount, scratch);
      else {
        for (const i of registers) b.emit`v_readlane_b32 s${scratch + i}, v${row + i}, ${lane}`;
        countAgain(b, amount, scratch);
      }
      for (const i of registers) b.emit`v_writelane_b32 v${row + i}, s${scratch + i}, ${lane}`;
    });
  }

  /** Each lane that is on adds 1 to two registers; carries are left in two scalar ones. */
  inAllLanes(first: number, carry: number): PointHook {
    const ranges: PhysicalRange[] = [
      { file: 'vector', first, dwords: 2 },
      { file: 'scalar', first: carry, dwords: 2 },
    ];
    return this.#changing(`lanes ${first} ${carry}`, ranges, (b) => {
      const [low, high] = [`v${first}`, `v${first + 1}`];
      const mask = b.maskDwords === 1 ? `s${carry}` : `s[${carry}:${carry + 1}]`;
      if (b.code.target.addsToWideFactors) {
        b.emit`v_mad_u64_u32 v[${first}:${first + 1}], ${mask}, 1, 1, v[${first}:${first + 1}]`;
        return;
      }
      b.emit`v_add_co_u32_e64 ${low}, ${mask}, ${low}, 1`;
      b.emit`v_addc_co_u32_e64 ${high}, ${mask}, ${high}, 0, ${mask}`;
    });
  }

  /**
   * Adds all counters to the variable `symbol`. Nothing needs EXEC or vector registers any more where it
   * runs. Waves that have counted in the same registers have one code.
   */
  flush(counters: CountersToFlush, symbol: string): PointHook {
    const key = keyOf(counters);
    let codes = this.#flushes.get(key);
    if (!codes) {
      codes = [(context) => [flush(new PayloadBuilder(context), counters)]];
      this.#flushes.set(key, codes);
    }
    return { codes, literals: [], symbol, isRequired: true };
  }

  #changing(key: string, ranges: readonly PhysicalRange[], emit: (b: PayloadBuilder) => void): PointHook {
    let hook = this.#known.get(key);
    if (!hook) {
      const code = (...[context]: Parameters<PointHook['codes'][number]>): readonly Payload[] => {
        const b = new PayloadBuilder(context);
        for (const range of ranges) b.changes(range);
        emit(b);
        return [b.payload()];
      };
      hook = { codes: [code], literals: [], isRequired: true, isResident: true };
      this.#known.set(key, hook);
    }
    return hook;
  }
}

function countOnce(b: PayloadBuilder, amount: Amount, register: number): void {
  if (amount === 'waves') b.emit`s_mov_b32 s${register}, 1`;
  else if (amount === 'lanes') b.emit`s_bcnt1_i32_${b.maskBits} s${register}, ${b.exec}`;
  else {
    b.emit`s_cmp_lg_u${b.code.waveSize} ${b.exec}, 0`;
    b.emit`s_cselect_b32 s${register}, 1, 0`;
  }
}

function countAgain(b: PayloadBuilder, amount: Amount, first: number): void {
  const [lower, upper] = [`s${first}`, `s${first + 1}`];
  if (amount === 'active waves') {
    b.emit`s_cmp_lg_u${b.code.waveSize} ${b.exec}, 0`;
    b.emit`s_addc_u32 ${lower}, ${lower}, 0`;
  } else if (amount === 'lanes') {
    const lanes = b.scalar();
    b.emit`s_bcnt1_i32_${b.maskBits} ${lanes}, ${b.exec}`;
    b.emit`s_add_u32 ${lower}, ${lower}, ${lanes}`;
  } else b.emit`s_add_u32 ${lower}, ${lower}, 1`;
  b.emit`s_addc_u32 ${upper}, ${upper}, 0`;
}

function keyOf({ rows, vectors }: CountersToFlush): string {
  const slotText = (slot: LaneRow['slots'][number]): string =>
    slot === 'lane' ? slot : `${slot.first} ${slot.dwords}`;
  const inRows = rows.map(({ first, slots }) => `${first}: ${slots.map(slotText).join()}`);
  return `${inRows.join('; ')} | ${vectors.map(({ first, isPaired }) => `${first} ${isPaired}`).join()}`;
}

/** Offsets in instructions that all targets have. */
const MOST_OFFSET_BYTES = 2047;

/** The symbol of the variable is that of the point. */
function flush(b: PayloadBuilder, { rows, vectors }: CountersToFlush): Payload {
  const address = b.scalar(2);
  let base = 0;
  const setBase = (addend: number): void => {
    base = addend;
    b.emit`s_mov_b32 ${low(address)}, ${{ half: 'low', symbol: undefined, addend }}`;
    b.emit`s_mov_b32 ${high(address)}, ${{ half: 'high', symbol: undefined, addend }}`;
  };
  setBase(0);
  b.otherLanes = 'any';
  const [lane, value] = [b.vector(), b.vector(2)];
  let index = 0;
  const add = (data: VirtualRegister | string, count: number): void => {
    if (index * COUNTER_BYTES - base > MOST_OFFSET_BYTES) setBase(index * COUNTER_BYTES);
    const bytes = index * COUNTER_BYTES - base;
    const suffix = `${bytes > 0 ? ` offset:${bytes}` : ''}${atomicScope(b.code.target)}`;
    b.emit`global_atomic_add_x2 ${lane}, ${data}, ${address}${suffix}`;
    index += count;
  };
  for (const [i, { first, slots }] of rows.entries()) {
    const { length } = slots;
    if (length === b.code.waveSize) b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
    else b.emit`s_bfm_${b.maskBits} ${b.exec}, ${length}, 0`;
    if (i === 0) {
      b.emit`v_mbcnt_lo_u32_b32 ${lane}, -1, 0`;
      if (length > 32) b.emit`v_mbcnt_hi_u32_b32 ${lane}, -1, ${lane}`;
      b.emit`v_lshlrev_b32 ${lane}, 3, ${lane}`;
    }
    if (first === undefined) b.emit`v_mov_b32 ${high(value)}, 0`;
    const [lower, upper] = first === undefined ? [low(value), high(value)] : [`v${first}`, `v${first + 1}`];
    for (const [to, slot] of slots.entries()) {
      if (slot === 'lane') continue;
      b.emit`v_writelane_b32 ${lower}, s${slot.first}, ${to}`;
      if (slot.dwords > 1) b.emit`v_writelane_b32 ${upper}, s${slot.first + 1}, ${to}`;
    }
    add(first === undefined ? value : `v[${first}:${first + 1}]`, length);
  }
  for (const [i, { first, isPaired }] of vectors.entries()) {
    const counts = `v[${first}:${first + 1}]`;
    if (i === 0 || vectors[i - 1]!.isPaired) b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
    if (i === 0) b.emit`v_mov_b32 ${lane}, 0`;
    add(counts, 1);
    if (!isPaired) continue;
    const [mask, lowest] = [b.mask(), b.scalar()];
    b.emit`v_cmp_ne_u64_e64 ${mask}, 0, ${counts}`;
    // Where no lane has counted, it is the last one, which has 0.
    b.emit`s_ff1_i32_${b.maskBits} ${lowest}, ${mask}`;
    b.emit`s_bfm_${b.maskBits} ${b.exec}, 1, ${lowest}`;
    add(counts, 1);
  }
  for (const { first } of rows) if (first !== undefined) b.changes({ file: 'vector', first, dwords: 2 });
  return b.payload();
}
