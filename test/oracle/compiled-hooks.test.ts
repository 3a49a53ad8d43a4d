/** The checked-in hooks are what clang makes of their sources with the header of the package. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { HOOKS } from '../data/hooks/rebuild.ts';

const isMissing = spawnSync('clang-19', ['--version']).error !== undefined;

test('the prebuilt hooks are rebuilt bit for bit', { skip: isMissing && 'clang-19 is not installed' }, () => {
  HOOKS.rebuild((built) => {
    assert.deepEqual(built, HOOKS.manifest);
  });
});
