import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './program.test-support.ts';
import { runProgram } from './program.ts';
import type { RunOptions } from './run-options.ts';

const BAD: readonly [options: Partial<RunOptions>, message: RegExp][] = [
  [{ blocks: [1, 0, 1] }, /blocks is 0, expected an integer from 1/],
  [{ threads: [1, 1, -1] }, /threads is -1/],
  [{ threads: [1.5, 1, 1] }, /threads is 1\.5/],
  [{ blocks: [Number.NaN, 1, 1] }, /blocks is NaN/],
  [{ blocks: [2 ** 32, 1, 1] }, /a grid of 4294967296 work-items, expected 1 to 4294967295/],
  [{ stackSizeBytes: -1 }, /stackSizeBytes is -1/],
  [{ timeoutMs: Number.NaN }, /timeoutMs is NaN, expected a number from 0/],
  [{ limits: { outputBytes: Number.NaN } }, /limits\.outputBytes is NaN/],
  [{ limits: { openFiles: -1 } }, /limits\.openFiles is -1/],
  [{ limits: { heapBytes: 0.5 } }, /limits\.heapBytes is 0\.5/],
  [{ portCount: 0 }, /0 RPC ports/],
  [{ env: { 'A=B': 'c' } }, /'A=B' is no name/],
  [{ env: { '': 'c' } }, /'' is no name/],
  [{ env: { A: 'b\0' } }, /NUL/],
  [{ args: ['\0'] }, /NUL/],
];

test('options that cannot be are refused before anything runs, and leave nothing behind', async () => {
  for (const [options, message] of BAD) {
    const { promise, device, log } = await run({ options });
    await assert.rejects(promise, (error: unknown) => {
      assert.ok(error instanceof Error && 'code' in error);
      assert.equal(error.code, 'USAGE', error.message);
      assert.match(error.message, message);
      return true;
    });
    assert.deepEqual(log, []);
    assert.deepEqual([...device.memory.allocations.values()], []);
  }
});

test('limits may be infinite, and there may be no arguments', async () => {
  const { promise } = await run({ options: { limits: { outputBytes: Number.POSITIVE_INFINITY }, timeoutMs: 1e9 } });
  assert.equal((await promise).status, 0);
});

test('a program without options is refused in words', async () => {
  for (const options of [undefined, {}, { args: [] }, { device: {}, args: 'x' }]) {
    // reason: what a caller without a type checker could pass.
    await assert.rejects(runProgram(new Uint8Array(4), options as never), {
      code: 'USAGE',
      message: 'a program without options, expected at least { device, args }',
    });
  }
});
