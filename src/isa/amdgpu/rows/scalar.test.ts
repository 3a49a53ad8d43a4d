import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../../base/errors.ts';
import { decoderFor } from '../decoder.ts';
import { InstructionBuilder } from '../semantics/instruction-builder.ts';
import { DEFAULT_MODE } from '../semantics/machine.test-support.ts';

/** First dwords of SOP1, SOP2, SOPC, SOPK, SOPP (leading bits 10) and SMEM (110000). */
const firstDword = fc.oneof(
  fc.nat(0x3fffffff).map((low) => 0x80000000 + low),
  fc.nat(0x3ffffff).map((low) => 0xc0000000 + low),
);

test('any scalar encoding is built, is no instruction, or is unsupported', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(firstDword, fc.nat(0xffffffff), (first, second) => {
      const instruction = decoderFor('gfx90a', 64).decode(new DataView(Uint32Array.of(first, second).buffer), 0);
      if (typeof instruction === 'string') return seen.add(instruction).size > 0;
      try {
        new InstructionBuilder(instruction, DEFAULT_MODE).build();
        seen.add('built');
      } catch (error) {
        assert.ok(error instanceof WavewrightError && error.code === 'UNSUPPORTED', String(error));
        seen.add('unsupported');
      }
      return true;
    }),
    { numRuns: 5000 },
  );
  assert.deepEqual([...seen].sort(), ['built', 'unknown', 'unsupported']);
});
