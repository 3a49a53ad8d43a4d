/**
 * Machine code to records: decodes what is reachable by direct branches from an address, and links the records. One cache for each
 * (wave size, MODE), because handlers are specialised on both.
 */
import { WavewrightError } from '../../base/errors.ts';
import type { FloatMode } from '../../ir/float-builder.ts';
import type { Leaf, Program, Value } from '../../ir/types.ts';
import { type Decoder, decoderFor } from '../../isa/amdgpu/encoding/decode.ts';
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { instructionClass } from '../../isa/amdgpu/encoding/instruction-class.ts';
import { isImmediate } from '../../isa/amdgpu/rows/row.ts';
import { dppTable } from '../../isa/amdgpu/semantics/dpp.ts';
import { dppTableSlot, InstructionBuilder } from '../../isa/amdgpu/semantics/instruction-builder.ts';
import { floatMode } from '../amdgpu/mode.ts';
import { modifierKey } from '../amdgpu/modifier-key.ts';
import { assertRecordHolds, assertWithinOperands } from '../amdgpu/operand-bounds.ts';
import { relativeRegister, relativeTag } from '../amdgpu/relative-registers.ts';
import type { HandlerTable } from '../handlers/handler-table.ts';
import type { OperandKind } from '../lowering/handler-state.ts';
import type { AddressSpaces } from '../lowering/memory-access.ts';
import type { HostWork } from '../machine/host-work.ts';
import {
  JUMP_CACHE_ENTRIES,
  LEADER_AGPRS,
  LEADER_COUNT,
  LEADER_SGPRS,
  LEADER_VGPRS,
  NO_MODE,
  RECORD_HANDLER,
  RECORD_NEW_MODE,
  RECORD_NEW_MODE_JUMP_CACHE,
  RECORD_NEW_MODE_NEXT,
  RECORD_NEXT_PC,
  RECORD_OPERANDS,
  RECORD_PC,
  RECORD_SIZE_BYTES,
  RECORD_TARGET,
  rowSizeBytes,
  VGPR_COUNT,
  WAVE_VGPRS,
  waveAgprs,
} from '../machine/layout.ts';
import type { Memories, SharedMemory } from '../machine/memory.ts';
import type { SharedState } from '../machine/state-memory.ts';

const SCALAR_REGISTER_COUNT = 128;
/** Instructions decoded at once; code beyond is decoded when a wave gets there. */
const MAX_INSTRUCTIONS = 20_000;
const FIRST_INSTRUCTIONS = 4096;
const MIN_INSTRUCTIONS = 64;
/** Records are placed in blocks of at least this size, so that small requests share pages. */
const BLOCK_SIZE_BYTES = 1 << 16;
/** Of the host's own objects of a cache. */
const CACHE_BYTES = 8192;
const SHARED_BASE = 235;
const PRIVATE_LIMIT = 238;

/** Why a record stops the wave. */
export interface Untranslated {
  readonly code: 'illegal' | 'unsupported';
  readonly message: string;
}

interface Decoded {
  readonly offset: number;
  readonly instruction: Instruction | undefined;
  readonly failure?: Untranslated;
}

export class CodeCache {
  /** Address of the table that jump handlers look into. */
  readonly jumpCache: number;
  readonly waveSize: 32 | 64;
  readonly #state: SharedState;
  /** Where code is. */
  readonly #memory: SharedMemory;
  readonly #handlers: HandlerTable;
  readonly #spaces: AddressSpaces;
  readonly #decoder: Decoder;
  readonly #mode: number;
  readonly #floatMode: FloatMode;
  /** Code offset to record. */
  readonly #records = new Map<number, number>();
  readonly #instructions = new Map<number, Instruction>();
  readonly #untranslated = new Map<number, Untranslated>();
  readonly #laneTables = new Map<string, number>();
  /** Records that stand for code that is not decoded yet, by its offset. */
  readonly #stubs = new Map<number, number>();
  /** Executions of a leader until its code is compiled; undefined: there are no leaders. */
  readonly #leaderCount: number | undefined;
  /** Leaders by the record that they stand for, and the other way round. */
  readonly #leaders = new Map<number, number>();
  readonly #leaderOf = new Map<number, number>();
  /** Memory of the records; the last block is being filled from `#next`. */
  readonly #blocks: number[] = [];
  #next = 0;
  #blockEnd = 0;
  readonly #work: HostWork;
  /** Instructions that the next request decodes: fewer after one of which not all got a handler. */
  #maxInstructions = FIRST_INSTRUCTIONS;

