/**
 * Loops whose lanes go on by the same number of bytes give what they give one lane after the other: where
 * lanes are side by side, where they are not, and where they leave what they may read.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXECUTORS, type ExecutorOptions, imageOf, KernelRig, kernelText } from './kernel-rig.test-support.ts';

const DATA_BYTES = 1 << 17;

interface Program {
  /** v1: bytes from the buffer at s[8:9] to a lane's first place; v4 is the lane, v0 four times that. */
  readonly start?: string;
  /** Loads to v2, and v3 beside it, and what goes on for the next iteration. */
  readonly body: string;
  readonly times?: number;
  readonly exec?: string;
  /** Adds to the sums in v5 what registers are behind the loop. */
  readonly after?: string;
}

const kernel = ({ start = '', body, times = 12, exec = '-1', after = '' }: Program): string => `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  v_mov_b32 v4, v0
  v_lshlrev_b32 v0, 2, v0
  v_mov_b32 v1, v0
  v_mov_b32 v2, 0
  v_mov_b32 v3, 0
  v_mov_b32 v5, 0
  v_mov_b32 v6, 0
  v_mov_b32 v7, 0
  s_mov_b32 s12, 0x100
  s_mov_b64 s[14:15], 0x100
  s_mov_b32 s20, ${times}
  s_waitcnt lgkmcnt(0)
  ${start}
  s_mov_b32 s22, 0x${exec === '-1' ? 'ffffffff' : exec.slice(-8)}
  s_mov_b32 s23, 0x${exec === '-1' ? 'ffffffff' : exec.slice(0, -8)}
  s_mov_b64 exec, s[22:23]
1:
  ${body}
  s_waitcnt vmcnt(0)
  v_mul_lo_u32 v5, 31, v5
  v_add3_u32 v5, v5, v2, v3
  s_sub_u32 s20, s20, 1
  s_cmp_lg_u32 s20, 0
  s_cbranch_scc1 1b
  s_mov_b64 exec, -1
  ${after}
  global_store_dword v0, v5, s[10:11]
  s_endpgm`;

/** v[6:7]: the buffer's address and v1. */
const POINTER = `
  v_mov_b32 v6, s8
  v_mov_b32 v7, s9
  v_add_co_u32 v6, vcc, v6, v1
  v_addc_co_u32 v7, vcc, 0, v7, vcc`;
const NEXT_POINTER = `
  v_add_co_u32 v6, vcc, s14, v6
  v_mov_b32 v8, s15
  v_addc_co_u32 v7, vcc, v7, v8, vcc`;
const LOAD = `global_load_dword v2, v[6:7], off`;
/** By an index, extended with its sign, of dwords. */
const INDEXED = `
  v_lshlrev_b32 v10, 2, v1
  v_ashrrev_i32 v11, 30, v1
  v_add_co_u32 v10, vcc, s8, v10
  v_mov_b32 v12, s9
  v_addc_co_u32 v11, vcc, v12, v11, vcc
  global_load_dword v2, v[10:11], off
  v_add_u32 v1, s12, v1`;
/** By an index, extended with its sign, behind a base whose high word is v12. */
const extendedLoad = (low: string): string => `
  v_ashrrev_i32 v9, 31, v1
  v_add_co_u32 v10, vcc, ${low}, v1
  v_addc_co_u32 v11, vcc, v12, v9, vcc
  global_load_dword v2, v[10:11], off`;
const STRIDED = 'v_mul_u32_u24 v1, 12, v4';
const TWO_ROWS = `
  v_and_b32 v1, 15, v4
  v_lshlrev_b32 v1, 2, v1
  v_lshrrev_b32 v9, 4, v4
  v_mul_u32_u24 v9, 0x3000, v9
  v_add_u32 v1, v1, v9`;
const MIXED = 'v_min_u32 v1, 0x50, v0';
const REGISTERS = `
  v_xor_b32 v5, v5, v1
  v_sub_u32 v6, v6, s8
  v_xor_b32 v5, v5, v6
  v_sub_u32 v7, v7, s9
  v_add_u32 v5, v5, v7`;
const SOME_LANES = '0003fffffff0fff8';
const FEW_LANES = '0000040000000000';

