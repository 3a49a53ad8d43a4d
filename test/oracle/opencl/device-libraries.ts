/**
 * Builds with AMD's device libraries: those of Debian's package rocm-device-libs, or of another installation.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Build, EXACT } from './subject.ts';

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

export const DEVICE_LIBRARY_BUILDS: readonly Build[] = Object.entries(VERSIONS).flatMap(([processor, version]) =>
  (processor === 'gfx1100' ? ([32, 64] as const) : ([64] as const)).map((waveSize) => {
    const waves = `oclc_wavefrontsize64_${waveSize === 64 ? 'on' : 'off'}`;
    const files = [...LIBRARIES, waves].map((name) => path.join(FOLDER, `${name}.bc`));
    const links = files.flatMap((file) => ['-Xclang', '-mlink-builtin-bitcode', '-Xclang', file]);
    return { flags: [...EXACT, `-DDEVICE_VERSION=${version}`, ...links], processors: [processor], waveSize };
  }),
);
