/** The registers that operands name. */
import type { RegisterRange } from '../../../ir/effects.ts';
import type { Instruction, Operand } from '../encoding/instruction.ts';
import type { OperandSpec } from '../encoding/row.ts';

export function rangeOf(operand: Operand, dwords: number): RegisterRange | undefined {
  if (operand.kind === 'scalar') return { file: 'scalar', first: operand.register, dwords };
  if (operand.kind !== 'vector') return undefined;
  return { file: operand.accumulator ? 'accumulator' : 'vector', first: operand.register, dwords };
}

/** The registers of those operands that `takes` says. */
export const rangesWhere = (instruction: Instruction, takes: (spec: OperandSpec) => boolean): RegisterRange[] =>
  instruction.row.operands.flatMap((spec, index) =>
    takes(spec) ? (rangeOf(instruction.operand(index), instruction.dwords(index)) ?? []) : [],
  );

/** What of some ranges no range of others has. */
export const rangesWithout = (ranges: readonly RegisterRange[], others: readonly RegisterRange[]): RegisterRange[] =>
  others.reduce<RegisterRange[]>(
    (left, other) => left.flatMap((range) => (overlaps(range, other) ? around(range, other) : [range])),
    [...ranges],
  );

function around({ file, first, dwords }: RegisterRange, other: RegisterRange): RegisterRange[] {
  const [end, otherEnd] = [first + dwords, other.first + other.dwords];
  return [
    ...(other.first > first ? [{ file, first, dwords: other.first - first }] : []),
    ...(otherEnd < end ? [{ file, first: otherEnd, dwords: end - otherEnd }] : []),
  ];
}

export const overlaps = (a: RegisterRange, b: RegisterRange): boolean =>
  a.file === b.file && a.first < b.first + b.dwords && b.first < a.first + a.dwords;
