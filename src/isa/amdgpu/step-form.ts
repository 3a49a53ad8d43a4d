/** What the operands of an instruction come to, and which instructions have one program. */
import type { RegisterOperand, StepOperand } from '../../ir/step.ts';
import type { Instruction, Operand } from './encoding/instruction.ts';
import { apertureBound, isAperture, SCALAR_REGISTER_COUNT, VECTOR_REGISTER_COUNT } from './encoding/registers.ts';
import { modifierKey } from './modifier-key.ts';
import { dppTable } from './semantics/dpp.ts';
import { relativeIndex } from './semantics/relative-registers.ts';

/** What forms are worked out with. */
export interface FormContext {
  readonly waveSize: 32 | 64;
  readonly mode: number;
  /** Keys of all steps: those that are equal are one string. */
  readonly keys: Map<string, string>;
}

/** An operand, and what of it distinguishes programs; or what it names that does not exist. */
type Resolved = { readonly operand: StepOperand; readonly tag: string } | { readonly missing: string };

/** What the operands of a step come to. */
export interface StepForm {
  readonly operands: readonly StepOperand[];
  readonly key: string;
  readonly illegal: string | undefined;
}

export function stepFormOf(instruction: Instruction, { waveSize, mode, keys }: FormContext): StepForm {
  const { row, format, name } = instruction;
  const operands: StepOperand[] = [];
  let tags = '';
  for (let index = 0; index < row.operands.length; index++) {
    const resolved = resolve(instruction, index, mode);
    if ('missing' in resolved) return { operands, key: '', illegal: `${resolved.missing} of '${name}'` };
    operands.push(resolved.operand);
    tags += ` ${resolved.tag}`;
  }
  // The table stands behind the operands of the row (dppTableSlot).
  if (instruction.hasDpp) operands.push({ kind: 'laneTable', bytes: dppTable(instruction) });
  const key = `${row.name} ${format.name}${tags}${modifierKey(instruction)} ${waveSize} ${mode}`;
  const first = keys.get(key);
  if (first === undefined) keys.set(key, key);
  return { operands, key: first ?? key, illegal: undefined };
}

const NOTHING: StepOperand = { kind: 'constant', value: 0n };

function resolve(instruction: Instruction, index: number, mode: number): Resolved {
  const spec = instruction.row.operands[index]!;
  const operand = instruction.operand(index);
  if (operand.kind === 'null') return { operand: NOTHING, tag: 'null' };
  // An atomic that returns nothing has any number in the field of its destination.
  if (instruction.access(index) === undefined) return { operand: NOTHING, tag: 'unused' };
  if (spec.access !== 'read' && operand.kind !== (spec.file === 'scalar' ? 'scalar' : 'vector')) {
    return { missing: `destination ${spec.field}` };
  }
  switch (operand.kind) {
    case 'vector':
    case 'scalar':
      return resolveRegister(instruction, index, operand, mode);
    case 'constant':
      return { operand: { kind: 'constant', value: operand.value }, tag: 'c' };
    case 'special':
      if (isAperture(operand.encoding)) {
        return { operand: { kind: 'constant', value: apertureBound(operand.encoding) }, tag: 'c' };
      }
      return { operand: NOTHING, tag: String(operand.encoding) };
    case 'off':
      return { operand: NOTHING, tag: 'off' };
  }
}

function resolveRegister(
  instruction: Instruction,
  index: number,
  operand: Extract<Operand, { kind: 'vector' | 'scalar' }>,
  mode: number,
): Resolved {
  const dwords = instruction.dwords(index);
  const isScalar = operand.kind === 'scalar';
  const { register: first } = operand;
  if (first + dwords > (isScalar ? SCALAR_REGISTER_COUNT : VECTOR_REGISTER_COUNT)) {
    return { missing: `${isScalar ? 's' : 'v'}${first} with ${dwords} dwords` };
  }
  const file = isScalar ? 'scalar' : operand.accumulator ? 'accumulator' : 'vector';
  const isHighHalf = !isScalar && instruction.isHighHalf(index);
  const relative = relativeIndex(instruction, index, mode);
  if (!relative) {
    const tag = `${isScalar ? 's' : isHighHalf ? 'h' : 'v'}${dwords}`;
    return { operand: registerOperand(file, first, dwords, isHighHalf), tag };
  }
  const { role, name, missing } = relative;
  return {
    operand: { kind: 'register', file, first, dwords, isHighHalf, relative },
    tag: `relative ${file} ${role} ${dwords} ${name} ${missing}`,
  };
}

const FILES = ['scalar', 'vector', 'accumulator'] as const;

function registerOperand(
  file: RegisterOperand['file'],
  first: number,
  dwords: number,
  isHighHalf: boolean,
): RegisterOperand {
  const index = (FILES.indexOf(file) * VECTOR_REGISTER_COUNT + first) * VECTOR_REGISTER_COUNT + dwords;
  return numberedOperand(index * 2 + Number(isHighHalf));
}

/** Operands that are equal are one object: code has many of few. */
const known = new Map<number, RegisterOperand>();

/** The operand of a number of `operandNumber`. */
export function numberedOperand(number: number): RegisterOperand {
  let operand = known.get(number);
  if (!operand) {
    const index = number >>> 1;
    const register = Math.floor(index / VECTOR_REGISTER_COUNT);
    operand = {
      kind: 'register',
      file: FILES[Math.floor(register / VECTOR_REGISTER_COUNT)]!,
      first: register % VECTOR_REGISTER_COUNT,
      dwords: index % VECTOR_REGISTER_COUNT,
      isHighHalf: (number & 1) === 1,
    };
    known.set(number, operand);
    numbers.set(operand, number);
  }
  return operand;
}

const numbers = new WeakMap<StepOperand, number>();

/** What a register is called in what is kept; undefined for one that M0 leads to, and other operands. */
export const operandNumber = (operand: StepOperand): number | undefined => numbers.get(operand);
