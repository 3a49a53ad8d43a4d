/**
 * The code that takes the lanes of a chunk through a loop one after the other, for loops that they leave one
 * by one: no lane waits for another. It gives up as the fast way of a group does.
 */
import {
  add64,
  and,
  assign,
  assignTogether,
  eqz,
  gtU,
  loadFrom,
  ne,
  operation,
  or,
  push,
  select,
  shl,
  sub,
  sum,
  type Term,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { TEMPORARY_ROW_COUNT, WAVE_TEMPORARY_ROWS } from '../../machine/layout.ts';
import type { AccessGroup } from '../regions/access-group.ts';
import { addMask, clearMasks } from './chunk-results.ts';
import type { LoopEnvironment } from './chunk-state.ts';
import type { LaneProgram } from './lane-program.ts';
import { LaneRanges } from './lane-ranges.ts';
import { giveUpIfNan, type LaneBit, type LaneContext, type LaneValue } from './lane-values.ts';
import type { GroupResults } from './loop-body.ts';
import { LoopValues } from './loop-values.ts';
import type { OffMasks } from './off-masks.ts';

const CHUNK_BYTES = 16;
export const MAX_LANE_ROWS = (TEMPORARY_ROW_COUNT * 256) / CHUNK_BYTES;

/** Of the lanes of a wave, until it is clear that they load from many allocations. */
const MAX_MISSES = 64;

/** A program, and what lanes that are off when the loop is entered leave. */
export interface LaneWay {
  readonly program: LaneProgram;
  readonly off: OffMasks;
}

export class LaneBody {
  readonly needsAllLanes = false;
  readonly #environment: LoopEnvironment;
  readonly #program: LaneProgram;
  readonly #off: OffMasks;
  readonly #ranges = new LaneRanges();
  readonly #locals = new Map<LaneValue, Local>();
  readonly #misses: Local;
  readonly #unfit: Local;
  #uniform: LoopValues;

  /** `unfit`: is set where lanes should rather go another way. */
  constructor(environment: LoopEnvironment, { program, off }: LaneWay, unfit: Local) {
    this.#unfit = unfit;
    this.#environment = environment;
    this.#program = program;
    this.#off = off;
    this.#uniform = environment.invariants;
    this.#misses = environment.state.f.local('i32');
  }

  /** Emits what comes before the chunks. */
  prepare(): void {
    const { state } = this.#environment;
    this.#ranges.emit(state, this.#program.groups.values());
    assign(state.f, this.#misses, 0);
  }

  /** Emits a chunk; `bits`: its lanes that are active. */
  emit(slow: BlockLabel, bits: Local, done: (results: GroupResults) => void, _?: BlockLabel): void {
    const { state, plan, count, unfinished } = this.#environment;
    const { f } = state;
    const chunk = {
      left: f.local('i32'),
      goesOn: f.local('i32'),
      masks: this.#zeroed(plan.masks.keys()),
      tests: this.#zeroed(plan.tests.keys()),
      scalars: this.#zeroed(plan.scalars.keys()),
    };
    assign(f, count, 0);
    assign(f, chunk.goesOn, 0);
    assign(f, chunk.left, bits);
    this.#save(false);
    f.block(undefined, (finished) => {
      f.block(undefined, (giveUp) => {
        f.loop(undefined, (again) => {
          f.get(chunk.left);
          f.op('i32.eqz');
          f.brIf(finished);
          this.#withMisses([...new Set(this.#program.groups.values())], again, giveUp, (missed) => {
            this.#lane(chunk, { giveUp, missed });
            f.br(again);
          });
        });
      });
      this.#save(true);
      f.br(slow);
    });
    this.#environment.notes?.merge(count);
    assign(f, unfinished, or(unfinished, chunk.goesOn));
    clearMasks(this.#environment);
    const place = { ...this.#environment, offset: 0 };
    for (const [base, local] of chunk.masks) addMask(this.#environment, base, place, () => f.get(local));
    for (const [offset, local] of chunk.tests) {
      const any = this.#environment.tests.get(offset)!;
      assign(f, any, or(any, local));
    }
    done({ scalars: chunk.scalars });
    f.free(chunk.left, chunk.goesOn);
    for (const locals of [chunk.masks, chunk.tests, chunk.scalars]) f.free(...locals.values());
  }

  #zeroed(keys: Iterable<number>): Map<number, Local> {
    const { f } = this.#environment.state;
    return new Map(
      [...keys].map((key) => {
        const local = f.local('i32');
        assign(f, local, 0);
        return [key, local];
      }),
    );
  }

  /** Lanes store their rows when they are done; a chunk that gives up gets back what it had. */
  #save(isBack: boolean): void {
    const { state, pointer, plan } = this.#environment;
    const { f, wave } = state;
    for (const [i, offset] of [...plan.rows.keys()].entries()) {
      const row = [pointer, offset] as const;
      const saved = [wave, WAVE_TEMPORARY_ROWS + i * CHUNK_BYTES] as const;
      const [from, to] = isBack ? [saved, row] : [row, saved];
      f.get(to[0]);
      push(f, loadFrom('v128.load', ...from));
      f.store('v128.store', to[1]);
    }
  }

  /** Where an address is in no known range that of its allocation becomes one, and the lane begins again. */
  #withMisses(
    groups: readonly AccessGroup[],
    again: BlockLabel,
    giveUp: BlockLabel,
    body: (missed: ReadonlyMap<AccessGroup, BlockLabel>) => void,
    outer: ReadonlyMap<AccessGroup, BlockLabel> = new Map(),
  ): void {
    const { state } = this.#environment;
    const { f } = state;
    const [group, ...others] = groups;
    if (!group) {
      body(outer);
      return;
    }
    f.block(undefined, (miss) => this.#withMisses(others, again, giveUp, body, new Map([...outer, [group, miss]])));
    f.block(undefined, (hopeless) => {
      assign(f, this.#misses, sum(this.#misses, 1));
      push(f, gtU(this.#misses, MAX_MISSES));
      f.brIfRare(hopeless);
      this.#ranges.lookUp(state, group, hopeless);
      f.br(again);
    });
    assign(f, this.#unfit, 1);
    f.br(giveUp);
  }

  #lane(chunk: ChunkLocals, { giveUp, missed }: Pick<LaneContext, 'giveUp' | 'missed'>): void {
    const { state, plan, chunk: first, pointer, limit } = this.#environment;
    const { f } = state;
    const program = this.#program;
    const [number, own, lane, iterations] = [f.local('i32'), f.local('i32'), f.local('i32'), f.local('i32')];
    assign(f, number, operation('i32.ctz', chunk.left));
    assign(f, lane, sum(first, number));
    assign(f, own, sum(pointer, shl(number, 2)));
    assign(f, iterations, 0);
    const context: LaneContext = {
      ...{ state, lane, giveUp, missed, ranges: this.#ranges, pointer: own },
      local: (value) => this.#local(value),
      uniform: (node) => this.#uniform.local(node),
    };
    this.#ranges.begin(state);
    for (const value of program.values) if (!value.isVariant) this.#emitValue(value, context);
    for (const { value, begin } of program.carried) {
      begin?.(context);
      if (begin) f.set(this.#local(value));
    }
    const bound = f.local('i32');
    assign(f, bound, limit);
    for (const { begin, step, groups } of program.pointers)
      for (const group of groups) this.#ranges.bound(context, group, this.#local(begin), step, bound);
    const scalars = new Map<number, Local>();
    for (const offset of plan.scalars.keys()) {
      const local = f.local('i32');
      assign(f, local, this.#environment.entries.get(offset)!);
      scalars.set(offset, local);
    }
    const goesOn = f.local('i32');
    const results = new Map<LaneValue, Local>();
    for (const { value } of [...program.masks.values(), ...program.tests.values()])
      if (value !== program.again.value && !results.has(value)) results.set(value, f.local('i32'));
    assign(f, goesOn, 0);
    f.block(undefined, (end) => {
      f.loop(undefined, (again) => {
        this.#iteration(context, scalars, iterations);
        for (const [value, local] of results) assign(f, local, this.#local(value));
        const decided = this.#local(program.again.value);
        push(f, program.again.isOpposite ? decided : eqz(decided));
        this.#carry(scalars);
        f.brIf(end);
        push(f, ne(iterations, bound));
        f.brIf(again);
      });
      assign(f, goesOn, 1);
    });
    push(f, and(goesOn, ne(iterations, limit)));
    f.brIfRare(giveUp);
    this.#refuseNans(goesOn, giveUp);
    assign(f, chunk.goesOn, or(chunk.goesOn, goesOn));
    this.#storeRows(own, iterations);
    assign(f, chunk.left, and(chunk.left, sub(chunk.left, 1)));
    this.#collect(chunk, { iterations, number, goesOn, results, scalars });
    this.#uniform = this.#environment.invariants;
    f.free(
      bound,
      goesOn,
      number,
      own,
      lane,
      iterations,
      ...scalars.values(),
      ...results.values(),
      ...this.#locals.values(),
    );
    this.#locals.clear();
  }

  #local(value: LaneValue): Local {
    let local = this.#locals.get(value);
    if (!local) {
      local = this.#environment.state.f.local(value.type);
      this.#locals.set(value, local);
    }
    return local;
  }

  #emitValue(value: LaneValue, context: LaneContext): void {
    value.emit!(context);
    this.#environment.state.f.set(this.#local(value));
  }

  #iteration(context: LaneContext, scalars: ReadonlyMap<number, Local>, iterations: Local): void {
    const { state, plan, invariants, notes, count } = this.#environment;
    const { f } = state;
    this.#uniform = new LoopValues(state, invariants, scalars);
    for (const node of plan.nodes) if (!node.lane && plan.variant.has(node)) this.#uniform.emit(node);
    for (const value of this.#program.values) if (value.isVariant) this.#emitValue(value, context);
    if (notes) {
      const at = f.local('i32');
      notes.begin(at);
      assign(f, at, sum(at, notes.offset(iterations)));
      for (const [i, value] of this.#program.skips.entries())
        notes.noteLane(at, i, this.#local(value), operation('i32.lt_u', iterations, count));
      f.free(at);
    }
    assign(f, iterations, sum(iterations, 1));
  }

  #carry(scalars: ReadonlyMap<number, Local>): void {
    const { state, plan } = this.#environment;
    const { f } = state;
    assignTogether(f, [
      ...this.#program.carried.map(({ value, next }) => [this.#local(value), this.#local(next)] as const),
      ...[...scalars].map(([offset, local]) => [local, this.#uniform.local(plan.scalars.get(offset)!)] as const),
    ]);
    this.#uniform.release();
  }

  /** Rows that count inside the loop only do so in a lane that goes on. */
  #refuseNans(goesOn: Local, giveUp: BlockLabel): void {
    const { state, plan } = this.#environment;
    const { f } = state;
    for (const offset of this.#program.nans.rows) {
      const { value } = this.#program.carried.find(({ rows }) => rows.includes(offset))!;
      const refuse = (): void => {
        f.get(this.#local(value));
        if (value.type === 'i32') f.op('i32x4.splat');
        const vector = f.local('v128');
        f.set(vector);
        giveUpIfNan(f, 'f32x4', vector, giveUp);
        f.free(vector);
      };
      if (plan.rowsOutside.has(offset)) refuse();
      else {
        f.get(goesOn);
        f.if(undefined, refuse);
      }
    }
  }

  #storeRows(own: Local, iterations: Local): void {
    const { f } = this.#environment.state;
    for (const { value, rows } of this.#program.carried) {
      if (rows.length === 2) this.#storeWords(own, rows, this.#local(value));
      else if (rows.length === 1) {
        f.get(own);
        f.get(this.#local(value));
        if (value.type === 'v128') f.loadLane('v128.store32_lane', rows[0]!, 0);
        else f.store('i32.store', rows[0]!);
      }
    }
    const grown = f.local('i64');
    for (const { low, high, step, begin } of this.#program.pointers) {
      assign(f, grown, add64(this.#local(begin), operation('i64.mul', zext64(iterations), BigInt(step))));
      this.#storeWords(own, [low, high], grown);
    }
    f.free(grown);
  }

  #storeWords(own: Local, [low, high]: readonly number[], value: Local): void {
    const { f } = this.#environment.state;
    f.get(own);
    f.get(value);
    f.store('i64.store32', low!);
    f.get(own);
    push(f, operation('i64.shr_u', value, 32n));
    f.store('i64.store32', high!);
  }

  /** What the lane leaves in the chunk; masks that are cleared have bits of the lanes that took longest. */
  #collect(chunk: ChunkLocals, { iterations, number, goesOn, results, scalars }: LaneResults): void {
    const { state, plan, count } = this.#environment;
    const { f } = state;
    const isLonger = f.local('i32');
    assign(f, isLonger, gtU(iterations, count));
    const { again } = this.#program;
    const pushedBit = ({ value, isOpposite }: LaneBit): Term => {
      const local = results.get(value) ?? goesOn;
      const isOther = value === again.value ? isOpposite !== again.isOpposite : isOpposite;
      return isOther ? eqz(local) : local;
    };
    for (const [base, result] of this.#program.masks) {
      const bits = chunk.masks.get(base)!;
      const bit = shl(pushedBit(result), number);
      if (plan.cleared.has(base)) {
        const others = select(0, bits, isLonger);
        assign(f, bits, or(others, select(0, bit, operation('i32.lt_u', iterations, count))));
      } else assign(f, bits, or(bits, bit));
    }
    for (const [offset, result] of this.#program.tests) {
      const any = chunk.tests.get(offset)!;
      assign(f, any, or(any, pushedBit(result)));
    }
    for (const [offset, local] of scalars) {
      const final = chunk.scalars.get(offset)!;
      assign(f, final, select(local, final, isLonger));
    }
    assign(f, count, select(iterations, count, isLonger));
    f.free(isLonger);
  }

  /** Emits what comes behind all chunks: masks get the bits of lanes that were off. */
  finish(): void {
    const { state, plan, invariants, masks, tests, longest } = this.#environment;
    const { f } = state;
    const uniform = (node: Parameters<LoopValues['local']>[0]): Local => invariants.local(node);
    for (const [base, local] of masks) {
      const bits = this.#off.push(state, this.#off.plan.masks.get(base)!, uniform);
      const own = plan.cleared.has(base) ? select(bits, 0n, operation('i32.eq', longest, 1)) : bits;
      assign(f, local, operation('i64.or', local, own));
    }
    for (const [offset, local] of tests) {
      const bits = this.#off.push(state, this.#off.plan.tests.get(offset)!.mask, uniform);
      assign(f, local, or(local, eqz(operation('i64.eqz', bits))));
    }
  }

  release(): void {
    const { state } = this.#environment;
    this.#ranges.release(state);
    state.f.free(this.#misses);
  }
}

interface ChunkLocals {
  /** Lanes that have not run. */
  readonly left: Local;
  readonly goesOn: Local;
  readonly masks: ReadonlyMap<number, Local>;
  readonly tests: ReadonlyMap<number, Local>;
  readonly scalars: ReadonlyMap<number, Local>;
}

interface LaneResults {
  readonly iterations: Local;
  readonly number: Local;
  readonly goesOn: Local;
  /** But for what `goesOn` says. */
  readonly results: ReadonlyMap<LaneValue, Local>;
  readonly scalars: ReadonlyMap<number, Local>;
}
