/** Counting of executions by pc, only where it is asked for. */
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import type { FunctionRef } from '../../wasm/types.ts';
import { COUNT_LANES, COUNT_TAKEN, COUNT_WAVES, RECORD_COUNTS, RECORD_PC, STATE_OFFSETS } from '../machine/layout.ts';

/** Counts an execution of the instruction of a record by a wave. */
export function emitPcCount(f: FunctionBuilder, record: Local, wave: Local, waveSize: 32 | 64): void {
  emitPcCounts(f, () => pushCounts(f, () => f.get(record)), wave, waveSize);
}

/**
 * Counts an execution by a wave, or as many as `times` pushes, where EXEC is the same in all of them.
 * `pushPlace` pushes the address of the counts.
 */
export function emitPcCounts(
  f: FunctionBuilder,
  pushPlace: () => void,
  wave: Local,
  waveSize: 32 | 64,
  times?: () => void,
): void {
  const counts = f.local('i32');
  pushPlace();
  f.set(counts);
  emitAdd(f, counts, COUNT_WAVES, () => {
    if (times) pushWide(f, times);
    else f.i64(1n);
  });
  emitAdd(f, counts, COUNT_LANES, () => {
    f.get(wave);
    f.load(waveSize === 64 ? 'i64.load' : 'i64.load32_u', STATE_OFFSETS.exec);
    f.op('i64.popcnt');
    if (!times) return;
    pushWide(f, times);
    f.op('i64.mul');
  });
  f.free(counts);
}

/** Counts executions by waves and by lanes, as many as are pushed as i32. */
export function emitPcSums(
  f: FunctionBuilder,
  pushPlace: () => void,
  [pushWaves, pushLanes]: readonly [pushWaves: () => void, pushLanes: () => void],
): void {
  const counts = f.local('i32');
  pushPlace();
  f.set(counts);
  emitAdd(f, counts, COUNT_WAVES, () => pushWide(f, pushWaves));
  emitAdd(f, counts, COUNT_LANES, () => pushWide(f, pushLanes));
  f.free(counts);
}

/** Counts as many branches that are taken as `times` pushes. */
export function emitTaken(f: FunctionBuilder, pushPlace: () => void, times: () => void): void {
  const counts = f.local('i32');
  pushPlace();
  f.set(counts);
  emitAdd(f, counts, COUNT_TAKEN, () => pushWide(f, times));
  f.free(counts);
}

/** Pushes the address of the counts of a record's instruction. */
export function pushCounts(f: FunctionBuilder, pushRecord: () => void): void {
  pushRecord();
  f.load('i32.load', RECORD_COUNTS);
}

function pushWide(f: FunctionBuilder, push: () => void): void {
  push();
  f.op('i64.extend_i32_u');
}

function emitAdd(f: FunctionBuilder, counts: Local, at: number, pushAmount: () => void): void {
  f.get(counts);
  f.get(counts);
  f.load('i64.load', at);
  pushAmount();
  f.op('i64.add');
  f.store('i64.store', at);
}

/** Tells (`WaveTracer.run`) that a wave is about to execute so many instructions, from a record on. */
export function emitTracedRun(
  f: FunctionBuilder,
  traceRun: FunctionRef,
  pushRecord: () => void,
  { wave, waveSize, count }: { readonly wave: Local; readonly waveSize: 32 | 64; readonly count: number },
): void {
  pushRecord();
  f.load('i32.load', RECORD_PC);
  f.get(wave);
  f.i32(count);
  f.get(wave);
  f.load('i32.load', STATE_OFFSETS.exec);
  if (waveSize === 64) {
    f.get(wave);
    f.load('i32.load', STATE_OFFSETS.exec + 4);
  } else f.i32(0);
  f.call(traceRun);
}
