/** What a call names. */
import type { PtxSource } from '../text/source.ts';
import type { ConstantOperand, NameOperand, PtxInstruction, PtxOperand } from '../text/syntax.ts';
import type { Scope } from './scope.ts';

type Element = NameOperand | ConstantOperand;

/** `call (results), callee, (arguments), table;` */
export interface CallOperands {
  readonly results: readonly Element[];
  readonly callee: NameOperand;
  readonly given: readonly Element[];
  /** The prototype or the list of functions that a call through a register names. */
  readonly table: string | undefined;
}

/** Throws BAD_INPUT where the operands are not those of a call. */
export function callOperands(source: PtxSource, { operands, offset }: PtxInstruction): CallOperands {
  const left: PtxOperand[] = [...operands];
  const list = (): readonly Element[] => {
    const [first] = left;
    if (first?.kind !== 'list') return [];
    left.shift();
    return first.elements;
  };
  const results = list();
  const callee = left.shift();
  const given = list();
  const table = left.shift();
  if (callee?.kind !== 'name' || (table && table.kind !== 'name') || left.length > 0) {
    throw source.error(offset, "expected 'call (results), function, (arguments);'");
  }
  return { results, callee, given, table: table?.name };
}

/** Whether the call goes where a register says. */
export const isThroughRegister = (source: PtxSource, instruction: PtxInstruction, scope: Scope): boolean =>
  scope.find(callOperands(source, instruction).callee.name)?.kind === 'register';
