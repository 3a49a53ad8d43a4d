/**
 * Which registers payloads may have in the code of each function: what all kernels that reach it leave free.
 */
import { alignUp } from '../../base/align.ts';
import type { CodeObject, Kernel } from '../../codeobject/code-object.ts';
import {
  type KernelDescriptor,
  SGPR_ALLOCATION_GRANULE,
  scalarRegisterCount,
  vectorRegisterCount,
} from '../../codeobject/kernel-descriptor.ts';
import { wavesPerSimd } from '../../codeobject/occupancy.ts';
import type { RegisterFile } from '../../ir/effects.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import type { LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import { mostRegisters } from '../../lift/register-limits.ts';
import { stepEffects } from '../../lift/step-effects.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';
import type { FileLimits, RegisterPlan } from '../machine/register-plan.ts';

type Files<T> = Readonly<Record<RegisterFile, T>>;
const files = <T>(of: (file: RegisterFile) => T): Files<T> => ({
  ...{ scalar: of('scalar'), vector: of('vector'), accumulator: of('accumulator') },
});

/** Registers that have a number of their own; VCC and the like stand behind them. */
const firstSpecial = (processor: string): number => mostRegisters(processor).sgprCount;
/** On the gfx90a family accumulation registers begin at a multiple of it. */
const ACCUMULATOR_GRANULE = 4;

/** What a kernel is launched with. */
export interface KernelRegisters {
  readonly kernel: Kernel;
  readonly granted: Files<number>;
  readonly growable: Files<number>;
  /** Waves of a SIMD with so many registers; undefined where it is not known. */
  readonly occupancy: (vector: number, scalar: number) => number | undefined;
  /** From here on no code that the kernel reaches uses any. */
  readonly used: Files<number>;
}

export class RegisterPlans {
  readonly kernels: readonly KernelRegisters[];
  readonly #plans = new Map<LiftedFunction, RegisterPlan>();
  readonly #kernelsOf = new Map<LiftedFunction, KernelRegisters[]>();

  /** No payload may have these. */
  readonly reserved: PhysicalRange[] = [];

  constructor({ codeObject, functions }: LiftedCode) {
    const counts = new Map(functions.map((each) => [each, usedRegisters(each)]));
    const all: KernelRegisters[] = [];
    /** Kernels that go to places which are not known: these may be anywhere. */
    const open: KernelRegisters[] = [];
    for (const kernel of codeObject.kernels) {
      const roots = functions.filter(({ kernels }) => kernels.includes(kernel));
      const reached = roots.map((root) => root.reaches());
      const isComplete = reached.every((each) => each.isComplete);
      const inside = new Set(reached.flatMap((each) => [...each.functions]));
      const launched = launchedWith(codeObject, kernel);
      const used = files((file) => {
        const most = Math.max(0, ...[...inside].map((each) => counts.get(each)![file]));
        // What is chosen at run time, and code that is not known, stays within what the wave has.
        const known = Number.isFinite(most) ? most : launched.granted[file];
        return isComplete ? known : Math.max(known, launched.granted[file]);
      });
      const own = { kernel, ...launched, used };
      all.push(own);
      if (!isComplete) open.push(own);
      for (const each of inside) this.#kernelsOf.set(each, [...(this.#kernelsOf.get(each) ?? []), own]);
    }
    for (const each of functions.filter(({ isExposed, kernels }) => isExposed && kernels.length === 0)) {
      this.#kernelsOf.set(each, [...new Set([...(this.#kernelsOf.get(each) ?? []), ...open])]);
    }
    this.kernels = all;
  }

  /** Kernels whose waves may run a function. */
  kernelsOf(lifted: LiftedFunction): readonly KernelRegisters[] {
    return this.#kernelsOf.get(lifted) ?? [];
  }

