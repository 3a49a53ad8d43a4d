/** Comparisons. PTX ISA 9.7.5 "Comparison and Selection", 9.3 on the operators. */
import type { Value } from '../../ir/types.ts';
import { elementTypeOf, isFloatType, isSigned, type PtxType } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

type Relation = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge';

/** `lo`, `ls`, `hi` and `hs` are other names of what unsigned numbers have anyway. */
const UNSIGNED: Readonly<Record<string, Relation>> = { lo: 'lt', ls: 'le', hi: 'gt', hs: 'ge' };

function integers(b: PtxBuilder, type: PtxType, x: Value, y: Value): Value {
  const operator = operatorOf(b);
  const relation = UNSIGNED[operator] ?? operator;
  const less = (p: Value, q: Value): Value => (isSigned(type) ? b.ltS(p, q) : b.ltU(p, q));
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

/**
 * A `u` behind an operator makes it true for NaN. Ordered comparisons are false for NaN, and say nothing of
 * its bits, which nobody has to look at then.
 */
function floats(b: PtxBuilder, type: PtxType, x: Value, y: Value): Value {
  const f = b.float(type);
  const differ = (): Value => b.op('i1.or', f.lt(x, y), f.lt(y, x));
  const isOrdered = (): Value => b.op('i1.or', f.le(x, y), f.lt(y, x));
  const relations: Readonly<Record<string, () => Value>> = {
    eq: () => f.eq(x, y),
    ne: differ,
    lt: () => f.lt(x, y),
    le: () => f.le(x, y),
    gt: () => f.lt(y, x),
    ge: () => f.le(y, x),
    equ: () => b.not(differ()),
    neu: () => b.not(f.eq(x, y)),
    ltu: () => b.not(f.le(y, x)),
    leu: () => b.not(f.lt(y, x)),
    gtu: () => b.not(f.le(x, y)),
    geu: () => b.not(f.lt(x, y)),
    num: isOrdered,
    nan: () => b.not(isOrdered()),
  };
  return relations[operatorOf(b)]!();
}

const operatorOf = (b: PtxBuilder): string => b.modifiers['compare']!;

function combined(b: PtxBuilder, condition: Value, other: Value): Value {
  const { with: operator } = b.modifiers;
  if (operator === 'and') return b.op('i1.and', condition, other);
  return b.op(operator === 'or' ? 'i1.or' : 'i1.xor', condition, other);
}

/** Whether two elements are so to each other. */
function compared(b: PtxBuilder, type: PtxType, x: Value, y: Value): Value {
  return isFloatType(type) ? floats(b, type, x, y) : integers(b, type, x, y);
}

/** The second destination has the opposite of the first, with the same combination. */
function setPredicate(b: PtxBuilder): void {
  const condition = compared(b, b.type(), b.read(2), b.read(3));
  const outcome = (value: Value): Value => (b.has('with') ? combined(b, value, b.read(4)) : value);
  b.write(0, outcome(condition));
  if (!b.isAbsent(1)) b.write(1, outcome(b.not(condition)));
}

/** Of packed values the first destination is about the low elements, the second about the high ones. */
function setPredicates(b: PtxBuilder): void {
  const [x, y] = [b.read(2), b.read(3)];
  const element = elementTypeOf(b.type());
  for (const index of [0, 1]) {
    const part = (value: Value): Value => b.bits(value, 16 * index, 16);
    const condition = compared(b, element, part(x), part(y));
    b.write(index, b.has('with') ? combined(b, condition, b.read(4)) : condition);
  }
}

/** All ones, or 1.0, for what is true. */
function setValue(b: PtxBuilder): void {
  const to = elementTypeOf(b.type('to'));
  const [x, y, other] = b.sources as [Value, Value, Value | undefined];
  const yes = isFloatType(to) ? b.float(to).constant(1) : b.i32(-1);
  b.write(
    0,
    b.perElement(b.type(), [x, y], (type, p, q) => {
      const condition = compared(b, type, p!, q!);
      return b.select(other ? combined(b, condition, other) : condition, yes, b.i32(0));
    }),
  );
}

const WITH = '.with=and|or|xor';
const PACKED = 'f16x2|bf16x2';

/** Which comparisons values of which types have: PTX ISA 9.3.1 to 9.3.3. */
const SCALARS = [
  ['.compare=eq|ne', '.type=@bits'],
  ['.compare=@ordered', '.type=s16|s32|s64'],
  ['.compare=@orderedUnsigned', '.type=u16|u32|u64'],
  ['.compare=@orderedFloat', '.ftz?.type=f16|bf16|f32|f64'],
] as const;

// biome-ignore format: one row per line, as the tables of the manual
const rowsOf = (combination: string, third: string): readonly PtxRow[] => [
  ...SCALARS.flatMap(([compare, type]) => [
    ptxRow('setp', `${compare}${combination}${type}`, `=pred |=pred? type type${third}`, setPredicate),
    ptxRow('set', `${compare}${combination}${type.replace('.type', '.to=u16|s16|u32|s32|f16|bf16|f32.type')}`, `=to type type${third}`, setValue),
  ]),
  ptxRow('setp', `.compare=@orderedFloat${combination}.ftz?.type=${PACKED}`, `=pred |=pred type type${third}`, setPredicates),
  ptxRow('set', `.compare=@orderedFloat${combination}.ftz?.to=u32|s32|f16x2|bf16x2.type=${PACKED}`, `=to type type${third}`, setValue),
];

export const COMPARE_ROWS: readonly PtxRow[] = [...rowsOf('', ''), ...rowsOf(WITH, ' pred')];
