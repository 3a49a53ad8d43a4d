/** Text of instructions against LLVM's disassembler: the checked-in code objects, samples of every encoding, immediates, random words. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { decoderFor } from '../../src/isa/amdgpu/decode.ts';
import { formatInstruction } from '../../src/isa/amdgpu/disassemble.ts';
import { encode } from '../../src/isa/amdgpu/encode.test-support.ts';
import type { Instruction } from '../../src/isa/amdgpu/instruction.ts';
import { encodingSamples, random } from './encoding-samples.ts';
import { llvmDisassemble } from './llvm-mc.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

function decode(words: readonly number[], processor: string): Instruction | string {
  const code = new DataView(new ArrayBuffer(words.length * 4));
  words.forEach((word, i) => {
    code.setUint32(i * 4, word, true);
  });
  return decoderFor(processor, 64).decode(code, 0);
}

const textOf = (words: readonly number[], processor: string): string => {
  const instruction = decode(words, processor);
  return typeof instruction === 'string' ? `<${instruction}>` : formatInstruction(instruction);
};

const hexWords = (words: readonly number[]): string =>
  words.map((word) => word.toString(16).padStart(8, '0')).join(' ');

interface Comparison {
  /** Encodings that LLVM knows. */
  accepted: number;
  /** Of these, the ones that we print otherwise. */
  readonly differences: string[];
}

/** `known` says which of the texts of LLVM to compare with. */
function compare(
  processor: string,
  encodings: readonly (readonly number[])[],
  known: (text: string) => boolean = () => true,
): Comparison {
  const texts = llvmDisassemble(encodings, processor);
  const result: Comparison = { accepted: 0, differences: [] };
  encodings.forEach((words, i) => {
    // Words that follow an instruction of 4 bytes are another instruction.
    const ours = textOf(words, processor);
    const instruction = decode(words, processor);
    const isShort = typeof instruction === 'object' && instruction.sizeBytes < words.length * 4;
    const theirs = isShort ? texts[i]?.split('; ')[0] : texts[i];
    if (theirs === undefined || !known(theirs)) return;
    result.accepted++;
    if (ours !== theirs) result.differences.push(`${hexWords(words)}: ${ours}, expected ${theirs}`);
  });
  return result;
}

/** Formats without rows: typed buffers and images. */
const ABSENT = /^(tbuffer|image)_/;
/** LLVM 19 does not survive reserved selects in these; the samples cover the others. */
const isSdwa = (first: number): boolean => first < 2 ** 31 && (first & 0x1ff) === 249;

for (const processor of ['gfx90a', 'gfx942']) {
  const codeObjects = globSync([`examples/**/*.${processor}.co`, `test/data/codeobjects/*.${processor}.*co`], {
    cwd: ROOT,
  });

  test(`${processor} code objects: every instruction, as llvm-objdump prints it`, () => {
    let count = 0;
    const differences: string[] = [];
    for (const file of codeObjects) {
      const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
      const listing = execFileSync('llvm-objdump-19', ['--disassemble', file], options);
      for (const [, text, address, bytes] of listing.matchAll(/^\t(.+?)\s+\/\/ ([0-9A-F]+): ([0-9A-F ]+)/gm)) {
        count++;
        const ours = textOf(
          bytes!
            .trim()
            .split(' ')
            .map((word) => Number.parseInt(word, 16)),
          processor,
        );
        if (ours !== text) differences.push(`${file} ${address}: ${ours}, expected ${text}`);
      }
    }
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(
      count > (processor === 'gfx90a' ? 10_000 : 3_000),
      `${count} instructions in ${codeObjects.length} files`,
    );
  });

  test(`${processor} samples of every encoding of every instruction`, () => {
    const samples = encodingSamples(24, 1, processor);
    const { accepted, differences } = compare(
      processor,
      samples.map(({ words }) => words),
    );
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > 15_000 && accepted > samples.length / 3, `${accepted} of ${samples.length} accepted`);
  });

  test(`${processor} immediates that are spelled: counters, messages, registers, index modes, lane patterns`, () => {
    const r = random(2);
    const values = [...Array.from({ length: 1024 }, (_, i) => i), ...Array.from({ length: 1024 }, () => r(65536))];
    const names = [
      's_waitcnt',
      's_sendmsg',
      's_sendmsghalt',
      's_set_gpr_idx_mode',
      's_endpgm',
      's_nop',
      's_sleep',
      's_trap',
    ];
    const encodings = [
      ...names.flatMap((name) => values.map((simm16) => encode(name, { simm16 }, undefined, processor))),
      ...['s_getreg_b32', 's_setreg_b32'].flatMap((name) =>
        values.map((simm16) => encode(name, { simm16, sdst: 5 }, undefined, processor)),
      ),
      ...values.map((simm16) => [...encode('s_setreg_imm32_b32', { simm16 }, undefined, processor), simm16]),
      ...Array.from({ length: 256 }, (_, ssrc1) =>
        encode('s_set_gpr_idx_on', { ssrc0: 3, ssrc1 }, undefined, processor),
      ),
      ...Array.from({ length: 65536 / 16 }, (_, i) => i * 16 + r(16)).map((offset) =>
        encode('ds_swizzle_b32', { vdst: 1, addr: 2, offset }, undefined, processor),
      ),
    ];
    const { accepted, differences } = compare(processor, encodings);
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > encodings.length * 0.9, `${accepted} of ${encodings.length} accepted`);
  });

  test(`${processor} random words`, () => {
    const r = random(3);
    const words = Array.from({ length: 20_000 }, () => [r(2 ** 32), r(2 ** 32)]).filter(([first]) => !isSdwa(first!));
    const { accepted, differences } = compare(processor, words, (text) => !ABSENT.test(text));
    assert.deepEqual(differences.slice(0, 20), []);
    assert.ok(accepted > words.length / 2, `${accepted} of ${words.length} accepted`);
  });
}
