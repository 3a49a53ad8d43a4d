/**
 * Waves that have all of their lanes on where others skip code run it without masks, waves that have nothing
 * to do end at once, and waves that begin where such a wave ran find its registers: what memory holds, and
 * which lane faults, is the same for all of them.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

type Triple = readonly [number, number, number];
interface Shape {
  readonly gridSize: Triple;
  readonly workgroupSize: Triple;
}

/** Of 16 KiB: bounds of the programs are within them, on them, or beyond. */
const SHAPES: Readonly<Record<string, Shape>> = {
  'one wave in each workgroup': { gridSize: [768, 1, 1], workgroupSize: [64, 1, 1] },
  'four waves, the last workgroup cut': { gridSize: [1400, 1, 1], workgroupSize: [256, 1, 1] },
  'rows of 16': { gridSize: [64, 32, 1], workgroupSize: [16, 16, 1] },
  'rows of 32': { gridSize: [64, 16, 1], workgroupSize: [32, 8, 1] },
  'rows of 8': { gridSize: [32, 32, 1], workgroupSize: [8, 8, 1] },
  'rows of 20, half a wave': { gridSize: [40, 12, 1], workgroupSize: [20, 4, 1] },
};

/** v1 and v2 are the places of the work-item, s4 that of the workgroup's first one in x. */
const ids = ([x, y]: Triple): string => `
  v_and_b32 v1, 0x3ff, v0
  v_bfe_u32 v2, v0, 10, 10
  s_mul_i32 s4, s2, ${x}
  s_mul_i32 s5, s3, ${y}
  v_add_u32 v1, s4, v1
  v_add_u32 v2, s5, v2`;
/** v3 is the offset of the work-item's own dword, in rows of 64. */
const PLACE = 'v_lshl_add_u32 v3, v2, 6, v1\n v_and_b32 v3, 0x3ff, v3\n v_lshlrev_b32 v3, 2, v3';
const ROW_PLACE = 'v_lshl_add_u32 v3, v2, 6, v1\n v_lshlrev_b32 v3, 2, v3';
/** Runs `body` where the lane's bit of vcc is set. */
const where = (body: string, end = '.Lend'): string =>
  `s_and_saveexec_b64 s[6:7], vcc\n s_cbranch_execz ${end}\n${body}\n`;
const add = (offset = 0): string => `
  global_load_dword v4, v3, s[0:1] offset:${offset}
  s_waitcnt vmcnt(0)
  v_add_u32 v4, 0x12345, v4
  global_store_dword v3, v4, s[0:1]`;
const ADD = `${ROW_PLACE}\n${add()}`;
const both = (first: string, second: string): string => `
  ${first.replace('vcc', 's[8:9]')}
  ${second}
  s_and_b64 vcc, s[8:9], vcc`;

