/**
 * Where live vector registers have their contents while a payload has the registers: accumulation registers,
 * or each lane's private memory.
 */
import { assert } from '../../base/errors.ts';
import type { WaitCounter } from '../../ir/effects.ts';
import type { CodeContext } from '../../isa/amdgpu/encoding/instruction.ts';
import { copyKey, exchangeFlatScratch, type FlatScratchCopy, restoreFlatScratch } from './flat-scratch.ts';
import type { MachineInstruction, MachineItem, VirtualRegister } from './machine-code.ts';
import { PayloadBuilder, part, partsOf, type RegisterPart } from './payload-builder.ts';
import { payloadEffects } from './payload-effects.ts';
import { waitItems } from './payload-waits.ts';

/** Private memory that is not the application's. */
export interface MemoryHome {
  readonly kind: 'memory';
  /** Of each lane's private memory, from here on. */
  readonly startBytes: number;
  /** The value that FLAT_SCRATCH is to have, where the application may have another. */
  readonly flatScratch: FlatScratchCopy | undefined;
}

export type VectorHome = { readonly kind: 'accumulators' } | MemoryHome;

/** Dwords of a lane that a payload can have in memory. */
export const MEMORY_HOME_DWORDS = 128;
const DWORD_BYTES = 4;
export const MEMORY_HOME_BYTES = DWORD_BYTES * MEMORY_HOME_DWORDS;
/** Without a register for the address: 13 bits with a sign (CDNA3 ISA 9.6, RDNA3 ISA 15.13). */
const MAX_OFFSET = 4095;

export const homeKey = (home: VectorHome | undefined): string =>
  home?.kind === 'memory' ? `${home.startBytes} ${copyKey(home.flatScratch)}` : `${home?.kind}`;

/** Whether instructions get at the memory without a register. */
export const needsNoBase = ({ startBytes, flatScratch }: MemoryHome, { target }: CodeContext): boolean =>
  startBytes + MEMORY_HOME_BYTES <= MAX_OFFSET && target.flatScratch === 'architected' && flatScratch === undefined;

interface KeepingOptions {
  readonly code: CodeContext;
  readonly home: VectorHome;
  readonly isKept: (register: VirtualRegister) => boolean;
}

/** Keeps single dwords of registers, each in a place of its own. */
interface Places {
  /** What stands around stores, and around loads. */
  around(emit: () => void): void;
  store(dword: RegisterPart, index: number): void;
  load(dword: RegisterPart, index: number): void;
}

/** The items, which leave EXEC as it was, and their vector registers, as far as they are to be kept. */
export function withVectorsKept(
  items: readonly MachineItem[],
  registers: readonly VirtualRegister[],
  { code, home, isKept }: KeepingOptions,
): readonly MachineItem[] {
  const b = new PayloadBuilder(code, registers);
  b.purpose = 'save';
  b.neverBorrows = true;
  const vectors = registers.filter((each) => each.file === 'vector' && isKept(each));
  const dwordsOf = (isForAll: boolean): { readonly dword: RegisterPart; readonly index: number }[] =>
    vectors
      .flatMap(partsOf)
      .map((dword, index) => ({ dword, index }))
      .filter(({ dword }) => dword.register.writesOtherLanes === isForAll);
  const places: Places = home.kind === 'memory' ? new MemoryPlaces(b, home) : new AccumulatorPlaces(b);
  const [all, active] = [dwordsOf(true), dwordsOf(false)];
  const mask = all.length > 0 ? b.mask() : undefined;
  const inAllLanes = (act: Places['store']): void => {
    if (!mask) return;
    b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
    b.otherLanes = 'any';
    for (const { dword, index } of all) act(dword, index);
    b.otherLanes = 'none';
    b.emit`s_mov_${b.maskBits} ${b.exec}, ${mask}`;
  };
  places.around(() => {
    for (const { dword, index } of active) places.store(dword, index);
    if (mask) b.emit`s_mov_${b.maskBits} ${mask}, ${b.exec}`;
    inAllLanes((dword, index) => places.store(dword, index));
  });
  b.append(items);
  places.around(() => {
    inAllLanes((dword, index) => places.load(dword, index));
    for (const { dword, index } of active) places.load(dword, index);
  });
  return b.items;
}

