/** What was found out about encodings, as JSON, so that another process need not decode them. */
import type { Control, StepOperand } from '../../ir/step.ts';
import { numberedOperand, operandNumber, type StepForm } from './step-form.ts';

/** An encoding, and what steps say of it wherever they stand. */
export interface DecodedEncoding {
  /** All dwords, its literal the last of them. */
  readonly words: readonly number[];
  readonly control: Control;
  /** From its first byte to its target, where it has one. */
  readonly distance: number | undefined;
  readonly form: StepForm;
}

/**
 * A register by its number, a constant in hexadecimal, a lane table in bytes, or a register that M0 leads to.
 */
type KeptOperand = number | string | readonly number[] | (StepOperand & { readonly kind: 'register' });

export type KeptEncoding = readonly [
  words: readonly number[],
  control: Control,
  distance: number | null,
  key: string,
  illegal: string | null,
  ...operands: readonly KeptOperand[],
];

export const keptEncoding = ({ words, control, distance, form }: DecodedEncoding): KeptEncoding => [
  words,
  control,
  distance ?? null,
  form.key,
  form.illegal ?? null,
  ...form.operands.map(keptOperand),
];

export function decodedEncoding([words, control, distance, key, illegal, ...operands]: KeptEncoding): DecodedEncoding {
  const form = { operands: operands.map(stepOperand), key, illegal: illegal ?? undefined };
  return { words, control, distance: distance ?? undefined, form };
}

function keptOperand(operand: StepOperand): KeptOperand {
  if (operand.kind === 'constant') return operand.value.toString(16);
  if (operand.kind === 'laneTable') return [...operand.bytes];
  return operandNumber(operand) ?? operand;
}

function stepOperand(kept: KeptOperand): StepOperand {
  if (typeof kept === 'number') return numberedOperand(kept);
  if (typeof kept === 'string') return { kind: 'constant', value: BigInt(`0x${kept}`) };
  return 'kind' in kept ? kept : { kind: 'laneTable', bytes: Uint8Array.from(kept) };
}
