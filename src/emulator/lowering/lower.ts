/**
 * Lowers the meaning of one instruction, to a handler or in the middle of other code: uniform values first,
 * then a loop over chunks of 4 lanes, then what depends on the lanes' result (masks to SGPRs, branches,
 * exits). Registers live in the wave state; which ones is read from the record.
 */
import { assert } from '../../base/errors.ts';
import { isEffect } from '../../ir/leaves.ts';
import { type ProgramPhase, phasesOf } from '../../ir/phases.ts';
import { isMatrixProgram, type Program, type Value } from '../../ir/types.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { STATE_OFFSETS } from '../machine/layout.ts';
import type { OperandForm } from '../machine/operand-places.ts';
import { emitAccessBegin, isLaneAccess } from './access-counts.ts';
import { emitControl, isControl } from './control.ts';
import { HandlerState } from './handler-state.ts';
import { LaneLowering } from './lane-lowering.ts';
import { MatrixLowering } from './matrix-lowering.ts';
import type { AddressSpaces } from './memory-access.ts';
import type { ModuleContext } from './module-context.ts';
import { RecordPlace } from './record-place.ts';
import { UniformLowering } from './uniform-lowering.ts';

/** What a handler is made for: steps whose programs have one key, with operands of one form. */
export interface HandlerMeaning {
  readonly key: string;
  readonly program: Program;
  readonly operands: readonly OperandForm[];
}

/** `begin` emits what comes first. */
export function lowerHandler(
  context: ModuleContext,
  spaces: AddressSpaces,
  { key, program, operands }: HandlerMeaning,
  begin?: (f: FunctionBuilder, wave: Local) => void,
): FunctionBuilder {
  const f = context.module.function(context.handlerType.parameters, context.handlerType.results, key);
  begin?.(f, f.param(1));
  const state = new HandlerState({ f, context }, spaces, operands, new RecordPlace(f));
  emitControl(state, emitMeaning(state, program));
  return f;
}

/** Emits all but where the wave goes on: `emitControl` needs the values that are returned. */
export function emitMeaning(state: HandlerState, program: Program): Value[] {
  const exist = state.findRegisters();
  if (!exist) return emitPhases(state, program);
  const { f } = state;
  let after: Value[] = [];
  f.get(exist);
  f.if(undefined, () => {
    after = emitPhases(state, program);
  });
  assert(!after.some(isControl), 'an instruction that may do nothing goes on with the next one');
  return after;
}

function emitPhases(state: HandlerState, program: Program): Value[] {
  const live = liveValues(program);
  const phases = phasesOf(live);
  const inPhase = (phase: ProgramPhase): Value[] => live.filter((value) => phases.get(value) === phase);
  const [before, perLane, after] = [inPhase('before'), inPhase('lanes'), inPhase('after')];
  const ballots = after.filter(({ leaf }) => leaf.kind === 'ballot');
  const isMatrix = isMatrixProgram(program);
  if (perLane.some(isLaneAccess)) emitAccessBegin(state);
  if (!isMatrix && (perLane.length > 0 || ballots.length > 0)) loadExec(state);
  const lanes = new LaneLowering(
    state,
    ballots.filter(({ args }) => args[0]!.lane),
  );
  const uniform = new UniformLowering(state, lanes);
  for (const value of before) uniform.emit(value);
  if (isMatrix) emitMatrixLanes(state, perLane);
  else if (perLane.length > 0) lanes.emit(perLane);
  for (const value of after) uniform.emit(value);
  return after;
}

function loadExec(state: HandlerState): void {
  const { f } = state;
  f.get(state.wave);
  f.load(state.maskLoad, STATE_OFFSETS.exec);
  state.exec = f.local('i64');
  f.set(state.exec);
}

/**
 * The lanes' elements, their product, and what is made of it; a value that is needed before and after the
 * product is computed twice.
 */
function emitMatrixLanes(state: HandlerState, perLane: readonly Value[]): void {
  const matrix = new MatrixLowering(state, perLane);
  const neededBy = (roots: readonly Value[]): Value[] => {
    const needed = new Set(roots);
    for (const value of perLane.toReversed()) {
      if (needed.has(value) && !isMatrixResult(value)) for (const arg of value.args) needed.add(arg);
    }
    return perLane.filter((value) => needed.has(value));
  };
  const emit = (roots: readonly Value[], lanes?: number): void => {
    if (roots.length > 0) new LaneLowering(state, [], matrix).emit(neededBy(roots), lanes);
  };
  for (const [args, lanes] of matrix.stored) emit(args, lanes);
  matrix.emit();
  if (!matrix.writesRegisters) emit(perLane.filter(({ leaf }) => isEffect(leaf.kind)));
}

const isMatrixResult = ({ leaf }: Value): boolean => leaf.kind === 'matrixProduct' || leaf.kind === 'matrixResult';

/** What effects need, in order. */
export function liveValues(program: Program): Value[] {
  const needed = new Set<Value>();
  for (const value of program.values.toReversed()) {
    if (!isEffect(value.leaf.kind) && !needed.has(value)) continue;
    needed.add(value);
    for (const arg of value.args) needed.add(arg);
  }
  return program.values.filter((value) => needed.has(value));
}
