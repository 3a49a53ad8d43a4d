/** Effects of steps, which a step works out once. */
import type { Effects } from '../ir/effects.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';

export const stepEffects = ({ effects }: AmdgpuStep): Effects => effects;
