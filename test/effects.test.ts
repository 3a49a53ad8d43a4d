/**
 * Effects of every row, in each of its encodings, contain what its meaning touches, and what running it
 * changes and depends on: from states that differ only in what an instruction does not read, it changes what
 * it writes to the same values, and nothing else.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATE_OFFSETS, WAVE_VGPRS } from '../src/emulator/machine/layout.ts';
import type { Effects, RegisterFile, RegisterRange } from '../src/ir/effects.ts';
import type { StateSlot, Value } from '../src/ir/types.ts';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { effectsOf } from '../src/isa/amdgpu/effects/effects.ts';
import { meaningOf } from '../src/isa/amdgpu/effects/meaning.ts';
import { bytesOf } from '../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../src/isa/amdgpu/encoding/encodings.ts';
import type { Instruction } from '../src/isa/amdgpu/encoding/instruction.ts';
import { SGPR_EXEC_LO, SGPR_M0, SGPR_VCC_LO } from '../src/isa/amdgpu/encoding/registers.ts';
import { type Target, targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../src/isa/amdgpu/rows/index.ts';
import { MODE_GPR_INDEX } from '../src/isa/amdgpu/semantics/gpr-index.ts';
import { AmdgpuStepReader } from '../src/isa/amdgpu/step.ts';
import { formatInstruction } from '../src/isa/amdgpu/text/disassemble.ts';
import { type Fill, Lockstep, type Outcome, randomGenerator } from './lockstep/lockstep.test-support.ts';
import { MEMORY_FORMATS, randomEncoding } from './lockstep/random-encoding.test-support.ts';
import { sampled } from './scale.ts';

/**
 * Of the targets with a family the rows of that family are run; the others are run elsewhere. Each encoding
 * of gfx1100 is run in waves of one size.
 */
const TARGETS = [
  { processor: 'gfx908', waveSize: 64, family: 'gfx908', step: 1, turn: 0 },
  { processor: 'gfx90a', waveSize: 64, family: undefined, step: 1, turn: 0 },
  { processor: 'gfx942', waveSize: 64, family: 'gfx940', step: 1, turn: 0 },
  { processor: 'gfx1030', waveSize: 32, family: 'gfx10', step: 1, turn: 0 },
  { processor: 'gfx1100', waveSize: 32, family: undefined, step: 2, turn: 0 },
  { processor: 'gfx1100', waveSize: 64, family: undefined, step: 2, turn: 1 },
  { processor: 'gfx1200', waveSize: 32, family: 'gfx12', step: 1, turn: 0 },
] as const;
const DEFAULT_MODE = 0x3f0;
const FILLS: readonly Fill[] = ['interesting', 'random', 'small'];
const MEMORY_FILLS: readonly Fill[] = ['contiguous', 'broadcast', 'pointers'];
const EXECS = [-1n, 0x0ffffff0ffff0001n, 0x8000000000000000n, 0x5a5a5a5af0f0ffffn];
const VGPRS = 256;

const encodingsFor = (target: Target, waveSize: 32 | 64): Encoding[] =>
  // RDNA3 ISA 7.6: in waves of 32 lanes only.
  allRows()
    .flatMap((row) => encodingsOf(row, target))
    .filter(({ format }) => format.name !== 'VOPD' || waveSize === 32);

function decoded(words: readonly number[], target: Target, waveSize: 32 | 64): Instruction {
  const instruction = decoderFor(target.processor, waveSize).decode(new DataView(bytesOf(words).buffer), 0);
  assert.ok(typeof instruction !== 'string', `${words.map((word) => word.toString(16))} is an instruction`);
  return instruction;
}

const holds = (ranges: readonly RegisterRange[], file: RegisterFile, register: number): boolean =>
  ranges.some((range) => range.file === file && register >= range.first && register < range.first + range.dwords);

/** The registers that state is in, too. */
function registersOf(slot: StateSlot, waveSize: 32 | 64): number[] {
  const masks = waveSize === 64 ? [0, 1] : [0];
  if (slot === 'm0') return [SGPR_M0];
  return slot === 'vcc' ? masks.map((i) => SGPR_VCC_LO + i) : slot === 'exec' ? masks.map((i) => SGPR_EXEC_LO + i) : [];
}

