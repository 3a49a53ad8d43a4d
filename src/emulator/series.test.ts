/**
 * Workgroups that are done together (jit/regions/series.ts): what memory holds, which lane faults and how
 * many instructions ran is as if each had been done by itself, one after the other.
 */
import { test } from 'node:test';
import { compareOutcomes, ofWave32 } from './same-outcome.test-support.ts';

type Triple = readonly [number, number, number];
interface Shape {
  readonly gridSize: Triple;
  readonly workgroupSize: Triple;
}

/** Of 2,048 dwords in the buffer. */
const SHAPES: Readonly<Record<string, Shape>> = {
  'one wave in each of 16': { gridSize: [1024, 1, 1], workgroupSize: [64, 1, 1] },
  'four waves in each, the last one cut': { gridSize: [1900, 1, 1], workgroupSize: [256, 1, 1] },
  'rows of 16, three of them, the last one cut': { gridSize: [126, 8, 2], workgroupSize: [16, 8, 1] },
  'rows of 32, in all dimensions': { gridSize: [128, 8, 2], workgroupSize: [32, 4, 1] },
};

/** v1 is the number of the work-item in its row, v3 that in the grid, whose rows are 128. */
const IDS = ([x, y]: Triple): string => `
  v_and_b32 v1, 0x3ff, v0
  v_bfe_u32 v2, v0, 10, 10
  s_mul_i32 s4, s2, ${x}
  s_mul_i32 s5, s3, ${y}
  v_add_u32 v5, s4, v1
  v_add_u32 v2, s5, v2
  v_lshl_add_u32 v3, v2, 7, v5
  v_lshl_add_u32 v3, s6, 10, v3`;
const PLACE = 'v_lshlrev_b32 v4, 2, v3';
const where = (body: string): string => `s_and_saveexec_b64 s[8:9], vcc\n s_cbranch_execz .Lend\n${body}\n.Lend:`;
const add = (place = PLACE, value = 'v_add_u32 v6, 0x12345, v6'): string => `
  ${place}
  global_load_dword v6, v4, s[0:1]
  s_waitcnt vmcnt(0)
  ${value}
  global_store_dword v4, v6, s[0:1]`;
const store = (value: string, place = PLACE): string => `${place}\n${value}\nglobal_store_dword v4, v6, s[0:1]`;
const below = (limit: number): string => `v_cmp_gt_i32 vcc, ${limit}, v3`;

/** Loads from the code, where nobody stores: `index` makes v7, bytes from s[20:21], of what memory holds. */
const found = (index: string, load = 'global_load_dword v6, v7, s[20:21]', from = 0, to = 4092): string => `
  s_getpc_b64 s[20:21]
  ${below(1000)}
  ${where(`
    ${PLACE}
    global_load_dword v7, v4, s[0:1] offset:${from}
    s_waitcnt vmcnt(0)
    ${index}
    ${load}
    s_waitcnt vmcnt(0)
    v_add_u32 v6, v6, v3
    global_store_dword v4, v6, s[0:1] offset:${to}`)}`;
const FEW = 'v_and_b32 v7, 60, v7';
/** The number of the dword that was loaded, from 512 on 1, else and for NaNs 0. */
const HALF = `s_mov_b32 s10, 0x0e8b2f51\n v_mul_lo_u32 v7, s10, v7\n v_min_u32 v7, 0x800, v7\n v_bfe_u32 v7, v7, 9, 1`;

