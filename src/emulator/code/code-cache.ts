/**
 * Machine code to records: decodes what is reachable by direct branches from an address, and links the
 * records. There is one cache for each (wave size, MODE), because handlers are specialised on both.
 *
 * A record stands for one step at one place; a handler runs it. It holds the slot of the handler, the record
 * of the branch target, the pc of the step and of the following one, and the parameters that steps with one
 * handler differ in: for each operand the offset of its register in the wave state, its constant, or the
 * address of its lane table. The record of the following step stands behind it; where that one has its record
 * elsewhere, a record without a step leads there. Nothing reads a record back to learn what the step means:
 * `step` says that.
 */
import { assert, WavewrightError } from '../../base/errors.ts';
import { reachable } from '../../flow/blocks.ts';
import { fallsThrough, followingOffset, type Step } from '../../ir/step.ts';
import type { Leaf, Program, Value } from '../../ir/types.ts';
import type { HandlerTable } from '../handlers/handler-table.ts';
import type { HostWork } from '../machine/host-work.ts';
import {
  JUMP_CACHE_ENTRIES,
  LEADER_AGPRS,
  LEADER_COUNT,
  LEADER_SERIES,
  LEADER_SGPRS,
  LEADER_VGPRS,
  NO_MODE,
  RECORD_COUNTS,
  RECORD_HANDLER,
  RECORD_NEW_MODE,
  RECORD_NEW_MODE_JUMP_CACHE,
  RECORD_NEW_MODE_NEXT,
  RECORD_NEXT_PC,
  RECORD_OPERANDS,
  RECORD_PC,
  RECORD_SIZE_BYTES,
  RECORD_TARGET,
  SCALAR_COUNT,
  VGPR_COUNT,
} from '../machine/layout.ts';
import type { Memories, SharedMemory } from '../machine/memory.ts';
import { operandForm, registerOffset } from '../machine/operand-places.ts';
import type { SharedState } from '../machine/state-memory.ts';
import { DecodeNotes } from './decode-notes.ts';
import type { StepReader } from './front-end.ts';
import { assertRecordHolds, assertWithinOperands } from './operand-bounds.ts';
import type { PcCounter } from './pc-counter.ts';

/**
 * Instructions decoded at once, at most and at least; code beyond is decoded when a wave gets there: of long
 * functions waves often execute little.
 */
const MAX_INSTRUCTIONS = 1024;
const MIN_INSTRUCTIONS = 64;
/** Requests of at most so much share blocks of this size. */
const BLOCK_SIZE_BYTES = 1 << 16;
/** What the host's own objects of an empty cache take, about. */
const CACHE_BYTES = 8192;

/** Why a record stops the wave. */
export interface Untranslated {
  readonly code: 'illegal' | 'unsupported';
  readonly message: string;
}

/** What is at an offset of the code. */
interface Found {
  readonly offset: number;
  readonly step: Step | undefined;
  readonly failure?: Untranslated;
}

/** What a cache works with. */
export interface CodeOptions {
  readonly waveSize: 32 | 64;
  /** What the meaning of code depends on, for what is kept of it. */
  readonly keyed: string;
  readonly reader: StepReader;
  readonly handlers: HandlerTable;
  readonly work: HostWork;
  /** Executions of a leader until its code is compiled; undefined: there are no leaders. */
  readonly leaderCount: number | undefined;
  /** Where executions are counted by pc. */
  readonly pcCounter: PcCounter | undefined;
}

export class CodeCache {
  /** Address of the table that jump handlers look into. */
  readonly jumpCache: number;
  readonly waveSize: 32 | 64;
  readonly #state: SharedState;
  /** Where code is. */
  readonly #memory: SharedMemory;
  readonly #handlers: HandlerTable;
  readonly #reader: StepReader;
  readonly #notes: DecodeNotes;
  /** Code offset to record. */
  readonly #records = new Map<number, number>();
  readonly #steps = new Map<number, Step>();
  readonly #untranslated = new Map<number, Untranslated>();
  readonly #laneTables = new Map<string, number>();
  /** Records that stand for code that is not decoded yet, by its offset. */
  readonly #stubs = new Map<number, number>();
  /** Executions of a leader until its code is compiled; undefined: there are no leaders. */
  readonly #leaderCount: number | undefined;
  /** Leaders by the record that they stand for, and the other way round. */
  readonly #leaders = new Map<number, number>();
  readonly #leaderOf = new Map<number, number>();
  /** Memory of the records; one block is being filled from `#next`. */
  readonly #blocks: number[] = [];
  #next = 0;
  #blockEnd = 0;
  readonly #work: HostWork;
  readonly #pcCounter: PcCounter | undefined;
  /** Instructions that the next request decodes: fewer after one of which not all got a handler. */
  #maxInstructions = MAX_INSTRUCTIONS;

