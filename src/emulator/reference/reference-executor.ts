/**
 * The reference executor: evaluates every instruction's meaning in TypeScript, on the same state and records
 * as the handlers.
 */

import { evaluate } from '../../ir/evaluate.ts';
import type { Step } from '../../ir/step.ts';
import type { Program } from '../../ir/types.ts';
import type { CodeCache } from '../code/code-cache.ts';
import type { EmulatorCore, Executor } from '../code/emulator-core.ts';
import { activeLanes } from '../code/pc-counter.ts';
import type { WaveFault } from '../machine/faults.ts';
import { GROUP, GROUP_STATES, type GroupField, stateCode, type WaveState } from '../machine/group-layout.ts';
import {
  classCountOffset,
  EXIT_BUDGET,
  EXIT_CODES,
  EXIT_JUMP,
  EXIT_UNTRANSLATED,
  RECORD_PC,
  RECORD_SIZE_BYTES,
  RECORD_TARGET,
  WAVE_CLOCK,
  WAVE_EXIT,
  WAVE_JUMP_PC,
  WAVE_MODE,
  WAVE_RECORD,
  WAVE_SGPRS,
} from '../machine/layout.ts';
import { ReferenceMachine } from './reference-machine.ts';

/** What becomes of a wave that left for this, without the host. */
const STATES_AFTER: ReadonlyMap<number, WaveState> = new Map([
  [EXIT_CODES.end, 'ended'],
  [EXIT_CODES.barrier, 'barrier'],
  [EXIT_CODES.sleep, 'sleeping'],
]);

export class ReferenceExecutor implements Executor {
  readonly fallbackTier = 'reference';
  readonly turnInstructions = 500;
  readonly sliceInstructions = 5000;
  readonly #emulator: EmulatorCore;
  readonly #waveSize: 32 | 64;
  readonly #programs = new WeakMap<Step, Program>();

  constructor(emulator: EmulatorCore, waveSize: 32 | 64) {
    this.#emulator = emulator;
    this.#waveSize = waveSize;
  }

  run(start: number, wave: number, budget: number): number {
    const { watch, state } = this.#emulator;
    const { view } = state;
    let record = start;
    for (let left = budget; left > 0; ) {
      const mode = view.getUint32(wave + WAVE_MODE, true);
      const cache = this.#emulator.codeCache(this.#waveSize, mode);
      const step = cache.step(record);
      const next = this.#step(cache, record, step, wave);
      if ((step && !watch?.isFree(step)) || cache.untranslated(record)) left--;
      if (next === 0) return left;
      record = next;
    }
    view.setUint32(wave + WAVE_EXIT, EXIT_BUDGET, true);
    view.setUint32(wave + WAVE_RECORD, record, true);
    return 0;
  }

  /** As the runner of the handlers (group-runner.ts), but for further workgroups. */
  runGroup(group: number, clock: bigint): number {
    const { view } = this.#emulator.state;
    const get = (field: GroupField): number => view.getInt32(group + GROUP[field], true);
    const add = (field: GroupField, amount: number): void =>
      view.setInt32(group + GROUP[field], get(field) + amount, true);
    const state = (i: number): number => group + GROUP_STATES + i * 4;
    const is = (i: number, name: WaveState): boolean => view.getInt32(state(i), true) === stateCode(name);
    const waves = Array.from({ length: get('count') }, (_, i) => i);
    for (;;) {
      for (const i of waves) {
        if (!is(i, 'ready')) continue;
        const wave = get('waves') + i * get('waveStride');
        view.setInt32(group + GROUP.current, i, true);
        view.setBigUint64(wave + WAVE_CLOCK, clock, true);
        const turn = get('turn');
        add('used', turn - this.run(view.getUint32(wave + WAVE_RECORD, true), wave, turn));
        const exit = view.getUint32(wave + WAVE_EXIT, true);
        const next = STATES_AFTER.get(exit);
        if (!next || (next === 'ended' && this.#hasStopped(wave))) return i;
        view.setInt32(state(i), stateCode(next), true);
        if (next === 'ended') add('live', -1);
        if (next !== 'sleeping') add('events', 1);
      }
      const waiting = waves.filter((i) => is(i, 'barrier'));
      if (waiting.length === 0 || waiting.length !== get('live')) return -1;
      for (const i of waiting) view.setInt32(state(i), stateCode('ready'), true);
      if (get('used') >= get('limit')) return -1;
    }
  }

  /** Whether lanes are left that have not had their turn. */
  #hasStopped(wave: number): boolean {
    const { state, frontEnd } = this.#emulator;
    const { turns } = frontEnd;
    return turns !== undefined && state.view.getUint32(wave + WAVE_SGPRS + turns.stoppedScalar * 4, true) !== 0;
  }

  /** Next record; 0 after an exit was stored. */
  #step(cache: CodeCache, record: number, step: Step | undefined, wave: number): number {
    const { view } = this.#emulator.state;
    if (cache.untranslated(record)) {
      view.setUint32(wave + WAVE_EXIT, EXIT_UNTRANSLATED, true);
      view.setUint32(wave + WAVE_RECORD, record, true);
      return 0;
    }
    if (!step) return this.#branchRecord(record, wave);
    if (this.#emulator.countsClasses) {
      const count = wave + classCountOffset(step.classIndex);
      view.setUint32(count, view.getUint32(count, true) + 1, true);
    }
    this.#emulator.watch?.beforeStep(wave, step);
    this.#emulator.pcCounter?.add(record, activeLanes(view, wave, this.#waveSize), 1);
    this.#emulator.tracer?.step(record, wave);
    this.#emulator.pcCounter?.accesses?.begin(record);
    const machine = new ReferenceMachine(this.#emulator, cache, step, record, wave);
    if (machine.findRegisters()) {
      const program = this.#program(step);
      const { watch } = this.#emulator;
      if (watch) watch.execute(wave, step, machine, (seen) => evaluate(program, seen));
      else evaluate(program, machine);
    }
    if (step.control === 'conditional' && machine.isTaken) this.#emulator.pcCounter?.addTaken(record);
    return machine.next();
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

  /** A record without an instruction stands for a branch, or for a jump to code that is not decoded yet. */
  #branchRecord(record: number, wave: number): number {
    const { memory, state } = this.#emulator;
    const { view } = state;
    const target = view.getUint32(record + RECORD_TARGET, true);
    if (target !== 0) return target;
    view.setBigUint64(wave + WAVE_JUMP_PC, memory.address(view.getUint32(record + RECORD_PC, true)), true);
    view.setUint32(wave + WAVE_EXIT, EXIT_JUMP, true);
    view.setUint32(wave + WAVE_RECORD, record + RECORD_SIZE_BYTES, true);
    return 0;
  }

  /** Built for each step apart, not for each key: so it is seen when steps of one key differ. */
  #program(step: Step): Program {
    let program = this.#programs.get(step);
    if (!program) {
      program = step.program();
      this.#programs.set(step, program);
    }
    return program;
  }
}
