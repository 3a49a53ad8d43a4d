/** What scalar instructions do on gfx11 only, or otherwise than on gfx9. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, type FieldValues } from '../encoding/encode.test-support.ts';
import { TestWave } from '../semantics/machine.test-support.ts';

const EXEC_LO = 126;
const NULL = 124;
const S = (register: number): number => register;

const run = (wave: TestWave, name: string, fields: FieldValues = {}): void => {
  wave.run(encode(name, fields, undefined, 'gfx1100'), 'gfx1100');
};

/** Result of source 0b1100 and EXEC 0b1010, in the four lowest bits. */
const LOGIC: Readonly<Record<string, number>> = {
  and: 0b1000,
  or: 0b1110,
  xor: 0b0110,
  nand: 0b0111,
  nor: 0b0001,
  xnor: 0b1001,
  and_not1: 0b0100,
  or_not1: 0b1101,
  and_not0: 0b0010,
  or_not0: 0b1011,
};

/** The bits above are those of 0 and 0. */
const INVERTED = new Set(['nand', 'nor', 'xnor', 'or_not1', 'or_not0']);

for (const waveSize of [32, 64] as const) {
  test(`wave${waveSize}: s_*_saveexec_b32 and s_*_wrexec_b32 change the low half of EXEC`, () => {
    for (const [name, bits] of Object.entries(LOGIC)) {
      const wave = new TestWave(waveSize);
      wave.sgprs[S(2)] = 0b1100;
      wave.exec = 0x55_0000_000an;
      run(wave, `s_${name}_saveexec_b32`, { sdst: 8, ssrc0: 2 });
      const expected = INVERTED.has(name) ? bits | ~15 : bits;
      assert.equal(wave.sgprs[S(8)], 0b1010, `${name} destination`);
      assert.equal(wave.sgprs[EXEC_LO], expected, name);
      assert.equal(wave.sgprs[EXEC_LO + 1], 0x55, `${name} high half`);
      assert.equal(wave.scc, 1);
    }
    const wave = new TestWave(waveSize);
    wave.sgprs[S(2)] = 0b0101;
    wave.exec = 0xan;
    run(wave, 's_and_not1_wrexec_b32', { sdst: 8, ssrc0: 2 });
    assert.equal(wave.sgprs[S(8)], 0b0101);
    run(wave, 's_and_not0_wrexec_b32', { sdst: 8, ssrc0: 2 });
    assert.equal(wave.exec, 0n);
    assert.equal(wave.scc, 0);
  });
}

test('wave32: branches on VCC and EXEC look at the low halves', () => {
  const cases: [name: string, mask: 'vcc' | 'exec', value: bigint, taken: boolean][] = [
    ['s_cbranch_vccz', 'vcc', 0x1_0000_0000n, true],
    ['s_cbranch_vccnz', 'vcc', 0x1_0000_0000n, false],
    ['s_cbranch_vccz', 'vcc', 1n, false],
    ['s_cbranch_execz', 'exec', 0x1_0000_0000n, true],
    ['s_cbranch_execnz', 'exec', 0x1_0000_0000n, false],
  ];
  for (const [name, mask, value, taken] of cases) {
    const wave = new TestWave(32);
    wave[mask] = value;
    run(wave, name, { simm16: 4 });
    assert.equal(wave.branched, taken, name);
  }
});

test('names and halves: ctz, clz, cls, packing the high half of the first with the low one of the second', () => {
  const wave = new TestWave(32);
  wave.sgprs[S(2)] = 0x00f0_0000;
  wave.sgprs[S(3)] = 0xaaaa_5555;
  for (const [name, expected] of [
    ['s_ctz_i32_b32', 20],
    ['s_clz_i32_u32', 8],
    ['s_cls_i32', 8],
  ] as const) {
    run(wave, name, { sdst: 8, ssrc0: 2 });
    assert.equal(wave.sgprs[S(8)], expected, name);
  }
  run(wave, 's_pack_hl_b32_b16', { sdst: 8, ssrc0: 2, ssrc1: 3 });
  assert.equal(wave.sgprs[S(8)], 0x5555_00f0);
});

test('s_round_mode and s_denorm_mode replace their four bits of MODE', () => {
  const wave = new TestWave(32);
  wave.mode = 0x12f5;
  run(wave, 's_round_mode', { simm16: 0xfffa });
  assert.equal(wave.mode, 0x12fa);
  run(wave, 's_denorm_mode', { simm16: 3 });
  assert.equal(wave.mode, 0x123a);
});

test('messages: an interrupt, VGPRs given back, the real time; others are refused', () => {
  const wave = new TestWave(32);
  run(wave, 's_sendmsg', { simm16: 3 });
  assert.equal(wave.exited, undefined);
  run(wave, 's_sendmsg', { simm16: 1 });
  assert.equal(wave.exited, 'interrupt');
  assert.throws(() => run(wave, 's_sendmsg', { simm16: 9 }), { code: 'UNSUPPORTED' });
  wave.ticks = 0x12_3456_7890n;
  run(wave, 's_sendmsg_rtn_b64', { sdst: 8, ssrc0: 0x83 });
  assert.equal(wave.pair(8), 0x12_3456_7890n);
  run(wave, 's_sendmsg_rtn_b32', { sdst: 10, ssrc0: 0x83 });
  assert.equal(wave.pair(10), 0x3456_7891n);
  assert.throws(() => run(wave, 's_sendmsg_rtn_b32', { sdst: 10, ssrc0: 0x82 }), {
    code: 'UNSUPPORTED',
    message: /s_sendmsg_rtn_b32' with message 130/,
  });
});

