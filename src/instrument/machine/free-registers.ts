/** Physical registers of a kernel that payloads may have at a point, a file at a time. */
import type { LaneWords } from '../../flow/lane-words.ts';
import { registerNumber } from '../../flow/steps.ts';
import { SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import type { PhysicalRange, VirtualRegister } from './machine-code.ts';
import type { PayloadForm } from './payload-form.ts';
import type { FileLimits, PointState, RegisterPlan } from './register-plan.ts';
import { RegisterSet } from './register-set.ts';
import type { VectorHome } from './vector-homes.ts';

/** How far the search for registers goes: the first that is enough counts. */
export interface Search {
  readonly limit: 'granted' | 'growable' | 'most';
  readonly takesInFlight: boolean;
  readonly borrowsFirstLanes: boolean;
  readonly borrowsScalars: boolean;
  readonly borrowsMasks: boolean;
  readonly home: 'none' | VectorHome['kind'];
}

/** Before which registers a search of a file ends. */
export function searchEnd({ granted, growable, most }: FileLimits, limit: Search['limit']): number {
  if (limit === 'granted') return granted;
  return limit === 'growable' ? Math.max(granted, growable) : Math.max(granted, growable, most);
}

const FIRST_VECTOR = registerNumber('vector', 0);
const FIRST_ACCUMULATOR = registerNumber('accumulator', 0);
const VCC = RegisterSet.range(SGPR_VCC_LO, SGPR_VCC_LO + 2);
export const isVcc = (file: PhysicalRange['file'], first: number): boolean => file === 'scalar' && VCC.has(first);

/** What may be taken of a file for a form, whatever the point: the form's own ranges are left out. */
interface FileMasks {
  /** Those that the application uses: they may be taken where they are dead. */
  readonly used: RegisterSet;
  /** Those that it never uses. */
  readonly additional: RegisterSet;
  /** What of VCC may be taken where it is dead: for points that have nothing else to begin with. */
  readonly vcc: RegisterSet;
  /** Those that may be taken where what they have is kept elsewhere. */
  readonly borrowable: RegisterSet;
}

/** Registers of a file at the point that is being looked at. */
export class FileSets {
  /** Those that may be taken. */
  readonly candidates = new RegisterSet();
  /** Those that may be taken where what they have is kept elsewhere. */
  readonly borrowable = new RegisterSet();
  readonly #file: VirtualRegister['file'];
  /** Of `LaneWords`. */
  readonly #firstWord: number;
  readonly #plan: RegisterPlan;
  /** Those that the application never uses; it does not matter what the plan lets payloads have of them. */
  readonly #unused: RegisterSet;
  readonly #pending = new RegisterSet();
  #isAnyPending = false;
  readonly #masks: Readonly<Record<Search['limit'], Map<PayloadForm, FileMasks>>> = {
    ...{ granted: new Map(), growable: new Map(), most: new Map() },
  };
  readonly #reserved = new RegisterSet();
  #live: LaneWords | undefined;

  constructor(file: VirtualRegister['file'], plan: RegisterPlan) {
    this.#file = file;
    this.#firstWord = registerNumber(file, 0) / 32;
    this.#plan = plan;
    this.#unused = RegisterSet.range(plan[file].used, 256);
    this.#addOwn(this.#reserved, plan.reserved);
  }

  read(live: LaneWords): void {
    this.#live = live;
  }

  /** All that the application uses, or nothing. */
  setPending(isAllPending: boolean): void {
    if (this.#isAnyPending) this.#pending.clear();
    this.#isAnyPending = isAllPending;
    if (!isAllPending) return;
    this.#pending.addRange(0, this.#plan[this.#file].used);
    if (this.#file === 'scalar') this.#pending.add(VCC);
  }

  addPending(register: number): void {
    this.#pending.addAt(register);
    this.#isAnyPending = true;
  }

  /** Whether an access in flight is one to a register of the range. */
  isPending({ first, dwords }: Pick<PhysicalRange, 'first' | 'dwords'>): boolean {
    if (!this.#isAnyPending) return false;
    for (let register = first; register < first + dwords; register++) if (this.#pending.has(register)) return true;
    return false;
  }

  /**
   * Sets `candidates`, and `borrowable` for a search that borrows. Registers that the payload reads or
   * changes for the application are none.
   */
  choose({ limit, takesInFlight, borrowsFirstLanes, borrowsScalars, home }: Search, form: PayloadForm): void {
    const masks = this.#masksOf(limit, form);
    const { words } = this.#live!;
    this.candidates.assignAbsent(words, this.#firstWord, masks.used);
    this.candidates.add(masks.additional);
    if (home !== 'none') this.candidates.addAbsent(words, this.#firstWord, masks.vcc);
    const leavesPending = !takesInFlight && this.#isAnyPending;
    if (leavesPending) this.candidates.remove(this.#pending);
    if (!borrowsFirstLanes && !borrowsScalars && home === 'none') return;
    this.borrowable.copy(masks.borrowable);
    if (leavesPending) this.borrowable.remove(this.#pending);
  }

  /** Takes a register out of what was chosen. */
  leaveAlone(register: number): void {
    this.candidates.removeRange(register, register + 1);
    this.borrowable.removeRange(register, register + 1);
  }

  /** Leaves those in a set that are free in lanes that are off, too. */
  keepFreeInAll(set: RegisterSet): void {
    const { words, wordCount } = this.#live!;
    set.keepAbsent(words, wordCount + this.#firstWord, this.#unused);
  }

  #masksOf(limit: Search['limit'], form: PayloadForm): FileMasks {
    const known = this.#masks[limit];
    let masks = known.get(form);
    if (!masks) {
      masks = this.#findMasks(limit, form);
      known.set(form, masks);
    }
    return masks;
  }

  #findMasks(limit: Search['limit'], { readsPhysical, writesPhysical }: PayloadForm): FileMasks {
    const { used } = this.#plan[this.#file];
    // What all kernels can have that run the code; one of them may use more than others are launched with.
    const end = searchEnd(this.#plan[this.#file], limit);
    const taken = new RegisterSet();
    taken.copy(this.#reserved);
    this.#addOwn(taken, readsPhysical);
    this.#addOwn(taken, writesPhysical);
    const rangeOf = (first: number, behind: number): RegisterSet => {
      const set = RegisterSet.range(first, behind);
      set.remove(taken);
      return set;
    };
    const vcc = new RegisterSet();
    if (this.#file === 'scalar') vcc.copy(VCC);
    vcc.remove(taken);
    return {
      ...{ used: rangeOf(0, Math.min(used, end)), additional: rangeOf(used, end), vcc, borrowable: rangeOf(0, end) },
    };
  }

  /** Registers of this file. */
  #addOwn(set: RegisterSet, ranges: readonly PhysicalRange[]): void {
    for (const { file, first, dwords } of ranges) if (file === this.#file) set.addRange(first, first + dwords);
  }
}

const filesOfPlans = new WeakMap<RegisterPlan, PlanFiles>();

/** Registers of all files at the point that is being looked at. */
export class PlanFiles {
  readonly scalar: FileSets;
  readonly vector: FileSets;
  readonly accumulator: FileSets;
  /** Those of the point before: points in a row mostly have the same. */
  #accesses: PointState['inFlight']['accesses'] = [];
  #isAllPending = false;

  private constructor(plan: RegisterPlan) {
    this.scalar = new FileSets('scalar', plan);
    this.vector = new FileSets('vector', plan);
    this.accumulator = new FileSets('accumulator', plan);
  }

  /** What they hold of a point lasts no longer than one allocation. */
  static of(plan: RegisterPlan): PlanFiles {
    let files = filesOfPlans.get(plan);
    if (!files) {
      files = new PlanFiles(plan);
      filesOfPlans.set(plan, files);
    }
    return files;
  }

  /** Whether an access in flight is one to any of the registers. */
  isPending(ranges: readonly PhysicalRange[]): boolean {
    for (let i = 0; i < ranges.length; i++) if (this[ranges[i]!.file].isPending(ranges[i]!)) return true;
    return false;
  }

  /** `live`: that of the point. */
  read({ inFlight: { accesses }, unknownInFlight }: PointState, live: LaneWords): void {
    const { scalar, vector, accumulator } = this;
    scalar.read(live);
    vector.read(live);
    accumulator.read(live);
    const isAllPending = unknownInFlight.size > 0;
    if (accesses === this.#accesses && isAllPending === this.#isAllPending) return;
    this.#accesses = accesses;
    this.#isAllPending = isAllPending;
    scalar.setPending(isAllPending);
    vector.setPending(isAllPending);
    accumulator.setPending(isAllPending);
    for (let i = 0; i < accesses.length; i++) {
      const { register } = accesses[i]!;
      if (register < FIRST_VECTOR) scalar.addPending(register);
      else if (register < FIRST_ACCUMULATOR) vector.addPending(register - FIRST_VECTOR);
      else accumulator.addPending(register - FIRST_ACCUMULATOR);
    }
  }
}
