/**
 * Registers of a function to rows. A lane's registers are its own, whatever other lanes of the wave do: so a
 * row may hold one register on one side of a branch and another one on the other side.
 */
import type { RegisterOperand } from '../../ir/step.ts';
import { FIRST_OWN_ROW, ROW_COUNT, ROWS_PER_FILE } from '../machine/places.ts';
import type { LinearCode } from './linearize.ts';
import { eachRead, eachWritten, type FunctionRegister } from './lir.ts';
import { visitLive } from './live-registers.ts';

/** Where each register is, by its number, and how many rows of each file are used. */
export interface RowAllocation {
  readonly rows: ReadonlyMap<number, RegisterOperand>;
  readonly vectorRows: number;
  readonly accumulatorRows: number;
}

/** The first and the last position at which a register holds something. */
interface Interval {
  readonly register: FunctionRegister;
  first: number;
  last: number;
}

/**
 * Where the rows do not suffice: registers that have to go elsewhere, of those that may; none where that is
 * not enough either.
 */
export function allocate(
  code: LinearCode,
  mayGo: (register: FunctionRegister) => boolean,
): RowAllocation | { readonly spilled: readonly FunctionRegister[] } {
  const intervals = intervalsOf(code);
  const pool = new RowPool();
  const rows = new Map<number, RegisterOperand>();
  const active: Interval[] = [];
  const spilled: FunctionRegister[] = [];
  for (const interval of intervals) {
    // The oldest that end stand anywhere: few are active at a time.
    for (let i = active.length - 1; i >= 0; i--) {
      const other = active[i]!;
      if (other.last >= interval.first) continue;
      pool.free(rows.get(other.register.id)!);
      active[i] = active.at(-1)!;
      active.pop();
    }
    active.push(interval);
    let place = pool.take(interval.register.dwords);
    while (!place) {
      // Who is needed last makes room.
      const candidates = active.filter(({ register }) => mayGo(register));
      if (candidates.length === 0) return { spilled: [] };
      const latest = candidates.reduce((a, b) => (a.last >= b.last ? a : b));
      active.splice(active.indexOf(latest), 1);
      spilled.push(latest.register);
      if (latest === interval) break;
      pool.free(rows.get(latest.register.id)!);
      place = pool.take(interval.register.dwords);
    }
    if (place) rows.set(interval.register.id, place);
  }
  if (spilled.length > 0) return { spilled };
  return { rows, vectorRows: pool.used('vector'), accumulatorRows: pool.used('accumulator') };
}

class RowPool {
  readonly #isTaken = new Uint8Array(ROW_COUNT);
  #most = FIRST_OWN_ROW;

  constructor() {
    this.#isTaken.fill(1, 0, FIRST_OWN_ROW);
  }

  take(dwords: 1 | 2): RegisterOperand | undefined {
    for (let row = 0; row + dwords <= ROW_COUNT; row++) {
      if (this.#isTaken[row] || (dwords === 2 && (this.#isTaken[row + 1] || row + 1 === ROWS_PER_FILE))) continue;
      this.#isTaken.fill(1, row, row + dwords);
      this.#most = Math.max(this.#most, row + dwords);
      const file = row < ROWS_PER_FILE ? 'vector' : 'accumulator';
      return { kind: 'register', file, first: row % ROWS_PER_FILE, dwords, isHighHalf: false };
    }
    return undefined;
  }

  free({ file, first, dwords }: RegisterOperand): void {
    const row = first + (file === 'vector' ? 0 : ROWS_PER_FILE);
    this.#isTaken.fill(0, row, row + dwords);
  }

  /** Rows of a file, counted up to the last one that is used. */
  used(file: 'vector' | 'accumulator'): number {
    return file === 'vector' ? Math.min(this.#most, ROWS_PER_FILE) : Math.max(0, this.#most - ROWS_PER_FILE);
  }
}

/** In the order of their beginnings. */
function intervalsOf({ blocks }: LinearCode): readonly Interval[] {
  const intervals = new Map<number, Interval>();
  let latest: Interval | undefined;
  const touch = (register: FunctionRegister, position: number): void => {
    // Who asks for one often asks for it again.
    if (latest?.register.id !== register.id) {
      latest = intervals.get(register.id) ?? { register, first: position, last: position };
      intervals.set(register.id, latest);
    }
    if (position < latest.first) latest.first = position;
    if (position > latest.last) latest.last = position;
  };
  let position = 0;
  const read = (register: FunctionRegister): void => touch(register, position);
  const written = (register: FunctionRegister): void => touch(register, position + 1);
  const starts: number[] = [];
  const ends: number[] = [];
  for (const { code } of blocks) {
    starts.push(position);
    for (const line of code) {
      eachRead(line, read);
      eachWritten(line, written);
      position += 2;
    }
    ends.push(position);
    position += 2;
  }
  visitLive(
    { blocks },
    {
      before: (register, block) => touch(register, starts[block]!),
      behind: (register, block) => touch(register, ends[block]!),
    },
  );
  return [...intervals.values()].sort((a, b) => a.first - b.first);
}
