/**
 * Wait states where payloads meet the code around them, and each other: code that kept its hazards apart
 * does so no longer with other code in between, and payloads know nothing of their neighbours.
 */
import { assert } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { type BasicBlock, basicBlocks, blockGraph, type Followed } from '../../flow/blocks.ts';
import { solveDataFlow } from '../../flow/data-flow.ts';
import { type FlowGraph, graphOf } from '../../flow/graph.ts';
import type { Effects } from '../../ir/effects.ts';
import type { Hazard } from '../../isa/amdgpu/effects/hazard.ts';
import type { Target } from '../../isa/amdgpu/encoding/targets.ts';
import { AmdgpuStep, AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { HazardState, hazardsMetBy, type MissingWait } from '../../lift/hazards.ts';
import { assembledWords } from './assembled-words.ts';
import type { CallWays, FunctionEnd } from './call-ways.ts';
import { becomesCode, type CodeItem, endsFlow, type InstructionItem, isGlued, isPayload } from './code-item.ts';
import { PayloadCode, type PayloadItem, type PayloadLabel } from './payload-code.ts';

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
  /** How control goes between functions; undefined where none calls another. */
  readonly calls?: CallWays | undefined;
}

export interface SeamCode {
  readonly items: readonly CodeItem[];
  /** Instructions that were added. */
  readonly nopCount: number;
}

/**
 * The items with what keeps hazards apart, over all ways through them; code without payloads
 * stays as it is.
 * Calls and returns are ways like others, as far as it is known where they go; at entries from elsewhere, and
 * behind what is called there, nothing is known to be near, as compilers have it. Time is linear in the
 * items, but for loops, which are looked at until nothing changes.
 */
export function keepHazardsApart(input: SeamInput): SeamCode {
  const { items } = input;
  if (!items.some(isPayload)) return { items, nopCount: 0 };
  const hazards = new Set<Hazard>();
  const nothing = HazardState.nothing(hazards);
  const parts = new SeamParts(input, nothing, hazards).of(items);
  const { cures, changed } = new Seams({ ...input, parts, entries: [], nothing }).pass(nothing);
  return withCures(items, cures, changed);
}

function withCures(items: readonly CodeItem[], cures: SeamWork['cures'], changed: SeamWork['changed']): SeamCode {
  if (cures.size === 0 && changed.size === 0) return { items, nopCount: 0 };
  const result: CodeItem[] = [];
  let nopCount = 0;
  for (let index = 0; index < items.length; index++) {
    const item = items[index]!;
    for (const { words, of } of cures.get(index) ?? NO_CURES) {
      const served = items[of]!;
      const point = 'origin' in served ? served.origin : 'point' in served ? served.point : undefined;
      result.push({ kind: 'instruction', words, ...(point !== undefined && { point }) });
      nopCount++;
    }
    const code = changed.get(index);
    if (code && item.kind === 'payload') nopCount += code.sizesBytes.length - item.code.sizesBytes.length;
    result.push(code && item.kind === 'payload' ? { ...item, code } : item);
  }
  return { items: result, nopCount };
}

/** Items of code, or those of one payload. */
type SeamItem = CodeItem | PayloadItem;
/** What an item is for the hazards around it. */
type Part = AmdgpuStep | PayloadSeams;

/** An instruction that keeps hazards apart: item `of` needs it. */
interface Cure {
  readonly words: readonly number[];
  readonly of: number;
}

const NO_CURES: readonly Cure[] = [];

/** What items need. */
interface SeamWork {
  /** What goes before items, by index. */
  readonly cures: ReadonlyMap<number, readonly Cure[]>;
  /** What becomes of payloads, by index. */
  readonly changed: ReadonlyMap<number, PayloadCode>;
  /** What is known behind the last item. */
  readonly behind: HazardState;
}

/** The same while items are looked at. */
interface OpenWork {
  readonly cures: Map<number, Cure[]>;
  readonly changed: Map<number, PayloadCode>;
}

/** Items up to before `end`: control comes to the first alone, and goes elsewhere from the last alone. */
interface ItemRun {
  readonly first: number;
  readonly end: number;
}

interface SeamsInput {
  readonly items: readonly SeamItem[];
  /** By item; undefined where no machine runs anything. */
  readonly parts: readonly (Part | undefined)[];
  /** Items that control comes to from elsewhere. */
  readonly entries: readonly number[];
  readonly target: Target;
  readonly nothing: HazardState;
  readonly calls?: SeamInput['calls'];
}

