// Rebuilds the kernels of the HAL's conformance suite from their source: `node rebuild.ts` compares them with
// MANIFEST.json, `node rebuild.ts --write` replaces both.
import { Prebuilt, type Recipe } from '../prebuilt.ts';

export const CONFORMANCE_TARGETS = ['gfx90a', 'gfx942', 'gfx1100', 'gfx1201'] as const;

const FLAGS = '-mcode-object-version=5 -cl-std=CL2.0 -O2 -nogpulib -ffp-contract=off -Wall -Wextra -Werror';
const SOURCE = 'conformance.cl';

const RECIPES: Recipe[] = CONFORMANCE_TARGETS.map((target) => {
  const file = `conformance.${target}.co`;
  return [file, [SOURCE], `clang-19 --target=amdgcn-amd-amdhsa -mcpu=${target} ${FLAGS} -o ${file} ${SOURCE}`];
});

export const prebuiltConformance = new Prebuilt(import.meta.dirname, RECIPES, ['clang-19']);

if (import.meta.main) prebuiltConformance.main();