/** What a leaf touches that the effects lack. */
function missing(
  { leaf, lane }: Value,
  instruction: Instruction,
  effects: Effects,
  gprIndexing: boolean,
): string | undefined {
  const { reads, writes, readsState, writesState, readsAnyOf, writesAnyOf, memory } = effects;
  if ('at' in leaf) {
    const operand = instruction.operand(leaf.at.operand);
    if (operand.kind !== 'vector' && operand.kind !== 'scalar') return undefined;
    const file = operand.kind === 'scalar' ? 'scalar' : operand.accumulator ? 'accumulator' : 'vector';
    const register = operand.register + leaf.at.dword;
    const isWrite = leaf.kind === 'setOperand' || leaf.kind === 'writeLane';
    const isRelative = gprIndexing || instruction.row.operands[leaf.at.operand]?.relative !== undefined;
    if (isRelative && (isWrite ? writesAnyOf : readsAnyOf).has(file)) return undefined;
    return holds(isWrite ? writes : reads, file, register) ? undefined : `${leaf.kind} ${file} ${register}`;
  }
  if (leaf.kind === 'state' || leaf.kind === 'setState') {
    const isWrite = leaf.kind === 'setState';
    const isNamed = (isWrite ? writesState : readsState).has(leaf.slot);
    const registers = registersOf(leaf.slot, instruction.waveSize);
    const areNamed = registers.every((register) => holds(isWrite ? writes : reads, 'scalar', register));
    return isNamed && areNamed ? undefined : `${leaf.kind} ${leaf.slot}`;
  }
  if (leaf.kind === 'load' || leaf.kind === 'store' || leaf.kind === 'atomic') {
    if (lane && !readsState.has('exec')) return 'exec';
    return memory.some(({ space, access }) => space === leaf.space && access === leaf.kind)
      ? undefined
      : `${leaf.kind} ${leaf.space}`;
  }
  if (leaf.kind === 'jump' || leaf.kind === 'branch')
    return instruction.row.flags.terminator === undefined ? 'a terminator' : undefined;
  return undefined;
}

for (const { processor, waveSize, family, step, turn } of TARGETS) {
  const target = targetFor(processor);

  test(`${processor} wave${waveSize}: the program of every row lies within its effects`, () => {
    const random = randomGenerator(14);
    for (const encoding of encodingsFor(target, waveSize)) {
      const instruction = decoded(randomEncoding(encoding, random, target), target, waveSize);
      for (const gprIndexing of [false, true]) {
        const effects = effectsOf(instruction, { gprIndexing });
        for (const value of meaningOf(instruction)?.values ?? []) {
          const lacks = missing(value, instruction, effects, gprIndexing);
          assert.equal(lacks, undefined, `${formatInstruction(instruction)} (${encoding.format.name}) lacks ${lacks}`);
        }
      }
    }
  });

  test(`${processor} wave${waveSize}: steps that share a meaning have the effects of their own encodings`, () => {
    const random = randomGenerator(16);
    const reader = new AmdgpuStepReader(processor, waveSize, MODE_GPR_INDEX);
    for (const encoding of sampled(encodingsFor(target, waveSize), step, turn)) {
      for (let i = 0; i < 2; i++) {
        const words = randomEncoding(encoding, random, target);
        const step = reader.step(new DataView(Uint32Array.from(words).buffer), 0);
        assert.ok(typeof step === 'object', String(step));
        const { hazards: _shared, ...effects } = step.effects;
        const { hazards: _own, ...own } = effectsOf(step.instruction, { gprIndexing: true });
        assert.deepEqual(effects, own, step.text());
      }
    }
  });

  test(`${processor} wave${waveSize}: running every row changes and depends on what its effects name`, () => {
    const lockstep = new Lockstep(processor, waveSize);
    const random = randomGenerator(15);
    const encodings = encodingsFor(target, waveSize).filter(
      ({ row }) => row.semantics && row.flags.terminator !== 'jump' && (family === undefined || row.opcodes[family]),
    );
    let lastMode = -1;
    for (const [i, encoding] of sampled(encodings, step, turn).entries()) {
      const words = randomEncoding(encoding, random, target);
      const gprIndexing = target.families.includes('gfx9') && i % 8 === 0;
      const mode = DEFAULT_MODE | (gprIndexing ? MODE_GPR_INDEX : 0);
      const instruction = decoded(words, target, waveSize);
      if (!meaningOf(instruction)) continue;
      const effects = effectsOf(instruction, { gprIndexing });
      const at = lockstep.place(words);
      const fills = MEMORY_FORMATS.has(encoding.format.name) ? MEMORY_FILLS : FILLS;
      const exec = BigInt.asUintN(64, EXECS[i % EXECS.length]!);
      const addresses = encoding.format.name === 'DS' ? 'lds' : 'global';
      // What the last one left is as good, unless it is to be an address.
      if (i % 8 === 0 || fills === MEMORY_FILLS || mode !== lastMode)
        lockstep.randomize(random, fills[i % fills.length]!, exec, mode, addresses);
      lastMode = mode;
      if (gprIndexing) lockstep.initial[SGPR_M0] = random();
      const view = new WaveView(lockstep.initial, waveSize, effects);
      const before = lockstep.initial.slice();
      const first = lockstep.run(at, 'reference');
      const text = `${formatInstruction(instruction)} (${encoding.format.name})`;
      if (first.fault === undefined) assert.equal(view.firstUnnamedChange(before, first), undefined, text);
      view.disturb(random);
      const second = lockstep.run(at, 'reference');
      assert.equal(second.fault, first.fault, text);
      if (first.fault === undefined) assert.equal(view.firstDifference(first, second), undefined, text);
    }
  });
}

