import { assert, WavewrightError } from '../base/errors.ts';
import { ByteWriter } from './bytes.ts';
import {
  ATOMIC_ACCESS,
  type AtomicName,
  CONTROL,
  LANE,
  LANE_ACCESS,
  type LaneAccessName,
  type LaneName,
  LOAD,
  type LoadName,
  type MemoryAccess,
  PLAIN,
  type PlainName,
  STORE,
  type StoreName,
} from './opcodes.ts';
import { type FunctionRef, type FunctionType, VALUE_TYPE_BYTE, type ValueType } from './types.ts';

const EMPTY_BLOCK = 0x40;
/** A hint: the condition of the branch is mostly 0. */
const UNLIKELY = 0;
/**
 * Bit of an access's alignment: the index of a memory other than 0 follows (core specification 3.0, section
 * 5.4.6).
 */
const HAS_MEMORY_INDEX = 0x40;
/** What engines take: https://webassembly.github.io/spec/js-api/#limits. */
const MAX_CODE_BYTES = 7_654_321;
const MAX_LOCALS = 50_000;
/**
 * The longest instruction, declarations of locals, and what is emitted from one look at the size to the next,
 * fit in here.
 */
const SPARE_BYTES = 65_536;

/**
 * A parameter or a local variable. It may not be used after `free`: its slot may then belong to another
 * `Local`.
 */
export interface Local {
  readonly index: number;
  readonly type: ValueType;
}

/** The target of a branch: an enclosing block, if (branch to its end) or loop (branch to its start). */
export interface BlockLabel {
  readonly height: number;
}

interface LocalSlot extends Local {
  live: boolean;
}

/**
 * Emits the body of one function, instruction by instruction, in stack order. Types of operands are not
 * tracked: `WebAssembly.validate` on the finished module tells. A wrong label, a freed local or an immediate
 * out of range is an INTERNAL error. What grows beyond the limits of engines, or beyond `maxCodeBytes`,
 * throws LIMIT_EXCEEDED while it is emitted.
 */
export class FunctionBuilder implements FunctionRef {
  readonly index: number;
  readonly type: FunctionType;
  /** Shown in stack traces and disassemblies; undefined: the function has no entry in the name section. */
  readonly name: string | undefined;
  /** About where the function becomes too long. */
  maxCodeBytes = MAX_CODE_BYTES - SPARE_BYTES;

  readonly #code = new ByteWriter(1024);
  readonly #parameters: LocalSlot[];
  readonly #localTypes: ValueType[] = [];
  readonly #freeSlots = new Map<ValueType, number[]>();
  readonly #labels: BlockLabel[] = [];
  /** Where in the code branches are that are hardly ever taken. */
  readonly #rareBranches: number[] = [];
  #scope: LocalSlot[] | undefined;

  constructor(index: number, type: FunctionType, name?: string) {
    this.index = index;
    this.type = type;
    this.name = name;
    this.#parameters = type.parameters.map((parameter, i) => ({ index: i, type: parameter, live: true }));
  }

  /** Bytes of code emitted so far, without the declarations of locals. */
  get codeSizeBytes(): number {
    return this.#code.length;
  }

  /** Local slots declared so far, parameters not counted. */
  get localCount(): number {
    return this.#localTypes.length;
  }

  // Locals

  param(position: number): Local {
    const parameter = this.#parameters[position];
    assert(parameter, () => `wasm function has ${this.#parameters.length} parameters, not a parameter ${position}`);
    return parameter;
  }

  /**
   * A local of `type`, in a freed slot when there is one: its value is then whatever was left there, not
   * zero.
   */
  local(type: ValueType): Local {
    const index = this.#freeSlots.get(type)?.pop() ?? this.#newSlot(type);
    const local: LocalSlot = { index, type, live: true };
    this.#scope?.push(local);
    return local;
  }

  /** A local in a slot of its own, which is 0 when the function begins, wherever it is first used. */
  ownLocal(type: ValueType): Local {
    const local: LocalSlot = { index: this.#newSlot(type), type, live: true };
    return local;
  }

  #newSlot(type: ValueType): number {
    const index = this.#parameters.length + this.#localTypes.length;
    this.#limit(index, MAX_LOCALS - 1, 'locals');
    this.#localTypes.push(type);
    return index;
  }

