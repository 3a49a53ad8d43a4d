/** Payloads with registers at all points of a code object, and the account of how each point was served. */
import { assert } from '../../base/errors.ts';
import { registerNumber } from '../../flow/steps.ts';
import { SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import type { LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction, TransferSite } from '../../lift/lifted-function.ts';
import type { CodeItem } from '../layout/code-item.ts';
import type { StepEdit } from '../layout/compose.ts';
import { Allocator, type PayloadAllocation, type Refusal } from '../machine/allocate.ts';
import type { Payload, PhysicalRange } from '../machine/machine-code.ts';
import { payloadEffects } from '../machine/payload-effects.ts';
import type { RegisterPlan } from '../machine/register-plan.ts';
import type { KernelChanges } from '../object/kernel-changes.ts';
import type { HookCode, PointHook } from '../tool/hook.ts';
import { type Insertions, type Replacement, SIDES, type Side } from '../tool/insertions.ts';
import { type Coverage, CoverageCount, type KernelCoverage, type PointClass } from './coverage.ts';
import { isLiveIn, oldResults, whyItStays } from './fixed-instructions.ts';
import { HookPayloads } from './hook-payloads.ts';
import type { KernelRegisters } from './kernel-registers.ts';
import { PointStates } from './point-states.ts';
import type { RegisterPlans } from './register-plans.ts';

/** What became of the code. */
interface PlacedCode {
  readonly bytes: Uint8Array;
  readonly pinned: readonly number[];
  readonly kept: readonly { readonly name: string; readonly reason: string }[];
  readonly nopCount: number;
}

interface FunctionPoints {
  readonly lifted: LiftedFunction;
  readonly states: PointStates;
  readonly codes: Map<HookCode, CodeInFunction>;
  /** The one that was asked for last: points in a row mostly have the same. */
  last: CodeInFunction | undefined;
  readonly needs: KernelNeeds;
  /** What is kept for whole kernels, once it was asked for. */
  kept: readonly PhysicalRange[] | undefined;
  /** Code of hooks that reads nothing which is not kept. */
  readonly readsNothing: Set<PointHook['codes']>;
  /** The one whose needs were looked at last. */
  allocation: PayloadAllocation | undefined;
}

/** Code of hooks as it runs in one function. */
interface CodeInFunction {
  readonly code: HookCode;
  readonly payloads: readonly Payload[];
  /** What it reads that is not kept for the whole kernel. */
  reads: Reads | undefined;
  allocator: Allocator | undefined;
}

/** Registers of the application that code reads. */
interface Reads {
  readonly ranges: readonly PhysicalRange[];
  /** Which of those that points name. */
  readonly named: readonly number[];
}

interface KernelNeeds {
  scalar: number;
  vector: number;
  accumulator: number;
}

export class PointPayloads {
  readonly plans: RegisterPlans;
  readonly #lifted: LiftedCode;
  readonly #insertions: Insertions;
  readonly #count = new CoverageCount();
  readonly #functions = new Map<LiftedFunction, FunctionPoints>();
  #needs: ReadonlyMap<KernelRegisters, KernelNeeds> | undefined;
  /** Steps in a row are of one function. */
  #last: FunctionPoints | undefined;
  readonly #payloads: HookPayloads;
  /** Instructions that have another constant, as dwords, by address. */
  readonly #changed: ReadonlyMap<number, readonly number[]>;
  /** Functions with equal payloads and plans have one. */
  readonly #allocators = new Map<readonly Payload[], Map<RegisterPlan, Allocator>>();

  /** Entries of functions that lack a point without which results are wrong. */
  readonly lacking = new Set<number>();
  /** Functions with points that no registers were found for. */
  readonly cramped = new Set<LiftedFunction>();

  /** `plans` are those of the code. All that the hooks keep for whole kernels is known when this is made. */
  constructor(lifted: LiftedCode, plans: RegisterPlans, insertions: Insertions) {
    this.#lifted = lifted;
    this.#insertions = insertions;
    this.#payloads = new HookPayloads(insertions.guards);
    this.plans = plans;
    this.#changed = plans.stackStarts();
    this.#keepWhatIsRead();
  }

  /**
   * A hook may read registers that the application needs no more, and so may think that they are free; and
   * without an instruction that wrote registers, what they held before is what the application reads. What
   * such registers hold is kept from all payloads.
   */
  #keepWhatIsRead(): void {
    const reserved = new Map<number, PhysicalRange>();
    const keep = (step: AmdgpuStep, side: Side, ranges: readonly PhysicalRange[]): void => {
      const state = ranges.length === 0 ? '' : this.#pointsOf(step).states.at(step, side);
      if (typeof state === 'string') return;
      for (const range of ranges) {
        if (!isLiveIn(state.live.active, range)) reserved.set(registerNumber(range.file, range.first), range);
      }
    };
    this.#insertions.forEach((address, side, { codes, registers }) => {
      const step = this.#lifted.stepAt(address);
      if (!step) return;
      const points = this.#pointsOf(step);
      if (points.readsNothing.has(codes)) return;
      const read = codes.map((code) => this.#readsOf(points, code, step));
      for (const { ranges, named } of read) {
        const ofPoint = named.map((index) => registers![index]!);
        keep(step, side, ranges.concat(this.#notKept(points, ofPoint)));
      }
      if (read.every(({ ranges, named }) => ranges.length + named.length === 0)) points.readsNothing.add(codes);
    });
    for (const address of this.#insertions.replaced()) {
      const step = this.#lifted.stepAt(address);
      if (step) keep(step, 'before', this.#notKept(this.#pointsOf(step), oldResults(step)));
    }
    this.plans.reserved.push(...reserved.values());
  }

  /** One register each; what is kept for whole kernels is reserved as such. */
  #notKept(points: FunctionPoints, ranges: readonly PhysicalRange[]): PhysicalRange[] {
    const { lifted } = points;
    points.kept ??= this.plans.persistentOf(lifted)?.rangesIn(this.plans.kernelsOf(lifted)) ?? [];
    const { kept } = points;
    return ranges
      .flatMap(({ file, first, dwords }) =>
        Array.from({ length: dwords }, (_, i): PhysicalRange => ({ file, first: first + i, dwords: 1 })),
      )
      .filter(({ file, first }) => !kept.some((each) => isIn(each, file, first)));
  }

  /** Registers with a number of their own that the payloads of a hook read and do not put back. */
  #readsOf(points: FunctionPoints, code: HookCode, step: AmdgpuStep): Reads {
    const own = this.#codeIn(points, code, step);
    if (!own.reads) {
      const read = own.payloads.flatMap(({ items, changes }) => {
        const isChanged = ({ file, first }: PhysicalRange): boolean =>
          changes.some((each) => each.file === file && each.first <= first && first < each.first + each.dwords);
        return items
          .flatMap((item) => (item.kind === 'instruction' ? payloadEffects(item).readsPhysical : []))
          .filter((range) => !(range.file === 'scalar' && range.first >= SGPR_VCC_LO) && !isChanged(range));
      });
      const named = own.payloads.flatMap(({ items }) =>
        items.flatMap((item) =>
          item.kind === 'instruction' ? [...item.registers.values()].map(({ register }) => register.pointRegister) : [],
        ),
      );
      own.reads = {
        ranges: this.#notKept(points, read),
        named: [...new Set(named.filter((index) => index !== undefined))],
      };
    }
    return own.reads;
  }

  /** What becomes of the instruction at an address; undefined where it stays alone. */
  editOf(address: number): StepEdit | undefined {
    const step = this.#lifted.stepAt(address);
    if (!step) return undefined;
    let points: FunctionPoints | undefined;
    let edit: { -readonly [K in keyof StepEdit]: StepEdit[K] } | undefined;
    for (let i = 0; i < SIDES.length; i++) {
      const side = SIDES[i]!;
      const hooks = this.#insertions.take(side, address);
      if (!hooks) continue;
      points ??= this.#pointsOf(step);
      const items =
        'length' in hooks ? this.#allServed(points, step, side, hooks) : this.#served(points, step, side, hooks);
      edit ??= { ...NO_EDIT };
      if (items.length > 0) edit[side] = items;
    }
    const replacement = this.#insertions.takeReplacement(address);
    const instead = replacement && this.#instead(points ?? this.#pointsOf(step), step, replacement);
    const words = this.#changed.get(address);
    return instead || words ? { ...NO_EDIT, ...edit, instead, words } : edit;
  }

  /**
   * What a kernel must be launched with for all payloads that it may reach; asked when all points are served.
   */
  changesOf(kernel: string): KernelChanges {
    const own = this.plans.kernelNamed(kernel);
    const [sgprCount, vgprCount, agprCount] = own ? this.#registersAfter(own) : [0, 0, 0];
    const scratch = own && this.plans.scratchOf(own);
    return {
      ...(own && scratch?.isUsed && { privateSegmentSizeBytes: scratch.privateBytesOf(own.kernel) }),
      ...(own && sgprCount > own.granted.scalar && { sgprCount }),
      ...(own && vgprCount > own.granted.vector && { vgprCount }),
      // Those that rounding left would go to others.
      ...(own && this.#needsOf(own).accumulator > 0 && { agprCount }),
    };
  }

  /** The account of all points; `staysOutside`: whether a site leads to code that has no hooks here. */
  coverage(
    { bytes, pinned, kept, nopCount: nops }: PlacedCode,
    staysOutside: (site: TransferSite) => boolean,
  ): Coverage {
    this.#refuseKept(kept);
    const { served, refused, payload, requested } = this.#count;
    const kernels = this.plans.kernels.map((own): KernelCoverage => {
      const { scalar, vector, accumulator } = own.granted;
      const [sgprs, vgprs, agprs] = this.#registersAfter(own);
      return {
        name: own.kernel.name,
        sgprs: [scalar, sgprs],
        vgprs: [vector, vgprs],
        agprs: [accumulator, agprs],
        wavesPerSimd: [own.occupancy(vector, scalar), own.occupancy(vgprs, sgprs, agprs)],
      };
    });
    const unresolved = this.#lifted.sites.filter((site) => !site.isComplete || staysOutside(site));
    const unresolvedSites = unresolved.map(({ step }) => step.offset);
    const fileBytes = [this.#lifted.codeObject.elf.bytes.length, bytes.length] as const;
    const oldCode = { pinned, kept: kept.map(({ name }) => name) };
    return { requested, served, refused, payload, nops, unresolvedSites, ...oldCode, kernels, fileBytes };
  }

  /** Hooks in code that was not laid out anew. */
  #refuseKept(kept: PlacedCode['kept']): void {
    const reasons = new Map(kept.map(({ name, reason }) => [name, reason]));
    this.#insertions.forEach((address, _, { isRequired }) => {
      const step = this.#lifted.stepAt(address);
      const lifted = step && this.#lifted.functionOf(step);
      if (isRequired && lifted) this.lacking.add(lifted.entry);
      const name = lifted?.name;
      const reason = name === undefined ? undefined : reasons.get(name);
      this.#count.refuse(`the code stays as it is: ${reason ?? 'nothing is known to lead to it'}`);
    });
  }

  #registersAfter(own: KernelRegisters): readonly [sgprs: number, vgprs: number, agprs: number] {
    const { scalar, vector, accumulator } = own.granted;
    const kept = this.plans.keptBy(own);
    const needs = this.#needsOf(own);
    return [
      Math.max(scalar, kept.scalar, needs.scalar),
      Math.max(vector, kept.vector, needs.vector),
      Math.max(accumulator, needs.accumulator),
    ];
  }

  /** What the payloads of all functions that a kernel may reach take; no point is served any more. */
  #needsOf(own: KernelRegisters): KernelNeeds {
    let all = this.#needs;
    if (!all) {
      all = new Map(this.plans.kernels.map((each) => [each, { scalar: 0, vector: 0, accumulator: 0 }]));
      for (const { lifted, needs } of this.#functions.values()) {
        for (const kernel of this.plans.kernelsOf(lifted)) {
          raise(all.get(kernel)!, needs);
        }
      }
      this.#needs = all;
    }
    return all.get(own)!;
  }

  /** What stands in place of an instruction; undefined where it stays. */
  #instead(points: FunctionPoints, step: AmdgpuStep, replacement: Replacement): readonly CodeItem[] | undefined {
    const why = this.#changed.has(step.offset)
      ? 'an instruction is not taken out: it sets a stack pointer that moves'
      : whyItStays(step, points.lifted.liveAfter(step).active);
    if (why !== undefined) {
      this.#count.refuse(why);
      return undefined;
    }
    return replacement.kind === 'removed' ? [] : this.#tryToServe(points, step, 'before', replacement.hook);
  }

  #allServed(points: FunctionPoints, step: AmdgpuStep, side: Side, hooks: readonly PointHook[]): readonly CodeItem[] {
    return hooks.flatMap((hook) => this.#served(points, step, side, hook));
  }

  /** Nothing where it is refused. */
  #served(points: FunctionPoints, step: AmdgpuStep, side: Side, hook: PointHook): readonly CodeItem[] {
    return this.#tryToServe(points, step, side, hook) ?? NO_ITEMS;
  }

  /** Undefined where it is refused. */
  #tryToServe(points: FunctionPoints, step: AmdgpuStep, side: Side, hook: PointHook): readonly CodeItem[] | undefined {
    const items = this.#itemsOf(points, step, side, hook);
    if (!items && hook.isRequired) this.lacking.add(points.lifted.entry);
    return items;
  }

  #itemsOf(points: FunctionPoints, step: AmdgpuStep, side: Side, hook: PointHook): readonly CodeItem[] | undefined {
    if (hook.refusal !== undefined) {
      this.#count.refuse(`the hook ${hook.refusal}`);
      return undefined;
    }
    const state = points.states.at(step, side);
    if (typeof state === 'string') {
      this.#count.refuse(state);
      return undefined;
    }
    let allocation: PayloadAllocation | Refusal = { kind: 'refusal', reason: 'the hook has no code' };
    let own: CodeInFunction | undefined;
    const { codes } = hook;
    for (let i = 0; i < codes.length && allocation.kind === 'refusal'; i++) {
      own = this.#codeIn(points, codes[i]!, step);
      own.allocator ??= this.#allocatorOf(own.payloads, this.plans.planOf(points.lifted));
      allocation = own.allocator.allocate(state, hook.registers);
    }
    if (allocation.kind === 'refusal') {
      this.cramped.add(points.lifted);
      this.#count.refuse(allocation.reason);
      return undefined;
    }
    if (points.allocation !== allocation) {
      raise(points.needs, allocation.needs);
      points.allocation = allocation;
    }
    const { envelope } = own!.payloads[allocation.choice]!;
    const found = classOf(allocation);
    const by = envelope ? 'envelope' : hook.isResident && found === 'dead' ? 'resident' : found;
    this.#count.serve(by, allocation.counts);
    // Without code the point is none for the layout: what S_CLAUSE and S_DELAY_ALU say stays true.
    if (allocation.code.bytes.length === 0) return NO_ITEMS;
    return [{ kind: 'payload', code: allocation.code, hook, point: step.offset }];
  }

  #allocatorOf(payloads: readonly Payload[], plan: RegisterPlan): Allocator {
    const byPlan = this.#allocators.get(payloads) ?? new Map<RegisterPlan, Allocator>();
    this.#allocators.set(payloads, byPlan);
    const allocator = byPlan.get(plan) ?? new Allocator(payloads, plan);
    byPlan.set(plan, allocator);
    return allocator;
  }

  #codeIn(points: FunctionPoints, code: HookCode, step: AmdgpuStep): CodeInFunction {
    if (points.last?.code === code) return points.last;
    const { lifted, codes } = points;
    let own = codes.get(code);
    if (!own) {
      const { target, waveSize } = step.instruction;
      const payloads = this.#payloads.of(code, { target, waveSize }, this.plans.persistentOf(lifted)?.place);
      own = { code, payloads, reads: undefined, allocator: undefined };
      codes.set(code, own);
    }
    points.last = own;
    return own;
  }

  #pointsOf(step: AmdgpuStep): FunctionPoints {
    const lifted = this.#lifted.functionOf(step);
    assert(lifted, () => `the instruction at ${step.offset} belongs to a function`);
    if (this.#last?.lifted !== lifted) this.#last = this.#pointsIn(lifted);
    return this.#last;
  }

  #pointsIn(lifted: LiftedFunction): FunctionPoints {
    let points = this.#functions.get(lifted);
    if (!points) {
      points = {
        lifted,
        states: new PointStates(lifted),
        codes: new Map(),
        last: undefined,
        needs: { scalar: 0, vector: 0, accumulator: 0 },
        kept: undefined,
        readsNothing: new Set(),
        allocation: undefined,
      };
      this.#functions.set(lifted, points);
    }
    return points;
  }
}

/** All edits have the same shape. */
const NO_EDIT: StepEdit = {
  ...{ entry: undefined, before: undefined, after: undefined, taken: undefined },
  ...{ instead: undefined, words: undefined },
};
const NO_ITEMS: readonly CodeItem[] = [];

/** Each number becomes at least what is needed. */
function raise(numbers: KernelNeeds, needed: Readonly<KernelNeeds>): void {
  numbers.scalar = Math.max(numbers.scalar, needed.scalar);
  numbers.vector = Math.max(numbers.vector, needed.vector);
  numbers.accumulator = Math.max(numbers.accumulator, needed.accumulator);
}

/** The most costly way in which a register of the payload was found. */
const classOf = ({ sources, home }: PayloadAllocation): PointClass =>
  home === 'memory'
    ? 'memory'
    : home === 'accumulators'
      ? 'accumulator'
      : sources.borrowed > 0
        ? 'borrowed'
        : sources.grown > 0
          ? 'grown'
          : sources.granule > 0
            ? 'granule'
            : 'dead';

const isIn = (range: PhysicalRange, file: PhysicalRange['file'], number: number): boolean =>
  range.file === file && range.first <= number && number < range.first + range.dwords;