  constructor({ state, memory }: Memories, options: CodeOptions) {
    const { waveSize, keyed, reader, handlers, work, leaderCount, pcCounter } = options;
    this.#notes = new DecodeNotes(memory, reader, handlers, keyed);
    this.#work = work;
    this.#pcCounter = pcCounter;
    this.#leaderCount = leaderCount;
    this.#state = state;
    this.#memory = memory;
    this.#handlers = handlers;
    this.#reader = reader;
    this.waveSize = waveSize;
    this.jumpCache = state.allocate(JUMP_CACHE_ENTRIES * 8);
    state.bytes.fill(0xff, this.jumpCache, this.jumpCache + JUMP_CACHE_ENTRIES * 8);
    work.allocate(JUMP_CACHE_ENTRIES * 8 + CACHE_BYTES);
  }

  /** Gives its memory back. No record of it may be used any more. */
  release(): void {
    for (const block of [...this.#blocks, this.jumpCache]) this.#state.free(block);
  }

  /**
   * Where to go on at code offset `offset`: its record, or the leader of that. Code that is not decoded yet
   * is, and its new handlers are compiled.
   */
  record(offset: number): number {
    if (!this.#records.has(offset)) this.#translate(offset);
    return this.leader(this.#records.get(offset)!);
  }

  /** Whether the code at an offset is decoded. */
  has(offset: number): boolean {
    return this.#records.has(offset);
  }

  /** The leader of a record, made when there is none; the record itself when leaders are not asked for. */
  leader(record: number): number {
    if (this.#leaderCount === undefined) return record;
    let leader = this.#leaders.get(record);
    if (leader === undefined) {
      const { view } = this.#state;
      leader = this.allocateRecords(1);
      this.#leaders.set(record, leader);
      this.#leaderOf.set(leader, record);
      view.setUint32(leader + RECORD_HANDLER, this.#handlers.leaderSlot, true);
      view.setUint32(leader + RECORD_TARGET, record, true);
      // The instruction's record may not be filled yet, so nothing is copied from it. Until the code is
      // compiled nobody knows what it reads first, so a wave that starts here gets all registers set up.
      view.setUint32(leader + LEADER_COUNT, this.#leaderCount, true);
      view.setUint32(leader + LEADER_VGPRS, VGPR_COUNT, true);
      view.setUint32(leader + LEADER_AGPRS, VGPR_COUNT, true);
      view.setUint32(leader + LEADER_SGPRS, SCALAR_COUNT, true);
      view.setUint32(leader + LEADER_SERIES, 0, true);
    }
    return leader;
  }

  /** The leader of a record if there is one. */
  leaderOf(record: number): number | undefined {
    return this.#leaders.get(record);
  }

  /** The instruction's record that a leader stands for; other records stand for themselves. */
  behindLeader(record: number): number {
    return this.#leaderOf.get(record) ?? record;
  }

  /** As `record`, and jumps find it without asking from then on. */
  jumpTarget(offset: number): number {
    const record = this.record(offset);
    const entry = this.jumpCache + ((offset >>> 2) & (JUMP_CACHE_ENTRIES - 1)) * 8;
    this.#state.view.setUint32(entry, offset, true);
    this.#state.view.setUint32(entry + 4, record, true);
    return record;
  }

  /** Where to go on at code offset `offset`, for a wave that may never get there: decodes nothing yet. */
  destination(offset: number): number {
    const record = this.#target(offset);
    this.#handlers.compile();
    return record;
  }

  /**
   * Where a wave goes on with this code whose MODE became `mode`: behind the instruction of record
   * `changing`, which finds it by itself from then on.
   */
  afterModeChange(changing: number, mode: number): number {
    const { view } = this.#state;
    const next = this.record(view.getUint32(changing + RECORD_NEXT_PC, true));
    view.setUint32(changing + RECORD_NEW_MODE, mode, true);
    view.setUint32(changing + RECORD_NEW_MODE_NEXT, next, true);
    view.setUint32(changing + RECORD_NEW_MODE_JUMP_CACHE, this.jumpCache, true);
    return next;
  }

  /** The step that a record stands for; undefined: for none. */
  step(record: number): Step | undefined {
    return this.#steps.get(record);
  }

  /** The step at an offset where code is decoded and can run. */
  stepAt(offset: number): Step | undefined {
    const record = this.#records.get(offset);
    return record === undefined || this.#untranslated.has(record) ? undefined : this.#steps.get(record);
  }

  /** As `stepAt`; code that is not decoded yet is. */
  reachedStep(offset: number): Step | undefined {
    if (!this.#records.has(offset)) this.#translate(offset);
    return this.stepAt(offset);
  }

  /** The record of the step at an offset where code is decoded. */
  recordAt(offset: number): number {
    const record = this.#records.get(offset);
    assert(record !== undefined, 'there is a record where a step is');
    return record;
  }

  untranslated(record: number): Untranslated | undefined {
    return this.#untranslated.get(record);
  }

  #translate(start: number): void {
    const end = this.#notes.begin(start);
    const found = this.#reachable(start);
    this.#work.decode(found.length);
    const sorted = found.toSorted((a, b) => a.offset - b.offset);
    // A run of consecutive instructions gets consecutive records; where one falls through to code that has
    // records elsewhere, a record that branches there follows.
    const branches: { record: number; offset: number }[] = [];
    let runStart = 0;
    for (let i = 1; i <= sorted.length; i++) {
      const { step } = sorted[i - 1]!;
      if (i < sorted.length && step && sorted[i]!.offset === followingOffset(step)) continue;
      const branch = this.#placeRun(sorted.slice(runStart, i));
      if (branch) branches.push(branch);
      runStart = i;
    }
    const postponed = found.slice(this.#fillAll(found));
    for (const { offset } of postponed) this.#postpone(offset);
    this.#maxInstructions = postponed.length
      ? Math.max(MIN_INSTRUCTIONS, 2 * (found.length - postponed.length))
      : Math.min(MAX_INSTRUCTIONS, 2 * this.#maxInstructions);
    for (const { record, offset } of branches) this.#fillBranch(record, offset);
    for (const { offset } of sorted) {
      const stub = this.#stubs.get(offset);
      if (stub === undefined || !this.#records.has(offset)) continue;
      this.#fillBranch(stub, offset);
      this.#stubs.delete(offset);
    }
    this.#handlers.compile();
    end?.();
  }

  /** Fills records until there are too many new handlers; returns how many are filled. */
  #fillAll(items: readonly Found[]): number {
    for (const [i, item] of items.entries()) {
      if (this.#handlers.isFull) return i;
      this.#fill(this.#records.get(item.offset)!, item);
    }
    return items.length;
  }

  /**
   * Turns a record that got no handler into a stub: a wave that gets there has the code decoded once more.
   */
  #postpone(offset: number): void {
    const record = this.#records.get(offset)!;
    this.#records.delete(offset);
    if (!this.#stubs.has(offset)) this.#stubs.set(offset, record);
    this.#fillBranch(record, offset);
  }

  /** Record of a branch target: a stub that asks for the code when it is not decoded. */
  #target(offset: number): number {
    const record = this.#records.get(offset);
    if (record !== undefined) return this.leader(record);
    const known = this.#stubs.get(offset);
    if (known !== undefined) return known;
    const stub = this.allocateRecords(1);
    this.#stubs.set(offset, stub);
    this.#fillBranch(stub, offset);
    return stub;
  }

  /** A record that goes to `offset`: directly where that is decoded, otherwise as a jump. */
  #fillBranch(record: number, offset: number): void {
    const { view } = this.#state;
    const target = this.#records.get(offset);
    const [key, program] = target === undefined ? (['jump to pc', JUMP_TO_PC] as const) : (['goto', GOTO] as const);
    view.setUint32(
      record + RECORD_HANDLER,
      this.#handlers.slot(key, () => ({ program, operands: [], step: undefined })),
      true,
    );
    view.setUint32(record + RECORD_TARGET, target === undefined ? 0 : this.leader(target), true);
    view.setUint32(record + RECORD_PC, offset, true);
    view.setUint32(record + RECORD_NEXT_PC, offset, true);
  }

  /** Decodes from `start` along fall-through and direct branches, up to code that has records. */
  #reachable(start: number): Found[] {
    const at = (offset: number) => {
      if (this.#records.has(offset)) return undefined;
      const item = this.#decode(offset);
      const { step } = item;
      const next = step && fallsThrough(step) ? followingOffset(step) : undefined;
      return { item, next, target: step && directTarget(step) };
    };
    return Array.from(reachable(at, [start], this.#maxInstructions).values(), ({ item }) => item);
  }

  #decode(offset: number): Found {
    const region = this.#memory.code(offset);
    // Offsets of code are those in device memory.
    const code = region && new DataView(this.#memory.buffer, 0, region.offset + region.sizeBytes);
    const step = code ? this.#reader.step(code, offset) : 'no code at this address';
    if (typeof step !== 'string') return { offset, step };
    return { offset, step: undefined, failure: { code: 'illegal', message: `illegal instruction: ${step}` } };
  }

  /** Gives records to a run; returns the branch that must follow it, if any. */
  #placeRun(run: readonly Found[]): { record: number; offset: number } | undefined {
    const { step } = run.at(-1)!;
    const goesOn = step !== undefined && fallsThrough(step);
    let record = this.allocateRecords(run.length + (goesOn ? 1 : 0));
    for (const item of run) {
      this.#records.set(item.offset, record);
      record += RECORD_SIZE_BYTES;
    }
    return goesOn ? { record, offset: followingOffset(step) } : undefined;
  }

  /** Memory that lives as long as the decoded code. It is zero, which `pcOf` relies on in leaders. */
  allocateRecords(count: number): number {
    const size = count * RECORD_SIZE_BYTES;
    // What is left of the block that is being filled stays for smaller requests.
    if (size > BLOCK_SIZE_BYTES) return this.#newBlock(size);
    if (this.#blockEnd - this.#next < size) {
      this.#next = this.#newBlock(BLOCK_SIZE_BYTES);
      this.#blockEnd = this.#next + BLOCK_SIZE_BYTES;
    }
    const start = this.#next;
    this.#next += size;
    return start;
  }

  #newBlock(sizeBytes: number): number {
    const block = this.#state.allocate(sizeBytes);
    this.#blocks.push(block);
    this.#work.allocate(sizeBytes);
    return block;
  }

  #fill(record: number, { offset, step, failure }: Found): void {
    const { view } = this.#state;
    view.setUint32(record + RECORD_PC, offset, true);
    const found = step ? this.#fillStep(record, step) : failure;
    if (!found) return;
    view.setUint32(record + RECORD_HANDLER, this.#handlers.untranslatedSlot, true);
    this.#untranslated.set(record, found);
  }

  #fillStep(record: number, step: Step): Untranslated | undefined {
    const { view } = this.#state;
    this.#steps.set(record, step);
    view.setUint32(record + RECORD_NEXT_PC, followingOffset(step), true);
    view.setUint32(record + RECORD_NEW_MODE, NO_MODE, true);
    const target = directTarget(step);
    if (target !== undefined) view.setUint32(record + RECORD_TARGET, this.#target(target), true);
    const { illegal, operands } = step;
    if (illegal !== undefined) return { code: 'illegal', message: `illegal instruction: ${illegal}` };
    assertRecordHolds(step);
    for (const [index, operand] of operands.entries()) {
      const at = record + RECORD_OPERANDS + index * 8;
      if (operand.kind === 'register') view.setUint32(at, registerOffset(operand, this.waveSize), true);
      else if (operand.kind === 'constant') view.setBigUint64(at, operand.value, true);
      else view.setUint32(at, this.laneTable(operand.bytes), true);
    }
    try {
      const slot = this.#handlers.slot(step.key, () => {
        const program = step.program();
        assertWithinOperands(program, step);
        return { program, operands: operands.map(operandForm), step };
      });
      view.setUint32(record + RECORD_HANDLER, slot, true);
      this.#work.decodeInstruction(this.#handlers.weightOf(slot));
      if (this.#pcCounter) view.setUint32(record + RECORD_COUNTS, this.#pcCounter.place(step.offset), true);
    } catch (error) {
      if (!(error instanceof WavewrightError) || error.code !== 'UNSUPPORTED') throw error;
      return { code: 'unsupported', message: error.what };
    }
    return undefined;
  }

  /** Address of a lane table. */
  laneTable(bytes: Uint8Array): number {
    const key = bytes.join();
    let address = this.#laneTables.get(key);
    if (address === undefined) {
      address = this.allocateRecords(1);
      this.#state.bytes.set(bytes, address);
      this.#laneTables.set(key, address);
    }
    return address;
  }
}

/** Offset that a direct branch goes to. */
const directTarget = ({ control, target }: Step): number | undefined =>
  control === 'branch' || control === 'conditional' ? target : undefined;

// Programs of records that stand for no instruction. The wave size means nothing to them: they have no lanes.

const always: Value = { id: 0, leaf: { kind: 'const', value: 1n }, type: 'i1', lane: false, args: [] };
const ownPc: Value = { id: 0, leaf: { kind: 'pc' }, type: 'i64', lane: false, args: [] };
const effect = (leaf: Leaf, arg: Value): Program => ({
  values: [arg, { id: 1, leaf, type: 'void', lane: false, args: [arg] }],
  waveSize: 64,
});
const GOTO = effect({ kind: 'branch' }, always);
const JUMP_TO_PC = effect({ kind: 'jump' }, ownPc);
