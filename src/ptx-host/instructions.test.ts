/** Single instructions against values worked out by hand or by other means than their rows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomesOf } from './ptx-runs.test-support.ts';

const MASK32 = 0xffffffffn;
const THREADS = 32;

/** Instructions of one form, each as a line, with what they leave in the register `%r40` or `%rd30`. */
interface Case {
  readonly line: string;
  /** Bits of the result. */
  readonly bits: 32 | 64;
  readonly wanted: bigint;
}

const narrow = (line: string, wanted: number | bigint): Case => ({
  line,
  bits: 32,
  wanted: BigInt.asUintN(32, BigInt(wanted)),
});
const wide = (line: string, wanted: number | bigint): Case => ({
  line,
  bits: 64,
  wanted: BigInt.asUintN(64, BigInt(wanted)),
});

/** `d` in a line is the result's register. */
async function check(cases: readonly Case[]): Promise<void> {
  const body = cases.map(({ line, bits }, i) => {
    const register = bits === 32 ? '%r40' : '%rd30';
    const text = line.replace(/\bd\b/g, register);
    const store = bits === 32 ? '  cvt.u64.u32 %rd30, %r40;\n' : '';
    return `  setp.ne.u32 %p10, %gid, ${i};\n  @%p10 bra next${i};\n  ${text};\n${store}  st.global.u64 [%out], %rd30;\nnext${i}:`;
  });
  const found = await outcomesOf(body.join('\n'), { threads: Math.max(THREADS, Math.ceil(cases.length / 32) * 32) });
  assert.deepEqual(
    cases.map(({ line }, i) => `${line} = 0x${found[i]!.toString(16)}`),
    cases.map(({ line, bits, wanted }) => `${line} = 0x${(bits === 32 ? wanted & MASK32 : wanted).toString(16)}`),
  );
}

