/** Comparisons. PTX ISA 9.7.5 "Comparison and Selection", 9.3 on the operators. */
import type { Value } from '../../ir/types.ts';
import { isFloatType, isSigned } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

type Relation = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge';

/** `lo`, `ls`, `hi` and `hs` are the unsigned ones, whatever the type is. */
const UNSIGNED: Readonly<Record<string, Relation>> = { lo: 'lt', ls: 'le', hi: 'gt', hs: 'ge' };

function integers(b: PtxBuilder, operator: string, x: Value, y: Value): Value {
  const relation = UNSIGNED[operator] ?? operator;
  const less = (p: Value, q: Value): Value =>
    isSigned(b.type()) && UNSIGNED[operator] === undefined ? b.ltS(p, q) : b.ltU(p, q);
  const relations: Readonly<Record<string, () => Value>> = {
    eq: () => b.eq(x, y),
    ne: () => b.ne(x, y),
    lt: () => less(x, y),
    le: () => b.not(less(y, x)),
    gt: () => less(y, x),
    ge: () => b.not(less(x, y)),
  };
  return relations[relation]!();
}

/** A `u` behind an operator makes it true for NaN. */
function floats(b: PtxBuilder, operator: string, x: Value, y: Value): Value {
  const f = b.float();
  const isUnordered = b.op('i1.or', f.isNan(x), f.isNan(y));
  const relations: Readonly<Record<string, () => Value>> = {
    eq: () => f.eq(x, y),
    ne: () => b.op('i1.and', b.not(isUnordered), b.not(f.eq(x, y))),
    lt: () => f.lt(x, y),
    le: () => f.le(x, y),
    gt: () => f.lt(y, x),
    ge: () => f.le(y, x),
    neu: () => b.not(f.eq(x, y)),
    num: () => b.not(isUnordered),
    nan: () => isUnordered,
  };
  const ordered = relations[operator];
  if (ordered) return ordered();
  return b.op('i1.or', isUnordered, relations[operator.slice(0, -1)]!());
}

function combined(b: PtxBuilder, condition: Value, other: Value): Value {
  const { with: operator } = b.modifiers;
  if (operator === 'and') return b.op('i1.and', condition, other);
  return b.op(operator === 'or' ? 'i1.or' : 'i1.xor', condition, other);
}

/** The condition, with its combination, and that of its opposite. */
function outcomes(b: PtxBuilder, first: number, third: number): readonly [Value, Value] {
  const [x, y] = [b.read(first), b.read(first + 1)];
  const operator = b.modifiers['compare']!;
  const condition = isFloatType(b.type()) ? floats(b, operator, x, y) : integers(b, operator, x, y);
  if (!b.has('with')) return [condition, b.not(condition)];
  const other = b.read(third);
  return [combined(b, condition, other), combined(b, b.not(condition), other)];
}

function setPredicate(b: PtxBuilder): void {
  const [condition, opposite] = outcomes(b, 2, 4);
  b.write(0, condition);
  if (!b.isAbsent(1)) b.write(1, opposite);
}

/** All ones, or 1.0, for what is true. */
function setValue(b: PtxBuilder): void {
  const [condition] = outcomes(b, 1, 3);
  const yes = b.type('to') === 'f32' ? b.f32.constant(1) : b.i32(-1);
  b.write(0, b.select(condition, yes, b.i32(0)));
}

const TYPES = 'b16|b32|b64|u16|u32|u64|s16|s32|s64|f16|f32|f64';
const WITH = '.with=and|or|xor';

// biome-ignore format: one row per line, as the tables of the manual
export const COMPARE_ROWS: readonly PtxRow[] = [
  ptxRow('setp', `.compare=@compare.ftz?.type=${TYPES}`, '=pred |=pred? type type', setPredicate),
  ptxRow('setp', `.compare=@compare${WITH}.ftz?.type=${TYPES}`, '=pred |=pred? type type pred', setPredicate),
  ptxRow('set', `.compare=@compare.ftz?.to=u32|s32|f32.type=${TYPES}`, '=to type type', setValue),
  ptxRow('set', `.compare=@compare${WITH}.ftz?.to=u32|s32|f32.type=${TYPES}`, '=to type type pred', setValue),
];
