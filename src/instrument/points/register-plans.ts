/**
 * Which registers payloads may have in the code of each function: what all kernels that reach it leave free.
 */
import type { Kernel } from '../../codeobject/code-object.ts';
import type { RegisterRange } from '../../ir/effects.ts';
import { overlaps } from '../../isa/amdgpu/effects/operand-ranges.ts';
import { SGPR_FLAT_SCRATCH_LO } from '../../isa/amdgpu/encoding/registers.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import { ASSUMED_REGISTERS } from '../../lift/calling-convention.ts';
import type { LiftedCode } from '../../lift/lifted-code.ts';
import { type LiftedFunction, reachedFrom } from '../../lift/lifted-function.ts';
import { mostRegisters } from '../../lift/register-limits.ts';
import { flatScratchSetup } from '../kernel/flat-scratch-setup.ts';
import type { Preamble } from '../kernel/preamble.ts';
import type { ScratchArea } from '../kernel/scratch-area.ts';
import { type StackStart, stackStart } from '../kernel/stack-start.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';
import type { FileLimits, RegisterPlan } from '../machine/register-plan.ts';
import { homeKey, MEMORY_HOME_BYTES, type MemoryHome } from '../machine/vector-homes.ts';
import { type Files, files, type KernelRegisters, launchedWith } from './kernel-registers.ts';
import { type PersistentRegisters, persistentRegisters } from './persistent-registers.ts';

/** Registers that have a number of their own; VCC and the like stand behind them. */
const firstSpecial = (processor: string): number => mostRegisters(processor).sgprCount;

export interface RegisterPlanOptions {
  readonly isMoved?: (kernel: Kernel) => boolean;
  readonly isUser?: (kernel: Kernel) => boolean;
}

export class RegisterPlans {
  readonly kernels: readonly KernelRegisters[];
  readonly #byKernel = new Map<Kernel, KernelRegisters>();
  readonly #byName = new Map<string, KernelRegisters>();
  readonly #plans = new Map<LiftedFunction, RegisterPlan>();
  /** By what they say: those that are equal are one object. */
  readonly #equalPlans = new Map<string, RegisterPlan>();
  readonly #kernelsOf = new Map<LiftedFunction, KernelRegisters[]>();

  /** No payload may have these. */
  readonly reserved: PhysicalRange[] = [];
  readonly #memory = new Map<LiftedFunction, MemoryHome | string>();
  readonly #persistent: ReadonlyMap<KernelRegisters, PersistentRegisters>;

