import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { assemble } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { bitsOf, EDGES_32, EDGES_64, fromBits, s, sgprs, u } from '../scalar.test-support.ts';

const wave = new TestWave();

/** Source in s[2:3], result of `width` bits in s[6:7]; `scc` says what SCC becomes, else it stays. */
function check(
  name: string,
  [width, sourceWidth]: readonly [32 | 64, 32 | 64],
  expect: (x: bigint) => bigint,
  scc?: 'nonzero',
) {
  test(name, () => {
    const words = assemble(`${name} ${sgprs(6, width)}, ${sgprs(2, sourceWidth)}`);
    const patterns =
      sourceWidth === 64 ? EDGES_64 : [...EDGES_32, 0xccccn, 0xffff_3333n, 0xaaaa_aaaan, 0x5555_5555n, 0xfffe_ffffn];
    for (const x of patterns) {
      for (const before of [0, 1]) {
        wave.setPair(2, sourceWidth === 64 ? x : x | 0xdead_0000_0000n);
        wave.setPair(6, 0n);
        wave.scc = before;
        assert.equal(wave.run(words).row.name, name);
        const result = u(width, expect(x));
        assert.equal(wave.pair(6).toString(16), result.toString(16), `${name}(0x${x.toString(16)})`);
        const sccAfter = scc === undefined ? before : result === 0n ? 0 : 1;
        assert.equal(wave.scc, sccAfter, `scc of ${name}(0x${x.toString(16)})`);
      }
    }
  });
}

type Unary = (x: bigint, bits: 32 | 64) => bigint;

/** Forms of 32 and 64 bits. */
function checkPair(name: string, expect: Unary, scc?: 'nonzero') {
  check(`${name}_b32`, [32, 32], (x) => expect(x, 32), scc);
  check(`${name}_b64`, [64, 64], (x) => expect(x, 64), scc);
}

/** The same with a 32-bit result. */
function checkCount(name: string, expect: (bits: number[]) => number, scc?: 'nonzero') {
  check(`${name}_b32`, [32, 32], (x) => BigInt(expect(bitsOf(32, x))), scc);
  check(`${name}_b64`, [32, 64], (x) => BigInt(expect(bitsOf(64, x))), scc);
}

const quads = (bits: number[]): boolean[] =>
  Array.from({ length: bits.length / 4 }, (_, i) => bits.slice(4 * i, 4 * i + 4).includes(1));

checkPair('s_mov', (x) => x);
checkPair('s_not', (x, bits) => u(bits, ~x), 'nonzero');
checkPair('s_wqm', (x, bits) => fromBits(quads(bitsOf(bits, x)).flatMap((any) => [any, any, any, any])), 'nonzero');
checkPair('s_brev', (x, bits) => fromBits(bitsOf(bits, x).reverse()));
checkCount('s_bcnt0_i32', (bits) => bits.filter((bit) => bit === 0).length, 'nonzero');
checkCount('s_bcnt1_i32', (bits) => bits.filter((bit) => bit === 1).length, 'nonzero');
checkCount('s_ff0_i32', (bits) => bits.indexOf(0));
checkCount('s_ff1_i32', (bits) => bits.indexOf(1));
checkCount('s_flbit_i32', (bits) => bits.reverse().indexOf(1));

const firstUnlikeSign = (bits: number[]): bigint => {
  const fromTop = bits.reverse();
  return BigInt(fromTop.findIndex((bit) => bit !== fromTop[0]));
};
check('s_flbit_i32', [32, 32], (x) => firstUnlikeSign(bitsOf(32, x)));
check('s_flbit_i32_i64', [32, 64], (x) => firstUnlikeSign(bitsOf(64, x)));
check('s_sext_i32_i8', [32, 32], (x) => BigInt.asIntN(8, x));
check('s_sext_i32_i16', [32, 32], (x) => BigInt.asIntN(16, x));
checkPair('s_quadmask', (x, bits) => fromBits(quads(bitsOf(bits, x))), 'nonzero');
check('s_abs_i32', [32, 32], (x) => (s(32, x) < 0n ? -s(32, x) : x), 'nonzero');
check('s_bitreplicate_b64_b32', [64, 32], (x) => fromBits(bitsOf(32, x).flatMap((bit) => [bit, bit])));

test('s_cmov moves when SCC is set, and leaves SCC', () => {
  for (const scc of [0, 1]) {
    wave.scc = scc;
    wave.setPair(2, 0x1111_2222_3333_4444n);
    wave.setPair(6, 0x5555_6666_7777_8888n);
    wave.run('s_cmov_b32 s6, s2');
    assert.equal(wave.pair(6), scc ? 0x5555_6666_3333_4444n : 0x5555_6666_7777_8888n);
    wave.run('s_cmov_b64 s[6:7], s[2:3]');
    assert.equal(wave.pair(6), scc ? 0x1111_2222_3333_4444n : 0x5555_6666_7777_8888n);
    assert.equal(wave.scc, scc);
  }
});

