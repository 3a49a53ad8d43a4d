/**
 * Wait states where payloads meet the code around them, and each other: code that kept its hazards apart
 * does so no longer with other code in between, and payloads know nothing of their neighbours.
 */
import { assert } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { type BasicBlock, basicBlocks, blockGraph, type Followed } from '../../flow/blocks.ts';
import { solveDataFlow } from '../../flow/data-flow.ts';
import type { Effects } from '../../ir/effects.ts';
import type { Target } from '../../isa/amdgpu/encoding/targets.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import { HazardState, type MissingWait } from '../../lift/hazards.ts';
import { type CodeItem, hasWords, isPayload, type Label, type PlacedItem } from './code-item.ts';

/** The wait states of one s_nop (CDNA2 ISA 12.5; RDNA3 ISA 16.5). */
const NOP_STATES = 16;
/** Stands in cures for a register (`Hazard.cure`). */
const ANY_VECTOR = 'vN';
/** MODE that payloads are read with: hazards do not depend on it. */
const MODE = 0;

export interface SeamInput {
  readonly items: readonly CodeItem[];
  /** Those with original addresses. */
  readonly original: (address: number) => AmdgpuStep | undefined;
  readonly target: Target;
}

export interface SeamCode {
  readonly items: readonly CodeItem[];
  /** Instructions that were added. */
  readonly nopCount: number;
}

/**
 * The items with what keeps hazards apart, over all ways through them; code without payloads
 * stays as it is.
 * Behind calls and at entries nothing is known to be near, as compilers have it. Time is linear in the items,
 * but for loops, which are looked at until nothing changes.
 */
export function keepHazardsApart(input: SeamInput): SeamCode {
  const { items } = input;
  if (!items.some(isPayload)) return { items, nopCount: 0 };
  return new Seams(input).run();
}

/** Items up to before `end`: control comes to the first alone, and goes elsewhere from the last alone. */
interface ItemRun {
  readonly first: number;
  readonly end: number;
}

class Seams {
  readonly #items: readonly CodeItem[];
  readonly #target: Target;
  /** By item; undefined where no machine runs anything. Where they stand is not said. */
  readonly #steps: readonly (AmdgpuStep | undefined)[];

  constructor({ items, original, target }: SeamInput) {
    this.#items = items;
    this.#target = target;
    this.#steps = new ItemSteps(original, target).of(items);
  }

