/**
 * The T1 executor. Waves start in the handlers (T0); a leader that was reached often enough asks for its code
 * to be compiled, and from then on calls the function. State is complete in memory wherever a function ends,
 * so that both tiers mix freely.
 */
import { assert, WavewrightError } from '../../base/errors.ts';
import { followingOffset, type Step } from '../../ir/step.ts';
import type { CodeCache } from '../code/code-cache.ts';
import type { EmulatorCore, Executor } from '../code/emulator-core.ts';
import { activeLanes } from '../code/pc-counter.ts';
import { pcOf } from '../code/record-pc.ts';
import type { RunGroup } from '../handlers/group-runner.ts';
import type { HandlerTable } from '../handlers/handler-table.ts';
import { probeHost } from '../lowering/host.ts';
import { ModuleContext, pagesOf } from '../lowering/module-context.ts';
import { WaveFault } from '../machine/faults.ts';
import {
  classCountOffset,
  EXIT_COMPILE,
  LEADER_AGPRS,
  LEADER_BLOCK,
  LEADER_COUNT,
  LEADER_LITERALS,
  LEADER_SERIES,
  LEADER_SGPRS,
  LEADER_VGPRS,
  RANGES_EPOCH,
  RECORD_HANDLER,
  RECORD_SIZE_BYTES,
  STATE_OFFSETS,
  WAVE_BLOCK,
  WAVE_EXIT,
  WAVE_LOOP,
  WAVE_MODE,
  WAVE_RECORD,
} from '../machine/layout.ts';
import {
  type Block,
  type CodeView,
  collectBlocks,
  type FollowedCode,
  MAX_INSTRUCTIONS,
  withFollowing,
} from './function/control-flow.ts';
import { type Decoded, decoded, type Shape, shapeOf } from './function/decoded.ts';
import { FIRST_FITS } from './function/fits.ts';
import type { Literal } from './function/literals.ts';
import type { LiveIn } from './function/liveness.ts';
import { FUNCTION_NAME, lowerFunction, MAX_CODE_BYTES } from './function-lowering.ts';
import { type CompiledModule, compiledModule } from './module-cache.ts';

/**
 * Times that code is reached before it is compiled, about where that pays: an instruction takes some 60 to
 * 100 ns of a wave before, 10 after, and compiling it 100 to 450 us, most in a process that has just begun.
 */
export const DEFAULT_THRESHOLD = 2000;
/** The same of what follows compiled code, which was cut there: it was reached as often as its head. */
const FOLLOWING_THRESHOLD = 8;
const NEVER = 0x7fffffff;
/** What follows a function that was cut is begun with as many instructions as make so much code. */
const PLANNED_CODE_BYTES = 0.7 * MAX_CODE_BYTES;
/** A function that became too long is tried again with so many times fewer instructions. */
const SMALLER = 4;
const TURN_INSTRUCTIONS = 200_000;
/** More than a turn: a loop chunk by chunk has no more iterations. */
const MAX_REPEATED_INSTRUCTIONS = 2 * TURN_INSTRUCTIONS;

/** Where a function can be entered. */
interface Entry {
  readonly slot: number;
  readonly block: number;
  readonly literals: number;
  readonly liveIn: LiveIn;
  readonly mayBeSeries: boolean;
  readonly instructions: readonly Decoded[];
}

/** Compiled code of one cache. */
interface Compiled {
  /** By the offset of the code. */
  readonly entries: Map<number, Entry>;
  readonly slots: number[];
  /** The region of an instruction, by its offset, where the region has more than one. */
  readonly regions: Map<number, readonly Decoded[]>;
  /** Offsets of the instructions of a loop that runs chunk by chunk, by that of its header. */
  readonly loops: Map<number, ReadonlySet<number>>;
  /** How many instructions to try first of what follows a function that was cut, by its offset. */
  readonly lengths: Map<number, number>;
}

/** The offset of what follows a block that was cut. */
function cutOf({ instructions, next }: Block): number | undefined {
  const { step, shape } = instructions.at(-1)!;
  return shape.control === 'next' && !next ? followingOffset(step) : undefined;
}

export class JitExecutor implements Executor {
  readonly fallbackTier = 'handlers';
  readonly turnInstructions = TURN_INSTRUCTIONS;
  readonly sliceInstructions = 1_000_000;
  readonly #emulator: EmulatorCore;
  /** The tier below: it runs what is not compiled. */
  readonly handlers: HandlerTable;
  /** By the key of their steps. */
  readonly #shapes = new Map<string, Shape>();
  readonly #compiled = new Map<CodeCache, Compiled>();