const PROGRAMS: Readonly<Record<string, string>> = {
  'all places': `v_cmp_le_i32 vcc, 0, v3\n${where(add())}`,
  ...Object.fromEntries(
    [3, 128, 130, 500, 1023, 1024, 1500].map((n) => [`places below ${n}`, `${below(n)}\n${where(add())}`]),
  ),
  'places up to a number': `v_cmp_ge_i32 vcc, 700, v3\n${where(add())}`,
  'places of which the larger number is below another': `v_max_i32 v7, v3, v5\n v_cmp_gt_i32 vcc, 700, v7\n${where(add())}`,
  'places of which the smaller number is below another': `v_min_i32 v7, v3, v5\n v_cmp_gt_i32 vcc, 100, v7\n${where(add())}`,
  'places of which the smaller number is from another on': `v_min_i32 v7, v3, v5\n v_cmp_lt_i32 vcc, 10, v7\n${where(add())}`,
  'below an unsigned number': `v_cmp_gt_u32 vcc, 600, v3\n${where(add())}`,
  'not one of the places': `v_mov_b32 v7, 0x181\n v_cmp_ne_u32 vcc, v7, v3\n${where(add())}`,
  'numbers that fall': `v_sub_u32 v7, 900, v3\n v_cmp_lt_i32 vcc, 0, v7\n${where(add())}`,
  'numbers that wrap': `v_add_u32 v7, 0x7ffffe00, v3\n v_cmp_gt_i32 vcc, 0x7ffffff0, v7\n${where(add())}`,
  'numbers that grow by much': `
    s_mov_b32 s10, 0x400001\n v_mul_lo_u32 v7, s10, v3\n v_cmp_gt_i32 vcc, 0x70000000, v7\n${where(add())}`,
  'the number of the workgroup': `${below(1000)}\n${where(store('v_mov_b32 v6, s2'))}`,
  'sums with the number of the workgroup': `
    s_lshl_b32 s10, s2, 3\n s_sub_u32 s11, 7, s10\n${below(1000)}\n${where(
      store('v_cvt_f32_i32 v6, s11\n v_add_u32 v6, v6, v1\n v_add_u32 v6, s10, v6'),
    )}`,
  'bits of the number of the workgroup': `s_and_b32 s10, s2, 5\n${below(1000)}\n${where(store('v_mov_b32 v6, s10'))}`,
  'every second workgroup does less': `
    s_and_b32 s10, s2, 1\n s_mul_i32 s10, s10, 0x200\n v_cmp_gt_i32 vcc, s10, v3\n${where(add())}`,
  'a condition of the wave': `
    s_cmp_lg_u32 s2, 3\n s_cselect_b64 s[10:11], -1, 0\n${below(1000)}\n s_and_b64 vcc, vcc, s[10:11]\n${where(add())}`,
  'the number in another dimension': `
    s_lshl_b32 s10, s3, 6\n v_add_u32 v7, s10, v1\n v_cmp_gt_i32 vcc, 0x300, v7\n${where(add('v_lshlrev_b32 v4, 2, v7'))}`,
  'a number with an LDS that is not used': `${below(1000)}\n${where(add())}`,
  'one place for all workgroups': `${below(1000)}\n${where(store('v_mov_b32 v6, v3', 'v_lshlrev_b32 v4, 2, v1'))}`,
  'workgroups that store where the one before did': `
    s_lshl_b32 s10, s2, 3\n v_add_u32 v7, s10, v1\n${below(1000)}\n${where(store('v_mov_b32 v6, v3', 'v_lshlrev_b32 v4, 2, v7'))}`,
  'what workgroups before have stored': `${below(1000)}\n${where(`
    ${PLACE}
    global_load_dword v6, v4, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v6, v6, v3
    global_store_dword v4, v6, s[0:1] offset:2048`)}`,
  'what workgroups behind will store': `${below(1000)}\n${where(`
    ${PLACE}
    global_load_dword v6, v4, s[0:1] offset:1024
    s_waitcnt vmcnt(0)
    v_add_u32 v6, v6, v3
    global_store_dword v4, v6, s[0:1]`)}`,
  'what the wave loads and others store': `${below(1000)}\n${where(`
    s_load_dword s12, s[0:1], 0x800
    ${PLACE}
    s_waitcnt lgkmcnt(0)
    v_add_u32 v6, s12, v3
    global_store_dword v4, v6, s[0:1]`)}`,
  'a limit that others store': `
    s_load_dword s12, s[0:1], 0xc00
    s_waitcnt lgkmcnt(0)
    s_and_b32 s12, s12, 0x7ff
    v_cmp_gt_i32 vcc, s12, v3\n${where(store('v_mul_u32_u24 v6, 2, v3'))}`,
  'sums that are NaNs in some workgroups': `${below(1000)}\n${where(add(PLACE, 'v_add_f32 v6, v6, v6'))}`,
  ...Object.fromEntries(
    Object.entries({
      'the next place up to one': 'v_add_u32 v7, 1, v3\n v_min_i32 v7, 0x1f4, v7',
      'the place before from one on': 'v_add_u32 v7, -1, v3\n v_max_i32 v7, 0x12c, v7',
      'the next place between two': 'v_add_u32 v7, 1, v3\n v_max_i32 v7, 0x12c, v7\n v_min_i32 v7, 0x2f4, v7',
      'the next place up to one that is far': 'v_add_u32 v7, 1, v3\n v_min_i32 v7, 0x3f4, v7',
    }).map(([name, place]) => [
      name,
      `${below(1000)}\n${where(`
        ${place}
        v_lshlrev_b32 v7, 2, v7
        ${PLACE}
        global_load_dword v6, v7, s[0:1]
        s_waitcnt vmcnt(0)
        v_add_u32 v6, v6, v3
        global_store_dword v4, v6, s[0:1] offset:4092`)}`,
    ]),
  ),
  pairs: `${below(800)}\n${where(`
    v_lshlrev_b32 v4, 3, v3
    global_load_dwordx2 v[6:7], v4, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v6, v6, v7
    global_store_dwordx2 v4, v[6:7], s[0:1]`)}`,
  bytes: `${below(1000)}\n${where(`
    global_load_ubyte v6, v3, s[0:1]
    s_waitcnt vmcnt(0)
    v_add_u32 v6, v6, v3
    global_store_byte v3, v6, s[0:1]`)}`,
  'addresses of 64 bits': `${below(1000)}\n${where(`
    v_ashrrev_i32 v13, 31, v3
    v_mov_b32 v12, v3
    v_lshlrev_b64 v[8:9], 2, v[12:13]
    v_mov_b32 v10, s1
    v_add_co_u32 v8, vcc, s0, v8
    v_addc_co_u32 v9, vcc, v10, v9, vcc
    global_load_dword v6, v[8:9], off
    s_waitcnt vmcnt(0)
    v_add_u32 v6, 1, v6
    global_store_dword v[8:9], v6, off`)}`,
  'lanes that are further apart in each wave': `${below(1000)}\n${where(`
    v_and_b32 v7, 1, v2
    v_mul_lo_u32 v7, v1, v7
    v_lshlrev_b32 v7, 2, v7
    ${PLACE}
    global_load_dword v6, v7, s[0:1] offset:4032
    s_waitcnt vmcnt(0)
    global_store_dword v4, v6, s[0:1] offset:0`)}`,
  'seven arrays': `${below(200)}\n${where(`
    ${PLACE}
    s_mov_b32 s10, 0x400
    ${[1, 2, 3, 4, 5, 6].map((i) => `v_mad_u32_u24 v${10 + i}, s10, ${i}, v4\n v_mul_u32_u24 v${20 + i}, ${i + 1}, v3\n v_lshlrev_b32 v${20 + i}, 2, v${20 + i}\n v_and_b32 v${20 + i}, 0x1ffc, v${20 + i}\n global_load_dword v${30 + i}, v${10 + i}, s[0:1]`).join('\n')}
    s_waitcnt vmcnt(0)
    ${[2, 3, 4, 5, 6].map((i) => `v_xor_b32 v31, v31, v${30 + i}`).join('\n')}
    global_store_dword v4, v31, s[0:1]`)}`,
};

