/** Decoded instructions as the compiler sees them: record, program and operand parameters. */
import type { Program, Value } from '../../ir/types.ts';
import type { InstructionClass } from '../../isa/amdgpu/encoding/instruction-class.ts';
import type { HandlerRequest } from '../handlers/handler-table.ts';
import { RESUMING } from '../lowering/control.ts';
import type { OperandKind } from '../lowering/handler-state.ts';
import { liveValues } from '../lowering/lower.ts';
import { RECORD_OPERANDS } from '../machine/layout.ts';

/** What is the same for all instructions with one handler. */
export interface Shape {
  readonly key: string;
  readonly program: Program;
  readonly operandKinds: readonly OperandKind[];
  /** Undefined for records that stand for no instruction. */
  readonly instructionClass: InstructionClass | undefined;
  /** What the program's effects need. */
  readonly live: readonly Value[];
  readonly control: Control;
  /** Whether the wave comes back to the next instruction after it left the executor. */
  readonly resumes: boolean;
  /** Whether no region can hold it. */
  readonly standsAlone: boolean;
}

/** `leave`: only running it tells where the wave goes on. */
export type Control = 'next' | 'branch' | 'conditional' | 'leave';

export interface Decoded {
  readonly record: number;
  readonly shape: Shape;
  /** Number in the function. */
  readonly index: number;
  /** Dwords of the operands: offset in the wave state, or constant. */
  parameter(operand: number, dword: number): number;
}

const ALONE = new Set<Value['leaf']['kind']>(['writeLane', 'matrixProduct']);

export const isRelative = (kind: OperandKind): boolean => typeof kind === 'object';

export function shapeOf({ key, program, operandKinds, instructionClass }: HandlerRequest): Shape {
  const live = liveValues(program);
  const control = controlOf(live);
  const standsAlone =
    control === 'leave' || operandKinds.some(isRelative) || live.some(({ leaf }) => ALONE.has(leaf.kind));
  const resumes = live.some(({ leaf }) => leaf.kind === 'exit' && RESUMING.has(leaf.reason));
  return { key, program, operandKinds, instructionClass, live, control, resumes, standsAlone };
}

function controlOf(live: readonly Value[]): Control {
  for (const { leaf, args } of live) {
    if (leaf.kind === 'jump' || leaf.kind === 'exit') return 'leave';
    if (leaf.kind === 'setState' && leaf.slot === 'mode') return 'leave';
    if (leaf.kind !== 'branch') continue;
    const condition = args[0]!.leaf;
    return condition.kind === 'const' && condition.value === 1n ? 'branch' : 'conditional';
  }
  return 'next';
}

export const decoded = (view: DataView, record: number, shape: Shape, index: number): Decoded => ({
  record,
  shape,
  index,
  parameter: (operand, dword) => view.getInt32(record + RECORD_OPERANDS + operand * 8 + dword * 4, true),
});
