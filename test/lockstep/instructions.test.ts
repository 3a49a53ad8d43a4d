/**
 * Every row with semantics, in each of its encodings, from random states: the handlers and compiled code do
 * what the reference executor does. Rows that two targets have are run there, and sampled on the others.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../src/base/errors.ts';
import type { ExecutorName } from '../../src/emulator/emulator.ts';
import { type Encoding, encodingsOf } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { targetFor } from '../../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../../src/isa/amdgpu/rows/index.ts';
import { CHOSEN_INSTRUCTION, isChosen } from '../chosen-instruction.ts';
import { IS_FULL_SCALE, sampled } from '../scale.ts';
import { difference, type Fill, Lockstep, randomGenerator } from './lockstep.test-support.ts';
import { MEMORY_FORMATS, randomEncoding } from './random-encoding.test-support.ts';

const DEFAULT_MODE = 0x3f0;
/** f32 denormals flushed, as gfx11's vectors and OpenCL's -cl-denorms-are-zero have it. */
const MODES = [DEFAULT_MODE, DEFAULT_MODE, DEFAULT_MODE, 0x3c0, 0x0f0];
/** FP_ROUND, f32 in the low two bits: every rounding of each width. */
const ROUNDINGS = [0, 0, 0b0101, 0b1010, 0b1111, 0b0110, 0b1001];
const FILLS: Fill[] = ['interesting', 'random', 'small', 'pointers'];
const MEMORY_FILLS: Fill[] = ['contiguous', 'broadcast', 'pointers', 'small', 'random', 'contiguous'];
const ALL_LANES = -1n;
const EXECS = [0x0ffffff0ffff0001n, 0x8000000000000000n, 0n, 0x5a5a5a5af0f0ffffn];

/** Of how many encodings one is run; of rows that no target has whose encodings are all run, each is. */
const TARGETS = [
  ['gfx908', 64, 4],
  ['gfx90a', 64, 1],
  ['gfx942', 64, 4],
  ['gfx1030', 32, 4],
  ['gfx1100', 32, 1],
  ['gfx1100', 64, 4],
  ['gfx1200', 32, 4],
] as const;
const FULL_STATES = 2;
const hasAll = TARGETS.filter(([, , step]) => step === 1).map(([processor]) => targetFor(processor));
const isOwn = ({ row }: Encoding): boolean => !hasAll.some((target) => encodingsOf(row, target).length > 0);

interface Code {
  readonly words: readonly number[];
  readonly text: string;
  readonly mode: number;
  /**
   * False where two stores of one instruction overlap, or two of its accesses fault: which lane's comes first
   * is open, and one lane runs.
   */
  readonly isOrdered: boolean;
}

for (const [turn, [processor, waveSize, step]] of TARGETS.entries()) {
  const target = targetFor(processor);
  const lockstep = new Lockstep(processor, waveSize);
  const byFormat = Map.groupBy(
    // Jumps leave the handlers for the scheduler, which the reference does at once: whole programs cover
    // them.
    allRows()
      .filter((row) => isChosen(row) && row.semantics && row.flags.terminator !== 'jump')
      .flatMap((row) => encodingsOf(row, target)),
    ({ format }) => format.name,
  );
  for (const [name, encodings] of byFormat) {
    // RDNA3 ISA 7.6: in waves of 32 lanes only.
    if (name === 'VOPD' && waveSize === 64) continue;
    test(`${processor} wave${waveSize} ${name}: handlers, compiled code and reference agree`, () => {
      const random = randomGenerator(0xc0ffee ^ name.length);
      const fills = MEMORY_FORMATS.has(name) ? MEMORY_FILLS : FILLS;
      const compare = (code: Code, executors: readonly ExecutorName[], state: number): void => {
        const { words, text, mode, isOrdered } = code;
        const at = lockstep.place(words);
        const some = EXECS[state % EXECS.length]!;
        // Compiled code has a body for chunks of which all lanes are active, and one for the others.
        const isBoth = executors.includes('jit');
        const execs = !isOrdered ? [0x10n] : isBoth ? [ALL_LANES, some] : [state % 2 === 0 ? ALL_LANES : some];
        for (const [i, exec] of execs.entries()) {
          const fill = fills[(state + i) % fills.length]!;
          lockstep.randomize(random, fill, BigInt.asUintN(64, exec), mode, name === 'DS' ? 'lds' : 'global');
          try {
            const expected = lockstep.run(at, 'reference');
            for (const executor of executors) {
              const found = difference(lockstep.run(at, executor), expected, waveSize);
              assert.equal(found, undefined, `${text}, ${fill}, ${executor}: ${found}`);
            }
          } catch (error) {
            if (error instanceof WavewrightError) assert.fail(`${text}: ${error.stack}`);
            throw error;
          }
        }
      };
      // A format that only moves lanes before is done with one state.
      const states = IS_FULL_SCALE && !name.includes('_DPP') ? FULL_STATES : 1;
      const [own, shared] = [encodings.filter(isOwn), encodings.filter((encoding) => !isOwn(encoding))];
      const some = CHOSEN_INSTRUCTION === undefined ? sampled(shared, step, turn) : shared;
      const all = Array.from({ length: states }, () => [...own, ...some]).flat();
      // Vector instructions are compiled a few together, which takes less time; v_cmpx among them soon leaves
      // few lanes.
      const together = name.startsWith('VOPC') ? 3 : name.startsWith('V') ? 8 : 1;
      for (let first = 0; first < all.length; first += together) {
        const mode = MODES[random() % MODES.length]! | ROUNDINGS[random() % ROUNDINGS.length]!;
        const codes = all.slice(first, first + together).map((encoding): Code => {
          const words = randomEncoding(encoding, random, target);
          const dwords = words.map((word) => word.toString(16).padStart(8, '0'));
          const text = `${encoding.row.name} ${name} [${dwords}] mode ${mode.toString(16)}`;
          return {
            words,
            text,
            mode,
            isOrdered: !/write2|wrxchg2|buffer_store|buffer_load_lds/.test(encoding.row.name),
          };
        });
        const executors: ExecutorName[] = together === 1 ? ['handlers', 'jit'] : ['handlers'];
        for (const [i, code] of codes.entries()) compare(code, executors, first + i);
        if (together === 1) continue;
        const words = codes.flatMap((code) => code.words);
        const text = codes.map((code) => code.text).join('; ');
        compare({ words, text, mode, isOrdered: true }, ['jit'], first / together);
      }
    });
  }
}