const FOUND: Readonly<Record<string, string>> = {
  'found loads': found(FEW),
  'found loads of bytes': found(FEW, 'global_load_ubyte v6, v7, s[20:21]'),
  'found loads of pairs': found(
    FEW,
    `global_load_dwordx2 v[6:7], v7, s[20:21]
    s_waitcnt vmcnt(0)
    v_xor_b32 v6, v6, v7`,
  ),
  'found loads from two places': found(
    FEW,
    `v_add_u32 v8, 4, v7
    v_xor_b32 v8, 8, v8
    global_load_dword v6, v7, s[20:21]
    global_load_dword v9, v8, s[20:21] offset:8
    s_waitcnt vmcnt(0)
    v_xor_b32 v6, v6, v9`,
  ),
  'found loads before the place': found(
    `${FEW}
    v_ashrrev_i32 v7, 2, v7
    v_sub_u32 v12, 3, v7
    v_ashrrev_i32 v13, 31, v12
    v_lshlrev_b64 v[8:9], 2, v[12:13]
    v_mov_b32 v10, s21
    v_add_co_u32 v8, vcc, s20, v8
    v_addc_co_u32 v9, vcc, v10, v9, vcc`,
    'global_load_dword v6, v[8:9], off offset:48',
  ),
  'found loads by the number of the workgroup, too': found(
    `${FEW}\n s_and_b32 s10, s2, 3\n v_lshl_add_u32 v7, s10, 2, v7`,
  ),
  'indices that other workgroups have stored': found(FEW, undefined, 0, 1024),
  'indices that other workgroups will store': found(FEW, undefined, 1024, 0),
  'values that the wave has stored': found(FEW, 'global_load_dword v6, v7, s[0:1]', 4092, 0),
  'found loads by found indices': found(
    FEW,
    `global_load_dword v8, v7, s[20:21]
    s_waitcnt vmcnt(0)
    v_and_b32 v8, 60, v8
    global_load_dword v6, v8, s[20:21]`,
  ),
};