  /**
   * `isMoved`: whether a kernel gets new code, and so a preamble; nothing is kept for others. `isUser`:
   * whether it may run the new code at all.
   */
  constructor(
    { codeObject, functions }: LiftedCode,
    { isMoved = () => false, isUser = () => true }: RegisterPlanOptions = {},
  ) {
    const counts = new Map<LiftedFunction, Files<number>>();
    const countOf = (each: LiftedFunction): Files<number> => {
      const count = counts.get(each) ?? usedRegisters(each);
      counts.set(each, count);
      return count;
    };
    const all: KernelRegisters[] = [];
    /** Kernels that go to places which are not known: these may be anywhere. */
    const open: KernelRegisters[] = [];
    const rootsOf = Map.groupBy(
      functions.flatMap((root) => root.kernels.map((kernel) => ({ kernel, root }))),
      ({ kernel }) => kernel,
    );
    for (const kernel of codeObject.kernels.filter(isUser)) {
      const roots = (rootsOf.get(kernel) ?? []).map(({ root }) => root);
      const reached = roots.map((root) => root.reaches());
      const isComplete = reached.every((each) => each.isComplete);
      const inside = new Set(reached.flatMap((each) => [...each.functions]));
      const launched = launchedWith(codeObject, kernel);
      const used = files((file) => {
        const most = Math.max(0, ...[...inside].map((each) => countOf(each)[file]));
        // What is chosen at run time, and code that is not known, stays within what the wave has.
        const known = Number.isFinite(most) ? most : launched.granted[file];
        return isComplete ? known : Math.max(known, launched.granted[file]);
      });
      const setup = roots.flatMap((root) => [...flatScratchSetup(kernel, root)]);
      const isWritable = targetFor(codeObject.target.processor).flatScratch !== 'architected';
      const moves = (each: LiftedFunction): boolean => movesFlatScratch(each, new Set(setup));
      const writesFlatScratch = isWritable && (!isComplete || [...inside].some(moves));
      const [root, ...others] = roots;
      const stackStartOf = (): StackStart | undefined => {
        const some = isComplete ? inside : functions;
        return root && others.length === 0 ? stackStart(codeObject, kernel, root, some) : undefined;
      };
      const own = { kernel, ...launched, used, writesFlatScratch, stackStart: stackStartOf };
      all.push(own);
      if (!isComplete) open.push(own);
      for (const each of inside) this.#kernelsOf.set(each, [...(this.#kernelsOf.get(each) ?? []), own]);
    }
    // They may have the address of any function: from outside, or made by code in a way that is not seen.
    const callable = open.length === 0 ? [] : functions.filter((other) => other.kernels.length === 0);
    for (const each of reachedFrom(callable)) {
      this.#kernelsOf.set(each, [...new Set([...(this.#kernelsOf.get(each) ?? []), ...open])]);
    }
    this.kernels = all;
    for (const own of all) {
      this.#byKernel.set(own.kernel, own);
      if (!this.#byName.has(own.kernel.name)) this.#byName.set(own.kernel.name, own);
    }
    const { processor } = codeObject.target;
    this.#persistent = persistentRegisters({ kernels: all, sharing: this.#kernelsOf.values(), isMoved, processor });
  }

  kernelNamed(name: string): KernelRegisters | undefined {
    return this.#byName.get(name);
  }

  /** What payloads of a function may keep; undefined where they may not: waves of others have no preamble. */
  persistentOf(lifted: LiftedFunction): PersistentRegisters | undefined {
    return lifted.isRunByOthers ? undefined : this.#registersOf(lifted);
  }

  #registersOf(lifted: LiftedFunction): PersistentRegisters | undefined {
    const [kernel] = this.kernelsOf(lifted);
    return kernel && this.persistentOfKernel(kernel);
  }

  persistentOfKernel(kernel: KernelRegisters): PersistentRegisters | undefined {
    return this.#persistent.get(kernel);
  }

  /**
   * Payloads of a function may keep what registers have in private memory, if that is possible; asked for
   * before its plan.
   */
  giveMemory(lifted: LiftedFunction): void {
    const scratch = this.persistentOf(lifted)?.scratch;
    if (!scratch) this.#memory.set(lifted, 'nothing is known of the kernels that run it');
    else {
      const flatScratch = scratch.flatScratch();
      const refusal = typeof flatScratch === 'string' ? flatScratch : scratch.require(MEMORY_HOME_BYTES);
      const home = { kind: 'memory', startBytes: scratch.startBytes, flatScratch } as const;
      this.#memory.set(lifted, refusal ?? (home as MemoryHome)); // reason: a text is a refusal
    }
  }

  /** How many registers a kernel must have for what is kept in it. */
  keptBy(kernel: KernelRegisters): { readonly scalar: number; readonly vector: number } {
    return this.#persistent.get(kernel)?.countsOf(kernel) ?? { scalar: 0, vector: 0 };
  }

  /** Private memory for payloads of a kernel. */
  scratchOf(kernel: KernelRegisters): ScratchArea | undefined {
    return this.#persistent.get(kernel)?.scratch;
  }

