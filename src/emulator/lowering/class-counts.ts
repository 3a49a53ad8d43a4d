/** Counting of instructions by class, in the wave state: code has it only where it is asked for. */
import type { Step } from '../../ir/step.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { classCountOffset } from '../machine/layout.ts';

/** How many instructions of each class there are, by the number of the class. */
export function classMix(steps: Iterable<Step>): Map<number, number> {
  const mix = new Map<number, number>();
  for (const { classIndex } of steps) mix.set(classIndex, (mix.get(classIndex) ?? 0) + 1);
  return mix;
}

/** Counts a mix; `times` pushes how often it ran, once without it. */
export function emitClassCounts(
  f: FunctionBuilder,
  wave: Local,
  mix: ReadonlyMap<number, number>,
  times?: () => void,
): void {
  for (const [index, count] of mix) {
    const offset = classCountOffset(index);
    f.get(wave);
    f.get(wave);
    f.load('i32.load', offset);
    f.i32(count);
    if (times) {
      times();
      f.op('i32.mul');
    }
    f.op('i32.add');
    f.store('i32.store', offset);
  }
}