type SeamNode = BasicBlock<ItemRun> | FunctionEnd;

class Seams {
  readonly #items: readonly SeamItem[];
  readonly #parts: readonly (Part | undefined)[];
  readonly #target: Target;
  readonly #nothing: HazardState;
  readonly #blocks: readonly BasicBlock<ItemRun>[];
  readonly #graph: FlowGraph;

  constructor({ items, parts, entries, target, nothing, calls }: SeamsInput) {
    this.#items = items;
    this.#parts = parts;
    this.#target = target;
    this.#nothing = nothing;
    const places = new Map<PayloadLabel | number, number>();
    this.#blocks = this.#findBlocks(places);
    const isEntry = ({ instructions: [run] }: BasicBlock<ItemRun>): boolean => entries.includes(run!.first);
    this.#graph = calls
      ? this.#graphWith(calls, places)
      : blockGraph(this.#blocks, entries.length === 0 ? [] : this.#blocks.filter(isEntry));
  }

  /** `entry`: what is known where control comes from elsewhere. */
  pass(entry: HazardState): SeamWork {
    const work = { cures: new Map<number, Cure[]>(), changed: new Map<number, PayloadCode>() };
    const incoming = this.#graph.size === 1 ? [entry] : this.#incoming(entry);
    let behind = entry;
    for (const { index: block, instructions } of this.#blocks) {
      let state = incoming[block]!;
      for (const { first, end } of instructions) {
        for (let index = first; index < end; index++) state = this.#through(index, state, work);
      }
      behind = state;
    }
    return { ...work, behind };
  }

  #incoming(entry: HazardState): readonly HazardState[] {
    const { incoming } = solveDataFlow<HazardState>(this.#graph, {
      ...{ direction: 'forward', nothing: this.#nothing, outside: entry },
      join: (a, b) => a.join(b),
      equals: (a, b) => a === b,
      transfer: (block, before) => {
        let state = before;
        // Ends of functions are nodes behind the blocks.
        for (const { first, end } of this.#blocks[block]?.instructions ?? []) {
          for (let index = first; index < end; index++) {
            const part = this.#parts[index];
            if (part) state = part instanceof AmdgpuStep ? state.afterInCode(part) : part.behind(state).behind;
          }
        }
        return state;
      },
    });
    return incoming;
  }

