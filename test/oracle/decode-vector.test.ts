/** The opcodes and registers of the vector formats against LLVM's disassembler. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Decoder } from '../../src/isa/amdgpu/encoding/decode.ts';
import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encoding/encode.ts';
import { type Format, type FormatName, formatByName, generationOf } from '../../src/isa/amdgpu/encoding/formats.ts';
import type { Instruction } from '../../src/isa/amdgpu/encoding/instruction.ts';
import { scalarText, vgprText } from '../../src/isa/amdgpu/encoding/registers.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { rowsOf } from '../../src/isa/amdgpu/rows/index.ts';
import { llvmDisassemble } from './llvm-mc.ts';

const v = (register: number): number => 256 + register;
const DWORDS: FieldValues = { src0_sel: 6, dst_sel: 6 };
const LANES: FieldValues = { bank_mask: 15, row_mask: 15 };
const ROW_NEW_BROADCAST = 0x150;

/**
 * Fields that make the encodings of a format valid: LLVM refuses operands that an instruction does not have.
 */
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
  VOP1_DPP: [
    { vdst: 2, src0: 4, dpp_ctrl: ROW_NEW_BROADCAST, ...LANES },
    { vdst: 2, src0: 4, ...LANES },
  ],
  VOP2_DPP: [
    { vdst: 2, src0: 4, src1: 6, dpp_ctrl: ROW_NEW_BROADCAST, ...LANES },
    { vdst: 2, src0: 4, src1: 6, ...LANES },
  ],
  VOPC_DPP: [{ src0: 4, src1: 6, ...LANES }],
  VOP3_DPP: [
    { vdst: 2, src0: 4, src1: v(6), src2: v(8), ...LANES },
    { vdst: 2, src0: 4, src1: v(6), src2: 10, ...LANES },
    { vdst: 2, src0: 4, src1: v(6), ...LANES },
    { vdst: 2, src0: 4, ...LANES },
  ],
  VOP3P_DPP: [{ vdst: 2, src0: 4, src1: v(6), src2: v(8), op_sel_hi: 3, op_sel_hi_2: 1, ...LANES }],
  VOP1_DPP8: [{ vdst: 2, src0: 4, dpp8: 0xfac688 }],
  VOP2_DPP8: [{ vdst: 2, src0: 4, src1: 6, dpp8: 0xfac688, fi: 1 }],
  VOPC_DPP8: [{ src0: 4, src1: 6, dpp8: 0xfac688 }],
  VOP3_DPP8: [
    { vdst: 2, src0: 4, src1: v(6), src2: v(8), dpp8: 0xfac688 },
    { vdst: 2, src0: 4, src1: v(6), src2: 10, dpp8: 0xfac688 },
    { vdst: 2, src0: 4, src1: v(6), dpp8: 0xfac688, fi: 1 },
    { vdst: 2, src0: 4, dpp8: 0xfac688 },
  ],
  VOP3P_DPP8: [{ vdst: 2, src0: 4, src1: v(6), src2: v(8), op_sel_hi: 3, op_sel_hi_2: 1, dpp8: 0xfac688 }],
  VOPD: [
    { vdstx: 2, srcx0: v(4), vsrcx1: 6, vdsty: 3, srcy0: v(5), vsrcy1: 9 },
    { vdstx: 3, srcx0: v(4), vdsty: 4, srcy0: v(5), vsrcy1: 9 },
    { vdstx: 2, srcx0: v(4), vsrcx1: 6, vdsty: 3, srcy0: v(5) },
    { vdstx: 2, srcx0: v(4), vdsty: 3, srcy0: v(5) },
  ],
  VINTERP: [{ vdst: 2, src0: v(4), src1: v(6), src2: v(8) }],
};

/** Interpolation before gfx11, of graphics, has no rows. */
const ABSENT = /^v_interp_(p1|p2|mov)/;

const TARGETS: readonly { readonly target: Target; readonly waveSize: 32 | 64 }[] = [
  ...['gfx900', 'gfx904', 'gfx906', 'gfx908', 'gfx90a', 'gfx942', 'gfx9-generic'].map(
    (processor) => ({ target: targetFor(processor), waveSize: 64 }) as const,
  ),
  ...['gfx1010', 'gfx1012', 'gfx1030', 'gfx1100', 'gfx1150', 'gfx1200'].map(
    (processor) => ({ target: targetFor(processor), waveSize: 32 }) as const,
  ),
  { target: targetFor('gfx1030'), waveSize: 64 },
  { target: targetFor('gfx1100'), waveSize: 64 },
];

/**
 * Opcodes of VOP2 that are followed by a literal, v_madmk and the like; nothing else may follow the 32-bit
 * formats here.
 */
