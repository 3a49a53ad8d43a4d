import { defineCommand } from '../arguments/command.ts';
import { collectCases } from '../batch/plan.ts';
import { runTests } from '../batch/run-tests.ts';
import { defaultsOf, needsKeys, TEST_OPTIONS } from '../batch/test-options.ts';

export const test = defineCommand({
  operands: { usage: 'DIR|LIST|IMAGE|CASES.jsonl...', min: 1, max: Number.POSITIVE_INFINITY },
  options: TEST_OPTIONS,
  formats: { text: 'a line for each program, the end of the output of those that failed', json: 'one object' },
  notes: [
    'DIR: all programs below a directory; LIST: a text file with the path of one on each line, relative to the list.',
    'CASES.jsonl: a case on each line, as {"image":"a.co","name":"a[seed=7]","args":["7"],"run":["--threads=2"],"env":{}}; - is standard input.',
    'A program passes when its exit status is 0 and it reports no failed case in the form of GoogleTest or of LLVM libc.',
    'What tools find goes to the standard error of each program, which is printed also for those that pass.',
    'IMAGE.params beside IMAGE holds its arguments as in LLVM: a line for each option of the loader, ---, a line for each argument,',
    '---, a line NAME=VALUE for each variable. The exit status is 1 when a program failed.',
  ],
  async run(context, options, operands) {
    const entries = collectCases(operands, defaultsOf(options), needsKeys(options));
    return runTests(context, options, entries, operands.join(', '));
  },
});
