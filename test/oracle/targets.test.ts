/**
 * Every processor that has instruction tables: its texts are LLVM's, and a program that clang builds for it
 * runs.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import { TARGET_PROCESSORS, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { formatInstruction } from '../../src/isa/amdgpu/text/disassemble.ts';
import { IS_FULL_SCALE } from '../scale.ts';
import { encodingSamples } from './encoding-samples.ts';
import { LLVM_ERRATA } from './llvm-errata.ts';
import { llvmDisassemble } from './llvm-mc.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-targets-'));
after(() => rmSync(folder, { recursive: true }));

const OPTIONS = ['-std=c17', '-O2', '-nogpulib', '-ffp-contract=off', '-flto', '-ffreestanding', '-nostdlibinc'];
const INCLUDES = ['-isystem', 'examples/device/include', '-Iexamples/device'];
const LINKER = ['-Wl,-mllvm,-amdgpu-lower-global-ctor-dtor=0'];
const RUNTIME = ['crt', 'stdio', 'stdlib', 'string'].map((name) => `examples/device/${name}.c`);

const isErratum = (theirs: string): boolean => LLVM_ERRATA.some(({ text }) => text.test(theirs));
/** Images are known by name only, interpolation before gfx11 not at all. */
const IS_ABSENT = /^(image_|v_interp_\w+_e32)/;

for (const processor of TARGET_PROCESSORS) {
  const own = TARGET_PROCESSORS.find(
    (other) => targetFor(other).families.join() === targetFor(processor).families.join(),
  );
  const skip = own !== processor && !processor.endsWith('-generic') && `has the instructions of ${own}`;
  test(`${processor}: samples of every instruction have the text of LLVM`, { skip: !IS_FULL_SCALE && skip }, () => {
    const waveSize = targetFor(processor).waveSizes[0]!;
    const decoder = decoderFor(processor, waveSize);
    const encodings = encodingSamples(3, 4, processor).map(({ words }) => words);
    const texts = llvmDisassemble(encodings, processor, waveSize);
    let accepted = 0;
    const differences = encodings.flatMap((words, i) => {
      const instruction = decoder.decode(new DataView(Uint32Array.from(words).buffer), 0);
      const isShort = typeof instruction === 'object' && instruction.sizeBytes < words.length * 4;
      const theirs = isShort ? texts[i]?.split('; ')[0] : texts[i];
      if (theirs === undefined || IS_ABSENT.test(theirs) || isErratum(theirs)) return [];
      accepted++;
      const ours = typeof instruction === 'object' ? formatInstruction(instruction) : instruction;
      return ours === theirs ? [] : [`${ours}, expected ${theirs}`];
    });
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > encodings.length / 3, `${accepted} of ${encodings.length} accepted`);
  });

  test(`${processor}: a program runs`, { skip }, async () => {
    const image = path.join(folder, `quicksort.${processor}.co`);
    const version = processor.endsWith('-generic') ? 6 : 5;
    const target = ['--target=amdgcn-amd-amdhsa', `-mcpu=${processor}`, `-mcode-object-version=${version}`];
    const sources = ['examples/quicksort/quicksort.c', ...RUNTIME];
    execFileSync('clang-19', [...target, ...OPTIONS, ...INCLUDES, ...LINKER, '-o', image, ...sources], { cwd: ROOT });
    const run = await promisify(execFile)(process.execPath, ['bin/wavewright.js', 'run', image, '257', 'down'], {
      cwd: ROOT,
    });
    // As on the host: examples/expected.json.
    const expected = '257 records down: first 65531, middle 34621, last 80, checksum 161a37e4a8b3e6f2\n';
    assert.deepEqual(run, { stdout: expected, stderr: '' });
  });
}