/** Places that hold the number of one of `count` dwords from `first` on store something; others end early. */
const early = (first: number, count: number, to = 4092): string => `
  ${below(1000)}
  ${where(`
    ${PLACE}
    global_load_dword v7, v4, s[0:1]
    s_mov_b32 s10, 0x0e8b2f51
    s_waitcnt vmcnt(0)
    v_mul_lo_u32 v8, s10, v7
    v_subrev_u32 v8, 0x${first.toString(16)}, v8
    v_cmp_gt_u32 vcc, 0x${count.toString(16)}, v8
    s_and_saveexec_b64 s[10:11], vcc
    s_cbranch_execz .Lend
    v_add_u32 v7, 0x9e3779b1, v7
    global_store_dword v4, v7, s[0:1] offset:${to}`)}`;

const EARLY: Readonly<Record<string, string>> = {
  'early ends of all workgroups': early(5000, 9),
  'early ends of no workgroup': early(0, 1000),
  'early ends of most workgroups': early(515, 50),
  'early ends but in the first workgroup': early(3, 2),
  'early ends but in the last workgroups': early(900, 100),
  'early ends that others have stored': early(100, 30, 1024),
};

const FAULTS: Readonly<Record<string, string>> = {
  'found loads that are far': found('v_and_b32 v7, 0xffc, v7'),
  'found loads that are far in some workgroups': found(`${HALF}\n v_lshlrev_b32 v7, 14, v7`),
  'found loads before memory': found(`${HALF}\n v_lshlrev_b32 v7, 30, v7`),
  'found loads that are far by the number of the workgroup': found(
    `${FEW}\n v_and_b32 v8, 0x200, v3\n v_lshl_add_u32 v7, v8, 4, v7`,
  ),
  'a workgroup beyond the end': `v_cmp_le_i32 vcc, 0, v3\n${where(add('v_lshlrev_b32 v4, 4, v3'))}`,
  'a workgroup before the beginning': `
    v_cmp_le_i32 vcc, 0, v3\n${where(add('v_sub_u32 v4, 0x280, v3\n v_lshlrev_b32 v4, 2, v4'))}`,
};

const withShortMasks = (program: string): string =>
  program
    .replaceAll(/s\[(8|10):\d+\]/g, 's$1')
    .replaceAll(/\b(s_and_saveexec|s_and|s_cselect)_b64\b/g, '$1_b32')
    .replaceAll('s_load_dword', 's_load_b32');

for (const [programs, mayFault] of [
  [PROGRAMS, false],
  [FOUND, false],
  [EARLY, false],
  [FAULTS, true],
] as const) {
  for (const [name, program] of Object.entries(programs)) {
    for (const [shapeName, shape] of Object.entries(SHAPES)) {
      const launch = {
        ...shape,
        ldsSizeBytes: name.includes('LDS') ? 512 : 0,
        workItemIdComponents: 1,
        workgroupIdSgprs: [2, 3, 6],
      } as const;
      const text = `${IDS(shape.workgroupSize)}\n${program}`;
      test(`${name}: ${shapeName}`, () => compareOutcomes(text, mayFault, {}, 64, launch));
      test(`${name}: ${shapeName}, wave32`, () =>
        compareOutcomes(withShortMasks(ofWave32(text)), mayFault, { processor: 'gfx1100' }, 32, launch));
    }
  }
}