const PROGRAMS: Readonly<Record<string, Program>> = {
  'behind a pointer': { start: POINTER, body: LOAD + NEXT_POINTER },
  'behind a pointer that something reads later': { start: POINTER, body: LOAD + NEXT_POINTER, after: REGISTERS },
  'behind a pointer that goes down': {
    start: `s_mov_b32 s14, -0x100
      s_mov_b32 s15, -1
      v_add_u32 v1, 0x8000, v1 ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    after: REGISTERS,
  },
  'with an offset that an unsigned index gives': {
    body: `global_load_dword v2, v1, s[8:9] offset:16
      global_load_dword v3, v1, s[8:9] offset:1016
      v_add_u32 v1, s12, v1`,
    after: REGISTERS,
  },
  'with an index that is extended': { start: 'v_mov_b32 v1, v4', body: INDEXED, after: REGISTERS },
  'with a base that goes on': {
    body: `global_load_dword v2, v1, s[8:9]
      s_add_u32 s8, s8, 0x40
      s_addc_u32 s9, s9, 0`,
  },
  'at one place': { start: `v_mov_b32 v1, 8 ${POINTER}`, body: LOAD + NEXT_POINTER },
  'in rows of sixteen': { start: TWO_ROWS + POINTER, body: LOAD + NEXT_POINTER, after: REGISTERS },
  'twelve bytes from each other': { start: STRIDED + POINTER, body: LOAD + NEXT_POINTER, after: REGISTERS },
  'far from each other': {
    start: `v_mul_u32_u24 v1, 0x600, v4 ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    exec: SOME_LANES,
    after: REGISTERS,
  },
  'far from each other, with eight bytes each': {
    start: `v_mul_u32_u24 v1, 0x600, v4 ${POINTER}`,
    body: `global_load_dwordx2 v[2:3], v[6:7], off ${NEXT_POINTER}`,
  },
  'far from each other, with two bytes each': {
    start: `v_mul_u32_u24 v1, 0x602, v4 ${POINTER}`,
    body: `global_load_ushort v2, v[6:7], off ${NEXT_POINTER}`,
  },
  'of two allocations': {
    start: `v_and_b32 v1, 1, v4
      v_cmp_eq_u32 vcc, 1, v1
      v_mov_b32 v9, s8
      v_mov_b32 v10, s0
      v_cndmask_b32 v6, v9, v10, vcc
      v_mov_b32 v9, s9
      v_mov_b32 v10, s1
      v_cndmask_b32 v7, v9, v10, vcc
      s_mov_b64 s[14:15], 0`,
    body: `global_load_ushort v2, v[6:7], off ${NEXT_POINTER}`,
  },
  'side by side, then at one place': { start: MIXED + POINTER, body: LOAD + NEXT_POINTER },
  'of which some are off': { start: POINTER, body: LOAD + NEXT_POINTER, exec: SOME_LANES, after: REGISTERS },
  'of which one is on': { start: POINTER, body: LOAD + NEXT_POINTER, exec: FEW_LANES, after: REGISTERS },
  'of which some are off, that are not side by side': {
    start: `v_cndmask_b32 v9, 0, 1, vcc
      s_mov_b64 vcc, 0x7
      v_mov_b32 v9, 0x333
      v_cndmask_b32 v1, v1, v9, vcc ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    exec: SOME_LANES,
    after: REGISTERS,
  },
  'with eight bytes each': {
    start: `v_lshlrev_b32 v1, 1, v1 ${POINTER}`,
    body: `global_load_dwordx2 v[2:3], v[6:7], off offset:-8
      ${NEXT_POINTER}`,
    exec: '0003fffffff0fff8',
    after: REGISTERS,
  },
  'with two bytes each': {
    start: `v_lshrrev_b32 v1, 1, v1 ${POINTER}`,
    body: `global_load_ushort v2, v[6:7], off
      global_load_sshort v3, v[6:7], off offset:0x100 ${NEXT_POINTER}`,
  },
  'with one byte each': {
    start: `v_mov_b32 v1, v4 ${POINTER}`,
    body: `global_load_ubyte v2, v[6:7], off
      global_load_sbyte v3, v[6:7], off offset:3 ${NEXT_POINTER}`,
  },
  'with one byte each, four from each other': {
    start: POINTER,
    body: `global_load_ubyte v2, v[6:7], off ${NEXT_POINTER}`,
  },
  'with bytes and dwords at a base': {
    start: POINTER,
    body: `global_load_ubyte v2, v[6:7], off offset:1
      global_load_dword v3, v[6:7], off offset:8 ${NEXT_POINTER}`,
  },
  'that are flat': { start: POINTER, body: `flat_load_dword v2, v[6:7] ${NEXT_POINTER}` },
  'whose pointer another one is': {
    start: POINTER,
    body: `${LOAD}
      v_mov_b32 v8, v6
      v_add_co_u32 v6, vcc, s14, v8
      v_addc_co_u32 v7, vcc, 0, v7, vcc`,
  },
  'whose pointers go on by what is their own': {
    start: `v_and_b32 v13, 4, v0 ${POINTER}`,
    body: `${LOAD}
      v_add_co_u32 v6, vcc, v13, v6
      v_addc_co_u32 v7, vcc, 0, v7, vcc`,
  },
  'whose indices go on by what is their own': {
    start: 'v_and_b32 v13, 4, v0',
    body: `global_load_dword v2, v1, s[8:9]
      v_add_u32 v1, v13, v1`,
  },
  'that go on by what they read': {
    start: POINTER,
    body: `${LOAD}
      s_waitcnt vmcnt(0)
      v_and_b32 v9, 0x7c, v2
      v_add_co_u32 v6, vcc, v9, v6
      v_addc_co_u32 v7, vcc, 0, v7, vcc`,
  },
};

/** What lanes sum up, and how many instructions that takes. */
function sumsOf(program: Program, options: ExecutorOptions): { readonly sums: string; readonly instructions: number } {
  using rig = new KernelRig(options, imageOf(kernelText('sums', kernel(program))));
  const [data, out] = [rig.allocate(DATA_BYTES), rig.allocate(256)];
  const view = rig.view(data, DATA_BYTES);
  for (let at = 0; at < DATA_BYTES; at += 4) view.setUint32(at, Math.imul(at, 0x9e3779b1), true);
  for (let i = 0; i < 2; i++) rig.run('sums', data, out);
  const { instructions, tiers } = rig.queue.statistics;
  if (options.vertical === 'always') assert.ok(tiers.loops > 0);
  return { instructions, sums: Buffer.from(rig.runtime.view(out, 256)).toString('hex') };
}

for (const [what, program] of Object.entries(PROGRAMS)) {
  test(`loads of lanes ${what}`, () => {
    const [expected, ...others] = Object.values(EXECUTORS).map((options) => sumsOf(program, options));
    for (const other of others) assert.deepEqual(other, expected);
  });
}

/** A turn of a wave ends in the middle of these. */
const LONG: Readonly<Record<string, Program>> = {
  'that goes up': { start: `s_mov_b64 s[14:15], 4 ${POINTER}`, body: LOAD + NEXT_POINTER, times: 30000 },
  'that goes down': {
    start: `s_mov_b32 s14, -4
      s_mov_b32 s15, -1
      v_add_u32 v1, 0x1f000, v1 ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    times: 30000,
    exec: SOME_LANES,
  },
  'whose index goes on': {
    body: `global_load_dword v2, v1, s[8:9]
      v_add_u32 v1, 4, v1`,
    times: 30000,
  },
};

