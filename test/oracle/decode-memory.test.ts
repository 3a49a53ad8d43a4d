/** The opcodes of the memory formats against LLVM's disassembler. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { type FormatName, formatByName, formatsOf } from '../../src/isa/amdgpu/encoding/formats.ts';
import { targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { llvmDisassemble } from './llvm-mc.ts';

/** Where an address has no scalar part: gfx9, gfx11, gfx10. */
const NO_SCALAR = [0x7f, 124, 125];
const withoutScalar = (sample: FieldValues): FieldValues[] => NO_SCALAR.map((saddr) => ({ ...sample, saddr }));

/**
 * Fields that make the encodings of a format valid, whatever the opcode; those that a target lacks are left
 * out.
 */
const SAMPLES: Readonly<Partial<Record<FormatName, readonly FieldValues[]>>> = {
  DS: [{ addr: 2 }, {}, { gds: 1, addr: 2 }, { gds: 1 }],
  FLAT: [{ addr: 2, data: 4, vdst: 8 }, ...withoutScalar({ addr: 2, data: 4, vdst: 8 })],
  GLOBAL: [...withoutScalar({ addr: 2, data: 4, vdst: 8 }), ...withoutScalar({})],
  SCRATCH: withoutScalar({ addr: 2, data: 4, vdst: 8 }),
  MUBUF: [{ vdata: 4, soffset: 128 }, { lds: 1, soffset: 128 }, {}],
  MTBUF: [{ vdata: 4, soffset: 128, format: 20 }],
  MIMG: [
    { vdata: 4, dmask: 15, dim: 1 },
    { vdata: 4, dmask: 1, dim: 7, unrm: 1 },
    { vdata: 4, dmask: 1, dim: 1, d16: 1, a16: 1 },
    { vdata: 4, dmask: 15, unrm: 1, r128: 1 },
  ],
  VSAMPLE: [
    { vdata: 4, dmask: 15, dim: 1 },
    { vdata: 4, dmask: 15 },
  ],
  EXP: [{ en: 15, target: 1 }],
  LDSDIR: [{ vdst: 3 }],
};

for (const processor of [
  'gfx900',
  'gfx906',
  'gfx908',
  'gfx90a',
  'gfx942',
  'gfx1010',
  'gfx1013',
  'gfx1030',
  'gfx1100',
  'gfx1200',
]) {
  const target = targetFor(processor);
  const encodings: Encoding[] = allRows().flatMap((row) => encodingsOf(row, target));
  const formats = new Set(formatsOf(target.families).map(({ name }) => name));
  for (const [key, samples] of Object.entries(SAMPLES)) {
    const name = key as FormatName;
    if (!formats.has(name)) continue;
    test(`${processor} ${name}: every opcode that LLVM knows has its row, and no other`, () => {
      const format = formatByName(name, target.families);
      const fits = samples.map((sample) =>
        Object.fromEntries(
          Object.entries(sample).filter(([field]) => format.fields.some(({ name }) => name === field)),
        ),
      );
      const opcodes = Array.from({ length: 2 ** (format.opcode.width + (format.opcodeHigh ? 1 : 0)) }, (_, i) => i);
      const texts = llvmDisassemble(
        opcodes.flatMap((opcode) => fits.map((sample) => encodeFields(format, opcode, sample))),
        processor,
      );
      const found = opcodes.map((opcode) =>
        texts
          .slice(opcode * fits.length, (opcode + 1) * fits.length)
          // On gfx12 typed accesses are among the opcodes of the others.
          .find((text) => text !== undefined && !(name === 'MUBUF' && text.startsWith('tbuffer'))),
      );
      const ours = opcodes.map((opcode) => encodings.find((e) => e.format === format && e.opcode === opcode)?.name);
      assert.deepEqual(
        ours,
        found.map((text) => text?.split(' ')[0]),
      );
    });
  }
}
