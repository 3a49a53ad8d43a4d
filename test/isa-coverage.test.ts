/** docs/isa-coverage.md says what the instruction rows say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { coverage } from '../src/isa/amdgpu/report/coverage.ts';
import { coverageMarkdown } from '../src/isa/amdgpu/report/coverage-text.ts';

const PAGE = path.resolve(import.meta.dirname, '../docs/isa-coverage.md');

test('the page of instruction coverage is up to date', () => {
  const remedy = 'npx wavewright isa coverage --format=markdown > docs/isa-coverage.md';
  assert.equal(readFileSync(PAGE, 'utf8'), coverageMarkdown(coverage()), `out of date; run \`${remedy}\``);
});
