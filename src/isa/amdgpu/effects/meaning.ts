/** What the meaning of an instruction touches besides what its operands say: state, memory, other lanes. */
import { WavewrightError } from '../../../base/errors.ts';
import type { MemoryEffect } from '../../../ir/effects.ts';
import { isMatrixProgram, type Program, type StateSlot, type Value } from '../../../ir/types.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { InstructionBuilder } from '../semantics/instruction-builder.ts';
import { CLANG_MODE } from '../semantics/mode.ts';

export interface Touched {
  readonly readsState: ReadonlySet<StateSlot>;
  readonly writesState: ReadonlySet<StateSlot>;
  readonly memory: readonly MemoryEffect[];
  /** Operands of which something is read, destinations among them. */
  readonly alsoRead: ReadonlySet<number>;
  /** Operands that are read in lanes other than the active ones, too. */
  readonly crossLane: ReadonlySet<number>;
  /** Operands that are written; undefined where only the row says. */
  readonly written: ReadonlySet<number> | undefined;
  /** Operands of which some active lanes may stay as they were. */
  readonly partly: ReadonlySet<number>;
  /** Operands of which single lanes are written, active or not. */
  readonly writesLanes: ReadonlySet<number>;
}

/** Undefined where the meaning is not implemented, be it in this form only. */
export function meaningOf(instruction: Instruction): Program | undefined {
  if (!instruction.row.semantics) return undefined;
  try {
    return new InstructionBuilder(instruction, CLANG_MODE).build();
  } catch (error) {
    if (error instanceof WavewrightError && error.code === 'UNSUPPORTED') return undefined;
    throw error;
  }
}

/** Floating-point operations round, flush and saturate as CLANG_MODE says. */
const isFloatOp = ({ leaf }: Value): boolean => leaf.kind === 'pure' && leaf.op.startsWith('f');

/** Its lanes are those that EXEC has on. */
function dependsOnExec({ leaf, lane }: Value): boolean {
  switch (leaf.kind) {
    case 'load':
    case 'store':
    case 'atomic':
    case 'setOperand':
      return lane;
    default:
      return leaf.kind === 'ballot';
  }
}

const known = new WeakMap<Program, Touched>();

/** Worked out once for each program: many instructions share one. */
export function touchedBy(program: Program): Touched {
  const touched = known.get(program) ?? findTouched(program);
  known.set(program, touched);
  return touched;
}

function findTouched(program: Program): Touched {
  const readsState = new Set<StateSlot>();
  const writesState = new Set<StateSlot>();
  const memory: MemoryEffect[] = [];
  const alsoRead = new Set<number>();
  const crossLane = new Set<number>();
  const written = new Set<number>();
  const partly = new Set<number>();
  const writesLanes = new Set<number>();
  const isMatrix = isMatrixProgram(program);
  const visit = (value: Value): void => {
    const { leaf, lane, args } = value;
    if (isFloatOp(value)) readsState.add('mode');
    if (!isMatrix && dependsOnExec(value)) readsState.add('exec');
    switch (leaf.kind) {
      case 'state':
        readsState.add(leaf.slot);
        break;
      case 'setState':
        writesState.add(leaf.slot);
        break;
      case 'gather':
      case 'readLane':
        crossLane.add(leaf.at.operand);
        break;
      case 'operand':
        alsoRead.add(leaf.at.operand);
        if (isMatrix) crossLane.add(leaf.at.operand);
        break;
      case 'writeLane':
        written.add(leaf.at.operand);
        writesLanes.add(leaf.at.operand);
        break;
      case 'setOperand':
        written.add(leaf.at.operand);
        if (lane && args.length > 1) partly.add(leaf.at.operand);
        break;
      case 'load':
      case 'store':
        memory.push({ space: leaf.space, access: leaf.kind });
        break;
      case 'atomic':
        memory.push({ space: leaf.space, access: 'atomic' });
        for (const inner of leaf.update.body) visit(inner);
        break;
    }
  };
  for (const value of program.values) visit(value);
  return { readsState, writesState, memory, alsoRead, crossLane, written, partly, writesLanes };
}
