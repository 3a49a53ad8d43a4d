/** The opcodes of the memory formats against LLVM's disassembler. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/decode.ts';
import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encode.test-support.ts';
import { type FormatName, formatByName } from '../../src/isa/amdgpu/formats.ts';
import { ROWS } from '../../src/isa/amdgpu/instructions/index.ts';
import { targetFor } from '../../src/isa/amdgpu/targets.ts';
import { llvmDisassemble } from './llvm-mc.ts';

/** Fields that make the encodings of a format valid, whatever the opcode; all combinations of the lists are tried. */
const SAMPLES: Readonly<Partial<Record<FormatName, readonly FieldValues[]>>> = {
  DS: [{ addr: 2 }, {}, { gds: 1, addr: 2 }, { gds: 1 }],
  FLAT: [{ addr: 2, data: 4, vdst: 8 }],
  GLOBAL: [{ addr: 2, data: 4, vdst: 8, saddr: 0x7f }],
  SCRATCH: [{ addr: 2, data: 4, vdst: 8, saddr: 0x7f }],
  MUBUF: [{ vdata: 4, soffset: 128 }, { lds: 1, soffset: 128 }, {}],
};

for (const processor of ['gfx90a', 'gfx942']) {
  const target = targetFor(processor);
  const encodings: Encoding[] = ROWS.flatMap((row) => encodingsOf(row, target));
  for (const [name, samples] of Object.entries(SAMPLES)) {
    test(`${processor} ${name}: every opcode that LLVM knows has its row, and no other`, () => {
      const format = formatByName(name as FormatName, target.families);
      const opcodes = Array.from({ length: 2 ** format.opcode.width }, (_, i) => i);
      const texts = llvmDisassemble(
        opcodes.flatMap((opcode) => samples.map((sample) => encodeFields(format, opcode, sample))),
        processor,
      );
      const found = opcodes.map((opcode) =>
        texts.slice(opcode * samples.length, (opcode + 1) * samples.length).find(Boolean),
      );
      const ours = opcodes.map((opcode) => encodings.find((e) => e.format === format && e.opcode === opcode)?.row.name);
      assert.deepEqual(
        ours,
        found.map((text) => text?.split(' ')[0]),
      );
    });
  }
}
