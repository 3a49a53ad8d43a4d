/** Effects of steps, worked out once for each: analyses ask for them again and again. */
import type { Effects } from '../ir/effects.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

const known = new WeakMap<AmdgpuStep, Effects>();

export function stepEffects(step: AmdgpuStep): Effects {
  let effects = known.get(step);
  if (!effects) {
    effects = step.effects;
    known.set(step, effects);
  }
  return effects;
}
