/** Which functions may count in registers: those of kernels whose waves end where it is known. */
import type { LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import type { Insertions } from '../tool/insertions.ts';
import { endOf, lastOf, type ToolFunction } from '../tool/tool-function.ts';
import type { Counters } from '../tool/variables.ts';
import { CounterHooks } from './counter-payloads.ts';
import type { KernelRegisters } from './kernel-registers.ts';
import type { PersistentRegisters } from './persistent-registers.ts';
import type { RegisterPlans } from './register-plans.ts';
import { ResidentCounters } from './resident-counters.ts';

export class ResidentGroups {
  readonly #plans: RegisterPlans;
  readonly #prefix: string;
  readonly #groups = new Map<PersistentRegisters, ResidentCounters | undefined>();
  readonly #kernels: ReadonlyMap<PersistentRegisters | undefined, readonly KernelRegisters[]>;
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
    this.#kernels = Map.groupBy(plans.kernels, (own) => plans.persistentOfKernel(own));
    for (const { kernel } of plans.kernels) this.#roots.set(kernel, []);
    for (const each of lifted.functions) for (const kernel of each.kernels) this.#roots.get(kernel)?.push(each);
  }

  of(lifted: LiftedFunction): ResidentCounters | undefined {
    const registers = this.#plans.persistentOf(lifted);
    if (!registers) return undefined;
    if (!this.#groups.has(registers)) {
      const name = `registers${this.#groups.size}`;
      const place = { name, symbol: `${this.#prefix}${name}` };
      const isKnown = this.#kernels.get(registers)!.every((own) => this.#isKnown(own));
      this.#groups.set(
        registers,
        isKnown ? new ResidentCounters(registers, place, lifted.waveSize, this.#hooks) : undefined,
      );
    }
    return this.#groups.get(registers);
  }

  /** Whether all of its code is known, and where it begins. */
  #isKnown({ kernel }: KernelRegisters): boolean {
    const reached = this.#roots.get(kernel)!.map((root) => root.reaches());
    const isComplete = reached.every((each) => each.isComplete);
    const inside = reached.flatMap(({ functions }) => [...functions]);
    const isPlain = kernel.descriptor.kernargPreload.lengthDwords === 0;
    return isPlain && isComplete && !inside.some((each) => this.#isWithout(each));
  }

  /** Of those that something is counted in. */
  get variables(): readonly Counters[] {
    return this.#used.map(([, { variable }]) => variable);
  }

  get #used(): readonly (readonly [PersistentRegisters, ResidentCounters])[] {
    return [...this.#groups].flatMap(([registers, counters]) =>
      counters && counters.variable.length > 0 ? [[registers, counters] as const] : [],
    );
  }

  /** Inserts what adds the counters to memory, behind all that counts. */
  flushIn(functions: readonly ToolFunction[], insertions: Insertions): void {
    const used = new Map(this.#used);
    for (const { lifted, blocks } of functions) {
      const registers = this.#plans.persistentOf(lifted);
      const counters = registers && used.get(registers);
      if (!counters) continue;
      for (const block of blocks) {
        if (lastOf(block).step.control === 'end') insertions.insert('before', endOf(block).address, counters.flushHook);
      }
    }
  }
}
