/**
 * Which functions may count in registers: those of kernels whose waves end where it is known. Functions that
 * the same kernels run have registers in common.
 */
import type { LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import type { PointHook } from '../tool/hook.ts';
import type { Insertions } from '../tool/insertions.ts';
import { endOf, lastOf, type ToolFunction } from '../tool/tool-function.ts';
import type { Counters } from '../tool/variables.ts';
import { CounterHooks } from './counter-payloads.ts';
import type { KernelRegisters } from './kernel-registers.ts';
import type { RegisterPlans } from './register-plans.ts';
import { ResidentCounters } from './resident-counters.ts';

/** What functions have that the same kernels run. */
interface Group {
  readonly kernels: ReadonlySet<KernelRegisters>;
  /** Undefined where it is not known where waves end. */
  readonly counters: ResidentCounters | undefined;
}

export class ResidentGroups {
  readonly #plans: RegisterPlans;
  readonly #prefix: string;
  /** By the positions of the kernels. */
  readonly #groups = new Map<string, Group>();
  readonly #positions: ReadonlyMap<KernelRegisters, number>;
  /** Functions in which waves of a kernel end. */
  readonly #endings = new Map<KernelRegisters, LiftedFunction[]>();
  /** The functions that a kernel's descriptor enters. */
  readonly #roots = new Map<KernelRegisters['kernel'], LiftedFunction[]>();
  readonly #hooks = new CounterHooks();
  readonly #isWithout: (lifted: LiftedFunction) => boolean;

  /**
   * `prefix`: what the symbols of the variables begin with. `isWithout`: functions that must not count so,
   * nor what shares registers with them.
   */
  constructor(
    lifted: LiftedCode,
    plans: RegisterPlans,
    prefix: string,
    isWithout: (lifted: LiftedFunction) => boolean,
  ) {
    this.#plans = plans;
    this.#prefix = prefix;
    this.#isWithout = isWithout;
    this.#positions = new Map(plans.kernels.map((own, i) => [own, i]));
    for (const own of plans.kernels) {
      this.#roots.set(own.kernel, []);
      this.#endings.set(own, []);
    }
    for (const each of lifted.functions) {
      for (const kernel of each.kernels) this.#roots.get(kernel)?.push(each);
      if (!endsWaves(each)) continue;
      for (const own of plans.kernelsOf(each)) this.#endings.get(own)!.push(each);
    }
  }

  of(lifted: LiftedFunction): ResidentCounters | undefined {
    const registers = this.#plans.persistentOf(lifted);
    if (!registers) return undefined;
    const kernels = this.#endingTogether(this.#plans.kernelsOf(lifted));
    const key = [...kernels].map((own) => this.#positions.get(own)!).sort((a, b) => a - b);
    let group = this.#groups.get(`${key}`);
    if (!group) {
      const all = [...kernels];
      const name = `registers${this.#groups.size}`;
      const place = { name, symbol: `${this.#prefix}${name}` };
      const counters = all.every((own) => this.#isKnown(own))
        ? new ResidentCounters(registers.shareOf(all), place, lifted.waveSize, this.#hooks)
        : undefined;
      group = { kernels, counters };
      this.#groups.set(`${key}`, group);
    }
    return group.counters;
  }

  /** With those that end where waves of these end: what is counted is added to memory there. */
  #endingTogether(kernels: readonly KernelRegisters[]): ReadonlySet<KernelRegisters> {
    const found = new Set(kernels);
    for (const own of found) {
      for (const each of this.#endings.get(own)!) for (const other of this.#plans.kernelsOf(each)) found.add(other);
    }
    return found;
  }

  /** Whether all of its code is known, and where it begins. */
  #isKnown({ kernel }: KernelRegisters): boolean {
    const reached = this.#roots.get(kernel)!.map((root) => root.reaches());
    const isComplete = reached.every((each) => each.isComplete);
    const inside = reached.flatMap(({ functions }) => [...functions]);
    const isPlain = kernel.descriptor.kernargPreload.lengthDwords === 0;
    // Where waves of others may end, these registers may be anything.
    const isOut = (each: LiftedFunction): boolean => this.#isWithout(each) || (each.isRunByOthers && endsWaves(each));
    return isPlain && isComplete && !inside.some(isOut);
  }

  /** Of those that something is counted in. */
  get variables(): readonly Counters[] {
    return this.#used.map(({ counters }) => counters.variable);
  }

  get #used(): readonly (Group & { readonly counters: ResidentCounters })[] {
    return [...this.#groups.values()].flatMap(({ kernels, counters }) =>
      counters && counters.variable.length > 0 ? [{ kernels, counters }] : [],
    );
  }

  /** Inserts what adds the counters to memory, behind all that counts. */
  flushIn(functions: readonly ToolFunction[], insertions: Insertions): void {
    const byKernel = new Map<KernelRegisters | undefined, PointHook[]>();
    for (const { kernels, counters } of this.#used) {
      const hook = counters.flushHook();
      for (const kernel of kernels) {
        const hooks = byKernel.get(kernel) ?? [];
        hooks.push(hook);
        byKernel.set(kernel, hooks);
      }
    }
    for (const { lifted, blocks } of functions) {
      const ends = blocks.filter((block) => lastOf(block).step.control === 'end');
      if (ends.length === 0) continue;
      const [kernel] = this.#plans.kernelsOf(lifted);
      for (const hook of byKernel.get(kernel) ?? []) {
        for (const block of ends) insertions.insert('before', endOf(block).address, hook);
      }
    }
  }
}

const endsWaves = ({ blocks }: LiftedFunction): boolean =>
  blocks.some(({ instructions }) => instructions.at(-1)!.control === 'end');