  /** For code that no kernel is known to reach only what is dead there may be taken. */
  planOf(lifted: LiftedFunction): RegisterPlan {
    let plan = this.#plans.get(lifted);
    if (!plan) {
      const kernels = this.kernelsOf(lifted);
      const most = usedRegisters(lifted);
      const limits = files((file): FileLimits => {
        if (kernels.length === 0) {
          const used = Number.isFinite(most[file]) ? most[file] : 0;
          return { used, granted: used, growable: used };
        }
        const granted = Math.min(...kernels.map((each) => each.granted[file]));
        return {
          used: Math.max(...kernels.map((each) => each.used[file])),
          granted,
          growable: Math.max(granted, Math.min(...kernels.map((each) => each.growable[file]))),
        };
      });
      plan = { ...limits, reserved: this.reserved };
      this.#plans.set(lifted, plan);
    }
    return plan;
  }
}

/** One more than the highest number in each file; a register that is chosen at run time may be any. */
function usedRegisters({ blocks }: LiftedFunction): Files<number> {
  const most = { scalar: 0, vector: 0, accumulator: 0 };
  for (const { instructions } of blocks) {
    for (const step of instructions) {
      const { reads, writes, readsAnyOf, writesAnyOf } = stepEffects(step);
      const special = firstSpecial(step.instruction.target.processor);
      for (const { file, first, dwords } of [...reads, ...writes]) {
        if (file !== 'scalar' || first < special) most[file] = Math.max(most[file], first + dwords);
      }
      for (const file of [...readsAnyOf, ...writesAnyOf]) most[file] = Number.POSITIVE_INFINITY;
    }
  }
  return most;
}

function launchedWith({ target: { processor } }: CodeObject, { descriptor, metadata }: Kernel) {
  const most = mostRegisters(processor);
  const total = vectorRegisterCount(descriptor);
  const hasAccumulators = descriptor.family === 'gfx90a';
  const accumulatorStart = hasAccumulators
    ? Math.min(((descriptor.rsrc3.accumOffset ?? 0) + 1) * ACCUMULATOR_GRANULE, total)
    : total;
  const isFixedSize = targetFor(processor).families.includes('gfx10');
  const specials = most.specialSgprCount;
  const scalars = isFixedSize
    ? most.sgprCount
    : Math.min(most.sgprCount, alignUp(scalarRegisterCount(descriptor), SGPR_ALLOCATION_GRANULE) - specials);
  const granted: Files<number> = {
    scalar: Math.max(scalars, 0),
    vector: Math.min(accumulatorStart, most.vgprCount),
    accumulator: hasAccumulators ? Math.min(total - accumulatorStart, most.agprCount) : most.agprCount && total,
  };
  const shape = shapeOf(descriptor, metadata?.maxFlatWorkgroupSize);
  const behind = hasAccumulators ? granted.accumulator : 0;
  const occupancy = (vector: number, scalar: number) => {
    const vgprs = Math.max(total, alignUp(vector, ACCUMULATOR_GRANULE) + behind);
    return wavesPerSimd({ processor, vgprs, sgprs: scalar + specials, ...shape });
  };
  const before = occupancy(granted.vector, granted.scalar);
  const keeps = (vector: number, scalar: number): boolean =>
    before !== undefined && (occupancy(vector, scalar) ?? 0) >= before;
  const grow = (from: number, to: number, fits: (count: number) => boolean): number => {
    let count = from;
    while (count < to && fits(count + 1)) count++;
    return count;
  };
  const growable: Files<number> = {
    scalar: grow(granted.scalar, most.sgprCount, (count) => keeps(granted.vector, count)),
    vector: grow(granted.vector, most.vgprCount, (count) => keeps(count, granted.scalar)),
    accumulator: granted.accumulator,
  };
  return { granted, growable, occupancy };
}

/** What occupancy depends on besides registers. */
function shapeOf(descriptor: KernelDescriptor, workgroupSize = 1024) {
  return {
    ldsSizeBytes: descriptor.groupSegmentFixedSizeBytes,
    wavefrontSize: descriptor.properties.enableWavefrontSize32 ? 32 : 64,
    workgroupSize,
  } as const;
}
