/**
 * Wait states where payloads meet the code around them, and each other: code that kept its hazards apart
 * does so no longer with other code in between, and payloads know nothing of their neighbours.
 */
import { assert } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { type BasicBlock, basicBlocks, blockGraph, type Followed } from '../../flow/blocks.ts';
import { solveDataFlow } from '../../flow/data-flow.ts';
import type { Target } from '../../isa/amdgpu/encoding/targets.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';
import { afterInCode, HazardState, type MissingWait } from '../../lift/hazards.ts';
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

class Seams {
  readonly #items: readonly CodeItem[];
  readonly #target: Target;
  /** By item; undefined where no machine runs anything. */
  readonly #steps: readonly (AmdgpuStep | undefined)[];

  constructor({ items, original, target }: SeamInput) {
    this.#items = items;
    this.#target = target;
    this.#steps = new ItemSteps(original, target).of(items);
  }

  run(): SeamCode {
    const items = this.#items;
    const added = this.#added();
    const result: CodeItem[] = [];
    let nopCount = 0;
    for (const [index, item] of items.entries()) {
      for (const each of added.get(index) ?? []) {
        result.push(each);
        nopCount++;
      }
      result.push(item);
    }
    return { items: result, nopCount };
  }

  /** What goes before items, by index. */
  #added(): Map<number, CodeItem[]> {
    const steps = this.#steps;
    const blocks = this.#blocks();
    const { incoming } = solveDataFlow<HazardState>(blockGraph(blocks, []), {
      ...{ direction: 'forward', nothing: HazardState.NOTHING, outside: HazardState.NOTHING },
      join: (a, b) => a.join(b),
      equals: (a, b) => a.equals(b),
      transfer: (block, before) =>
        blocks[block]!.instructions.reduce((state, index) => afterInCode(state, steps[index]!), before),
    });
    const added = new Map<number, CodeItem[]>();
    for (const { index: block, instructions } of blocks) {
      let state = incoming[block]!;
      for (const index of instructions) {
        const step = steps[index]!;
        const missing = state.missing(step);
        const states = missing.reduce((most, each) => Math.max(most, statesOf(each)), 0);
        if (missing.length > 0) {
          const place = this.#beforeGroup(index);
          added.set(place, [...(added.get(place) ?? []), ...this.#cures(missing, states, index)]);
        }
        state = afterInCode(state, step, states);
      }
    }
    return added;
  }

  /** Of items, by index. */
  #blocks(): BasicBlock<number>[] {
    const items = this.#items;
    const places = new Map<Label | number, number>();
    const code = new Map<number, Followed<number>>();
    let next: number | undefined;
    const behind: (number | undefined)[] = [];
    for (let index = items.length - 1; index >= 0; index--) {
      const item = items[index]!;
      if (hasWords(item)) {
        behind[index] = item.endsFlow ? undefined : next;
        next = index;
      } else if (item.kind === 'label' && next !== undefined) {
        places.set(item.label, next);
        if (item.origin !== undefined) places.set(item.origin, next);
      }
    }
    for (const [index, item] of items.entries()) {
      const step = this.#steps[index];
      if (!hasWords(item) || !step) continue;
      const target = item.kind === 'branch' ? places.get(item.target) : undefined;
      const endsBlock = item.kind === 'branch' || item.endsFlow === true || step.control === 'call';
      code.set(index, { instruction: index, next: behind[index], target, leaves: endsBlock, endsBlock });
    }
    return basicBlocks(code, []);
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

/** What items do: those of payloads are decoded once for all points. */
class ItemSteps {
  readonly #original: SeamInput['original'];
  readonly #readers: ReadonlyMap<number, AmdgpuStepReader>;
  /** By the array that holds the words, and by the words. */
  readonly #byArray = new Map<readonly number[], AmdgpuStep>();
  readonly #byWords = new Map<string, AmdgpuStep>();
  #waveSize: 32 | 64;

  constructor(original: SeamInput['original'], { processor, waveSizes }: Target) {
    this.#original = original;
    this.#readers = new Map(waveSizes.map((size) => [size, new AmdgpuStepReader(processor, size, MODE)]));
    this.#waveSize = waveSizes[0]!;
  }

  of(items: readonly CodeItem[]): (AmdgpuStep | undefined)[] {
    return items.map((item) => (hasWords(item) ? this.#stepOf(item) : undefined));
  }

  #stepOf({ words, origin, point, endsFlow }: PlacedItem): AmdgpuStep | undefined {
    const place = origin ?? point;
    const own = place === undefined ? undefined : this.#original(place);
    if (own) this.#waveSize = own.instruction.waveSize;
    // An instruction that is pinned became others.
    if (own && origin !== undefined && own.instruction.code[0] === words[0]) return own;
    const step = this.#decoded(words);
    assert(step || endsFlow, () => `an item of code is the instruction ${words.map((word) => hex(word)).join(' ')}`);
    return step;
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
