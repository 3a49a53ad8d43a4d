/**
 * LLVM's own tests of its GPU libc with tools in them: they print what they printed, execute the same
 * instructions of their own, and tools say what the emulator counts. They are those below the folder that
 * `WAVEWRIGHT_LLVM_LIBC_TESTS` names, as `wavewright test` finds them; docs/llvm-libc.md says how to get
 * some.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { collectTests } from '../../src/cli/batch/collect.ts';
import { parseCodeObject } from '../../src/codeobject/code-object.ts';
import type { Case } from '../../src/fleet/case.ts';
import type { ImageRun } from '../fuzz/run-image.ts';
import { runNative, testWithTools } from './program-tools.ts';

const { WAVEWRIGHT_LLVM_LIBC_TESTS: folder } = process.env;
const DIMENSIONS = ['x', 'y', 'z'];

/** `--blocks 8`, `--threads-y 4` and the like. */
function sizes(name: string, options: readonly string[]): readonly [number, number, number] {
  const found: [number, number, number] = [1, 1, 1];
  for (const [i, each] of options.entries()) {
    const dimension = each === name ? 0 : DIMENSIONS.findIndex((dimension) => each === `${name}-${dimension}`);
    if (dimension >= 0) found[dimension] = Number(options[i + 1]);
  }
  return found;
}

const runOf = ({ options, args, env }: Case): ImageRun => ({
  ...{ args, env, blocks: sizes('--blocks', options), threads: sizes('--threads', options) },
});

if (folder === undefined) {
  test("LLVM's tests with tools", { skip: 'WAVEWRIGHT_LLVM_LIBC_TESTS names no folder of programs' }, () => undefined);
} else {
  for (const each of collectTests(folder, { options: [], timeout: 300, retries: 0 })) {
    const bytes = readFileSync(each.image);
    const { processor } = parseCodeObject(bytes, each.name).target;
    const name = path.relative(folder, each.image);
    test(`${processor}: ${name} with tools`, async () =>
      testWithTools(await runNative({ bytes, name, processor, run: runOf(each) })));
  }
}
