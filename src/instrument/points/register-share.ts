/**
 * Registers that some kernels of those that share functions keep for counters. Code that others run, too, may
 * not know of them: they are for code that these kernels alone run, and flushed where their waves end.
 */
import { alignUp } from '../../base/align.ts';
import { type KeptValue, keptDwords } from '../kernel/preamble.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';
import type { KernelRegisters } from './kernel-registers.ts';

export const PAIR = 2;
/** Registers that payloads still find for themselves. */
export const SPARE = { scalar: 16, vector: 8 } as const;

/** Where counters get registers from, as long as payloads are not made. */
export interface CounterRegisters {
  /** The first of one or two SGPRs that hold 0 when a kernel begins; undefined where none are left. */
  takeScalars(dwords: 1 | 2): number | undefined;
  /** As `takeScalars`, for what is between two instructions: they hold anything when a kernel begins. */
  takeScratch(dwords: 1 | 2): number | undefined;
  /** The first of two VGPRs that hold 0 in all lanes when a kernel begins; undefined where none are left. */
  takeVectors(): number | undefined;
  /** A lane of what `takeVectors` gave holds 1 when kernels begin that are entered at an address. */
  setLane(entryAddress: bigint | undefined, register: number, lane: number): void;
}

/** The first register of each file that nothing has. */
export interface FirstUnused {
  scalar: number;
  vector: number;
}

/** What all kernels have in common. */
interface CommonRegisters {
  readonly common: CounterRegisters;
  /** Where it begins: shares end there. */
  readonly commonFirst: FirstUnused;
  readonly isClosed: () => boolean;
}

export class RegisterShare implements CounterRegisters {
  readonly kernels: ReadonlySet<KernelRegisters>;
  readonly kept: KeptValue[] = [];
  readonly #vectors: PhysicalRange[] = [];
  readonly #unused: readonly FirstUnused[];
  readonly #end: Readonly<FirstUnused>;
  readonly #others: CommonRegisters;

  /** `unused`: of each kernel; it moves on as shares take registers. */
  constructor(
    kernels: readonly KernelRegisters[],
    unused: ReadonlyMap<KernelRegisters, FirstUnused>,
    others: CommonRegisters,
  ) {
    this.kernels = new Set(kernels);
    this.#unused = kernels.map((each) => unused.get(each)!);
    const endOf = (file: keyof FirstUnused): number =>
      Math.min(others.commonFirst[file], ...kernels.map(({ growable }) => growable[file] - SPARE[file]));
    this.#end = { scalar: endOf('scalar'), vector: endOf('vector') };
    this.#others = others;
  }

  /** Without those that all kernels have in common. */
  get ranges(): readonly PhysicalRange[] {
    const scalars = this.kept.map((each): PhysicalRange => {
      return { file: 'scalar', first: each.first, dwords: keptDwords(each) };
    });
    return [...scalars, ...this.#vectors];
  }

  takeScalars(dwords: 1 | 2): number | undefined {
    return this.#takeScalars('zero', dwords) ?? this.#others.common.takeScalars(dwords);
  }

  takeScratch(dwords: 1 | 2): number | undefined {
    return this.#takeScalars('scratch', dwords) ?? this.#others.common.takeScratch(dwords);
  }

  takeVectors(): number | undefined {
    const first = this.#take('vector', PAIR);
    if (first === undefined) return this.#others.common.takeVectors();
    this.#vectors.push({ file: 'vector', first, dwords: PAIR });
    return first;
  }

  setLane(entryAddress: bigint | undefined, register: number, lane: number): void {
    this.#others.common.setLane(entryAddress, register, lane);
  }

  #takeScalars(kind: 'zero' | 'scratch', dwords: 1 | 2): number | undefined {
    const first = this.#take('scalar', dwords);
    if (first !== undefined) this.kept.push({ kind, dwords, first });
    return first;
  }

  #take(file: keyof FirstUnused, dwords: number): number | undefined {
    const first = alignUp(Math.max(...this.#unused.map((each) => each[file])), dwords);
    if (this.#others.isClosed() || first + dwords > this.#end[file]) return undefined;
    for (const each of this.#unused) each[file] = first + dwords;
    return first;
  }
}
