import { assert } from '../../base/errors.ts';
import type { Leaf, Type, Value } from '../../ir/types.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import type { LoadName, StoreName } from '../../wasm/opcodes.ts';
import { STATE_OFFSETS } from '../layout.ts';
import {
  boundsOf,
  INDEX_BITS,
  parseRelativeKind,
  type RelativeKind,
  type RelativeRegister,
} from '../relative-registers.ts';
import { type Emitter, wasmType } from './emitter.ts';
import type { AddressSpaces } from './memory-access.ts';

/** A relative vector operand adds M0[7:0] to its register number when bit 12 + n of M0 is set. */
export type OperandKind = 'vector' | `relative ${0 | 1 | 2 | 3}` | RelativeKind | 'scalar' | 'constant';
export type LeafOf<K extends Leaf['kind']> = Extract<Leaf, { kind: K }>;

/** What an instruction knows about itself besides its program: read from its record, or known where code is emitted for one place. */
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

/** The meaning of one instruction being emitted: the function it is in, and the locals of uniform values. Parameter 1 is the wave. */
export class HandlerState {
  readonly f: FunctionBuilder;
  readonly e: Emitter;
  readonly spaces: AddressSpaces;
  readonly operandKinds: readonly OperandKind[];
  readonly place: InstructionPlace;
  readonly wave: Local;
  readonly rowSizeBytes: number;
  /** How a mask of lanes is read and written as i64 (`isMaskSlot`). */
  readonly maskLoad: LoadName;
  readonly maskStore: StoreName;
  /** EXEC at the start, in an i64; the handlers of instructions without lanes do not load it. */
  exec: Local | undefined;
  readonly #uniform = new Map<Value, Local>();

  constructor(e: Emitter, spaces: AddressSpaces, operandKinds: readonly OperandKind[], place: InstructionPlace) {
    this.f = e.f;
    this.e = e;
    this.spaces = spaces;
    this.operandKinds = operandKinds;
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

  /** Pushes the offset of an operand's register from the wave's base. */
  pushRegisterOffset(operand: number): void {
    const { f, wave } = this;
    this.place.pushParameter(operand, 0);
    const kind = this.operandKinds[operand];
    if (!kind?.startsWith('relative')) return;
    const register = parseRelativeKind(kind);
    if (register) {
      this.#moveRegister(register);
      return;
    }
    f.get(wave);
    f.load('i32.load', STATE_OFFSETS.m0);
    f.i32(0xff);
    f.op('i32.and');
    f.i32(this.rowSizeBytes);
    f.op('i32.mul');
    f.i32(0);
    f.get(wave);
    f.load('i32.load', STATE_OFFSETS.m0);
    f.i32(0x1000 << Number(kind.at(-1)));
    f.op('i32.and');
    f.select();
    f.op('i32.add');
  }

  /** Replaces the offset of a register by that of the one that M0 leads to, as `relativeOffset` says. */
  #moveRegister(register: RelativeRegister): void {
    const { f, wave } = this;
    const { registerSizeBytes, count, end, fallback } = boundsOf(register, this.spaces.waveSize);
    const [shift, mask] = INDEX_BITS[register.part];
    const index = f.local('i32');
    const moved = f.local('i32');
    f.get(wave);
    f.load('i32.load', STATE_OFFSETS.m0);
    f.i32(shift);
    f.op('i32.shr_u');
    f.i32(mask);
    f.op('i32.and');
    f.tee(index);
    f.i32(count);
    f.get(index);
    f.i32(count);
    f.op('i32.lt_u');
    f.select();
    f.i32(registerSizeBytes);
    f.op('i32.mul');
    f.op('i32.add');
    f.tee(moved);
    f.i32(fallback);
    f.get(moved);
    f.i32(end);
    f.op('i32.lt_u');
    f.select();
    f.free(index, moved);
  }

  /** Pushes the address of an operand's register in the wave state. */
  pushRegister(operand: number): void {
    this.pushRegisterOffset(operand);
    this.f.get(this.wave);
    this.f.op('i32.add');
  }
}
