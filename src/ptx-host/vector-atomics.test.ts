/** Atomics of four and eight elements, each of which is an atomic of its own. PTX ISA, "atom". */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_WAYS, numbers, outcomesOf } from './ptx-runs.test-support.ts';

test('four floats are added, and what was there comes into the registers that were added', async () => {
  const found = await outcomesOf(
    `
    mul.wide.u32 %rd2, %gid, 16;
    mov.u64 %rd3, room;
    add.u64 %rd3, %rd3, %rd2;
    cvt.rn.f32.u32 %f1, %gid;
    add.f32 %f2, %f1, 0f3f800000;
    add.f32 %f3, %f2, 0f3f800000;
    add.f32 %f4, %f3, 0f3f800000;
    red.relaxed.gpu.global.add.v4.f32 [%rd3+16], {%f1, %f2, %f3, %f4};
    // Odd threads take no part.
    and.b32 %r3, %gid, 1;
    setp.eq.u32 %p1, %r3, 0;
    mov.b64 %rd4, 0;
    @%p1 atom.global.add.L2::cache_hint.v4.f32 {%f4, %f1, _, %f2}, [%rd3+16], {%f1, %f2, %f3, %f4}, %rd4;
    atom.global.add.v4.f32 {_, _, %f3, _}, [%rd3+16], {%f1, %f1, %f1, %f1};
    mov.b32 %r4, 0;
    cvt.rzi.u32.f32 %r5, %f4;
    cvt.rzi.u32.f32 %r6, %f1;
    cvt.rzi.u32.f32 %r7, %f2;
    cvt.rzi.u32.f32 %r8, %f3;
    mad.lo.u32 %r4, %r5, 1000, %r6;
    mad.lo.u32 %r4, %r4, 100, %r7;
    cvt.u64.u32 %rd5, %r4;
    cvt.u64.u32 %rd6, %r8;
    mad.lo.u64 %rd5, %rd5, 1000, %rd6;
    st.global.u64 [%out], %rd5;`,
    { threads: 64, declarations: '.global .align 16 .b8 room[1040];', ways: ALL_WAYS },
  );
  const packed = (a: number, b: number, c: number, third: number): number => ((a * 1000 + b) * 100 + c) * 1000 + third;
  assert.deepEqual(
    found,
    numbers(64, (i) => (i % 2 === 0 ? packed(i, i + 1, i + 3, 2 * (i + 2)) : packed(i + 3, i, i + 1, i + 2))),
  );
});

test('eight halves, and pairs of them', async () => {
  const found = await outcomesOf(
    `
    mov.u64 %rd3, room;
    cvt.rn.f16.u32 %rs1, %gid;
    mov.b16 %rs2, 0x3c00;
    red.global.max.noftz.v8.f16 [%rd3], {%rs2, %rs1, %rs2, %rs1, %rs2, %rs2, %rs2, %rs1};
    mov.b32 %r3, {%rs2, %rs2};
    red.global.add.noftz.v4.f16x2 [%rd3+16], {%r3, %r3, %r3, %r3};
    bar.sync 0;
    and.b32 %r4, %gid, 3;
    mul.wide.u32 %rd4, %r4, 8;
    add.u64 %rd3, %rd3, %rd4;
    ld.global.u64 %rd5, [%rd3];
    st.global.u64 [%out], %rd5;`,
    { threads: 64, declarations: '.global .align 16 .b8 room[32];' },
  );
  assert.deepEqual(
    found.slice(0, 4).map((each) => each.toString(16)),
    // 63 is 0x53e0, 64 is 0x5400.
    ['53e03c0053e03c00', '53e03c003c003c00', '5400540054005400', '5400540054005400'],
  );
});

test('a result may stand where the address was', async () => {
  const found = await outcomesOf(
    `
    mul.wide.u32 %rd2, %gid, 16;
    cvt.rn.f16.u32 %rs1, %gid;
    mov.u64 %rd3, room;
    add.u64 %rd3, %rd3, %rd2;
    mov.b16 %rs2, 0x3c00;
    atom.global.add.noftz.v8.f16 {%rs3, %rs4, %rs5, %rs6, %rs7, %rs8, %rs9, %rs10}, [%rd3],
      {%rs1, %rs2, %rs1, %rs2, %rs1, %rs2, %rs1, %rs2};
    mov.u64 %rd4, room;
    add.u64 %rd4, %rd4, %rd2;
    ld.global.u64 %rd5, [%rd4+8];
    mov.b64 %rd6, {%rs7, %rs8, %rs9, %rs10};
    add.u64 %rd5, %rd5, %rd6;
    st.global.u64 [%out], %rd5;`,
    { threads: 2, declarations: '.global .align 16 .b8 room[64];', ways: ALL_WAYS },
  );
  assert.deepEqual(found, [0x3c00_0000_3c00_0000n, 0x3c00_3c00_3c00_3c00n]);
});
