/**
 * The T0 executor: one WebAssembly function per (instruction, operand shape), called by a small loop that is
 * WebAssembly too. Handlers are compiled when code that needs them is decoded, many in one module.
 */
import { assert } from '../../base/errors.ts';
import type { TraceRun } from '../../base/wave-trace.ts';
import { change, sum } from '../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { classMix, emitClassCounts } from '../lowering/class-counts.ts';
import { AS_IT_IS, keptModule } from '../lowering/code-store.ts';
import { probeHost, softImports } from '../lowering/host.ts';
import { lowerHandler } from '../lowering/lower.ts';
import type { AddressSpaces } from '../lowering/memory-access.ts';
import { type EmissionOptions, type MemoryPages, ModuleContext, pagesOf } from '../lowering/module-context.ts';
import { emitPcCount, emitTracedRun } from '../lowering/pc-counts.ts';
import type { AccessCounter } from '../machine/access-counter.ts';
import type { WaveFault } from '../machine/faults.ts';
import type { HostWork } from '../machine/host-work.ts';
import {
  EXIT_BUDGET,
  EXIT_COMPILE,
  EXIT_UNTRANSLATED,
  LEADER_COUNT,
  RECORD_HANDLER,
  RECORD_TARGET,
  WAVE_BUDGET,
  WAVE_COMPILED,
  WAVE_EXIT,
  WAVE_LOOPED,
  WAVE_RECORD,
  WAVE_TURN,
} from '../machine/layout.ts';
import type { Memories } from '../machine/memory.ts';
import { emitRunGroup, type RunGroup } from './group-runner.ts';
import { type HandlerParts, HandlerRequest, type HandlerSize } from './handler-request.ts';

export type FaultCallback = (
  record: number,
  wave: number,
  code: number,
  lane: number,
  ...address: readonly [low: number, high: number]
) => void;

export interface HandlerOptions {
  /** Keys of steps are those of one processor. */
  readonly processor: string;
  /**
   * Another tier compiles what runs often; waves start at leaders, and handlers are compact (ModuleContext).
   */
  readonly isLowest: boolean;
  /** Handlers count instructions by class. */
  readonly countsClasses: boolean;
  /** The loop that calls handlers counts executions by pc. */
  readonly countsPcs: boolean;
  /** `WaveTracer.run`, where waves are traced. */
  readonly traceRun: TraceRun | undefined;
  /** What handlers tell of accesses, if anything. */
  readonly accesses: AccessCounter | undefined;
}

/**
 * (record, wave, budget) -> budget left. The wave's exit code and record say why it returned and where to go
 * on.
 */
type RunFunction = (record: number, wave: number, budget: number) => number;

const FIRST_SLOT = 1;
/** Behind the slots that are always there. */
const FIRST_FREE_SLOT = FIRST_SLOT + 2;
/**
 * Programs of so many values are made to handlers at once, which takes about 50 ms; usual code needs a
 * quarter of that.
 */
const MAX_PENDING_VALUES = 4096;

export class HandlerTable {
  readonly fallbackTier = 'handlers';
  readonly turnInstructions = 50_000;
  readonly sliceInstructions = 200_000;
  readonly run: RunFunction;
  /** Slot of the handler of records that could not be translated. */
  readonly untranslatedSlot = FIRST_SLOT;
  /** Slot of the handler of leaders, which count how often they are reached. */
  readonly leaderSlot = FIRST_SLOT + 1;
  /**
   * As `run`, with the budget in the wave state: functions of many instructions take their part of it, and
   * records that stand for none give theirs back.
   */
  readonly runCounted: RunFunction;
  /** Workgroups of which the waves run with `runCounted`. */
  readonly runGroup: RunGroup;
  readonly #pages: MemoryPages;
  readonly #spaces: AddressSpaces;
  readonly #imports: WebAssembly.Imports;
  readonly #options: EmissionOptions;
  /** What code depends on besides the keys of steps. */
  readonly #keyed: string;
  readonly #table = new WebAssembly.Table({ element: 'anyfunc', initial: 256 });
  readonly #slots = new Map<string, number>();
  readonly #pending: HandlerRequest[] = [];
  readonly #requests: HandlerRequest[] = [];
  readonly #freeSlots: number[] = [];
  /** By key, of handlers that another process asked for. */
  readonly #sizes = new Map<string, HandlerSize>();
  /** Those that nobody has taken yet (`takeSizes`), once somebody wants them. */
  #newSizes: HandlerSize[] | undefined;
  readonly #work: HostWork;
  #pendingValues = 0;
  #nextSlot = FIRST_FREE_SLOT;