// PTX ISA 9.7.1, 9.7.2, 9.7.8; shifts clamp, fields count modulo 256, a division by zero does not trap.
test('integers', () =>
  check([
    narrow('add.sat.s32 d, 0x7fffffff, 5', 0x7fffffff),
    narrow('sub.sat.s32 d, -0x7fffffff, 5', -0x80000000),
    narrow('mul.hi.s32 d, -3, 0x40000000', -1),
    narrow('mul.hi.u32 d, -3, 0x40000000', 0x3fffffff),
    wide('mul.wide.s32 d, -3, 5', -15),
    wide('mul.hi.u64 d, -1, -1', -2),
    wide('mul.hi.s64 d, -1, 5', -1),
    narrow('mul24.lo.s32 d, 0x1800000, 3', -0x1800000),
    narrow('div.s32 d, -7, 2', -3),
    narrow('rem.s32 d, -7, 2', -1),
    narrow('div.u32 d, -7, 2', 0x7ffffffc),
    wide('div.s64 d, -0x7000000000000000, 3', -0x7000000000000000n / 3n),
    wide('rem.u64 d, 0xffffffffffffffff, 1000', 0xffffffffffffffffn % 1000n),
    wide('div.u64 d, 5, 0', -1),
    narrow('abs.s32 d, -0x80000000', -0x80000000),
    narrow('sad.s32 d, -5, 7, 100', 112),
    narrow('shl.b32 d, 1, 32', 0),
    narrow('shr.s32 d, -8, 99', -1),
    narrow('shr.u32 d, -8, 99', 0),
    wide('shl.b64 d, 1, 40', 1n << 40n),
    narrow('shf.l.wrap.b32 d, 0x80000000, 1, 33', 3),
    narrow('shf.r.clamp.b32 d, 0x80000000, 1, 40', 1),
    narrow('bfe.u32 d, 0xabcd, 4, 8', 0xbc),
    narrow('bfe.s32 d, 0xabcd, 4, 8', -0x44),
    narrow('bfe.s32 d, -1, 40, 3', -1),
    narrow('bfe.u32 d, -1, 0, 0', 0),
    wide('bfe.s64 d, 0xf000000000000000, 56, 16', -16),
    narrow('bfi.b32 d, 0xf, 0, 4, 4', 0xf0),
    narrow('bfi.b32 d, 0xf, 7, 40, 4', 7),
    narrow('prmt.b32 d, 0x03020100, 0x07060504, 0x7531', 0x07050301),
    narrow('prmt.b32 d, 0x80, 0, 0x8', 0x808080ff),
    narrow('prmt.b32.rc16 d, 0x44332211, 0, 1', 0x44334433),
    narrow('lop3.b32 d, 0xf0, 0xcc, 0xaa, 0xe8', (0xf0 & 0xcc) | (0xf0 & 0xaa) | (0xcc & 0xaa)),
    narrow('brev.b32 d, 1', 0x80000000),
    narrow('clz.b32 d, 0', 32),
    narrow('clz.b64 d, 1', 63),
    narrow('popc.b64 d, 0xff000000000000ff', 16),
    narrow('bfind.u32 d, 0', -1),
    narrow('bfind.s32 d, -1', -1),
    narrow('bfind.shiftamt.u32 d, 0x100', 23),
    narrow('dp4a.s32.u32 d, 0xff010203, 0x01020304, 10', 10 - 1 + 2 + 6 + 12),
    narrow('dp2a.hi.u32.u32 d, 0x00020003, 0x04050000, 1', 1 + 3 * 5 + 2 * 4),
    narrow('cnot.b32 d, 0', 1),
    wide('add.cc.s64 %rd20, -1, 1;\n  addc.s64 d, 10, 5', 16),
    narrow('sub.cc.u32 %r30, 3, 5;\n  subc.u32 d, 10, 5', 4),
    narrow('sub.cc.u32 %r30, 3, 5;\n  addc.u32 d, 0, 0', 0),
    narrow('sub.cc.u32 %r30, 5, 3;\n  subc.cc.u32 %r30, 1, 2;\n  subc.u32 d, 10, 5', 4),
    narrow('mad.lo.cc.u32 %r30, 0x10000, 0x10000, 1;\n  madc.hi.u32 d, 0x10000, 0x10000, 7', 8),
  ]));

