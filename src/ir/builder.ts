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
import { argumentOffsets, type MatrixProduct } from './matrix-product.ts';
import type { Evaluated } from './op.ts';
import { OPS, type OpName } from './ops.ts';
import {
  type ExitReason,
  isMaskSlot,
  type Leaf,
  type MemorySpace,
  type OperandDword,
  type Program,
  type StateSlot,
  type Type,
  type Update,
  type Value,
} from './types.ts';

/** Typed value as the evaluator sees it, as a bigint constant. */
export const toConstant = (value: Evaluated, type: Type): bigint =>
  type === 'i64'
    ? BigInt.asUintN(64, BigInt(value))
    : type === 'i32'
      ? BigInt.asIntN(32, BigInt(value))
      : BigInt(value);

export const fromConstant = (value: bigint, type: Type | 'void'): Evaluated => (type === 'i64' ? value : Number(value));

/** LDS and private addresses differ from lane to lane by their meaning, global ones only when an argument does. */
const isLaneAccess = (space: MemorySpace, args: readonly Value[]): boolean =>
  space !== 'global' || args.some((arg) => arg.lane);

/**
 * Builds the meaning of one instruction. Pure operations fold constants and are shared; an operation is per lane when one of
 * its arguments is.
 */
export class Builder implements FloatBuilders {
  readonly waveSize: 32 | 64;
  readonly mode: FloatMode;
  readonly #floats: FloatBuilders;
  readonly #values: Value[] = [];
  readonly #shared = new Map<string, Value>();

  constructor(waveSize: 32 | 64, mode: FloatMode) {
    this.waveSize = waveSize;
    this.mode = mode;
    this.#floats = makeFloatBuilders(this, mode.round32, mode.round64);
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

  /** The floating-point operations with this rounding, whatever the mode says. */
  rounding(rounding: Rounding): FloatBuilders {
    const { round32, round64 } = this.mode;
    return round32 === rounding && round64 === rounding ? this : makeFloatBuilders(this, rounding, rounding);
  }

  finish(): Program {
    return { values: this.#values, waveSize: this.waveSize };
  }

  // Constants and leaves

  i32(value: number): Value {
    return this.#constant(BigInt(value | 0), 'i32');
  }

  i64(value: bigint): Value {
    return this.#constant(BigInt.asUintN(64, value), 'i64');
  }

  i1(value: boolean): Value {
    return this.#constant(value ? 1n : 0n, 'i1');
  }

  #constant(value: bigint, type: Type): Value {
    return this.#share({ kind: 'const', value }, type, false, []);
  }

  operand(at: OperandDword, lane: boolean): Value {
    return this.#add({ kind: 'operand', at }, 'i32', lane, []);
  }

  state(slot: StateSlot): Value {
    const type = slot === 'scc' ? 'i1' : isMaskSlot(slot) ? 'i64' : 'i32';
    return this.#add({ kind: 'state', slot }, type, false, []);
  }

  /** Address of this instruction. */
  pc(): Value {
    return this.#share({ kind: 'pc' }, 'i64', false, []);
  }

  /** Address of the next instruction. */
  nextPc(): Value {
    return this.#share({ kind: 'nextPc' }, 'i64', false, []);
  }

  /** Device clock, ticks of 10 ns. */
  clock(): Value {
    return this.#add({ kind: 'clock' }, 'i64', false, []);
  }

  laneId(): Value {
    return this.#share({ kind: 'laneId' }, 'i32', true, []);
  }

  laneTable(operand: number): Value {
    return this.#share({ kind: 'laneTable', operand }, 'i32', true, []);
  }

  // Pure operations

  op(name: OpName, ...args: Value[]): Value {
    const { params, result, evaluate } = OPS[name];
    assert(
      args.length === params.length && args.every((arg, i) => arg.type === params[i]),
      () => `${name}(${args.map((arg) => arg.type).join(', ')}) expects (${params.join(', ')})`,
    );
    const constants = args.map((arg) => (arg.leaf.kind === 'const' ? arg.leaf.value : undefined));
    if (constants.every((constant) => constant !== undefined)) {
      const values = constants.map((constant, i) => fromConstant(constant, args[i]!.type));
      return this.#constant(toConstant((evaluate as (...args: Evaluated[]) => Evaluated)(...values), result), result);
    }
    return this.#share(
      { kind: 'pure', op: name },
      result,
      args.some((arg) => arg.lane),
      args,
    );
  }

