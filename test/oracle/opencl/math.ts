/** Launches of `math.cl`, which needs AMD's device libraries: Debian's package rocm-device-libs, or those of another installation. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { floats, positiveFloats } from './inputs.ts';
import { elementwise, type Numbers } from './launch.ts';
import { type Build, EXACT, type Subject } from './subject.ts';

/** Folder of the libraries' bitcode. */
const FOLDER = process.env['WAVEWRIGHT_DEVICE_LIBS'] ?? '/usr/lib/x86_64-linux-gnu/amdgcn/bitcode';
export const HAS_DEVICE_LIBRARIES = existsSync(path.join(FOLDER, 'ocml.bc'));

/** Major version, minor version in two digits, stepping in two digits. */
const VERSIONS = { gfx90a: 9010, gfx942: 9402, gfx1100: 11000 };

/** The switches of the libraries; the last one follows the size of waves. */
const LIBRARIES = [
  'opencl',
  'ocml',
  'ockl',
  'oclc_abi_version_500',
  'oclc_correctly_rounded_sqrt_on',
  'oclc_daz_opt_off',
  'oclc_finite_only_off',
  'oclc_unsafe_math_off',
];

const builds: Build[] = Object.entries(VERSIONS).flatMap(([processor, version]) =>
  (processor === 'gfx1100' ? ([32, 64] as const) : ([64] as const)).map((waveSize) => {
    const waves = `oclc_wavefrontsize64_${waveSize === 64 ? 'on' : 'off'}`;
    const files = [...LIBRARIES, waves].map((name) => path.join(FOLDER, `${name}.bc`));
    const links = files.flatMap((file) => ['-Xclang', '-mlink-builtin-bitcode', '-Xclang', file]);
    return { flags: [...EXACT, `-DDEVICE_VERSION=${version}`, ...links], processors: [processor], waveSize };
  }),
);

/** How many results each kernel has, and how far from the exact ones they may be: OpenCL C 3.0, "Relative error as ULPs". */
const KERNELS: readonly [name: string, results: number, ulps: number][] = [
  ['exact', 28, 0],
  ['within_2', 3, 2],
  ['within_3', 7, 3],
  ['within_4', 11, 4],
  ['within_5', 7, 5],
  ['within_6', 3, 6],
  ['within_16', 7, 16],
];

export const MATH: Subject = {
  source: 'math.cl',
  builds,
  languages: ['OpenCL C'],
  levels: ['O2'],
  launches: (items) =>
    (['f32', 'f64'] as const).flatMap((type) => {
      const half = items >> 1;
      // Half of the numbers from all over the format, half from 1/4 to 4.
      const numbers = (seed: number): Numbers => {
        const all = floats(type, items, seed);
        all.set(positiveFloats(type, half, seed), items - half);
        return all;
      };
      return KERNELS.map(([name, results, ulps]) =>
        elementwise(`${name}_${type === 'f32' ? 'float' : 'double'}`, items, {
          inputs: [numbers(1), numbers(2)],
          results,
          ulps,
        }),
      );
    }),
};
