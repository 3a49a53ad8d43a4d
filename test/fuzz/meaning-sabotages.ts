/** Of `sabotages.ts`: what instructions mean. */
import type { Sabotage } from './sabotages.ts';

const rounding = ['--test', '--test-isolation=none', 'src/isa/amdgpu/rows/rounding.test.ts'];

export const MEANING_SABOTAGES: readonly Sabotage[] = [
  {
    name: 'ldexp: powers that are too large for a product',
    file: 'src/isa/amdgpu/semantics/scaling.ts',
    from: 'b.i32(2 * bias)',
    to: 'b.i32(2 * bias + 1)',
    noticedBy: rounding,
  },
  {
    name: 'ldexp: powers that are too small for a product',
    file: 'src/isa/amdgpu/semantics/scaling.ts',
    from: 'b.sub(exponent, b.i32(1))',
    to: 'exponent',
    noticedBy: rounding,
  },
];
