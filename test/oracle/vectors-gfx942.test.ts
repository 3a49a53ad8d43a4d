/**
 * Compiled gfx942 kernels from the test suite of another emulator, on all executors:
 * `shared/vectors/gfx942-kernels` beside the repository, or the folder that WAVEWRIGHT_GFX942_VECTORS names.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readKernelVectors, runKernelVector } from './kernel-vectors.ts';

const SHARED = path.resolve(import.meta.dirname, '../../../shared');
const FOLDER = process.env['WAVEWRIGHT_GFX942_VECTORS'] ?? path.join(SHARED, 'vectors/gfx942-kernels');
const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined && existsSync(SHARED);

if (!existsSync(FOLDER)) {
  test('gfx942 kernels', { skip: isRequired ? false : `no vectors at ${FOLDER}` }, () => {
    assert.fail(`no vectors at ${FOLDER}`);
  });
} else {
  const vectors = readKernelVectors(FOLDER);
  test('there are gfx942 kernels', () => assert.ok(vectors.length > 0));
  for (const executor of ['handlers', 'jit', 'reference'] as const) {
    for (const vector of vectors) {
      test(`${vector.name}, ${vector.Kernel}: ${executor}`, () => {
        assert.equal(runKernelVector(vector, 'gfx942', executor), undefined);
      });
    }
  }
}
