/**
 * Code found from where it is entered: along branches, and along jumps and calls through registers as far as
 * constants tell where these lead.
 */
import { type Followed, reachable } from '../flow/blocks.ts';
import { strongComponents } from '../flow/strong-components.ts';
import { fallsThrough, followingOffset } from '../ir/step.ts';
import type { Instruction } from '../isa/amdgpu/encoding/instruction.ts';
import { SCALAR_REGISTER_COUNT } from '../isa/amdgpu/encoding/registers.ts';
import { MODE_GPR_INDEX } from '../isa/amdgpu/semantics/gpr-index.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../isa/amdgpu/step.ts';
import { type AddressSequence, addressPairOf, addressSequence, isGetPc } from './address-sequence.ts';
import { type CalleeSummary, passCall, SummaryBuilder } from './callee-summary.ts';
import type { CodeImage } from './code-image.ts';
import { switchesIndexing } from './gpr-index-mode.ts';
import { NotedValues } from './noted-values.ts';
import { followScalars, type ScalarVisitor, type WalkBudget } from './scalar-flow.ts';
import {
  entryRegister,
  entryValue,
  evaluateUniform,
  forgetResults,
  namesLanes,
  type PointerHalves,
  ScalarState,
} from './scalar-state.ts';
import { StepTable } from './step-table.ts';

/** How a target came to be known. */
export type TargetSource = 'direct' | 'relocation' | 'getpc' | 'constant' | 'table' | 'unresolved';

/** What is known of a jump or a call through a register, over all ways on which it was come to. */
export interface Finding {
  readonly targets: Set<number>;
  isComplete: boolean;
  /** Whether it goes back, on all ways, to where the caller left the address in this register. */
  returnsTo: number | undefined;
  how: TargetSource;
}

/**
 * Steps that the walks take for each instruction, all entries together; compilers' code takes fewer than 5.
 */
const MAX_STEPS = 64;
/** How often all code is looked at again; the second time shows what the first has found. */
const MAX_REFINEMENTS = 3;
/** The MODE that steps are read with at first; where they lead does not depend on it. */
const MODE = 0;

export class Discovery {
  /** Instructions that are reached, by address. */
  readonly steps = new StepTable();
  /** Places where functions begin, with the wave size that they run with. */
  readonly entries = new Map<number, 32 | 64>();
  /** Entries whose address something takes or that other code objects may call: more may jump there. */
  readonly exposed = new Set<number>();
  readonly sequences = new Map<number, AddressSequence>();
  readonly findings = new Map<number, Finding>();
  /** How the addresses of sequences come to be, by what they lead to. */
  readonly #made = new Map<number, TargetSource>();
  readonly #image: CodeImage;
  readonly #processor: string;
  readonly #view: DataView;
  /** By MODE and wave size. */
  readonly #readers = new Map<number, AmdgpuStepReader>();
  readonly #labels = new Set<number>();
  readonly #pending: number[] = [];
  /** Targets of the pointers that walks have read from memory. */
  readonly #loaded = new Set<number>();
  readonly #summaries = new Map<number, CalleeSummary | undefined>();
  /** Entries whose own code, all of it, goes nowhere by registers and to no other entry. */
  readonly #plain = new Set<number>();
  /** Those of them that nobody has asked about, since `refine` came by. */
  readonly #skipped = new Set<number>();
  readonly #leadsTo = new Map<number, ReadonlySet<number>>();
  /** Addresses of calls that do not come back. */
  #ending: ReadonlySet<number> = new Set();
  readonly #budget: WalkBudget = { steps: 0 };
  readonly #notes: NotedValues;
  /** Addresses of data that code makes, by the steps that complete them: the first register, the address. */
  readonly #madeData = new Map<number, readonly [first: number, target: number]>();
  /** By an address in the memory that they lie in. */
  readonly #tables = new Map<number, PointerHalves | undefined>();

  constructor(image: CodeImage, processor: string) {
    this.#image = image;
    this.#notes = new NotedValues((value) => value % 4 === 0 && image.isCode(value));
    this.#processor = processor;
    this.#view = new DataView(image.bytes.buffer);
  }

