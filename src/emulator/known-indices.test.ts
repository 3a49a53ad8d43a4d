/**
 * Loops that add an index of lanes to what stays the same, of which it is known at which indices all lanes
 * may load: beyond these they fault as ever.
 */
import { test } from 'node:test';
import { compareTiers, LOADED_BYTES } from './loop-outcome.test-support.ts';

interface Loop {
  /** What lanes add to where the second half of what is loaded begins, in dwords, in the first iteration. */
  readonly first?: number;
  readonly step: number;
  /** Whether the index is extended with its sign. */
  readonly isSigned?: boolean;
  readonly times?: number;
  /** Comes behind each iteration. */
  readonly after?: string;
  readonly isPartly?: boolean;
  readonly mayFault: boolean;
}

const UNSIGNED = `
    v_lshlrev_b32 v10, 2, v6
    global_load_dword v3, v10, s[2:3]`;
const SIGNED = `
    v_lshlrev_b32 v10, 2, v6
    v_ashrrev_i32 v11, 30, v6
    v_mov_b32 v12, s3
    v_add_co_u32 v10, vcc, s2, v10
    v_addc_co_u32 v11, vcc, v12, v11, vcc
    global_load_dword v3, v[10:11], off`;

const programOf = ({ first = 0, step, isSigned = false, times = 12, after = '' }: Loop): string => `
    v_and_b32 v0, 0x3ff, v0
    v_lshlrev_b32 v1, 2, v0
    s_mov_b32 s22, ${step}
    v_add_u32 v6, ${first}, v0
    v_mov_b32 v5, v0
    s_mov_b32 s20, ${times}
  1:
    ${isSigned ? SIGNED : UNSIGNED}
    s_waitcnt vmcnt(0)
    v_add_u32 v5, v5, v3
    v_add_u32 v6, s22, v6
    ${after}
    s_sub_u32 s20, s20, 1
    s_cmp_lg_u32 s20, 0
    s_cbranch_scc1 1b
    global_store_dword v1, v5, s[0:1]
    s_endpgm`;

const CASES: Readonly<Record<string, Loop>> = {
  'forwards, as far as it goes': { step: 64, times: 16, mayFault: false },
  'forwards, beyond the end': { step: 64, times: 17, mayFault: true },
  'by bytes of a dword, beyond the end': { first: 900, step: 1, times: 100, mayFault: true },
  'backwards, as far as it goes': { first: 960, step: -64, times: 16, mayFault: false },
  'backwards, to an index that wraps': { first: 128, step: -64, times: 4, mayFault: true },
  'signed, forwards, beyond the end': { step: 64, isSigned: true, times: 17, mayFault: true },
  'signed, backwards, to the begin': { step: -64, isSigned: true, times: 17, mayFault: false },
  'signed, backwards, beyond the begin': { step: -64, isSigned: true, times: 18, mayFault: true },
  'far ahead': { step: 0x10000000, isSigned: true, times: 2, mayFault: true },
  'where not all may be loaded': { step: 64, times: 16, isPartly: true, mayFault: false },
  'where not all may be loaded, beyond that': { step: 64, times: 17, isPartly: true, mayFault: true },
  'what it is added to moves on': { step: 0, times: 5, after: 's_add_u32 s2, s2, 0x400', mayFault: true },
};

for (const waveSize of [64, 32] as const)
  for (const [name, { mayFault, isPartly, ...loop }] of Object.entries(CASES))
    test(`wave${waveSize}: ${name}`, () =>
      compareTiers(programOf({ ...loop, mayFault }), mayFault, waveSize, {
        base: LOADED_BYTES / 2,
        isPartly: isPartly ?? false,
      }));
