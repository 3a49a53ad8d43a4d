import assert from 'node:assert/strict';
import { test } from 'node:test';
import { junitParts } from './junit.ts';
import type { TestResult } from './verdict.ts';

test('JUnit has a case for each reported one, and one for a program that fails besides', () => {
  const result = (change: Partial<TestResult>): TestResult => ({
    name: 'a<b>',
    outcome: 'passed',
    status: 0,
    durationMs: 1500,
    attempts: 1,
    cases: [],
    stdout: '\x1b[1m&\0',
    stderr: '',
    ...change,
  });
  const junit = (change: Partial<TestResult>): string =>
    [...junitParts([result(change)], { hostname: 'host', timestamp: '2026-01-02T03:04:05' })].join('');
  const one = junit({ outcome: 'failed', status: 3, cases: [{ name: 'x', outcome: 'passed', took: '20 ms' }] });
  assert.match(
    one,
    /<testsuite id="0" name="a&lt;b&gt;" package="" hostname="host" timestamp="2026-01-02T03:04:05" tests="2" failures="1" errors="0" skipped="0" time="1\.500">\n {4}<properties\/>\n/,
  );
  assert.match(one, /<testcase classname="a&lt;b&gt;" name="x" time="0\.020"\/>/);
  assert.match(one, /name="a&lt;b&gt;" time="0\.000"><failure message="failed, status 3" type="failed"\/>/);
  assert.match(one, /<system-out>\uFFFD\[1m&amp;\uFFFD<\/system-out>/);
  const two = junit({ cases: [{ name: 'y', outcome: 'skipped' }] });
  assert.match(two, /tests="1" failures="0" errors="0" skipped="1"/);
  const three = junit({ outcome: 'quarantined' });
  assert.match(three, /tests="1" failures="0" errors="1" skipped="0"/);
  assert.match(three, /<error message="quarantined, status 0" type="quarantined"\/>/);
});
