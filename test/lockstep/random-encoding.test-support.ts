/** Encodings of a row with random operands. */
import type { Encoding } from '../../src/isa/amdgpu/decode.ts';
import type { Field, FormatName } from '../../src/isa/amdgpu/formats.ts';

export const MEMORY_FORMATS = new Set<FormatName>(['DS', 'FLAT', 'GLOBAL', 'SCRATCH', 'MUBUF', 'SMEM']);

const set = (words: number[], field: Field, value: number): void => {
  const word = field.low >> 5;
  words[word] = (words[word]! | (value << (field.low & 31))) >>> 0;
};

/** A random encoding: registers low enough for their width, legal constants, modifiers now and then. */
export function randomEncoding({ row, format, opcode }: Encoding, random: () => number): number[] {
  const words = new Array<number>(format.sizeBytes / 4).fill(0);
  words[0] = format.value;
  set(words, format.opcode, opcode);
  const memory = MEMORY_FORMATS.has(format.name);
  for (const field of format.fields) {
    const spec = row.operands.find((candidate) => candidate.field === field.name);
    const limit = 2 ** field.width;
    let value = 0;
    if (field.name === 'dpp_ctrl')
      value = [0x1b, 0x101, 0x111, 0x121, 0x130, 0x138, 0x140, 0x141, 0x142, 0x143, 0x150][random() % 11]!;
    else if (field.name === 'saddr') value = random() & 1 ? 0x7f : (random() % 40) * 2;
    else if (format.name === 'VOP3P_MAI' && /^src[01]$/.test(field.name)) value = 256 + (random() % 40) * 2;
    else if (field.width === 9)
      value = random() % 3 ? 256 + (random() % 40) * 2 : (random() % 40) * 2 + (random() % 4 === 0 ? 128 : 0);
    else if (/^(vdst|data\d?|vdata|vaddr|addr)$/.test(field.name)) value = (random() % 40) * 2;
    else if (/^(sdst|sdata|ssrc\d|soffset)$/.test(field.name)) value = (random() % 24) * 4;
    else if (field.name === 'sbase' || field.name === 'srsrc') value = random() % 8;
    else if (/^src\d$/.test(field.name)) value = (random() % 40) * 2;
    else if (spec?.type === 'label') value = 1;
    else if (/offset|simm/.test(field.name)) value = random() % (memory ? 64 : limit);
    else if (field.name === 'op_sel' && row.operands.every(({ type }) => !/16/.test(type))) value = 0;
    else if (/^(row_mask|bank_mask)$/.test(field.name)) value = random() & 1 ? 15 : random() & 15;
    else if (/^(src\d_sel|dst_sel)$/.test(field.name)) value = random() % 7;
    else if (field.name === 'dst_unused') value = random() % 3;
    else if (/^(lds|gds|nv|scc|soffset_en|acc)$/.test(field.name)) value = 0;
    else value = random() % 3 === 0 ? random() % limit : 0;
    set(words, field, value);
  }
  if (format.name.endsWith('_SDWA')) words[0] = (words[0]! | 249) >>> 0;
  if (format.name.endsWith('_DPP')) words[0] = (words[0]! | 250) >>> 0;
  if (row.operands.some(({ type }) => type === 'literal32')) words.push(random());
  return words;
}
