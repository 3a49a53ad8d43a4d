import { assert } from '../../base/errors.ts';
import type { Type, Value } from '../../ir/types.ts';
import { and, assign, leU, loadFrom, ltU, mul, type Push, select, shrU, sum, tee } from '../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import type { LoadName, StoreName } from '../../wasm/opcodes.ts';
import { STATE_OFFSETS } from '../machine/layout.ts';
import { type OperandForm, type RelativeRegister, reachOf } from '../machine/operand-places.ts';
import { type Emitter, wasmType } from './emitter.ts';
import type { AddressSpaces } from './memory-access.ts';

/**
 * What an instruction knows about itself besides its program: read from its record, or known where code is
 * emitted for one place.
 */
export interface InstructionPlace {
  /** Pushes the record. */
  pushRecord(): void;
  /** Pushes a dword of an operand: the register's offset in the wave state, or a constant. */
  pushParameter(operand: number, dword: number): void;
  /** The dword where it is known. */
  parameter(operand: number, dword: number): number | undefined;
  /** Pushes the low 32 bits of the address of the instruction or of the next one. */
  pushPc(kind: 'pc' | 'nextPc'): void;
  /** Pushes the record that a branch goes to, and the one after this. */
  pushTarget(): void;
  pushFollowing(): void;
  /** Pushes where a wave goes on that left after this instruction and comes back. */
  pushResumption(): void;
  /** Goes on at the record on top of the stack. */
  goOn(): void;
}

/**
 * The meaning of one instruction being emitted: the function it is in, and the locals of uniform values.
 * Parameter 1 is the wave.
 */
export class HandlerState {
  readonly f: FunctionBuilder;
  readonly e: Emitter;
  readonly spaces: AddressSpaces;
  readonly operands: readonly OperandForm[];
  readonly place: InstructionPlace;
  readonly wave: Local;
  readonly rowSizeBytes: number;
  /** How a mask of lanes is read and written as i64 (`isMaskSlot`). */
  readonly maskLoad: LoadName;
  readonly maskStore: StoreName;
  /** EXEC at the start, in an i64; the handlers of instructions without lanes do not load it. */
  exec: Local | undefined;
  readonly #uniform = new Map<Value, Local>();
  /** Offsets of relative registers from the wave's base, by operand. */
  readonly #moved = new Map<number, Local>();

  constructor(e: Emitter, spaces: AddressSpaces, operands: readonly OperandForm[], place: InstructionPlace) {
    this.f = e.f;
    this.e = e;
    this.spaces = spaces;
    this.operands = operands;
    this.place = place;
    this.wave = this.f.param(1);
    this.rowSizeBytes = spaces.waveSize * 4;
    this.maskLoad = spaces.waveSize === 64 ? 'i64.load' : 'i64.load32_u';
    this.maskStore = spaces.waveSize === 64 ? 'i64.store' : 'i64.store32';
  }

  /** Pops the top of the stack into the local of a uniform value. */
  define(value: Value): void {
    const local = this.f.local(wasmType(value.type as Type));
    this.f.set(local);
    this.#uniform.set(value, local);
  }

  scalar(value: Value): Local {
    const local = this.#uniform.get(value);
    assert(local, () => `value ${value.id} (${value.leaf.kind}) has a local`);
    return local;
  }

  /**
   * Looks up the relative registers, before anything else. Returns whether all that are destinations exist,
   * undefined when there are none: without them the instruction does nothing.
   */
  findRegisters(): Local | undefined {
    let exist: Local | undefined;
    for (const [operand, form] of this.operands.entries()) {
      if (form.kind !== 'relative') continue;
      const found = this.#findRegister(operand, form.register);
      if (!found) continue;
      if (exist) {
        assign(this.f, exist, and(exist, found));
        this.f.free(found);
      } else exist = found;
    }
    return exist;
  }

  /** As `movedOffset` says; returns whether a destination exists. */
  #findRegister(operand: number, register: RelativeRegister): Local | undefined {
    const { f, wave } = this;
    const { index } = register;
    const { registerSizeBytes, count, last, fallback } = reachOf(register, this.spaces.waveSize);
    const distance = f.local('i32');
    const moved = f.local('i32');
    const m0 = loadFrom('i32.load', wave, STATE_OFFSETS.m0);
    const own = and(index.shift > 0 ? shrU(m0, index.shift) : m0, index.mask);
    // A larger index could overflow below; one of 8 bits is never larger.
    const mayOverflow = index.mask >>> 0 > count;
    const bounded = mayOverflow ? select(tee(distance, own), count, ltU(distance, count)) : own;
    const offset = mul(bounded, registerSizeBytes);
    const isEnabled = and(m0, index.enabledBy);
    const first: Push = () => this.place.pushParameter(operand, 0);
    assign(f, moved, sum(index.enabledBy === 0 ? offset : select(offset, 0, isEnabled), first));
    f.free(distance);
    this.#moved.set(operand, moved);
    const isInFile = leU(moved, last);
    if (index.role === 'source') {
      assign(f, moved, select(moved, fallback, isInFile));
      return undefined;
    }
    const exists = f.local('i32');
    assign(f, exists, isInFile);
    return exists;
  }

  #isRelative(operand: number): boolean {
    return this.operands[operand]?.kind === 'relative';
  }

  /** Offset of an operand's register from the wave's base where that is known. */
  registerOffset(operand: number): number | undefined {
    return this.#isRelative(operand) ? undefined : this.place.parameter(operand, 0);
  }

  /** Pushes the offset of an operand's register from the wave's base. */
  pushRegisterOffset(operand: number): void {
    if (!this.#isRelative(operand)) {
      this.place.pushParameter(operand, 0);
      return;
    }
    const moved = this.#moved.get(operand);
    assert(moved, () => `register of operand ${operand} was looked up`);
    this.f.get(moved);
  }

  /** Pushes the address of an operand's register in the wave state. */
  pushRegister(operand: number): void {
    this.pushRegisterOffset(operand);
    this.f.get(this.wave);
    this.f.op('i32.add');
  }
}
