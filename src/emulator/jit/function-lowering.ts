/**
 * A function of many instructions: its blocks one after the other, entered through a table of branches. It
 * has the signature of a handler, (record, wave) -> next record, where the record is the leader of one of its
 * blocks.
 */

import { change, loadFrom, sub, sum } from '../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../wasm/function.ts';
import type { VerticalMode } from '../code/emulator-core.ts';
import { addToBudget } from '../handlers/handler-table.ts';
import { classMix, emitClassCounts } from '../lowering/class-counts.ts';
import type { AddressSpaces } from '../lowering/memory-access.ts';
import type { ModuleContext } from '../lowering/module-context.ts';
import { emitPcCounts, emitTaken, emitTracedRun } from '../lowering/pc-counts.ts';
import {
  LEADER_BLOCK,
  LEADER_LITERALS,
  RECORD_HANDLER,
  STATE_OFFSETS,
  WAVE_BLOCK,
  WAVE_BUDGET,
  WAVE_COMPILED,
} from '../machine/layout.ts';
import { FullWaveEntries } from './full-wave-entries.ts';
import type { Block, FollowedCode, Successor } from './function/control-flow.ts';
import type { Decoded } from './function/decoded.ts';
import { FunctionState } from './function/function-state.ts';
import { type Literal, Literals } from './function/literals.ts';
import { type LiveIn, Liveness } from './function/liveness.ts';
import { LoopLowering } from './loops/loop-lowering.ts';
import { type LoopWay, type VerticalLoop, verticalLoops } from './loops/vertical-loops.ts';
import { emitAlone } from './regions/alone.ts';
import { emitMerged } from './regions/merged-part.ts';
import { mergeRegions } from './regions/merged-regions.ts';
import type { Node } from './regions/node.ts';
import type { Region } from './regions/region.ts';
import { RegionBuilder } from './regions/region-builder.ts';
import { RegionLowering } from './regions/region-lowering.ts';

/** Parameters. */
const [RECORD, WAVE] = [0, 1];
/** Of the blocks, where they are a function of their own. */
const [BLOCKS_LITERALS, BLOCKS_NEXT] = [2, 3];
/** What the module exports. */
export const FUNCTION_NAME = 'f';

/** Emitting so much takes about a tenth of a second; the functions of real kernels have up to 100 KB. */
export const MAX_CODE_BYTES = 1 << 18;

export interface LoweredFunction {
  readonly literals: readonly Literal[];
  /**
   * Regions of more than one instruction with accesses of lanes: numbers of the first and the last
   * instruction.
   */
  readonly regions: readonly (readonly [first: number, last: number])[];
  /** Of each block. */
  readonly liveIn: readonly LiveIn[];
  /** Blocks that a series may begin with (regions/series.ts). */
  readonly series: readonly number[];
  /** Loops that run chunk by chunk: numbers of their instructions, those of the header first. */
  readonly loops: readonly (readonly number[])[];
}

/** Throws LIMIT_EXCEEDED when the function becomes too long. */
export function lowerFunction(
  context: ModuleContext,
  spaces: AddressSpaces,
  code: FollowedCode,
  name: string,
  vertical: VerticalMode,
): LoweredFunction {
  const { parameters, results } = context.handlerType;
  const f = context.module.function(parameters, results, name);
  f.maxCodeBytes = MAX_CODE_BYTES;
  context.module.export(FUNCTION_NAME, f);
  const own = { wave: f.param(WAVE), literalBase: f.local('i32') };
  const state = new FunctionState({ context, spaces, literals: new Literals() }, f, own);
  const lowering = new FunctionLowering(state, code, vertical);
  lowering.emit();
  const { regions, liveIn, series, loops } = lowering;
  return { literals: state.literals.items, regions, liveIn, series, loops };
}

/** (record, wave, literals, number of the block to begin at) -> next record. */
function blocksApart(entry: FunctionState): FunctionState {
  const { parameters, results } = entry.context.handlerType;
  const f = entry.context.module.function([...parameters, 'i32', 'i32'], results, `${entry.f.name} blocks`);
  f.maxCodeBytes = MAX_CODE_BYTES;
  return new FunctionState(entry, f, { wave: f.param(WAVE), literalBase: f.param(BLOCKS_LITERALS) });
}

