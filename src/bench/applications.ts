import { ALGEBRA } from './applications/algebra.ts';
import type { ApplicationBenchmark } from './applications/application.ts';
import { CHEMISTRY } from './applications/chemistry.ts';
import { GRAPHS } from './applications/graphs.ts';
import { GRIDS } from './applications/grids.ts';
import { SEQUENCES } from './applications/sequences.ts';
import { SIMULATIONS } from './applications/simulations.ts';

/** All benchmark applications. */
export const APPLICATIONS: readonly ApplicationBenchmark[] = [
  ...GRIDS,
  ...GRAPHS,
  ...ALGEBRA,
  ...SEQUENCES,
  ...SIMULATIONS,
  CHEMISTRY,
];
