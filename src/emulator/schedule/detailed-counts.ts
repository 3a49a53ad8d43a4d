/** What a dispatch ran on one thread in detail, where that is asked for: instructions by class and by pc. */
import type { EmulatorCore } from '../code/emulator-core.ts';
import { activeLanes, type ExecutionCounts } from '../code/pc-counter.ts';
import { DispatchTrace } from '../code/wave-tracer.ts';
import { isAccessFault, type WaveFault } from '../machine/faults.ts';
import type { Triple } from '../machine/launch.ts';
import { classCountOffset, WAVE_MODE } from '../machine/layout.ts';
import type { ClassInstructions } from './instruction-counts.ts';
import type { WorkgroupSlot } from './workgroup.ts';

export class DetailedCounts {
  readonly classes: ClassInstructions | undefined;
  readonly #core: EmulatorCore;
  readonly #waveSize: 32 | 64;
  /** Where they are counted. */
  readonly #pcs: ExecutionCounts | undefined;
  /** Where waves are traced. */
  readonly trace: DispatchTrace | undefined;

  constructor(core: EmulatorCore, waveSize: 32 | 64) {
    this.#core = core;
    this.#waveSize = waveSize;
    if (core.pcCounter) this.#pcs = new Map();
    if (core.tracer) this.trace = new DispatchTrace(waveSize);
    if (core.countsClasses) this.classes = Object.fromEntries(core.frontEnd.classes.map((name) => [name, 0]));
  }

  /** Undefined where they are not counted. */
  get pcs(): ExecutionCounts | undefined {
    if (this.#pcs) this.#core.pcCounter!.settle(this.#pcs);
    return this.#pcs;
  }

  /** Before waves of the dispatch run. */
  begin(): void {
    if (this.#pcs) this.#core.pcCounter!.countFor(this.#pcs);
  }

  /** No more waves of the dispatch run. */
  end(): void {
    if (this.#pcs) this.#core.pcCounter!.settle(this.#pcs);
    if (this.trace) this.#core.tracer!.end(this.trace);
  }

  /** A wave starts. */
  waveStarts(base: number, workgroup: Triple, index: number): void {
    if (this.trace) this.#core.tracer!.begin(this.trace, base, workgroup, index);
  }

  /** Takes the counts of the waves of a slot. */
  take(slot: WorkgroupSlot): void {
    const { classes } = this;
    if (!classes) return;
    const { view } = this.#core.state;
    for (const { base } of slot.waves) {
      for (const [index, name] of this.#core.frontEnd.classes.entries()) {
        const at = base + classCountOffset(index);
        classes[name]! += view.getUint32(at, true);
        view.setUint32(at, 0, true);
      }
    }
  }

  /** Takes back what an instruction that did not run to its end was counted by. */
  faulted(fault: WaveFault, wave: number, uncounted: (fault: WaveFault, wave: number) => readonly number[]): void {
    this.#core.pcCounter?.accesses?.discard();
    if (!isAccessFault(fault)) return;
    const { classes } = this;
    if (!classes && !this.#core.pcCounter) return;
    const cache = this.#core.codeCache(this.#waveSize, this.#core.state.view.getUint32(wave + WAVE_MODE, true));
    let isCounted = true;
    for (const record of uncounted(fault, wave)) {
      const step = cache.step(record)!;
      if (classes) classes[this.#core.frontEnd.classes[step.classIndex]!]!--;
      if (isCounted) this.takeBack(record, wave);
      isCounted &&= step.effects.maskChange === 'none';
    }
  }

  /** A wave will come to the instruction of a record once more. */
  takeBack(record: number, wave: number): void {
    const { pcCounter, tracer, state } = this.#core;
    tracer?.takeBack(wave);
    pcCounter?.add(record, activeLanes(state.view, wave, this.#waveSize), -1);
  }

  /** Where classes are counted: how many instructions there are of all. */
  get total(): number | undefined {
    return this.classes && Object.values(this.classes).reduce((sum, count) => sum + count, 0);
  }
}
