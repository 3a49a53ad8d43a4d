/** Instructions of every row and target keep all but the registers that are changed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { bytesOf, reencode } from '../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../src/isa/amdgpu/encoding/encodings.ts';
import type { Instruction, Operand } from '../src/isa/amdgpu/encoding/instruction.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../src/isa/amdgpu/rows/index.ts';
import { formatInstruction } from '../src/isa/amdgpu/text/disassemble.ts';
import { randomGenerator } from './lockstep/lockstep.test-support.ts';
import { randomEncoding } from './lockstep/random-encoding.test-support.ts';

const TARGETS = ['gfx90a', 'gfx942', 'gfx1030', 'gfx1100', 'gfx1200'];
const ROUNDS = 3;

const withRegister = (operand: Operand, register: number | undefined): Operand =>
  register !== undefined && 'register' in operand ? { ...operand, register } : operand;

const operandsOf = (instruction: Instruction): readonly Operand[] =>
  instruction.row.operands.map((_, index) => instruction.operand(index));

/** The bits of the encoding that hold no number which was changed. */
function otherBits(instruction: Instruction, numbers: ReadonlyMap<number, number>): readonly number[] {
  const words = [...instruction.code];
  for (const index of numbers.keys()) {
    const { low, width } = instruction.located(instruction.row.operands[index]!.field)!;
    words[low >> 5]! &= ~((2 ** width - 1) << (low & 31));
  }
  return words;
}

/** Other numbers for some operands: multiples of 4, with the parity that a half of VOPD asks. */
function otherRegisters(instruction: Instruction, random: () => number): Map<number, number> {
  const numbers = new Map<number, number>();
  for (const [index, { field }] of instruction.row.operands.entries()) {
    if (instruction.access(index) === undefined || !instruction.located(field)) continue;
    const operand = instruction.operand(index);
    if (!('register' in operand) || random() % 3 === 0) continue;
    if (operand.kind === 'scalar' && (operand.register >= 96 || instruction.dwords(index) > 16)) continue;
    const isOddHalf = /^vdst[xy]$/.test(field);
    const room = instruction.namesHalf(index) ? 30 : operand.kind === 'scalar' ? 20 : 50;
    numbers.set(index, (random() % room) * 4 + (isOddHalf ? operand.register & 1 : 0));
  }
  return numbers;
}

function check(encoding: Encoding, processor: string, random: () => number): boolean {
  const target = targetFor(processor);
  const decoder = decoderFor(processor, target.waveSizes[0]!);
  const decode = (words: readonly number[]) => decoder.decode(new DataView(bytesOf([...words, 77]).buffer), 0);
  const before = decode(randomEncoding(encoding, random, target));
  assert.ok(typeof before !== 'string', encoding.name);
  const numbers = otherRegisters(before, random);
  const changed = reencode(before, numbers);
  const text = formatInstruction(before);
  assert.ok(changed, `${processor}: ${text} has room for ${[...numbers]}`);
  const after = decode([...changed.code, ...(changed.literal === undefined ? [] : [changed.literal])]);
  assert.ok(typeof after !== 'string', `${processor}: ${text} with ${[...numbers]} is an instruction`);
  assert.equal(after.row, before.row);
  assert.equal(after.format, before.format);
  const expected = operandsOf(before).map((operand, index) => withRegister(operand, numbers.get(index)));
  assert.deepEqual(operandsOf(after), expected, `${processor}: ${text} with ${[...numbers]}`);
  assert.deepEqual(otherBits(after, numbers), otherBits(before, numbers), `${processor}: ${text}`);
  return numbers.size > 0;
}

for (const processor of TARGETS) {
  test(`registers of instructions of ${processor} are replaced, and nothing else changes`, () => {
    const random = randomGenerator(7);
    const encodings = allRows().flatMap((row) => encodingsOf(row, targetFor(processor)));
    let changed = 0;
    for (const encoding of encodings) {
      for (let round = 0; round < ROUNDS; round++) changed += Number(check(encoding, processor, random));
    }
    assert.ok(changed > encodings.length, `${changed} instructions had other registers`);
  });
}
