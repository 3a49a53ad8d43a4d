/** The opcodes and registers of the scalar formats against LLVM's disassembler. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encoding/encode.ts';
import { type Format, type FormatName, formatByName } from '../../src/isa/amdgpu/encoding/formats.ts';
import type { Instruction } from '../../src/isa/amdgpu/encoding/instruction.ts';
import { scalarText } from '../../src/isa/amdgpu/encoding/registers.ts';
import { targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { llvmDisassemble } from './llvm-mc.ts';

/**
 * Fields that make the encodings of a format valid: LLVM refuses operands that an instruction does not have.
 */
const SAMPLES: Readonly<Partial<Record<FormatName, readonly FieldValues[]>>> = {
  SOP1: [{ sdst: 16, ssrc0: 2 }, { sdst: 16 }, { ssrc0: 2 }, { sdst: 16, ssrc0: 131 }],
  SOP2: [
    { sdst: 16, ssrc0: 2, ssrc1: 4 },
    { ssrc0: 2, ssrc1: 4 },
  ],
  SOPC: [{ ssrc0: 2, ssrc1: 4 }],
  SOPK: [{ sdst: 16, simm16: 0x1801 }, { simm16: 0x1801 }],
  SOPP: [{ simm16: 1 }, {}],
  SMEM: [
    { sdata: 20, sbase: 2, offset: 14 },
    { sdata: 20, sbase: 2, imm: 1, offset: 14 },
    { sdata: 20, sbase: 2, imm: 1, offset: 14, soffset_en: 1, soffset: 18 },
    { sdata: 20, sbase: 2, soffset_en: 1, soffset: 18 },
    { sbase: 2, offset: 14 },
    { sdata: 20, sbase: 2, offset: 14, soffset: 18 },
    { sdata: 20, sbase: 2, offset: 14, soffset: 124 },
    { sdata: 20, sbase: 2, offset: 14, soffset: 125 },
    { soffset: 124 },
    { sdata: 20 },
    {},
  ],
};

const TARGETS = [
  { processor: 'gfx900', waveSize: 64 },
  { processor: 'gfx1010', waveSize: 32 },
  { processor: 'gfx906', waveSize: 64 },
  { processor: 'gfx908', waveSize: 64 },
  { processor: 'gfx90a', waveSize: 64 },
  { processor: 'gfx942', waveSize: 64 },
  { processor: 'gfx1030', waveSize: 32 },
  { processor: 'gfx1030', waveSize: 64 },
  { processor: 'gfx1100', waveSize: 32 },
  { processor: 'gfx1150', waveSize: 32 },
  { processor: 'gfx1200', waveSize: 32 },
  { processor: 'gfx1100', waveSize: 64 },
] as const;

/** Follows every SOPK: the literal of s_setreg_imm32_b32, no instruction for the others. */
const LITERAL = 0xffffffff;

/** Whether a format has the fields that a sample names. */
const isOf =
  ({ fields }: Format) =>
  (sample: FieldValues): boolean =>
    Object.keys(sample).every((name) => fields.some((field) => field.name === name));

function scalarRegisters(instruction: Instruction): (string | undefined)[] {
  return instruction.row.operands.flatMap((spec, index) => {
    const operand = instruction.operand(index);
    if (spec.file !== 'scalar' || operand.kind !== 'scalar' || operand.register > 101) return [];
    return [scalarText(operand.register, instruction.dwords(index), instruction.scalars)];
  });
}

for (const { processor, waveSize } of TARGETS) {
  for (const [name, samples] of Object.entries(SAMPLES)) {
    const format = formatByName(name as FormatName, targetFor(processor).families);
    const encodings = Array.from({ length: 2 ** format.opcode.width }, (_, opcode) => opcode)
      // The highest opcodes of SOP2 and SOPK are the other scalar formats.
      .filter((opcode) => !(name === 'SOP2' && opcode >= 0x60) && !(name === 'SOPK' && opcode >= 0x1d))
      .flatMap((opcode) => samples.filter(isOf(format)).map((sample) => encodeFields(format, opcode, sample)))
      .map((words) => (name === 'SOPK' ? [...words, LITERAL] : words));
    const texts = llvmDisassemble(encodings, processor, waveSize);

    test(`${processor} wave${waveSize} ${name}: every encoding that LLVM knows is decoded to its row and registers`, () => {
      let known = 0;
      encodings.forEach((words, i) => {
        const text = texts[i];
        if (text === undefined) return;
        known++;
        const code = new DataView(Uint32Array.from(words).buffer);
        const instruction = decoderFor(processor, waveSize).decode(code, 0);
        assert.ok(typeof instruction === 'object', `${text}: ${String(instruction)}`);
        const [mnemonic, ...operands] = text.split(/,? /);
        assert.equal(instruction.name, mnemonic);
        assert.deepEqual(
          scalarRegisters(instruction),
          operands.filter((operand) => /^s(\d|\[)/.test(operand)),
          text,
        );
      });
      assert.ok(known > 0);
    });

    test(`${processor} wave${waveSize} ${name}: every row is known to LLVM`, () => {
      const decoder = decoderFor(processor, waveSize);
      const decoded = encodings.flatMap((words, i) => {
        const instruction = decoder.decode(new DataView(Uint32Array.from(words).buffer), 0);
        return typeof instruction === 'object' ? [[instruction.name, texts[i]] as const] : [];
      });
      const confirmed = new Set(
        decoded.filter(([, text]) => text !== undefined).map(([instructionName]) => instructionName),
      );
      assert.deepEqual(
        decoded.filter(([instructionName]) => !confirmed.has(instructionName)),
        [],
      );
    });
  }
}