// PTX ISA 9.7.1: modes say what amounts of 32 and more are; 9.7.17 and 9.7.18 on video instructions.
test('masks, packed integers and video instructions', () =>
  check([
    narrow('szext.clamp.s32 d, 0x8080, 8', -128),
    narrow('szext.wrap.s32 d, 0x8080, 40', -128),
    narrow('szext.clamp.s32 d, 0x80000001, 40', 0x80000001),
    narrow('szext.wrap.u32 d, -1, 32', 0),
    narrow('szext.clamp.u32 d, -1, 31', 0x7fffffff),
    narrow('bmsk.clamp.b32 d, 24, 12', 0xff000000),
    narrow('bmsk.clamp.b32 d, 32, 1', 0),
    narrow('bmsk.wrap.b32 d, 36, 36', 0xf0),
    narrow('bmsk.clamp.b32 d, 0, 99', -1),
    narrow('fns.b32 d, 0xa5a5, 0, 3', 5),
    narrow('fns.b32 d, 0xa5a5, 6, -2', 2),
    narrow('fns.b32 d, 0xa5a5, 7, 0', 7),
    narrow('fns.b32 d, 0xa5a5, 6, 0', -1),
    narrow('fns.b32 d, 0xa5a5, 0, 9', -1),
    narrow('fns.b32 d, -1, 31, 1', 31),
    narrow('fns.b32 d, -1, 31, -32', 0),
    narrow('setp.eq.u32 %p1, 0, 1;\n  lop3.or.b32 %r30|%p2, 1, 2, 4, 0xfe, %p1;\n  selp.u32 d, %r30, 0, %p2', 7),
    narrow('setp.eq.u32 %p1, 0, 0;\n  lop3.and.b32 _|%p2, 1, 2, 4, 0x80, %p1;\n  selp.u32 d, 1, 2, %p2', 2),
    narrow('mad24.lo.u32 d, 0xff000002, 3, 10', 16),
    narrow('mad24.hi.sat.s32 d, 0x7fffff, 0x7fffff, 0x7fffffff', 0x7fffffff),
    narrow('mad24.hi.s32 d, 0x7fffff, -1, 5', 5 - 0x80),
    narrow('add.u16x2 d, 0xffff0001, 0x00020003', 0x00010004),
    narrow('min.s16x2 d, 0xffff0001, 0x00020003', 0xffff0001),
    narrow('max.u16x2 d, 0xffff0001, 0x00020003', 0xffff0003),
    narrow('min.relu.s16x2 d, 0xffff0005, 0x00020003', 3),
    narrow('max.relu.s32 d, -5, -7', 0),
    narrow('vadd.s32.s32.s32.sat d, 0x7fffffff, 1', 0x7fffffff),
    narrow('vadd.u32.u32.s32.sat d, 3, -5', 0),
    narrow('vsub.s32.u32.u32.min d, 3, 5, 7', -2),
    narrow('vabsdiff.u32.s32.s32.add d, -3, 5, 100', 108),
    narrow('vshr.u32.u32.u32.clamp.add d, 0x80000000, 40, 5', 5),
    narrow('vshl.u32.u32.u32.wrap d, 1, 33', 2),
    narrow('vshl.u32.u32.u32.sat.clamp d, 0x80000000, 32', -1),
    narrow('vset.s32.s32.lt.add d, -3, 5, 100', 101),
    narrow('vmad.s32.s32.u32.shr7 d, -3, 256, 128', -5),
    narrow('vmad.u32.u32.u32.po.sat d, 0x10000, 0x10000, 0', -1),
    narrow('vadd4.s32.s32.s32.sat d, 0x7f80ff01, 0x01ff0101, 0', 0x7f800002),
    narrow('vavrg4.u32.u32.u32 d, 0x01ff0300, 0x02ff0501, 0', 0x02ff0401),
    narrow('vabsdiff4.u32.u32.u32.add d, 0x01ff0300, 0x02fe0501, 1000', 1005),
    narrow('vset2.u32.u32.gt d, 0x00050001, 0x00040002, 0', 0x00010000),
    narrow('vmax2.s32.s32.s32 d, 0x8000ffff, 0x00010001, 0', 0x00010001),
  ]));

// PTX ISA 9.7.9.5 "createpolicy", 6.4.3 on vectors, chapter 10; hints change nothing.
test('hints, vectors that are registers, and special registers', () =>
  check([
    narrow('.reg .v4 .u32 %v;\n  ld.global.v4.u32 %v, [%in];\n  mov.u32 %v.y, 7;\n  add.u32 d, %v.y, 1', 8),
    narrow('.reg .v2 .b16 %h;\n  mov.b32 %h, 0x12345678;\n  cvt.u32.u16 d, %h.y', 0x1234),
    wide('createpolicy.fractional.L2::evict_last.b64 d, 0f3F800000', 0),
    wide('createpolicy.fractional.L2::evict_last.L2::evict_first.b64 d', 0),
    narrow(
      'st.global.L1::no_allocate.L2::cache_hint.u32 [%out], 5, %rd1;\n  ld.global.nc.L2::cache_hint.L2::128B.u32 d, [%out], %rd1',
      5,
    ),
    narrow('prefetch.global.L2 [%out];\n  fence.proxy.async;\n  pmevent 3;\n  mov.u32 d, %cluster_nctaid.x', 1),
  ]));

