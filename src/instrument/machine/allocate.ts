/** Physical registers for payloads: those that nothing needs where the payload is to run. */
import { assert } from '../../base/errors.ts';
import { LaneWords } from '../../flow/lane-words.ts';
import { REGISTER_WORDS, registerNumber, registerOf, registerSet } from '../../flow/steps.ts';
import type { WaitCounter } from '../../ir/effects.ts';
import { SGPR_EXEC_LO, SGPR_M0, SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import type { PayloadCode } from '../layout/payload-code.ts';
import { isVcc, PlanFiles, type Search, searchEnd } from './free-registers.ts';
import type { Payload, PhysicalRange, VirtualRegister } from './machine-code.ts';
import { type PayloadForm, PayloadForms } from './payload-form.ts';
import { PlacedForm, type PurposeCounts } from './placed-form.ts';
import type { PointState, RegisterPlan } from './register-plan.ts';
import { RegisterSet } from './register-set.ts';
import { type Borrowing, type FormOptions, type KeptRegisters, mayBorrow, type Saves } from './state-saves.ts';
import { MEMORY_HOME_DWORDS, needsNoBase, type VectorHome } from './vector-homes.ts';

/** How the registers of a payload were found; `borrowed`: one that is live, which was kept elsewhere. */
export type RegisterSource = 'dead' | 'granule' | 'grown' | 'borrowed';

export interface PayloadAllocation {
  readonly kind: 'allocation';
  readonly code: PayloadCode;
  /** Of instructions, by what they are there for. */
  readonly counts: PurposeCounts;
  /** Values by how their registers were found. */
  readonly sources: Readonly<Record<RegisterSource, number>>;
  /** Where live vector registers are kept meanwhile. */
  readonly home: 'none' | VectorHome['kind'];
  /** How many registers the kernel must be launched with: one more than the highest number that is used. */
  readonly needs: Readonly<Record<PhysicalRange['file'], number>>;
  /** Which of the payloads it was. */
  readonly choice: number;
}

/** Why no payload can run at a point. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly reason: string;
}

const NO_BORROWING = { borrowsFirstLanes: false, borrowsScalars: false, borrowsMasks: false, home: 'none' } as const;
const FIRST_LANES = { ...NO_BORROWING, borrowsFirstLanes: true };
const SCALARS = { ...NO_BORROWING, borrowsScalars: true };
const BOTH = { ...FIRST_LANES, borrowsScalars: true };

/** Vector registers are kept in a place of their own, then scalar ones with them. */
const atHome = (home: Search['home'], limit: Search['limit']): readonly Search[] =>
  [false, true].flatMap((borrowsScalars) =>
    [false, true].map((takesInFlight) => ({ ...NO_BORROWING, limit, takesInFlight, borrowsScalars, home })),
  );

const SEARCHES: readonly Search[] = [
  { limit: 'granted', takesInFlight: false, ...NO_BORROWING },
  { limit: 'growable', takesInFlight: false, ...NO_BORROWING },
  { limit: 'growable', takesInFlight: true, ...NO_BORROWING },
  { limit: 'growable', takesInFlight: false, ...FIRST_LANES },
  // Where a function is entered, and behind calls, all may be in flight.
  { limit: 'growable', takesInFlight: true, ...FIRST_LANES },
  ...atHome('accumulators', 'growable'),
  { limit: 'most', takesInFlight: false, ...NO_BORROWING },
  { limit: 'most', takesInFlight: false, ...FIRST_LANES },
  { limit: 'most', takesInFlight: true, ...NO_BORROWING },
  { limit: 'most', takesInFlight: true, ...FIRST_LANES },
  { limit: 'most', takesInFlight: false, ...SCALARS },
  { limit: 'most', takesInFlight: false, ...BOTH },
  { limit: 'most', takesInFlight: true, ...SCALARS },
  { limit: 'most', takesInFlight: true, ...BOTH },
  ...atHome('accumulators', 'most'),
  ...atHome('memory', 'most'),
  ...[false, true].map(
    (takesInFlight): Search => ({ ...SCALARS, limit: 'most', takesInFlight, borrowsMasks: true, home: 'memory' }),
  ),
];

/** Limits of a plan may come to the same: what would find no more than a search before it is left out. */
function searchesIn({ scalar, vector, accumulator }: RegisterPlan): readonly Search[] {
  const known = new Set<string>();
  return SEARCHES.filter((search) => {
    const ends = [scalar, vector, accumulator].map((limits) => searchEnd(limits, search.limit));
    const key = JSON.stringify({ ...search, limit: ends });
    return known.size < known.add(key).size;
  });
}

const BARE: Borrowing = { borrowsFirstLanes: false, borrowsScalars: false };
/** What is asked for without any borrowing, by what is saved: points have few of them. */
const BARE_OPTIONS: readonly FormOptions[] = Array.from({ length: 16 }, (_, bits) => ({
  saves: { scc: (bits & 1) !== 0, vcc: (bits & 2) !== 0, m0: (bits & 4) !== 0, gprIndexing: (bits & 8) !== 0 },
  borrowing: BARE,
}));
/** Of a register that has none yet. */
const NO_NUMBER = -1;
const NO_RANGES: readonly PhysicalRange[] = [];
const NO_WAITS: ReadonlyMap<WaitCounter, number> = new Map();

/** A payload in registers, with what does not depend on the point. */
interface Placed {
  readonly placed: PlacedForm;
  readonly sources: PayloadAllocation['sources'];
  readonly needs: PayloadAllocation['needs'];
  readonly form: PayloadForm;
  readonly ranges: readonly PhysicalRange[];
  /** Registers of the application. */
  readonly reads: readonly PhysicalRange[];
  /** By which of the payloads it is, where nothing has to be waited for. */
  readonly withoutWaits: PayloadAllocation[];
}

/**
 * Gives payloads of one kind to the points of one kernel. `payloads` do the same, the cheapest first: later
 * ones are for points where it finds no registers.
 */
export class Allocator {
  readonly #forms: readonly PayloadForms[];
  readonly #plan: RegisterPlan;
  readonly #placed = new Map<PayloadForm, Map<number | string, Placed | string>>();
  readonly #files: PlanFiles;
  readonly #searches: readonly Search[];
  /** What payloads must leave alone of what calls overwrite: all that is live, and all that is reserved. */
  readonly #usedPlaces: bigint;
  readonly #reservedPlaces: bigint;
  readonly #found = new RegisterSet();
  /** Of the form that is being placed. */
  readonly #numbers: number[] = [];
  #lastPlaced:
    | { readonly form: PayloadForm; readonly numbers: readonly number[]; readonly placed: Placed | string }
    | undefined;
  readonly #kept = new Map<bigint, readonly PhysicalRange[]>();
  /** Those that the point names. */
  #named: readonly PhysicalRange[] = NO_RANGES;

  /** Those of one plan share what follows from it. */
  constructor(payloads: readonly Payload[], plan: RegisterPlan) {
    this.#forms = payloads.map((payload) => PayloadForms.of(payload));
    this.#plan = plan;
    this.#searches = searchesIn(plan);
    const used = (['scalar', 'vector', 'accumulator'] as const).map((file) => ({
      ...{ file, first: 0, dwords: plan[file].used },
    }));
    // Where masks have 32 lanes, the high half of VCC is a register like others.
    this.#usedPlaces = registerSet([...used, { file: 'scalar', first: SGPR_VCC_LO + 1, dwords: 1 }]);
    this.#reservedPlaces = registerSet(plan.reserved);
    this.#files = PlanFiles.of(plan);
  }

  /** `named`: the registers of the application that the point names, one dword each. */
  allocate(state: PointState, named = NO_RANGES): PayloadAllocation | Refusal {
    this.#named = named;
    const words = LaneWords.of(state.live, REGISTER_WORDS);
    this.#files.read(state, words);
    const isAnyInFlight = state.inFlight.accesses.length > 0 || state.unknownInFlight.size > 0;
    let reason: string | undefined;
    let keeping = '';
    for (let number = 0; number < this.#searches.length; number++) {
      const search = this.#searches[number]!;
      if (search.takesInFlight && !isAnyInFlight) continue;
      for (let i = 0; i < this.#forms.length; i++) {
        // Later ones take fewer vector registers: less is to be kept.
        const choice = search.borrowsFirstLanes ? this.#forms.length - 1 - i : i;
        const forms = this.#forms[choice]!;
        const home = this.#homeOf(search, forms);
        if (search.home !== 'none' && !home) continue;
        const kept = this.#keptOf(forms, state);
        const bare = BARE_OPTIONS[savesAt(state, words, forms.clobbers)]!;
        const { borrowsFirstLanes, borrowsScalars, borrowsMasks } = search;
        const isBare = !borrowsFirstLanes && !borrowsScalars && !home && !kept;
        const options = isBare
          ? bare
          : { ...bare, borrowing: { borrowsFirstLanes, borrowsScalars, borrowsMasks, home }, kept };
        const placed = this.#placeBorrowing(search, forms, options);
        if (typeof placed === 'string') {
          reason ??= placed;
          if (home) keeping = `, and to keep live ones ${placed}`;
        } else return this.#allocation(placed, state, choice);
      }
    }
    const { memory } = this.#plan;
    const why = typeof memory === 'string' ? `, and private memory keeps none: ${memory}` : keeping;
    return { kind: 'refusal', reason: `${reason ?? 'no payload is given'}${why}` };
  }

  /** With dead registers in place of live ones, as far as there are some; a text says why not at all. */
  #placeBorrowing(search: Search, forms: PayloadForms, options: FormOptions): Placed | string {
    const { borrowing } = options;
    const { borrowsFirstLanes, borrowsScalars, home } = borrowing;
    if (!borrowsFirstLanes && !borrowsScalars && !home) return this.#place(forms.form(options), search);
    // Forms that keep much are large: most points for which there are none are known without them.
    const why = this.#whyNone(forms.form({ ...options, borrowing: BARE }), search, borrowing);
    if (why !== undefined) return why;
    const whole = forms.form(options);
    const found = this.#place(whole, search);
    const dead = this.#deadFor(whole, borrowing);
    const spared = whole.registers.filter((each, i) => mayBorrow(each, borrowing) && dead[i] !== NO_NUMBER);
    if (spared.length === 0) return found;
    const sparing = { ...borrowing, spared: spared.map(({ id }) => id) };
    const less = this.#place(forms.form({ ...options, borrowing: sparing }), search);
    return typeof less === 'string' ? found : less;
  }

  /** Why no form that borrows has registers, by the one that does not borrow; undefined: one may have. */
  #whyNone(bare: PayloadForm, search: Search, borrowing: Borrowing): string | undefined {
    this.#choose(bare, search);
    const dead = this.#deadFor(bare, borrowing);
    const isWithout = (_: VirtualRegister, index: number): boolean => dead[index] === NO_NUMBER;
    const lacking = bare.registers.filter(isWithout);
    const needed = lacking.find((each) => !mayBorrow(each, borrowing));
    if (needed) return noneFor(needed);
    if (search.home !== 'accumulators') return undefined;
    const { accumulator } = this.#files;
    accumulator.choose(search, bare);
    return dwordsOf(lacking, 'vector') > accumulator.candidates.size ? 'no accumulator registers are free' : undefined;
  }

  /**
   * Dead registers for those of a form whose files were chosen, NO_NUMBER where there is none: what may be
   * live gets what the others leave.
   */
  #deadFor(form: PayloadForm, borrowing: Borrowing): readonly number[] {
    const { registers } = form;
    const numbers = registers.map(() => NO_NUMBER);
    for (const isBorrowable of [false, true]) {
      for (let index = 0; index < registers.length; index++) {
        if (mayBorrow(registers[index]!, borrowing) !== isBorrowable) continue;
        if (!this.#files[registers[index]!.file].candidates.isEmpty)
          numbers[index] = this.#find(index, form, numbers, false);
      }
    }
    return numbers;
  }

  /** Undefined where there is none; calls keep what they need in memory of their own. */
  #homeOf({ home, borrowsMasks }: Search, forms: PayloadForms): VectorHome | undefined {
    const { clobbered, hasAccumulatorHomes, code } = forms;
    if (home === 'none' || clobbered !== 0n) return undefined;
    const { memory, accumulator } = this.#plan;
    if (home === 'memory') {
      return typeof memory === 'object' && (!borrowsMasks || needsNoBase(memory, code)) ? memory : undefined;
    }
    return hasAccumulatorHomes && accumulator.most > 0 ? { kind: home } : undefined;
  }

  /** What an envelope has to keep. */
  #keptOf({ clobbered }: PayloadForms, { live }: PointState): KeptRegisters | undefined {
    if (clobbered === 0n) return undefined;
    const set = clobbered & (((live.active | live.inactive) & this.#usedPlaces) | this.#reservedPlaces);
    let ranges = this.#kept.get(set);
    if (!ranges) {
      ranges = singleRegisters(set);
      this.#kept.set(set, ranges);
    }
    return { set, ranges };
  }

  #choose(form: PayloadForm, search: Search): void {
    const { files, named } = form;
    for (let i = 0; i < files.length; i++) this.#files[files[i]!].choose(search, form);
    for (let i = 0; i < named.length; i++) this.#files[named[i]!.file].leaveAlone(this.#numberOf(named[i]!));
  }

  /** Of a register that the point names. */
  #numberOf({ pointRegister }: VirtualRegister): number {
    return this.#named[pointRegister!]!.first;
  }

  /** The payload in registers, or why there are none. */
  #place(form: PayloadForm, search: Search): Placed | string {
    this.#choose(form, search);
    const inMemory = search.home === 'memory' ? dwordsOf(form.registers, 'vector') : 0;
    if (inMemory > MEMORY_HOME_DWORDS) return `${inMemory} vector registers are more than memory is kept for`;
    const numbers = this.#numbers;
    const { registers, named } = form;
    numbers.length = registers.length + named.length;
    numbers.fill(NO_NUMBER);
    for (let i = 0; i < named.length; i++) numbers[registers.length + i] = this.#numberOf(named[i]!);
    for (let index = 0; index < registers.length; index++) {
      const register = registers[index]!;
      const number = this.#find(index, form, numbers, mayBorrow(register, form.borrowing));
      if (number === NO_NUMBER) return noneFor(register);
      numbers[index] = number;
    }
    return this.#placedIn(form, numbers);
  }

  #placedIn(form: PayloadForm, numbers: readonly number[]): Placed | string {
    const last = this.#lastPlaced;
    // Points in a row mostly have the same.
    if (last?.form === form && isEqual(last.numbers, numbers)) return last.placed;
    let byKey = this.#placed.get(form);
    if (!byKey) {
      byKey = new Map();
      this.#placed.set(form, byKey);
    }
    const key = keyOf(numbers);
    let placed = byKey.get(key);
    if (placed === undefined) {
      placed = this.#newlyPlaced(form, numbers);
      byKey.set(key, placed);
    }
    this.#lastPlaced = { form, numbers: numbers.slice(), placed };
    return placed;
  }

  /** Beside those that have numbers; NO_NUMBER: there is none. */
  #find(index: number, { registers, conflicts }: PayloadForm, numbers: readonly number[], isBorrowed: boolean): number {
    const { file, dwords, alignmentDwords, writesOtherLanes } = registers[index]!;
    const found = this.#found;
    const files = this.#files[file];
    found.copy(isBorrowed ? files.borrowable : files.candidates);
    if (writesOtherLanes && !isBorrowed) files.keepFreeInAll(found);
    const others = conflicts[index]!;
    for (let i = 0; i < others.length; i++) {
      const other = others[i]!;
      const first = numbers[other]!;
      if (first !== NO_NUMBER && registers[other]!.file === file)
        found.removeRange(first, first + registers[other]!.dwords);
    }
    return found.find(dwords, alignmentDwords);
  }

  #newlyPlaced(form: PayloadForm, numbers: readonly number[]): Placed | string {
    const placed = PlacedForm.of(form, numbers);
    if (typeof placed === 'string') return placed;
    const sources = { dead: 0, granule: 0, grown: 0, borrowed: 0 };
    const needs = { scalar: 0, vector: 0, accumulator: 0 };
    for (const { file, first, dwords } of form.payload.envelope?.clobbers ?? []) {
      if (file === 'scalar' && first >= SGPR_VCC_LO) continue;
      needs[file] = Math.max(needs[file], first + dwords);
      const most = Math.max(this.#plan[file].granted, this.#plan[file].most);
      if (needs[file] > most) return `the called code has ${needs[file]} ${file} registers, of at most ${most}`;
    }
    const ranges = form.registers.map(({ file, dwords }, index) => ({ file, first: numbers[index]!, dwords }));
    for (const [index, { file, first, dwords }] of ranges.entries()) {
      const { used, granted } = this.#plan[file];
      const end = first + dwords;
      if (isVcc(file, first)) {
        sources.dead++;
        continue;
      }
      const dead = mayBorrow(form.registers[index]!, form.borrowing) ? 'borrowed' : 'dead';
      sources[end <= Math.min(used, granted) ? dead : end <= granted ? 'granule' : 'grown']++;
      needs[file] = Math.max(needs[file], end);
    }
    const named = form.named.map(({ pointRegister }) => this.#named[pointRegister!]!);
    const { changes } = form.payload;
    const isChanged = named.some(({ file, first }) => holds(changes, registerNumber(file, first)));
    assert(!isChanged, 'what a payload changes is none of the registers that the point names');
    const reads = form.readsPhysical.concat(named);
    return { placed, sources, needs, form, ranges, reads, withoutWaits: [] };
  }

  #mayWait({ unknownInFlight }: PointState, { ranges, reads, form: { writesPhysical } }: Placed): boolean {
    const files = this.#files;
    const isPending = files.isPending(ranges) || files.isPending(reads) || files.isPending(writesPhysical);
    return isPending || unknownInFlight.size > 0;
  }

  #allocation(own: Placed, state: PointState, choice: number): PayloadAllocation {
    const waits = this.#mayWait(state, own) ? waitsFor(state, own, this.#plan) : NO_WAITS;
    const known = waits.size === 0 ? own.withoutWaits[choice] : undefined;
    if (known) return known;
    const { placed, sources, needs, form } = own;
    const wait = placed.counts.wait + placed.waitCount(waits);
    const home = form.borrowing.home?.kind ?? 'none';
    const counts = { ...placed.counts, wait };
    const made = { kind: 'allocation', code: placed.code(waits), counts, sources, home, needs, choice } as const;
    if (waits.size === 0) own.withoutWaits[choice] = made;
    return made;
  }
}

