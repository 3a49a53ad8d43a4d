// Rebuilds the hooks of this folder from their sources: `node rebuild.ts` compares them with MANIFEST.json,
// `node rebuild.ts --write` replaces the files and the manifest. The tools must be the versions that the
// manifest names. The commands find the header in the folder `include` of the repository.
import { Prebuilt, type Recipe } from '../prebuilt.ts';

const HEADER = 'include/wavewright/hook.h';
const FLAGS = '-nogpulib -mllvm -amdgpu-atomic-optimizer-strategy=None -Iinclude -Wall -Werror -c';
const PROCESSORS = ['gfx90a', 'gfx942', 'gfx1100'];

const recipe = (file: string, source: string, options: string): Recipe => [
  file,
  [source, HEADER],
  `clang-19 ${options} ${FLAGS} ${source} -o ${file}`,
];

const RECIPES = PROCESSORS.flatMap((processor): Recipe[] => {
  const target = `--target=amdgcn-amd-amdhsa -mcpu=${processor}`;
  return [
    ...[1, 2, 3].map((level) => recipe(`hooks.${processor}.O${level}.o`, 'hooks.c', `${target} -O${level}`)),
    recipe(`odd.${processor}.o`, 'odd.c', `${target} -O2`),
    recipe(`calls.${processor}.o`, 'calls.c', `${target} -O2`),
    recipe(`tools.${processor}.o`, 'tools.c', `${target} -O2`),
    recipe(`opencl.${processor}.o`, 'hooks.cl', `-x cl -cl-std=CL2.0 ${target} -O2`),
    recipe(`cpp.${processor}.o`, 'hooks.hip', `-x c++ ${target} -O2`),
    recipe(`hip.${processor}.bundle`, 'hooks.hip', `-x hip --cuda-device-only --offload-arch=${processor} -fuse-cuid=none -nogpuinc -O2`),
  ];
});
// Of gfx10, FLAT_SCRATCH is hardware registers: what uses private memory, and the same hooks that are lifted.
const GFX10 = '--target=amdgcn-amd-amdhsa -mcpu=gfx1030 -O2';
RECIPES.push(recipe('hooks.gfx1030.O2.o', 'hooks.c', GFX10), recipe('calls.gfx1030.o', 'calls.c', GFX10));

export const HOOKS = new Prebuilt(import.meta.dirname, RECIPES, ['clang-19', 'ld.lld-19'], [HEADER]);

if (import.meta.main) HOOKS.main();
