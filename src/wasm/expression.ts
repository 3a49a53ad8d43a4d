/**
 * Formulas that read as one writes them: `sum(base, mul(and(m0, 0xff), rowBytes))`. Nothing is emitted before
 * `push`; then each operand comes before its operation, in the order of the formula, as by hand. A number is
 * a constant of 32 bits, a bigint one of 64.
 */
import type { FunctionBuilder, Local } from './function.ts';
import type { LoadName, PlainName } from './opcodes.ts';

/** Emits what leaves one value on the stack. */
export type Push = (f: FunctionBuilder) => void;
export type Term = Local | number | bigint | Push;

/** Pushes the value of an operand. */
export function push(f: FunctionBuilder, operand: Term): void {
  if (typeof operand === 'function') operand(f);
  else if (typeof operand === 'number') f.i32(operand);
  else if (typeof operand === 'bigint') f.i64(operand);
  else f.get(operand);
}

/** Sets a local to the value of an operand. */
export function assign(f: FunctionBuilder, local: Local, value: Term): void {
  push(f, value);
  f.set(local);
}

/** Each local gets the value of another one, all at once: that may be one of those which get another. */
export function assignTogether(f: FunctionBuilder, moves: readonly (readonly [to: Local, from: Local])[]): void {
  const changes = moves.filter(([to, from]) => to !== from);
  for (const [, from] of changes) f.get(from);
  for (const [to] of changes.toReversed()) f.set(to);
}

/** An operation on operands. */
export const operation =
  (name: PlainName, ...operands: readonly Term[]): Push =>
  (f) => {
    for (const operand of operands) push(f, operand);
    f.op(name);
  };

type Binary = (a: Term, b: Term) => Push;
const binary =
  (name: PlainName): Binary =>
  (a, b) =>
    operation(name, a, b);

/** More than two terms are added from left to right. */
export const sum = (first: Term, ...others: readonly Term[]): Push =>
  others.reduce<Push>(
    (sum, term) => operation('i32.add', sum, term),
    (f) => push(f, first),
  );
export const sub = binary('i32.sub');
export const mul = binary('i32.mul');
export const and = binary('i32.and');
export const or = binary('i32.or');
export const xor = binary('i32.xor');
export const shl = binary('i32.shl');
export const shrU = binary('i32.shr_u');
export const eq = binary('i32.eq');
export const ne = binary('i32.ne');
export const ltS = binary('i32.lt_s');
export const ltU = binary('i32.lt_u');
export const leU = binary('i32.le_u');
export const gtU = binary('i32.gt_u');
export const geU = binary('i32.ge_u');
export const eqz = (a: Term): Push => operation('i32.eqz', a);

export const add64 = binary('i64.add');
export const ne64 = binary('i64.ne');
export const gtU64 = binary('i64.gt_u');
export const gtS64 = binary('i64.gt_s');
export const leU64 = binary('i64.le_u');
export const zext64 = (a: Term): Push => operation('i64.extend_i32_u', a);

export const loadFrom =
  (name: LoadName, address: Term, offset: number, memory = 0): Push =>
  (f) => {
    push(f, address);
    f.load(name, offset, memory);
  };

/** Changes a number of 32 bits in memory. */
export function change(f: FunctionBuilder, address: Local, offset: number, next: (now: Push) => Push): void {
  f.get(address);
  push(f, next(loadFrom('i32.load', address, offset)));
  f.store('i32.store', offset);
}

/** `a` where the condition is not 0; both are computed. */
export const select =
  (a: Term, b: Term, condition: Term): Push =>
  (f) => {
    push(f, a);
    push(f, b);
    push(f, condition);
    f.select();
  };

/** The value, which is left in a local, too. */
export const tee =
  (local: Local, value: Term): Push =>
  (f) => {
    push(f, value);
    f.tee(local);
  };

/** Lane `lane` of a vector of four dwords. */
export const laneOf =
  (vector: Term, lane: number): Push =>
  (f) => {
    push(f, vector);
    f.lane('i32x4.extract_lane', lane);
  };
