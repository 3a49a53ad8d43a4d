/**
 * A loop that runs chunk by chunk: each group of chunks goes through all iterations with its registers in
 * locals, before the next group begins.
 */
import { operation, push } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { STATE_OFFSETS, WAVE_BUDGET, WAVE_LOOP, WAVE_SGPRS } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import { isAccess } from '../regions/access-group.ts';
import type { LoopEnvironment } from './chunk-state.ts';
import { LaneBody, type LaneWay } from './lane-body.ts';
import { LoopAccounts } from './loop-accounts.ts';
import { type GroupResults, LoopBody } from './loop-body.ts';
import type { LoopPlan } from './loop-plan.ts';
import { LoopValues } from './loop-values.ts';
import type { SteadyWay } from './side-by-side.ts';
import { MAX_NOTED_ITERATIONS, SkipNotes } from './skip-notes.ts';
import { type OpenedStore, openStore } from './stores.ts';
import type { LoopWay } from './vertical-loops.ts';
import { withWaveExit } from './wave-exit.ts';

const MAX_ITERATIONS = 1 << 20;

export class LoopLowering {
  readonly state: FunctionState;
  readonly plan: LoopPlan;
  readonly chunkCount: number;
  readonly #steady: SteadyWay | undefined;
  readonly #lanes: LaneWay | undefined;
  /** Of iterations in which nothing rare happens. */
  readonly #usual: LoopPlan;
  /** Of a way for lanes that keep their distances: not 0 once they did not suit it. */
  readonly #unfit: Local | undefined;
  /** Where waves go that cannot run the loop so. */
  #otherwise: BlockLabel | undefined;
  readonly #entries = new Map<number, Local>();
  readonly #finals = new Map<number, Local>();
  readonly #masks = new Map<number, Local>();
  readonly #tests = new Map<number, Local>();
  readonly #notes: SkipNotes | undefined;
  readonly #accounts: LoopAccounts;

  constructor(state: FunctionState, plan: LoopPlan, { chunkCount, steady, lanes }: LoopWay, unfit?: Local) {
    this.state = state;
    this.plan = plan;
    this.chunkCount = chunkCount;
    this.#steady = steady;
    this.#lanes = lanes;
    this.#usual = lanes?.program.plan ?? withWaveExit(plan.usual ?? plan);
    this.#unfit = unfit;
    const { skips } = plan.graph;
    if (skips.length > 0) this.#notes = new SkipNotes(state, skips.length);
    this.#accounts = new LoopAccounts(state, plan, this.#notes);
  }

  /**
   * Runs the loop from its header, unless no lane is active, some are stopped, or they do not suit.
   * `leave` is emitted where the wave has left the loop, `suspend` where it is at the header with its budget
   * used up.
   */
  emit(leave: () => void, suspend: () => void): void {
    const { f, wave, spaces } = this.state;
    f.block(undefined, (otherwise) => {
      this.#otherwise = otherwise;
      if (this.#unfit) {
        f.get(this.#unfit);
        f.brIf(otherwise);
      }
      push(f, this.state.mask(STATE_OFFSETS.exec));
      f.op('i64.eqz');
      f.brIf(otherwise);
      this.#askDisjoint(otherwise);
      // Rows that nothing behind the loop reads are whole: lanes that are stopped need theirs.
      if (spaces.stoppedScalar !== undefined) {
        f.get(wave);
        f.load('i32.load', WAVE_SGPRS + spaces.stoppedScalar * 4);
        f.brIf(otherwise);
      }
      f.loop(undefined, (again) => {
        const unfinished = this.#emitRun();
        f.get(unfinished);
        f.op('i32.eqz');
        f.if(undefined, leave);
        f.get(wave);
        f.load('i32.load', WAVE_BUDGET);
        f.i32(0);
        f.op('i32.gt_s');
        f.brIf(again);
        suspend();
        f.free(unfinished);
      });
    });
  }

  /** All groups, up to a number of iterations; returns whether the loop has not come to its end. */
  #emitRun(): Local {
    const { f, wave } = this.state;
    const plan = this.plan;
    const i32 = (): Local => f.local('i32');
    const [chunk, pointer, count, limit, unfinished, longest] = [i32(), i32(), i32(), i32(), i32(), i32()];
    this.#setLimit(limit);
    const mayFault = plan.nodes.some(isAccess);
    if (mayFault) this.#setLoop(() => this.state.pushRecord(plan.loop.header.instructions[0]!.index));
    const invariants = new LoopValues(this.state);
    const { nodes, variant } = this.#usual;
    for (const node of nodes) if (!node.lane && !variant.has(node)) invariants.emit(node);
    for (const offset of plan.scalars.keys()) {
      const entry = i32();
      f.get(wave);
      f.load('i32.load', offset);
      f.set(entry);
      this.#entries.set(offset, entry);
      this.#finals.set(offset, i32());
    }
    for (const base of plan.masks.keys()) this.#zeroed(this.#masks, base, 'i64');
    for (const offset of plan.tests.keys()) this.#zeroed(this.#tests, offset, 'i32');
    const counted = (this.#accounts.countsLanes ? plan.graph.counted : []).map(() => {
      f.i32(0);
      const local = i32();
      f.set(local);
      return local;
    });
    const environment: LoopEnvironment = {
      state: this.state,
      plan,
      invariants,
      entries: this.#entries,
      masks: this.#masks,
      tests: this.#tests,
      chunk,
      pointer,
      count,
      limit,
      longest,
      unfinished,
      notes: this.#notes,
      storedAllocation: plan.store && i32(),
      waveExtents: new Map(),
      begun: i32(),
      counted,
    };
    for (const local of [chunk, unfinished, longest]) {
      f.i32(0);
      f.set(local);
    }
    f.get(wave);
    f.set(pointer);
    this.#emitGroups(environment);
    this.#store();
    this.#accounts.settle(longest, unfinished, counted);
    if (mayFault) this.#setLoop(() => f.i32(0));
    invariants.release();
    for (const locals of [this.#entries, this.#finals, this.#masks, this.#tests]) {
      f.free(...locals.values());
      locals.clear();
    }
    const { storedAllocation, begun } = environment;
    f.free(begun, chunk, pointer, count, limit, longest, ...counted);
    if (storedAllocation) f.free(storedAllocation);
    return unfinished;
  }

