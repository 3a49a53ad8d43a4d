import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decoderFor } from '../decoder.ts';
import { allRows, rowsOf } from '../rows/index.ts';
import { assembleInstruction } from '../text/assembler/assemble.ts';
import { Decoder } from './decode.ts';
import { bytesOf, encodeFields } from './encode.ts';
import { type Encoding, encodingsOf } from './encodings.ts';
import { TARGET_PROCESSORS, targetFor } from './targets.ts';

/** Random fields of an encoding; fields that lie on others are left out. */
function wordsOf({ format, opcode }: Encoding, values: readonly number[]): number[] {
  const fields = format.fields.filter(({ name }) => !/^(offset0|offset1|data)$/.test(name));
  return encodeFields(
    format,
    opcode,
    Object.fromEntries(fields.map(({ name }, i) => [name, values[i % values.length]!])),
  );
}

const viewOf = (words: readonly number[]): DataView => new DataView(bytesOf(words).buffer);
const LITERAL = 0x12345678;

for (const processor of TARGET_PROCESSORS) {
  const target = targetFor(processor);
  const waveSize = target.waveSizes[0]!;
  const decoder = decoderFor(processor, waveSize);

  test(`${processor}: every encoding of every row is decoded to itself, and its fields encode to the same bytes`, () => {
    const values = fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 16 });
    const [sample] = fc.sample(fc.array(values, { minLength: 64, maxLength: 64 }), { numRuns: 1, seed: 1 });
    let index = 0;
    for (const encoding of allRows().flatMap((row) => encodingsOf(row, target))) {
      const words = wordsOf(encoding, sample![index++ % sample!.length]!);
      const instruction = decoder.decode(viewOf([...words, LITERAL]), 0);
      if (typeof instruction === 'string' || instruction.format !== encoding.format) continue;
      assert.equal(instruction.row, encoding.row);
      assert.deepEqual(instruction.code, words);
      const fields = encoding.format.fields.map(({ name }) => [name, instruction.field(name)]);
      assert.deepEqual(
        encodeFields(encoding.format, encoding.opcode, Object.fromEntries(fields)),
        words,
        encoding.name,
      );
    }
  });

  test(`${processor}: any bytes are an instruction or not, and encode to themselves`, () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffffffff), { minLength: 0, maxLength: 4 }), (words) => {
        const instruction = decoder.decode(viewOf(words), 0);
        if (typeof instruction === 'string') return;
        assert.deepEqual(instruction.code, words.slice(0, instruction.code.length));
        assert.ok(instruction.sizeBytes <= words.length * 4);
      }),
      { numRuns: 2000 },
    );
  });
}

test('fields go where the manual has them', () => {
  const encoding = (name: string, format: string): Encoding =>
    allRows()
      .flatMap((row) => encodingsOf(row, targetFor('gfx90a')))
      .find((each) => each.name === name && each.format.name === format)!;
  const add = encoding('v_add_f32', 'VOP2');
  // CDNA2 ISA 13.3.1: SRC0 8:0, VSRC1 16:9, VDST 24:17, OP 30:25 = 1.
  assert.deepEqual(encodeFields(add.format, add.opcode, { src0: 256 + 2, src1: 3, vdst: 2 }), [0x02040702]);
  const lanes = encoding('v_mov_b32', 'VOP1_DPP');
  assert.deepEqual(
    encodeFields(lanes.format, lanes.opcode, { vdst: 2, src0: 30, row_mask: 15 }),
    [0x7e0402fa, 0xf000001e],
  );
});

// Rows are entered into tables when a dword has a format for the first time; here the row's is another one.
for (const [text, processor] of [
  ['v_mov_b32_e64 v1, v2', 'gfx90a'],
  ['v_add_f32_e64 v1, |v2|, v3', 'gfx1100'],
  ['v_cmp_eq_u32_e64 s[2:3], v1, v2', 'gfx90a'],
  ['v_div_scale_f32 v1, vcc, v2, v3, v4', 'gfx90a'],
  ['v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]', 'gfx90a'],
  ['v_add_f32_sdwa v1, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD', 'gfx90a'],
  ['v_add_f32_e64_dpp v1, v2, v3 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf', 'gfx1100'],
  ['v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v3, v2', 'gfx1100'],
] as const) {
  test(`a decoder's first instruction on ${processor}: ${text}`, () => {
    const target = targetFor(processor);
    const waveSize = target.waveSizes[0]!;
    const { words } = assembleInstruction(text, { target, waveSize });
    const instruction = new Decoder(target, waveSize, rowsOf).decode(viewOf(words), 0);
    assert.ok(typeof instruction !== 'string', `${instruction}`);
    assert.deepEqual(instruction.code, words);
  });
}
