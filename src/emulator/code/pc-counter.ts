/**
 * Executions by pc, on one thread: each instruction that is decoded has counts in state memory, which its
 * records name (RECORD_COUNTS) and executors raise. What they hold belongs to one dispatch at a time; it is
 * taken away when another one runs, and before code is forgotten.
 */
import { popcount32 } from '../../ir/int-ops.ts';
import { COUNT_LANES, COUNT_WAVES, COUNTS_SIZE_BYTES, RECORD_COUNTS, STATE_OFFSETS } from '../machine/layout.ts';
import type { SharedState } from '../machine/state-memory.ts';

/** How often an instruction was executed, by waves, and by their lanes that EXEC had on at that time. */
export interface Executions {
  readonly waves: number;
  readonly lanes: number;
}

/** By the offset of the instruction in device memory. */
export type ExecutionCounts = Map<number, Executions>;

const BLOCK_SIZE_BYTES = 1 << 16;

export class PcCounter {
  readonly #state: SharedState;
  readonly #allocated: (sizeBytes: number) => void;
  /** Code offset to the address of its counts. */
  readonly #places = new Map<number, number>();
  readonly #blocks: number[] = [];
  #next = 0;
  #end = 0;
  #owner: ExecutionCounts = new Map();

  /** `allocated` is told what memory is taken. */
  constructor(state: SharedState, allocated: (sizeBytes: number) => void) {
    this.#state = state;
    this.#allocated = allocated;
  }

  /** Address of the counts of the instruction at a code offset. */
  place(offset: number): number {
    let place = this.#places.get(offset);
    if (place === undefined) {
      if (this.#next === this.#end) {
        this.#next = this.#state.allocate(BLOCK_SIZE_BYTES);
        this.#end = this.#next + BLOCK_SIZE_BYTES;
        this.#blocks.push(this.#next);
        this.#allocated(BLOCK_SIZE_BYTES);
      }
      place = this.#next;
      this.#next += COUNTS_SIZE_BYTES;
      this.#places.set(offset, place);
    }
    return place;
  }

  /** Adds an execution with so many active lanes, or takes one back. */
  add(record: number, lanes: number, times: 1 | -1): void {
    const { view } = this.#state;
    const place = view.getUint32(record + RECORD_COUNTS, true);
    const raise = (at: number, amount: number): void =>
      view.setBigInt64(at, view.getBigInt64(at, true) + BigInt(amount), true);
    raise(place + COUNT_WAVES, times);
    raise(place + COUNT_LANES, times * lanes);
  }

  /** What is counted from now on belongs to `owner`. */
  countFor(owner: ExecutionCounts): void {
    if (this.#owner === owner) return;
    this.#settle();
    this.#owner = owner;
  }

  /** `owner` holds all that was counted for it. */
  settle(owner: ExecutionCounts): void {
    if (this.#owner === owner) this.#settle();
  }

  /** Forgets the places. No record may name them. */
  forgetCode(): void {
    this.#settle();
    for (const block of this.#blocks.splice(0)) this.#state.free(block);
    this.#places.clear();
    this.#next = this.#end = 0;
  }

  #settle(): void {
    const { view } = this.#state;
    for (const [offset, place] of this.#places) {
      const [waves, lanes] = [COUNT_WAVES, COUNT_LANES].map((at) => Number(view.getBigInt64(place + at, true)));
      if (waves === 0) continue;
      addExecutions(this.#owner, offset, { waves: waves!, lanes: lanes! });
      for (const at of [COUNT_WAVES, COUNT_LANES]) view.setBigInt64(place + at, 0n, true);
    }
  }
}

export function addExecutions(counts: ExecutionCounts, offset: number, { waves, lanes }: Executions): void {
  const known = counts.get(offset);
  counts.set(offset, { waves: (known?.waves ?? 0) + waves, lanes: (known?.lanes ?? 0) + lanes });
}

/** How many lanes EXEC has on. */
export function activeLanes(view: DataView, wave: number, waveSize: 32 | 64): number {
  const at = wave + STATE_OFFSETS.exec;
  return popcount32(view.getInt32(at, true)) + (waveSize === 64 ? popcount32(view.getInt32(at + 4, true)) : 0);
}

/** Of each instruction: offset, waves and lanes, in words of 64 bits. */
const ENTRY_SIZE_BYTES = 24;

/** Counts as a thread leaves them to another one: a table in state memory, which the reader frees. */
export interface CountTable {
  readonly address: number;
  readonly length: number;
}

/** Undefined for no counts. */
export function writeCountTable(state: SharedState, counts: ExecutionCounts): CountTable | undefined {
  if (counts.size === 0) return undefined;
  const address = state.allocate(counts.size * ENTRY_SIZE_BYTES);
  const table = new BigUint64Array(state.view.buffer, address, counts.size * 3);
  table.set([...counts].flatMap(([offset, { waves, lanes }]) => [offset, waves, lanes].map(BigInt)));
  return { address, length: counts.size };
}

export function takeCountTable(state: SharedState, { address, length }: CountTable): ExecutionCounts {
  const table = Array.from(new BigUint64Array(state.view.buffer, address, length * 3), Number);
  state.free(address);
  return new Map(
    Array.from({ length }, (_, i) => [table[3 * i]!, { waves: table[3 * i + 1]!, lanes: table[3 * i + 2]! }]),
  );
}
