/**
 * Loops that run with instructions one by one and chunk by chunk, from different states and with different
 * budgets: what they leave in registers, masks and memory is the same.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineCode } from '../../src/assembler/machine-code.test-support.ts';
import { difference, Lockstep, randomGenerator } from './lockstep.test-support.ts';
import { WINDOW_SGPR } from './random-kernel.test-support.ts';

const TARGETS = [
  ['gfx90a', 64],
  ['gfx1100', 32],
  ['gfx1100', 64],
] as const;
const MODE = 0x3f0;
const BUDGETS = [1_000_000, 150, 40, 7];
const EXECS = [-1n, 0x0ffffff0ffff0001n, 0x5a5a5a5af0f0ff7fn];

/** Names that are different for waves of 32 lanes. */
function dialect(waveSize: 32 | 64) {
  const isWide = waveSize === 64;
  const s = (first: number): string => (isWide ? `s[${first}:${first + 1}]` : `s${first}`);
  const [vcc, exec, b] = isWide ? ['vcc', 'exec', 'b64'] : ['vcc_lo', 'exec_lo', 'b32'];
  return { s, vcc, exec, b, isWide };
}
export type Dialect = ReturnType<typeof dialect>;

export const DATA = `s[${WINDOW_SGPR}:${WINDOW_SGPR + 1}]`;

/** Sets v0 to the number of the lane. */
export const laneNumber = ({ isWide }: Dialect): string => `
  v_mbcnt_lo_u32_b32 v0, -1, 0
  ${isWide ? 'v_mbcnt_hi_u32_b32 v0, -1, v0' : ''}`;

/** An address in v[6:7] that begins at `offset`, in bytes, which is in v1. */
export const pointer = ({ vcc }: Dialect): string => `
  v_mov_b32 v7, s${WINDOW_SGPR + 1}
  v_add_co_u32 v6, ${vcc}, s${WINDOW_SGPR}, v1
  v_addc_co_u32 v7, ${vcc}, 0, v7, ${vcc}`;

export const advance = ({ vcc }: Dialect, bytes: number): string => `
  v_add_co_u32 v6, ${vcc}, ${bytes}, v6
  v_addc_co_u32 v7, ${vcc}, 0, v7, ${vcc}`;

/** Instructions by the names that gfx1100 has for them. */
const renamed = (program: string): string =>
  program
    .replace(/global_load_dwordx2/g, 'global_load_b64')
    .replace(/global_load_dword/g, 'global_load_b32')
    .replace(/global_store_dwordx2/g, 'global_store_b64')
    .replace(/global_store_dword/g, 'global_store_b32')
    .replace(/global_store_byte/g, 'global_store_b8')
    .replace(/global_load_ubyte/g, 'global_load_u8')
    .replace(/global_load_ushort/g, 'global_load_u16')
    .replace(/ds_read/g, 'ds_load')
    .replace(/ds_write/g, 'ds_store')
    .replace(/s_andn2_/g, 's_and_not1_')
    .replace(/s_orn2_/g, 's_or_not1_')
    .replace(/v_(add|sub)_u32/g, 'v_$1_nc_u32')
    .replace(/v_addc_co_u32/g, 'v_add_co_ci_u32');

const FLOATS = (random: () => number): number => 0x3f000000 | (random() & 0x80ffffff);
const MEMORIES: Readonly<Record<string, (random: () => number) => number>> = {
  floats: FLOATS,
  'floats, NaNs and infinities': (random) => [0xffa12345, 0x7f800000, 0xff800000][random() % 60] ?? FLOATS(random),
};

/** A test for each case and target, of programs for a dialect. */
export function compareLoops(cases: Readonly<Record<string, (d: Dialect) => string>>): void {
  for (const [processor, waveSize] of TARGETS)
    for (const [name, program] of Object.entries(cases)) compareLoop(processor, waveSize, name, program);
}

function compareLoop(processor: string, waveSize: 32 | 64, name: string, program: (d: Dialect) => string): void {
  test(`${processor} wave${waveSize}: ${name}`, () => {
    const isNew = processor !== 'gfx90a';
    const text = program(dialect(waveSize));
    const features = isNew && waveSize === 64 ? ['+wavefrontsize64'] : [];
    const code = machineCode(isNew ? renamed(text) : text, processor, features);
    const lockstep = new Lockstep(processor, waveSize);
    const at = lockstep.place([...new Uint32Array(Uint8Array.from(code).buffer)]);
    const random = randomGenerator(1);
    for (const [memory, word] of Object.entries(MEMORIES)) {
      for (const exec of EXECS) {
        lockstep.randomize(random, 'small', exec, MODE);
        lockstep.setWindow(WINDOW_SGPR);
        lockstep.initialMemory.forEach((_, i, all) => {
          all[i] = word(random);
        });
        const expected = lockstep.run(at, 'handlers', 1_000_000, true);
        for (const executor of ['reference', 'vertical', 'lanes'] as const) {
          for (const budget of executor === 'reference' ? [1_000_000] : BUDGETS) {
            const found = difference(lockstep.run(at, executor, budget, true), expected, waveSize);
            assert.equal(found, undefined, `${memory}, exec ${exec}, ${executor}, budget ${budget}: ${found}`);
          }
        }
      }
    }
  });
}
