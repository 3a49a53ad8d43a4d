import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { EDGES_32, s, u } from '../scalar.test-support.ts';

const wave = new TestWave();
const CONSTANTS = [0, 1, 2, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff];
const signed = (constant: number): bigint => BigInt.asIntN(16, BigInt(constant));

function run(name: string, x: bigint, constant: number, scc: number): { result: bigint; scc: number; name: string } {
  wave.setPair(6, x);
  wave.scc = scc;
  const { row } = wave.run(`${name} s6, ${constant}`);
  return { result: u(32, BigInt(wave.sgprs[6]!)), scc: wave.scc, name: row.name };
}

test('moves', () => {
  for (const constant of CONSTANTS) {
    const extended = u(32, signed(constant));
    assert.deepEqual(run('s_movk_i32', 5n, constant, 1), { result: extended, scc: 1, name: 's_movk_i32' });
    assert.deepEqual(run('s_cmovk_i32', 5n, constant, 1), { result: extended, scc: 1, name: 's_cmovk_i32' });
    assert.deepEqual(run('s_cmovk_i32', 5n, constant, 0), { result: 5n, scc: 0, name: 's_cmovk_i32' });
  }
});

const RELATIONS: readonly (readonly [string, (x: bigint, y: bigint) => boolean])[] = [
  ['eq', (x, y) => x === y],
  ['lg', (x, y) => x !== y],
  ['gt', (x, y) => x > y],
  ['ge', (x, y) => x >= y],
  ['lt', (x, y) => x < y],
  ['le', (x, y) => x <= y],
];

test('comparisons: the constant is sign-extended for i32, zero-extended for u32', () => {
  for (const [name, holds] of RELATIONS) {
    for (const x of [...EDGES_32, 0x7fffn, 0x8000n, 0xffffn, 0xffff_8000n]) {
      for (const constant of CONSTANTS) {
        const asSigned = holds(s(32, x), signed(constant)) ? 1 : 0;
        assert.deepEqual(run(`s_cmpk_${name}_i32`, x, constant, 1 - asSigned), {
          result: x,
          scc: asSigned,
          name: `s_cmpk_${name}_i32`,
        });
        const asUnsigned = holds(x, BigInt(constant)) ? 1 : 0;
        assert.deepEqual(run(`s_cmpk_${name}_u32`, x, constant, 1 - asUnsigned), {
          result: x,
          scc: asUnsigned,
          name: `s_cmpk_${name}_u32`,
        });
      }
    }
  }
});

test('s_addk_i32 sets SCC on signed overflow, s_mulk_i32 leaves it', () => {
  for (const x of EDGES_32) {
    for (const constant of CONSTANTS) {
      const sum = s(32, x) + signed(constant);
      const overflow = s(32, sum) === sum ? 0 : 1;
      assert.deepEqual(run('s_addk_i32', x, constant, 1 - overflow), {
        result: u(32, sum),
        scc: overflow,
        name: 's_addk_i32',
      });
      const product = u(32, s(32, x) * signed(constant));
      for (const scc of [0, 1])
        assert.deepEqual(run('s_mulk_i32', x, constant, scc), { result: product, scc, name: 's_mulk_i32' });
    }
  }
});

test('s_call_b64 saves the next address and jumps relative to it', () => {
  const calling = new TestWave();
  calling.pc = 0x1_0000_0000n;
  calling.run('s_call_b64 s[6:7], 3');
  assert.deepEqual([calling.pair(6), calling.jumpedTo], [0x1_0000_0004n, 0x1_0000_0010n]);
  calling.run('s_call_b64 s[6:7], -3');
  assert.deepEqual([calling.pair(6), calling.jumpedTo], [0x1_0000_0004n, 0xffff_fff8n]);
});

const hwreg = (id: number, offset: number, size: number): string => `hwreg(${id}, ${offset}, ${size})`;

test('s_getreg_b32', () => {
  const registers = new TestWave();
  registers.mode = 0x8000_02f1 | 0;
  registers.trapsts = 0x123;
  registers.status = 0x0001_0601;
  registers.scc = 0;
  registers.exec = 1n;
  registers.vcc = 0n;
  for (const [id, offset, size, expected] of [
    [1, 0, 32, 0x8000_02f1],
    [1, 0, 4, 1],
    [1, 4, 4, 0xf],
    [1, 31, 1, 1],
    [1, 28, 32, 8], // MODE
    [2, 0, 32, 0x0001_0400],
    [2, 10, 1, 1], // STATUS: VCCZ is live, as SCC and EXECZ are
    [3, 4, 5, 0x12], // TRAPSTS
    [4, 0, 32, 0],
    [7, 0, 32, 0], // HW_ID, IB_STS
    [15, 0, 16, 2],
    [15, 16, 16, 1], // SH_MEM_BASES: private, shared
  ] as const) {
    registers.run(`s_getreg_b32 s6, ${hwreg(id, offset, size)}`);
    assert.equal(registers.sgprs[6]! >>> 0, expected, hwreg(id, offset, size));
  }
  registers.scc = 1;
  registers.exec = 0n;
  registers.vcc = 1n << 63n;
  registers.run('s_getreg_b32 s6, hwreg(2, 0, 32)');
  assert.equal(registers.sgprs[6], 0x0001_0201);
});

test('s_setreg_b32 and s_setreg_imm32_b32 replace the selected bits of MODE and TRAPSTS', () => {
  const registers = new TestWave();
  for (const [id, offset, size, before, value, after] of [
    [1, 0, 4, 0x2f0, 0xffff_fffc, 0x2fc],
    [1, 4, 4, 0x2f0, 0x13, 0x230],
    [1, 0, 32, 0x2f0, 0xffff_ffff, 0xffff_ffff],
    [1, 30, 8, 0x2f0, 0xffff_ffff, 0xc000_02f0], // what would lie above bit 31 is dropped
    [3, 0, 5, 0xff, 0, 0xe0],
  ] as const) {
    const field = hwreg(id, offset, size);
    for (const isImmediate of [false, true]) {
      registers.mode = id === 1 ? before : 0;
      registers.trapsts = id === 3 ? before : 0;
      registers.sgprs[6] = isImmediate ? 0x5a5a5a5a : value;
      const { sizeBytes } = registers.run(
        isImmediate ? `s_setreg_imm32_b32 ${field}, ${value}` : `s_setreg_b32 ${field}, s6`,
      );
      assert.equal(sizeBytes, isImmediate ? 8 : 4);
      assert.equal((id === 1 ? registers.mode : registers.trapsts) >>> 0, after, field);
      assert.equal(id === 1 ? registers.trapsts : registers.mode, 0);
    }
  }
});

test('what cannot run is refused by name', () => {
  for (const [text, message] of [
    ['s_cbranch_i_fork s[6:7], 0', /^unsupported instruction 's_cbranch_i_fork'$/],
    ['s_getreg_b32 s6, hwreg(5)', /'s_getreg_b32': read of hardware register HW_REG_GPR_ALLOC$/],
    ['s_getreg_b32 s6, hwreg(33)', /'s_getreg_b32': read of hardware register 33$/],
    ['s_setreg_b32 hwreg(2, 0, 1), s6', /'s_setreg_b32': write to hardware register HW_REG_STATUS$/],
    ['s_setreg_imm32_b32 hwreg(4, 0, 1), 0', /'s_setreg_imm32_b32': write to hardware register HW_REG_HW_ID$/],
  ] as const) {
    assert.throws(
      () => wave.run(text),
      (error) => error instanceof WavewrightError && error.code === 'UNSUPPORTED' && message.test(error.message),
    );
  }
});
