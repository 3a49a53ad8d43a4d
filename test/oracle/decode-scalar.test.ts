/** The opcodes and registers of the scalar formats against LLVM's disassembler. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoderFor } from '../../src/isa/amdgpu/decode.ts';
import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encode.test-support.ts';
import { type FormatName, formatByName } from '../../src/isa/amdgpu/formats.ts';
import type { Instruction } from '../../src/isa/amdgpu/instruction.ts';
import { scalarText } from '../../src/isa/amdgpu/registers.ts';
import { targetFor } from '../../src/isa/amdgpu/targets.ts';
import { llvmDisassemble } from './llvm-mc.ts';

/** Fields that make the encodings of a format valid: LLVM refuses operands that an instruction does not have. */
const SAMPLES: Readonly<Partial<Record<FormatName, readonly FieldValues[]>>> = {
  SOP1: [{ sdst: 16, ssrc0: 2 }, { sdst: 16 }, { ssrc0: 2 }],
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
    { sdata: 20 },
    {},
  ],
};

/** Follows every SOPK: the literal of s_setreg_imm32_b32, no instruction for the others. */
const LITERAL = 0xffffffff;

function scalarRegisters(instruction: Instruction): (string | undefined)[] {
  return instruction.row.operands.flatMap((spec, index) => {
    const operand = instruction.operand(index);
    if (spec.file !== 'scalar' || operand.kind !== 'scalar') return [];
    return [scalarText(operand.register, instruction.dwords(index))];
  });
}

for (const processor of ['gfx90a', 'gfx942']) {
  for (const [name, samples] of Object.entries(SAMPLES)) {
    const format = formatByName(name as FormatName, targetFor(processor).families);
    const encodings = Array.from({ length: 2 ** format.opcode.width }, (_, opcode) => opcode)
      // The highest opcodes of SOP2 and SOPK are the other scalar formats.
      .filter((opcode) => !(name === 'SOP2' && opcode >= 0x60) && !(name === 'SOPK' && opcode >= 0x1d))
      .flatMap((opcode) => samples.map((sample) => encodeFields(format, opcode, sample)))
      .map(([first, second]) =>
        format.sizeBytes === 8 ? [first, second] : name === 'SOPK' ? [first, LITERAL] : [first],
      );
    const texts = llvmDisassemble(encodings, processor);

    test(`${processor} ${name}: every encoding that LLVM knows is decoded to its row and registers`, () => {
      let known = 0;
      encodings.forEach((words, i) => {
        const text = texts[i];
        if (text === undefined) return;
        known++;
        const code = new DataView(Uint32Array.from(words).buffer);
        const instruction = decoderFor(processor, 64).decode(code, 0);
        assert.ok(typeof instruction === 'object', `${text}: ${String(instruction)}`);
        const [mnemonic, ...operands] = text.split(/,? /);
        assert.equal(instruction.row.name, mnemonic);
        assert.deepEqual(
          scalarRegisters(instruction),
          operands.filter((operand) => /^s(\d|\[)/.test(operand)),
          text,
        );
      });
      assert.ok(known > 0);
    });

    test(`${processor} ${name}: every row is known to LLVM`, () => {
      const decoder = decoderFor(processor, 64);
      const decoded = encodings.flatMap((words, i) => {
        const instruction = decoder.decode(new DataView(Uint32Array.from(words).buffer), 0);
        return typeof instruction === 'object' ? [[instruction.row.name, texts[i]] as const] : [];
      });
      const confirmed = new Set(decoded.filter(([, text]) => text !== undefined).map(([rowName]) => rowName));
      assert.deepEqual(
        decoded.filter(([rowName]) => !confirmed.has(rowName)),
        [],
      );
    });
  }
}