const hwreg = (id: number, first = 0, width = 32): number => id | (first << 6) | ((width - 1) << 11);

test('hardware registers: MODE, STATUS, a cycle counter of 20 bits, constants; others are refused by name', () => {
  const wave = new TestWave(32);
  const read = (id: number, first?: number, width?: number): number => {
    run(wave, 's_getreg_b32', { sdst: 8, simm16: hwreg(id, first, width) });
    return wave.sgprs[S(8)]!;
  };
  wave.vcc = 0x1_0000_0000n;
  wave.exec = 1n;
  wave.scc = 1;
  assert.equal(read(2, 0, 11), 0x401);
  wave.ticks = 0x7_1234_5678n;
  assert.equal(read(29, 0, 20), 0x45678);
  assert.equal(read(23), 0);
  for (const [id, name] of [
    [20, 'HW_REG_FLAT_SCR_LO'],
    [27, 'HW_REG_PERF_SNAPSHOT_DATA'],
    [4, '4'],
  ] as const) {
    assert.throws(() => read(id), { code: 'UNSUPPORTED', message: new RegExp(`hardware register ${name}$`) });
  }
});

test('waiting, clauses, hints and the prefetch distance do nothing', () => {
  for (const name of ['s_waitcnt', 's_delay_alu', 's_clause', 's_waitcnt_depctr', 's_wait_idle', 's_wait_event']) {
    const wave = new TestWave(32);
    run(wave, name);
    assert.equal(wave.exited, undefined);
  }
  run(new TestWave(32), 's_waitcnt_vscnt', { sdst: NULL, simm16: 0 });
  run(new TestWave(32), 's_set_inst_prefetch_distance', { simm16: 3 });
  assert.throws(() => run(new TestWave(32), 's_code_end'), { code: 'UNSUPPORTED' });
});

/** Passes over the halves of EXEC, as the loop of RDNA2 ISA 4.2.1 makes them; `body` sees EXEC. */
function subvectorPasses(exec: bigint): bigint[] {
  const wave = new TestWave(64);
  const passes: bigint[] = [];
  wave.exec = exec;
  run(wave, 's_subvector_loop_begin', { sdst: 8, simm16: 4 });
  while (!wave.branched) {
    passes.push(wave.exec);
    run(wave, 's_subvector_loop_end', { sdst: 8, simm16: 0xfffc });
    if (!wave.branched) break;
    wave.branched = false;
  }
  assert.equal(wave.exec, exec, 'EXEC is what it was');
  return passes;
}

test('subvector loops: one pass for each half of EXEC with lanes', () => {
  assert.deepEqual(subvectorPasses(0n), []);
  assert.deepEqual(subvectorPasses(5n), [5n]);
  assert.deepEqual(subvectorPasses(0x7_0000_0000n), [0x7_0000_0000n]);
  assert.deepEqual(subvectorPasses(0x7_0000_0005n), [5n, 0x7_0000_0000n]);
});

test('NULL reads as 0 and swallows what is written', () => {
  const wave = new TestWave(32);
  wave.sgprs[S(2)] = 7;
  run(wave, 's_add_u32', { sdst: 8, ssrc0: 2, ssrc1: NULL });
  assert.equal(wave.sgprs[S(8)], 7);
  run(wave, 's_mov_b32', { sdst: NULL, ssrc0: 2 });
  assert.equal(wave.sgprs[124], 0);
});

test('scalar loads: base, signed immediate and unsigned register together, each without its two low bits', () => {
  const wave = new TestWave(32);
  for (let i = 0; i < 64; i++) wave.memory.setUint32(0x100 + i * 4, 1000 + i, true);
  wave.sgprs.set([0x102, 0], 4);
  wave.sgprs[S(6)] = 0x23;
  const load = (fields: FieldValues, name = 's_load_b64'): number[] => {
    run(wave, name, { sdata: 8, sbase: 2, ...fields });
    return [...wave.sgprs.slice(8, 10)];
  };
  assert.deepEqual(load({ soffset: NULL, offset: 0x13 }), [1004, 1005]);
  assert.deepEqual(load({ soffset: 6, offset: 0x10 }), [1012, 1013]);
  assert.deepEqual(load({ soffset: 6, offset: 0x1ffff0 }), [1004, 1005]);
  assert.deepEqual(load({ soffset: NULL, offset: 0 }), [1000, 1001]);
  // A buffer of two records of 8 bytes: what is behind it reads as 0.
  wave.sgprs.set([0x100, 8 << 16, 2, 0], 12);
  run(wave, 's_buffer_load_b64', { sdata: 8, sbase: 6, soffset: NULL, offset: 12 });
  assert.deepEqual([...wave.sgprs.slice(8, 10)], [1003, 0]);
});
