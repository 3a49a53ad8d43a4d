/**
 * A payload as the allocator wants it: with the saves that a point needs and waits for its own loads, which
 * virtual registers are needed at the same time, and what it touches of the application. It is worked out
 * once for all points.
 */
import { assert } from '../../base/errors.ts';
import { type BasicBlock, basicBlocks, type Followed } from '../../flow/blocks.ts';
import { type LaneEffects, LaneLiveness } from '../../flow/lane-liveness.ts';
import { registerSet } from '../../flow/steps.ts';
import type { PayloadLabel } from '../layout/payload-code.ts';
import type { MachineInstruction, Payload, PhysicalRange, VirtualRegister } from './machine-code.ts';
import { type PayloadEffects, payloadEffects, type VirtualRange } from './payload-effects.ts';
import { withOwnWaits } from './payload-waits.ts';
import {
  type Borrowing,
  clobbersOf,
  type FormOptions,
  type KeptRegisters,
  type Saves,
  withSaves,
} from './state-saves.ts';
import { homeKey } from './vector-homes.ts';

export interface PayloadForm {
  readonly payload: Payload;
  readonly borrowing: Borrowing;
  /** In the order in which they are given physical registers: large ones first. */
  readonly registers: readonly VirtualRegister[];
  /** Those that the point names. */
  readonly named: readonly VirtualRegister[];
  /** Those that registers are of. */
  readonly files: readonly VirtualRegister['file'][];
  /** For each register those that need other physical registers, by position. */
  readonly conflicts: readonly (readonly number[])[];
  readonly readsPhysical: readonly PhysicalRange[];
  readonly writesPhysical: readonly PhysicalRange[];
}

const KEY_RADIX = 36;

const analysed = new WeakMap<Payload, PayloadForms>();

/** The forms of one payload, by what they save. */
export class PayloadForms {
  readonly clobbers: Saves;
  /** What a call may overwrite, over REGISTER_PLACES. */
  readonly clobbered: bigint;
  /** Whether single instructions move between vector and accumulation registers of one file. */
  readonly hasAccumulatorHomes: boolean;
  readonly code: Payload['code'];
  readonly #payload: Payload;
  readonly #forms = new Map<string, PayloadForm>();
  /** Those that keep no registers, by what they save and borrow. */
  readonly #plain: PayloadForm[] = [];

  /** Analysed once for all kernels. */
  static of(payload: Payload): PayloadForms {
    const forms = analysed.get(payload) ?? new PayloadForms(payload);
    analysed.set(payload, forms);
    return forms;
  }

