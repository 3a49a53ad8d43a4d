import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportedCases } from './reported-cases.ts';

test("cases in LLVM libc's and in GoogleTest's form", () => {
  const libc = [
    '[ RUN      ] LlvmLibcStrlen.Empty',
    '[       OK ] LlvmLibcStrlen.Empty (took 120 ns)',
    '[ RUN      ] LlvmLibcStrlen.Long',
    'strlen_test.cpp:12: FAILURE',
    '      Expected: 3',
    '[  FAILED  ] LlvmLibcStrlen.Long',
    'Ran 2 tests.  PASS: 1  FAIL: 1',
  ].join('\n');
  assert.deepEqual(reportedCases(libc), [
    { name: 'LlvmLibcStrlen.Empty', outcome: 'passed', took: '120 ns' },
    { name: 'LlvmLibcStrlen.Long', outcome: 'failed' },
  ]);
  const google = [
    '[==========] Running 3 tests from 1 test suite.',
    '[ RUN      ] Suite.One',
    '[       OK ] Suite.One (4 ms)',
    '[ RUN      ] Suite.Two/0',
    '[  SKIPPED ] Suite.Two/0 (0 ms)',
    '[ RUN      ] Suite.Three',
    '[  FAILED  ] Suite.Three, where GetParam() = 3 (1 ms)',
    '[ RUN      ] Suite.Four',
    '[  FAILED  ] Suite.Four (1 ms)',
    '[  FAILED  ] 2 tests, listed below:',
    '[  FAILED  ] Suite.Four',
  ].join('\r\n');
  assert.deepEqual(
    reportedCases(google).map(({ name, outcome }) => [name, outcome]),
    [
      ['Suite.One', 'passed'],
      ['Suite.Two/0', 'skipped'],
      ['Suite.Three', 'failed'],
      ['Suite.Four', 'failed'],
    ],
  );
  assert.deepEqual(reportedCases('[ RUN      ] A.B\nboom'), [{ name: 'A.B', outcome: 'unfinished' }]);
  assert.deepEqual(reportedCases('no cases'), []);
  const [green, plain] = ['\x1b[32m', '\x1b[0m'];
  const coloured = `${green}[ RUN      ] ${plain}A.B\nprinted\0${green}[       OK ] ${plain}A.B (took 5 us)\n`;
  assert.deepEqual(reportedCases(coloured), [{ name: 'A.B', outcome: 'passed', took: '5 us' }]);
});
