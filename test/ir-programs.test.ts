/**
 * The programs of all rows, in each of their encodings: the verifier finds nothing, and they come back from
 * their text.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../src/base/errors.ts';
import { parseProgram, printProgram } from '../src/ir/text.ts';
import type { Program } from '../src/ir/types.ts';
import { problemsOf } from '../src/ir/verify.ts';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { bytesOf } from '../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../src/isa/amdgpu/encoding/encodings.ts';
import type { Instruction } from '../src/isa/amdgpu/encoding/instruction.ts';
import { type Target, targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../src/isa/amdgpu/rows/index.ts';
import { InstructionBuilder } from '../src/isa/amdgpu/semantics/instruction-builder.ts';
import { floatMode } from '../src/isa/amdgpu/semantics/mode.ts';
import { randomGenerator } from './lockstep/lockstep.test-support.ts';
import { randomEncoding } from './lockstep/random-encoding.test-support.ts';

/** One of each family. */
const TARGETS = [
  ['gfx908', 64],
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1030', 32],
  ['gfx1030', 64],
  ['gfx1100', 32],
  ['gfx1100', 64],
  ['gfx1200', 32],
] as const;
/** Denormals kept or flushed; to nearest, and toward zero. */
const MODES = [0x3f0, 0x30f];

/** v_swap_b32 and its kin have a field that names scalars too; the emulator refuses these. */
const swapsScalar = (instruction: Instruction): boolean =>
  instruction.row.operands.some(
    ({ field }, i) =>
      field === 'src0' && instruction.access(i)?.includes('write') && instruction.operand(i).kind !== 'vector',
  );

for (const [processor, waveSize] of TARGETS) {
  test(`${processor} wave${waveSize}: programs are right, and come back from their text`, () => {
    const target: Target = targetFor(processor);
    const decoder = decoderFor(processor, waveSize);
    const random = randomGenerator(waveSize);
    /** Undefined where the fields name something that is not implemented. */
    const programOf = (encoding: Encoding, mode: number): Program | undefined => {
      const words = [...randomEncoding(encoding, random, target), 0, 0];
      const instruction = decoder.decode(new DataView(bytesOf(words).buffer), 0);
      if (typeof instruction === 'string' || swapsScalar(instruction)) return undefined;
      try {
        return new InstructionBuilder(instruction, floatMode(mode)).build();
      } catch (error) {
        if (error instanceof WavewrightError && error.code === 'UNSUPPORTED') return undefined;
        throw error;
      }
    };
    let [built, missing] = [0, 0];
    const check = (encoding: Encoding): void => {
      // RDNA3 ISA 7.6: in waves of 32 lanes only.
      if (encoding.format.name === 'VOPD' && waveSize === 64) return;
      const program = programOf(encoding, MODES[random() % MODES.length]!);
      if (!program) {
        missing++;
        return;
      }
      built++;
      const text = printProgram(program);
      const what = `${encoding.row.name} ${encoding.format.name}`;
      assert.deepEqual(problemsOf(program), [], `${what}\n${text}`);
      const read = parseProgram(text);
      assert.equal(printProgram(read), text, what);
      assert.deepEqual(problemsOf(read), [], what);
    };
    for (const row of allRows()) if (row.semantics) encodingsOf(row, target).forEach(check);
    assert.ok(built > 1000 && missing < built / 20, `${missing} of ${built + missing} are not implemented`);
  });
}
