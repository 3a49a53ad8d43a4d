/** The HAL's device library and the kernels of its conformance suite are what clang makes of their source. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { prebuiltConformance } from '../data/hal/rebuild.ts';
import { prebuiltLibrary } from '../data/hal-library/rebuild.ts';

const isMissing = spawnSync('clang-19', ['--version']).error !== undefined;

for (const [name, prebuilt] of [
  ["the kernels of the HAL's conformance suite", prebuiltConformance],
  ["the HAL's device library", prebuiltLibrary],
] as const) {
  test(`${name}: prebuilt files are rebuilt bit for bit`, { skip: isMissing && 'clang-19 is not installed' }, () => {
    prebuilt.rebuild((built) => assert.deepEqual(built, prebuilt.manifest));
  });
}