  constructor(emulator: EmulatorCore, handlers: HandlerTable) {
    this.#emulator = emulator;
    this.handlers = handlers;
  }

  get runGroup(): RunGroup {
    return this.handlers.runGroup;
  }

  handleExit(reason: number, wave: number): boolean {
    if (reason !== EXIT_COMPILE) return false;
    this.#compile(this.#cacheOf(wave), this.#emulator.state.view.getUint32(wave + WAVE_RECORD, true));
    return true;
  }

  run(start: number, wave: number, budget: number): number {
    const { view } = this.#emulator.state;
    let record = start;
    let left = budget;
    try {
      for (;;) {
        left = this.handlers.runCounted(record, wave, left);
        if (!this.handleExit(view.getUint32(wave + WAVE_EXIT, true), wave)) return left;
        record = view.getUint32(wave + WAVE_RECORD, true);
      }
    } catch (error) {
      throw error instanceof WaveFault ? this.firstFault(error, wave) : error;
    }
  }

  #cacheOf(wave: number): CodeCache {
    const { state } = this.#emulator;
    return this.#emulator.codeCache(this.handlers.waveSize, state.view.getUint32(wave + WAVE_MODE, true));
  }

  forgetCode(): void {
    for (const { slots } of this.#compiled.values()) this.handlers.release(slots);
    this.#compiled.clear();
    this.#shapes.clear();
  }

  #compiledOf(cache: CodeCache): Compiled {
    let compiled = this.#compiled.get(cache);
    if (!compiled) {
      compiled = { entries: new Map(), slots: [], regions: new Map(), loops: new Map(), lengths: new Map() };
      this.#compiled.set(cache, compiled);
    }
    return compiled;
  }

  #compile(cache: CodeCache, leader: number): void {
    const compiled = this.#compiledOf(cache);
    const offset = pcOf(this.#emulator.state, leader);
    if (!compiled.entries.has(offset)) this.#compileFrom(cache, compiled, offset);
    const entry = compiled.entries.get(offset);
    if (entry) this.#enter(leader, entry);
    else this.#emulator.state.view.setInt32(leader + LEADER_COUNT, NEVER, true);
  }

  /** Makes a leader call the function that its record is in. */
  #enter(leader: number, { slot, block, literals, liveIn, mayBeSeries }: Entry): void {
    const { view } = this.#emulator.state;
    view.setUint32(leader + LEADER_VGPRS, liveIn.vgprs, true);
    view.setUint32(leader + LEADER_AGPRS, liveIn.agprs, true);
    view.setUint32(leader + LEADER_SGPRS, liveIn.sgprs, true);
    view.setUint32(leader + LEADER_SERIES, Number(mayBeSeries), true);
    view.setUint32(leader + LEADER_BLOCK, block, true);
    view.setUint32(leader + LEADER_LITERALS, literals, true);
    view.setUint32(leader + RECORD_HANDLER, slot, true);
  }

  /**
   * Where a function becomes too long, fewer instructions are tried; a single one that is too long stays with
   * the handlers. What follows is tried with as many as fit if they are like these, or each piece of long
   * code would be compiled in vain first.
   */
  #compileFrom(cache: CodeCache, compiled: Compiled, offset: number): void {
    const view = this.#viewOf(cache, compiled);
    const most = compiled.lengths.get(offset) ?? MAX_INSTRUCTIONS;
    for (let count = most; count > 0; count = Math.floor(count / SMALLER)) {
      const blocks = collectBlocks(view, offset, count);
      if (blocks.length === 0) return;
      const module = this.#moduleOf(cache, { blocks, followed: withFollowing(view, blocks) }, offset);
      if (!module) continue;
      this.#install(cache, compiled, blocks, module);
      const instructions = blocks.reduce((sum, block) => sum + block.instructions.length, 0);
      const fitting = Math.floor((PLANNED_CODE_BYTES * instructions) / module.sizeBytes);
      const next = Math.max(1, Math.min(MAX_INSTRUCTIONS, fitting));
      for (const block of blocks) {
        const following = cutOf(block);
        if (following !== undefined) compiled.lengths.set(following, next);
      }
      return;
    }
  }

  /** Undefined when the function becomes too long. */
  #moduleOf(cache: CodeCache, code: FollowedCode, offset: number): CompiledModule | undefined {
    const { frontEnd, checksAccesses, countsClasses, work } = this.#emulator;
    const countsPcs = this.#emulator.pcCounter !== undefined;
    const countsAccesses = this.#emulator.pcCounter?.accesses !== undefined;
    const tracesWaves = this.#emulator.tracer !== undefined;
    const pages = pagesOf(this.#emulator);
    const spaces = this.#emulator.spaces(cache.waveSize);
    const { vertical } = this.#emulator;
    const options = {
      processor: frontEnd.processor,
      spaces,
      pages,
      checksAccesses,
      vertical,
      ...{ countsClasses, countsPcs, countsAccesses, tracesWaves },
    } as const;
    const name = `code ${offset.toString(16)}`;
    return compiledModule(code, options, work, () => {
      const context = new ModuleContext(probeHost(), pages, {
        checksAccesses,
        countsClasses,
        countsPcs,
        countsAccesses,
        tracesWaves,
      });
      try {
        const lowered = lowerFunction(context, spaces, code, name, vertical);
        return { ...lowered, code: context.module.toBytes() };
      } catch (error) {
        if (!(error instanceof WavewrightError) || error.code !== 'LIMIT_EXCEEDED') throw error;
        return undefined;
      }
    });
  }

  #install(cache: CodeCache, compiled: Compiled, blocks: readonly Block[], module: CompiledModule): void {
    this.#emulator.work.install(module.sizeBytes);
    const slot = this.handlers.install(module.module).get(FUNCTION_NAME)!;
    compiled.slots.push(slot);
    // Its literals may be where another function had its own.
    Atomics.add(this.#emulator.state.words, RANGES_EPOCH / 4, 1);
    const instructions = blocks.flatMap((block) => block.instructions);
    const literals = this.#placeLiterals(cache, module.literals, instructions);
    for (const block of blocks) {
      const { offset } = block.instructions[0]!.step;
      const { index, instructions: own } = block;
      const entry = {
        ...{ slot, block: index, literals, instructions: own },
        ...{ liveIn: module.liveIn[index]!, mayBeSeries: module.series.includes(index) },
      };
      compiled.entries.set(offset, entry);
      const leader = cache.leaderOf(cache.recordAt(offset));
      if (leader !== undefined) this.#enter(leader, entry);
    }
    for (const block of blocks) this.#hurryFollowing(cache, compiled, block);
    for (const [first, last] of module.regions) {
      const region = instructions.slice(first, last + 1);
      for (const { step } of region) compiled.regions.set(step.offset, region);
    }
    for (const loop of module.loops) {
      const offsets = loop.map((n) => instructions[n]!.step.offset);
      compiled.loops.set(offsets[0]!, new Set(offsets));
    }
  }

  /** What follows a block that was cut is compiled soon, or long code would get hot piece by piece. */
  #hurryFollowing(cache: CodeCache, { entries }: Compiled, block: Block): void {
    const following = cutOf(block);
    if (following === undefined || entries.has(following) || !cache.stepAt(following)) return;
    const { view } = this.#emulator.state;
    const count = cache.destination(following) + LEADER_COUNT;
    const left = view.getInt32(count, true);
    if (left !== NEVER) view.setInt32(count, Math.min(left, FOLLOWING_THRESHOLD), true);
  }

  #placeLiterals(cache: CodeCache, literals: readonly Literal[], instructions: readonly Decoded[]): number {
    const base = cache.allocateRecords(Math.ceil((literals.length * 4) / RECORD_SIZE_BYTES));
    for (const [i, literal] of literals.entries()) {
      const { together, instruction } = literal;
      const value = together
        ? this.#emulator.pcCounter!.sharedPlace(together.map((index) => instructions[index]!.step.offset))
        : literalValue(cache, literal, instructions[instruction]!.step);
      this.#emulator.state.view.setUint32(base + i * 4, value, true);
    }
    return base;
  }

  /** What the handler of a step was made from. */
  #shape({ key }: Step): Shape {
    let shape = this.#shapes.get(key);
    if (!shape) {
      const request = this.handlers.request(key);
      assert(request, () => `${key} has a handler`);
      shape = shapeOf(request, this.#emulator.pcCounter?.accesses !== undefined);
      this.#shapes.set(key, shape);
    }
    return shape;
  }

  #viewOf(cache: CodeCache, compiled: Compiled): CodeView {
    return {
      step: (offset) => cache.reachedStep(offset),
      knownStep: (offset) => cache.stepAt(offset),
      shape: (step) => this.#shape(step),
      isCompiled: (offset) => compiled.entries.has(offset),
      decoded: (step, shape, index) => decoded(step, shape, index, cache.waveSize),
    };
  }

  /**
   * The fault that running one instruction after the other finds first. Instructions before the faulting one
   * may still fault in the chunks that were not reached; these have not changed, and neither have scalar
   * registers.
   */
  firstFault(fault: WaveFault, wave: number): WaveFault {
    const { view, bytes } = this.#emulator.state;
    const loop = view.getUint32(wave + WAVE_LOOP, true);
    if (loop !== 0) return this.#firstFaultInLoop(fault, wave, loop);
    const cache = this.#cacheOf(wave);
    const faulting = pcOf(this.#emulator.state, fault.record);
    const region = this.#compiledOf(cache).regions.get(faulting);
    if (!region || fault.lane < 0) return fault;
    const exec = wave + STATE_OFFSETS.exec;
    const beyond = -1n << BigInt((fault.lane & ~3) + 4);
    // Running instructions once more does not count.
    const classes = this.#emulator.frontEnd.classes.length;
    const counts = bytes.subarray(wave + classCountOffset(0), wave + classCountOffset(classes));
    const counted = counts.slice();
    const uncount = this.#emulator.pcCounter?.keep(region.map(({ step }) => step.offset));
    for (const { step, shape } of region) {
      if (step.offset === faulting) break;
      const accesses = shape.live.some(({ leaf, lane }) => leaf.kind === 'load' && lane);
      const saved = view.getBigUint64(exec, true);
      if (accesses) view.setBigUint64(exec, BigInt.asUintN(64, saved & beyond), true);
      try {
        this.handlers.run(cache.recordAt(step.offset), wave, 1);
      } catch (error) {
        if (error instanceof WaveFault) return error;
        throw error;
      } finally {
        counts.set(counted);
        uncount?.();
      }
      if (accesses) view.setBigUint64(exec, saved, true);
    }
    return fault;
  }

  uncounted({ record }: WaveFault, wave: number): readonly number[] {
    const { state } = this.#emulator;
    const cache = this.#cacheOf(wave);
    const block = state.view.getUint32(wave + WAVE_BLOCK, true);
    const entry = this.#compiledOf(cache).entries.get(pcOf(state, block));
    const records = entry?.instructions.map(({ step }) => cache.recordAt(step.offset));
    return records?.includes(record) ? records.slice(records.indexOf(record)) : [record];
  }

  /**
   * The chunks before the faulting one have come to the end of the loop, and the others, like the registers
   * of the wave, have not changed: these run it once more from its header, instruction by instruction. What
   * they load may be other by now: when they leave the loop, in which nothing stores, the fault is the one
   * that was thrown.
   */
  #firstFaultInLoop(fault: WaveFault, wave: number, header: number): WaveFault {
    const { view } = this.#emulator.state;
    const exec = wave + STATE_OFFSETS.exec;
    const active = view.getBigUint64(exec, true);
    const lanes = activeLanes(view, wave, this.handlers.waveSize);
    const from = -1n << BigInt(Math.max(0, fault.lane) & ~3);
    view.setUint32(wave + WAVE_LOOP, 0, true);
    view.setUint32(wave + WAVE_BLOCK, 0, true);
    view.setBigUint64(exec, BigInt.asUintN(64, active & from), true);
    const cache = this.#cacheOf(wave);
    let offset = pcOf(this.#emulator.state, header);
    const loop = this.#compiledOf(cache).loops.get(offset);
    const missing = lanes - activeLanes(view, wave, this.handlers.waveSize);
    const addLanes = this.#emulator.pcCounter?.addLanesLater([...(loop ?? [])], missing);
    try {
      for (let left = MAX_REPEATED_INSTRUCTIONS; left > 0 && loop?.has(offset); left--) {
        this.handlers.run(cache.recordAt(offset), wave, 1);
        offset = pcOf(this.#emulator.state, view.getUint32(wave + WAVE_RECORD, true));
      }
    } catch (error) {
      if (error instanceof WaveFault) return error;
      throw error;
    } finally {
      // Where executions are counted, loops that run chunk by chunk leave EXEC as it is.
      if (addLanes) view.setBigUint64(exec, active, true);
      addLanes?.();
    }
    return fault;
  }
}

function literalValue(cache: CodeCache, { kind, operand }: Literal, step: Step): number {
  assert(kind !== 'counts', 'counts are of several instructions');
  switch (kind) {
    case 'record':
      return cache.recordAt(step.offset);
    case 'pc':
      return step.offset;
    case 'nextPc':
      return followingOffset(step);
    case 'table': {
      const table = step.operands[operand!];
      assert(table?.kind === 'laneTable', () => `operand ${operand} of ${step.text()} is a lane table`);
      return cache.laneTable(table.bytes);
    }
    case 'fits':
    case 'series':
      return FIRST_FITS;
    case 'target':
      return cache.destination(step.target!);
    case 'next':
      return cache.destination(followingOffset(step));
  }
}
