/** Targets of direct branches in lifted code against those that llvm-objdump 19 names. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseCodeObject } from '../../src/codeobject/code-object.ts';
import { liftCodeObject } from '../../src/lift/lifted-code.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const FILES = globSync(['examples/**/*.co', 'test/data/codeobjects/kernels.*.co'], { cwd: ROOT }).sort();

/** By the address of the branch. */
function targetsOf(file: string): ReadonlyMap<number, number> {
  const text = execFileSync('llvm-objdump-19', ['-d', file], { cwd: ROOT, encoding: 'latin1', maxBuffer: 2 ** 28 });
  const symbols = new Map(
    [...text.matchAll(/^([0-9a-f]{16}) <(.+)>:$/gm)].map(([, address, name]) => [name, Number.parseInt(address!, 16)]),
  );
  const branches = text.matchAll(/s_c?branch.*\/\/ ([0-9A-F]+): .*<(.+?)(?:\+0x([0-9a-f]+))?>$/gm);
  return new Map(
    [...branches].map(([, address, symbol, offset = '0']) => [
      Number.parseInt(address!, 16),
      symbols.get(symbol)! + Number.parseInt(offset, 16),
    ]),
  );
}

for (const file of FILES) {
  test(file, () => {
    const expected = targetsOf(file);
    const { functions } = liftCodeObject(parseCodeObject(readFileSync(path.join(ROOT, file)), file));
    let count = 0;
    for (const { blocks } of functions) {
      for (const { instructions, target } of blocks) {
        const last = instructions.at(-1)!;
        if (last.control !== 'branch' && last.control !== 'conditional') continue;
        count++;
        assert.equal(last.target, expected.get(last.offset), last.text());
        if (target) assert.equal(target.instructions[0]!.offset, last.target);
      }
    }
    // What compilers write is reached, but for padding.
    assert.equal(count, expected.size);
  });
}
