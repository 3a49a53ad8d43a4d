/** Structures by value, which are copied into the frames of functions and back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbers, outcomesOf } from './ptx-runs.test-support.ts';

test('structures of more than 32 KiB are passed, to the last byte', async () => {
  const bytes = 33_003;
  const found = await outcomesOf(
    `{ .param .align 4 .b8 s[${bytes}]; .param .b32 t;
      st.param.b32 [s], %gid;
      st.param.b8 [s+${bytes - 1}], 100;
      call (t), ends, (s);
      ld.param.b32 %r3, [t]; }
    st.global.u32 [%out], %r3;`,
    {
      threads: 32,
      declarations: `.func (.param .b32 r) ends(.param .align 4 .b8 s[${bytes}])
{
  .reg .b32 %x<3>;
  ld.param.b32 %x0, [s];
  ld.param.u8 %x1, [s+${bytes - 1}];
  mad.lo.u32 %x2, %x0, 1000, %x1;
  st.param.b32 [r], %x2;
  ret;
}`,
    },
  );
  assert.deepEqual(
    found,
    numbers(32, (i) => 1000 * i + 100),
  );
});

for (const [name, taken] of [
  ['a function', ''],
  ['one that takes memory while it runs', 'alloca.u64 %rd9, 40;'],
] as const) {
  test(`all of a structure comes to a function and back, and zeros of what is not passed, from ${name}`, async () => {
    const bytes = 1003;
    const sums = `.func (.param .align 4 .b8 r[${bytes}], .param .b32 all) turned(.param .align 4 .b8 s[${bytes}], .param .align 4 .b8 z[600])
{
  .reg .b32 %x<5>;
  .reg .pred %q;
  mov.u32 %x0, 0;
  mov.u32 %x4, 0;
again:
  .reg .b64 %y<4>;
  cvt.u64.u32 %y0, %x0;
  mov.b64 %y1, s;
  add.u64 %y1, %y1, %y0;
  ld.param.u8 %x1, [%y1];
  mad.lo.u32 %x4, %x1, %x0, %x4;
  xor.b32 %x1, %x1, 255;
  mov.b64 %y2, r;
  add.u64 %y2, %y2, %y0;
  st.param.u8 [%y2], %x1;
  min.u32 %x2, %x0, 599;
  cvt.u64.u32 %y0, %x2;
  mov.b64 %y3, z;
  add.u64 %y3, %y3, %y0;
  ld.param.u8 %x1, [%y3];
  add.u32 %x4, %x4, %x1;
  add.u32 %x0, %x0, 1;
  setp.lt.u32 %q, %x0, ${bytes};
  @%q bra again;
  st.param.b32 [all], %x4;
  ret;
}`;
    const loop = (label: string, body: string): string => `mov.u32 %r4, 0;
    ${label}: cvt.u64.u32 %rd5, %r4;
    ${body}
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, ${bytes};
    @%p1 bra ${label};`;
    const found = await outcomesOf(
      `${taken}
      { .param .align 4 .b8 s[${bytes}]; .param .align 4 .b8 r[${bytes}]; .param .b32 t;
      mov.b64 %rd6, s;
      mov.b64 %rd7, r;
      ${loop('fill', `add.u64 %rd8, %rd6, %rd5; mad.lo.u32 %r5, %r4, 7, %gid; st.param::func.u8 [%rd8], %r5;`)}
      call (r, t), turned, (s);
      ld.param.b32 %r3, [t];
      ${loop('read', `add.u64 %rd8, %rd7, %rd5; ld.param::func.u8 %r5, [%rd8]; mad.lo.u32 %r3, %r5, %r4, %r3;`)} }
      st.global.u32 [%out], %r3;`,
      { threads: 32, declarations: sums },
    );
    // Each byte and its complement, by its place.
    assert.deepEqual(
      found,
      numbers(32, () => (255 * bytes * (bytes - 1)) / 2),
    );
  });
}
