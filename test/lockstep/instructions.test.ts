/** Every row with semantics, in each of its encodings, from random states: the handlers do what the reference executor does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../src/base/errors.ts';
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/decode.ts';
import type { Field, FormatName } from '../../src/isa/amdgpu/formats.ts';
import { ROWS } from '../../src/isa/amdgpu/instructions/index.ts';
import { targetFor } from '../../src/isa/amdgpu/targets.ts';
import { difference, type Fill, Lockstep, randomGenerator } from './lockstep.test-support.ts';

const STATES_PER_ENCODING = 6;
const DEFAULT_MODE = 0x3f0;
/** f32 denormals flushed, as gfx11's vectors and OpenCL's -cl-denorms-are-zero have it. */
const MODES = [DEFAULT_MODE, DEFAULT_MODE, DEFAULT_MODE, 0x3c0, 0x0f0];
const FILLS: Fill[] = ['interesting', 'random', 'small', 'pointers'];
const MEMORY_FILLS: Fill[] = ['contiguous', 'broadcast', 'pointers', 'small', 'random', 'contiguous'];
const EXECS = [-1n, 0x0ffffff0ffff0001n, 0x8000000000000000n, 0n, 0x5a5a5a5af0f0ffffn];
const MEMORY_FORMATS = new Set<FormatName>(['DS', 'FLAT', 'GLOBAL', 'SCRATCH', 'MUBUF', 'SMEM']);

const set = (words: number[], field: Field, value: number): void => {
  const word = field.low >> 5;
  words[word] = (words[word]! | (value << (field.low & 31))) >>> 0;
};

/** A random encoding: registers low enough for their width, legal constants, modifiers now and then. */
function randomEncoding({ row, format, opcode }: Encoding, random: () => number): number[] {
  const words = new Array<number>(format.sizeBytes / 4).fill(0);
  words[0] = format.value;
  set(words, format.opcode, opcode);
  const memory = MEMORY_FORMATS.has(format.name);
  for (const field of format.fields) {
    const spec = row.operands.find((candidate) => candidate.field === field.name);
    const limit = 2 ** field.width;
    let value = 0;
    if (field.name === 'saddr') value = random() & 1 ? 0x7f : (random() % 40) * 2;
    else if (field.width === 9)
      value = random() % 3 ? 256 + (random() % 40) * 2 : (random() % 40) * 2 + (random() % 4 === 0 ? 128 : 0);
    else if (/^(vdst|data\d?|vdata|vaddr|addr)$/.test(field.name)) value = (random() % 40) * 2;
    else if (/^(sdst|sdata|ssrc\d|soffset)$/.test(field.name)) value = (random() % 24) * 4;
    else if (field.name === 'sbase' || field.name === 'srsrc') value = random() % 8;
    else if (/^src\d$/.test(field.name)) value = (random() % 40) * 2;
    else if (spec?.type === 'label') value = 1;
    else if (/offset|simm/.test(field.name)) value = random() % (memory ? 64 : limit);
    else if (field.name === 'op_sel' && row.operands.every(({ type }) => !/16/.test(type))) value = 0;
    else if (/^(dpp_ctrl)$/.test(field.name))
      value = [0x1b, 0x101, 0x111, 0x121, 0x130, 0x138, 0x140, 0x141, 0x142, 0x143, 0x150][random() % 11]!;
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

for (const processor of ['gfx90a', 'gfx942']) {
  const target = targetFor(processor);
  const lockstep = new Lockstep(processor);
  const byFormat = Map.groupBy(
    // Jumps leave the handlers for the scheduler, which the reference does at once: whole programs cover them.
    ROWS.filter((row) => row.semantics && row.flags.terminator !== 'jump').flatMap((row) => encodingsOf(row, target)),
    ({ format }) => format.name,
  );
  for (const [name, encodings] of byFormat) {
    test(`${processor} ${name}: handlers and reference agree`, () => {
      const random = randomGenerator(0xc0ffee ^ name.length);
      for (const encoding of encodings) {
        for (let i = 0; i < STATES_PER_ENCODING; i++) {
          const words = randomEncoding(encoding, random);
          const mode = MODES[random() % MODES.length]!;
          const text = `${encoding.row.name} ${name} [${words.map((word) => word.toString(16).padStart(8, '0'))}] mode ${mode.toString(16)}`;
          const record = lockstep.place(words, mode);
          const fills = MEMORY_FORMATS.has(name) ? MEMORY_FILLS : FILLS;
          const fill = fills[i % fills.length]!;
          // Where two stores of one instruction overlap, which lane's comes last is open: one lane only.
          const exec = /write2|wrxchg2|buffer_store/.test(encoding.row.name) ? 0x10n : EXECS[i % EXECS.length]!;
          lockstep.randomize(random, fill, BigInt.asUintN(64, exec), mode, name === 'DS' ? 'lds' : 'global');
          try {
            const found = difference(lockstep.run(record, 'handlers'), lockstep.run(record, 'reference'));
            assert.equal(found, undefined, `${text}, ${fill}: ${found}`);
          } catch (error) {
            if (error instanceof WavewrightError) assert.fail(`${text}: ${error.stack}`);
            throw error;
          }
        }
      }
    });
  }
}
