/** The opcodes and registers of the vector formats against LLVM's disassembler. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoderFor } from '../../src/isa/amdgpu/decode.ts';
import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encode.test-support.ts';
import { type FormatName, formatByName } from '../../src/isa/amdgpu/formats.ts';
import type { Instruction } from '../../src/isa/amdgpu/instruction.ts';
import { scalarText, vgprText } from '../../src/isa/amdgpu/registers.ts';
import { targetFor } from '../../src/isa/amdgpu/targets.ts';
import { llvmDisassemble } from './llvm-mc.ts';

const v = (register: number): number => 256 + register;
const DWORDS: FieldValues = { src0_sel: 6, dst_sel: 6 };
const LANES: FieldValues = { bank_mask: 15, row_mask: 15 };
const ROW_NEW_BROADCAST = 0x150;

/** Fields that make the encodings of a format valid: LLVM refuses operands that an instruction does not have. */
const SAMPLES: Readonly<Partial<Record<FormatName, readonly FieldValues[]>>> = {
  VOP1: [{ vdst: 2, src0: v(4) }, { vdst: 2, src0: 8 }, {}],
  VOP2: [
    { vdst: 2, src0: v(4), src1: 6 },
    { vdst: 2, src0: 8, src1: 6 },
  ],
  VOPC: [{ src0: v(4), src1: 6 }],
  VOP3: [
    { vdst: 2, src0: v(4), src1: v(6), src2: v(8) },
    { vdst: 2, src0: v(4), src1: v(6), src2: 10 },
    { vdst: 2, src0: v(4), src1: v(6) },
    { vdst: 2, src0: v(4) },
    { vdst: 2, src0: 4, src1: 6 },
    { vdst: 2, src0: v(4), src1: 6 },
    {},
  ],
  VOP3P: [
    { vdst: 2, src0: v(4), src1: v(6), src2: v(8), op_sel_hi: 3, op_sel_hi_2: 1 },
    { vdst: 2, src0: v(4), src1: v(6), op_sel_hi: 3, op_sel_hi_2: 1 },
    { vdst: 2, src0: v(4), op_sel_hi: 3, op_sel_hi_2: 1 },
  ],
  VOP3P_MAI: [
    { vdst: 2, src0: v(4), src1: v(6), src2: v(2) },
    { vdst: 2, src0: v(4), src1: v(6), src2: v(2), acc_ab: 1 },
    { vdst: 2, src0: v(4), src1: v(6), src2: v(2), acc_ab: 2, acc_cd: 1 },
  ],
  VOP1_SDWA: [{ vdst: 2, src0: 4, ...DWORDS }],
  VOP2_SDWA: [{ vdst: 2, src0: 4, src1: 6, src1_sel: 6, ...DWORDS }],
  VOPC_SDWA: [
    { src0: 4, src1: 6, src0_sel: 6, src1_sel: 6 },
    { sdst_en: 1, sdst: 10, src0: 4, src1: 6, src0_sel: 6, src1_sel: 6 },
  ],
  VOP1_DPP: [{ vdst: 2, src0: 4, dpp_ctrl: ROW_NEW_BROADCAST, ...LANES }],
  VOP2_DPP: [{ vdst: 2, src0: 4, src1: 6, dpp_ctrl: ROW_NEW_BROADCAST, ...LANES }],
};

/** v_madmk and v_madak are followed by a literal; nothing else may follow the 32-bit formats here. */
const WITH_LITERAL = [23, 24, 36, 37];
const LITERAL = 0x12345678;

const REGISTER = /^(v|a|s)(\d|\[)|^vcc$/;
const MNEMONIC_SUFFIX = /_(e32|e64|sdwa|dpp)$/;

function registers(instruction: Instruction): (string | undefined)[] {
  return instruction.row.operands.flatMap((_, index) => {
    const operand = instruction.operand(index);
    const dwords = instruction.dwords(index);
    if (operand.kind === 'vector') return [vgprText(operand.register, dwords, operand.accumulator)];
    return operand.kind === 'scalar' ? [scalarText(operand.register, dwords)] : [];
  });
}

for (const processor of ['gfx90a', 'gfx942']) {
  for (const [name, samples] of Object.entries(SAMPLES)) {
    const format = formatByName(name as FormatName, targetFor(processor).families);
    const primary = name.slice(0, 4);
    const encodings = Array.from({ length: 2 ** format.opcode.width }, (_, opcode) => opcode)
      // The highest opcodes of VOP2 are VOP1 and VOPC, those of VOP3 are VOP3P.
      .filter((opcode) => !(primary === 'VOP2' && opcode >= 62) && !(name === 'VOP3' && opcode >= 896))
      // Matrix instructions have their own fields.
      .filter((opcode) => (name === 'VOP3P' ? opcode < 62 || opcode === 88 || opcode === 89 : true))
      .filter((opcode) => (name === 'VOP3P_MAI' ? opcode >= 62 && opcode !== 88 && opcode !== 89 : true))
      .flatMap((opcode) =>
        samples.map((sample) => {
          const words = encodeFields(format, opcode, sample);
          if (format.sizeBytes === 8) return words;
          return name === 'VOP2' && WITH_LITERAL.includes(opcode) ? [words[0], LITERAL] : [words[0]];
        }),
      );
    const texts = llvmDisassemble(encodings, processor).map((text) => (text?.includes('/*Invalid') ? undefined : text));
    const decode = (words: readonly number[]) =>
      decoderFor(processor, 64).decode(new DataView(Uint32Array.from(words).buffer), 0);

    test(`${processor} ${name}: every encoding that LLVM knows is decoded to its row and registers`, () => {
      let known = 0;
      encodings.forEach((words, i) => {
        const text = texts[i];
        if (text === undefined) return;
        known++;
        const instruction = decode(words);
        assert.ok(typeof instruction === 'object', `${text}: ${String(instruction)}`);
        const [mnemonic, ...operands] = text.split(/,? +/);
        assert.equal(instruction.row.name, mnemonic!.replace(MNEMONIC_SUFFIX, ''));
        assert.deepEqual(
          registers(instruction),
          operands.filter((operand) => REGISTER.test(operand)),
          text,
        );
      });
      assert.ok(known > 0);
    });

    test(`${processor} ${name}: every row is known to LLVM`, () => {
      const decoded = encodings.flatMap((words, i) => {
        const instruction = decode(words);
        return typeof instruction === 'object' ? [[instruction.row.name, texts[i]] as const] : [];
      });
      const confirmed = new Set(decoded.filter(([, text]) => text !== undefined).map(([rowName]) => rowName));
      assert.deepEqual(
        [...new Set(decoded.map(([rowName]) => rowName))].filter((rowName) => !confirmed.has(rowName)),
        [],
      );
    });
  }
}
