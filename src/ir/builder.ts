import { assert } from '../base/errors.ts';
import type { Rounding } from './float-bits.ts';
import {
  type F16Builder,
  type F32Builder,
  type FloatBuilder,
  type FloatBuilders,
  type FloatMode,
  makeFloatBuilders,
} from './float-builder.ts';
import { accessLanes, slotType } from './leaves.ts';
import { argumentOffsets, type MatrixProduct } from './matrix-product.ts';
import { PureBuilder } from './pure-builder.ts';
import type { ExitReason, Leaf, MemorySpace, OperandDword, Program, StateSlot, Type, Update, Value } from './types.ts';

const isLaneAccess = (space: MemorySpace, args: readonly Value[]): boolean =>
  accessLanes({ space }) === 'lane' || args.some((arg) => arg.lane);

/** Which lanes access memory. */
export interface AccessCondition {
  /** Of type i1; where it is off, there is no access. */
  readonly predicate?: Value | undefined;
  /** The predicate is off in nearly all lanes. */
  readonly isRare?: boolean | undefined;
  /** An address that is no multiple of this power of two, in bytes, is a fault; 1: any will do. */
  readonly alignmentBytes?: number | undefined;
}

const alignment = (bytes = 1): { alignmentBytes?: number } => (bytes > 1 ? { alignmentBytes: bytes } : {});

/** Builds the meaning of one instruction. */
export class Builder extends PureBuilder implements FloatBuilders {
  readonly waveSize: 32 | 64;
  readonly mode: FloatMode;
  readonly #floats: FloatBuilders;

  constructor(waveSize: 32 | 64, mode: FloatMode) {
    super();
    this.waveSize = waveSize;
    this.mode = mode;
    this.#floats = makeFloatBuilders(this, mode);
  }

  get f32(): F32Builder {
    return this.#floats.f32;
  }

  get f64(): FloatBuilder {
    return this.#floats.f64;
  }

  get f16(): F16Builder {
    return this.#floats.f16;
  }

  get bf16(): F16Builder {
    return this.#floats.bf16;
  }

  /** The floating-point operations with this rounding, whatever the mode says. */
  rounding(rounding: Rounding): FloatBuilders {
    const { round32, round64 } = this.mode;
    if (round32 === rounding && round64 === rounding) return this;
    return makeFloatBuilders(this, { ...this.mode, round32: rounding, round64: rounding });
  }

  finish(): Program {
    return { values: this.values, waveSize: this.waveSize };
  }

  // Leaves

  operand(at: OperandDword, lane: boolean): Value {
    return this.append({ kind: 'operand', at }, 'i32', lane, []);
  }

  state(slot: StateSlot): Value {
    return this.append({ kind: 'state', slot }, slotType(slot), false, []);
  }

  /** Address of this instruction. */
  pc(): Value {
    return this.share({ kind: 'pc' }, 'i64', false, []);
  }

  /** Address of the next instruction. */
  nextPc(): Value {
    return this.share({ kind: 'nextPc' }, 'i64', false, []);
  }

  /** Device clock, ticks of 10 ns. */
  clock(): Value {
    return this.append({ kind: 'clock' }, 'i64', false, []);
  }

  laneId(): Value {
    return this.share({ kind: 'laneId' }, 'i32', true, []);
  }

  laneTable(operand: number): Value {
    return this.share({ kind: 'laneTable', operand }, 'i32', true, []);
  }

  // Lanes

  /** The lanes' bits of a uniform mask (i64; the low half counts in wave32). */
  laneMask(mask: Value): Value {
    return this.append({ kind: 'laneMask' }, 'i1', true, [mask]);
  }

  ballot(condition: Value): Value {
    return this.append({ kind: 'ballot' }, 'i64', false, [condition]);
  }

  gather(at: OperandDword, index: Value): Value {
    return this.append({ kind: 'gather', at }, 'i32', true, [index]);
  }

  readLane(at: OperandDword, index: Value): Value {
    return this.append({ kind: 'readLane', at }, 'i32', false, [index]);
  }

  writeLane(at: OperandDword, index: Value, value: Value): void {
    this.append({ kind: 'writeLane', at }, 'void', false, [index, value]);
  }

