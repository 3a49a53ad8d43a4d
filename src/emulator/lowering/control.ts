/** The end of a handler: where the wave goes on, or that it leaves the executor. */
import type { ExitReason, Value } from '../../ir/types.ts';
import type { Local } from '../../wasm/function.ts';
import {
  EXIT_CODES,
  EXIT_JUMP,
  EXIT_MODE,
  JUMP_CACHE_ENTRIES,
  RECORD_NEW_MODE,
  RECORD_NEW_MODE_JUMP_CACHE,
  RECORD_NEW_MODE_NEXT,
  WAVE_ALONE,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_JUMP_PC,
  WAVE_MODE,
  WAVE_RECORD,
} from '../machine/layout.ts';
import type { HandlerState } from './handler-state.ts';
import { emitTaken, pushCounts } from './pc-counts.ts';

/** Exits after which the wave goes on with the next instruction. */
export const RESUMING: ReadonlySet<ExitReason> = new Set(['barrier', 'sleep', 'interrupt']);

/** Whether it says where the wave goes on. */
export const isControl = ({ leaf }: Value): boolean =>
  leaf.kind === 'branch' ||
  leaf.kind === 'jump' ||
  leaf.kind === 'exit' ||
  (leaf.kind === 'setState' && leaf.slot === 'mode');

/** Ends an instruction: pushes the next record, or 0 after an exit code and where to resume are stored. */
export function emitControl(state: HandlerState, after: readonly Value[]): void {
  const { f, place } = state;
  const control = after.find(({ leaf }) => leaf.kind === 'branch' || leaf.kind === 'jump' || leaf.kind === 'exit');
  if (control?.leaf.kind === 'branch') {
    const [condition] = control.args;
    if (state.e.context.countsPcs && condition!.leaf.kind !== 'const') {
      emitTaken(
        f,
        () => pushCounts(f, () => place.pushRecord()),
        () => f.get(state.scalar(condition!)),
      );
    }
    place.pushTarget();
    place.pushFollowing();
    f.get(state.scalar(condition!));
    f.select();
  } else if (control?.leaf.kind === 'jump') emitJump(state, state.scalar(control.args[0]!));
  else if (control?.leaf.kind === 'exit') {
    if (control.leaf.reason === 'barrier') emitGoOnIfAlone(state);
    emitExit(state, EXIT_CODES[control.leaf.reason], RESUMING.has(control.leaf.reason));
  } else if (after.some(({ leaf }) => leaf.kind === 'setState' && leaf.slot === 'mode')) emitNewMode(state);
  else place.pushFollowing();
}

/**
 * The only wave of a workgroup waits for nobody. Threads of PTX may wait for others of their warp, which the
 * host tells apart.
 */
function emitGoOnIfAlone({ f, place, spaces, wave }: HandlerState): void {
  if (spaces.stoppedScalar !== undefined) return;
  f.get(wave);
  f.load('i32.load', WAVE_ALONE);
  f.if(undefined, () => {
    place.pushResumption();
    place.goOn();
  });
}

/** Where the host does more than to come back, it looks at the record before the one that is stored. */
function emitExit(state: HandlerState, code: number, resumes = false): void {
  const { f, place } = state;
  f.get(state.wave);
  f.i32(code);
  f.store('i32.store', WAVE_EXIT);
  f.get(state.wave);
  if (resumes) place.pushResumption();
  else place.pushFollowing();
  f.store('i32.store', WAVE_RECORD);
  f.i32(0);
}

/** Goes on in the code for the new MODE where the record knows it. */
function emitNewMode(state: HandlerState): void {
  const { f, place, wave } = state;
  const record = f.local('i32');
  place.pushRecord();
  f.tee(record);
  f.load('i32.load', RECORD_NEW_MODE);
  f.get(wave);
  f.load('i32.load', WAVE_MODE);
  f.op('i32.eq');
  f.if(undefined, () => {
    f.get(wave);
    f.get(record);
    f.load('i32.load', RECORD_NEW_MODE_JUMP_CACHE);
    f.store('i32.store', WAVE_JUMP_CACHE);
    f.get(record);
    f.load('i32.load', RECORD_NEW_MODE_NEXT);
    place.goOn();
  });
  emitExit(state, EXIT_MODE);
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
    state.place.goOn();
  });
  f.get(state.wave);
  f.get(target);
  f.store('i64.store', WAVE_JUMP_PC);
  emitExit(state, EXIT_JUMP);
}