// PTX ISA 9.7.3, 9.7.5: NaN is canonical, -0 is less than +0, .sat makes NaN 0.
test('floats', () =>
  check([
    narrow('add.rn.f32 %f1, 0f3F800000, 0f33800000;\n  mov.b32 d, %f1', 0x3f800000),
    narrow('add.rp.f32 %f1, 0f3F800000, 0f33800000;\n  mov.b32 d, %f1', 0x3f800001),
    narrow('add.rz.f32 %f1, 0fBF800000, 0fB3800000;\n  mov.b32 d, %f1', 0xbf800000),
    narrow('add.rm.f32 %f1, 0fBF800000, 0fB3800000;\n  mov.b32 d, %f1', 0xbf800001),
    narrow('mul.f32 %f1, 0f7F800000, 0f00000000;\n  mov.b32 d, %f1', 0x7fffffff),
    narrow('mul.ftz.f32 %f1, 0f00400000, 0f40000000;\n  mov.b32 d, %f1', 0),
    narrow('mul.f32 %f1, 0f00400000, 0f40000000;\n  mov.b32 d, %f1', 0x00800000),
    narrow('fma.rn.sat.f32 %f1, 0f40000000, 0f40000000, 0f3F800000;\n  mov.b32 d, %f1', 0x3f800000),
    narrow('add.sat.f32 %f1, 0f7FC00000, 0f3F800000;\n  mov.b32 d, %f1', 0),
    narrow('min.f32 %f1, 0f00000000, 0f80000000;\n  mov.b32 d, %f1', 0x80000000),
    narrow('max.f32 %f1, 0f7FC00001, 0f40000000;\n  mov.b32 d, %f1', 0x40000000),
    narrow('max.NaN.f32 %f1, 0f7FC00001, 0f40000000;\n  mov.b32 d, %f1', 0x7fffffff),
    narrow('copysign.f32 %f1, 0f80000000, 0f40000000;\n  mov.b32 d, %f1', 0xc0000000),
    narrow('neg.f32 %f1, 0f40000000;\n  mov.b32 d, %f1', 0xc0000000),
    narrow('div.rn.f32 %f1, 0f3F800000, 0f40400000;\n  mov.b32 d, %f1', 0x3eaaaaab),
    narrow('div.approx.f32 %f1, 0f40000000, 0f7E900000;\n  mov.b32 d, %f1', 0),
    narrow('div.full.f32 %f1, 0f40000000, 0f7E900000;\n  mov.b32 d, %f1', 0x00e38e39),
    narrow('div.approx.f32 %f1, 0f7F800000, 0f7E900000;\n  mov.b32 d, %f1', 0x7fffffff),
    narrow('div.ftz.rn.f32 %f1, 0f3F800000, 0f40400000;\n  mov.b32 d, %f1', 0x3eaaaaab),
    wide('rcp.approx.ftz.f64 %fd1, 0d40080000FFFFFFFF;\n  mov.b64 d, %fd1', 0x3fd5555500000000n),
    wide('rsqrt.approx.ftz.f64 %fd1, 0d0000000100000000;\n  mov.b64 d, %fd1', 0x7ff0000000000000n),
    wide('rsqrt.approx.f64 %fd1, 0d4010000000000000;\n  mov.b64 d, %fd1', 0x3fe0000000000000n),
    narrow('ex2.approx.f16x2 d, %r30', 0x3c003c00),
    narrow('ex2.approx.ftz.bf16 %rs1, %rs2;\n  cvt.u32.u16 d, %rs1', 0x3f80),
    wide('sqrt.rn.f64 %fd1, 0d4000000000000000;\n  mov.b64 d, %fd1', 0x3ff6a09e667f3bcdn),
    wide('rcp.rn.f64 %fd1, 0d4008000000000000;\n  mov.b64 d, %fd1', 0x3fd5555555555555n),
    narrow('setp.ltu.f32 %p1, 0f7FC00000, 0f00000000;\n  selp.u32 d, 1, 2, %p1', 1),
    narrow('setp.ne.f32 %p1, 0f7FC00000, 0f00000000;\n  selp.u32 d, 1, 2, %p1', 2),
    narrow('set.gt.f32.s32 %f1, 3, 2;\n  mov.b32 d, %f1', 0x3f800000),
    narrow('setp.lt.and.s32 %p1|%p2, 1, 2, %p10;\n  selp.u32 d, 1, 2, %p2', 2),
    narrow('testp.subnormal.f32 %p1, 0f00000001;\n  selp.u32 d, 1, 2, %p1', 1),
    narrow('slct.u32.s32 d, 5, 6, -1', 6),
    narrow('mov.b32 %r30, 0x3c007e00;\n  mov.b32 %r31, 0x3c003c00;\n  set.ge.f16x2.f16x2 d, %r30, %r31', 0x3c000000),
    narrow('mov.b32 %r30, 0x3c007e00;\n  mov.b32 %r31, 0x3c003c00;\n  set.geu.u32.f16x2 d, %r30, %r31', -1),
    narrow('mov.b32 %r30, 0x3f804000;\n  mov.b32 %r31, 0x3f803f80;\n  set.gt.bf16x2.bf16x2 d, %r30, %r31', 0x3f80),
    narrow(
      'mov.b32 %r30, 0x40003c00;\n  mov.b32 %r31, 0x3c003c00;\n  setp.eq.f16x2 %p1|%p2, %r30, %r31;\n  selp.u32 %r30, 1, 0, %p1;\n  selp.u32 d, 7, %r30, %p2',
      1,
    ),
    narrow(
      'mov.b16 %rs1, 0x3f80;\n  mov.b16 %rs2, 0x7fc0;\n  set.neu.bf16.bf16 %rs3, %rs1, %rs2;\n  cvt.u32.u16 d, %rs3',
      0x3f80,
    ),
  ]));