function noneFor({ file, dwords, alignmentDwords }: VirtualRegister): string {
  const group = dwords > 1 ? ` for a group of ${dwords} at a multiple of ${alignmentDwords}` : '';
  return `no ${file} registers are free${group}`;
}

const dwordsOf = (registers: readonly VirtualRegister[], file: VirtualRegister['file']): number =>
  registers.reduce((sum, each) => sum + (each.file === file ? each.dwords : 0), 0);

function singleRegisters(set: bigint): PhysicalRange[] {
  const found: PhysicalRange[] = [];
  for (let number = 0, rest = set; rest !== 0n; number++, rest >>= 1n) {
    if ((rest & 1n) === 0n) continue;
    const [file, first] = registerOf(number);
    found.push({ file, first, dwords: 1 });
  }
  return found;
}

/** So many registers have numbers that are digits of one. */
const MOST_DIGITS = 6;

function keyOf(numbers: readonly number[]): number | string {
  if (numbers.length > MOST_DIGITS) return String.fromCharCode(...numbers);
  let key = 0;
  for (let i = 0; i < numbers.length; i++) key = key * 256 + numbers[i]!;
  return key;
}

function isEqual(a: readonly number[], b: readonly number[]): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** As a place in `BARE_OPTIONS`. */
function savesAt({ isSccLive, gprIndexing }: PointState, live: LaneWords, clobbers: Saves): number {
  const vcc = clobbers.vcc && (live.isActive(SGPR_VCC_LO) || live.isActive(SGPR_VCC_LO + 1));
  const m0 = clobbers.m0 && live.isActive(SGPR_M0);
  return (
    Number(clobbers.scc && isSccLive) |
    (Number(vcc) << 1) |
    (Number(m0) << 2) |
    (Number(clobbers.gprIndexing && gprIndexing) << 3)
  );
}