class FunctionLowering {
  readonly regions: (readonly [number, number])[] = [];
  /** The function; and where its blocks are, which may be a part that it calls. */
  readonly #entry: FunctionState;
  readonly #state: FunctionState;
  readonly #fullWaves: FullWaveEntries;
  readonly #blocks: readonly Block[];
  /** By their number. */
  readonly #instructions: readonly Decoded[];
  readonly #liveness: Liveness;
  readonly #next: Local;
  /** By their header. */
  readonly #vertical: ReadonlyMap<Block, VerticalLoop>;
  /** Whether lanes did not suit a way of a loop: then it is not tried again. */
  readonly #unfit = new Map<LoopWay, Local>();
  #dispatch!: BlockLabel;
  /** Takes the record to go on with. */
  #leave!: BlockLabel;
  /** Ends of the wasm blocks that precede the code of a block. */
  readonly #labels: BlockLabel[] = [];

  constructor(entry: FunctionState, { blocks, followed }: FollowedCode, vertical: VerticalMode) {
    this.#entry = entry;
    this.#blocks = blocks;
    this.#instructions = blocks.flatMap(({ instructions }) => instructions);
    this.#liveness = new Liveness(followed, entry.spaces.waveSize);
    const { countsPcs, traits } = entry.context;
    const options = { ...entry.spaces, literals: entry.literals, countsPcs, fused: traits.fused };
    this.#vertical = verticalLoops(blocks, this.#liveness, options, vertical);
    const hasWayTo = new Set(blocks.flatMap(({ next, target }) => [next, target]));
    const entries = blocks.filter((block) => !hasWayTo.has(block) && !this.#vertical.has(block));
    this.#fullWaves = new FullWaveEntries(entry, this.#counts ? [] : entries, (...args) => this.#withoutDead(...args));
    const isApart = this.#fullWaves.any;
    this.#state = isApart ? blocksApart(entry) : entry;
    const { f } = this.#state;
    this.#next = isApart ? f.param(BLOCKS_NEXT) : f.local('i32');
  }

  get liveIn(): LiveIn[] {
    return this.#blocks.map((block) => this.#liveness.liveIn(block));
  }

  get series(): readonly number[] {
    return this.#fullWaves.series;
  }

  get loops(): number[][] {
    return [...this.#vertical.values()].map(({ plan }) =>
      plan.loop.blocks.flatMap(({ instructions }) => instructions.map(({ index }) => index)),
    );
  }

  emit(): void {
    const { f, wave, literalBase } = this.#entry;
    const record = f.param(RECORD);
    const isApart = this.#state !== this.#entry;
    const next = isApart ? f.local('i32') : this.#next;
    // The executor takes one instruction for the call.
    addToBudget(f, wave, 1);
    const budget = f.local('i32');
    f.get(wave);
    f.load('i32.load', WAVE_BUDGET);
    f.set(budget);
    f.get(record);
    f.load('i32.load', LEADER_LITERALS);
    f.set(literalBase);
    f.get(record);
    f.load('i32.load', LEADER_BLOCK);
    f.set(next);
    if (!isApart) this.#emitBlocks();
    else
      f.block('i32', (leave) => {
        f.block(undefined, (blocks) => this.#fullWaves.emit(next, blocks, leave));
        for (const value of [record, wave, literalBase, next]) f.get(value);
        f.call(this.#state.f);
      });
    const left = loadFrom('i32.load', wave, WAVE_BUDGET);
    change(f, wave, WAVE_COMPILED, (compiled) => sub(sum(compiled, budget), left));
    if (this.#counts) this.#setBlock(() => f.i32(0));
    if (isApart) this.#emitBlocks();
  }

  /** Leaves the record to go on with on the stack, or 0. */
  #emitBlocks(): void {
    const { f } = this.#state;
    for (const way of [...this.#vertical.values()].flatMap(({ ways }) => ways)) {
      if (!way.steady && !way.lanes) continue;
      const unfit = f.local('i32');
      f.i32(0);
      f.set(unfit);
      this.#unfit.set(way, unfit);
    }
    f.block('i32', (leave) => {
      this.#leave = leave;
      f.loop(undefined, (dispatch) => {
        this.#dispatch = dispatch;
        this.#emitFrom(this.#blocks.length - 1);
      });
      f.unreachable();
    });
  }

  get #counts(): boolean {
    const { countsClasses, countsPcs } = this.#entry.context;
    return countsClasses || countsPcs;
  }

  /** Counts all of a block before it runs; after a fault it is known which block that was. */
  #countBlock({ instructions }: Block): void {
    const { f, wave, context } = this.#state;
    this.#setBlock(() => this.#state.pushRecord(instructions[0]!.index));
    if (context.countsClasses) emitClassCounts(f, wave, classMix(instructions.map(({ step }) => step)));
  }

  #setBlock(pushRecord: () => void): void {
    const { f, wave } = this.#state;
    f.get(wave);
    pushRecord();
    f.store('i32.store', WAVE_BLOCK);
  }

  /**
   * Opens the wasm blocks down to the branch table, then emits the code of block `index` after the end of its
   * wasm block.
   */
  #emitFrom(index: number): void {
    const { f } = this.#state;
    f.block(undefined, (label) => {
      this.#labels[index] = label;
      if (index > 0) this.#emitFrom(index - 1);
      else {
        f.get(this.#next);
        f.brTable(this.#labels.slice(0, -1), this.#labels.at(-1)!);
      }
    });
    this.#emitBlock(this.#blocks[index]!);
  }

  #emitBlock(block: Block): void {
    const { f, wave } = this.#state;
    const vertical = this.#vertical.get(block);
    if (vertical) this.#emitVertical(vertical);
    const last = block.instructions.at(-1)!;
    const body = (self?: BlockLabel): void => {
      addToBudget(f, wave, -block.instructions.length);
      if (this.#counts) this.#countBlock(block);
      const condition = this.#emitInstructions(block.instructions);
      const { control } = last.shape;
      if (control === 'leave') {
        this.#emitAlone(last);
        f.br(this.#leave);
      } else if (control === 'branch') this.#goTo(block, 'target', self);
      else {
        if (condition) {
          f.get(condition);
          f.free(condition);
          f.if(undefined, () => {
            if (this.#state.context.countsPcs)
              emitTaken(
                f,
                () => this.#state.pushCounts([last]),
                () => f.i32(1),
              );
            this.#goTo(block, 'target', self);
          });
        }
        this.#goTo(block, 'next', self);
      }
    };
    if (block.target === block) f.loop(undefined, body);
    else body();
  }

  /** Runs a loop chunk by chunk from its header; the code of its blocks follows for waves that cannot. */
  #emitVertical({ plan, ways }: VerticalLoop): void {
    const { f } = this.#state;
    const { header, latch, exit } = plan.loop;
    const back = exit === 'next' ? 'target' : 'next';
    const leave = (): void => {
      const successor = latch[exit];
      if (!successor) this.#leaveFunction(latch, exit);
      else if (successor.index > header.index) f.br(this.#labels[successor.index]!);
      else this.#dispatchTo(successor);
    };
    const suspend = (): void => this.#leaveFunction(latch, back);
    for (const way of ways) new LoopLowering(this.#state, plan, way, this.#unfit.get(way)).emit(leave, suspend);
  }

  #leaveFunction(block: Block, way: 'next' | 'target'): void {
    this.#state.pushSuccessor(way, block.instructions.at(-1)!);
    this.#state.f.br(this.#leave);
  }

  #dispatchTo(block: Block): void {
    const { f } = this.#state;
    f.i32(block.index);
    f.set(this.#next);
    f.br(this.#dispatch);
  }

  #goTo(block: Block, way: 'next' | 'target', self: BlockLabel | undefined): void {
    const { f } = this.#state;
    const successor: Successor = block[way];
    const leave = (): void => this.#leaveFunction(block, way);
    if (!successor) leave();
    else if (successor.index > block.index) {
      // The code of the next block follows.
      if (successor.index > block.index + 1 || way === 'target') f.br(this.#labels[successor.index]!);
    } else {
      f.get(this.#state.wave);
      f.load('i32.load', WAVE_BUDGET);
      f.i32(0);
      f.op('i32.le_s');
      f.if(undefined, leave);
      if (successor === block && self) f.br(self);
      else this.#dispatchTo(successor);
    }
  }

  /** Emits all instructions, but one that leaves; returns the condition of the branch at the end. */
  #emitInstructions(instructions: readonly Decoded[]): Local | undefined {
    const { spaces, literals } = this.#state;
    const newRegion = (): RegionBuilder => new RegionBuilder({ ...spaces, literals });
    let builder = newRegion();
    const regions: Region[] = [];
    let condition: Local | undefined;
    const end = (): void => {
      if (!builder.empty) regions.push(builder.finish());
      builder = newRegion();
    };
    const close = (): void => {
      end();
      if (regions.length > 0) condition = this.#emitRegions(regions.splice(0));
    };
    const { countsPcs } = this.#state.context;
    for (const [at, instruction] of instructions.entries()) {
      const { standsAlone, control } = instruction.shape;
      if (countsPcs && (at === 0 || this.#liveness.writesExec(instructions[at - 1]!))) {
        close();
        this.#countFrom(instructions, at);
      }
      if (standsAlone) close();
      if (control === 'leave') break;
      if (standsAlone) this.#emitAlone(instruction);
      else if (!builder.tryAppend(instruction)) {
        end();
        builder.tryAppend(instruction);
      }
    }
    close();
    return condition;
  }

  /** Counts the instructions from one on that have the same EXEC. */
  #countFrom(instructions: readonly Decoded[], first: number): void {
    const { f, wave, spaces, context } = this.#state;
    const last = instructions.findIndex((each, at) => at >= first && this.#liveness.writesExec(each));
    const together = instructions.slice(first, last < 0 ? instructions.length : last + 1);
    emitPcCounts(f, () => this.#state.pushCounts(together), wave, spaces.waveSize);
    const { traceRun } = context;
    if (!traceRun) return;
    const pushRecord = () => this.#state.pushRecord(together[0]!.index);
    emitTracedRun(f, traceRun, pushRecord, { wave, waveSize: spaces.waveSize, count: together.length });
  }

  /** Regions that follow each other; the condition of the last one's branch, if it ends in one. */
  #emitRegions(regions: readonly Region[]): Local | undefined {
    const { spaces, literals } = this.#state;
    let condition: Local | undefined;
    for (let at = 0; at < regions.length; ) {
      const merged = mergeRegions(regions.slice(at), this.#instructions, { ...spaces, literals });
      const lowering = merged && new RegionLowering(this.#state, this.#withoutDead(merged.region));
      const count = lowering?.mayBeWhole ? merged!.count : 1;
      const own = regions.slice(at, at + count);
      condition = lowering?.mayBeWhole ? this.#emitMerged(lowering.region, own) : this.#emitRegion(own[0]!);
      at += count;
    }
    return condition;
  }

  /** Regions as one, for waves that suit it; for others one after the other. */
  #emitMerged(merged: Region, regions: readonly Region[]): Local | undefined {
    const condition = emitMerged(this.#state, merged, regions, (region) => this.#emitRegion(region));
    if (regions.at(-1)!.branch) return condition;
    this.#state.f.free(condition);
    return undefined;
  }

  #emitRegion(region: Region): Local | undefined {
    if (region.first !== region.last) this.regions.push([region.first, region.last]);
    return new RegionLowering(this.#state, this.#withoutDead(region)).emit();
  }

  /** The region without results that nothing reads; `next`: where all waves go on, if that is known. */
  #withoutDead(
    region: Region,
    own: readonly Decoded[] = this.#instructions.slice(region.first, region.last + 1),
    next?: Block,
  ): Region {
    // Lanes that are stopped may need what no code that follows reads.
    const hasTurns = this.#entry.spaces.stoppedScalar !== undefined;
    // Lanes are counted by EXEC as it is in memory, which no instruction may read.
    const isCounted = (offset: number): boolean =>
      this.#entry.context.countsPcs && (offset === STATE_OFFSETS.exec || offset === STATE_OFFSETS.exec + 4);
    const isLive = (offset: number): boolean =>
      this.#liveness.isLive(offset, own) && (!next || this.#liveness.isLiveAt(next, offset));
    const live = (values: ReadonlyMap<number, Node>): Map<number, Node> =>
      new Map([...values].filter(([offset]) => isCounted(offset) || isLive(offset)));
    const rows = live(region.rows);
    const wholeRows = new Set(
      hasTurns ? [] : [...rows.keys()].filter((offset) => !this.#liveness.isLiveWhereOff(offset, own)),
    );
    return { ...region, scalars: live(region.scalars), rows, wholeRows };
  }

  #emitAlone(instruction: Decoded): void {
    emitAlone(this.#state, instruction, () => this.#goOn());
  }

  /**
   * Goes on at the record on top of the stack: inside the function when that is a leader of one of its
   * blocks, while the turn lasts.
   */
  #goOn(): void {
    const { f, wave } = this.#state;
    const record = f.param(RECORD);
    const next = f.local('i32');
    f.tee(next);
    f.load('i32.load', RECORD_HANDLER);
    f.get(record);
    f.load('i32.load', RECORD_HANDLER);
    f.op('i32.eq');
    f.get(wave);
    f.load('i32.load', WAVE_BUDGET);
    f.i32(0);
    f.op('i32.gt_s');
    f.op('i32.and');
    f.if(undefined, () => {
      f.get(next);
      f.load('i32.load', LEADER_BLOCK);
      f.set(this.#next);
      f.br(this.#dispatch);
    });
    f.get(next);
    f.br(this.#leave);
    f.free(next);
  }
}
