/** What all that builds values shares: constants are folded, and equal values are one. */
import type { Evaluated } from './op.ts';
import { OPS, type OpName } from './ops.ts';
import type { Type } from './types.ts';

/** Typed value as the evaluator sees it, as a bigint constant. */
export const toConstant = (value: Evaluated, type: Type): bigint =>
  type === 'i64'
    ? BigInt.asUintN(64, BigInt(value))
    : type === 'i32'
      ? BigInt.asIntN(32, BigInt(value))
      : BigInt(value);

export const fromConstant = (value: bigint, type: Type | 'void'): Evaluated => (type === 'i64' ? value : Number(value));

/** A value with an argument that may be constant. */
interface Argument {
  readonly leaf: { readonly kind: string; readonly value?: bigint };
  readonly type: Type | 'void';
}

/** The result of an operation whose arguments are all constants. */
export function foldConstants(op: OpName, args: readonly Argument[]): bigint | undefined {
  const values: Evaluated[] = [];
  for (const { leaf, type } of args) {
    if (leaf.kind !== 'const') return undefined;
    values.push(fromConstant(leaf.value!, type));
  }
  const { result, evaluate } = OPS[op];
  return toConstant((evaluate as (...args: Evaluated[]) => Evaluated)(...values), result);
}

/** A leaf of which its own fields tell everything. */
export type SharedLeaf = Readonly<Record<string, string | number | bigint>>;

/** Equal keys are equal values: the same leaf, type and arguments. */
export const shareKey = (leaf: SharedLeaf, type: Type, args: readonly { readonly id: number }[]): string =>
  `${Object.values(leaf).join(' ')} ${type} ${args.map(({ id }) => id).join(' ')}`;
