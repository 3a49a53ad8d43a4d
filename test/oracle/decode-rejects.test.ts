/**
 * What is an instruction and what is none, against LLVM's disassembler: plausible encodings with wrong bits,
 * and random words.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import type { Decoder } from '../../src/isa/amdgpu/encoding/decode.ts';
import { bytesOf } from '../../src/isa/amdgpu/encoding/encode.ts';
import { encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { isIdleSource } from '../../src/isa/amdgpu/encoding/fixed-bits.ts';
import { type Target, targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { formatInstruction } from '../../src/isa/amdgpu/text/disassemble.ts';
import { encodingSamples, type Random, random } from './encoding-samples.ts';
import { LLVM_ERRATA, LLVM_REFUSALS } from './llvm-errata.ts';
import { llvmTexts } from './llvm-mc.ts';

const CASE_COUNT = 200_000;
const RANDOM_COUNT = 60_000;
/** Per process of LLVM. */
const BATCH = 70_000;

/** Images are known by name only. */
const IMAGE = /^image_/;

/** LLVM 19 does not survive reserved selects of SDWA, in what follows the first instruction either. */
const isDeadly = (words: readonly number[]): boolean =>
  words.some((word, i) => {
    const next = words[i + 1];
    const isSdwa = next !== undefined && word < 2 ** 31 && (word & 0x1ff) === 249;
    return isSdwa && [8, 16, 24].some((shift) => ((next >>> shift) & 7) === 7);
  });

/** Encodings with up to two bits flipped; the bits of the format stay. */
function nearMisses(r: Random, seed: number, processor: string): number[][] {
  const target = targetFor(processor);
  const encodingCount = allRows().flatMap((row) => encodingsOf(row, target)).length;
  const samples = encodingSamples(Math.ceil((CASE_COUNT - RANDOM_COUNT) / encodingCount) + 5, seed, processor);
  return samples.map(({ encoding: { format }, words }) => {
    const changed = [...words];
    for (let flips = r(3); flips > 0; flips--) {
      const bit = r(format.sizeBytes * 8);
      if (bit < 32 && (format.mask >>> bit) & 1) continue;
      changed[bit >> 5] = (changed[bit >> 5]! ^ (1 << (bit & 31))) >>> 0;
    }
    return changed;
  });
}

/** LLVM 19 takes no instruction that has something in the fields of sources that it lacks. */
function withoutIdleSources(words: readonly number[], decoder: Decoder, target: Target): number[] {
  const instruction = decoder.decode(new DataView(bytesOf(words).buffer), 0);
  const changed = [...words];
  if (typeof instruction !== 'object') return changed;
  for (const field of instruction.format.fields) {
    const bits = (2 ** field.width - 1) << (field.low & 31);
    if (isIdleSource(field, instruction, target)) changed[field.low >> 5]! &= ~bits;
  }
  return changed.map((word) => word >>> 0);
}

const hex = (words: readonly number[]): string => words.map((word) => word.toString(16).padStart(8, '0')).join(' ');

for (const [processor, waveSize] of [
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1100', 32],
] as const) {
  test(`${processor}: ${CASE_COUNT} encodings are instructions here and in LLVM, or nowhere`, () => {
    const r = random(0x2e1ec7);
    const words = [
      ...nearMisses(r, 11, processor),
      ...Array.from({ length: RANDOM_COUNT }, () => Array.from({ length: 4 }, () => r(2 ** 32))),
    ].filter((each) => !isDeadly(each));
    const decoder = decoderFor(processor, waveSize);
    const target = targetFor(processor);
    const wrong: string[] = [];
    let [accepted, rejected] = [0, 0];
    for (let start = 0; start < words.length; start += BATCH) {
      const batch = words.slice(start, start + BATCH).map((each) => withoutIdleSources(each, decoder, target));
      for (const [i, theirs] of llvmTexts(batch, processor, waveSize).entries()) {
        const instruction = decoder.decode(new DataView(bytesOf(batch[i]!).buffer), 0);
        const ours = typeof instruction === 'object' ? formatInstruction(instruction) : undefined;
        // What follows the first instruction is another one.
        const expected = theirs?.split('; ')[0];
        const known = expected ?? ours;
        if (known === undefined) rejected++;
        // Operands that LLVM comments on: neither accepted nor refused.
        else if (IMAGE.test(known) || IMAGE.test(ours ?? '') || expected?.includes('/*')) continue;
        else if (ours === expected) accepted++;
        else if (!(expected === undefined ? LLVM_REFUSALS : LLVM_ERRATA).some(({ text }) => text.test(known)))
          wrong.push(`${hex(batch[i]!)}: ${ours}, expected ${expected}`);
      }
    }
    assert.deepEqual(wrong.slice(0, 20), []);
    assert.ok(words.length > CASE_COUNT, `${words.length} cases`);
    assert.ok(accepted > 70_000 && rejected > 60_000, `${accepted} accepted, ${rejected} rejected`);
  });
}