  /** The first wave size that is told of an entry counts: code cannot serve both. */
  enter(address: number, waveSize: 32 | 64): void {
    if (this.entries.has(address) || address % 4 !== 0 || !this.#image.isCode(address)) return;
    this.entries.set(address, waveSize);
    this.#pending.push(address);
  }

  /** Follows all entries and what they lead to. */
  run(): void {
    do {
      for (let entry = this.#pending.pop(); entry !== undefined; entry = this.#pending.pop()) this.#explore(entry);
    } while (this.#enterTakenAddresses());
  }

  /**
   * Looks at everything once more, callees first: what these leave as it was is known then, so that more
   * jumps and calls can be.
   */
  refine(): void {
    for (let round = 0, count = -1; round < MAX_REFINEMENTS && count !== this.#knownTargets; round++) {
      count = this.#knownTargets;
      this.findings.clear();
      this.#summaries.clear();
      this.#skipped.clear();
      const done = new Set<number>();
      for (const root of [...this.entries.keys()]) {
        for (const component of strongComponents(
          root,
          (entry) => this.#leadsTo.get(entry) ?? [],
          (entry) => done.has(entry),
        )) {
          for (const entry of component) done.add(entry);
          // Functions that call each other know nothing of each other.
          const summaries = component.flatMap((entry) => {
            // Most kernels: what they leave behind is nobody's concern.
            if (!this.#plain.has(entry)) return [[entry, this.#follow(entry)] as const];
            this.#skipped.add(entry);
            return [];
          });
          for (const [entry, summary] of summaries) this.#summaries.set(entry, summary);
        }
      }
      this.run();
    }
  }

  get #knownTargets(): number {
    return [...this.findings.values()].reduce(
      (sum, { targets, isComplete }) => sum + targets.size + Number(isComplete),
      0,
    );
  }

  #summaryOf(entry: number): CalleeSummary | undefined {
    if (this.#skipped.delete(entry)) this.#summaries.set(entry, this.#follow(entry));
    return this.#summaries.get(entry);
  }

  /** Code whose address is made and that nothing is seen to go to: whoever gets the address may. */
  #enterTakenAddresses(): boolean {
    const known = new Set([...this.findings.values()].flatMap(({ targets }) => [...targets]));
    const count = this.entries.size;
    for (const { getpc, target, isCode } of this.sequences.values()) {
      if (!isCode || target === undefined || known.has(target)) continue;
      this.exposed.add(target);
      this.enter(target, getpc.instruction.waveSize);
    }
    return this.entries.size > count;
  }

  #explore(entry: number): void {
    const count = this.entries.size;
    const fresh = this.#trace(entry, this.entries.get(entry)!);
    if (fresh.length === 0 || fresh.some(goesElsewhere)) this.#follow(entry);
    else if (this.entries.size === count) this.#plain.add(entry);
  }

  /** Constants from an entry on; the findings are kept. */
  #follow(entry: number): CalleeSummary | undefined {
    if (!this.steps.get(entry)) return undefined;
    const walk = new EntryWalk();
    this.#leadsTo.set(entry, walk.leadsTo);
    const isFinished = followScalars(entry, stateOnEntry(this.#notes), this.#visitor(entry, walk), this.#budget);
    for (const [address, finding] of walk.findings) {
      if (!isFinished) {
        finding.targets.clear();
        Object.assign(finding, { isComplete: false, returnsTo: undefined, how: 'unresolved' });
      }
      this.#merge(address, finding);
    }
    return isFinished ? walk.summary.finish() : undefined;
  }

  #merge(address: number, finding: Finding): void {
    const { control, instruction } = this.steps.get(address)!;
    const goesToFunctions = control === 'call' || finding.targets.size > 1;
    for (const target of finding.targets) if (goesToFunctions) this.enter(target, instruction.waveSize);
    const known = this.findings.get(address);
    if (!known) {
      this.findings.set(address, finding);
      return;
    }
    for (const target of finding.targets) known.targets.add(target);
    known.isComplete &&= finding.isComplete;
    if (known.returnsTo !== finding.returnsTo) known.returnsTo = undefined;
    if (known.how === 'unresolved') known.how = finding.how;
  }

  /** What is reached for the first time; the place where that runs into known code becomes an entry. */
  #trace(start: number, waveSize: 32 | 64): readonly AmdgpuStep[] {
    const knownBefore = this.steps.size;
    const fresh: AmdgpuStep[] = [];
    const met: number[] = [];
    const work = [start];
    for (let from = work.pop(); from !== undefined; from = work.pop()) {
      for (let place: number | undefined = from; place !== undefined; ) {
        const known = this.steps.get(place);
        if (known) {
          if (place !== start && this.steps.numberOf(known) < knownBefore) met.push(place);
          break;
        }
        const step = this.#read(place, waveSize);
        if (!step) break;
        this.steps.set(step);
        fresh.push(step);
        const { next, target } = this.follow(step);
        if (target !== undefined) work.push(target);
        place = next;
      }
    }
    for (let i = 0; i < fresh.length; i++) {
      const { control, target } = fresh[i]!;
      if (control !== 'call' && target !== undefined) this.#labels.add(target);
    }
    this.#budget.steps += fresh.length * MAX_STEPS;
    for (const step of fresh.filter(isGetPc)) {
      const found = addressSequence(step, (place) => this.#read(place, waveSize), this.#image);
      this.sequences.set(step.offset, found);
      const { target, isRelocated, isCode, low, high } = found;
      if (target !== undefined && !isCode && this.#image.constantPointersAround(target)) {
        const last = low!.offset > high!.offset ? low! : high!;
        this.#madeData.set(last.offset, [addressPairOf(step)!, target]);
      }
      if (target !== undefined && !this.#made.has(target)) this.#made.set(target, isRelocated ? 'relocation' : 'getpc');
    }
    for (const place of met) this.enter(place, waveSize);
    return fresh;
  }

  #read(place: number, waveSize: 32 | 64): AmdgpuStep | undefined {
    const known = this.steps.get(place);
    if (known) return known;
    if (!this.#image.isCode(place)) return undefined;
    return this.#decode(place, waveSize, MODE);
  }

  #decode(place: number, waveSize: 32 | 64, mode: number): AmdgpuStep | undefined {
    const key = mode * 128 + waveSize;
    let reader = this.#readers.get(key);
    if (!reader) {
      reader = new AmdgpuStepReader(this.#processor, waveSize, mode);
      this.#readers.set(key, reader);
    }
    const step = reader.step(this.#view, place);
    return typeof step === 'string' ? undefined : step;
  }

  /** Reads vector instructions again as those that run with indexed registers. */
  readIndexed(steps: Iterable<AmdgpuStep>): void {
    for (const { offset, instruction } of steps) {
      if (!instruction.format.name.startsWith('V')) continue;
      this.steps.set(this.#decode(offset, instruction.waveSize, MODE_GPR_INDEX)!);
    }
  }

  /** Leaves out what only control behind these calls comes to. */
  endAt(calls: ReadonlySet<number>): void {
    const reached = (): ReadonlyMap<number, unknown> =>
      reachable((place) => {
        const step = this.steps.get(place);
        return step && this.follow(step);
      }, this.entries.keys());
    const before = reached();
    this.#ending = calls;
    const now = reached();
    for (const place of before.keys()) {
      if (now.has(place)) continue;
      this.steps.remove(place);
      this.findings.delete(place);
      this.sequences.delete(place);
    }
  }

  /** Where control goes on behind a step, as far as that is one place. */
  follow(step: AmdgpuStep): Followed<AmdgpuStep> {
    const { control, offset } = step;
    const isDirect = control === 'branch' || control === 'conditional';
    const finding = control === 'jump' ? this.findings.get(offset) : undefined;
    const jumpTarget = finding?.isComplete && finding.targets.size === 1 ? [...finding.targets][0] : undefined;
    return {
      instruction: step,
      next: fallsThrough(step) || (control === 'call' && !this.#ending.has(offset)) ? followingOffset(step) : undefined,
      target: isDirect ? step.target : jumpTarget,
      leaves: control === 'call' || control === 'return' || (control === 'jump' && jumpTarget === undefined),
      endsBlock: control !== 'next',
    };
  }

  #visitor(entry: number, walk: EntryWalk): ScalarVisitor {
    return {
      labels: this.#labels,
      stepAt: (place) => (place !== entry && this.entries.has(place) ? undefined : this.steps.get(place)),
      leave: (place, state) => {
        walk.leadsTo.add(place);
        const behind = this.#summaryOf(place);
        if (behind) walk.summary.end(state, behind);
        else walk.summary.forget();
      },
      begin: () => walk.begin(),
      visit: (step, state) => {
        const { control, target } = step;
        walk.summary.write(step);
        if (switchesIndexing(step)) state.forgetVectors();
        const { address, jumpTarget } = this.#carryOut(step, state);
        if (control === 'next') {
          this.#noteAddress(step, state);
          return undefined;
        }
        if (control === 'end') return [];
        if (control === 'branch') return [target!];
        if (control === 'conditional') return [target!, followingOffset(step)];
        const finding = this.#findingOf(step, jumpTarget, address);
        walk.findings.set(step.offset, finding);
        return control === 'call' ? this.#call(step, finding, state, walk) : this.#jump(step, finding, state, walk);
      },
    };
  }

  #call(step: AmdgpuStep, { targets, isComplete }: Finding, state: ScalarState, walk: EntryWalk): readonly number[] {
    const callees = isComplete ? [...targets].map((target) => this.#summaryOf(target)) : [];
    for (const target of targets) walk.leadsTo.add(target);
    if (callees.length === 0) walk.summary.forget();
    for (const callee of callees) walk.summary.include(callee);
    passCall(state, callees);
    return [followingOffset(step)];
  }

  #jump(step: AmdgpuStep, { targets, returnsTo }: Finding, state: ScalarState, walk: EntryWalk): readonly number[] {
    const [inside, ...others] = targets;
    if (others.length > 0) {
      for (const target of targets) {
        walk.leadsTo.add(target);
        const behind = this.#summaryOf(target);
        if (behind) walk.summary.end(state, behind);
        else walk.summary.forget();
      }
      return [];
    }
    if (inside === undefined) {
      if (returnsTo === undefined) walk.summary.forget();
      else walk.summary.end(state);
      return [];
    }
    // A place inside of the function, unless it is an entry, before which the walk ends.
    this.#trace(inside, step.instruction.waveSize);
    this.#labels.add(inside);
    return [inside];
  }

  #findingOf(step: AmdgpuStep, jumpTarget: bigint | undefined, address: AddressRegisters | undefined): Finding {
    const { control, target: direct } = step;
    const finding = { targets: new Set<number>(), isComplete: true, returnsTo: undefined, how: 'direct' as const };
    if (control === 'call' && direct !== undefined) return { ...finding, targets: new Set([direct]) };
    if (jumpTarget !== undefined && this.#image.isCode(Number(jumpTarget))) {
      const target = Number(jumpTarget);
      return { ...finding, targets: new Set([target]), how: this.#sourceOf(target) };
    }
    const chosen = address?.choices.filter((each) => each % 4 === 0 && this.#image.isCode(each)) ?? [];
    if (chosen.length > 0) return { ...finding, targets: new Set(chosen), how: this.#sourceOfAll(chosen) };
    const returnsTo = control === 'call' ? undefined : address?.heldOnEntry;
    return { ...finding, isComplete: returnsTo !== undefined, returnsTo, how: 'unresolved' };
  }

  #sourceOf(target: number): TargetSource {
    if (this.#loaded.has(target)) return 'table';
    return this.#made.get(target) ?? 'constant';
  }

  /** One that stands for all: what another loader, or later code, may change comes first. */
  #sourceOfAll(targets: readonly number[]): TargetSource {
    const sources = new Set(targets.map((target) => this.#sourceOf(target)));
    const order: readonly TargetSource[] = ['table', 'constant', 'relocation'];
    return order.find((each) => sources.has(each)) ?? 'getpc';
  }

  #carryOut(
    step: AmdgpuStep,
    state: ScalarState,
  ): { readonly address: AddressRegisters | undefined; readonly jumpTarget: bigint | undefined } {
    const { instruction, control, offset, sizeBytes } = step;
    const address = control === 'jump' || control === 'call' ? addressRegisters(instruction, state) : undefined;
    if (this.#image.isRelocated(offset, sizeBytes) || !(isScalar(instruction) || namesLanes(step))) {
      forgetResults(step, state);
      return { address, jumpTarget: undefined };
    }
    const context = {
      pc: BigInt(offset),
      readConstant: (at: bigint) => this.#constant(at),
      readTable: (base: number) => this.#table(base),
    };
    const jump = evaluateUniform(step, state, context);
    return { address, jumpTarget: jump?.target };
  }

  /** The address of data that is complete behind a step is one that others are computed from. */
  #noteAddress({ offset }: AmdgpuStep, { registers }: ScalarState): void {
    const made = this.#madeData.get(offset);
    if (!made) return;
    const [first, target] = made;
    for (const register of [first, first + 1]) {
      const value = registers[register];
      if (value !== undefined && value === (value | 0)) registers[register] = this.#notes.based(target, value);
    }
  }

  /** One of the pointers to code in the memory around an address; undefined where others may be there. */
  #table(base: number): PointerHalves | undefined {
    if (!this.#tables.has(base)) {
      const targets = this.#image.constantPointersAround(base)?.map(({ target }) => target) ?? [undefined];
      const code = targets.flatMap((target) =>
        target !== undefined && this.#image.isCode(Number(target)) ? target : [],
      );
      const half = (shift: bigint): number | undefined =>
        this.#notes.choice(code.map((target) => Number(BigInt.asIntN(32, target >> shift))));
      const isKnown = !targets.includes(undefined) && code.length > 0;
      this.#tables.set(base, isKnown ? [half(0n), half(32n)] : undefined);
      if (isKnown) for (const target of code) this.#loaded.add(Number(target));
    }
    return this.#tables.get(base);
  }

  #constant(address: bigint): number | undefined {
    const target = this.#image.pointerAt(Number(address))?.target;
    if (target !== undefined) this.#loaded.add(Number(target));
    return this.#image.constantDword(address);
  }
}

/** What a walk from one entry finds. */
class EntryWalk {
  readonly findings = new Map<number, Finding>();
  /** Entries that are called, jumped to or run into. */
  readonly leadsTo = new Set<number>();
  summary = new SummaryBuilder();

  begin(): void {
    this.findings.clear();
    this.leadsTo.clear();
    this.summary = new SummaryBuilder();
  }
}

/** The register pair that a jump goes by. */
interface AddressRegisters {
  /** The pair that held its value when the function was entered. */
  readonly heldOnEntry: number | undefined;
  /** All that it may hold, if that is known. */
  readonly choices: readonly number[];
}

function addressRegisters(instruction: Instruction, { registers, notes }: ScalarState): AddressRegisters | undefined {
  const { operands } = instruction.row;
  const index = operands.findIndex((_, at) => {
    const isRead = instruction.access(at)?.includes('read');
    return isRead && instruction.operand(at).kind === 'scalar' && instruction.dwords(at) === 2;
  });
  const operand = index < 0 ? undefined : instruction.operand(index);
  if (operand?.kind !== 'scalar') return undefined;
  const pair = [registers[operand.register], registers[operand.register + 1]];
  const [low, high] = pair.map(entryRegister);
  const [lows = [], highs = []] = pair.map((each) => notes?.valuesOf(each));
  // Halves of different places make more addresses than there are.
  const choices = lows.flatMap((each) => highs.map((above) => above * 2 ** 32 + (each >>> 0)));
  return { heldOnEntry: low !== undefined && high === low + 1 ? low : undefined, choices };
}

function stateOnEntry(notes: NotedValues): ScalarState {
  const registers = Array.from({ length: SCALAR_REGISTER_COUNT }, (_, register) => entryValue(register));
  return new ScalarState(registers, notes);
}

const isScalar = ({ format }: Instruction): boolean => /^S(OP|MEM)/.test(format.name);

const goesElsewhere = ({ control }: AmdgpuStep): boolean =>
  control === 'jump' || control === 'call' || control === 'return';
