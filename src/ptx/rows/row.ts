/** What a row of the tables says of an instruction: one row for all types of a form. */
import type { Control } from '../../ir/step.ts';
import type { PtxBuilder } from './builder.ts';
import { type FormOperand, neededFrom, type OperandRule, operandRule } from './operand-spec.ts';
import { type Modifiers, Pattern } from './pattern.ts';

/** An instruction of the machine for a product of matrices, with registers that it takes of the operands. */
export interface ProductPart {
  readonly opcode: string;
  readonly left: readonly number[];
  readonly right: readonly number[];
  /** Of accumulators; `isPartial`: of what the parts before came to. */
  readonly sums: readonly number[];
  readonly isPartial: boolean;
  /** The register of the result; undefined for what the parts behind go on with. */
  readonly result: number | undefined;
}

/** What instructions are counted by. */
export const PTX_CLASSES = ['integer', 'float', 'convert', 'move', 'memory', 'atomic', 'control', 'warp'] as const;

export type PtxClass = (typeof PTX_CLASSES)[number];

/** What an instruction means for the flow of a function, which the compiler of functions looks after. */
export type FunctionFlow = 'branch' | 'indexed' | 'return' | 'exit' | 'call';

/** Instructions that become others of the machine: see the compiler's table. */
export type Expansion =
  | 'barrier'
  | 'meet'
  | 'votingBarrier'
  | 'nap'
  | 'vote'
  | 'move'
  | 'alloca'
  | 'stacksave'
  | 'stackrestore'
  | 'copy'
  | 'product'
  | 'pairs'
  | 'tile';

/** What lanes have to come to together, in whatever activations. */
export interface Meeting {
  /** The operand that names them; all that have not ended. */
  readonly members: number | 'all';
  /** They may come to different instructions of a kind that read no registers: one is executed for all. */
  readonly isAnywhere?: boolean;
}

/**
 * When lanes may find out by an instruction, again and again, what others did: where it has an order, or
 * always.
 */
export type Look = 'ordered' | 'always';

export interface PtxRow {
  readonly name: string;
  /** As in the tables. */
  readonly modifiers: string;
  readonly pattern: Pattern;
  readonly operands: readonly OperandRule[];
  /** How many operands the text must have from each of these on. */
  readonly needed: readonly number[];
  readonly hasTarget: boolean;
  readonly className: PtxClass;
  readonly control: Control;
  /** Compilers never write it; it says how waves go on. */
  readonly isInternal: boolean;
  readonly flow: FunctionFlow | undefined;
  readonly expansion: Expansion | undefined;
  readonly meeting: Meeting | undefined;
  /** It reads scalars, which are the same for all lanes. */
  readonly isOfWave: boolean;
  readonly looks: Look | undefined;
  /** Of a product of matrices: what computes it. */
  readonly parts: ((modifiers: Modifiers) => readonly ProductPart[]) | undefined;
  readonly build: (b: PtxBuilder) => void;
}

/** A row with the modifiers of one instruction. */
export interface Form {
  readonly row: PtxRow;
  readonly modifiers: Modifiers;
  /** What the row says of each operand of the machine; a guard has none. */
  readonly specs: readonly OperandRule[];
  /** The same of each operand of the row, for this form; made when an operand is first asked for. */
  readonly operands: Map<OperandRule, FormOperand>;
  /** As it is written, with modifiers, without a guard. */
  readonly opcode: string;
}

export interface PtxRowFlags {
  readonly className?: PtxClass;
  readonly control?: Control;
  readonly isInternal?: boolean;
  readonly flow?: FunctionFlow;
  readonly expansion?: Expansion;
  readonly meeting?: Meeting;
  readonly isOfWave?: boolean;
  readonly looks?: Look;
  readonly parts?: (modifiers: Modifiers) => readonly ProductPart[];
}

/**
 * `operands`: names of types or of modifiers that hold one, separated by blanks; `=type` is written,
 * `[]` an address, `->` a label, `type*vec` a vector of `vec` elements, a `?` behind it may be left out, `|`
 * in front makes it the second of a pair.
 */
export function ptxRow(
  name: string,
  modifiers: string,
  operands: string,
  build: (b: PtxBuilder) => void,
  {
    className = 'integer',
    control = 'next',
    isInternal = false,
    flow,
    expansion,
    meeting,
    isOfWave = false,
    looks,
    parts,
  }: PtxRowFlags = {},
): PtxRow {
  const rules = operands
    .split(' ')
    .filter((text) => text !== '')
    .map(operandRule);
  return {
    ...{ name, modifiers, pattern: new Pattern(modifiers), operands: rules, needed: neededFrom(rules) },
    hasTarget: rules.some(({ kind }) => kind === 'target'),
    ...{ className, control, isInternal, flow, expansion, meeting, isOfWave, looks, parts, build },
  };
}
