// Rebuilds the prebuilt files of this folder from their sources: `node rebuild.ts` compares them with
// MANIFEST.json, `node rebuild.ts --write` replaces the files and the manifest. The tools must be the
// versions that the manifest names.
import { Prebuilt, type Recipe } from '../prebuilt.ts';

const CLANG = 'clang-19 -target amdgcn-amd-amdhsa -nogpulib -w';
const OPENCL = '-x cl -cl-std=CL2.0 -Xclang -cl-kernel-arg-info';
const BUNDLE =
  'clang-offload-bundler-19 -type=o -bundle-align=4096' +
  ' -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-,hipv4-amdgcn-amd-amdhsa--gfx1100' +
  ' -input=/dev/null -input=tiny.gfx90a.co -input=tiny.gfx1100.co';

const RECIPES: readonly Recipe[] = [
  ...(
    [
      ['gfx90a.v5', 'gfx90a', 5],
      ['gfx90a.v4', 'gfx90a:sramecc+:xnack-', 4],
      ['gfx942.v5', 'gfx942', 5],
      ['gfx1030.v4', 'gfx1030', 4],
      ['gfx1100.v5', 'gfx1100', 5],
      ['gfx1201.v6', 'gfx1201', 6],
      ['gfx9-generic.v6', 'gfx9-generic:xnack+', 6],
      ['gfx11-generic.v6', 'gfx11-generic', 6],
    ] as const
  ).map(([name, target, version]): Recipe => [
    `kernels.${name}.co`,
    ['kernels.c'],
    `${CLANG} -O2 -mcpu=${target} -mcode-object-version=${version} kernels.c -o kernels.${name}.co`,
  ]),
  ['kernels.gfx90a.v5.o', ['kernels.c'], `${CLANG} -O2 -mcpu=gfx90a -mcode-object-version=5 -c kernels.c -o kernels.gfx90a.v5.o`],
  [
    'kernels.gfx90a.v5.stripped.co',
    ['kernels.gfx90a.v5.co'],
    'llvm-objcopy-19 --strip-sections kernels.gfx90a.v5.co kernels.gfx90a.v5.stripped.co',
  ],
  ...[
    ['gfx90a', 4],
    ['gfx90a', 5],
    ['gfx803', 5],
  ].map(([target, version]): Recipe => [
    `arguments.${target}.v${version}.co`,
    ['arguments.cl'],
    `${CLANG} -O0 ${OPENCL} -mcpu=${target} -mcode-object-version=${version} arguments.cl -o arguments.${target}.v${version}.co`,
  ]),
  ['tiny.gfx90a.co', ['tiny.c'], `${CLANG} -O2 -mcpu=gfx90a:xnack- -mcode-object-version=5 tiny.c -o tiny.gfx90a.co`],
  ['tiny.gfx1100.co', ['tiny.c'], `${CLANG} -O2 -mcpu=gfx1100 -mcode-object-version=5 tiny.c -o tiny.gfx1100.co`],
  ['fat.bundle', ['tiny.gfx90a.co', 'tiny.gfx1100.co'], `${BUNDLE} -output=fat.bundle`],
  ['fat.ccob', ['tiny.gfx90a.co', 'tiny.gfx1100.co'], `${BUNDLE} -compress -output=fat.ccob`],
  [
    'host.elf',
    ['host.s', 'fat.bundle', 'fat.ccob'],
    'clang-19 -target x86_64-unknown-linux-gnu -c host.s -o host.o && ld.lld-19 -static host.o -o host.elf && rm host.o',
  ],
];

export const CODE_OBJECTS = new Prebuilt(import.meta.dirname, RECIPES, [
  ...['clang-19', 'ld.lld-19', 'llvm-objcopy-19', 'clang-offload-bundler-19'],
]);

if (import.meta.main) CODE_OBJECTS.main();
