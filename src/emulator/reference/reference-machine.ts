import { assert } from '../../base/errors.ts';
import type { Evaluated } from '../../ir/op.ts';
import type { RegisterOperand, Step } from '../../ir/step.ts';
import { type ExitReason, isMaskSlot, type MemorySpace, type OperandDword, type StateSlot } from '../../ir/types.ts';
import type { CodeCache } from '../code/code-cache.ts';
import type { EmulatorCore } from '../code/emulator-core.ts';
import type { ObservedAccess, WatchedMachine } from '../code/watch.ts';
import { privateByteOffset } from '../lowering/private-address.ts';
import { ACCESS_CODES, type AccessKind, FAULT_LDS, FAULT_PRIVATE, misalignedCode } from '../machine/access-codes.ts';
import type { AccessCounter } from '../machine/access-counter.ts';
import { FAULT_JUMP, WaveFault } from '../machine/faults.ts';
import {
  EXIT_CODES,
  EXIT_JUMP,
  EXIT_MODE,
  GRANULE_LOG2,
  MAY_READ,
  MAY_WRITE,
  RECORD_NEXT_PC,
  RECORD_PC,
  RECORD_SIZE_BYTES,
  RECORD_TARGET,
  rowSizeBytes,
  STATE_OFFSETS,
  THREADS_RUN,
  VALIDITY_MAP,
  WAVE_CLOCK,
  WAVE_EXIT,
  WAVE_JUMP_PC,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
  WAVE_RECORD,
} from '../machine/layout.ts';
import { movedOffset, registerOffset } from '../machine/operand-places.ts';

/** Where an access goes: offset of its first dword in device memory, and the distance between dwords. */
interface Translated {
  readonly base: number;
  readonly stride: number;
  readonly space: ObservedAccess['space'];
}

/** Where the byte `index` of an access lies: dwords are `stride` apart from the first one's start. */
function byteAddress({ base, stride }: Translated, index: number): number {
  const at = (base & 3) + index;
  return base - (base & 3) + (at >> 2) * stride + (at & 3);
}

/**
 * Whether an access is made of dwords that follow each other. Such dwords are accessed in pairs, as the
 * handlers do, so that other threads see each pair as a whole.
 */
const isTogether = ({ stride }: Translated, sizeBytes: number): boolean => stride === 4 && sizeBytes % 4 === 0;

/** The evaluator's view of one wave at one instruction. */
export class ReferenceMachine implements WatchedMachine {
  readonly #emulator: EmulatorCore;
  readonly #cache: CodeCache;
  readonly #step: Step;
  readonly #waveSize: 32 | 64;
  readonly #record: number;
  readonly #wave: number;
  /** Of registers and records. */
  readonly #view: DataView;
  /** Of device memory. */
  readonly #device: DataView;
  readonly #row: number;
  /** Offsets of registers that M0 had a part in, by operand. */
  #moved: Map<number, number> | undefined;
  #next: number;

  constructor(emulator: EmulatorCore, cache: CodeCache, step: Step, record: number, wave: number) {
    this.#emulator = emulator;
    this.#cache = cache;
    this.#step = step;
    this.#waveSize = cache.waveSize;
    this.#record = record;
    this.#wave = wave;
    this.#view = emulator.state.view;
    this.#device = emulator.memory.view;
    this.#row = rowSizeBytes(cache.waveSize);
    this.#next = record + RECORD_SIZE_BYTES;
  }

  /** By lane: accesses so far. */
  readonly #accessCounts: number[] = [];
  /** Whether the instruction is a branch that was taken. */
  isTaken = false;

  next(): number {
    return this.#next;
  }

  get pc(): bigint {
    return this.#emulator.memory.address(this.#view.getUint32(this.#record + RECORD_PC, true));
  }

  get nextPc(): bigint {
    return this.#emulator.memory.address(this.#view.getUint32(this.#record + RECORD_NEXT_PC, true));
  }