for (const [what, program] of Object.entries(LONG)) {
  test(`a loop behind a pointer ${what} goes on in the next turn`, () => {
    const expected = sumsOf(program, EXECUTORS['T0, handlers']!);
    for (const name of ['T1, regions', 'T2, loops'])
      assert.deepEqual(sumsOf(program, EXECUTORS[name]!), expected, name);
  });
}

/** Programs that fault, with the lane that does and how far that is from the buffer. */
const FAULTS: Readonly<Record<string, Program & { readonly lane: number; readonly at: number }>> = {
  'the allocation': { start: POINTER, body: LOAD + NEXT_POINTER, times: 1000, lane: 0, at: DATA_BYTES },
  'the allocation in the middle of a chunk': {
    start: `v_add_u32 v1, 24, v1 ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    times: 1000,
    lane: 58,
    at: DATA_BYTES,
  },
  'the allocation, far from each other': {
    start: `v_mul_u32_u24 v1, 0x600, v4 ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    times: 1000,
    lane: 63,
    at: DATA_BYTES,
  },
  'the allocation, one of them from the start': {
    start: `v_mul_u32_u24 v1, 0x600, v4
      v_cmp_eq_u32 vcc, 21, v4
      v_mov_b32 v9, 0x20000
      v_cndmask_b32 v1, v1, v9, vcc ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    lane: 21,
    at: DATA_BYTES,
  },
  'the allocation towards lower addresses': {
    start: `s_mov_b32 s14, -0x104
      s_mov_b32 s15, -1 ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    times: 1000,
    lane: 0,
    at: -0x104,
  },
  'the window': {
    start: `s_mov_b32 s14, 0
      s_mov_b32 s15, 1 ${POINTER}`,
    body: LOAD + NEXT_POINTER,
    lane: 0,
    at: 2 ** 32,
  },
  'the window, one of them from the start': {
    start: `${POINTER}
      v_cmp_eq_u32 vcc, 5, v4
      v_cndmask_b32 v9, 0, 1, vcc
      v_add_u32 v7, v7, v9`,
    body: LOAD + NEXT_POINTER,
    lane: 5,
    at: 2 ** 32 + 20,
  },
  'the window by an index': {
    start: 'v_mov_b32 v1, v4',
    body: `${INDEXED}
      s_mov_b32 s12, 0x40000000`,
    lane: 0,
    at: 2 ** 32 + 0x400,
  },
  'the window by an index that wraps': {
    start: `s_sub_u32 s8, s8, 0x7ffffc00
      s_subb_u32 s9, s9, 0
      v_mov_b32 v12, s9
      v_add_u32 v1, 0x7ffffc00, v1
      s_mov_b32 s12, 4`,
    body: `${extendedLoad('s8')}
      v_add_u32 v1, s12, v1`,
    times: 200,
    lane: 63,
    at: 1024 - 2 ** 32,
  },
  'the window by an index that another load extends with its sign': {
    start: `s_add_u32 s14, s8, 0x400
      s_addc_u32 s15, s9, 0
      s_sub_u32 s18, s15, 1
      v_mov_b32 v12, s15
      v_mov_b32 v13, s18
      v_subrev_u32 v1, 0x400, v1
      s_mov_b32 s12, 4`,
    body: `${extendedLoad('s14')}
      v_add_co_u32 v10, vcc, s14, v1
      v_addc_co_u32 v11, vcc, 0, v13, vcc
      global_load_dword v3, v[10:11], off
      v_add_u32 v1, s12, v1`,
    times: 200,
    lane: 63,
    at: 1024 - 2 ** 32,
  },
};

