/** Encodings of a row with random operands. */
import assert from 'node:assert/strict';
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import { bytesOf, encodeFields } from '../../src/isa/amdgpu/encoding/encode.ts';
import type { Encoding } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { fixedBits } from '../../src/isa/amdgpu/encoding/fixed-bits.ts';
import type { Field, FormatName } from '../../src/isa/amdgpu/encoding/formats.ts';
import type { Target } from '../../src/isa/amdgpu/encoding/targets.ts';

export const MEMORY_FORMATS = new Set<FormatName>(['DS', 'FLAT', 'GLOBAL', 'SCRATCH', 'MUBUF', 'SMEM']);

const DPP_CONTROLS = {
  gfx9: [0x1b, 0x101, 0x111, 0x121, 0x130, 0x138, 0x140, 0x141, 0x142, 0x143, 0x150],
  gfx10: [0x1b, 0xb1, 0x101, 0x111, 0x121, 0x12f, 0x140, 0x141, 0x150, 0x15f, 0x161, 0x16f],
};

const ATTEMPTS = 200;

/** A random encoding that is an instruction: modifiers now and then, where the decoder takes them. */
export function randomEncoding(encoding: Encoding, random: () => number, target: Target): number[] {
  const { masks, values } = fixedBits(encoding, target);
  const decoder = decoderFor(target.processor, target.waveSizes[0]!);
  for (let i = 0; i < ATTEMPTS; i++) {
    const words = anyEncoding(encoding, random, target);
    for (const [k, mask] of masks.entries()) words[k] = ((words[k]! & ~mask) | values[k]!) >>> 0;
    // A literal may follow that the words do not have.
    if (decoder.decode(new DataView(bytesOf(words).buffer), 0) !== 'unknown') return words;
  }
  assert.fail(`${encoding.row.name} has an encoding as ${encoding.format.name}`);
}

/** Registers low enough for their width, legal constants, modifiers. */
function anyEncoding({ row, format, opcode }: Encoding, random: () => number, target: Target): number[] {
  const isGfx9 = target.families.includes('gfx9');
  const memory = MEMORY_FORMATS.has(format.name);
  const vgpr = (): number => (random() % 40) * 2;
  const pickValue = (field: Field): number => {
    const { name, width } = field;
    const spec = row.operands.find((candidate) => candidate.field === name);
    const limit = 2 ** width;
    if (name === 'dpp_ctrl') {
      const controls = DPP_CONTROLS[isGfx9 ? 'gfx9' : 'gfx10'];
      return controls[random() % controls.length]!;
    }
    if (name === 'saddr') return random() & 1 ? target.scalars.none : vgpr();
    if (name === 'soffset' && format.name === 'SMEM' && !isGfx9) return random() & 1 ? target.scalars.none : vgpr();
    if (format.name === 'VOP3P_MAI' && /^src[01]$/.test(name)) return 256 + vgpr();
    if (width === 9) return random() % 3 ? 256 + vgpr() : vgpr() + (random() % 4 === 0 ? 128 : 0);
    if (/^(vdst[xy]?|vsrc[xy]1|data\d?|vdata|vaddr|addr)$/.test(name)) return vgpr();
    if (name === 'sdst' && target.scalars.null !== undefined && random() % 8 === 0) return target.scalars.null;
    if (/^(sdst|sdata|ssrc\d|soffset)$/.test(name)) return (random() % 24) * 4;
    if (name === 'sbase' || name === 'srsrc') return random() % 8;
    if (/^src\d$/.test(name)) return vgpr();
    if (spec?.type === 'label') return 1;
    if (/offset|simm/.test(name)) return random() % (memory ? 64 : limit);
    if (name === 'op_sel' && row.operands.every(({ type }) => !/16/.test(type))) return 0;
    if (/^(row_mask|bank_mask)$/.test(name)) return random() & 1 ? 15 : random() & 15;
    if (/^(src\d_sel|dst_sel)$/.test(name)) return random() % 7;
    if (name === 'dst_unused') return random() % 3;
    if (/^(lds|gds|tfe|nv|scc|soffset_en|acc)$/.test(name)) return 0;
    return random() % 3 === 0 ? random() % limit : 0;
  };
  const words = encodeFields(
    format,
    opcode,
    Object.fromEntries(format.fields.map((field) => [field.name, pickValue(field)])),
  );
  if (row.operands.some(({ type }) => type === 'literal32')) words.push(random());
  return words;
}