  constructor(
    memories: Memories,
    spaces: AddressSpaces,
    fault: FaultCallback,
    { processor, isLowest, countsClasses, countsPcs, accesses, traceRun }: HandlerOptions,
    work: HostWork,
  ) {
    this.#work = work;
    this.#pages = pagesOf(memories);
    this.#spaces = spaces;
    this.#options = {
      isCompact: isLowest,
      countsClasses,
      countsPcs,
      countsAccesses: accesses !== undefined,
      tracesWaves: traceRun !== undefined,
    };
    this.#keyed = JSON.stringify([processor, spaces, this.#pages, this.#options]);
    this.#imports = {
      env: {
        ...{ state: memories.state.memory, memory: memories.memory.memory, table: this.#table, fault },
        ...softImports,
        ...(accesses && { accessBegin: accesses.begin, accessChunk: accesses.chunk }),
        ...(traceRun && { traceRun }),
      },
    };
    const { exports } = this.#instantiate(
      keptModule(
        () => `runners ${this.#keyed}`,
        () => this.#runners(),
        AS_IT_IS,
      ),
    );
    this.run = exports.run as RunFunction;
    this.runCounted = exports.runCounted as RunFunction;
    this.runGroup = exports.runGroup as RunGroup;
  }

  /** The module of `run`, `runCounted`, `runGroup` and the handlers that are always there. */
  #runners(): Uint8Array<ArrayBuffer> {
    const { isCompact = false, tracesWaves = false, countsPcs } = this.#options;
    const context = new ModuleContext(probeHost(), this.#pages, { tracesWaves });
    context.module.elements(this.untranslatedSlot, [emitUntranslated(context), emitLeader(context)]);
    const count: CountPc = (f, record, wave) => {
      if (countsPcs) emitPcCount(f, record, wave, this.waveSize);
      if (context.traceRun)
        emitTracedRun(f, context.traceRun, () => f.get(record), { wave, waveSize: this.waveSize, count: 1 });
    };
    const [run, runCounted] = [emitRun(context, count), emitRunCounted(context, count)];
    context.module.export('run', run);
    context.module.export('runCounted', runCounted);
    context.module.export('runGroup', emitRunGroup(context, runCounted, this.#spaces, isCompact));
    return context.module.toBytes();
  }

  get waveSize(): 32 | 64 {
    return this.#spaces.waveSize;
  }

  /** Handlers compiled so far. */
  get size(): number {
    return this.#slots.size;
  }

  /** Slot for a key; the handler is compiled by the next `compile`. */
  slot(key: string, make: () => HandlerParts): number {
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      const known = this.#sizes.get(key);
      const request = new HandlerRequest(key, make, known);
      if (!known) this.#newSizes?.push(request.size);
      this.#pending.push(request);
      this.#requests[this.#nextSlot] = request;
      slot = this.#nextSlot++;
      this.#slots.set(key, slot);
      const [, , values] = request.size;
      this.#pendingValues += values;
      this.#work.prepareHandler(values);
    }
    return slot;
  }

  /** Whether the handlers that the next `compile` makes are as many as it may take. */
  get isFull(): boolean {
    return this.#pendingValues >= MAX_PENDING_VALUES;
  }

  /** About how long the handler in a slot takes (instruction-weight.ts). */
  weightOf(slot: number): number {
    const [, weight] = this.#requests[slot]!.size;
    return weight;
  }

  /** What the handler of a key was made from. */
  request(key: string): HandlerRequest | undefined {
    const slot = this.#slots.get(key);
    return slot === undefined ? undefined : this.#requests[slot];
  }

  /**
   * Sizes of the handlers that were asked for since the last call, and at the first none, for `recall` in
   * another process.
   */
  takeSizes(): readonly HandlerSize[] {
    const sizes = this.#newSizes ?? [];
    this.#newSizes = [];
    return sizes;
  }

  /** Handlers of these sizes need not be built before their code is, if that is not kept. */
  recall(sizes: readonly HandlerSize[]): void {
    for (const size of sizes) this.#sizes.set(size[0], size);
  }

  /** Makes the functions that `module` exports callable; returns their slots by name. */
  install(module: WebAssembly.Module): Map<string, number> {
    assert(this.#pending.length === 0, 'slots are given in order');
    const { exports } = new WebAssembly.Instance(module, this.#imports);
    const slots = new Map<string, number>();
    for (const [name, value] of Object.entries(exports)) {
      const slot = this.#freeSlots.pop() ?? this.#nextSlot++;
      this.#reserve();
      this.#table.set(slot, value as WebAssembly.TableFunction);
      slots.set(name, slot);
    }
    return slots;
  }

  /** Gives back slots of `install`. No record may name them. */
  release(slots: Iterable<number>): void {
    for (const slot of slots) {
      this.#table.set(slot, null);
      this.#freeSlots.push(slot);
    }
  }

  /** Forgets all handlers and what was installed. No record may name any. */
  clear(): void {
    for (let slot = FIRST_FREE_SLOT; slot < Math.min(this.#nextSlot, this.#table.length); slot++)
      this.#table.set(slot, null);
    this.#slots.clear();
    this.#sizes.clear();
    this.#requests.length = 0;
    this.#pending.length = 0;
    this.#pendingValues = 0;
    this.#freeSlots.length = 0;
    this.#nextSlot = FIRST_FREE_SLOT;
  }

  #reserve(): void {
    if (this.#table.length < this.#nextSlot)
      this.#table.grow(Math.max(this.#table.length, this.#nextSlot - this.#table.length));
  }

  handleExit(): boolean {
    return false;
  }

  firstFault(fault: WaveFault): WaveFault {
    return fault;
  }

  forgetCode(): void {
    // Nothing but the records refers to code.
  }

  uncounted({ record }: WaveFault): readonly number[] {
    return [record];
  }

  compile(): void {
    if (this.#pending.length === 0) return;
    const first = this.#nextSlot - this.#pending.length;
    const code = keptModule(
      () => `T0 ${first} ${this.#keyed} ${this.#pending.map(({ key }) => key).join('\n')}`,
      () => this.#lowered(first),
      AS_IT_IS,
    );
    this.#pending.length = 0;
    this.#pendingValues = 0;
    this.#reserve();
    this.#instantiate(code);
  }

  /** A module that puts the handlers that are asked for into the table, from a slot on. */
  #lowered(first: number): Uint8Array<ArrayBuffer> {
    const context = new ModuleContext(probeHost(), this.#pages, this.#options);
    const functions = this.#pending.map((request) =>
      lowerHandler(context, this.#spaces, request, (f, wave) => {
        if (request.step === undefined) addToBudget(f, wave, 1);
        else if (context.countsClasses) emitClassCounts(f, wave, classMix([request.step]));
      }),
    );
    context.module.elements(first, functions);
    return context.module.toBytes();
  }

  #instantiate(code: Uint8Array<ArrayBuffer>): WebAssembly.Instance {
    return new WebAssembly.Instance(new WebAssembly.Module(code), this.#imports);
  }
}

function emitUntranslated(context: ModuleContext): FunctionBuilder {
  const f = context.module.function(context.handlerType.parameters, context.handlerType.results, 'untranslated');
  storeExit(f, EXIT_UNTRANSLATED);
  f.i32(0);
  return f;
}

/** Stores the exit code and, as the place to go on, parameter 0; parameter 1 is the wave. */
function storeExit(f: FunctionBuilder, code: number): void {
  f.get(f.param(1));
  f.i32(code);
  f.store('i32.store', WAVE_EXIT);
  f.get(f.param(1));
  f.get(f.param(0));
  f.store('i32.store', WAVE_RECORD);
}

/** Emits what counts the execution that follows, where that is asked for. */
type CountPc = (f: FunctionBuilder, record: Local, wave: Local) => void;

/** while (budget > 0 && (record = handler(record, wave)) != 0) budget--. */
function emitRun(context: ModuleContext, count: CountPc): FunctionBuilder {
  const f = context.module.function(['i32', 'i32', 'i32'], ['i32'], 'run');
  const [record, wave, budget] = [f.param(0), f.param(1), f.param(2)];
  f.loop(undefined, (again) => {
    count(f, record, wave);
    f.get(record);
    f.get(wave);
    f.get(record);
    f.load('i32.load', RECORD_HANDLER);
    f.callIndirect(context.handlerType);
    f.set(record);
    f.get(budget);
    f.i32(1);
    f.op('i32.sub');
    f.set(budget);
    f.get(record);
    f.op('i32.eqz');
    f.if(undefined, () => {
      f.get(budget);
      f.return();
    });
    f.get(budget);
    f.brIf(again);
  });
  storeExit(f, EXIT_BUDGET);
  f.i32(0);
  return f;
}

/**
 * Leaves the executor when the leader's count ends; else goes on with the instruction it stands for, at no
 * cost to the budget.
 */
function emitLeader(context: ModuleContext): FunctionBuilder {
  const f = context.module.function(context.handlerType.parameters, context.handlerType.results, 'leader');
  const [record, wave] = [f.param(0), f.param(1)];
  const count = f.local('i32');
  addToBudget(f, wave, 1);
  f.get(record);
  f.get(record);
  f.load('i32.load', LEADER_COUNT);
  f.i32(1);
  f.op('i32.sub');
  f.tee(count);
  f.store('i32.store', LEADER_COUNT);
  f.get(count);
  f.i32(0);
  f.op('i32.le_s');
  f.if(undefined, () => {
    storeExit(f, EXIT_COMPILE);
    f.i32(0);
    f.return();
  });
  f.get(record);
  f.load('i32.load', RECORD_TARGET);
  return f;
}

/** Adds a constant to the wave's budget. */
export function addToBudget(f: FunctionBuilder, wave: Local, amount: number): void {
  change(f, wave, WAVE_BUDGET, (budget) => sum(budget, amount));
}

/**
 * wave.budget = budget; while (wave.budget > 0) { next = handler(record, wave); wave.budget--; if (next == 0)
 * return; record = next }.
 */
function emitRunCounted(context: ModuleContext, count: CountPc): FunctionBuilder {
  const f = context.module.function(['i32', 'i32', 'i32'], ['i32'], 'run counted');
  const [record, wave, budget] = [f.param(0), f.param(1), f.param(2)];
  const left = (): void => {
    f.get(wave);
    f.load('i32.load', WAVE_BUDGET);
  };
  for (const at of [WAVE_BUDGET, WAVE_TURN]) {
    f.get(wave);
    f.get(budget);
    f.store('i32.store', at);
  }
  for (const count of [WAVE_COMPILED, WAVE_LOOPED]) {
    f.get(wave);
    f.i32(0);
    f.store('i32.store', count);
  }
  f.loop(undefined, (again) => {
    count(f, record, wave);
    f.get(record);
    f.get(wave);
    f.get(record);
    f.load('i32.load', RECORD_HANDLER);
    f.callIndirect(context.handlerType);
    f.set(record);
    addToBudget(f, wave, -1);
    f.get(record);
    f.op('i32.eqz');
    f.if(undefined, () => {
      left();
      f.return();
    });
    left();
    f.i32(0);
    f.op('i32.gt_s');
    f.brIf(again);
  });
  storeExit(f, EXIT_BUDGET);
  left();
  return f;
}
