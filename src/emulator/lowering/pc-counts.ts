/** Counting of executions by pc, in the loop that calls the handlers, only where it is asked for. */
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { COUNT_LANES, COUNT_WAVES, RECORD_COUNTS, STATE_OFFSETS } from '../machine/layout.ts';

/** Counts an execution of the instruction of a record by a wave. */
export function emitPcCount(f: FunctionBuilder, record: Local, wave: Local, waveSize: 32 | 64): void {
  const counts = f.local('i32');
  f.get(record);
  f.load('i32.load', RECORD_COUNTS);
  f.set(counts);
  const add = (at: number, pushAmount: () => void): void => {
    f.get(counts);
    f.get(counts);
    f.load('i64.load', at);
    pushAmount();
    f.op('i64.add');
    f.store('i64.store', at);
  };
  add(COUNT_WAVES, () => f.i64(1n));
  add(COUNT_LANES, () => {
    f.get(wave);
    f.load(waveSize === 64 ? 'i64.load' : 'i64.load32_u', STATE_OFFSETS.exec);
    f.op('i64.popcnt');
  });
  f.free(counts);
}
