import path from 'node:path';
import { type MockLibraries, versionScript } from '../mock-library.ts';

const SOURCES = ['cuda-mock.c', 'image.c', 'kernels.c'].map((file) => `cuda-mock/${file}`);

const DEVICE_LIBRARY = path.join(import.meta.dirname, '../../../examples/device');
/** Without string.c, whose functions are built-ins of GPU compilers: those of this machine do. */
const LIBRARY_FILES = ['crt.c', 'stdio.c', 'stdlib.c'];

/** A program for GPUs and the device library as code of this machine, for CUDA_MOCK_KERNELS. */
export function buildForHost(libraries: MockLibraries, program: string, flags: readonly string[] = []): string {
  const header = path.join(import.meta.dirname, 'gpu-on-host.h');
  const name = `${path.basename(program)}${flags.join('')}`;
  const gpu = [
    '-ffreestanding',
    '-fno-builtin',
    '-fno-tree-loop-distribute-patterns',
    '-D__NVPTX__',
    '-include',
    header,
  ];
  const includes = ['-isystem', path.join(DEVICE_LIBRARY, 'include'), '-I', DEVICE_LIBRARY];
  return libraries.build(
    `${name}.so`,
    ['cuda-mock/gpu-on-host.c', program, ...LIBRARY_FILES.map((file) => path.join(DEVICE_LIBRARY, file))],
    ['-w', '-Wl,-Bsymbolic', ...gpu, ...includes, ...flags],
  );
}

/** The stand-in for libcuda.so.1. `define` makes it one of another age. */
export const buildCudaMock = (libraries: MockLibraries, define?: string): string =>
  libraries.build(`libcuda-mock${define === undefined ? '' : `-${define.toLowerCase()}`}.so`, SOURCES, [
    ...['-Wl,-soname,libcuda.so.1', versionScript('cuda-mock/exports.map'), '-lpthread', '-ldl'],
    ...(define === undefined ? [] : [`-D${define}`]),
  ]);
