import { type MockLibraries, versionScript } from '../mock-library.ts';

/** The stand-in for libhsa-runtime64.so.1; with versions its symbols have those of ROCr. */
export const buildHsaMock = (libraries: MockLibraries, hasVersions = true): string =>
  libraries.build(
    hasVersions ? 'libhsa-mock.so' : 'libhsa-unversioned.so',
    ['hsa-mock/hsa-mock.c'],
    ['-Wl,-soname,libhsa-runtime64.so.1', ...(hasVersions ? [versionScript('hsa-mock/exports.map')] : [])],
  );
