/** One instruction that is in no region. */
import { emitControl } from '../../lowering/control.ts';
import { HandlerState } from '../../lowering/handler-state.ts';
import { emitMeaning } from '../../lowering/lower.ts';
import type { Decoded } from '../function/decoded.ts';
import type { FunctionState } from '../function/function-state.ts';
import { FixedPlace } from './fixed-place.ts';

/**
 * Emits an instruction as its handler has it; one that leaves pushes the record to go on with, or 0. `goOn`:
 * goes on at the record on top of the stack.
 */
export function emitAlone(state: FunctionState, instruction: Decoded, goOn: () => void): void {
  const { e, spaces } = state;
  const { program, operands, control } = instruction.shape;
  const place = new FixedPlace(state, instruction, goOn);
  e.f.scoped(() => {
    const handler = new HandlerState(e, spaces, operands, place);
    const after = emitMeaning(handler, program);
    if (control === 'leave') emitControl(handler, after);
    return [];
  });
}
