/**
 * Executions by pc, on one thread: each instruction that is decoded has counts in state memory, which its
 * records name (RECORD_COUNTS) and executors raise; instructions that always run together, with the same
 * lanes, share further ones where they are compiled. What they hold belongs to one dispatch at a time; it is
 * taken away when another one runs, and before code is forgotten.
 */
import { popcount32 } from '../../ir/int-ops.ts';
import { type AccessCounter, type AccessCounts, NO_ACCESSES, sumOfAccesses } from '../machine/access-counter.ts';
import {
  COUNT_LANES,
  COUNT_TAKEN,
  COUNT_WAVES,
  COUNTS_SIZE_BYTES,
  RECORD_COUNTS,
  STATE_OFFSETS,
} from '../machine/layout.ts';
import type { SharedState } from '../machine/state-memory.ts';
import { pcOf } from './record-pc.ts';

/**
 * How often an instruction was executed, by waves, and by their lanes that EXEC had on at that time; `taken`:
 * how often it was a conditional branch that was taken.
 */
export interface Executions {
  readonly waves: number;
  readonly lanes: number;
  readonly taken: number;
  /** Where they are counted. */
  readonly memory?: AccessCounts | undefined;
}

/** By the offset of the instruction in device memory. */
export type ExecutionCounts = Map<number, Executions>;

const COUNTED = [COUNT_WAVES, COUNT_LANES, COUNT_TAKEN] as const;

const BLOCK_SIZE_BYTES = 1 << 16;

export class PcCounter {
  readonly #state: SharedState;
  readonly accesses: AccessCounter | undefined;
  readonly #allocated: (sizeBytes: number) => void;
  /** Code offset to the address of its counts. */
  readonly #places = new Map<number, number>();
  /** Those of instructions that share them. */
  readonly #shared: (readonly [place: number, offsets: readonly number[]])[] = [];
  readonly #blocks: number[] = [];
  #next = 0;
  #end = 0;
  #owner: ExecutionCounts = new Map();

  /** `allocated` is told what memory is taken; `accesses`: what counts accesses by records, if anything. */
  constructor(state: SharedState, allocated: (sizeBytes: number) => void, accesses: AccessCounter | undefined) {
    this.accesses = accesses;
    this.#state = state;
    this.#allocated = allocated;
  }

  /** Address of the counts of the instruction at a code offset. */
  place(offset: number): number {
    let place = this.#places.get(offset);
    if (place === undefined) {
      place = this.#newPlace();
      this.#places.set(offset, place);
    }
    return place;
  }

  /** Address of counts that all the instructions at these offsets are counted by. */
  sharedPlace(offsets: readonly number[]): number {
    const place = this.#newPlace();
    this.#shared.push([place, offsets]);
    return place;
  }

