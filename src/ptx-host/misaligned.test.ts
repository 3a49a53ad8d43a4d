/** Addresses that are no multiples of what is read or written there: GPUs fault (PTX ISA 5.1.4, 9.7.9.8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kernelText, outcomesOf, output, type Run, runOn, u32, WAYS } from './ptx-runs.test-support.ts';

const THREADS = 32;
const DECLARATIONS = '.shared .align 16 .b8 own[2048];';

/** An access at `%rd9`, `%r9` or `stack+%r9`, which hold a multiple of 16 but in one thread. */
interface Misaligned {
  readonly access: string;
  readonly bytes: number;
  readonly what: RegExp;
}

const CASES: readonly Misaligned[] = [
  { access: 'ld.global.u32 %r5, [%rd9];', bytes: 4, what: /misaligned read of address 0x7f[0-9a-f]+[13579bdf2ae6]\b/ },
  { access: 'ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd9];', bytes: 16, what: /misaligned read of address 0x7f/ },
  { access: 'st.global.u64 [%rd9+8], %rd9;', bytes: 8, what: /misaligned write of address 0x7f/ },
  { access: 'ld.u16 %rs5, [%rd9];', bytes: 2, what: /misaligned read of address 0x7f/ },
  { access: 'atom.global.add.u32 %r5, [%rd9], 1;', bytes: 4, what: /misaligned atomic of address 0x7f/ },
  { access: 'red.global.add.v2.f32 [%rd9], {%f1, %f2};', bytes: 8, what: /misaligned atomic of address 0x7f/ },
  { access: 'st.shared.u32 [%r9], %r9;', bytes: 4, what: /misaligned write at LDS offset 0x/ },
  { access: 'ld.shared.v2.u32 {%r5, %r6}, [%r9];', bytes: 8, what: /misaligned read at LDS offset 0x/ },
  { access: 'atom.shared.add.u32 %r5, [%r9+4], 1;', bytes: 4, what: /misaligned atomic at LDS offset 0x/ },
  { access: 'ld.local.u32 %r5, [%r10];', bytes: 4, what: /misaligned read at private offset 0x/ },
  { access: 'st.local.v2.u64 [%r10], {%rd9, %rd9};', bytes: 16, what: /misaligned write at private offset 0x/ },
];

/** Thread `astray` is `distance` bytes behind where the others are; with 32 there is none. */
const body = (access: string, astray: number, distance: number, stride: number): string => `
  .local .align 16 .b8 stack[64];
  mov.b64 %rd5, stack;
  cvt.u32.u64 %r10, %rd5;
  mul.lo.u32 %r9, %gid, ${stride};
  setp.eq.u32 %p1, %gid, ${astray};
  mov.u32 %r11, 0;
  @%p1 mov.u32 %r11, ${distance};
  add.u32 %r9, %r9, %r11;
  add.u32 %r10, %r10, %r11;
  cvt.u64.u32 %rd9, %r9;
  ld.param.u64 %rd8, [in];
  add.u64 %rd9, %rd9, %rd8;
  ${access}`;

const request = (text: string): Run => ({
  ...{ texts: [{ text, name: 'k.ptx' }], grid: [THREADS], workgroup: [THREADS] },
  args: [output(8 * THREADS), output(2048), u32(THREADS)],
});

for (const [way, device] of Object.entries(WAYS)) {
  test(`misaligned accesses are faults of their thread at their line, on ${way}`, async () => {
    for (const { access, bytes, what } of CASES) {
      const distance = bytes / 2;
      const text = kernelText(body(access, 5, distance, 16), DECLARATIONS);
      const line = text.split('\n').findIndex((each) => each.includes(access)) + 1;
      await assert.rejects(runOn(device, request(text)), (error: Error) => {
        assert.match(error.message, what, access);
        assert.match(error.message, /lane 5\b/, access);
        assert.match(error.message, new RegExp(`k\\.ptx:${line}:\\d`), access);
        return true;
      });
      await runOn(device, request(kernelText(body(access, THREADS, distance, 16), DECLARATIONS)));
    }
  });
}

test('addresses of all lanes that are misaligned alike, or too near to each other, are faults, too', async () => {
  for (const device of Object.values(WAYS)) {
    const all = `add.u64 %rd9, %rd9, 2; ld.global.u32 %r5, [%rd9];`;
    await assert.rejects(runOn(device, request(kernelText(body(all, THREADS, 0, 4), DECLARATIONS))), /misaligned read/);
    const stored = `${all} st.global.u32 [%rd9], %r5;`;
    await assert.rejects(
      runOn(device, request(kernelText(body(stored, THREADS, 0, 4), DECLARATIONS))),
      /misaligned read/,
    );
    const near = 'ld.global.u64 %rd5, [%rd9];';
    await assert.rejects(
      runOn(device, request(kernelText(body(near, THREADS, 0, 4), DECLARATIONS))),
      /misaligned read .*lane 1\b/,
    );
    const wave = 'add.u64 %rd8, %rd8, 2; ld.global.u32 %r5, [%rd8];';
    await assert.rejects(
      runOn(device, request(kernelText(body(wave, THREADS, 0, 4), DECLARATIONS))),
      /misaligned read/,
    );
  }
});