  clock(): bigint {
    return this.#view.getBigUint64(this.#wave + WAVE_CLOCK, true);
  }

  laneTable(operand: number, lane: number): number {
    const table = this.#step.operands[operand];
    assert(table?.kind === 'laneTable', () => `operand ${operand} is a lane table`);
    return table.bytes[lane]!;
  }

  /**
   * Looks up the registers that M0 leads to, before anything else. False when one that would be written does
   * not exist: then the instruction does nothing.
   */
  findRegisters(): boolean {
    for (const [index, operand] of this.#step.operands.entries()) {
      if (operand.kind !== 'register' || !operand.relative) continue;
      const { file, dwords, relative } = operand;
      const m0 = this.#view.getInt32(this.#wave + STATE_OFFSETS.m0, true);
      const named = registerOffset(operand, this.#waveSize);
      const offset = movedOffset({ file, dwords, index: relative }, this.#waveSize, named, m0);
      if (offset === undefined) return false;
      this.#moved ??= new Map();
      this.#moved.set(index, offset);
    }
    return true;
  }

  registerOf(at: OperandDword, lane: number): number | undefined {
    const operand = this.#step.operands[at.operand]!;
    return operand.kind === 'register' ? this.#registerAddress(operand, at, lane) : undefined;
  }

  #registerAddress(operand: RegisterOperand, { operand: index, dword }: OperandDword, lane: number): number {
    const base = this.#wave + (this.#moved?.get(index) ?? registerOffset(operand, this.#waveSize));
    return operand.file === 'scalar' ? base + dword * 4 : base + dword * this.#row + lane * 4;
  }

  readOperand(at: OperandDword, lane: number): number {
    const operand = this.#step.operands[at.operand]!;
    if (operand.kind === 'constant') return Number(BigInt.asIntN(32, operand.value >> BigInt(at.dword * 32)));
    assert(operand.kind === 'register', () => `operand ${at.operand} has a value`);
    return this.#view.getInt32(this.#registerAddress(operand, at, lane), true);
  }

  writeOperand(at: OperandDword, lane: number, value: number): void {
    const operand = this.#step.operands[at.operand]!;
    // What is written to an operand that is absent is lost.
    if (operand.kind === 'register') this.#view.setInt32(this.#registerAddress(operand, at, lane), value, true);
  }

  readState(slot: StateSlot): Evaluated {
    const offset = this.#wave + STATE_OFFSETS[slot];
    if (!isMaskSlot(slot)) return this.#view.getInt32(offset, true);
    return this.#waveSize === 64 ? this.#view.getBigUint64(offset, true) : BigInt(this.#view.getUint32(offset, true));
  }

  writeState(slot: StateSlot, value: Evaluated): void {
    const offset = this.#wave + STATE_OFFSETS[slot];
    if (isMaskSlot(slot) && this.#waveSize === 64) this.#view.setBigUint64(offset, BigInt(value), true);
    else if (isMaskSlot(slot)) this.#view.setUint32(offset, Number(BigInt(value) & 0xffffffffn), true);
    else this.#view.setInt32(offset, Number(value), true);
    if (slot === 'mode') this.#leave(EXIT_MODE);
  }

  #fail(code: number, lane: number, address: bigint): never {
    throw new WaveFault(this.#record, code, lane, address);
  }

  #translate(space: MemorySpace, access: AccessKind, sizeBytes: number, address: Evaluated, lane: number): Translated {
    const full = BigInt.asUintN(64, BigInt(address));
    const found = this.#find(space, access, sizeBytes, full, lane);
    const { watch, pcCounter } = this.#emulator;
    if (pcCounter?.accesses && lane >= 0) this.#count(pcCounter.accesses, space, sizeBytes, full, lane);
    if (watch) {
      const { base: place, space: resolved } = found;
      watch.accessed(this.#wave, { access, space: resolved, address: full, sizeBytes, lane, place });
    }
    return found;
  }

  /** Accesses of a lane follow each other in the order of the instruction. */
  #count(accesses: AccessCounter, space: MemorySpace, sizeBytes: number, address: bigint, lane: number): void {
    const index = this.#accessCounts[lane] ?? 0;
    this.#accessCounts[lane] = index + 1;
    const dwords = [Number(address & 0xffff_ffffn), Number(address >> 32n)] as const;
    accesses.lane(index, { space, sizeBytes }, lane, dwords);
  }

  #find(space: MemorySpace, access: AccessKind, sizeBytes: number, full: bigint, lane: number): Translated {
    const { memory, state } = this.#emulator;
    const low = Number(full & 0xffffffffn);
    if (space === 'lds') return this.#translateLds(access, sizeBytes, low, lane);
    if (space === 'private') return this.#translatePrivate(access, sizeBytes, low, lane);
    const spaces = this.#emulator.spaces(this.#waveSize);
    const high = Number(full >> 32n);
    if (high !== memory.windowHi && space === 'flat') {
      if (high === spaces.sharedApertureHi) return this.#translateLds(access, sizeBytes, low, lane, full);
      if (high === spaces.privateApertureHi) return this.#translatePrivate(access, sizeBytes, low, lane, full);
    }
    const needed = access === 'read' ? MAY_READ : access === 'write' ? MAY_WRITE : MAY_READ | MAY_WRITE;
    const last = low + sizeBytes - 1;
    const permissions =
      last > 0xffffffff
        ? 0
        : state.bytes[VALIDITY_MAP + (low >>> GRANULE_LOG2)]! & state.bytes[VALIDITY_MAP + (last >>> GRANULE_LOG2)]!;
    if (high !== memory.windowHi || (permissions & needed) !== needed) this.#fail(ACCESS_CODES[access], lane, full);
    return { base: low, stride: 4, space: 'global' };
  }