  #newPlace(): number {
    if (this.#next + COUNTS_SIZE_BYTES > this.#end) {
      this.#next = this.#state.allocate(BLOCK_SIZE_BYTES);
      this.#end = this.#next + BLOCK_SIZE_BYTES;
      this.#blocks.push(this.#next);
      this.#allocated(BLOCK_SIZE_BYTES);
    }
    const place = this.#next;
    this.#next += COUNTS_SIZE_BYTES;
    return place;
  }

  /** Adds an execution with so many active lanes, or takes one back. */
  add(record: number, lanes: number, times: 1 | -1): void {
    this.#raise(record, COUNT_WAVES, times);
    this.#raise(record, COUNT_LANES, times * lanes);
  }

  /** Adds a branch that was taken. */
  addTaken(record: number): void {
    this.#raise(record, COUNT_TAKEN, 1);
  }

  #raise(record: number, at: number, amount: number): void {
    const { view } = this.#state;
    const place = view.getUint32(record + RECORD_COUNTS, true) + at;
    view.setBigInt64(place, view.getBigInt64(place, true) + BigInt(amount), true);
  }

  /** Keeps what instructions are counted by now: what it returns takes back what is counted since. */
  keep(offsets: readonly number[]): () => void {
    const { bytes } = this.#state;
    const kept = offsets.map((offset) => {
      const place = this.place(offset);
      return [place, bytes.slice(place, place + COUNTS_SIZE_BYTES)] as const;
    });
    return () => {
      for (const [place, counts] of kept) bytes.set(counts, place);
    };
  }

  /** What it returns adds so many lanes to each execution of these instructions since. */
  addLanesLater(offsets: readonly number[], lanes: number): () => void {
    const { view } = this.#state;
    const wavesOf = (place: number): bigint => view.getBigInt64(place + COUNT_WAVES, true);
    const before = offsets.map((offset) => [this.place(offset), wavesOf(this.place(offset))] as const);
    return () => {
      for (const [place, waves] of before) {
        const missing = (wavesOf(place) - waves) * BigInt(lanes);
        view.setBigInt64(place + COUNT_LANES, view.getBigInt64(place + COUNT_LANES, true) + missing, true);
      }
    };
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

  /** Forgets the places. No record and no compiled code may name them. */
  forgetCode(): void {
    this.#settle();
    for (const block of this.#blocks.splice(0)) this.#state.free(block);
    this.#places.clear();
    this.#shared.length = 0;
    this.#next = this.#end = 0;
  }

  #settle(): void {
    for (const [offset, place] of this.#places) this.#move(place, [offset]);
    for (const [place, offsets] of this.#shared) this.#move(place, offsets);
    for (const [record, memory] of this.accesses?.take() ?? []) {
      addExecutions(this.#owner, pcOf(this.#state, record), { waves: 0, lanes: 0, taken: 0, memory });
    }
  }

  #move(place: number, offsets: readonly number[]): void {
    const { view } = this.#state;
    const [waves, lanes, taken] = COUNTED.map((at) => Number(view.getBigInt64(place + at, true)));
    if (waves === 0 && lanes === 0 && taken === 0) return;
    for (const offset of offsets) addExecutions(this.#owner, offset, { waves: waves!, lanes: lanes!, taken: taken! });
    for (const at of COUNTED) view.setBigInt64(place + at, 0n, true);
  }
}

export function addExecutions(counts: ExecutionCounts, offset: number, added: Executions): void {
  const { waves, lanes, taken, memory } = added;
  const known = counts.get(offset);
  counts.set(offset, {
    waves: (known?.waves ?? 0) + waves,
    lanes: (known?.lanes ?? 0) + lanes,
    taken: (known?.taken ?? 0) + taken,
    ...((memory ?? known?.memory) && {
      memory: sumOfAccesses(known?.memory ?? NO_ACCESSES, memory ?? NO_ACCESSES),
    }),
  });
}

/** How many lanes EXEC has on. */
export function activeLanes(view: DataView, wave: number, waveSize: 32 | 64): number {
  const at = wave + STATE_OFFSETS.exec;
  return popcount32(view.getInt32(at, true)) + (waveSize === 64 ? popcount32(view.getInt32(at + 4, true)) : 0);
}

/** Words of 64 bits of each instruction in a table. */
const ENTRY_WORDS = 9;
const ENTRY_SIZE_BYTES = 8 * ENTRY_WORDS;

/** Counts as a thread leaves them to another one: a table in state memory, which the reader frees. */
export interface CountTable {
  readonly address: number;
  readonly length: number;
}

/** Undefined for no counts. */
export function writeCountTable(state: SharedState, counts: ExecutionCounts): CountTable | undefined {
  if (counts.size === 0) return undefined;
  const address = state.allocate(counts.size * ENTRY_SIZE_BYTES);
  const table = new BigInt64Array(state.view.buffer, address, counts.size * ENTRY_WORDS);
  const words = ([offset, { waves, lanes, taken, memory = NO_ACCESSES }]: [number, Executions]): number[] => {
    const { accesses, bytes, segments, cycles, conflicts } = memory;
    return [offset, waves, lanes, taken, accesses, bytes, segments, cycles, conflicts];
  };
  table.set([...counts].flatMap((each) => words(each).map(BigInt)));
  return { address, length: counts.size };
}

export function takeCountTable(state: SharedState, { address, length }: CountTable): ExecutionCounts {
  const table = Array.from(new BigInt64Array(state.view.buffer, address, length * ENTRY_WORDS), Number);
  state.free(address);
  const counts: ExecutionCounts = new Map();
  for (let at = 0; at < table.length; at += ENTRY_WORDS) {
    // reason: an entry has as many words
    const entry = table.slice(at, at + ENTRY_WORDS) as TableEntry;
    const [offset, waves, lanes, taken, accesses, bytes, segments, cycles, conflicts] = entry;
    const memory = accesses > 0 ? { accesses, bytes, segments, cycles, conflicts } : undefined;
    counts.set(offset, { waves, lanes, taken, ...(memory && { memory }) });
  }
  return counts;
}

type TableEntry = [number, number, number, number, number, number, number, number, number];
