/** Counting of instructions by class, in the wave state: code has it only where it is asked for. */
import { assert } from '../../base/errors.ts';
import { INSTRUCTION_CLASSES, type InstructionClass } from '../../isa/amdgpu/encoding/instruction-class.ts';
import type { FunctionBuilder, Local } from '../../wasm/function.ts';
import { WAVE_CLASS_COUNTS, WAVE_TEMPORARY_ROWS } from '../machine/layout.ts';

assert(
  WAVE_CLASS_COUNTS + INSTRUCTION_CLASSES.length * 4 <= WAVE_TEMPORARY_ROWS,
  'counts of all classes have a place in the wave state',
);

/** Offset of the count of a class in the wave state. */
export const classCountOffset = (name: InstructionClass): number =>
  WAVE_CLASS_COUNTS + INSTRUCTION_CLASSES.indexOf(name) * 4;

/** How many instructions of each class there are. */
export function classMix(classes: Iterable<InstructionClass | undefined>): Map<InstructionClass, number> {
  const mix = new Map<InstructionClass, number>();
  for (const name of classes) if (name !== undefined) mix.set(name, (mix.get(name) ?? 0) + 1);
  return mix;
}

/** Counts a mix; `times` pushes how often it ran, once without it. */
export function emitClassCounts(
  f: FunctionBuilder,
  wave: Local,
  mix: ReadonlyMap<InstructionClass, number>,
  times?: () => void,
): void {
  for (const [name, count] of mix) {
    const offset = classCountOffset(name);
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
