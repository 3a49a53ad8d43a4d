import { type MockLibraries, versionScript } from '../mock-library.ts';

const SOURCES = ['cuda-mock.c', 'image.c', 'kernels.c'].map((file) => `cuda-mock/${file}`);

/** The stand-in for libcuda.so.1. `define` makes it one of another age. */
export const buildCudaMock = (libraries: MockLibraries, define?: string): string =>
  libraries.build(`libcuda-mock${define === undefined ? '' : `-${define.toLowerCase()}`}.so`, SOURCES, [
    ...['-Wl,-soname,libcuda.so.1', versionScript('cuda-mock/exports.map'), '-lpthread', '-ldl'],
    ...(define === undefined ? [] : [`-D${define}`]),
  ]);