  private constructor(payload: Payload) {
    this.#payload = withOwnWaits(payload);
    this.code = payload.code;
    this.clobbers = clobbersOf(this.#payload);
    this.hasAccumulatorHomes = payload.code.target.unifiedVgprs;
    this.clobbered = registerSet(payload.envelope?.clobbers ?? []);
  }

  form(options: FormOptions): PayloadForm {
    const { saves, borrowing, kept } = options;
    const { scc, vcc, m0, gprIndexing } = saves;
    const { borrowsFirstLanes, borrowsScalars, borrowsMasks, home, spared = [] } = borrowing;
    const isPlain = !home && !kept && spared.length === 0;
    const saved = Number(scc) | (Number(vcc) << 1) | (Number(m0) << 2) | (Number(gprIndexing) << 3);
    const number = saved | (Number(borrowsFirstLanes) << 4) | (Number(borrowsScalars) << 5);
    const plain = isPlain ? this.#plain[number] : undefined;
    if (plain) return plain;
    const own = `${saved} ${borrowsFirstLanes} ${borrowsScalars} ${borrowsMasks} ${homeKey(home)} ${spared.join()}`;
    const key = kept ? `${own} ${kept.set.toString(KEY_RADIX)}` : own;
    let form = this.#forms.get(key);
    if (!form) {
      form = formOf(withSaves(this.#around(kept), options), borrowing);
      this.#forms.set(key, form);
    }
    if (isPlain) this.#plain[number] = form;
    return form;
  }

  /** How many were made: large ones for many points cost much memory. */
  get count(): number {
    return this.#forms.size;
  }

  #around(kept: KeptRegisters | undefined): Payload {
    const { envelope } = this.#payload;
    if (!envelope || !kept) return this.#payload;
    return withOwnWaits({ ...this.#payload, items: envelope.around(kept.ranges) });
  }
}

interface Line {
  readonly item: MachineInstruction;
  readonly effects: PayloadEffects;
}

function formOf(payload: Payload, borrowing: Borrowing): PayloadForm {
  const lines = payload.items.flatMap((item): Line[] =>
    item.kind === 'instruction' ? [{ item, effects: payloadEffects(item) }] : [],
  );
  const all = registersOf(lines);
  const isNamed = ({ pointRegister }: VirtualRegister): boolean => pointRegister !== undefined;
  const registers = all.filter((register) => !isNamed(register));
  return {
    payload,
    borrowing,
    registers,
    named: all.filter(isNamed),
    files: [...new Set(registers.map(({ file }) => file))],
    conflicts: conflictsOf(payload, lines, registers, new Places(all)),
    readsPhysical: lines.flatMap(({ effects }) => effects.readsPhysical),
    writesPhysical: lines.flatMap(({ effects }) => effects.writesPhysical),
  };
}

function registersOf(lines: readonly Line[]): VirtualRegister[] {
  const found = new Set(lines.flatMap(({ item }) => [...item.registers.values()].map(({ register }) => register)));
  return [...found].sort(
    (a, b) => b.dwords - a.dwords || Number(b.writesOtherLanes) - Number(a.writesOtherLanes) || a.id - b.id,
  );
}

/** Behind the last line. */
const END = 'end';
const ENDING: LaneEffects = {
  ...{ reads: 0n, crossReads: 0n, scalarWrites: 0n, rowWrites: 0n },
  ...{ maskChange: 'none', isOpaque: false, ends: true },
};

/** The places of virtual registers in sets: a bit for each dword, those of scalars first. */
class Places {
  readonly #first = new Map<VirtualRegister, number>();
  readonly #size: number;
  readonly rows: bigint;

  constructor(registers: readonly VirtualRegister[]) {
    let next = 0;
    const take = (file: VirtualRegister['file']): void => {
      for (const register of registers.filter((each) => each.file === file)) {
        this.#first.set(register, next);
        next += register.dwords;
      }
    };
    take('scalar');
    const scalars = next;
    take('vector');
    take('accumulator');
    this.#size = next;
    this.rows = ((1n << BigInt(next)) - 1n) & ~((1n << BigInt(scalars)) - 1n);
  }

  get everything(): bigint {
    return (1n << BigInt(this.#size)) - 1n;
  }

  bits({ register, firstDword, dwords }: VirtualRange): bigint {
    return ((1n << BigInt(dwords)) - 1n) << BigInt(this.#first.get(register)! + firstDword);
  }

  sum(ranges: readonly VirtualRange[]): bigint {
    return ranges.reduce((sum, range) => sum | this.bits(range), 0n);
  }
}

function conflictsOf(
  payload: Payload,
  lines: readonly Line[],
  registers: readonly VirtualRegister[],
  places: Places,
): readonly (readonly number[])[] {
  const laneEffects = new Map<Line | typeof END, LaneEffects>(
    lines.map((line) => [line, laneEffectsOf(line.effects, places)]),
  );
  const liveness = new LaneLiveness(blocksOf(payload, lines), (line) => laneEffects.get(line) ?? ENDING, places);
  const bits = registers.map((register) => places.bits({ register, firstDword: 0, dwords: register.dwords }));
  const matrix = registers.map(() => new Set<number>());
  for (const line of lines) {
    const { reads, writes } = line.effects;
    const live = liveness.after(line);
    const written = places.sum(writes);
    // Results may be there before all sources have been read: memory accesses that are replayed, and results
    // of several registers.
    const isEarly = line.effects.effects.counters.size > 0 || writes.some(({ dwords }) => dwords > 1);
    const needed = live.active | live.inactive | written | (isEarly ? places.sum(reads) : 0n);
    for (const { register } of writes) {
      const a = registers.indexOf(register);
      for (let b = 0; b < registers.length; b++) {
        if (a === b || (bits[b]! & needed) === 0n) continue;
        matrix[a]!.add(b);
        matrix[b]!.add(a);
      }
    }
  }
  return matrix.map((set) => [...set]);
}

function laneEffectsOf({ reads, writes, effects }: PayloadEffects, places: Places): LaneEffects {
  const crossLane = effects.reads.some(({ isCrossLane }) => isCrossLane);
  const whole = places.sum(writes.filter(({ isPartial }) => !isPartial));
  return {
    // What is written in part keeps what it had.
    reads:
      places.sum(reads) |
      places.sum(writes.filter(({ isPartial, register }) => isPartial && register.file === 'scalar')),
    crossReads: crossLane ? places.sum(reads) & places.rows : 0n,
    scalarWrites: whole & ~places.rows,
    rowWrites: whole & places.rows,
    maskChange: effects.writesState.has('exec') ? 'any' : 'none',
    isOpaque: false,
    ends: false,
  };
}

/** Blocks of the lines, with the end of the payload behind them. */
function blocksOf({ items }: Payload, lines: readonly Line[]): BasicBlock<Line | typeof END>[] {
  const places = new Map<PayloadLabel, number>();
  let place = 0;
  for (const item of items) {
    if (item.kind === 'label') places.set(item.label, place);
    else place++;
  }
  const code = lines.map(({ item }, at): Followed<Line | typeof END> => {
    const { target, template } = item;
    const to = target && places.get(target);
    assert(!target || to !== undefined, () => `label ${target?.name} is placed`);
    const isJump = template.row.flags.terminator === 'branch';
    return {
      ...{ instruction: lines[at]!, next: isJump ? undefined : at + 1, target: to },
      ...{ leaves: false, endsBlock: target !== undefined },
    };
  });
  code.push({ instruction: END, next: undefined, target: undefined, leaves: false, endsBlock: true });
  return basicBlocks(new Map(code.entries()), [0]);
}