test('s_bitset changes one bit of the destination; the index is taken modulo the width', () => {
  for (const [text, start, index, expected] of [
    ['s_bitset0_b32 s6, s2', 0xffff_ffff_ffff_ffffn, 33, 0xffff_ffff_ffff_fffdn],
    ['s_bitset0_b64 s[6:7], s2', 0xffff_ffff_ffff_ffffn, 97, 0xffff_fffd_ffff_ffffn],
    ['s_bitset1_b32 s6, s2', 0n, 63, 0x8000_0000n],
    ['s_bitset1_b64 s[6:7], s2', 0n, 127, 0x8000_0000_0000_0000n],
    ['s_bitset0_b32 s6, s2', 0n, 1, 0n],
    ['s_bitset0_b64 s[6:7], s2', 0n, 1, 0n],
    ['s_bitset1_b32 s6, s2', 0x12n, 1, 0x12n],
    ['s_bitset1_b64 s[6:7], s2', 0x12n, 1, 0x12n],
  ] as const) {
    wave.setPair(6, start);
    wave.sgprs[2] = index;
    wave.run(text);
    assert.equal(wave.pair(6), expected, text);
  }
});

const M = 0xffff_ffff_ffff_ffffn;
const SAVE_EXEC: readonly (readonly [string, (x: bigint, exec: bigint) => bigint])[] = [
  ['and', (x, exec) => x & exec],
  ['or', (x, exec) => x | exec],
  ['xor', (x, exec) => x ^ exec],
  ['andn2', (x, exec) => x & (M ^ exec)],
  ['orn2', (x, exec) => x | (M ^ exec)],
  ['nand', (x, exec) => M ^ (x & exec)],
  ['nor', (x, exec) => M ^ (x | exec)],
  ['xnor', (x, exec) => M ^ x ^ exec],
  ['andn1', (x, exec) => (M ^ x) & exec],
  ['orn1', (x, exec) => (M ^ x) | exec],
];
const MASKS = [0n, 1n, 0x8000_0000_0000_0000n, 0xff00_ff00_0f0f_0f0fn, M];

for (const [name, combine] of SAVE_EXEC) {
  test(`s_${name}_saveexec_b64`, () => {
    for (const exec of MASKS) {
      for (const x of MASKS) {
        const next = combine(x, exec);
        for (const sdst of ['s[6:7]', 's[2:3]', 'exec']) {
          wave.exec = exec;
          wave.setPair(2, x);
          wave.scc = next === 0n ? 1 : 0;
          assert.equal(wave.run(`s_${name}_saveexec_b64 ${sdst}, s[2:3]`).row.name, `s_${name}_saveexec_b64`);
          assert.equal(wave.exec, next, 'EXEC, also when it is the destination');
          if (sdst !== 'exec') assert.equal(wave.pair(sdst === 's[6:7]' ? 6 : 2), exec, 'the old EXEC');
          assert.equal(wave.scc, next === 0n ? 0 : 1);
        }
      }
    }
  });
}

test('s_andn1_wrexec_b64 and s_andn2_wrexec_b64 write EXEC and the destination alike', () => {
  for (const exec of MASKS) {
    for (const x of MASKS) {
      for (const [name, next] of [
        ['s_andn1_wrexec_b64', (M ^ x) & exec],
        ['s_andn2_wrexec_b64', x & (M ^ exec)],
      ] as const) {
        wave.exec = exec;
        wave.setPair(2, x);
        wave.run(`${name} s[6:7], s[2:3]`);
        assert.deepEqual([wave.exec, wave.pair(6), wave.scc], [next, next, next === 0n ? 0 : 1]);
      }
    }
  }
});

test('the program counter: s_getpc_b64, s_setpc_b64, s_swappc_b64', () => {
  const jumping = new TestWave();
  jumping.pc = 0x7fff_ffff_fffcn;
  jumping.run('s_getpc_b64 s[6:7]');
  assert.equal(jumping.pair(6), 0x8000_0000_0000n);
  assert.equal(jumping.jumpedTo, undefined);
  jumping.setPair(2, 0x1234_5678_9abcn);
  jumping.run('s_setpc_b64 s[2:3]');
  assert.equal(jumping.jumpedTo, 0x1234_5678_9abcn);
  jumping.setPair(2, 0x4000n);
  jumping.run('s_swappc_b64 s[2:3], s[2:3]'); // the target is read first
  assert.deepEqual([jumping.jumpedTo, jumping.pair(2)], [0x4000n, 0x8000_0000_0000n]);
});

test('constants, and EXEC as a destination', () => {
  wave.run('s_mov_b64 exec, -1');
  assert.equal(wave.exec, M);
  wave.run('s_mov_b32 s6, 0x87654321');
  assert.equal(wave.sgprs[6]! >>> 0, 0x8765_4321);
  wave.run('s_mov_b64 s[6:7], 0.15915494309189532');
  assert.equal(wave.pair(6), 0x3fc4_5f30_6dc9_c882n);
});

test('what cannot run is refused by name', () => {
  for (const [name, operands] of [
    ['s_rfe_b64', 's[2:3]'],
    ['s_cbranch_join', 's2'],
  ] as const) {
    assert.throws(
      () => wave.run(`${name} ${operands}`),
      (error) =>
        error instanceof WavewrightError &&
        error.code === 'UNSUPPORTED' &&
        error.what === `unsupported instruction '${name}'`,
    );
  }
});