  /** Notes what an item needs. What is known behind it. */
  #through(index: number, state: HazardState, work: OpenWork): HazardState {
    const part = this.#parts[index];
    if (!part) return state;
    if (part instanceof PayloadSeams) {
      const { code, first, behind } = part.behind(state);
      if (code !== part.code) work.changed.set(index, code);
      if (first.length > 0) this.#add(index, first, work);
      return behind;
    }
    const missing = state.missing(part);
    if (missing.length === 0) return state.afterInCode(part);
    const states = missing.reduce((most, each) => Math.max(most, statesOf(each)), 0);
    this.#add(index, this.#curesOf(missing, states, part.instruction.waveSize), work);
    return state.afterInCode(part, states);
  }

  #add(index: number, needed: readonly (readonly number[])[], { cures }: OpenWork): void {
    const place = this.#beforeGroup(index);
    cures.set(place, [...(cures.get(place) ?? []), ...needed.map((words) => ({ words, of: index }))]);
  }

  /** The blocks, then the ends of functions. */
  #graphWith({ entered, ends }: CallWays, places: ReadonlyMap<PayloadLabel | number, number>): FlowGraph {
    const byFirst = new Map(this.#blocks.map((block) => [block.instructions[0]!.first, block]));
    const endsOf = new Map(ends.flatMap((end) => end.returns.map((address) => [address, end] as const)));
    const behind = new Map<number, SeamNode>();
    const waysOf = (block: BasicBlock<ItemRun>): (SeamNode | undefined)[] => {
      const last = this.#items[block.instructions.at(-1)!.end - 1]!;
      const origin = 'origin' in last ? last.origin : undefined;
      if (origin === undefined) return [block.next, block.target];
      if (block.next) behind.set(origin, block.next);
      const callees = (entered.get(origin) ?? []).map((entry) => byFirst.get(places.get(entry) ?? -1));
      return [block.next, block.target, endsOf.get(origin), ...callees];
    };
    const ways = new Map<SeamNode, (SeamNode | undefined)[]>(this.#blocks.map((block) => [block, waysOf(block)]));
    for (const end of ends) ways.set(end, [...end.endOf, ...end.calls.map((address) => behind.get(address))]);
    return graphOf<SeamNode>([...ways.keys()], [], (node) => ways.get(node)!);
  }

  #findBlocks(places: Map<PayloadLabel | number, number>): BasicBlock<ItemRun>[] {
    const runs = this.#runs(places);
    const code = new Map<number, Followed<ItemRun>>();
    for (let number = 0; number < runs.length; number++) {
      const run = runs[number]!;
      const last = this.#items[run.end - 1]!;
      const isBranch = last.kind === 'branch';
      const isEnd = endsFlow(last);
      const endsBlock = isBranch || isEnd || this.#isCall(run.end - 1);
      const next = isEnd ? undefined : runs[number + 1]?.first;
      const target = isBranch ? places.get(last.target) : undefined;
      code.set(run.first, { instruction: run, next, target, leaves: endsBlock, endsBlock });
    }
    return basicBlocks(code, []);
  }

  /** With the places of labels, by the first items of runs. */
  #runs(places: Map<PayloadLabel | number, number>): ItemRun[] {
    const runs: { first: number; end: number }[] = [];
    let labels: (PayloadLabel | number)[] = [];
    let run: { first: number; end: number } | undefined;
    for (let index = 0; index < this.#items.length; index++) {
      const item = this.#items[index]!;
      if (item.kind === 'label') {
        labels.push(item.label);
        if ('origin' in item && item.origin !== undefined) labels.push(item.origin);
        run = undefined;
      }
      if (item.kind === 'label' || item.kind === 'align') continue;
      if (!run) {
        run = { first: index, end: index };
        runs.push(run);
        for (const label of labels) places.set(label, index);
        labels = [];
      }
      run.end = index + 1;
      if (item.kind === 'branch' || endsFlow(item) || this.#isCall(index)) run = undefined;
    }
    return runs;
  }

  #isCall(index: number): boolean {
    const part = this.#parts[index];
    return part instanceof AmdgpuStep && part.control === 'call';
  }

  /** The first item of those that nothing may come between. */
  #beforeGroup(index: number): number {
    const items = this.#items;
    for (let first = index; ; ) {
      let before = first - 1;
      while (before >= 0 && (items[before]!.kind === 'label' || items[before]!.kind === 'align')) before--;
      const item = items[before];
      if (!item || !isGlued(item)) return first;
      first = before;
    }
  }

  #curesOf(missing: readonly MissingWait[], states: number, waveSize: 32 | 64): readonly (readonly number[])[] {
    const others = new Set(missing.filter((each) => statesOf(each) === 0).map(cureOf));
    return [...nops(states), ...others].map((text) => assembledWords(text, { target: this.#target, waveSize }));
  }
}

/** A payload between what is around it. */
interface PayloadBehind {
  /** The payload with what keeps hazards apart in it. */
  readonly code: PayloadCode;
  /** What goes before all of it. */
  readonly first: readonly (readonly number[])[];
  readonly behind: HazardState;
}

/** Where a payload ends: control comes to it from all its ends. */
const END: PayloadItem = { kind: 'instruction', words: [] };

/** A payload for the hazards around it; for what is known before it, it is looked at once. */
class PayloadSeams {
  readonly code: PayloadCode;
  readonly #seams: Seams;
  readonly #behind = new Map<HazardState, PayloadBehind>();
  #last: { readonly state: HazardState; readonly found: PayloadBehind } | undefined;
  /** By what was added. */
  readonly #changed = new Map<string, PayloadCode>();

  constructor(code: PayloadCode, parts: readonly (AmdgpuStep | undefined)[], target: Target, nothing: HazardState) {
    this.code = code;
    const items = [...code.items, END];
    const first = items.findIndex(({ kind }) => kind !== 'label');
    this.#seams = new Seams({ items, parts: [...parts, undefined], entries: [first], target, nothing });
  }

  behind(state: HazardState): PayloadBehind {
    const last = this.#last;
    if (last?.state === state) return last.found;
    const found = this.#find(state);
    this.#last = { state, found };
    return found;
  }

  #find(state: HazardState): PayloadBehind {
    let found = this.#behind.get(state);
    if (!found) {
      const { cures, behind } = this.#seams.pass(state);
      const first = (cures.get(0) ?? []).map(({ words }) => words);
      found = { code: this.#with(cures), first, behind };
      this.#behind.set(state, found);
    }
    return found;
  }

  #with(cures: SeamWork['cures']): PayloadCode {
    const key = Array.from(cures, ([index, own]) => `${index} ${own.map(({ words }) => words.join())}`).join(';');
    const items = this.code.items.flatMap((item, index): PayloadItem[] => {
      const own = index === 0 ? [] : (cures.get(index) ?? []);
      return [...own.map(({ words }): PayloadItem => ({ kind: 'instruction', words })), item];
    });
    if (items.length === this.code.items.length) return this.code;
    const code = this.#changed.get(key) ?? new PayloadCode(items);
    this.#changed.set(key, code);
    return code;
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

/**
 * What items are for hazards: instructions with the same effects are one step, wherever they stand. Notes
 * which hazards they may meet.
 */
class SeamParts {
  readonly #original: SeamInput['original'];
  readonly #target: Target;
  readonly #nothing: HazardState;
  readonly #readers: ReadonlyMap<number, AmdgpuStepReader>;
  readonly #hazards: Set<Hazard>;
  readonly #payloads = new Map<PayloadCode, PayloadSeams>();
  /** By the array that holds the words. */
  readonly #byArray = new Map<readonly number[], AmdgpuStep>();
  readonly #byEffects = new Map<Effects, AmdgpuStep>();
  #waveSize: 32 | 64;
  /** The original instruction that was looked for last. */
  #place: number | undefined;
  #own: AmdgpuStep | undefined;

  constructor({ original, target }: SeamInput, nothing: HazardState, hazards: Set<Hazard>) {
    this.#hazards = hazards;
    this.#original = original;
    this.#target = target;
    this.#nothing = nothing;
    const { processor, waveSizes } = target;
    this.#readers = new Map(waveSizes.map((size) => [size, new AmdgpuStepReader(processor, size, MODE)]));
    this.#waveSize = waveSizes[0]!;
  }

  of(items: readonly CodeItem[]): (Part | undefined)[] {
    const parts = new Array<Part | undefined>(items.length);
    for (let i = 0; i < items.length; i++) parts[i] = this.#partOf(items[i]!);
    return parts;
  }

  #partOf(item: CodeItem): Part | undefined {
    if (!becomesCode(item)) return undefined;
    return item.kind === 'payload' ? this.#payload(item.code, item.point) : this.#stepOf(item);
  }

  #payload(code: PayloadCode, point: number): PayloadSeams {
    this.#originalAt(point);
    let payload = this.#payloads.get(code);
    if (!payload) {
      const steps = code.items.map((item) => (item.kind === 'label' ? undefined : this.#decodedOf(item.words)));
      payload = new PayloadSeams(code, steps, this.#target, this.#nothing);
      this.#payloads.set(code, payload);
    }
    return payload;
  }

  #stepOf({ words, origin, point, endsFlow: mayBeNone }: InstructionItem): AmdgpuStep | undefined {
    const own = this.#originalAt(origin ?? point);
    // An instruction that is pinned became others.
    const isOwn = own && origin !== undefined && own.instruction.code[0] === words[0];
    return isOwn ? this.#oneOf(own) : this.#decodedOf(words, mayBeNone);
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
    if (first) return first;
    this.#byEffects.set(step.effects, step);
    for (const hazard of hazardsMetBy(step)) this.#hazards.add(hazard);
    return step;
  }

  #decodedOf(words: readonly number[], mayBeNone = false): AmdgpuStep | undefined {
    const known = this.#byArray.get(words);
    if (known?.instruction.waveSize === this.#waveSize) return known;
    const bytes = new DataView(new ArrayBuffer(words.length * 4));
    for (const [i, word] of words.entries()) bytes.setUint32(i * 4, word, true);
    const read = this.#readers.get(this.#waveSize)!.step(bytes, 0);
    const step = typeof read === 'string' ? undefined : this.#oneOf(read);
    assert(step || mayBeNone, () => `an item of code is the instruction ${words.map((word) => hex(word)).join(' ')}`);
    if (step) this.#byArray.set(words, step);
    return step;
  }
}
