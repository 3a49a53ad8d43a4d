/** What a row says of the operands of its instruction. */
import { assert } from '../../base/errors.ts';
import { isType, type PtxType } from '../machine/types.ts';
import type { Modifiers } from './pattern.ts';

/**
 * `write` and `read`: a value of a type. `address`: a base and a number that is added, two operands of the
 * machine. `target`: a label.
 */
export interface OperandRule {
  readonly kind: 'write' | 'read' | 'address' | 'target';
  /** A type, or the modifier that names it. */
  readonly type: string;
  /**
   * The operand is a vector with as many elements as this modifier says (`v2`), a value without it; or with
   * as many in all forms (`x2`).
   */
  readonly vector: string | undefined;
  /** It may be left out. */
  readonly isOptional: boolean;
  /** It is written behind the operand before, with a bar: `p|q`. */
  readonly isPair: boolean;
  /** It is the carry of the thread, which the text does not name. */
  readonly isCarry: boolean;
}

/** The type of an operand in a form. */
export function typeOf({ type }: Pick<OperandRule, 'type'>, modifiers: Modifiers): PtxType {
  const name = modifiers[type] ?? type;
  assert(isType(name), () => `'${name}' is no type`);
  return name;
}

/** `v2` of an operand that is a vector of two elements in a form; undefined for a single value. */
export const vectorOf = ({ vector }: Pick<OperandRule, 'vector'>, modifiers: Modifiers): string | undefined =>
  vector === undefined || /^x\d$/.test(vector) ? vector : modifiers[vector];

/** Elements of an operand in a form. */
export const countOf = (spec: Pick<OperandRule, 'vector'>, modifiers: Modifiers): number =>
  Number((vectorOf(spec, modifiers) ?? 'v1').slice(1));

/** What a row says of an operand, in one form. `isVector`: in braces, or declared as one. */
export interface FormOperand {
  readonly type: PtxType;
  readonly count: number;
  readonly isVector: boolean;
}

export const formOperand = (spec: OperandRule, modifiers: Modifiers): FormOperand => ({
  type: typeOf(spec, modifiers),
  count: countOf(spec, modifiers),
  isVector: vectorOf(spec, modifiers) !== undefined,
});

/** Whether the text must have it as an operand of its own. */
const isNeeded = ({ isCarry, isPair, isOptional }: OperandRule): boolean => !isCarry && !isPair && !isOptional;

/** How many operands the text must have from each on. */
export const neededFrom = (specs: readonly OperandRule[]): readonly number[] =>
  specs.map((_, i) => specs.slice(i).filter(isNeeded).length);

/** Operands of the machine that one of a row takes. A target is none. */
export function machineOperands(spec: OperandRule, modifiers: Modifiers): number {
  if (spec.kind === 'target') return 0;
  return spec.kind === 'address' ? 2 : countOf(spec, modifiers);
}

/** As `ptxRow` reads them: `=type`, `[]`, `->`, `type*vec`, `|=pred?`. */
export function operandRule(text: string): OperandRule {
  const isOptional = text.endsWith('?');
  const isPair = text.startsWith('|');
  const core = text.slice(isPair ? 1 : 0, isOptional ? -1 : undefined);
  const isCarry = core.endsWith('carry');
  const common = { isOptional, isPair, isCarry, vector: undefined };
  if (core === '[]') return { kind: 'address', type: 'u64', ...common };
  if (core === '->') return { kind: 'target', type: 'u64', ...common };
  const isWritten = core.startsWith('=');
  if (isCarry) return { kind: isWritten ? 'write' : 'read', type: 'b32', ...common };
  const [type = '', vector] = core.slice(isWritten ? 1 : 0).split('*');
  return { kind: isWritten ? 'write' : 'read', type, ...common, vector };
}
