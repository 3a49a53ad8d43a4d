/** Variables, parameters and results of 128 bits, and arrays of vectors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbers, outcomesOf, output, runOn, value, WAYS } from './ptx-runs.test-support.ts';

const LOW = 0x1122_3344_5566_7788n;
const MASK = (1n << 64n) - 1n;

test('variables of 128 bits in every space are aligned to 16 bytes and hold two halves', async () => {
  const found = await outcomesOf(
    `
    .reg .b128 %q<4>;
    .local .b8 odd;
    .local .b128 own;
    .shared .b128 slots[64];
    cvt.u64.u32 %rd2, %gid;
    mov.b128 %q0, {%rd2, 7};
    shl.b64 %rd3, %rd2, 4;
    mov.u64 %rd4, slots;
    add.u64 %rd4, %rd4, %rd3;
    st.shared.b128 [%rd4], %q0;
    st.local.b128 [own], %q0;
    bar.sync 0;
    xor.b64 %rd4, %rd4, 16;
    ld.shared.b128 %q1, [%rd4];
    mov.b128 {%rd5, %rd6}, %q1;
    ld.local.b128 %q2, [own];
    mov.b128 {%rd7, %rd8}, %q2;
    ld.global.b128 %q3, [start+16];
    mov.b128 {%rd9, %rd10}, %q3;
    ld.const.b128 %q3, [one];
    mov.b128 {%rd11, %rd12}, %q3;
    // The neighbour's number, 7 twice, one's own number, the two values that the text gives.
    add.u64 %rd5, %rd5, %rd6;
    add.u64 %rd5, %rd5, %rd7;
    add.u64 %rd5, %rd5, %rd8;
    add.u64 %rd5, %rd5, %rd9;
    add.u64 %rd5, %rd5, %rd10;
    add.u64 %rd5, %rd5, %rd11;
    add.u64 %rd5, %rd5, %rd12;
    st.global.u64 [%out], %rd5;`,
    {
      threads: 64,
      declarations: `.global .b8 odd;\n.global .b128 start[3] = {0, -5};\n.const .b128 one = ${LOW};`,
    },
  );
  assert.deepEqual(
    found,
    // -5 has 64 bits in texts; what is above it is 0.
    numbers(64, (i) => i + (i ^ 1) + 14).map((sum) => (sum - 5n + LOW) & MASK),
  );
});

test('hints and what is said of devices change nothing', async () => {
  const found = await outcomesOf(
    `
    .reg .b128 %q<3>;
    cvt.u64.u32 %rd2, %gid;
    mov.b128 %q0, {%rd2, 7};
    mul.wide.u32 %rd3, %gid, 16;
    mov.u64 %rd4, room;
    add.u64 %rd4, %rd4, %rd3;
    createpolicy.fractional.L2::evict_last.b64 %rd5;
    st.global.L2::cache_hint.b128 [%rd4], %q0, %rd5;
    ld.global.L2::cache_hint.b128 %q1, [%rd4], %rd5;
    ldu.global.b128 %q2, [%rd4];
    mov.b128 {%rd6, %rd7}, %q1;
    mov.b128 {%rd8, %rd9}, %q2;
    mad.lo.u64 %rd6, %rd6, 10, %rd7;
    mad.lo.u64 %rd8, %rd8, 10, %rd9;
    mad.lo.u64 %rd6, %rd6, 10000, %rd8;
    st.mmio.relaxed.sys.global.u64 [%out], %rd6;
    ld.mmio.relaxed.sys.u64 %rd6, [%out];
    st.global.u64 [%out], %rd6;`,
    { threads: 64, declarations: '.global .b128 room[64];' },
  );
  assert.deepEqual(
    found,
    numbers(64, (i) => 10_001 * (10 * i + 7)),
  );
});

for (const space of ['param', 'reg'] as const) {
  test(`functions take and give 128 bits as .${space}`, async () => {
    const isParameter = space === 'param';
    const body = isParameter
      ? '.reg .b128 x; ld.param.b128 x, [p]; mov.b128 {%a, %b}, x; mov.b128 x, {%b, %a}; st.param.b128 [r], x;'
      : 'mov.b128 {%a, %b}, p; mov.b128 r, {%b, %a};';
    const found = await outcomesOf(
      `
      .reg .b128 %q<2>;
      cvt.u64.u32 %rd2, %gid;
      mov.b128 %q0, {%rd2, 3};
      call (%q1), turned, (%q0);
      mov.b128 {%rd3, %rd4}, %q1;
      mad.lo.u64 %rd3, %rd3, 1000, %rd4;
      st.global.u64 [%out], %rd3;`,
      {
        threads: 64,
        declarations: `.func (.${space} .b128 r) turned(.${space} .b128 p) { .reg .b64 %a, %b; ${body} ret; }`,
      },
    );
    assert.deepEqual(
      found,
      numbers(64, (i) => 3000 + i),
    );
  });
}

test('kernels take 128 bits, behind padding', async () => {
  const text = `.version 8.3
.target sm_70
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n, .param .b128 wide)
{
  .reg .b64 %out;
  .reg .b128 %q;
  ld.param.u64 %out, [out];
  ld.param.b128 %q, [wide];
  st.global.b128 [%out], %q;
  ret;
}`;
  const bytes = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
  for (const [name, device] of Object.entries(WAYS)) {
    const { outputs } = await runOn(device, {
      ...{ texts: [{ text, name: 'k.ptx' }], grid: [1], workgroup: [1] },
      args: [output(16), value('n', new Uint8Array(4)), value('wide', bytes)],
    });
    assert.deepEqual([...outputs[0]!.bytes], [...bytes], name);
  }
});

test('an array of vectors has its values one behind the other', async () => {
  const found = await outcomesOf(
    `
    mul.wide.u32 %rd2, %gid, 4;
    mov.u64 %rd3, pairs;
    add.u64 %rd3, %rd3, %rd2;
    ld.global.u32 %r3, [%rd3];
    cvt.u64.u32 %rd3, %r3;
    st.global.u64 [%out], %rd3;`,
    { threads: 6, declarations: '.global .v2 .b32 pairs[3] = {{1, 2}, {3, 4}, {5, 6}};' },
  );
  assert.deepEqual(
    found,
    numbers(6, (i) => i + 1),
  );
});

for (const [declarations, message] of [
  ['.global .v2 .b128 g;', /:\d+:\d+: a variable of type \.v2\.b128/],
  ['.global .b128 g = {1, 2};', /:\d+:\d+: a list where 'g' has one value/],
  ['.global .b32 g[2] = {{1, 2}};', /:\d+:\d+: a list where 'g' has one value/],
] as const) {
  test(`${declarations} is refused`, async () => {
    await assert.rejects(outcomesOf('ld.global.u32 %r3, [g];', { declarations }), { message });
  });
}