const WITH_LITERAL = { gfx9: [23, 24, 36, 37], later: [44, 45, 55, 56] } as const;
const LITERAL = 0x12345678;

const REGISTER = /^(v|a|s)(\d|\[)|^vcc(_lo)?$/;
const MNEMONIC_SUFFIX = /_(e32|e64|sdwa|dpp|e64_dpp)$/;
const isOf =
  ({ fields }: Format) =>
  (sample: FieldValues): boolean =>
    Object.keys(sample).every((name) => fields.some((field) => field.name === name));

function registers(instruction: Instruction): (string | undefined)[] {
  return instruction.row.operands.flatMap((spec, index) => {
    const operand = instruction.operand(index);
    const dwords = instruction.dwords(index);
    // VOPD does not mention VCC.
    if (instruction.row.halves && spec.type === 'mask') return [];
    if (operand.kind === 'vector') {
      const half = instruction.row.flags.spellsHalves ? '.l' : '';
      return [vgprText(operand.register, dwords, operand.accumulator) + half];
    }
    return operand.kind === 'scalar' ? [scalarText(operand.register, dwords, instruction.scalars)] : [];
  });
}

for (const { target, waveSize } of TARGETS) {
  const { processor, families } = target;
  const decoder = new Decoder(target, waveSize, rowsOf);
  const { primary, extended, vop3Base } = generationOf(families);
  const ofTarget = Object.entries(SAMPLES).filter(
    ([name]) =>
      [...primary, ...extended].some((format) => format.name === name) &&
      (name !== 'VOPD' || waveSize === 32) &&
      (name !== 'VOP3P_MAI' || families.includes('gfx908')),
  );
  for (const [name, samples] of ofTarget) {
    const format = formatByName(name as FormatName, families);
    const title = `${processor} wave${waveSize} ${name}`;
    const isFirst = vop3Base.VOP1 === 0x140;
    const isBefore11 = !families.includes('gfx11');
    const literals: readonly number[] = isFirst ? WITH_LITERAL.gfx9 : WITH_LITERAL.later;
    // v_fmaak and v_fmamk are 1 and 2 in both halves of VOPD.
    const takesLiteral = (opcode: number): boolean =>
      name === 'VOP2'
        ? literals.includes(opcode)
        : name === 'VOPD' && [opcode >> 5, opcode & 31].some((half) => half === 1 || half === 2);
    const encodings = Array.from({ length: 2 ** format.opcode.width }, (_, opcode) => opcode)
      // The highest opcodes of VOP2 are VOP1 and VOPC, those of VOP3 are VOP3P.
      .filter((opcode) => !(name.startsWith('VOP2') && opcode >= 62) && !(name === 'VOP3' && isFirst && opcode >= 896))
      // Matrix instructions have their own fields.
      .filter((opcode) => (name === 'VOP3P' && isFirst ? opcode < 62 || opcode === 88 || opcode === 89 : true))
      .filter((opcode) => (name === 'VOP3P_MAI' ? opcode >= 62 && opcode !== 88 && opcode !== 89 : true))
      .flatMap((opcode) =>
        samples.filter(isOf(format)).map((sample) => {
          const words = encodeFields(format, opcode, sample);
          return takesLiteral(opcode) ? [...words, LITERAL] : words;
        }),
      );
    const texts = llvmDisassemble(encodings, processor, waveSize).map((text) =>
      text === undefined || text.includes('/*Invalid') || (isBefore11 && ABSENT.test(text)) ? undefined : text,
    );
    const decode = (words: readonly number[]) => decoder.decode(new DataView(Uint32Array.from(words).buffer), 0);

    test(`${title}: every encoding that LLVM knows is decoded to its row and registers`, () => {
      let known = 0;
      encodings.forEach((words, i) => {
        const text = texts[i];
        if (text === undefined) return;
        known++;
        const instruction = decode(words);
        assert.ok(typeof instruction === 'object', `${text}: ${String(instruction)}`);
        const [mnemonic, ...operands] = text.split(/,? +/);
        assert.equal(instruction.name.split(' ')[0], mnemonic!.replace(MNEMONIC_SUFFIX, ''));
        assert.deepEqual(
          registers(instruction),
          operands.filter((operand) => REGISTER.test(operand)),
          text,
        );
      });
      assert.ok(known > 0);
    });

    test(`${title}: every row is known to LLVM`, () => {
      const decoded = encodings.flatMap((words, i) => {
        const instruction = decode(words);
        return typeof instruction === 'object' ? [[instruction.name, texts[i]] as const] : [];
      });
      const confirmed = new Set(decoded.filter(([, text]) => text !== undefined).map(([rowName]) => rowName));
      assert.deepEqual(
        [...new Set(decoded.map(([rowName]) => rowName))].filter((rowName) => !confirmed.has(rowName)),
        [],
      );
    });
  }
}
