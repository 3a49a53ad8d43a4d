/** The end of a handler: where the wave goes on, or that it leaves the executor. */
import type { Value } from '../../ir/types.ts';
import type { Local } from '../../wasm/function.ts';
import {
  EXIT_CODES,
  EXIT_JUMP,
  EXIT_MODE,
  JUMP_CACHE_ENTRIES,
  RECORD_SIZE_BYTES,
  RECORD_TARGET,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_JUMP_PC,
  WAVE_RECORD,
} from '../layout.ts';
import type { HandlerState } from './handler-state.ts';

/** Ends the handler: the next record, or 0 after an exit code and where to resume are stored. */
export function emitControl(state: HandlerState, after: readonly Value[]): void {
  const { f } = state;
  const control = after.find(({ leaf }) => leaf.kind === 'branch' || leaf.kind === 'jump' || leaf.kind === 'exit');
  if (control?.leaf.kind === 'branch') {
    f.get(state.record);
    f.load('i32.load', RECORD_TARGET);
    pushNextRecord(state);
    f.get(state.scalar(control.args[0]!));
    f.select();
  } else if (control?.leaf.kind === 'jump') emitJump(state, state.scalar(control.args[0]!));
  else if (control?.leaf.kind === 'exit') emitExit(state, EXIT_CODES[control.leaf.reason]);
  else if (after.some(({ leaf }) => leaf.kind === 'setState' && leaf.slot === 'mode')) emitExit(state, EXIT_MODE);
  else pushNextRecord(state);
}

function pushNextRecord(state: HandlerState): void {
  state.f.get(state.record);
  state.f.i32(RECORD_SIZE_BYTES);
  state.f.op('i32.add');
}

function emitExit(state: HandlerState, code: number): void {
  const { f } = state;
  f.get(state.wave);
  f.i32(code);
  f.store('i32.store', WAVE_EXIT);
  f.get(state.wave);
  pushNextRecord(state);
  f.store('i32.store', WAVE_RECORD);
  f.i32(0);
}

function emitJump(state: HandlerState, target: Local): void {
  const { f } = state;
  const entry = f.local('i32');
  f.get(target);
  f.op('i32.wrap_i64');
  f.i32(1);
  f.op('i32.shl');
  f.i32((JUMP_CACHE_ENTRIES - 1) * 8);
  f.op('i32.and');
  f.get(state.wave);
  f.load('i32.load', WAVE_JUMP_CACHE);
  f.op('i32.add');
  f.set(entry);
  f.get(entry);
  f.load('i64.load32_u', 0);
  f.i64(BigInt(state.spaces.windowHi) << 32n);
  f.op('i64.or');
  f.get(target);
  f.op('i64.eq');
  f.get(target);
  f.i64(3n);
  f.op('i64.and');
  f.op('i64.eqz');
  f.op('i32.and');
  f.if(undefined, () => {
    f.get(entry);
    f.load('i32.load', 4);
    f.return();
  });
  f.get(state.wave);
  f.get(target);
  f.store('i64.store', WAVE_JUMP_PC);
  emitExit(state, EXIT_JUMP);
}