function holds(ranges: readonly PhysicalRange[], register: number): boolean {
  for (let i = 0; i < ranges.length; i++) {
    const { file, first, dwords } = ranges[i]!;
    const from = registerNumber(file, first);
    if (from <= register && register < from + dwords) return true;
  }
  return false;
}

/** Accesses in flight that must be over before the payload reads and writes registers. */
function waitsFor(
  { inFlight, unknownInFlight }: PointState,
  { form: { writesPhysical }, reads, ranges }: Placed,
  plan: RegisterPlan,
): ReadonlyMap<WaitCounter, number> {
  const { accesses } = inFlight;
  if (accesses.length === 0 && unknownInFlight.size === 0) return NO_WAITS;
  let waits: Map<WaitCounter, number> | undefined;
  for (let i = 0; i < accesses.length; i++) {
    const { register, counter, access } = accesses[i]!;
    const isWritten = holds(ranges, register) || holds(writesPhysical, register);
    if (!isWritten && (access === 'read' || !holds(reads, register))) continue;
    const left = inFlight.leftOf(accesses[i]!);
    waits ??= new Map();
    waits.set(counter, Math.min(left, waits.get(counter) ?? left));
  }
  const all = [reads, writesPhysical, ranges];
  if (unknownInFlight.size > 0 && (plan.isOpen === true || touchesApplication(all, plan))) {
    waits ??= new Map();
    for (const counter of unknownInFlight) waits.set(counter, 0);
  }
  return waits ?? NO_WAITS;
}

/** Whether any of the ranges may be what an access of the application loads. */
function touchesApplication(all: readonly (readonly PhysicalRange[])[], plan: RegisterPlan): boolean {
  // No access loads EXEC.
  const isOfApplication = ({ file, first }: PhysicalRange): boolean =>
    first < plan[file].used || (file === 'scalar' && first >= SGPR_VCC_LO && first < SGPR_EXEC_LO);
  return all.some((ranges) => ranges.some(isOfApplication));
}
