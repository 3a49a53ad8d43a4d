/**
 * LLVM reads each instruction of new code, and makes the same bytes of what it read. `WAVEWRIGHT_SCALE=full`
 * takes more files and tools.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseCodeObject } from '../../src/codeobject/code-object.ts';
import { instrumentImage } from '../../src/instrument/index.ts';
import { chooseTool } from '../../src/tools/chosen-tool.ts';
import { IS_FULL_SCALE } from '../scale.ts';
import { llvmAssemble, llvmTexts } from './llvm-mc.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const isMissing = spawnSync('llvm-mc-19', ['--version']).status !== 0;
const TOOLS = [
  ...['instruction-count', 'memory-trace'],
  ...(IS_FULL_SCALE ? ['block-count', 'coalescing', 'lds-bank-conflicts', 'branch-divergence', 'value-profile'] : []),
];
/** Of operands of eight bits: what says that a literal follows, and the numbers that need none. */
const [LITERAL, SMALLEST, LARGEST] = [255, -16, 64];
/** Five targets. */
const FILES = [
  ...['gfx90a', 'gfx942', 'gfx1100'].flatMap((processor) =>
    (IS_FULL_SCALE
      ? readdirSync(path.join(ROOT, 'examples/kernels'))
          .filter((name) => name.endsWith('.co'))
          .map((name) => name.split('.')[0]!)
      : ['gather', 'histogram', 'matmul16']
    ).map((name) => `examples/kernels/${name}.${processor}.co`),
  ),
  'test/data/codeobjects/kernels.gfx1030.v4.co',
  'test/data/codeobjects/kernels.gfx1201.v6.co',
];

const hexOf = (words: readonly number[]): string => Buffer.from(Uint32Array.from(words).buffer).toString('hex');

/**
 * A literal that is relocated, made of addresses or set for each point has a dword of its own even where it
 * is a small number. The same with a small operand, as hexadecimal numbers.
 */
function withSmallOperand([word, literal]: readonly number[]): readonly string[] {
  const value = (literal ?? SMALLEST - 1) | 0;
  if (value < SMALLEST || value > LARGEST) return [];
  const operand = value < 0 ? 192 - value : 128 + value;
  return [0, 8].flatMap((at) =>
    ((word! >>> at) & 0xff) === LITERAL ? hexOf([(word! & ~(0xff << at)) | (operand << at)]) : [],
  );
}

for (const name of FILES) {
  test(`${name}: new code is what LLVM reads and writes`, { skip: isMissing && 'llvm-mc-19 is missing' }, async () => {
    const bytes = readFileSync(path.join(ROOT, name));
    for (const tool of TOOLS) {
      const made = instrumentImage({ bytes, name }, [await chooseTool(tool)]);
      const { elf, target, kernels } = parseCodeObject(made.bytes, name);
      const waveSize = kernels[0]!.metadata?.wavefrontSize === 32 ? 32 : 64;
      const rows = made.map.rows.filter(({ kind }) => kind !== 'filler');
      const encodings = rows.map(({ address, sizeBytes }) => {
        const code = elf.read(BigInt(address), sizeBytes, 'an instruction');
        const view = new DataView(code.buffer, code.byteOffset, sizeBytes);
        return Array.from({ length: sizeBytes / 4 }, (_, i) => view.getUint32(4 * i, true));
      });
      const texts = llvmTexts(encodings, target.processor, waveSize);
      const again = llvmAssemble(
        texts.map((text) => text ?? '.error'),
        target.processor,
        waveSize,
      );
      const wrong = rows.flatMap((row, i) => {
        const hex = hexOf(encodings[i]!);
        const isSmall = withSmallOperand(encodings[i]!).includes(again[i] ?? '');
        return again[i] === hex || isSmall
          ? []
          : [`${tool}: ${row.address} ${row.kind} ${texts[i]}: ${hex}, again ${again[i]}`];
      });
      assert.deepEqual(wrong.slice(0, 20), [], `${wrong.length} of ${rows.length}`);
      assert.ok(rows.length > 100);
    }
  });
}
