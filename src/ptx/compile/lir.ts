/** Machine instructions before their registers have places and their addresses are known. */
import { assert } from '../../base/errors.ts';
import type { StepOperand } from '../../ir/step.ts';
import type { Form } from '../rows/row.ts';
import { formOf } from '../rows/table.ts';

/** A register of a function, by its number. */
export interface FunctionRegister {
  readonly kind: 'virtual';
  readonly id: number;
  readonly dwords: 1 | 2;
}

/** The address of a variable or function, known when the module is loaded. */
export interface SymbolOperand {
  readonly kind: 'symbol';
  readonly name: string;
  readonly addend: bigint;
}

/** Where a block of the function begins behind its join, by its number in the order of the code. */
export interface BlockAddress {
  readonly kind: 'block';
  readonly block: number;
}

/** The address behind the instruction that stands so many instructions further on. */
export interface AheadAddress {
  readonly kind: 'ahead';
  readonly instructions: number;
}

/** Where an instruction stands that has the label, and a number that is added. */
export interface LabelAddress {
  readonly kind: 'label';
  readonly label: symbol;
  readonly addend: number;
}

/** The size of the function's frame, which is known at last, and a number that is added. */
export interface FrameEnd {
  readonly kind: 'frameEnd';
  readonly addend: number;
}

export type LirOperand =
  | FunctionRegister
  | SymbolOperand
  | BlockAddress
  | AheadAddress
  | LabelAddress
  | FrameEnd
  | StepOperand;

/**
 * At a call: before the instruction, registers that live across the call are saved; behind it, they are
 * there again. `call` tells calls apart.
 */
export interface Keeping {
  readonly call: number;
  readonly kind: 'save' | 'restore';
}

export interface RegisterGuard {
  readonly register: FunctionRegister;
  readonly isNegated: boolean;
}

/** What lanes execute that cannot go on with what follows a line. */
export interface Aside {
  /** They wait; it reads what the line reads. */
  readonly park: Lir;
  /**
   * What they do once they have met, who may be of several activations: the lines that follow, from the first
   * to the last label, and this, by which those of each go on by themselves.
   */
  readonly meeting?: { readonly first: symbol; readonly last: symbol; readonly part: Lir } | undefined;
}

export interface Lir {
  readonly form: Form;
  readonly operands: readonly LirOperand[];
  readonly guard: RegisterGuard | undefined;
  /**
   * The block that it may branch to, by its number in the order of the code; an address: behind its join; a
   * label of the same block, to which no register of the function leads.
   */
  readonly target: number | BlockAddress | LabelAddress | undefined;
  /** The function that it calls. */
  readonly callee?: string | undefined;
  readonly keeping?: Keeping | undefined;
  /** It branches to this, which stands behind the function. */
  readonly aside?: Aside | undefined;
  /** Of an instruction without registers, so that nothing has to come into rows before it. */
  readonly label?: symbol | undefined;
  /** Of the place behind it. */
  readonly labelBehind?: symbol | undefined;
  /** The place in the text that it comes from. */
  readonly offset: number;
}

/** An instruction of the machine, whose form is there. */
export function lir(
  opcode: string,
  operands: readonly LirOperand[],
  offset: number,
  { guard, target }: { readonly guard?: RegisterGuard | undefined; readonly target?: Lir['target'] } = {},
): Lir {
  const form = formOf(opcode);
  assert(form, () => `there is no row for '${opcode}'`);
  return { form, operands, guard, target, offset };
}

export const constant = (value: bigint | number): StepOperand => ({
  kind: 'constant',
  value: BigInt.asUintN(64, BigInt(value)),
});

/** Tells of each register that an instruction reads; one that it writes under a guard keeps what it had. */
export function eachRead({ form: { specs }, operands, guard }: Lir, tell: (register: FunctionRegister) => void): void {
  for (let index = 0; index < operands.length; index++) {
    const operand = operands[index]!;
    if (operand.kind === 'virtual' && (guard || specs[index]!.kind !== 'write')) tell(operand);
  }
  if (guard) tell(guard.register);
}

/** Tells of each register that an instruction writes. */
export function eachWritten({ form: { specs }, operands }: Lir, tell: (register: FunctionRegister) => void): void {
  for (let index = 0; index < operands.length; index++) {
    const operand = operands[index]!;
    if (operand.kind === 'virtual' && specs[index]!.kind === 'write') tell(operand);
  }
}

/** Registers that an instruction reads, and those that it writes. */
export function registersOf(line: Lir): {
  readonly reads: readonly FunctionRegister[];
  readonly writes: readonly FunctionRegister[];
} {
  const [reads, writes]: [FunctionRegister[], FunctionRegister[]] = [[], []];
  eachRead(line, (register) => reads.push(register));
  eachWritten(line, (register) => writes.push(register));
  return { reads, writes };
}