// PTX ISA 9.7.9.21 and 9.7.9.22; the first source of a packed conversion is the high element.
test('conversions to packed and narrow formats', () =>
  check([
    narrow('cvt.rn.f16x2.f32 d, 0f3F800000, 0fC0000000', 0x3c00c000),
    narrow('cvt.rn.relu.f16x2.f32 d, 0fBF800000, 0f7F800001', 0x00007fff),
    narrow('cvt.rn.satfinite.f16.f32 %rs1, 0f48000000;\n  cvt.u32.u16 d, %rs1', 0x7bff),
    narrow('cvt.rn.bf16.f32 %rs1, 0f3F808000;\n  cvt.u32.u16 d, %rs1', 0x3f80),
    narrow('cvt.rz.bf16.f32 %rs1, 0fBF80FFFF;\n  cvt.u32.u16 d, %rs1', 0xbf80),
    narrow('cvt.rn.bf16x2.f32 d, 0f3F818000, 0f7F7FFFFF', 0x3f827f80),
    narrow('cvt.rz.satfinite.bf16x2.f32 d, 0f7F800000, 0fFF800000', 0x7f7fff7f),
    narrow('mov.b16 %rs1, 0x4049;\n  cvt.f32.bf16 %f1, %rs1;\n  mov.b32 d, %f1', 0x40490000),
    narrow('cvt.rn.bf16.u32 %rs1, 257;\n  cvt.u32.u16 d, %rs1', 0x4380),
    narrow('cvt.rp.bf16.s32 %rs1, -259;\n  cvt.u32.u16 d, %rs1', 0xc381),
    narrow('mov.b16 %rs1, 0xc2ff;\n  cvt.rzi.s32.bf16 d, %rs1', -127),
    narrow('cvt.rn.tf32.f32 d, 0f3F801000', 0x3f800000),
    narrow('cvt.rna.tf32.f32 d, 0f3F801000', 0x3f802000),
    narrow('cvt.rna.satfinite.tf32.f32 d, 0fFF7FFFFF', 0xff7fe000),
    narrow('cvt.rna.tf32.f32 d, 0fFFC00001', 0x7fffffff),
    narrow('cvt.rz.relu.tf32.f32 d, 0fBF801000', 0),
    narrow('cvt.rn.satfinite.e4m3x2.f32 %rs1, 0f43E80000, 0fBF800000;\n  cvt.u32.u16 d, %rs1', 0x7eb8),
    narrow('cvt.rn.satfinite.relu.e5m2x2.f32 %rs1, 0f7FC00000, 0fBF800000;\n  cvt.u32.u16 d, %rs1', 0x7f00),
    narrow('mov.b32 %r30, 0x7c003c00;\n  cvt.rn.satfinite.e5m2x2.f16x2 %rs1, %r30;\n  cvt.u32.u16 d, %rs1', 0x7b3c),
    narrow('mov.b16 %rs1, 0xff01;\n  cvt.rn.f16x2.e4m3x2 d, %rs1', 0x7fff1800),
    narrow('mov.b16 %rs1, 0xfc01;\n  cvt.rn.relu.f16x2.e5m2x2 d, %rs1', 0x00000100),
    narrow('cvt.pack.sat.s16.s32 d, 40000, -40000', 0x7fff8000),
    narrow('cvt.pack.sat.u8.s32.b32 d, 300, -5, 0x11223344', 0x3344ff00),
    narrow('cvt.pack.sat.s4.s32.b32 d, 9, -9, 0x11223344', 0x22334478),
  ]));

