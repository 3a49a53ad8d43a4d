/**
 * Loops whose lanes store to new places in each iteration, chunk by chunk: before a fault of any lane nothing
 * has been stored but what instructions before it store.
 */
import { test } from 'node:test';
import { compareTiers, LOADED_BYTES } from './loop-outcome.test-support.ts';

interface Loads {
  /** Bytes from the begin of what is loaded to the first lane's place, and from there to the others' half. */
  readonly first: number;
  readonly others: number;
  /** From iteration to iteration. */
  readonly step: number;
  /** Whether lanes add 32 bits to where its second half begins. */
  readonly isIndexed?: boolean;
}

const programOf = ({ first, others, step, isIndexed = false }: Loads, half: number): string => `
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v1, 2, v0
    s_add_u32 s6, ${isIndexed ? 0 : 's2'}, ${first}
    v_add_u32 v6, s6, v1
    v_mov_b32 v7, s1
    v_cmp_lt_u32 vcc, ${half - 1}, v0
    v_mov_b32 v4, ${others}
    v_cndmask_b32 v4, 0, v4, vcc
    v_add_u32 v6, v6, v4
    v_mov_b32 v9, s1
    v_add_u32 v8, s0, v1
    v_mov_b32 v5, v0
    s_mov_b32 s20, 12
    s_mov_b32 s22, ${step}
    s_mov_b32 s23, ${step < 0 ? -1 : 0}
  1:
    ${isIndexed ? 'global_load_dword v3, v6, s[2:3]' : 'global_load_dword v3, v[6:7], off'}
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v5, v3
    global_store_dword v[8:9], v5, off
    v_mov_b32 v12, s23
    v_add_co_u32 v6, vcc, s22, v6
    v_addc_co_u32 v7, vcc, v7, v12, vcc
    v_add_co_u32 v8, vcc, 0x100, v8
    v_addc_co_u32 v9, vcc, 0, v9, vcc
    s_sub_u32 s20, s20, 1
    s_cmp_lg_u32 s20, 0
    s_cbranch_scc1 1b
    s_endpgm`;

const CASES: Readonly<Record<string, Loads & { readonly mayFault: boolean }>> = {
  'all lanes load what is there': { first: 0, others: 0x1000, step: 256, mayFault: false },
  'the others come to the end': { first: 0, others: 0x1800, step: 256, mayFault: true },
  'the others come to the begin': { first: 0x1f00, others: -0x1900, step: -256, mayFault: true },
  'all indices stay within': { first: 0, others: 0x200, step: 256, isIndexed: true, mayFault: false },
  'indices of the others wrap': { first: 0xd00, others: -0xb00, step: -256, isIndexed: true, mayFault: true },
  'the first ones come to the end': { first: 0x1900, others: -0x1800, step: 256, mayFault: true },
};

for (const waveSize of [64, 32] as const)
  for (const [name, { mayFault, ...loads }] of Object.entries(CASES))
    test(`wave${waveSize}: ${name}`, () =>
      compareTiers(programOf(loads, waveSize / 2), mayFault, waveSize, {
        base: loads.isIndexed ? LOADED_BYTES / 2 : 0,
      }));
