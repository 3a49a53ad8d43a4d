import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { bitsOf, EDGES_32, EDGES_64, EXEC, fromBits, LITERAL, s, sop1, u } from '../scalar.test-support.ts';

const wave = new TestWave();

/** Source in s[2:3], result of `width` bits in s[6:7]; `scc` says what SCC becomes, else it stays. */
function check(
  name: string,
  opcode: number,
  [width, sourceWidth]: readonly [32 | 64, 32 | 64],
  expect: (x: bigint) => bigint,
  scc?: 'nonzero',
) {
  test(name, () => {
    const patterns =
      sourceWidth === 64 ? EDGES_64 : [...EDGES_32, 0xccccn, 0xffff_3333n, 0xaaaa_aaaan, 0x5555_5555n, 0xfffe_ffffn];
    for (const x of patterns) {
      for (const before of [0, 1]) {
        wave.setPair(2, sourceWidth === 64 ? x : x | 0xdead_0000_0000n);
        wave.setPair(6, 0n);
        wave.scc = before;
        assert.equal(wave.run([sop1(opcode, 6, 2)]).row.name, name);
        const result = u(width, expect(x));
        assert.equal(wave.pair(6).toString(16), result.toString(16), `${name}(0x${x.toString(16)})`);
        const sccAfter = scc === undefined ? before : result === 0n ? 0 : 1;
        assert.equal(wave.scc, sccAfter, `scc of ${name}(0x${x.toString(16)})`);
      }
    }
  });
}

type Unary = (x: bigint, bits: 32 | 64) => bigint;

/** Forms of 32 and 64 bits with consecutive opcodes. */
function checkPair(name: string, opcode: number, expect: Unary, scc?: 'nonzero') {
  check(`${name}_b32`, opcode, [32, 32], (x) => expect(x, 32), scc);
  check(`${name}_b64`, opcode + 1, [64, 64], (x) => expect(x, 64), scc);
}

/** The same with a 32-bit result. */
function checkCount(name: string, opcode: number, expect: (bits: number[]) => number, scc?: 'nonzero') {
  check(`${name}_b32`, opcode, [32, 32], (x) => BigInt(expect(bitsOf(32, x))), scc);
  check(`${name}_b64`, opcode + 1, [32, 64], (x) => BigInt(expect(bitsOf(64, x))), scc);
}

const quads = (bits: number[]): boolean[] =>
  Array.from({ length: bits.length / 4 }, (_, i) => bits.slice(4 * i, 4 * i + 4).includes(1));

checkPair('s_mov', 0, (x) => x);
checkPair('s_not', 4, (x, bits) => u(bits, ~x), 'nonzero');
checkPair('s_wqm', 6, (x, bits) => fromBits(quads(bitsOf(bits, x)).flatMap((any) => [any, any, any, any])), 'nonzero');
checkPair('s_brev', 8, (x, bits) => fromBits(bitsOf(bits, x).reverse()));
checkCount('s_bcnt0_i32', 10, (bits) => bits.filter((bit) => bit === 0).length, 'nonzero');
checkCount('s_bcnt1_i32', 12, (bits) => bits.filter((bit) => bit === 1).length, 'nonzero');
checkCount('s_ff0_i32', 14, (bits) => bits.indexOf(0));
checkCount('s_ff1_i32', 16, (bits) => bits.indexOf(1));
checkCount('s_flbit_i32', 18, (bits) => bits.reverse().indexOf(1));

const firstUnlikeSign = (bits: number[]): bigint => {
  const fromTop = bits.reverse();
  return BigInt(fromTop.findIndex((bit) => bit !== fromTop[0]));
};
check('s_flbit_i32', 20, [32, 32], (x) => firstUnlikeSign(bitsOf(32, x)));
check('s_flbit_i32_i64', 21, [32, 64], (x) => firstUnlikeSign(bitsOf(64, x)));
check('s_sext_i32_i8', 22, [32, 32], (x) => BigInt.asIntN(8, x));
check('s_sext_i32_i16', 23, [32, 32], (x) => BigInt.asIntN(16, x));
checkPair('s_quadmask', 40, (x, bits) => fromBits(quads(bitsOf(bits, x))), 'nonzero');
check('s_abs_i32', 48, [32, 32], (x) => (s(32, x) < 0n ? -s(32, x) : x), 'nonzero');
check('s_bitreplicate_b64_b32', 55, [64, 32], (x) => fromBits(bitsOf(32, x).flatMap((bit) => [bit, bit])));

test('s_cmov moves when SCC is set, and leaves SCC', () => {
  for (const scc of [0, 1]) {
    wave.scc = scc;
    wave.setPair(2, 0x1111_2222_3333_4444n);
    wave.setPair(6, 0x5555_6666_7777_8888n);
    wave.run([sop1(2, 6, 2)]); // s_cmov_b32 s6, s2
    assert.equal(wave.pair(6), scc ? 0x5555_6666_3333_4444n : 0x5555_6666_7777_8888n);
    wave.run([sop1(3, 6, 2)]); // s_cmov_b64 s[6:7], s[2:3]
    assert.equal(wave.pair(6), scc ? 0x1111_2222_3333_4444n : 0x5555_6666_7777_8888n);
    assert.equal(wave.scc, scc);
  }
});

