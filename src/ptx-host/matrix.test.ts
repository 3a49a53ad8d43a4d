/** Products of matrices that lie over a warp, from shared memory that copies filled, against plain loops. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomesOf } from './ptx-runs.test-support.ts';

const view = new DataView(new ArrayBuffer(8));
const SHARED = '.shared .align 16 .b8 tile[1024];';

/** 16 x 16 and 16 x 8 numbers that are exact in all formats, in the order of rows. */
const left = Array.from({ length: 256 }, (_, i) => ((i * 7) % 13) - 6);
const right = Array.from({ length: 128 }, (_, i) => ((i * 5) % 11) - 5);

function half(x: number): bigint {
  view.setFloat16(0, x);
  return BigInt(view.getUint16(0));
}
function brain(x: number): bigint {
  view.setFloat32(0, x);
  return BigInt(view.getUint16(0));
}

/** Rows of 16 bits each, packed into words of 64 bits, one for each thread. */
function inputOf(bits: (x: number) => bigint): bigint[] {
  const all = [...left, ...right].map(bits);
  return Array.from({ length: 96 }, (_, i) =>
    all.slice(4 * i, 4 * i + 4).reduceRight((word, x) => (word << 16n) | x, 0n),
  );
}

// The lane copies 16 bytes at 16 * lane and 16 * lane + 512; `ldmatrix` takes rows of 32 and of 16 bytes.
const body = (type: string): string => `
  .reg .b32 %a<4>, %b<2>;
  .reg .f32 %c<4>;
  .reg .b64 %from, %base;
  ld.param.u64 %base, [in];
  mul.wide.u32 %rd5, %r2, 16;
  add.u64 %from, %base, %rd5;
  mov.u32 %r3, tile;
  shl.b32 %r4, %r2, 4;
  add.u32 %r4, %r3, %r4;
  cp.async.ca.shared.global [%r4], [%from], 16;
  cp.async.cg.shared.global.L2::128B [%r4+512], [%from+512], 16, 16;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  and.b32 %r5, %r2, 15;
  shl.b32 %r6, %r5, 5;
  and.b32 %r7, %r2, 16;
  add.u32 %r6, %r6, %r7;
  add.u32 %r6, %r3, %r6;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%r6];
  shl.b32 %r8, %r5, 4;
  add.u32 %r8, %r3, %r8;
  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%b0, %b1}, [%r8+512];
  mov.f32 %c0, 0f3F800000;
  mov.f32 %c1, %c0;
  mov.f32 %c2, %c0;
  mov.f32 %c3, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.${type}.${type}.f32 {%c0, %c1, %c2, %c3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};
  setp.ge.u32 %p1, %gid, 32;
  @%p1 mov.f32 %c0, %c2;
  @%p1 mov.f32 %c1, %c3;
  st.global.v2.f32 [%out], {%c0, %c1};`;

for (const [type, bits] of [
  ['f16', half],
  ['bf16', brain],
] as const) {
  test(`a product of ${type} that ldmatrix and cp.async brought`, async () => {
    const found = await outcomesOf(body(type), {
      ...{ declarations: SHARED, threads: 128, block: 32, input: inputOf(bits) },
    });
    const product = (row: number, column: number): number =>
      Array.from({ length: 16 }, (_, k) => left[16 * row + k]! * right[8 * k + column]!).reduce((sum, x) => sum + x, 0);
    for (let thread = 0; thread < 64; thread++) {
      const lane = thread % 32;
      const row = (lane >> 2) + (thread < 32 ? 0 : 8);
      const wanted = [0, 1].map((i) => product(row, 2 * (lane & 3) + i) + (thread >= 32 && i === 1 ? 0 : 1));
      view.setBigUint64(0, found[thread]!, true);
      assert.deepEqual([view.getFloat32(0, true), view.getFloat32(4, true)], wanted, `thread ${thread}`);
    }
  });
}

// Lane l has four bytes of row l / 4 and of column l / 4; what lies behind the source's size is zero.
test('a product of bytes, and a copy of less than it stores', async () => {
  const found = await outcomesOf(
    `
  .reg .b32 %s<4>;
  mov.u32 %r3, %laneid;
  mul.lo.u32 %r4, %r3, 0x01010101;
  mov.b32 %s0, 10;
  mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32 {%s0, %s1, %s2, %s3}, {%r4, %r5}, {%r4}, {%s0, %s0, %s0, %s0};
  mov.u32 %r6, tile;
  mad.lo.u32 %r6, %r3, 8, %r6;
  cp.async.ca.shared.global [%r6], [%in], 8, 5;
  cp.async.wait_all;
  ld.shared.v2.u32 {%r8, %r9}, [%r6];
  and.b32 %r8, %r8, 0xff;
  mad.lo.u32 %r9, %r9, 256, %r8;
  st.global.v2.u32 [%out], {%s1, %r9};`,
    { declarations: SHARED, threads: 32, input: Array.from({ length: 32 }, () => 0xffffffffffffff07n) },
  );
  const wanted = (lane: number): bigint => {
    const [row, column] = [lane >> 2, 2 * (lane & 3) + 1];
    const sum = [0, 1, 2, 3].reduce((all, i) => all + 4 * (4 * row + i) * (4 * column + i), 10);
    return BigInt(sum) | (0xff07n << 32n);
  };
  assert.deepEqual(
    found,
    Array.from({ length: 32 }, (_, lane) => wanted(lane)),
  );
});
