/**
 * Builds values that depend on nothing but their arguments: constants, pure operations and what is composed
 * of them.
 */
import { assert } from '../base/errors.ts';
import { foldConstants, type SharedLeaf, shareKey } from './folding.ts';
import { OPS, type OpName } from './ops.ts';
import type { Leaf, Type, Value } from './types.ts';

/** Pure operations fold constants and are shared; an operation is per lane when one of its arguments is. */
export class PureBuilder {
  protected readonly values: Value[] = [];
  readonly #shared = new Map<string, Value>();

  // Constants

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
    return this.share({ kind: 'const', value }, type, false, []);
  }

  // Operations

  op(name: OpName, ...args: Value[]): Value {
    const { params, result } = OPS[name];
    assert(
      args.length === params.length && args.every((arg, i) => arg.type === params[i]),
      () => `${name}(${args.map((arg) => arg.type).join(', ')}) expects (${params.join(', ')})`,
    );
    const constant = foldConstants(name, args);
    if (constant !== undefined) return this.#constant(constant, result);
    return this.share(
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

  /** A condition that is nearly never true in any lane; conditions of the wave are what they are. */
  rare(condition: Value): Value {
    return condition.lane ? this.op('i1.rare', condition) : condition;
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

  /** Adds a value that is the same whenever leaf and arguments are. */
  protected share(leaf: Leaf & SharedLeaf, type: Type, lane: boolean, args: readonly Value[]): Value {
    const key = shareKey(leaf, type, args);
    let value = this.#shared.get(key);
    if (!value) {
      value = this.append(leaf, type, lane, args);
      this.#shared.set(key, value);
    }
    return value;
  }

  protected append(leaf: Leaf, type: Type | 'void', lane: boolean, args: readonly Value[]): Value {
    const value: Value = { id: this.values.length, leaf, type, lane, args };
    this.values.push(value);
    return value;
  }
}