// PTX ISA 9.7.9.21: floats to integers saturate, narrow sources are the low bits of a register.
test('conversions', () =>
  check([
    narrow('cvt.rzi.s32.f32 d, 0f4F800000', 0x7fffffff),
    narrow('cvt.rzi.u32.f32 d, 0fBF800000', 0),
    narrow('cvt.rni.s32.f32 d, 0f40200000', 2),
    narrow('cvt.rpi.s32.f64 d, 0d4000000000000001', 3),
    narrow('cvt.rmi.s32.f32 d, 0fC0200000', -3),
    narrow('cvt.rzi.s32.f32 d, 0f7FC00000', 0),
    wide('cvt.rzi.s64.f64 d, 0d43F0000000000000', 0x7fffffffffffffffn),
    wide('cvt.rzi.u64.f64 d, 0d43EFFFFFFFFFFFFF', 0xfffffffffffff800n),
    wide('cvt.rzi.s64.f64 d, 0dC3E0000000000000', 1n << 63n),
    wide('cvt.rzi.s64.f32 d, 0fC0400000', -3),
    narrow('cvt.rn.f32.u64 %f1, 0xffffffffffffffff;\n  mov.b32 d, %f1', 0x5f800000),
    narrow('cvt.rn.f32.s64 %f1, 0x0020000020000001;\n  mov.b32 d, %f1', 0x5a000001),
    wide('cvt.rn.f64.u64 %fd1, 0xfffffffffffffbff;\n  mov.b64 d, %fd1', 0x43efffffffffffffn),
    narrow('cvt.rn.f32.f64 %f1, 0d3FF0000010000001;\n  mov.b32 d, %f1', 0x3f800001),
    narrow('cvt.rn.f16.f32 %rs1, 0f3F801000;\n  cvt.u32.u16 d, %rs1', 0x3c00),
    wide('cvt.f64.f32 %fd1, 0f3FC00000;\n  mov.b64 d, %fd1', 0x3ff8000000000000n),
    narrow('cvt.s32.s8 d, 0x80', -128),
    narrow('cvt.u32.u8 d, 0x1ff', 0xff),
    narrow('cvt.sat.s8.s32 %r30, 300;\n  mov.u32 d, %r30', 127),
    narrow('cvt.sat.u8.s32 %r30, -5;\n  mov.u32 d, %r30', 0),
    wide('cvt.s64.s32 d, -5', -5),
    narrow('cvt.rni.f32.f32 %f1, 0f40200000;\n  mov.b32 d, %f1', 0x40000000),
    narrow('mov.b64 {%r30, d}, 0x123456789abcdef0', 0x12345678),
    wide('mov.b64 d, {1, 2}', 0x200000001n),
    narrow('mov.b32 {%rs1, %rs2}, 0x12345678;\n  mov.b32 d, {%rs2, %rs1}', 0x56781234),
  ]));
