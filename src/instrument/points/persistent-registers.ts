/**
 * Registers that payloads keep for as long as a kernel runs: above all that the application uses, where no
 * wave is lost by them. A preamble sets them when the kernel begins.
 */
import { alignUp } from '../../base/align.ts';
import { assert } from '../../base/errors.ts';
import type { Kernel } from '../../codeobject/code-object.ts';
import { initialSgprs } from '../../codeobject/initial-sgprs.ts';
import type { RegisterFile } from '../../ir/effects.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import type { VariablePlace } from '../dsl/global-memory.ts';
import type { LaunchRegisters } from '../hooks/hook-point.ts';
import {
  type KeptInitialValue,
  type KeptValue,
  kernelPreamble,
  type Preamble,
  type PreambleRequest,
} from '../kernel/preamble.ts';
import { ScratchArea } from '../kernel/scratch-area.ts';
import type { FlatScratchCopy } from '../machine/flat-scratch.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';
import type { KernelRegisters } from './kernel-registers.ts';
import { type CounterRegisters, type FirstUnused, PAIR, RegisterShare, SPARE } from './register-share.ts';

/**
 * Those of kernels that share functions, so that each function finds them under the same numbers, whoever
 * calls it. They are taken one after the other, as code asks for them.
 */
export class PersistentRegisters implements CounterRegisters {
  readonly place: VariablePlace = { addressOf: (symbol) => this.#addressOf(symbol) };
  /** What was asked for is kept from then on. */
  readonly launch: LaunchRegisters;
  /** Private memory; payloads have it once it is asked for. */
  readonly scratch: ScratchArea;
  readonly #kernels: readonly Kernel[];
  readonly #registers: readonly KernelRegisters[];
  readonly #shares: RegisterShare[] = [];
  readonly #processor: string;
  readonly #first: number;
  readonly #end: number;
  readonly #kept: KeptValue[] = [];
  readonly #addresses = new Map<string, number | undefined>();
  readonly #initial = new Map<KeptInitialValue, number | undefined>();
  readonly #firstVector: number;
  readonly #vectorEnd: number;
  /** Of each kernel, what it leaves free and no share has: the first of each file. */
  readonly #unused: ReadonlyMap<KernelRegisters, FirstUnused>;
  /** Lanes that hold 1 at first in the kernels that begin at an address. */
  readonly #ones = new Map<bigint | undefined, { readonly register: number; readonly lane: number }[]>();
  #next: number;
  #nextVector: number;
  #flatScratchVector: number | undefined;
  #isClosed = false;

  constructor(kernels: readonly KernelRegisters[], processor: string) {
    this.#processor = processor;
    this.#kernels = kernels.map((each) => each.kernel);
    this.#registers = kernels;
    const unused = kernels.map((each) => firstUnused(each, processor));
    this.#first = Math.max(...unused.map(({ scalar }) => scalar));
    this.#end = Math.min(...kernels.map((each) => each.growable.scalar)) - SPARE.scalar;
    this.#next = this.#first;
    this.#firstVector = Math.max(...unused.map(({ vector }) => vector));
    this.#vectorEnd = Math.min(...kernels.map((each) => each.growable.vector)) - SPARE.vector;
    this.#nextVector = this.#firstVector;
    this.#unused = new Map(kernels.map((each, i) => [each, unused[i]!]));
    const initial = (value: KeptInitialValue): number | undefined => this.#initialOf(value);
    const implicitOffset = hiddenOffsetOf(this.#kernels);
    this.scratch = new ScratchArea(kernels, {
      isPossible: () => !this.#isClosed && this.#canHave({ kept: this.#kept, usesScratch: true }),
      isFlatScratchWritten: kernels.some((each) => each.writesFlatScratch),
      keepFlatScratch: () => this.#keepFlatScratch(kernels),
    });
    this.launch = {
      get dispatchPacket() {
        return initial('dispatchPtr');
      },
      get kernelArguments() {
        return initial('kernargSegmentPtr');
      },
      implicitOffset,
      workgroupIds: {
        get 0() {
          return initial('workgroupIdX');
        },
        get 1() {
          return initial('workgroupIdY');
        },
        get 2() {
          return initial('workgroupIdZ');
        },
      },
    };
  }

  /** What is taken so far in code that some of the kernels run. */
  rangesIn(kernels: readonly KernelRegisters[]): readonly PhysicalRange[] {
    return [
      { file: 'scalar', first: this.#first, dwords: this.#next - this.#first },
      { file: 'vector', first: this.#firstVector, dwords: this.#nextVector - this.#firstVector },
      ...this.#sharesOf(kernels).flatMap((share) => share.ranges),
    ];
  }

  /** How many registers a kernel must be launched with. */
  countsOf(kernel: KernelRegisters): { readonly scalar: number; readonly vector: number } {
    const end = (file: RegisterFile): number =>
      Math.max(
        0,
        ...this.rangesIn([kernel]).map((each) =>
          each.file === file && each.dwords > 0 ? each.first + each.dwords : 0,
        ),
      );
    return { scalar: end('scalar'), vector: end('vector') };
  }

  /**
   * What is taken for good in code that some of the kernels run: preambles, and payloads that must leave it
   * alone, are made from now on.
   */
  close(kernels: readonly KernelRegisters[]): readonly PhysicalRange[] {
    this.#isClosed = true;
    return this.rangesIn(kernels);
  }

  /**
   * Registers in code that only some of the kernels run: numbers that these leave free though others use
   * them; then those that all of them leave.
   */
  shareOf(kernels: readonly KernelRegisters[]): CounterRegisters {
    if (kernels.length === this.#kernels.length) return this;
    const share = new RegisterShare(kernels, this.#unused, {
      common: this,
      ...{ commonFirst: { scalar: this.#first, vector: this.#firstVector }, isClosed: () => this.#isClosed },
    });
    this.#shares.push(share);
    return share;
  }

  #sharesOf(kernels: readonly KernelRegisters[]): readonly RegisterShare[] {
    return this.#shares.filter((share) => kernels.some((each) => share.kernels.has(each)));
  }

  /** The first of one or two SGPRs that hold 0 when a kernel begins; undefined where none are left. */
  takeScalars(dwords: 1 | 2): number | undefined {
    return this.#take({ kind: 'zero', dwords, first: this.#next }, dwords);
  }

  /** As `takeScalars`, for what is between two instructions: they hold anything when a kernel begins. */
  takeScratch(dwords: 1 | 2): number | undefined {
    return this.#take({ kind: 'scratch', dwords, first: this.#next }, dwords);
  }

  /** The first of two VGPRs that hold 0 in all lanes when a kernel begins; undefined where none are left. */
  takeVectors(limit = this.#vectorEnd): number | undefined {
    const first = this.#nextVector;
    if (this.#isClosed || first + PAIR > limit) return undefined;
    this.#nextVector += PAIR;
    return first;
  }

  /** A lane of what `takeVectors` gave holds 1 when kernels begin that are entered at an address. */
  setLane(entryAddress: bigint | undefined, register: number, lane: number): void {
    const ones = this.#ones.get(entryAddress) ?? [];
    this.#ones.set(entryAddress, ones);
    ones.push({ register, lane });
  }

  /** What sets the registers when a kernel begins. */
  preambleOf(kernel: Kernel): Preamble | undefined {
    const own = this.#registers.filter((each) => each.kernel === kernel);
    const registers = this.close(own).flatMap(({ file, first, dwords }) =>
      file === 'vector' ? Array.from({ length: dwords }, (_, i) => first + i) : [],
    );
    const kept = [...this.#kept, ...this.#sharesOf(own).flatMap((share) => share.kept)];
    const usesScratch = this.scratch.isUsed;
    if (kept.length === 0 && registers.length === 0 && !usesScratch) return undefined;
    const ones = this.#ones.get(kernel.entryAddress) ?? [];
    const vectors = { registers, ones, flatScratch: this.#flatScratchVector };
    const request = { kept, usesScratch, ...(registers.length > 0 && { vectors }) };
    const preamble = kernelPreamble(kernel, this.#processor, request);
    assert(typeof preamble === 'object', () => `what was taken can be set: ${preamble}`);
    return preamble;
  }

  #addressOf(symbol: string): number | undefined {
    const known = this.#addresses;
    if (!known.has(symbol)) {
      known.set(symbol, this.#take({ kind: 'address', place: { symbol, addend: 0 }, first: this.#next }));
    }
    return known.get(symbol);
  }

  #initialOf(value: KeptInitialValue): number | undefined {
    const known = this.#initial;
    if (!known.has(value)) {
      const kept: KeptValue = { kind: 'initial', value, first: this.#next };
      // The hardware sets up only so many.
      const isPossible = this.#canHave({ kept: [...this.#kept, kept], usesScratch: this.scratch.isUsed });
      known.set(value, isPossible ? this.#take(kept) : undefined);
    }
    return known.get(value);
  }

  /** Without it no point has private memory: where nothing else is left, it costs waves. */
  #keepFlatScratch(kernels: readonly KernelRegisters[]): FlatScratchCopy | undefined {
    const limits = (file: RegisterFile): readonly number[] =>
      (['growable', 'most'] as const).map((limit) => Math.min(...kernels.map((each) => each[limit][file])));
    for (const limit of [this.#end, ...limits('scalar')]) {
      const first = this.#take({ kind: 'flat scratch', first: this.#next }, PAIR, limit);
      if (first !== undefined) return { file: 'scalar', first };
    }
    for (const limit of [this.#vectorEnd, ...limits('vector')]) {
      this.#flatScratchVector ??= this.takeVectors(limit);
    }
    return this.#flatScratchVector === undefined ? undefined : { file: 'vector', first: this.#flatScratchVector };
  }

  #canHave(request: PreambleRequest): boolean {
    return this.#kernels.every((kernel) => typeof kernelPreamble(kernel, this.#processor, request) === 'object');
  }

  /** Pairs begin at an even number. */
  #take(wanted: KeptValue, dwords = PAIR, limit = this.#end): number | undefined {
    const first = Math.ceil(this.#next / dwords) * dwords;
    const end = first + dwords;
    if (this.#isClosed || end > limit) return undefined;
    this.#kept.push({ ...wanted, first });
    this.#next = end;
    return first;
  }
}

/** Hooks may look at what the kernel begins with, though the kernel does not. */
function firstUnused({ kernel, used }: KernelRegisters, processor: string): FirstUnused {
  const begin = initialSgprs(kernel.descriptor, targetFor(processor)).count;
  return { scalar: alignUp(Math.max(begin, used.scalar), PAIR), vector: alignUp(used.vector, PAIR) };
}

/** How far behind the first argument the hidden ones are, where that is the same for all kernels. */
function hiddenOffsetOf(kernels: readonly Kernel[]): number | undefined {
  const offsets = kernels.map(({ metadata }) => {
    const hidden = metadata?.args.filter(({ valueKind }) => valueKind.startsWith('hidden_')) ?? [];
    return hidden.length === 0 ? undefined : Math.min(...hidden.map(({ offsetBytes }) => offsetBytes));
  });
  const [first, ...others] = new Set(offsets);
  return others.length === 0 ? first : undefined;
}

/** Kernels by the functions that they share. Those without a preamble have none, nor have their partners. */
export function persistentRegisters({
  kernels: all,
  sharing,
  isMoved,
  processor,
}: {
  readonly kernels: readonly KernelRegisters[];
  /** For each function those whose waves may run it. */
  readonly sharing: Iterable<readonly KernelRegisters[]>;
  readonly isMoved: (kernel: Kernel) => boolean;
  readonly processor: string;
}): ReadonlyMap<KernelRegisters, PersistentRegisters> {
  const groups = new Map(all.map((each) => [each, new Set([each])]));
  for (const kernels of sharing) {
    const [first, ...others] = kernels.map((each) => groups.get(each)!);
    for (const other of others) {
      if (other === first) continue;
      for (const each of other) groups.set(each, first!.add(each));
    }
  }
  const found = new Map<KernelRegisters, PersistentRegisters>();
  for (const group of new Set(groups.values())) {
    const kernels = [...group];
    if (!kernels.every(({ kernel }) => isMoved(kernel)) || !haveOnePreamble(kernels)) continue;
    const registers = new PersistentRegisters(kernels, processor);
    for (const each of kernels) found.set(each, registers);
  }
  return found;
}

/** Kernels with the same first instruction begin alike, for all that a preamble has to know. */
function haveOnePreamble(kernels: readonly KernelRegisters[]): boolean {
  const starts = new Map<bigint | undefined, string>();
  return kernels.every(({ kernel: { entryAddress, descriptor } }) => {
    const { properties, rsrc2, kernargPreload } = descriptor;
    const start = JSON.stringify({ properties, rsrc2, kernargPreload });
    const known = starts.get(entryAddress) ?? start;
    starts.set(entryAddress, known);
    return known === start;
  });
}