const PROGRAMS: Readonly<Record<string, (size: Triple) => string>> = {
  ...Object.fromEntries(
    [0, 1, 31, 64, 100, 2000, -1].map((n) => [
      `places below ${n}`,
      (size) => `${ids(size)}\n v_cmp_gt_i32 vcc, ${n}, v1\n ${where(ADD)}.Lend:`,
    ]),
  ),
  'places below a limit, and a jump': (size) => `${ids(size)}
    s_getpc_b64 s[10:11]
    .Lhere:
    s_add_u32 s10, s10, .Lend-.Lhere
    s_addc_u32 s11, s11, 0
    v_cmp_gt_i32 vcc, 2000, v1
    ${where(ADD)}
    s_setpc_b64 s[10:11]
    s_nop 0
    .Lend:`,
  'places below an unsigned limit': (size) => `${ids(size)}\n v_cmp_gt_u32 vcc, 40, v1\n ${where(ADD)}.Lend:`,
  'two limits': (size) =>
    `${ids(size)}\n ${both('v_cmp_gt_i32 vcc, 40, v1', 'v_cmp_gt_i32 vcc, 9, v2')}\n ${where(ADD)}.Lend:`,
  'one of two limits': (size) => `${ids(size)}
    v_cmp_gt_i32 s[8:9], 20, v1
    v_cmp_le_i32 vcc, 9, v2
    s_or_b64 vcc, s[8:9], vcc\n ${where(ADD)}.Lend:`,
  'neither the first nor the last': (size) =>
    `${ids(size)}\n ${both('v_cmp_lt_i32 vcc, 0, v1', 'v_cmp_gt_i32 vcc, 47, v1')}\n ${where(ADD)}.Lend:`,
  'the larger of two': (size) => `${ids(size)}\n v_max_i32 v5, v1, v2\n v_cmp_gt_i32 vcc, 17, v5\n ${where(ADD)}.Lend:`,
  'the smaller of two': (size) => `${ids(size)}\n v_min_i32 v5, v1, v2\n v_cmp_lt_i32 vcc, 3, v5\n ${where(ADD)}.Lend:`,
  'not the first': (size) => `${ids(size)}\n v_cmp_ne_u32 vcc, 0, v1\n ${where(ADD)}.Lend:`,
  'the first alone': (size) => `${ids(size)}\n v_cmp_eq_u32 vcc, 0, v1\n ${where(ADD)}.Lend:`,
  'one column': (size) => `${ids(size)}\n v_mov_b32 v5, 3\n v_cmp_ne_u32 vcc, v5, v5\n ${where(ADD)}.Lend:`,
  'the first does more': (size) => `${ids(size)}
    v_cmp_gt_i32 vcc, 40, v1
    ${where(`${ADD}
    v_cmp_eq_u32 vcc, 0, v1
    s_and_b64 exec, exec, vcc
    s_cbranch_execz .Lend
    global_store_dword v3, v1, s[0:1] offset:4`)}.Lend:`,
  'otherwise something else': (size) => `${ids(size)}
    ${ROW_PLACE}
    v_cmp_gt_i32 vcc, 33, v1
    ${where(
      `${add()}
    .Lother:
    s_or_b64 exec, exec, s[6:7]`,
      '.Lother',
    )}
    global_store_byte v3, v1, s[0:1] offset:2
    .Lend:`,
  'something else behind a branch that nobody takes': (size) => `${ids(size)}
    ${ROW_PLACE}
    s_or_b64 exec, exec, exec
    s_cbranch_execz .Lend
    v_cmp_gt_i32 vcc, 33, v1
    ${where(
      `${add()}
    .Lother:
    s_or_b64 exec, exec, s[6:7]`,
      '.Lother',
    )}
    global_store_byte v3, v1, s[0:1] offset:2
    .Lend:`,
  'an uninteresting value where lanes are off': (size) => `${ids(size)}
    ${ROW_PLACE}
    v_mov_b32 v8, 7
    v_cmp_gt_i32 vcc, 33, v1
    s_and_saveexec_b64 s[6:7], vcc
    v_add_u32 v8, v8, v1
    s_or_b64 exec, exec, s[6:7]
    global_load_dword v4, v3, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v4, v8
    global_store_dword v3, v4, s[0:1]`,
  'a value of one lane': (size) => `${ids(size)}
    ${ROW_PLACE}
    v_mov_b32 v8, 7
    v_cmp_eq_u32 vcc, 5, v1
    s_and_saveexec_b64 s[6:7], vcc
    v_add_u32 v8, v8, v1
    s_or_b64 exec, exec, s[6:7]
    global_load_dword v4, v3, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v4, v8
    global_store_dword v3, v4, s[0:1]`,
  'two limits or another one': (size) => `${ids(size)}
    ${both('v_cmp_gt_i32 vcc, 20, v1', 'v_cmp_gt_i32 vcc, 9, v2').replace('s_and_b64 vcc', 's_and_b64 s[8:9]')}
    v_cmp_le_i32 vcc, 30, v1
    s_or_b64 vcc, s[8:9], vcc\n ${where(ADD)}.Lend:`,
  'signed numbers that wrap': (size) =>
    `${ids(size)}\n v_add_u32 v5, 0x7fffffd8, v1\n v_cmp_gt_i32 vcc, 0x7fffffff, v5\n ${where(ADD)}.Lend:`,
  'unsigned numbers that wrap': (size) =>
    `${ids(size)}\n v_add_u32 v5, 0xffffffd8, v1\n v_cmp_gt_u32 vcc, 0xfffffff0, v5\n ${where(ADD)}.Lend:`,
  'numbers that grow by much': (size) =>
    `${ids(size)}\n s_mov_b32 s10, 0x4000001\n v_mul_lo_u32 v5, s10, v1\n v_cmp_gt_i32 vcc, 0x70000000, v5\n ${where(ADD)}.Lend:`,
  'numbers of which fifteen are few': (size) =>
    `${ids(size)}\n s_mov_b32 s10, 0x11111112\n v_mul_lo_u32 v5, s10, v1\n v_cmp_gt_i32 vcc, 0x70000000, v5\n ${where(ADD)}.Lend:`,
  'numbers that fall': (size) => `${ids(size)}\n v_sub_u32 v5, 40, v1\n v_cmp_lt_i32 vcc, 0, v5\n ${where(ADD)}.Lend:`,
  'what lanes load tells': (size) => `${ids(size)}
    v_cmp_gt_i32 vcc, 60, v1
    ${where(`${ROW_PLACE}
    global_load_ubyte v4, v3, s[0:1]
    s_waitcnt vmcnt(0)
    v_cmp_gt_u32 vcc, 100, v4
    s_and_b64 exec, exec, vcc
    s_cbranch_execz .Lend
    v_add_u32 v5, v4, v1
    global_store_dword v3, v5, s[0:1]`)}.Lend:`,
  'sums that are NaNs': (size) => `${ids(size)}
    v_cmp_gt_i32 vcc, 60, v1
    ${where(`${PLACE}
    global_load_dword v4, v3, s[0:1] offset:16
    s_waitcnt vmcnt(0)
    v_add_f32 v4, v4, v4
    global_store_dword v3, v4, s[0:1] offset:2048`)}.Lend:`,
  'lanes that are no neighbours': (size) =>
    `${ids(size)}\n v_cmp_gt_i32 vcc, 60, v1\n ${where(`v_mul_lo_u32 v3, 36, v1\n v_and_b32 v3, 0xffc, v3\n${add()}`)}.Lend:`,
  'places of some bits': (size) => `${ids(size)}\n v_cmp_gt_i32 vcc, 60, v1\n ${where(`${PLACE}\n${add()}`)}.Lend:`,
  'every second workgroup has nothing to do': (size) => `${ids(size)}
    s_and_b32 s10, s2, 1
    s_mul_i32 s10, s10, 50
    v_cmp_gt_i32 vcc, s10, v1
    ${where(ADD)}.Lend:`,
  'a condition of the wave': (size) => `${ids(size)}
    s_cmp_lg_u32 s2, 1
    s_cselect_b64 s[8:9], -1, 0
    v_cmp_gt_i32 vcc, 50, v1
    s_and_b64 vcc, s[8:9], vcc
    ${where(ADD)}.Lend:`,
  'registers that nobody set': (size) => `${ids(size)}
    v_cmp_gt_i32 vcc, 60, v1
    ${where(`${ROW_PLACE}
    s_add_u32 s20, s20, 1
    v_add_u32 v20, s20, v20
    global_load_dword v4, v3, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v4, v4, v20
    global_store_dword v3, v4, s[0:1]`)}.Lend:`,
  'a load of the wave that others make': (size) => `${ids(size)}
    s_mov_b64 s[10:11], 0
    v_cmp_gt_i32 vcc, 0, v1
    ${where(`s_load_dword s12, s[10:11], 0x0
    ${ROW_PLACE}
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v4, s12
    global_store_dword v3, v4, s[0:1]`)}.Lend:`,
  'what a wave loads': (size) => `${ids(size)}
    v_cmp_gt_i32 vcc, 60, v1
    ${where(`s_load_dword s12, s[0:1], 0x20
    ${PLACE}
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v4, s12
    global_store_dword v3, v4, s[0:1] offset:2048`)}.Lend:`,
  'a barrier': (size) => `${ids(size)}
    ${PLACE}
    v_cmp_ne_u32 vcc, 5, v1
    ${where(
      `global_load_dword v4, v3, s[0:1]
    v_and_b32 v5, 0x3fc, v3
    s_waitcnt vmcnt(0)
    ds_write_b32 v5, v4
    .Lall:
    s_or_b64 exec, exec, s[6:7]`,
      '.Lall',
    )}
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_and_b32 v5, 0x3fc, v3
    v_xor_b32 v5, 4, v5
    ds_read_b32 v4, v5
    s_waitcnt lgkmcnt(0)
    global_store_dword v3, v4, s[0:1]`,
  'a wave that begins again': (size) => `
    s_getpc_b64 s[20:21]
    ${ids(size)}
    v_cmp_gt_i32 vcc, 30, v1
    ${where(ADD, '.Lagain')}.Lagain:
    s_mov_b64 exec, -1
    s_add_u32 s16, s16, 1
    s_cmp_gt_u32 s16, 2
    s_cbranch_scc1 .Lend
    v_lshlrev_b32 v0, 1, v0
    v_and_b32 v0, 0x3ff, v0
    s_sub_u32 s20, s20, 4
    s_subb_u32 s21, s21, 0
    s_setpc_b64 s[20:21]
    .Lend:`,
};