  /** Masks that iterations take to have no lane in common with EXEC. */
  #askDisjoint(otherwise: BlockLabel): void {
    const { f } = this.state;
    for (const base of this.plan.graph.disjoint) {
      push(f, operation('i64.and', this.state.mask(base), this.state.mask(STATE_OFFSETS.exec)));
      f.op('i64.eqz');
      f.op('i32.eqz');
      f.brIfRare(otherwise);
    }
  }

  #setLoop(pushRecord: () => void): void {
    const { f, wave } = this.state;
    f.get(wave);
    pushRecord();
    f.store('i32.store', WAVE_LOOP);
  }

  #zeroed(locals: Map<number, Local>, key: number, type: 'i32' | 'i64'): void {
    const { f } = this.state;
    const local = f.local(type);
    if (type === 'i64') f.i64(0n);
    else f.i32(0);
    f.set(local);
    locals.set(key, local);
  }

  #emitGroups(environment: LoopEnvironment): void {
    const { f, spaces } = this.state;
    const { chunk, pointer, begun } = environment;
    const usual = this.#steady?.found.plan ?? this.#usual;
    const fast = this.#lanes
      ? new LaneBody({ ...environment, plan: this.#usual }, this.#lanes, this.#unfit!)
      : new LoopBody({ ...environment, plan: usual }, this.chunkCount, true, this.#steady);
    fast.prepare();
    const store = fast instanceof LoopBody ? this.#openStore(environment, fast) : undefined;
    const bits = f.local('i32');
    const end = f.local('i32');
    if (this.#unfit) {
      f.i32(0);
      f.set(begun);
    }
    const lanes = this.chunkCount * 4;
    const all = 2 ** lanes - 1;
    const mustRun = !this.#lanes && this.plan.offHasResults;
    f.loop(undefined, (again) => {
      f.get(chunk);
      f.i32(lanes);
      f.op('i32.add');
      f.set(end);
      f.block(undefined, (done) => {
        this.#setBits(bits, chunk, all);
        if (!mustRun) {
          f.get(bits);
          f.op('i32.eqz');
          f.brIf(done);
        }
        f.block(undefined, (giveUp) => {
          if (fast.needsAllLanes) {
            f.get(bits);
            f.i32(all);
            f.op('i32.ne');
            f.brIf(giveUp);
          }
          const run = (unfit?: BlockLabel): void => {
            const keep = ({ scalars }: GroupResults): void => this.#keepLongest(environment, scalars);
            fast.emit(giveUp, bits, keep, unfit);
            this.#setBegun(begun);
            f.br(done);
          };
          if (store) run(giveUp);
          else if (this.#unfit && !this.#lanes) this.#tryFirst(this.#unfit, begun, giveUp, run);
          else run();
        });
        if (store) {
          store.undo();
          this.#goOtherwise(this.#unfit!);
          return;
        }
        this.#setBegun(begun);
        this.#emitSlowGroup(environment, bits, end);
        this.#advance(chunk, pointer, -lanes);
      });
      this.#advance(chunk, pointer, lanes);
      f.get(chunk);
      f.i32(spaces.waveSize);
      f.op('i32.ne');
      f.brIf(again);
    });
    store?.finish();
    if (fast instanceof LaneBody) fast.finish();
    fast.release();
    f.free(bits, end);
  }

  /** The store of the loop; emits what is asked before it. Waves whose lanes do not suit go another way. */
  #openStore(environment: LoopEnvironment, fast: LoopBody): OpenedStore | undefined {
    const { f } = this.state;
    const { store } = this.plan;
    if (!store) return undefined;
    const opened = openStore(environment, store, fast);
    f.block(undefined, (suits) => {
      f.block(undefined, (otherwise) => {
        opened.prepare(otherwise);
        f.br(suits);
      });
      this.#goOtherwise(this.#unfit!);
    });
    return opened;
  }

  /** Chunks from the one at hand on, up to `end`, each the slow way. */
  #emitSlowGroup(environment: LoopEnvironment, bits: Local, end: Local): void {
    const { f } = this.state;
    const { chunk, pointer } = environment;
    const invariants = new LoopValues(this.state, environment.invariants);
    const slow = new LoopBody({ ...environment, invariants }, 1, false);
    slow.prepare();
    f.loop(undefined, (next) => {
      this.#setBits(bits, chunk, 15);
      slow.emit(undefined, bits, ({ scalars }) => {
        this.#keepLongest(environment, scalars);
      });
      this.#advance(chunk, pointer, 4);
      f.get(chunk);
      f.get(end);
      f.op('i32.ne');
      f.brIf(next);
    });
    invariants.release();
  }

  #setBegun(begun: Local): void {
    if (!this.#unfit) return;
    this.state.f.i32(1);
    this.state.f.set(begun);
  }

  /** When lanes of the first group do not suit, nothing has happened, and the wave goes another way. */
  #tryFirst(unfit: Local, begun: Local, giveUp: BlockLabel, run: (unfit: BlockLabel) => void): void {
    const { f } = this.state;
    f.block(undefined, run);
    f.get(begun);
    f.brIf(giveUp);
    this.#goOtherwise(unfit);
  }

  /** Nothing has happened: the wave goes another way, and does not try this one again. */
  #goOtherwise(unfit: Local): void {
    const { f } = this.state;
    this.#setLoop(() => f.i32(0));
    f.i32(1);
    f.set(unfit);
    f.br(this.#otherwise!);
  }

  #advance(chunk: Local, pointer: Local, lanes: number): void {
    const { f } = this.state;
    for (const [local, amount] of [
      [chunk, lanes],
      [pointer, lanes * 4],
    ] as const) {
      f.get(local);
      f.i32(amount);
      f.op('i32.add');
      f.set(local);
    }
  }

  /** Lanes that are active when the loop is entered, from `chunk` on. */
  #setBits(bits: Local, chunk: Local, all: number): void {
    const { f, wave } = this.state;
    f.get(wave);
    f.load('i64.load', STATE_OFFSETS.exec);
    f.get(chunk);
    f.op('i64.extend_i32_u');
    f.op('i64.shr_u');
    f.op('i32.wrap_i64');
    f.i32(all);
    f.op('i32.and');
    f.set(bits);
  }

  /** The group that takes longest has the registers of the wave. */
  #keepLongest({ count, longest }: LoopEnvironment, scalars: ReadonlyMap<number, Local>): void {
    const { f } = this.state;
    f.get(count);
    f.get(longest);
    f.op('i32.gt_u');
    f.if(undefined, () => {
      f.get(count);
      f.set(longest);
      for (const [offset, local] of scalars) {
        f.get(local);
        f.set(this.#finals.get(offset)!);
      }
    });
  }

  /** As many iterations as the budget lasts for, and at least one. */
  #setLimit(limit: Local): void {
    const { f, wave } = this.state;
    const { skips, instructions: always } = this.plan.graph;
    const instructions = skips.reduce((sum, skip) => sum + skip.instructions.length, always.length);
    const clamp = (value: number, name: 'i32.lt_s' | 'i32.gt_s'): void => {
      f.set(limit);
      f.get(limit);
      f.i32(value);
      f.get(limit);
      f.i32(value);
      f.op(name);
      f.select();
    };
    f.get(wave);
    f.load('i32.load', WAVE_BUDGET);
    f.i32(instructions - 1);
    f.op('i32.add');
    f.i32(instructions);
    f.op('i32.div_s');
    clamp(1, 'i32.gt_s');
    clamp(this.#notes ? MAX_NOTED_ITERATIONS : MAX_ITERATIONS, 'i32.lt_s');
    f.set(limit);
    this.#notes?.clear(limit);
  }

  /** Registers of the wave. */
  #store(): void {
    const { f, wave, spaces } = this.state;
    for (const offset of this.plan.scalars.keys()) {
      f.get(wave);
      f.get(this.#finals.get(offset)!);
      f.store('i32.store', offset);
    }
    for (const base of this.plan.leavers) {
      const exec = this.#masks.get(STATE_OFFSETS.exec)!;
      const mine = operation('i64.or', this.state.mask(base), this.state.mask(STATE_OFFSETS.exec));
      f.get(wave);
      push(f, operation('i64.and', mine, operation('i64.xor', exec, -1n)));
      f.store(spaces.waveSize === 64 ? 'i64.store' : 'i64.store32', base);
    }
    for (const [base, local] of this.#masks) {
      f.get(wave);
      f.get(local);
      f.store(spaces.waveSize === 64 ? 'i64.store' : 'i64.store32', base);
    }
    for (const [offset, local] of this.#tests) {
      f.get(wave);
      f.get(local);
      if (!this.plan.tests.get(offset)!.when) f.op('i32.eqz');
      f.store('i32.store', offset);
    }
  }
}