test('s_bitset changes one bit of the destination; the index is taken modulo the width', () => {
  for (const [opcode, start, index, expected] of [
    [24, 0xffff_ffff_ffff_ffffn, 33, 0xffff_ffff_ffff_fffdn],
    [25, 0xffff_ffff_ffff_ffffn, 97, 0xffff_fffd_ffff_ffffn],
    [26, 0n, 63, 0x8000_0000n],
    [27, 0n, 127, 0x8000_0000_0000_0000n],
    [24, 0n, 1, 0n],
    [25, 0n, 1, 0n],
    [26, 0x12n, 1, 0x12n],
    [27, 0x12n, 1, 0x12n],
  ] as const) {
    wave.setPair(6, start);
    wave.sgprs[2] = index;
    wave.run([sop1(opcode, 6, 2)]);
    assert.equal(wave.pair(6), expected, `opcode ${opcode}`);
  }
});

const M = 0xffff_ffff_ffff_ffffn;
const SAVE_EXEC: readonly (readonly [string, number, (x: bigint, exec: bigint) => bigint])[] = [
  ['and', 32, (x, exec) => x & exec],
  ['or', 33, (x, exec) => x | exec],
  ['xor', 34, (x, exec) => x ^ exec],
  ['andn2', 35, (x, exec) => x & (M ^ exec)],
  ['orn2', 36, (x, exec) => x | (M ^ exec)],
  ['nand', 37, (x, exec) => M ^ (x & exec)],
  ['nor', 38, (x, exec) => M ^ (x | exec)],
  ['xnor', 39, (x, exec) => M ^ x ^ exec],
  ['andn1', 51, (x, exec) => (M ^ x) & exec],
  ['orn1', 52, (x, exec) => (M ^ x) | exec],
];
const MASKS = [0n, 1n, 0x8000_0000_0000_0000n, 0xff00_ff00_0f0f_0f0fn, M];

for (const [name, opcode, combine] of SAVE_EXEC) {
  test(`s_${name}_saveexec_b64`, () => {
    for (const exec of MASKS) {
      for (const x of MASKS) {
        const next = combine(x, exec);
        for (const sdst of [6, 2, EXEC]) {
          wave.exec = exec;
          wave.setPair(2, x);
          wave.scc = next === 0n ? 1 : 0;
          assert.equal(wave.run([sop1(opcode, sdst, 2)]).row.name, `s_${name}_saveexec_b64`);
          assert.equal(wave.exec, next, 'EXEC, also when it is the destination');
          if (sdst !== EXEC) assert.equal(wave.pair(sdst), exec, 'the old EXEC');
          assert.equal(wave.scc, next === 0n ? 0 : 1);
        }
      }
    }
  });
}

test('s_andn1_wrexec_b64 and s_andn2_wrexec_b64 write EXEC and the destination alike', () => {
  for (const exec of MASKS) {
    for (const x of MASKS) {
      for (const [opcode, next] of [
        [53, (M ^ x) & exec],
        [54, x & (M ^ exec)],
      ] as const) {
        wave.exec = exec;
        wave.setPair(2, x);
        wave.run([sop1(opcode, 6, 2)]);
        assert.deepEqual([wave.exec, wave.pair(6), wave.scc], [next, next, next === 0n ? 0 : 1]);
      }
    }
  }
});

test('the program counter: s_getpc_b64, s_setpc_b64, s_swappc_b64', () => {
  const jumping = new TestWave();
  jumping.pc = 0x7fff_ffff_fffcn;
  jumping.run([sop1(28, 6, 0)]);
  assert.equal(jumping.pair(6), 0x8000_0000_0000n);
  assert.equal(jumping.jumpedTo, undefined);
  jumping.setPair(2, 0x1234_5678_9abcn);
  jumping.run([sop1(29, 0, 2)]);
  assert.equal(jumping.jumpedTo, 0x1234_5678_9abcn);
  jumping.setPair(2, 0x4000n);
  jumping.run([sop1(30, 2, 2)]); // s_swappc_b64 s[2:3], s[2:3]: the target is read first
  assert.deepEqual([jumping.jumpedTo, jumping.pair(2)], [0x4000n, 0x8000_0000_0000n]);
});

test('constants, and EXEC as a destination', () => {
  wave.run([sop1(1, EXEC, 193)]); // s_mov_b64 exec, -1
  assert.equal(wave.exec, M);
  wave.run([sop1(0, 6, LITERAL), 0x8765_4321]);
  assert.equal(wave.sgprs[6]! >>> 0, 0x8765_4321);
  wave.run([sop1(1, 6, 248)]); // s_mov_b64 s[6:7], 0.15915494
  assert.equal(wave.pair(6), 0x3fc4_5f30_6dc9_c882n);
});

test('what cannot run is refused by name', () => {
  for (const [opcode, name] of [
    [31, 's_rfe_b64'],
    [46, 's_cbranch_join'],
  ] as const) {
    assert.throws(
      () => wave.run([sop1(opcode, 6, 2)]),
      (error) =>
        error instanceof WavewrightError &&
        error.code === 'UNSUPPORTED' &&
        error.what === `unsupported instruction '${name}'`,
    );
  }
});
