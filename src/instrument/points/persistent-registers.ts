/**
 * Registers that payloads keep for as long as a kernel runs: above all that the application uses, where no
 * wave is lost by them. A preamble sets them when the kernel begins.
 */
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

/** Registers that payloads still find for themselves. */
const [SPARE_SGPRS, SPARE_VGPRS] = [16, 8];
const PAIR = 2;

/**
 * Those of kernels that share functions, so that each function finds them under the same numbers, whoever
 * calls it. They are taken one after the other, as code asks for them.
 */
export class PersistentRegisters {
  readonly place: VariablePlace = { addressOf: (symbol) => this.#addressOf(symbol) };
  /** What was asked for is kept from then on. */
  readonly launch: LaunchRegisters;
  /** Private memory; payloads have it once it is asked for. */
  readonly scratch: ScratchArea;
  readonly #kernels: readonly Kernel[];
  readonly #processor: string;
  readonly #first: number;
  readonly #end: number;
  readonly #kept: KeptValue[] = [];
  readonly #addresses = new Map<string, number | undefined>();
  readonly #initial = new Map<KeptInitialValue, number | undefined>();
  readonly #firstVector: number;
  readonly #vectorEnd: number;
  /** Lanes that hold 1 at first in the kernels that begin at an address. */
  readonly #ones = new Map<bigint | undefined, { readonly register: number; readonly lane: number }[]>();
  #next: number;
  #nextVector: number;
  #flatScratchVector: number | undefined;
  #isClosed = false;

  constructor(kernels: readonly KernelRegisters[], processor: string) {
    this.#processor = processor;
    this.#kernels = kernels.map((each) => each.kernel);
    // Hooks may look at what the kernel begins with, though the kernel does not.
    const target = targetFor(processor);
    const begin = kernels.map(({ kernel }) => initialSgprs(kernel.descriptor, target).count);
    const used = Math.max(...begin, ...kernels.map((each) => each.used.scalar));
    this.#first = Math.ceil(used / PAIR) * PAIR;
    this.#end = Math.min(...kernels.map((each) => each.growable.scalar)) - SPARE_SGPRS;
    this.#next = this.#first;
    const usedVectors = Math.max(...kernels.map((each) => each.used.vector));
    this.#firstVector = Math.ceil(usedVectors / PAIR) * PAIR;
    this.#vectorEnd = Math.min(...kernels.map((each) => each.growable.vector)) - SPARE_VGPRS;
    this.#nextVector = this.#firstVector;
    const initial = (value: KeptInitialValue): number | undefined => this.#initialOf(value);
    const implicitOffset = hiddenOffsetOf(this.#kernels);
    this.scratch = new ScratchArea(this.#kernels, {
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

  /** What is taken so far. */
  get ranges(): readonly PhysicalRange[] {
    return [
      { file: 'scalar', first: this.#first, dwords: this.#next - this.#first },
      { file: 'vector', first: this.#firstVector, dwords: this.#nextVector - this.#firstVector },
    ];
  }

  /** How many registers kernels must be launched with. */
  get counts(): { readonly scalar: number; readonly vector: number } {
    const [scalar, vector] = [this.#kept.length > 0, this.#nextVector > this.#firstVector];
    return { scalar: scalar ? this.#next : 0, vector: vector ? this.#nextVector : 0 };
  }

  /** What is taken for good: preambles, and payloads that must leave it alone, are made from now on. */
  close(): readonly PhysicalRange[] {
    this.#isClosed = true;
    return this.ranges;
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
    this.#isClosed = true;
    const [, { first, dwords }] = this.ranges as readonly [PhysicalRange, PhysicalRange]; // reason: one for each file
    const usesScratch = this.scratch.isUsed;
    if (this.#kept.length === 0 && dwords === 0 && !usesScratch) return undefined;
    const ones = this.#ones.get(kernel.entryAddress) ?? [];
    const vectors = { first, dwords, ones, flatScratch: this.#flatScratchVector };
    const request = { kept: this.#kept, usesScratch, ...(dwords > 0 && { vectors }) };
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
