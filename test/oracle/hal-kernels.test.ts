/** The kernels of the HAL's conformance suite are what clang makes of their source. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { prebuiltConformance } from '../data/hal/rebuild.ts';

const isMissing = spawnSync('clang-19', ['--version']).error !== undefined;

test('the prebuilt kernels of the HAL are rebuilt bit for bit', {
  skip: isMissing && 'clang-19 is not installed',
}, () => {
  prebuiltConformance.rebuild((built) => {
    assert.deepEqual(built, prebuiltConformance.manifest);
  });
});