  /** Gives the slots back for later locals of the same type. */
  free(...locals: Local[]): void {
    for (const local of locals) {
      const slot = local as LocalSlot; // reason: every Local was made by this class as a LocalSlot
      assert(slot.live && slot.index >= this.#parameters.length, () => `wasm local ${slot.index} cannot be freed`);
      slot.live = false;
      const slots = this.#freeSlots.get(slot.type);
      if (slots) slots.push(slot.index);
      else this.#freeSlots.set(slot.type, [slot.index]);
    }
  }

  /** Runs `body` and gives back the locals that it took and that are neither freed nor returned. */
  scoped<T extends readonly Local[]>(body: () => T): T {
    const outer = this.#scope;
    const taken: LocalSlot[] = [];
    this.#scope = taken;
    const kept = body();
    this.#scope = outer;
    for (const local of taken) {
      if (kept.includes(local)) outer?.push(local);
      else if (local.live) this.free(local);
    }
    return kept;
  }

  get(local: Local): void {
    this.#local(CONTROL['local.get'], local);
  }

  set(local: Local): void {
    this.#local(CONTROL['local.set'], local);
  }

  tee(local: Local): void {
    this.#local(CONTROL['local.tee'], local);
  }

  // Constants

  /** i32.const of the low 32 bits of `value`. */
  i32(value: number): void {
    this.#code.byte(CONTROL['i32.const']);
    this.#code.s32(value);
  }

  /** i64.const of the low 64 bits of `value`. */
  i64(value: bigint): void {
    this.#code.byte(CONTROL['i64.const']);
    this.#code.s64(value);
  }

  /** f32.const from its bit pattern. */
  f32bits(bits: number): void {
    this.#code.byte(CONTROL['f32.const']);
    this.#code.fixed32(bits);
  }

  /** f64.const from its bit pattern. */
  f64bits(bits: bigint): void {
    this.#code.byte(CONTROL['f64.const']);
    this.#code.fixed32(Number(BigInt.asUintN(32, bits)));
    this.#code.fixed32(Number(BigInt.asUintN(32, bits >> 32n)));
  }

  /** v128.const from 16 bytes or from four 32-bit words, lane 0 first. */
  v128(value: Uint8Array | readonly [number, number, number, number]): void {
    this.#opcode(CONTROL['v128.const']);
    if (value instanceof Uint8Array) {
      assert(value.length === 16, () => `v128.const takes 16 bytes, got ${value.length}`);
      this.#code.bytes(value);
    } else {
      for (const word of value) this.#code.fixed32(word);
    }
  }

  // Instructions by name

  op(name: PlainName): void {
    this.#opcode(PLAIN[name]);
  }

  lane(name: LaneName, lane: number): void {
    this.#opcode(LANE[name]);
    this.#code.byte(lane);
  }

  /** i8x16.shuffle: 16 indices, 0..15 from the first operand, 16..31 from the second. */
  shuffle(indices: readonly number[]): void {
    assert(indices.length === 16, () => `i8x16.shuffle takes 16 indices, got ${indices.length}`);
    this.#opcode(CONTROL['i8x16.shuffle']);
    for (const index of indices) this.#code.byte(index);
  }

  /**
   * `offset` is 0..2^32-1; `memory` is the memory's index in the module. The alignment hint is the natural
   * one.
   */
  load(name: LoadName, offset: number, memory = 0): void {
    this.#access(LOAD[name], offset, memory);
  }

  store(name: StoreName, offset: number, memory = 0): void {
    this.#access(STORE[name], offset, memory);
  }

  /** `v128.load32_lane` and its kin, loads and stores. */
  loadLane(name: LaneAccessName, offset: number, lane: number, memory = 0): void {
    this.#access(LANE_ACCESS[name], offset, memory);
    this.#code.byte(lane);
  }

  atomic(name: AtomicName, offset: number, memory = 0): void {
    this.#access(ATOMIC_ACCESS[name], offset, memory);
  }

  atomicFence(): void {
    this.#opcode(CONTROL['atomic.fence']);
    this.#code.byte(0);
  }

  memoryFill(memory = 0): void {
    this.#opcode(CONTROL['memory.fill']);
    this.#code.u32(memory);
  }

  /** Within one memory. */
  memoryCopy(memory = 0): void {
    this.#opcode(CONTROL['memory.copy']);
    this.#code.u32(memory);
    this.#code.u32(memory);
  }

  drop(): void {
    this.#code.byte(CONTROL.drop);
  }

  select(): void {
    this.#code.byte(CONTROL.select);
  }

  unreachable(): void {
    this.#code.byte(CONTROL.unreachable);
  }

  // Control

  block(result: ValueType | undefined, body: (label: BlockLabel) => void): void {
    this.#nest(CONTROL.block, result, body);
  }

  loop(result: ValueType | undefined, body: (label: BlockLabel) => void): void {
    this.#nest(CONTROL.loop, result, body);
  }

  if(result: ValueType | undefined, then: (label: BlockLabel) => void, otherwise?: (label: BlockLabel) => void): void {
    this.#nest(CONTROL.if, result, (label) => {
      then(label);
      if (otherwise) {
        this.#code.byte(CONTROL.else);
        otherwise(label);
      }
    });
  }

  br(label: BlockLabel): void {
    this.#code.byte(CONTROL.br);
    this.#code.u32(this.#depth(label));
  }

  brIf(label: BlockLabel): void {
    this.#code.byte(CONTROL.br_if);
    this.#code.u32(this.#depth(label));
  }

  /**
   * A `brIf` that is hardly ever taken: the engine moves what only such branches lead to out of the way, and
   * saves registers for calls there and not before.
   */
  brIfRare(label: BlockLabel): void {
    this.#rareBranches.push(this.#code.length);
    this.brIf(label);
  }

  /** The same for an `if`. */
  ifRare(then: (label: BlockLabel) => void): void {
    this.#rareBranches.push(this.#code.length);
    this.if(undefined, then);
  }

  brTable(labels: readonly BlockLabel[], otherwise: BlockLabel): void {
    this.#code.byte(CONTROL.br_table);
    this.#code.u32(labels.length);
    for (const label of labels) this.#code.u32(this.#depth(label));
    this.#code.u32(this.#depth(otherwise));
  }

  return(): void {
    this.#code.byte(CONTROL.return);
  }

  call(callee: FunctionRef): void {
    this.#call(CONTROL.call, callee.index);
  }

  returnCall(callee: FunctionRef): void {
    this.#call(CONTROL.return_call, callee.index);
  }

  /** Calls through table 0; the table index is on top of the stack. */
  callIndirect(type: FunctionType): void {
    this.#call(CONTROL.call_indirect, type.index);
    this.#code.byte(0);
  }

  returnCallIndirect(type: FunctionType): void {
    this.#call(CONTROL.return_call_indirect, type.index);
    this.#code.byte(0);
  }

  hasHints(): boolean {
    return this.#rareBranches.length > 0;
  }

  /**
   * Writes the entry of the section of branch hints: https://github.com/WebAssembly/branch-hinting. Places
   * count from the declarations of locals.
   */
  writeHints(out: ByteWriter): void {
    const declarationsSizeBytes = this.#declarations().length;
    out.u32(this.index);
    out.u32(this.#rareBranches.length);
    for (const at of this.#rareBranches) {
      out.u32(declarationsSizeBytes + at);
      out.u32(1);
      out.byte(UNLIKELY);
    }
  }

  /** Writes the entry of the code section: size, declarations of locals, body. */
  writeTo(out: ByteWriter): void {
    assert(this.#labels.length === 0, 'wasm function is written inside one of its blocks');
    const declarations = this.#declarations();
    out.u32(declarations.length + this.#code.length + 1);
    out.bytes(declarations.view());
    out.bytes(this.#code.view());
    out.byte(CONTROL.end);
  }

  #declarations(): ByteWriter {
    const declarations = new ByteWriter(16);
    const runs: { type: ValueType; count: number }[] = [];
    for (const type of this.#localTypes) {
      const last = runs.at(-1);
      if (last?.type === type) last.count++;
      else runs.push({ type, count: 1 });
    }
    declarations.u32(runs.length);
    for (const { type, count } of runs) {
      declarations.u32(count);
      declarations.byte(VALUE_TYPE_BYTE[type]);
    }
    return declarations;
  }

  #opcode(opcode: number): void {
    if (opcode > 0xff) {
      this.#code.byte(opcode >> 16);
      this.#code.u32(opcode & 0xffff);
    } else {
      this.#code.byte(opcode);
    }
  }

  #access({ opcode, alignLog2 }: MemoryAccess, offset: number, memory: number): void {
    assert(offset >= 0 && offset <= 0xffff_ffff, () => `wasm memory offset ${offset} is not in 0..2^32-1`);
    this.#limit(this.#code.length, this.maxCodeBytes, 'bytes');
    this.#opcode(opcode);
    if (memory === 0) this.#code.u32(alignLog2);
    else {
      this.#code.u32(alignLog2 | HAS_MEMORY_INDEX);
      this.#code.u32(memory);
    }
    this.#code.u32(offset);
  }

  #local(opcode: number, local: Local): void {
    assert((local as LocalSlot).live, () => `wasm local ${local.index} is used after it was freed`);
    this.#code.byte(opcode);
    this.#code.u32(local.index);
  }

  #call(opcode: number, index: number): void {
    this.#code.byte(opcode);
    this.#code.u32(index);
  }

  #nest(opcode: number, result: ValueType | undefined, body: (label: BlockLabel) => void): void {
    this.#limit(this.#code.length, this.maxCodeBytes, 'bytes');
    this.#code.byte(opcode);
    this.#code.byte(result === undefined ? EMPTY_BLOCK : VALUE_TYPE_BYTE[result]);
    const label: BlockLabel = { height: this.#labels.length };
    this.#labels.push(label);
    body(label);
    assert(this.#labels.pop() === label, 'wasm blocks are not nested');
    this.#code.byte(CONTROL.end);
  }

  #limit(value: number, limit: number, unit: string): void {
    if (value > limit)
      throw new WavewrightError('LIMIT_EXCEEDED', `a WebAssembly function of more than ${limit} ${unit}`);
  }

  #depth(label: BlockLabel): number {
    assert(this.#labels[label.height] === label, 'branch to a wasm block that is not open');
    return this.#labels.length - 1 - label.height;
  }
}