const FAULTS: Readonly<Record<string, (size: Triple) => string>> = {
  'a lane beyond the end': (size) =>
    `${ids(size)}\n v_cmp_gt_i32 vcc, 2000, v1\n ${where(
      `${ROW_PLACE}\n${add(0).replace('s[0:1]', 's[0:1] offset:4092')}`,
    )
      .replace('offset:4092 offset:0', 'offset:4092')
      .replace('v_lshlrev_b32 v3, 2, v3', 'v_lshlrev_b32 v3, 7, v3')}.Lend:`,
  'a load of the wave': (size) => `${ids(size)}
    s_mov_b64 s[10:11], 0
    v_cmp_gt_i32 vcc, 20, v1
    ${where(`s_load_dword s12, s[10:11], 0x0
    ${ROW_PLACE}
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v4, s12
    global_store_dword v3, v4, s[0:1]`)}.Lend:`,
  'a store to code': (size) => `${ids(size)}
    s_getpc_b64 s[10:11]
    v_cmp_gt_i32 vcc, 2000, v1
    ${where(`${PLACE}
    v_and_b32 v3, 0xfc, v3
    global_store_dword v3, v1, s[10:11]`)}.Lend:`,
};

/** The same in masks of 32 lanes. */
const withShortMasks = (program: string): string =>
  program
    .replaceAll(/s\[(6|8):\d\]/g, 's$1')
    .replaceAll(/\b(s_and_saveexec|s_and|s_or|s_cselect)_b64\b/g, '$1_b32')
    .replaceAll(/\bexec\b/g, 'exec_lo')
    .replaceAll('s_mov_b64 exec_lo', 's_mov_b32 exec_lo')
    .replaceAll('s_load_dword', 's_load_b32');

for (const [programs, mayFault] of [
  [PROGRAMS, false],
  [FAULTS, true],
] as const) {
  for (const [name, program] of Object.entries(programs)) {
    for (const [shapeName, shape] of Object.entries(SHAPES)) {
      const text = program(shape.workgroupSize);
      const launch = {
        ...shape,
        ldsSizeBytes: text.includes('ds_') ? 1024 : 0,
        workItemIdComponents: 1,
        workgroupIdSgprs: [2, 3, undefined],
      } as const;
      test(`${name}: ${shapeName}`, () => compareOutcomes(text, mayFault, {}, 64, launch));
      test(`${name}: ${shapeName}, wave32`, () =>
        compareOutcomes(withShortMasks(ofWave32(text)), mayFault, { processor: 'gfx1100' }, 32, launch));
    }
  }
}
