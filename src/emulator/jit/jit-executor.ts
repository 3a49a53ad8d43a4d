/**
 * The T1 executor. Waves start in the handlers (T0); a leader that was reached often enough asks for its code to be compiled, and from then
 * on calls the function. State is complete in memory wherever a function ends, so that both tiers mix freely.
 */
import { WavewrightError } from '../../base/errors.ts';
import { INSTRUCTION_CLASSES } from '../../isa/amdgpu/encoding/instruction-class.ts';
import type { CodeCache } from '../code/code-cache.ts';
import type { EmulatorCore, Executor } from '../emulator-core.ts';
import type { RunGroup } from '../handlers/group-runner.ts';
import type { HandlerTable } from '../handlers/handler-table.ts';
import { probeHost } from '../lowering/host.ts';
import { ModuleContext, pagesOf } from '../lowering/module-context.ts';
import { WaveFault } from '../machine/faults.ts';
import {
  EXIT_COMPILE,
  LEADER_AGPRS,
  LEADER_BLOCK,
  LEADER_COUNT,
  LEADER_LITERALS,
  LEADER_SGPRS,
  LEADER_VGPRS,
  RECORD_HANDLER,
  RECORD_NEXT_PC,
  RECORD_OPERANDS,
  RECORD_PC,
  RECORD_SIZE_BYTES,
  RECORD_TARGET,
  STATE_OFFSETS,
  WAVE_BLOCK,
  WAVE_CLASS_COUNTS,
  WAVE_EXIT,
  WAVE_LOOP,
  WAVE_MODE,
  WAVE_RECORD,
} from '../machine/layout.ts';
import { type Block, type CodeView, collectBlocks, MAX_INSTRUCTIONS } from './control-flow.ts';
import { type Decoded, decoded, type Shape, shapeOf } from './decoded.ts';
import { FUNCTION_NAME, lowerFunction, MAX_CODE_BYTES } from './function-lowering.ts';
import type { Literal } from './literals.ts';
import type { LiveIn } from './liveness.ts';
import type { VerticalMode } from './loops/vertical-loops.ts';
import { type CompiledModule, compiledModule } from './module-cache.ts';

/** Times that code is reached before it is compiled, about where that pays. */
export const DEFAULT_THRESHOLD = 500;
const NEVER = 0x7fffffff;
/** A function that became too long is tried again with so many times fewer instructions. */
const SMALLER = 4;
const TURN_INSTRUCTIONS = 200_000;
/** More than a turn: a loop chunk by chunk has no more iterations. */
const MAX_REPEATED_INSTRUCTIONS = 2 * TURN_INSTRUCTIONS;

/** Where a record can be entered. */
interface Entry {
  readonly slot: number;
  readonly block: number;
  readonly literals: number;
  readonly liveIn: LiveIn;
  readonly instructions: readonly Decoded[];
}

/** Compiled code of one cache. */
interface Compiled {
  readonly entries: Map<number, Entry>;
  readonly slots: number[];
  /** For an instruction with an access in a region with others before it, the first of these. */
  readonly regionStarts: Map<number, number>;
  /** For the header of a loop that runs chunk by chunk, the records of its instructions. */
  readonly loops: Map<number, ReadonlySet<number>>;
}

export class JitExecutor implements Executor {
  readonly tier = 'handlers';
  readonly turnInstructions = TURN_INSTRUCTIONS;
  readonly sliceInstructions = 1_000_000;
  readonly #emulator: EmulatorCore;
  /** The tier below: it runs what is not compiled. */
  readonly handlers: HandlerTable;
  readonly #shapes = new Map<number, Shape>();
  readonly #compiled = new Map<CodeCache, Compiled>();
  readonly #vertical: VerticalMode;

  constructor(emulator: EmulatorCore, handlers: HandlerTable, vertical: VerticalMode) {
    this.#emulator = emulator;
    this.#vertical = vertical;
    this.handlers = handlers;
  }

  get runGroup(): RunGroup {
    return this.handlers.runGroup;
  }

  resume(wave: number): boolean {
    const { view } = this.#emulator.state;
    if (view.getUint32(wave + WAVE_EXIT, true) !== EXIT_COMPILE) return false;
    this.#compile(this.#cacheOf(wave), view.getUint32(wave + WAVE_RECORD, true));
    return true;
  }

  run(start: number, wave: number, budget: number): number {
    const { view } = this.#emulator.state;
    let record = start;
    let left = budget;
    try {
      for (;;) {
        left = this.handlers.runCounted(record, wave, left);
        if (!this.resume(wave)) return left;
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
      compiled = { entries: new Map(), slots: [], regionStarts: new Map(), loops: new Map() };
      this.#compiled.set(cache, compiled);
    }
    return compiled;
  }

  #compile(cache: CodeCache, leader: number): void {
    const compiled = this.#compiledOf(cache);
    const record = cache.behindLeader(leader);
    if (!compiled.entries.has(record)) this.#compileFrom(cache, compiled, record);
    const entry = compiled.entries.get(record);
    if (entry) this.#enter(leader, entry);
    else this.#emulator.state.view.setInt32(leader + LEADER_COUNT, NEVER, true);
  }