  /** What instructions become that set stack pointers, by their addresses, once all memory is given. */
  stackStarts(): ReadonlyMap<number, readonly number[]> {
    const areas = new Set([...this.#persistent.values()].map(({ scratch }) => scratch));
    return new Map([...areas].flatMap((each) => [...each.stackStarts()]));
  }

  /** What runs first in kernels with the same first instruction, for all that is kept in them. */
  preambleOf(kernels: readonly Kernel[]): Preamble | undefined {
    const own = this.#byKernel.get(kernels[0]!);
    return own && this.#persistent.get(own)?.preambleOf(kernels[0]!);
  }

  /** Kernels whose waves may run a function. */
  kernelsOf(lifted: LiftedFunction): readonly KernelRegisters[] {
    return this.#kernelsOf.get(lifted) ?? [];
  }

  /**
   * Functions with equal plans have one object. For code that no kernel is known to reach only what is dead
   * there may be taken.
   */
  planOf(lifted: LiftedFunction): RegisterPlan {
    let plan = this.#plans.get(lifted);
    if (!plan) {
      const kernels = this.kernelsOf(lifted);
      const isOfOthers = lifted.isForOthers || lifted.isRunByOthers;
      const most = kernels.length === 0 || isOfOthers ? usedRegisters(lifted) : undefined;
      const limits = files((file): FileLimits => {
        if (most) {
          const own = Number.isFinite(most[file]) ? most[file] : 0;
          // Kernels of others that call it have these; what their code needs of them is live.
          const used = isOfOthers && file !== 'accumulator' ? Math.max(own, ASSUMED_REGISTERS[file]) : own;
          return { used, granted: used, growable: used, most: used };
        }
        const granted = Math.min(...kernels.map((each) => each.granted[file]));
        return {
          used: Math.max(...kernels.map((each) => each.used[file])),
          granted,
          growable: Math.max(granted, Math.min(...kernels.map((each) => each.growable[file]))),
          most: Math.max(granted, Math.min(...kernels.map((each) => each.most[file]))),
        };
      });
      const persistent = this.#registersOf(lifted);
      const kept = persistent ? [...persistent.close(kernels), ...persistent.scratch.reserved] : [];
      const reserved = [...this.reserved, ...kept];
      plan = this.#one({ ...limits, reserved, memory: this.#memory.get(lifted), isOpen: lifted.isOpen });
      this.#plans.set(lifted, plan);
    }
    return plan;
  }

  #one(plan: RegisterPlan): RegisterPlan {
    const key = textOf(plan);
    const known = this.#equalPlans.get(key) ?? plan;
    this.#equalPlans.set(key, known);
    return known;
  }
}

function textOf({ scalar, vector, accumulator, reserved, memory, isOpen }: RegisterPlan): string {
  const limits = [scalar, vector, accumulator].map(({ used, granted, growable, most }) => {
    return `${used} ${granted} ${growable} ${most}`;
  });
  return `${isOpen} ${limits}; ${reserved.map(({ file, first, dwords }) => `${file} ${first} ${dwords}`)}; ${typeof memory === 'object' ? homeKey(memory) : memory}`;
}

const FLAT_SCRATCH: PhysicalRange = { file: 'scalar', first: SGPR_FLAT_SCRATCH_LO, dwords: 2 };

/** `setup`: writes of what it is to be. */
function movesFlatScratch({ blocks }: LiftedFunction, setup: ReadonlySet<AmdgpuStep>): boolean {
  return blocks.some(({ instructions }) =>
    instructions.some((step) => {
      const { effects, instruction } = step;
      if (setup.has(step)) return false;
      const { flatScratch } = instruction.target;
      const { writesState } = effects;
      if (flatScratch !== 'sgprs') return writesState.has('flatScratchLow') || writesState.has('flatScratchHigh');
      return effects.writesAnyOf.has('scalar') || effects.writes.some((range) => overlaps(range, FLAT_SCRATCH));
    }),
  );
}

/** One more than the highest number in each file; a register that is chosen at run time may be any. */
function usedRegisters({ blocks }: LiftedFunction): Files<number> {
  const most = { scalar: 0, vector: 0, accumulator: 0 };
  const first = blocks[0]?.instructions[0];
  const special = first ? firstSpecial(first.instruction.target.processor) : 0;
  const use = (ranges: readonly RegisterRange[]): void => {
    for (let i = 0; i < ranges.length; i++) {
      const { file, first: from, dwords } = ranges[i]!;
      if (file !== 'scalar' || from < special) most[file] = Math.max(most[file], from + dwords);
    }
  };
  for (const { instructions } of blocks) {
    for (let i = 0; i < instructions.length; i++) {
      const { reads, writes, readsAnyOf, writesAnyOf } = instructions[i]!.effects;
      use(reads);
      use(writes);
      if (readsAnyOf.size > 0) for (const file of readsAnyOf) most[file] = Number.POSITIVE_INFINITY;
      if (writesAnyOf.size > 0) for (const file of writesAnyOf) most[file] = Number.POSITIVE_INFINITY;
    }
  }
  return most;
}