/** Lanes whose addresses are multiples of 16 and no line, so that each is looked at. */
const scattered = (access: string): string =>
  body(
    `mul.lo.u32 %r9, %gid, %gid;
  and.b32 %r9, %r9, 63;
  shl.b32 %r9, %r9, 4;
  cvt.u64.u32 %rd9, %r9;
  add.u64 %rd9, %rd9, %rd8;
  ${access}`,
    THREADS,
    0,
    16,
  );

test('what scattered addresses and a number come to has to be aligned', async () => {
  for (const [way, device] of Object.entries(WAYS)) {
    for (const [access, what] of [
      ['ld.global.u32 %r5, [%rd9+2];', /misaligned read of address/],
      ['ld.global.u64 %rd5, [%rd9+4];', /misaligned read of address/],
      ['st.global.v2.u32 [%rd9+12], {%r9, %r9};', /misaligned write of address/],
      ['atom.global.add.u32 %r5, [%rd9+2], 1;', /misaligned atomic of address/],
      ['ld.shared.u32 %r5, [%r9+2];', /misaligned read at LDS offset/],
      ['atom.shared.add.u32 %r5, [%r9+2], 1;', /misaligned atomic at LDS offset/],
    ] as const) {
      const text = kernelText(scattered(access), DECLARATIONS);
      await assert.rejects(runOn(device, request(text)), what, `${access} on ${way}`);
      await runOn(device, request(kernelText(scattered(access.replace(/\+\d+/, '+16')), DECLARATIONS)));
    }
  }
});

/**
 * Matrices of a warp, whose lines begin `distance` bytes behind a multiple of 16, `stride` elements apart.
 */
const ofWarp = (access: string, distance: number, stride: number): string => `
  .reg .b32 %m<8>;
  .reg .f64 %w<2>;
  ld.param.u64 %rd8, [in];
  add.u64 %rd9, %rd8, ${distance};
  and.b32 %r9, %gid, 31;
  mul.lo.u32 %r9, %r9, 16;
  mov.u32 %r11, 0;
  setp.eq.u32 %p1, %gid, 5;
  @%p1 mov.u32 %r11, ${distance};
  add.u32 %r9, %r9, %r11;
  mov.u32 %r10, ${distance};
  mov.u32 %r12, ${stride};
  mov.b32 %m0, 0; mov.b32 %m1, 0; mov.b32 %m2, 0; mov.b32 %m3, 0;
  mov.b32 %m4, 0; mov.b32 %m5, 0; mov.b32 %m6, 0; mov.b32 %m7, 0;
  ${access}`;

const EIGHT = '{%m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7}';

/** `strides`: one at which lines are aligned, and one at which they are not. */
const OF_WARP: readonly (Misaligned & { readonly strides?: readonly [good: number, bad: number] })[] = [
  { access: 'ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%m0, %m1, %m2, %m3}, [%r9];', bytes: 16, what: /read at LDS/ },
  { access: 'ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%m0}, [%r9];', bytes: 16, what: /read at LDS/ },
  { access: 'stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r9], {%m0, %m1};', bytes: 16, what: /write at LDS/ },
  { access: 'stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r9], {%m0};', bytes: 16, what: /write at LDS/ },
  ...(
    [
      [`wmma.load.a.sync.aligned.row.m16n16k16.global.f16 ${EIGHT}, [%rd9], %r12;`, 16, /read of address/, [24, 20]],
      [`wmma.load.b.sync.aligned.row.m16n16k16.shared.f16 ${EIGHT}, [%r10], %r12;`, 16, /read at LDS/, [24, 20]],
      [`wmma.load.c.sync.aligned.col.m16n16k16.global.f32 ${EIGHT}, [%rd9], %r12;`, 16, /read of address/, [20, 18]],
      ['wmma.load.a.sync.aligned.col.m16n16k16.global.s8 {%m0, %m1}, [%rd9], %r12;', 8, /read of address/, [24, 20]],
      ['wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%w0}, [%rd9], %r12;', 8, /read of address/, [4, 4]],
      ['wmma.load.b.sync.aligned.col.m8n8k128.global.b1 {%m0}, [%rd9], %r12;', 4, /read of address/, [160, 144]],
      [`wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd9], ${EIGHT}, %r12;`, 16, /write of address/, [20, 18]],
      [`wmma.store.d.sync.aligned.col.m32n8k16.shared.s32 [%r10], ${EIGHT}, %r12;`, 16, /write at LDS/, [36, 34]],
      [
        'wmma.store.d.sync.aligned.row.m8n32k16.global.f16 [%rd9], {%m0, %m1, %m2, %m3}, %r12;',
        16,
        /write of/,
        [40, 36],
      ],
    ] as const
  ).map(([access, bytes, what, strides]) => ({ access, bytes, what, strides })),
];