for (const [what, { lane, at, ...program }] of Object.entries(FAULTS)) {
  test(`lanes that leave ${what} fault where they do one after the other`, () => {
    const image = imageOf(kernelText('leaves', kernel(program)));
    for (const [name, options] of Object.entries(EXECUTORS)) {
      using rig = new KernelRig(options, image);
      const [data, out] = [rig.allocate(DATA_BYTES), rig.allocate(256)];
      const address = (BigInt(data) + BigInt(at)).toString(16);
      const expected = new RegExp(`invalid read of address 0x${address} by .*, lane ${lane};`);
      assert.throws(() => rig.run('leaves', data, out), expected, name);
    }
  });
}

test('lanes whose ends are in two allocations fault between them', () => {
  // The last lane goes on to the second buffer, which is behind the first one.
  const image = imageOf(
    kernelText(
      'between',
      kernel({
        start: `v_mul_u32_u24 v1, 0x600, v4
          s_sub_u32 s14, s10, s8
          s_sub_u32 s14, s14, 0x17a00
          s_mov_b32 s15, 0 ${POINTER}`,
        body: LOAD + NEXT_POINTER,
        times: 2,
      }),
    ),
  );
  const messages = Object.values(EXECUTORS).map((options) => {
    using rig = new KernelRig(options, image);
    const [data, out] = [rig.allocate(DATA_BYTES), rig.allocate(256)];
    assert.ok(out > data + BigInt(DATA_BYTES));
    try {
      rig.run('between', data, out);
    } catch (error) {
      // Of workers, another workgroup may come first.
      return (error as Error).message.replace(/workgroup \([^)]*\)/, '');
    }
    return undefined;
  });
  assert.match(messages[0]!, /invalid read of address/);
  for (const message of messages) assert.equal(message, messages[0]);
});