  run(): SeamCode {
    const added = this.#added();
    if (added.size === 0) return { items: this.#items, nopCount: 0 };
    const result: CodeItem[] = [];
    let [nopCount, from] = [0, 0];
    for (const [place, cures] of [...added].sort(([a], [b]) => a - b)) {
      for (; from < place; from++) result.push(this.#items[from]!);
      for (const cure of cures) result.push(cure);
      nopCount += cures.length;
    }
    for (; from < this.#items.length; from++) result.push(this.#items[from]!);
    return { items: result, nopCount };
  }

  /** What goes before items, by index. */
  #added(): Map<number, CodeItem[]> {
    const steps = this.#steps;
    const blocks = this.#blocks();
    const nothing = HazardState.nothing();
    const { incoming } = solveDataFlow<HazardState>(blockGraph(blocks, []), {
      ...{ direction: 'forward', nothing, outside: nothing },
      join: (a, b) => a.join(b),
      equals: (a, b) => a === b,
      transfer: (block, before) => {
        let state = before;
        for (const { first, end } of blocks[block]!.instructions) {
          for (let index = first; index < end; index++) {
            const step = steps[index];
            if (step) state = state.afterInCode(step);
          }
        }
        return state;
      },
    });
    const added = new Map<number, CodeItem[]>();
    for (const { index: block, instructions } of blocks) {
      let state = incoming[block]!;
      for (const { first, end } of instructions) {
        for (let index = first; index < end; index++) {
          const step = steps[index];
          if (step) state = this.#pass(index, step, state, added);
        }
      }
    }
    return added;
  }

  /** Adds what an item needs before it. What is known behind it. */
  #pass(index: number, step: AmdgpuStep, state: HazardState, added: Map<number, CodeItem[]>): HazardState {
    const missing = state.missing(step);
    if (missing.length === 0) return state.afterInCode(step);
    const states = missing.reduce((most, each) => Math.max(most, statesOf(each)), 0);
    const place = this.#beforeGroup(index);
    added.set(place, [...(added.get(place) ?? []), ...this.#cures(missing, states, index)]);
    return state.afterInCode(step, states);
  }

  #blocks(): BasicBlock<ItemRun>[] {
    const places = new Map<Label | number, number>();
    const runs = this.#runs(places);
    const code = new Map<number, Followed<ItemRun>>();
    for (const [number, run] of runs.entries()) {
      const last = this.#items[run.end - 1]!;
      const isBranch = last.kind === 'branch';
      const endsFlow = hasWords(last) && last.endsFlow === true;
      const endsBlock = isBranch || endsFlow || this.#steps[run.end - 1]?.control === 'call';
      const next = endsFlow ? undefined : runs[number + 1]?.first;
      const target = isBranch ? places.get(last.target) : undefined;
      code.set(run.first, { instruction: run, next, target, leaves: endsBlock, endsBlock });
    }
    return basicBlocks(code, []);
  }

  /** With the places of labels, by the first items of runs. */
  #runs(places: Map<Label | number, number>): ItemRun[] {
    const runs: { first: number; end: number }[] = [];
    let labels: (Label | number)[] = [];
    let run: { first: number; end: number } | undefined;
    for (let index = 0; index < this.#items.length; index++) {
      const item = this.#items[index]!;
      if (item.kind === 'label') {
        labels.push(item.label, ...(item.origin === undefined ? [] : [item.origin]));
        run = undefined;
      }
      if (!hasWords(item)) continue;
      if (!run) {
        run = { first: index, end: index };
        runs.push(run);
        for (const label of labels) places.set(label, index);
        labels = [];
      }
      run.end = index + 1;
      if (item.kind === 'branch' || item.endsFlow || this.#steps[index]?.control === 'call') run = undefined;
    }
    return runs;
  }

  /** The first item of those that nothing may come between. */
  #beforeGroup(index: number): number {
    const items = this.#items;
    for (let first = index; ; ) {
      let before = first - 1;
      while (before >= 0 && !hasWords(items[before]!)) before--;
      const item = items[before];
      if (!item || !hasWords(item) || !item.isGlued) return first;
      first = before;
    }
  }

  #cures(missing: readonly MissingWait[], states: number, index: number): CodeItem[] {
    const others = new Set(missing.filter((each) => statesOf(each) === 0).map(cureOf));
    const item = this.#items[index]!;
    const point = hasWords(item) ? (item.origin ?? item.point) : undefined;
    const { waveSize } = this.#steps[index]!.instruction;
    return [...nops(states), ...others].map((text) => {
      const { words } = assembleInstruction(text, { target: this.#target, waveSize });
      return { kind: 'instruction', words, ...(point !== undefined && { point }) };
    });
  }
}

const statesOf = ({ hazard, missing }: MissingWait): number => (hazard.counts === 'states' ? missing : 0);

const nops = (states: number): string[] =>
  Array.from(
    { length: Math.ceil(states / NOP_STATES) },
    (_, i) => `s_nop ${Math.min(NOP_STATES, states - i * NOP_STATES) - 1}`,
  );

/** A cure that moves a register to itself takes one that the step waits for anyway. */
function cureOf({ hazard: { cure }, step }: MissingWait): string {
  const read = step.effects.reads.find(({ file }) => file === 'vector');
  return cure.replaceAll(ANY_VECTOR, `v${read?.first ?? 0}`);
}

/** What items do: of instructions with the same effects there is one step, wherever they stand. */
class ItemSteps {
  readonly #original: SeamInput['original'];
  readonly #readers: ReadonlyMap<number, AmdgpuStepReader>;
  /** By the array that holds the words, and by the words. */
  readonly #byArray = new Map<readonly number[], AmdgpuStep>();
  readonly #byWords = new Map<string, AmdgpuStep>();
  readonly #byEffects = new Map<Effects, AmdgpuStep>();
  #waveSize: 32 | 64;
  /** The original instruction that was looked for last. */
  #place: number | undefined;
  #own: AmdgpuStep | undefined;

  constructor(original: SeamInput['original'], { processor, waveSizes }: Target) {
    this.#original = original;
    this.#readers = new Map(waveSizes.map((size) => [size, new AmdgpuStepReader(processor, size, MODE)]));
    this.#waveSize = waveSizes[0]!;
  }

  of(items: readonly CodeItem[]): (AmdgpuStep | undefined)[] {
    return items.map((item) => (hasWords(item) ? this.#stepOf(item) : undefined));
  }

  #stepOf({ words, origin, point, endsFlow }: PlacedItem): AmdgpuStep | undefined {
    const own = this.#originalAt(origin ?? point);
    // An instruction that is pinned became others.
    const isOwn = own && origin !== undefined && own.instruction.code[0] === words[0];
    const step = isOwn ? own : this.#decoded(words);
    assert(step || endsFlow, () => `an item of code is the instruction ${words.map((word) => hex(word)).join(' ')}`);
    return step && this.#oneOf(step);
  }

  #originalAt(place: number | undefined): AmdgpuStep | undefined {
    if (place === undefined) return undefined;
    if (place !== this.#place) {
      this.#place = place;
      this.#own = this.#original(place);
      if (this.#own) this.#waveSize = this.#own.instruction.waveSize;
    }
    return this.#own;
  }

  #oneOf(step: AmdgpuStep): AmdgpuStep {
    const first = this.#byEffects.get(step.effects);
    if (!first) this.#byEffects.set(step.effects, step);
    return first ?? step;
  }

  #decoded(words: readonly number[]): AmdgpuStep | undefined {
    const known = this.#byArray.get(words);
    if (known?.instruction.waveSize === this.#waveSize) return known;
    const key = `${this.#waveSize} ${words.join(' ')}`;
    let step = this.#byWords.get(key);
    if (!step) {
      const bytes = new DataView(new ArrayBuffer(words.length * 4));
      for (const [i, word] of words.entries()) bytes.setUint32(i * 4, word, true);
      const read = this.#readers.get(this.#waveSize)!.step(bytes, 0);
      if (typeof read === 'string') return undefined;
      step = read;
      this.#byWords.set(key, step);
    }
    this.#byArray.set(words, step);
    return step;
  }
}