for (const [way, device] of Object.entries(WAYS)) {
  test(`lines of matrices that are misaligned are faults, on ${way}`, async () => {
    for (const { access, bytes, what, strides: [good, bad] = [0, 0] } of OF_WARP) {
      const textOf = (distance: number, stride: number): string =>
        kernelText(ofWarp(access, distance, stride), DECLARATIONS);
      const fault = (error: Error): boolean => {
        assert.match(error.message, /misaligned/, access);
        assert.match(error.message, what, access);
        const line =
          textOf(0, 0)
            .split('\n')
            .findIndex((each) => each.includes(access)) + 1;
        assert.match(error.message, new RegExp(`k\\.ptx:${line}:\\d`), access);
        return true;
      };
      await assert.rejects(runOn(device, request(textOf(bytes / 2, good))), fault, `${access} on ${way}`);
      if (good !== bad) await assert.rejects(runOn(device, request(textOf(0, bad))), fault, `${access} on ${way}`);
      await runOn(device, request(textOf(0, good)));
    }
  });
}

test('what a misaligned address and a number come to may be aligned', async () => {
  const found = await outcomesOf(
    `${body('', THREADS, 0, 8)}
    sub.u64 %rd9, %rd9, 2;
    st.global.u32 [%rd9+2], %gid;
    ld.global.u32 %r5, [%rd9+2];
    ld.global.u64 %rd4, [%rd9+2];
    sub.u32 %r9, %r9, 3;
    st.shared.u32 [%r9+3], %r5;
    ld.shared.u32 %r6, [%r9+3];
    add.u32 %r6, %r6, %r5;
    st.global.u32 [%out], %r6;`,
    { declarations: DECLARATIONS, threads: THREADS },
  );
  assert.deepEqual(
    found.map((each) => each & 0xffffffffn),
    found.map((_, i) => BigInt(2 * i)),
  );
});

/** Each thread loads as often as its number says, from where its sum says; one adds 2 the last time. */
const leaving = (astray: number): string => `
  .reg .pred %q<3>;
  .reg .u32 %n<4>;
  .reg .u64 %a<2>;
  ld.param.u64 %rd8, [in];
  and.b32 %n0, %gid, 7;
  mov.u32 %r9, %gid;
LOOP:
  and.b32 %r9, %r9, 31;
  shl.b32 %r9, %r9, 2;
  setp.eq.u32 %q1, %gid, ${astray};
  setp.eq.u32 %q2, %n0, 0;
  and.pred %q1, %q1, %q2;
  @%q1 add.u32 %r9, %r9, 2;
  cvt.u64.u32 %a0, %r9;
  add.u64 %a0, %a0, %rd8;
  ld.global.u32 %n1, [%a0];
  add.u32 %r9, %n1, %r9;
  setp.ne.u32 %q2, %n0, 0;
  sub.u32 %n0, %n0, 1;
  @%q2 bra LOOP;
  st.global.u32 [%out], %r9;`;

test('a load of threads that leave a loop one after the other has to be aligned every time', async () => {
  for (const [way, device] of Object.entries(WAYS)) {
    await runOn(device, request(kernelText(leaving(THREADS))));
    await assert.rejects(runOn(device, request(kernelText(leaving(13)))), /misaligned read .*lane 13\b/, way);
  }
});

/** Threads go on by half of a dword in each iteration. */
const GOING_ASTRAY = `
  ld.param.u64 %rd8, [in];
  shl.b32 %r9, %gid, 2;
  mov.u32 %r10, 0;
  mov.u32 %r11, 0;
AGAIN:
  cvt.u64.u32 %rd9, %r9;
  add.u64 %rd9, %rd9, %rd8;
  ld.global.u32 %r5, [%rd9];
  add.u32 %r10, %r10, %r5;
  add.u32 %r9, %r9, 2;
  add.u32 %r11, %r11, 1;
  setp.lt.u32 %p1, %r11, 8;
  @%p1 bra AGAIN;`;

for (const [way, device] of Object.entries(WAYS))
  test(`an access of a loop that is misaligned in the second iteration, on ${way}`, async () => {
    const text = kernelText(GOING_ASTRAY, DECLARATIONS);
    await assert.rejects(runOn(device, request(text)), /misaligned read of address 0x7f[0-9a-f]+[26ae]\b/);
  });