/** What an instruction may do with a dword of the wave's state. */
const READ = 1;
const MAY_CHANGE = 2;
/** It is overwritten, whatever it was. */
const COMPARED = 4;
/** It may stay as it is without being read. */
const KEPT = 8;

/** The state of a wave, and what of it effects name. */
class WaveView {
  readonly state: Uint32Array;
  readonly #marks: Uint8Array;
  readonly #waveSize: 32 | 64;
  readonly #activeLanes: readonly number[];
  readonly #allLanes: readonly number[];

  constructor(state: Uint32Array, waveSize: 32 | 64, effects: Effects) {
    this.state = state;
    this.#waveSize = waveSize;
    this.#marks = new Uint8Array(state.length);
    this.#allLanes = Array.from({ length: waveSize }, (_, lane) => lane);
    const exec = (BigInt(state[SGPR_EXEC_LO + 1]!) << 32n) | BigInt(state[SGPR_EXEC_LO]!);
    this.#activeLanes = this.#allLanes.filter((lane) => (exec >> BigInt(lane)) & 1n);
    for (const { isCrossLane, ...range } of effects.reads) this.#mark(range, isCrossLane, READ);
    for (const { lanes, isPartial, ...range } of effects.writes)
      this.#mark(range, lanes === 'all', MAY_CHANGE | COMPARED | (isPartial ? KEPT : 0));
    for (const file of effects.readsAnyOf) this.#markFile(file, READ);
    for (const file of effects.writesAnyOf) this.#markFile(file, MAY_CHANGE | COMPARED | READ);
    for (const slot of effects.readsState) this.#marks[STATE_OFFSETS[slot] / 4]! |= READ;
    for (const slot of effects.writesState) this.#marks[STATE_OFFSETS[slot] / 4]! |= MAY_CHANGE | COMPARED;
  }

  /** Something that changed and that no effect names. */
  firstUnnamedChange(before: Uint32Array, { state }: Outcome): string | undefined {
    for (let i = 0; i < before.length; i++) {
      if (state[i] !== before[i] && !(this.#marks[i]! & MAY_CHANGE)) return `${this.#nameOf(i)} changed`;
    }
    return undefined;
  }

  /** Other values in everything that is not read and not kept. */
  disturb(random: () => number): void {
    for (let index = 0; index < this.#marks.length; index++) {
      if (this.#marks[index]! & (READ | KEPT)) continue;
      if (index < 128 || index >= WAVE_VGPRS / 4) this.state[index] = random();
    }
    const scc = STATE_OFFSETS.scc / 4;
    if (!(this.#marks[scc]! & READ)) this.state[scc]! ^= 1;
  }

  /** Something that was written and came out otherwise. */
  firstDifference(first: Outcome, second: Outcome): string | undefined {
    if (first.exit !== second.exit || first.last !== second.last) return 'goes another way';
    for (let i = 0; i < first.state.length; i++) {
      if (first.state[i] !== second.state[i] && this.#marks[i]! & COMPARED)
        return `${this.#nameOf(i)} depends on what is not read`;
    }
    for (let i = 0; i < first.memory.length; i++) {
      if (first.memory[i] !== second.memory[i]) return `memory dword ${i} depends on what is not read`;
    }
    return undefined;
  }

  #mark({ file, first, dwords }: RegisterRange, isEveryLane: boolean, marks: number): void {
    for (let register = first; register < first + dwords; register++) {
      if (file === 'scalar') this.#marks[register]! |= marks;
      else {
        const row = WAVE_VGPRS / 4 + (register + (file === 'accumulator' ? VGPRS : 0)) * this.#waveSize;
        for (const lane of isEveryLane ? this.#allLanes : this.#activeLanes) this.#marks[row + lane]! |= marks;
      }
    }
  }

  #markFile(file: RegisterFile, marks: number): void {
    this.#mark({ file, first: 0, dwords: file === 'scalar' ? 128 : VGPRS }, true, marks);
  }

  #nameOf(index: number): string {
    const at = index - WAVE_VGPRS / 4;
    if (at < 0) return index < 128 ? `s${index}` : `wave state +${index * 4}`;
    const row = Math.floor(at / this.#waveSize);
    return `${row < VGPRS ? 'v' : 'a'}${row % VGPRS} lane ${at % this.#waveSize}`;
  }
}