  /** Makes a leader call the function that its record is in. */
  #enter(leader: number, { slot, block, literals, liveIn }: Entry): void {
    const { view } = this.#emulator.state;
    view.setUint32(leader + LEADER_VGPRS, liveIn.vgprs, true);
    view.setUint32(leader + LEADER_AGPRS, liveIn.agprs, true);
    view.setUint32(leader + LEADER_SGPRS, liveIn.sgprs, true);
    view.setUint32(leader + LEADER_BLOCK, block, true);
    view.setUint32(leader + LEADER_LITERALS, literals, true);
    view.setUint32(leader + RECORD_HANDLER, slot, true);
  }

  /** Where a function becomes too long, fewer instructions are tried; a single one that is too long stays with the handlers. */
  #compileFrom(cache: CodeCache, compiled: Compiled, record: number): void {
    const view = this.#viewOf(cache, compiled);
    for (let count = MAX_INSTRUCTIONS; count > 0; count = Math.floor(count / SMALLER)) {
      const blocks = collectBlocks(view, record, count);
      if (blocks.length === 0) return;
      const module = this.#moduleOf(cache, blocks, record);
      if (!module) continue;
      this.#install(cache, compiled, blocks, module);
      return;
    }
  }

  /** Undefined when the function becomes too long. */
  #moduleOf(cache: CodeCache, blocks: readonly Block[], record: number): CompiledModule | undefined {
    const { state, target, checksAccesses, countsClasses, work } = this.#emulator;
    const pages = pagesOf(this.#emulator);
    const spaces = this.#emulator.spaces(cache.waveSize);
    const vertical = this.#vertical;
    const options = {
      processor: target.processor,
      spaces,
      pages,
      checksAccesses,
      vertical,
      observers: countsClasses ? 'classes' : '',
    } as const;
    const name = `code ${state.view.getUint32(record + RECORD_PC, true).toString(16)}`;
    return compiledModule(blocks, options, state.bytes, () => {
      const context = new ModuleContext(probeHost(), pages, { checksAccesses, countsClasses });
      try {
        const lowered = lowerFunction(context, spaces, blocks, name, vertical);
        const code = context.module.toBytes();
        work.compile(code.length);
        return { ...lowered, module: new WebAssembly.Module(code), sizeBytes: code.length };
      } catch (error) {
        if (!(error instanceof WavewrightError) || error.code !== 'LIMIT_EXCEEDED') throw error;
        work.compile(MAX_CODE_BYTES);
        return undefined;
      }
    });
  }

  #install(cache: CodeCache, compiled: Compiled, blocks: readonly Block[], module: CompiledModule): void {
    this.#emulator.work.install(module.sizeBytes);
    const slot = this.handlers.install(module.module).get(FUNCTION_NAME)!;
    compiled.slots.push(slot);
    const instructions = blocks.flatMap((block) => block.instructions);
    const literals = this.#placeLiterals(cache, module.literals, (n) => instructions[n]!.record);
    for (const block of blocks) {
      const start = block.instructions[0]!.record;
      const { index, instructions: own } = block;
      const entry = { slot, block: index, literals, liveIn: module.liveIn[index]!, instructions: own };
      compiled.entries.set(start, entry);
      const leader = cache.leaderOf(start);
      if (leader !== undefined) this.#enter(leader, entry);
    }
    for (const [first, last] of module.regions) {
      for (let n = first + 1; n <= last; n++)
        compiled.regionStarts.set(instructions[n]!.record, instructions[first]!.record);
    }
    for (const loop of module.loops) {
      const records = loop.map((n) => instructions[n]!.record);
      compiled.loops.set(records[0]!, new Set(records));
    }
  }

  #placeLiterals(cache: CodeCache, literals: readonly Literal[], recordOf: (instruction: number) => number): number {
    const { view } = this.#emulator.state;
    const base = cache.allocateRecords(Math.ceil((literals.length * 4) / RECORD_SIZE_BYTES));
    literals.forEach((literal, i) => {
      const record = recordOf(literal.instruction);
      const field = (offset: number): number => view.getUint32(record + offset, true);
      const value = {
        record: () => record,
        pc: () => field(RECORD_PC),
        nextPc: () => field(RECORD_NEXT_PC),
        table: () => field(RECORD_OPERANDS + literal.operand! * 8),
        target: () => field(RECORD_TARGET),
        next: () => this.#leaderAfter(cache, record),
      }[literal.kind]();
      view.setUint32(base + i * 4, value, true);
    });
    return base;
  }

  /** Where a wave goes on after the instruction of a record. */
  #leaderAfter(cache: CodeCache, record: number): number {
    const next = record + RECORD_SIZE_BYTES;
    return this.#shape(next)?.key === 'goto'
      ? this.#emulator.state.view.getUint32(next + RECORD_TARGET, true)
      : cache.leader(next);
  }

  /** What the handler of a record was made from. */
  #shape(record: number): Shape | undefined {
    const slot = this.#emulator.state.view.getUint32(record + RECORD_HANDLER, true);
    let shape = this.#shapes.get(slot);
    const request = shape ? undefined : this.handlers.request(slot);
    if (request) {
      shape = shapeOf(request);
      this.#shapes.set(slot, shape);
    }
    return shape;
  }

  /** Passes leaders and records that only go on elsewhere. */
  #passed(cache: CodeCache, record: number): number | undefined {
    const { view } = this.#emulator.state;
    for (let at = record, i = 0; i < 8; i++) {
      const behind = cache.behindLeader(at);
      if (this.#shape(behind)?.key !== 'goto') return behind;
      at = view.getUint32(behind + RECORD_TARGET, true);
    }
    return undefined;
  }

  #viewOf(cache: CodeCache, compiled: Compiled): CodeView {
    const { view } = this.#emulator.state;
    const passed = (record: number): number | undefined => this.#passed(cache, record);
    return {
      shape: (record) => this.#shape(record),
      pc: (record) => view.getUint32(record + RECORD_PC, true),
      next: (record) => passed(record + RECORD_SIZE_BYTES),
      target: (record) => passed(view.getUint32(record + RECORD_TARGET, true)),
      isCompiled: (record) => compiled.entries.has(record),
      decoded: (record, shape, index) => decoded(view, record, shape, index),
    };
  }

  /**
   * The fault that running one instruction after the other finds first. Instructions before the faulting one may still fault in the
   * chunks that were not reached; these have not changed, and neither have scalar registers.
   */
  firstFault(fault: WaveFault, wave: number): WaveFault {
    const { view, bytes } = this.#emulator.state;
    const loop = view.getUint32(wave + WAVE_LOOP, true);
    if (loop !== 0) return this.#firstFaultInLoop(fault, wave, loop);
    const start = this.#compiledOf(this.#cacheOf(wave)).regionStarts.get(fault.record);
    if (start === undefined || fault.lane < 0) return fault;
    const exec = wave + STATE_OFFSETS.exec;
    const beyond = -1n << BigInt((fault.lane & ~3) + 4);
    // Running instructions once more does not count.
    const counts = bytes.subarray(wave + WAVE_CLASS_COUNTS, wave + WAVE_CLASS_COUNTS + INSTRUCTION_CLASSES.length * 4);
    const counted = counts.slice();
    for (let record = start; record < fault.record; record += RECORD_SIZE_BYTES) {
      const accesses = this.#shape(record)?.live.some(({ leaf, lane }) => leaf.kind === 'load' && lane);
      const saved = view.getBigUint64(exec, true);
      if (accesses) view.setBigUint64(exec, BigInt.asUintN(64, saved & beyond), true);
      try {
        this.handlers.run(record, wave, 1);
      } catch (error) {
        if (error instanceof WaveFault) return error;
        throw error;
      } finally {
        counts.set(counted);
      }
      if (accesses) view.setBigUint64(exec, saved, true);
    }
    return fault;
  }

  uncounted({ record }: WaveFault, wave: number): readonly number[] {
    const block = this.#emulator.state.view.getUint32(wave + WAVE_BLOCK, true);
    const records = this.#compiledOf(this.#cacheOf(wave))
      .entries.get(block)
      ?.instructions.map((each) => each.record);
    return records?.includes(record) ? records.slice(records.indexOf(record)) : [record];
  }

  /**
   * The chunks before the faulting one have come to the end of the loop, and the others, like the registers of the wave, have not changed:
   * these run it once more from its header, instruction by instruction. What they load may be other by now: when they leave the loop, in
   * which nothing stores, the fault is the one that was thrown.
   */
  #firstFaultInLoop(fault: WaveFault, wave: number, header: number): WaveFault {
    const { view } = this.#emulator.state;
    const exec = wave + STATE_OFFSETS.exec;
    const from = -1n << BigInt(Math.max(0, fault.lane) & ~3);
    view.setUint32(wave + WAVE_LOOP, 0, true);
    view.setUint32(wave + WAVE_BLOCK, 0, true);
    view.setBigUint64(exec, BigInt.asUintN(64, view.getBigUint64(exec, true) & from), true);
    const cache = this.#cacheOf(wave);
    const loop = this.#compiledOf(cache).loops.get(header);
    let record = header;
    try {
      for (let left = MAX_REPEATED_INSTRUCTIONS; left > 0 && loop?.has(record); left--) {
        this.handlers.run(record, wave, 1);
        record = this.#passed(cache, view.getUint32(wave + WAVE_RECORD, true)) ?? 0;
      }
    } catch (error) {
      if (error instanceof WaveFault) return error;
      throw error;
    }
    return fault;
  }
}