  constructor(
    { state, memory }: Memories,
    handlers: HandlerTable,
    spaces: AddressSpaces,
    processor: string,
    mode: number,
    work: HostWork,
    leaderCount?: number,
  ) {
    this.#work = work;
    this.#leaderCount = leaderCount;
    this.#state = state;
    this.#memory = memory;
    this.#handlers = handlers;
    this.#spaces = spaces;
    this.waveSize = spaces.waveSize;
    this.#decoder = decoderFor(processor, spaces.waveSize);
    this.#mode = mode;
    this.#floatMode = floatMode(mode);
    this.jumpCache = state.allocate(JUMP_CACHE_ENTRIES * 8);
    state.bytes.fill(0xff, this.jumpCache, this.jumpCache + JUMP_CACHE_ENTRIES * 8);
    work.allocate(JUMP_CACHE_ENTRIES * 8 + CACHE_BYTES);
  }

  /** Gives its memory back. No record of it may be used any more. */
  release(): void {
    for (const block of [...this.#blocks, this.jumpCache]) this.#state.free(block);
  }

  /** Where to go on at code offset `offset`: its record, or the leader of that; decoded and compiled when it is not yet. */
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
      // The instruction's record may not be filled yet.
      view.setUint32(leader + LEADER_COUNT, this.#leaderCount, true);
      view.setUint32(leader + LEADER_VGPRS, VGPR_COUNT, true);
      view.setUint32(leader + LEADER_AGPRS, VGPR_COUNT, true);
      view.setUint32(leader + LEADER_SGPRS, SCALAR_REGISTER_COUNT, true);
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

  /** Where a wave goes on that was at code offset `offset` when code was forgotten: decodes nothing yet. */
  resumption(offset: number): number {
    const record = this.#target(offset);
    this.#handlers.compile();
    return record;
  }

  /**
   * Where a wave goes on with this code whose MODE became `mode`: behind the instruction of record `changing`, which finds it by itself
   * from then on.
   */
  afterModeChange(changing: number, mode: number): number {
    const { view } = this.#state;
    const next = this.record(view.getUint32(changing + RECORD_NEXT_PC, true));
    view.setUint32(changing + RECORD_NEW_MODE, mode, true);
    view.setUint32(changing + RECORD_NEW_MODE_NEXT, next, true);
    view.setUint32(changing + RECORD_NEW_MODE_JUMP_CACHE, this.jumpCache, true);
    return next;
  }

  instruction(record: number): Instruction | undefined {
    return this.#instructions.get(record);
  }

  untranslated(record: number): Untranslated | undefined {
    return this.#untranslated.get(record);
  }

  #translate(start: number): void {
    const found = this.#reachable(start);
    this.#work.decode(found.length);
    const decoded = found.toSorted((a, b) => a.offset - b.offset);
    // A run of consecutive instructions gets consecutive records; where one falls through to code that has records elsewhere, a record
    // that branches there follows.
    const branches: { record: number; offset: number }[] = [];
    let runStart = 0;
    for (let i = 1; i <= decoded.length; i++) {
      const previous = decoded[i - 1]!;
      if (i < decoded.length && decoded[i]!.offset === nextOffset(previous)) continue;
      const branch = this.#placeRun(decoded.slice(runStart, i));
      if (branch) branches.push(branch);
      runStart = i;
    }
    const postponed = found.slice(this.#fillAll(found));
    for (const { offset } of postponed) this.#postpone(offset);
    this.#maxInstructions = postponed.length
      ? Math.max(MIN_INSTRUCTIONS, 2 * (found.length - postponed.length))
      : Math.min(MAX_INSTRUCTIONS, 2 * this.#maxInstructions);
    for (const { record, offset } of branches) this.#fillBranch(record, offset);
    for (const { offset } of decoded) {
      const stub = this.#stubs.get(offset);
      if (stub === undefined || !this.#records.has(offset)) continue;
      this.#fillBranch(stub, offset);
      this.#stubs.delete(offset);
    }
    this.#handlers.compile();
  }

  /** Fills records until there are too many new handlers; returns how many are filled. */
  #fillAll(items: readonly Decoded[]): number {
    for (const [i, item] of items.entries()) {
      if (this.#handlers.isFull) return i;
      this.#fill(this.#records.get(item.offset)!, item);
    }
    return items.length;
  }

  /** The instruction is decoded once more when a wave gets there. */
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
      this.#handlers.slot(key, () => ({ program, operandKinds: [], instructionClass: undefined })),
      true,
    );
    view.setUint32(record + RECORD_TARGET, target === undefined ? 0 : this.leader(target), true);
    view.setUint32(record + RECORD_PC, offset, true);
    view.setUint32(record + RECORD_NEXT_PC, offset, true);
  }

  /** Decodes from `start` along fall-through and direct branches, up to code that has records. */
  #reachable(start: number): Decoded[] {
    const found = new Map<number, Decoded>();
    const work = [start];
    for (let offset = work.pop(); offset !== undefined; offset = work.pop()) {
      while (!found.has(offset) && !this.#records.has(offset) && found.size < this.#maxInstructions) {
        const item = this.#decode(offset);
        found.set(offset, item);
        const { instruction } = item;
        if (!instruction) break;
        const { terminator } = instruction.row.flags;
        const target = branchTarget(item);
        if (target !== undefined) work.push(target);
        if (terminator !== undefined && terminator !== 'conditional') break;
        offset = nextOffset(item);
      }
    }
    return [...found.values()];
  }

  #decode(offset: number): Decoded {
    const region = this.#memory.code(offset);
    const illegal = (message: string): Decoded => ({
      offset,
      instruction: undefined,
      failure: { code: 'illegal', message: `illegal instruction: ${message}` },
    });
    if (!region || offset & 3) return illegal(offset & 3 ? 'misaligned address' : 'no code at this address');
    const code = new DataView(this.#memory.buffer, region.offset, region.sizeBytes);
    const instruction = this.#decoder.decode(code, offset - region.offset);
    if (typeof instruction !== 'string') return { offset, instruction };
    const dword =
      region.offset + region.sizeBytes - offset >= 4
        ? `0x${this.#memory.view.getUint32(offset, true).toString(16).padStart(8, '0')}`
        : 'the end of code';
    return illegal(`${dword} is not a ${this.#decoder.target.processor} instruction`);
  }

  /** Gives records to a run; returns the branch that must follow it, if any. */
  #placeRun(run: readonly Decoded[]): { record: number; offset: number } | undefined {
    const last = run.at(-1)!;
    const { instruction } = last;
    const terminator = instruction?.row.flags.terminator;
    const fallsThrough = instruction !== undefined && (terminator === undefined || terminator === 'conditional');
    let record = this.allocateRecords(run.length + (fallsThrough ? 1 : 0));
    for (const item of run) {
      this.#records.set(item.offset, record);
      record += RECORD_SIZE_BYTES;
    }
    return fallsThrough ? { record, offset: nextOffset(last) } : undefined;
  }

  /** Memory that lives as long as the decoded code; zero-filled or not. */
  allocateRecords(count: number): number {
    const size = count * RECORD_SIZE_BYTES;
    if (this.#blockEnd - this.#next < size) {
      const blockSize = Math.max(size, BLOCK_SIZE_BYTES);
      this.#next = this.#state.allocate(blockSize);
      this.#blocks.push(this.#next);
      this.#work.allocate(blockSize);
      this.#blockEnd = this.#next + blockSize;
    }
    const start = this.#next;
    this.#next += size;
    return start;
  }

  #fill(record: number, item: Decoded): void {
    const { view } = this.#state;
    view.setUint32(record + RECORD_PC, item.offset, true);
    const failure = item.failure ?? this.#fillInstruction(record, item as Decoded & { instruction: Instruction });
    if (!failure) return;
    view.setUint32(record + RECORD_HANDLER, this.#handlers.untranslatedSlot, true);
    this.#untranslated.set(record, failure);
  }

  #fillInstruction(record: number, item: Decoded & { instruction: Instruction }): Untranslated | undefined {
    const { instruction } = item;
    const { view } = this.#state;
    this.#instructions.set(record, instruction);
    view.setUint32(record + RECORD_NEXT_PC, nextOffset(item), true);
    view.setUint32(record + RECORD_NEW_MODE, NO_MODE, true);
    const target = branchTarget(item);
    if (target !== undefined) view.setUint32(record + RECORD_TARGET, this.#target(target), true);
    const kinds: OperandKind[] = [];
    let shape = '';
    assertRecordHolds(instruction);
    for (let index = 0; index < instruction.row.operands.length; index++) {
      const [kind, tag] = this.#fillOperand(record + RECORD_OPERANDS + index * 8, instruction, index);
      if (kind === undefined)
        return { code: 'illegal', message: `illegal instruction: ${tag} of '${instruction.name}'` };
      kinds.push(kind);
      shape += ` ${tag}`;
    }
    if (instruction.hasDpp) {
      view.setUint32(record + RECORD_OPERANDS + dppTableSlot(instruction) * 8, this.#laneTable(instruction), true);
    }
    const key = `${instruction.row.name} ${instruction.format.name}${shape}${modifierKey(instruction)} ${this.waveSize} ${this.#mode}`;
    try {
      const slot = this.#handlers.slot(key, () => {
        const program = new InstructionBuilder(instruction, this.#floatMode).build();
        assertWithinOperands(program, instruction);
        return { program, operandKinds: kinds, instructionClass: instructionClass(instruction.row) };
      });
      view.setUint32(record + RECORD_HANDLER, slot, true);
      this.#work.decodeInstruction(this.#handlers.request(slot)!.weight);
    } catch (error) {
      if (!(error instanceof WavewrightError) || error.code !== 'UNSUPPORTED') throw error;
      return { code: 'unsupported', message: error.what };
    }
    return undefined;
  }

  /** Writes an operand's parameter; returns its kind and what of it distinguishes handlers. No kind: the register does not exist. */
  #fillOperand(at: number, instruction: Instruction, index: number): [OperandKind | undefined, string] {
    const { view } = this.#state;
    const spec = instruction.row.operands[index]!;
    const operand = instruction.operand(index);
    const dwords = isImmediate(spec.type) ? 0 : instruction.dwords(index);
    if (operand.kind === 'null') return ['constant', 'null'];
    // An atomic that returns nothing has any number in the field of its destination.
    if (instruction.access(index) === undefined) return ['constant', 'unused'];
    if (spec.access !== 'read' && operand.kind !== (spec.file === 'scalar' ? 'scalar' : 'vector')) {
      return [undefined, `destination ${spec.field}`];
    }
    const row = rowSizeBytes(this.waveSize);
    switch (operand.kind) {
      case 'vector': {
        if (operand.register + dwords > VGPR_COUNT) return [undefined, `v${operand.register} with ${dwords} dwords`];
        const base = operand.accumulator ? waveAgprs(this.waveSize) : WAVE_VGPRS;
        view.setUint32(at, base + operand.register * row, true);
        return this.#registerKind(instruction, index, 'vector', instruction.isHighHalf(index) ? 'h' : 'v');
      }
      case 'scalar':
        if (operand.register + dwords > SCALAR_REGISTER_COUNT)
          return [undefined, `s${operand.register} with ${dwords} dwords`];
        view.setUint32(at, operand.register * 4, true);
        return this.#registerKind(instruction, index, 'scalar', 's');
      case 'constant':
        view.setBigUint64(at, operand.value, true);
        return ['constant', 'c'];
      case 'special':
        if (operand.encoding >= SHARED_BASE && operand.encoding <= PRIVATE_LIMIT) {
          const limit = (operand.encoding - SHARED_BASE) & 1;
          const isPrivate = operand.encoding >= SHARED_BASE + 2;
          view.setUint32(at, limit ? 0xffffffff : 0, true);
          view.setUint32(at + 4, isPrivate ? this.#spaces.privateApertureHi : this.#spaces.sharedApertureHi, true);
          return ['constant', 'c'];
        }
        return ['constant', String(operand.encoding)];
      case 'off':
        return ['constant', 'off'];
    }
  }

  /** Handlers are for one number of registers: what `#fillOperand` has checked is what they access. */
  #registerKind(
    instruction: Instruction,
    index: number,
    file: 'vector' | 'scalar',
    tag: string,
  ): [OperandKind, string] {
    const relative = relativeRegister(instruction, index, this.#mode);
    return relative ? [relative, relativeTag(relative)] : [file, `${tag}${instruction.dwords(index)}`];
  }

  #laneTable(instruction: Instruction): number {
    const bytes = dppTable(instruction);
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

const nextOffset = ({ offset, instruction }: Decoded): number => offset + (instruction?.sizeBytes ?? 0);

/** Offset that a direct branch goes to. */
function branchTarget(item: Decoded): number | undefined {
  const { instruction } = item;
  const { terminator } = instruction?.row.flags ?? {};
  if (!instruction || (terminator !== 'branch' && terminator !== 'conditional')) return undefined;
  const label = instruction.row.operands.find(({ type }) => type === 'label');
  return label && nextOffset(item) + instruction.immediate(label);
}

// Programs of records that stand for no instruction.

const always: Value = { id: 0, leaf: { kind: 'const', value: 1n }, type: 'i1', lane: false, args: [] };
const ownPc: Value = { id: 0, leaf: { kind: 'pc' }, type: 'i64', lane: false, args: [] };
const effect = (leaf: Leaf, arg: Value): Program => ({
  values: [arg, { id: 1, leaf, type: 'void', lane: false, args: [arg] }],
  waveSize: 64,
});
const GOTO = effect({ kind: 'branch' }, always);
const JUMP_TO_PC = effect({ kind: 'jump' }, ownPc);