  #translateLds(access: AccessKind, sizeBytes: number, low: number, lane: number, full = BigInt(low)): Translated {
    const limit = this.#view.getUint32(this.#wave + WAVE_LDS_SIZE, true);
    if (low + sizeBytes > limit) this.#fail(ACCESS_CODES[access] | FAULT_LDS, lane, full);
    return { base: this.#view.getUint32(this.#wave + WAVE_LDS_BASE, true) + low, stride: 4, space: 'lds' };
  }

  #translatePrivate(access: AccessKind, sizeBytes: number, low: number, lane: number, full = BigInt(low)): Translated {
    const limit = this.#view.getUint32(this.#wave + WAVE_PRIVATE_SIZE, true);
    if (low + sizeBytes > limit) this.#fail(ACCESS_CODES[access] | FAULT_PRIVATE, lane, full);
    if (access === 'atomic' && low & 3) this.#fail(misalignedCode(access, 'private'), lane, full);
    const base = this.#view.getUint32(this.#wave + WAVE_PRIVATE_BASE, true);
    return { base: base + privateByteOffset(low, lane, this.#waveSize), stride: this.#row, space: 'private' };
  }

  misaligned(access: AccessKind, space: MemorySpace, address: Evaluated, lane: number): never {
    this.#fail(misalignedCode(access, space), lane, BigInt.asUintN(64, BigInt(address)));
  }

  load(space: MemorySpace, sizeBytes: number, address: Evaluated, lane: number): number[] {
    const from = this.#translate(space, 'read', sizeBytes, address, lane);
    const data = new Int32Array(Math.ceil(sizeBytes / 4));
    if (isTogether(from, sizeBytes)) {
      for (let i = 0; i < sizeBytes; i += 8) {
        if (sizeBytes - i < 8) data[i >> 2] = this.#device.getInt32(from.base + i, true);
        else new DataView(data.buffer).setBigInt64(i, this.#pair(from.base + i), true);
      }
      return [...data];
    }
    for (let i = 0; i < sizeBytes; i++) data[i >> 2]! |= this.#device.getUint8(byteAddress(from, i)) << (8 * (i & 3));
    return [...data];
  }

  store(space: MemorySpace, sizeBytes: number, address: Evaluated, data: readonly number[], lane: number): void {
    const to = this.#translate(space, 'write', sizeBytes, address, lane);
    if (isTogether(to, sizeBytes)) {
      const words = new DataView(Int32Array.from(data).buffer);
      for (let i = 0; i < sizeBytes; i += 8) {
        if (sizeBytes - i < 8) this.#device.setInt32(to.base + i, words.getInt32(i, true), true);
        else this.#setPair(to.base + i, words.getBigInt64(i, true));
      }
      return;
    }
    for (let i = 0; i < sizeBytes; i++) this.#device.setUint8(byteAddress(to, i), data[i >> 2]! >>> (8 * (i & 3)));
  }

  /** 64 bits of device memory, which no other thread sees in parts where their address is a multiple of 8. */
  #pair(at: number): bigint {
    if (at % 8 !== 0) return this.#device.getBigInt64(at, true);
    return Atomics.load(new BigInt64Array(this.#emulator.memory.buffer, at, 1), 0);
  }

  #setPair(at: number, value: bigint): void {
    if (at % 8 !== 0) this.#device.setBigInt64(at, value, true);
    else Atomics.store(new BigInt64Array(this.#emulator.memory.buffer, at, 1), 0, value);
  }

  atomic(
    space: MemorySpace,
    sizeBytes: 4 | 8,
    address: Evaluated,
    lane: number,
    update: (old: Evaluated) => Evaluated,
  ): Evaluated {
    const { base, stride } = this.#translate(space, 'atomic', sizeBytes, address, lane);
    const { words, buffer } = this.#emulator.memory;
    if (sizeBytes === 4 && base % 4 === 0) {
      for (;;) {
        const old = Atomics.load(words, base >>> 2);
        if (Atomics.compareExchange(words, base >>> 2, old, Number(update(old)) | 0) === old) return old;
      }
    }
    if (sizeBytes === 8 && base % 8 === 0 && stride === 4) {
      const place = new BigInt64Array(buffer, base, 1);
      for (;;) {
        const old = Atomics.load(place, 0);
        const value = BigInt.asIntN(64, BigInt(update(BigInt.asUintN(64, old))));
        if (Atomics.compareExchange(place, 0, old, value) === old) return BigInt.asUintN(64, old);
      }
    }
    if (sizeBytes === 4) {
      const old = this.#device.getInt32(base, true);
      this.#device.setInt32(base, Number(update(old)), true);
      return old;
    }
    const old =
      BigInt(this.#device.getUint32(base, true)) | (BigInt(this.#device.getUint32(base + stride, true)) << 32n);
    const value = BigInt(update(old));
    this.#device.setUint32(base, Number(value & 0xffffffffn), true);
    this.#device.setUint32(base + stride, Number(value >> 32n), true);
    return old;
  }

  fence(): void {
    // Nothing passes an atomic operation.
    Atomics.or(this.#emulator.state.words, THREADS_RUN >>> 2, 0);
  }

  branch(): void {
    this.isTaken = true;
    this.#next = this.#view.getUint32(this.#record + RECORD_TARGET, true);
  }

  jump(pc: bigint): void {
    const offset = this.#emulator.memory.offset(pc);
    if (offset === undefined || !this.#emulator.memory.code(offset))
      throw new WaveFault(this.#record, FAULT_JUMP, -1, pc);
    if (this.#cache.has(offset)) this.#next = this.#cache.record(offset);
    else {
      this.#view.setBigUint64(this.#wave + WAVE_JUMP_PC, pc, true);
      this.#leave(EXIT_JUMP);
    }
  }

  exit(reason: ExitReason): void {
    this.#leave(EXIT_CODES[reason]);
  }

  #leave(code: number): void {
    this.#view.setUint32(this.#wave + WAVE_EXIT, code, true);
    this.#view.setUint32(this.#wave + WAVE_RECORD, this.#record + RECORD_SIZE_BYTES, true);
    this.#next = 0;
  }
}