  #sized(name: string, ...args: Value[]): Value {
    return this.op(`${args[0]!.type}.${name}` as OpName, ...args);
  }

  add(a: Value, b: Value): Value {
    return this.#sized('add', a, b);
  }

  sub(a: Value, b: Value): Value {
    return this.#sized('sub', a, b);
  }

  mul(a: Value, b: Value): Value {
    return this.#sized('mul', a, b);
  }

  and(a: Value, b: Value): Value {
    return this.#sized('and', a, b);
  }

  or(a: Value, b: Value): Value {
    return this.#sized('or', a, b);
  }

  xor(a: Value, b: Value): Value {
    return this.#sized('xor', a, b);
  }

  not(a: Value): Value {
    if (a.type === 'i1') return this.op('i1.not', a);
    return this.xor(a, a.type === 'i64' ? this.i64(-1n) : this.i32(-1));
  }

  neg(a: Value): Value {
    return this.sub(a.type === 'i64' ? this.i64(0n) : this.i32(0), a);
  }

  /** Shifts take an i32 amount, used modulo the width. */
  shl(a: Value, amount: Value | number): Value {
    return this.#sized('shl', a, this.#amount(amount));
  }

  shrU(a: Value, amount: Value | number): Value {
    return this.#sized('shrU', a, this.#amount(amount));
  }

  shrS(a: Value, amount: Value | number): Value {
    return this.#sized('shrS', a, this.#amount(amount));
  }

  #amount(amount: Value | number): Value {
    return typeof amount === 'number' ? this.i32(amount) : amount;
  }

  eq(a: Value, b: Value): Value {
    return this.#sized('eq', a, b);
  }

  ne(a: Value, b: Value): Value {
    return this.not(this.eq(a, b));
  }

  ltU(a: Value, b: Value): Value {
    return this.#sized('ltU', a, b);
  }

  ltS(a: Value, b: Value): Value {
    return this.#sized('ltS', a, b);
  }

  isZero(a: Value): Value {
    return this.eq(a, a.type === 'i64' ? this.i64(0n) : this.i32(0));
  }

  select(condition: Value, a: Value, b: Value): Value {
    if (condition.leaf.kind === 'const') return condition.leaf.value === 1n ? a : b;
    if (a.type === 'i1') {
      return this.op('i1.or', this.op('i1.and', condition, a), this.op('i1.and', this.not(condition), b));
    }
    return this.op(`${a.type}.select` as OpName, condition, a, b);
  }

  minU(a: Value, b: Value): Value {
    return a.type === 'i64' ? this.select(this.ltU(a, b), a, b) : this.op('i32.minU', a, b);
  }

  maxU(a: Value, b: Value): Value {
    return a.type === 'i64' ? this.select(this.ltU(a, b), b, a) : this.op('i32.maxU', a, b);
  }

  minS(a: Value, b: Value): Value {
    return a.type === 'i64' ? this.select(this.ltS(a, b), a, b) : this.op('i32.minS', a, b);
  }

  maxS(a: Value, b: Value): Value {
    return a.type === 'i64' ? this.select(this.ltS(a, b), b, a) : this.op('i32.maxS', a, b);
  }

  pack(low: Value, high: Value): Value {
    return this.op('i64.pack', low, high);
  }

  low(a: Value): Value {
    if (a.leaf.kind === 'pure' && a.leaf.op === 'i64.pack') return a.args[0]!;
    return this.op('i64.low', a);
  }

  high(a: Value): Value {
    if (a.leaf.kind === 'pure' && a.leaf.op === 'i64.pack') return a.args[1]!;
    return this.op('i64.high', a);
  }

  zext64(a: Value): Value {
    return this.op('i64.zext32', a);
  }

  sext64(a: Value): Value {
    return this.op('i64.sext32', a);
  }

  /** Bits `low .. low + width - 1`, zero-extended; constant position. */
  bits(a: Value, low: number, width: number): Value {
    const shifted = low === 0 ? a : this.shrU(a, low);
    return low + width === 32 ? shifted : this.and(shifted, this.i32(2 ** width - 1));
  }

  sext8(a: Value): Value {
    return this.op('i32.sext8', a);
  }

  sext16(a: Value): Value {
    return this.op('i32.sext16', a);
  }

  boolToI32(a: Value): Value {
    return this.op('i1.toI32', a);
  }

  // Lanes

  /** The lanes' bits of a uniform mask (i64; the low half counts in wave32). */
  laneMask(mask: Value): Value {
    return this.#add({ kind: 'laneMask' }, 'i1', true, [mask]);
  }

  ballot(condition: Value): Value {
    return this.#add({ kind: 'ballot' }, 'i64', false, [condition]);
  }

  gather(at: OperandDword, index: Value): Value {
    return this.#add({ kind: 'gather', at }, 'i32', true, [index]);
  }

  readLane(at: OperandDword, index: Value): Value {
    return this.#add({ kind: 'readLane', at }, 'i32', false, [index]);
  }

  writeLane(at: OperandDword, index: Value, value: Value): void {
    this.#add({ kind: 'writeLane', at }, 'void', false, [index, value]);
  }

  /** `accumulators` plus the products; per lane, for all lanes of the wave: EXEC does not count in the whole program. */
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
    const first = this.#add({ kind: 'matrixProduct', product }, type, true, args);
    const others = Array.from({ length: product.results - 1 }, (_, i) =>
      this.#add({ kind: 'matrixResult', index: i + 1 }, type, true, [first]),
    );
    return [first, ...others];
  }

  // Effects

  /** Writes a register; per-lane registers only where EXEC, and `mask` if given, is on. */
  setOperand(at: OperandDword, value: Value, lane: boolean, mask?: Value): void {
    this.#add({ kind: 'setOperand', at }, 'void', lane, mask ? [value, mask] : [value]);
  }

  setState(slot: StateSlot, value: Value): void {
    this.#add({ kind: 'setState', slot }, 'void', false, [value]);
  }

  /**
   * Loads `sizeBytes` (1, 2, 4, 8, 12, 16; more for uniform loads) at `address`, one value for each dword; 1 and 2 bytes are zero-extended.
   * The address is i64 for global and flat, i32 for lds and private (a byte offset in the lane's private segment). Lanes where
   * `predicate` (i1) is off read 0 without an access (`isRare`: nearly all of them); a global access with nothing per lane in it is one access of the wave.
   */
  load(space: MemorySpace, sizeBytes: number, address: Value, predicate?: Value, isRare = false): Value[] {
    const dwords = Math.max(1, sizeBytes / 4);
    const args = predicate ? [address, predicate] : [address];
    const lane = isLaneAccess(space, args);
    const leaf: Leaf = { kind: 'load', space, sizeBytes, dwords, predicated: predicate !== undefined, isRare };
    const first = this.#add(leaf, 'i32', lane, args);
    const others = Array.from({ length: dwords - 1 }, (_, i) =>
      this.#add({ kind: 'loaded', index: i + 1 }, 'i32', lane, [first]),
    );
    return [first, ...others];
  }

  /** Stores the dwords of `data` (one value also for 1 and 2 bytes), only in lanes where `predicate` is on. */
  store(
    space: MemorySpace,
    sizeBytes: number,
    address: Value,
    data: readonly Value[],
    predicate?: Value,
    isRare = false,
  ): void {
    const args = [address, ...data, ...(predicate ? [predicate] : [])];
    const leaf: Leaf = { kind: 'store', space, sizeBytes, predicated: predicate !== undefined, isRare };
    this.#add(leaf, 'void', isLaneAccess(space, args), args);
  }

  /** Atomic read-modify-write per lane; returns the old value, 0 where `predicate` is off. `update` gets (old, data, compare?). */
  atomic(
    space: MemorySpace,
    address: Value,
    operands: readonly Value[],
    update: (b: Builder, old: Value, ...operands: Value[]) => Value,
    predicate?: Value,
  ): Value {
    const type = operands[0]!.type as Type;
    const inner = new Builder(this.waveSize, this.mode);
    const old = inner.#add({ kind: 'param', index: 0 }, type, false, []);
    const data = operands.map((_, i) => inner.#add({ kind: 'param', index: i + 1 }, type, false, []));
    const result = update(inner, old, ...data);
    const description: Update = { body: inner.#values, result };
    const sizeBytes = type === 'i64' ? 8 : 4;
    const leaf: Leaf = { kind: 'atomic', space, sizeBytes, update: description, predicated: predicate !== undefined };
    return this.#add(leaf, type, true, [address, ...operands, ...(predicate ? [predicate] : [])]);
  }

  fence(): void {
    this.#add({ kind: 'fence' }, 'void', false, []);
  }

  /** Goes to the decoded instruction's branch target when `condition` holds. */
  branch(condition: Value): void {
    this.#add({ kind: 'branch' }, 'void', false, [condition]);
  }

  jump(pc: Value): void {
    this.#add({ kind: 'jump' }, 'void', false, [pc]);
  }

  exit(reason: ExitReason): void {
    this.#add({ kind: 'exit', reason }, 'void', false, []);
  }

  #share(leaf: Leaf, type: Type, lane: boolean, args: readonly Value[]): Value {
    const tag =
      leaf.kind === 'const'
        ? leaf.value
        : leaf.kind === 'pure'
          ? leaf.op
          : leaf.kind === 'laneTable'
            ? leaf.operand
            : '';
    const key = `${leaf.kind} ${type} ${tag} ${args.map((arg) => arg.id).join(' ')}`;
    let value = this.#shared.get(key);
    if (!value) {
      value = this.#add(leaf, type, lane, args);
      this.#shared.set(key, value);
    }
    return value;
  }

  #add(leaf: Leaf, type: Type | 'void', lane: boolean, args: readonly Value[]): Value {
    const value: Value = { id: this.#values.length, leaf, type, lane, args };
    this.#values.push(value);
    return value;
  }
}