/**
 * The items, with what scalar registers have that serve to keep others: it is in active lanes of vector
 * registers meanwhile, which are in memory then. Where no lane is active, EXEC is known and all are made so.
 */
export function withMasksKept(
  items: readonly MachineItem[],
  registers: readonly VirtualRegister[],
  { code, home, isKept }: KeepingOptions,
): readonly MachineItem[] {
  assert(home.kind === 'memory' && needsNoBase(home, code), 'no register is needed to get at the memory');
  const b = new PayloadBuilder(code, registers);
  b.purpose = 'save';
  b.otherLanes = 'any';
  const kept = registers
    .filter((each) => each.file === 'scalar' && each.isNeverBorrowed && isKept(each))
    .flatMap(partsOf)
    .map((dword, i) => ({ dword, lanes: b.vector(), index: MEMORY_HOME_DWORDS - 1 - i }));
  if (kept.length === 0) return items;
  const places = new MemoryPlaces(b, home);
  const inSomeLanes = (act: () => void): void => {
    const [noLane, behind] = [{ name: 'no lane is active' }, { name: 'behind' }];
    b.emit`s_cbranch_execz ${noLane}`;
    act();
    b.emit`s_branch ${behind}`;
    b.place(noLane);
    b.emit`s_mov_${b.maskBits} ${b.exec}, -1`;
    act();
    b.emit`s_mov_${b.maskBits} ${b.exec}, 0`;
    b.place(behind);
  };
  inSomeLanes(() => {
    for (const { lanes, index } of kept) if (isKept(lanes)) places.store(part(lanes, 0), index);
    for (const { dword, lanes } of kept) b.emit`v_mov_b32 ${lanes}, ${dword}`;
  });
  b.append(items);
  inSomeLanes(() => {
    for (const { dword, lanes } of kept) b.emit`v_readfirstlane_b32 ${dword}, ${lanes}`;
    places.around(() => {
      for (const { lanes, index } of kept) if (isKept(lanes)) places.load(part(lanes, 0), index);
    });
  });
  return b.items;
}

class AccumulatorPlaces implements Places {
  readonly #b: PayloadBuilder;
  readonly #homes = new Map<number, VirtualRegister>();

  constructor(b: PayloadBuilder) {
    this.#b = b;
  }

  around(emit: () => void): void {
    emit();
  }

  store(dword: RegisterPart, index: number): void {
    const home = this.#b.accumulator();
    this.#homes.set(index, home);
    this.#b.emit`v_accvgpr_write_b32 ${home}, ${dword}`;
  }

  load(dword: RegisterPart, index: number): void {
    this.#b.emit`v_accvgpr_read_b32 ${dword}, ${this.#homes.get(index)!}`;
  }
}

/** A wave's accesses to one place are carried out in order: nothing waits for the stores. */
class MemoryPlaces implements Places {
  readonly #b: PayloadBuilder;
  readonly #home: MemoryHome;
  readonly #base: VirtualRegister | undefined;
  readonly #loads = new Set<WaitCounter>();

  constructor(b: PayloadBuilder, home: MemoryHome) {
    this.#b = b;
    this.#home = home;
    this.#base = needsNoBase(home, b.code) ? undefined : b.scalar();
  }

  around(emit: () => void): void {
    const b = this.#b;
    const { startBytes, flatScratch } = this.#home;
    if (this.#base) b.emit`s_mov_b32 ${this.#base}, ${startBytes}`;
    const copy = flatScratch === undefined ? undefined : exchangeFlatScratch(b, flatScratch);
    emit();
    b.append(waitItems(new Map([...this.#loads].map((counter) => [counter, 0] as const)), b.code));
    if (copy) restoreFlatScratch(b, copy);
  }

  store(dword: RegisterPart, index: number): void {
    this.#b.emit`scratch_store_dword off, ${dword}, ${this.#base ?? 'off'} offset:${this.#offset(index)}`;
  }

  load(dword: RegisterPart, index: number): void {
    this.#b.emit`scratch_load_dword ${dword}, off, ${this.#base ?? 'off'} offset:${this.#offset(index)}`;
    const load = this.#b.items.at(-1) as MachineInstruction; // reason: just written
    for (const counter of payloadEffects(load).effects.counters) this.#loads.add(counter);
  }

  #offset(index: number): number {
    return (this.#base ? 0 : this.#home.startBytes) + DWORD_BYTES * index;
  }
}