  /**
   * `accumulators` plus the products; per lane, for all lanes of the wave: EXEC does not count in the whole
   * program.
   */
  matrixProduct(
    product: MatrixProduct,
    left: readonly Value[],
    right: readonly Value[],
    accumulators: readonly Value[],
    selectors: readonly Value[] = [],
  ): Value[] {
    const args = [...left, ...selectors, ...right, ...accumulators];
    assert(args.length === argumentOffsets(product).accumulators + product.results, 'elements of a matrix product');
    const type = product.type === 'f64' ? 'i64' : 'i32';
    const first = this.append({ kind: 'matrixProduct', product }, type, true, args);
    const others = Array.from({ length: product.results - 1 }, (_, i) =>
      this.append({ kind: 'matrixResult', index: i + 1 }, type, true, [first]),
    );
    return [first, ...others];
  }

  // Effects

  /** Writes a register; per-lane registers only where EXEC, and `mask` if given, is on. */
  setOperand(at: OperandDword, value: Value, lane: boolean, mask?: Value): void {
    this.append({ kind: 'setOperand', at }, 'void', lane, mask ? [value, mask] : [value]);
  }

  setState(slot: StateSlot, value: Value): void {
    this.append({ kind: 'setState', slot }, 'void', false, [value]);
  }

  /**
   * Loads `sizeBytes` (1, 2, 4, 8, 12, 16; more for uniform loads) at `address`, one value for each dword; 1
   * and 2 bytes are zero-extended. The address is i64 for global and flat, i32 for lds and private (a byte
   * offset in the lane's private segment). Lanes where the predicate is off read 0 without an access; a
   * global access with nothing per lane in it is one access of the wave.
   */
  load(
    space: MemorySpace,
    sizeBytes: number,
    address: Value,
    { predicate, isRare = false, alignmentBytes }: AccessCondition = {},
  ): Value[] {
    const dwords = Math.max(1, sizeBytes / 4);
    const args = predicate ? [address, predicate] : [address];
    const lane = isLaneAccess(space, args);
    const own = { predicated: predicate !== undefined, isRare, ...alignment(alignmentBytes) };
    const leaf: Leaf = { kind: 'load', space, sizeBytes, dwords, ...own };
    const first = this.append(leaf, 'i32', lane, args);
    const others = Array.from({ length: dwords - 1 }, (_, i) =>
      this.append({ kind: 'loaded', index: i + 1 }, 'i32', lane, [first]),
    );
    return [first, ...others];
  }

  /**
   * Stores the dwords of `data` (one value also for 1 and 2 bytes), only in lanes where the predicate is on.
   */
  store(
    space: MemorySpace,
    sizeBytes: number,
    address: Value,
    data: readonly Value[],
    { predicate, isRare = false, alignmentBytes }: AccessCondition = {},
  ): void {
    const args = [address, ...data, ...(predicate ? [predicate] : [])];
    const own = { predicated: predicate !== undefined, isRare, ...alignment(alignmentBytes) };
    const leaf: Leaf = { kind: 'store', space, sizeBytes, ...own };
    this.append(leaf, 'void', isLaneAccess(space, args), args);
  }

  /**
   * Atomic read-modify-write; returns the old value, 0 where `predicate` is off. `update` gets (old, data,
   * compare?). In global memory with nothing per lane in it, it is one of the wave.
   */
  atomic(
    space: MemorySpace,
    address: Value,
    operands: readonly Value[],
    update: (b: Builder, old: Value, ...operands: Value[]) => Value,
    { predicate, alignmentBytes }: AccessCondition = {},
  ): Value {
    const type = operands[0]!.type as Type;
    const inner = new Builder(this.waveSize, this.mode);
    const old = inner.append({ kind: 'param', index: 0 }, type, false, []);
    const data = operands.map((_, i) => inner.append({ kind: 'param', index: i + 1 }, type, false, []));
    const result = update(inner, old, ...data);
    const description: Update = { body: inner.values, result };
    const sizeBytes = type === 'i64' ? 8 : 4;
    const own = { predicated: predicate !== undefined, ...alignment(alignmentBytes) };
    const leaf: Leaf = { kind: 'atomic', space, sizeBytes, update: description, ...own };
    const args = [address, ...operands, ...(predicate ? [predicate] : [])];
    return this.append(leaf, type, isLaneAccess(space, args), args);
  }

  fence(): void {
    this.append({ kind: 'fence' }, 'void', false, []);
  }

  /** Goes to the decoded instruction's branch target when `condition` holds. */
  branch(condition: Value): void {
    this.append({ kind: 'branch' }, 'void', false, [condition]);
  }

  jump(pc: Value): void {
    this.append({ kind: 'jump' }, 'void', false, [pc]);
  }

  exit(reason: ExitReason): void {
    this.append({ kind: 'exit', reason }, 'void', false, []);
  }
}
