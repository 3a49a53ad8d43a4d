/** PTX kernels on a virtual device: control flow, memory, barriers, what warps do together, faults. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../base/errors.ts';
import { kernelText, outcomesOf, output, runOn, u32, WAYS } from './ptx-runs.test-support.ts';

const lanes = (count: number, of: (i: number) => number | bigint): bigint[] =>
  Array.from({ length: count }, (_, i) => BigInt.asUintN(64, BigInt(of(i))));

test('threads part at a branch and meet behind it', async () => {
  const found = await outcomesOf(
    `
    and.b32 %r3, %gid, 3;
    mov.u32 %r4, 0;
    setp.eq.u32 %p1, %r3, 1;
    @%p1 bra one;
    setp.eq.u32 %p2, %r3, 2;
    @%p2 bra two;
    add.u32 %r4, %r4, 1000;
    bra done;
  one:
    add.u32 %r4, %r4, 100;
    bra done;
  two:
    add.u32 %r4, %r4, 10;
  done:
    activemask.b32 %r5;
    popc.b32 %r6, %r5;
    add.u32 %r4, %r4, %r6;
    st.global.u32 [%out], %r4;
    setp.lt.u32 %p3, %gid, 3;
    @%p3 ret;
    st.global.u32 [%out+4], %r5;`,
    { threads: 40 },
  );
  const active = (i: number): number => (i < 32 ? 32 : 8);
  const sums = [1000, 100, 10, 1000];
  const mask = (i: number): bigint => (i < 32 ? 0xffffffffn : 0xffn);
  assert.deepEqual(
    found,
    lanes(40, (i) => BigInt(sums[i & 3]! + active(i)) | (i < 3 ? 0n : mask(i) << 32n)),
  );
});

test('loops within loops, left in the middle, with several ways back', async () => {
  const found = await outcomesOf(
    `
    mov.u32 %r3, 0;
    mov.u32 %r4, 0;
  outer:
    mov.u32 %r5, %gid;
  inner:
    add.u32 %r4, %r4, 1;
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra next;
    sub.u32 %r5, %r5, 1;
    and.b32 %r6, %r5, 7;
    setp.eq.u32 %p2, %r6, 3;
    @%p2 bra inner;
    add.u32 %r4, %r4, 5;
    setp.gt.u32 %p3, %r4, 300;
    @%p3 bra done;
    bra inner;
  next:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p4, %r3, 4;
    @%p4 bra outer;
  done:
    activemask.b32 %r7;
    popc.b32 %r7, %r7;
    shl.b32 %r7, %r7, 16;
    or.b32 %r4, %r4, %r7;
    st.global.u32 [%out], %r4;`,
    { threads: 64, block: 32 },
  );
  const model = (gid: number): number => {
    let total = 0;
    for (let round = 0; round < 4; round++) {
      for (let left = gid; ; ) {
        total++;
        if (left === 0) break;
        left--;
        if ((left & 7) === 3) continue;
        total += 5;
        if (total > 300) return total;
      }
    }
    return total;
  };
  assert.deepEqual(
    found,
    lanes(64, (i) => model(i) | (32 << 16)),
  );
});

test('shared memory, a barrier, and what launches add to it', async () => {
  const found = await outcomesOf(
    `
    mov.u32 %r3, tile;
    shl.b32 %r4, %r2, 2;
    add.u32 %r5, %r3, %r4;
    st.shared.u32 [%r5], %gid;
    bar.sync 0;
    xor.b32 %r6, %r4, 0xfc;
    add.u32 %r6, %r6, %r3;
    ld.shared.u32 %r7, [%r6];
    cvt.u64.u32 %rd5, %r6;
    cvta.shared.u64 %rd6, %rd5;
    ld.u32 %r8, [%rd6];
    isspacep.shared %p1, %rd6;
    selp.u32 %r9, 1, 0, %p1;
    st.global.v2.u32 [%out], {%r7, %r8};
    @!%p1 trap;`,
    { declarations: '.shared .align 4 .b8 pad[8];\n.shared .align 4 .b8 tile[256];', threads: 128, block: 64 },
  );
  assert.deepEqual(
    found,
    lanes(128, (i) => BigInt((i & ~63) + (63 - (i & 63))) * 0x1_0000_0001n),
  );
});

test('local memory is the thread’s own, by offset and by generic address', async () => {
  const found = await outcomesOf(
    `
    .local .align 8 .b8 depot[40];
    mov.u64 %rd5, depot;
    cvta.local.u64 %rd6, depot;
    st.u32 [%rd6+8], %gid;
    st.local.u16 [%rd5+16], %gid;
    mul.lo.u32 %r3, %gid, 3;
    st.local.v2.u32 [depot+24], {%r3, %gid};
    ld.local.u32 %r4, [depot+8];
    ld.u32 %r5, [%rd6+24];
    add.u32 %r4, %r4, %r5;
    ld.local.s16 %r6, [%rd5+16];
    add.u32 %r4, %r4, %r6;
    st.global.u32 [%out], %r4;`,
    { threads: 64 },
  );
  assert.deepEqual(
    found,
    lanes(64, (i) => i * 5),
  );
});

test('accesses without a space of what is named are those of its space', async () => {
  const found = await outcomesOf(
    `
    .local .align 8 .b8 depot[16];
    .shared .align 8 .b8 tile[16];
    st.u32 [depot+8], %gid;
    ld.local.u32 %r3, [depot+8];
    st.local.u32 [depot+4], 1000;
    ld.u32 %r4, [depot+4];
    add.u32 %r3, %r3, %r4;
    st.shared.u32 [tile], 70000;
    bar.sync 0;
    atom.add.u32 %r4, [tile], 1;
    bar.sync 0;
    ld.u32 %r4, [tile];
    add.u32 %r3, %r3, %r4;
    st.global.u32 [%out], %r3;`,
    { threads: 64, block: 64 },
  );
  assert.deepEqual(
    found,
    lanes(64, (i) => i + 71_064),
  );
});

test('a null pointer is null again when it was an address of a window between', async () => {
  const found = await outcomesOf(
    `
    .reg .b64 %null, %own;
    mov.u64 %null, 0;
    cvta.to.local.u64 %own, %null;
    cvta.local.u64 %rd5, %own;
    cvta.to.shared.u64 %own, %null;
    cvta.shared.u64 %rd6, %own;
    or.b64 %rd5, %rd5, %rd6;
    setp.eq.u64 %p1, %rd5, 0;
    selp.u32 %r4, %gid, 1000, %p1;
    st.global.u32 [%out], %r4;`,
    { threads: 32 },
  );
  assert.deepEqual(
    found,
    lanes(32, (i) => i),
  );
});

test('atomics of all threads, and of those that a guard lets', async () => {
  const found = await outcomesOf(
    `
    .reg .b64 %counter;
    mov.u64 %counter, counters;
    and.b32 %r3, %gid, 1;
    setp.eq.u32 %p1, %r3, 1;
    atom.global.add.u32 %r4, [%counter], 2;
    @%p1 atom.global.add.u32 %r5, [%counter+4], 1;
    @%p1 red.global.max.u32 [counters+8], %gid;
    atom.global.cas.b64 %rd5, [%counter+16], 0, 77;
    bar.sync 0;
    ld.global.v2.u32 {%r6, %r7}, [counters];
    ld.global.u32 %r8, [counters+8];
    mad.lo.u32 %r6, %r7, 1000, %r6;
    st.global.v2.u32 [%out], {%r6, %r8};`,
    { declarations: '.global .align 16 .b8 counters[24];', threads: 64 },
  );
  assert.deepEqual(
    found,
    lanes(64, () => BigInt(32 * 1000 + 128) | (63n << 32n)),
  );
});

test('what the lanes of a warp do together', async () => {
  const found = await outcomesOf(
    `
    mov.u32 %r3, %laneid;
    shfl.sync.bfly.b32 %r4|%p1, %r3, 1, 31, -1;
    shfl.sync.up.b32 %r5|%p2, %r3, 4, 0, -1;
    shfl.sync.idx.b32 %r6, %r3, 5, 0x1807, -1;
    setp.lt.u32 %p3, %r3, 20;
    vote.sync.ballot.b32 %r7, %p3, -1;
    vote.sync.all.pred %p4, %p3, -1;
    selp.u32 %r8, 100, 200, %p2;
    selp.u32 %r9, 1000, 2000, %p4;
    and.b32 %r10, %r3, 3;
    match.any.sync.b32 %r11, %r10, -1;
    shr.u32 %r11, %r11, %r10;
    mov.u32 %r12, %lanemask_lt;
    popc.b32 %r12, %r12;
    add.u32 %r13, %r4, %r5;
    add.u32 %r13, %r13, %r6;
    add.u32 %r13, %r13, %r8;
    add.u32 %r13, %r13, %r9;
    add.u32 %r13, %r13, %r12;
    xor.b32 %r14, %r7, %r11;
    st.global.v2.u32 [%out], {%r13, %r14};
    bar.warp.sync -1;`,
    { threads: 32 },
  );
  const sum = (i: number): number => (i ^ 1) + (i < 4 ? i : i - 4) + ((i & 24) | 5) + (i < 4 ? 200 : 100) + 2000 + i;
  assert.deepEqual(
    found,
    lanes(32, (i) => BigInt(sum(i)) | (BigInt((0xfffff ^ 0x11111111) >>> 0) << 32n)),
  );
});

// PTX ISA, "vote.sync": the mask is each lane's own, so that several groups vote at a time.
test('votes of several groups, under a guard, and matches of 64 bits', async () => {
  const found = await outcomesOf(
    `
    mov.u32 %r3, %laneid;
    setp.lt.u32 %p1, %r3, 16;
    selp.b32 %r4, 0xffff, 0xffff0000, %p1;
    setp.eq.u32 %p2, %r3, 3;
    vote.sync.any.pred %p3, %p2, %r4;
    vote.sync.uni.pred %p4, %p2, %r4;
    vote.sync.ballot.b32 %r5, !%p2, %r4;
    selp.u32 %r6, 1, 0, %p3;
    selp.u32 %r7, 2, 0, %p4;
    or.b32 %r6, %r6, %r7;
    setp.ne.u32 %p5, %r3, 0;
    setp.ne.u32 %p6, 0, 0;
    @%p5 vote.sync.all.pred %p6, %p5, 0xfffffffe;
    selp.u32 %r7, 4, 0, %p6;
    or.b32 %r6, %r6, %r7;
    vote.ballot.b32 %r8, %p1;
    and.b32 %r9, %r3, 1;
    mov.b64 %rd5, {%r8, %r9};
    match.any.sync.b64 %r10, %rd5, -1;
    xor.b32 %r5, %r5, %r10;
    match.all.sync.b64 %r11|%p7, %rd5, -1;
    selp.u32 %r7, 8, %r11, %p7;
    or.b32 %r6, %r6, %r7;
    shfl.idx.b32 %r12, %r3, 9, 31;
    mad.lo.u32 %r6, %r12, 16, %r6;
    st.global.v2.u32 [%out], {%r5, %r6};`,
    { threads: 32 },
  );
  const wanted = (i: number): bigint => {
    const group = i < 16 ? 0xfff7 : 0xffff0000;
    const same = i % 2 === 0 ? 0x55555555 : 0xaaaaaaaa;
    return BigInt((group ^ same) >>> 0) | (BigInt((i < 16 ? 1 : 2) + (i > 0 ? 4 : 0) + 9 * 16) << 32n);
  };
  assert.deepEqual(found, lanes(32, wanted));
});

// PTX ISA, "atom": elements of packed types and vectors are each atomic.
test('atomics of halves, which share dwords, and of vectors', async () => {
  const found = await outcomesOf(
    `
    .reg .b16 %one;
    .reg .b64 %at;
    and.b32 %r3, %gid, 1;
    mul.wide.u32 %at, %r3, 2;
    mov.u64 %rd5, counters;
    add.u64 %at, %at, %rd5;
    mov.b16 %one, 0x3c00;
    atom.global.add.noftz.f16 %rs1, [%at], %one;
    atom.add.noftz.bf16x2 %r4, [%rd5+4], %r3;
    mov.b32 %r5, 0x3f804000;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 atom.global.add.noftz.bf16x2 %r4, [%rd5+8], %r5;
    atom.global.cas.b16 %rs2, [%at+12], 0, %one;
    mov.b32 %f1, 0x3f800000;
    red.global.add.v2.f32 [%rd5+16], {%f1, %f1};
    mov.b32 %r6, 1;
    mov.b32 %f2, %r6;
    atom.shared.add.f32 %f3, [denormal], %f2;
    red.global.add.f32 [%rd5+24], %f2;
    cvt.rn.f16.u32 %rs3, %gid;
    red.global.max.noftz.v2.f16 [%rd5+28], {%rs3, %one};
    bar.sync 0;
    and.b32 %r7, %gid, 3;
    mul.wide.u32 %rd6, %r7, 8;
    add.u64 %rd6, %rd6, %rd5;
    ld.global.u64 %rd7, [%rd6];
    ld.shared.u32 %r8, [denormal];
    setp.gt.u32 %p2, %gid, 3;
    cvt.u64.u32 %rd8, %r8;
    selp.b64 %rd7, %rd8, %rd7, %p2;
    st.global.u64 [%out], %rd7;`,
    { declarations: '.global .align 16 .b8 counters[32];\n.shared .align 4 .b8 denormal[4];', threads: 64 },
  );
  assert.deepEqual(
    found.slice(0, 5).map((each) => each.toString(16)),
    ['2050005000', '3c003c0042004280', '4280000042800000', '3c0053e000000000', '40'],
  );
});

/** The message of what a run ends with. */
async function failureOf(body: string, declarations = '', block = 64): Promise<string> {
  const text = kernelText(body, declarations);
  const request = { texts: [{ text, name: 'k.ptx' }], grid: [64], workgroup: [block] };
  try {
    await runOn({}, { ...request, args: [output(512), output(512), u32(1)] });
  } catch (error) {
    assert.ok(error instanceof WavewrightError, String(error));
    return `${error.code} ${error.message}`;
  }
  return '';
}

test('faults name instruction, kernel, lane and the line of the text', async () => {
  assert.match(
    await failureOf('    and.b64 %rd5, %out, 0;\n    ld.global.u32 %r3, [%rd5+16];'),
    /^GPU_FAULT kernel 'k': invalid read of address 0x10 by 'ld.global.u32 v\d+, v\[\d+:\d+\], 16' at pc .* in k\+0x[0-9a-f]+; workgroup .*; at k\.ptx:26:5$/,
  );
  // All lanes together.
  assert.match(
    await failureOf('  ld.global.u32 %r3, [16];'),
    /invalid read of address 0x10 .*wave 0; .*at k\.ptx:25:3$/,
  );
  assert.match(
    await failureOf('  .loc 1 7 5\n  ld.global.u32 %r3, [16];', '.file 1 "a.c"'),
    /at a\.c:7:5 \(k\.ptx:26:3\)$/,
  );
  assert.match(await failureOf('  trap;'), /^GPU_FAULT kernel 'k': trap by 'trap' .*; at k\.ptx:25:3/);
  assert.match(await failureOf('  ld.shared.u32 %r3, [4096];'), /^GPU_FAULT .*'ld.shared.u32/);
  const parted = 'setp.lt.u32 %p1, %gid, 5;\n@%p1 bra there;\nbar.sync 0;\nthere:';
  assert.equal(await failureOf(parted), '');
});

test('what is not implemented is refused by name, with its line', async () => {
  assert.match(
    await failureOf('  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [t, {%r1}];'),
    /^UNSUPPORTED k\.ptx:25:3: instruction 'tex.1d.v4.f32.s32' is not implemented\n/,
  );
  for (const opcode of [
    'setp.lo.s32',
    'setp.lt.b32',
    'setp.ltu.u32',
    'set.num.u32.u32',
    'add.sat.u64',
    'mad.hi.sat.u32',
  ])
    assert.match(
      await failureOf(`  ${opcode} %p1, %r1, %r2, %r3;`),
      /^UNSUPPORTED k\.ptx:25:3: instruction '.*' is not implemented\n/,
    );
  assert.match(await failureOf('  bar.sync 1, 63;'), /^BAD_INPUT k\.ptx:25:3: a barrier of 63 threads/);
  assert.match(await failureOf('  mov.u64 %rd5, g;'), /^BAD_INPUT k\.ptx:25:17: unknown name 'g' of 'mov.u64'/);
  assert.match(
    await failureOf('  mov.u64 %rd5, g;', '.extern .global .u32 g;'),
    /^BAD_INPUT k\.ptx:25:3: nothing defines 'g'/,
  );
  assert.match(await failureOf('  add.u32 %r3, %rd5, 1;'), /^BAD_INPUT .*register '%rd5' of type .b64, expected .u32/);
  assert.match(await failureOf('  bra nowhere;'), /^BAD_INPUT k\.ptx:25:7: there is no label 'nowhere'/);
  assert.match(await failureOf('', '', 48), /^USAGE a grid of 64 is no multiple of the workgroup/);
});

test('addresses of 32 bits are refused at the line that says so', async () => {
  const text = kernelText('').replace('.address_size 64', '.address_size 32');
  const request = { texts: [{ text, name: 'k.ptx' }], args: [], grid: [1], workgroup: [1] };
  await assert.rejects(runOn(WAYS['T0']!, request), {
    ...{ name: 'WavewrightError', code: 'UNSUPPORTED' },
    message: /k\.ptx:3:15: addresses of 32 bits/,
  });
});

test('modules are linked with each other', async () => {
  const text = kernelText(
    '  ld.global.u32 %r3, [shared_value+4];\n  mov.u64 %rd5, table;\n  ld.global.u64 %rd6, [%rd5];\n  ld.u32 %r4, [%rd6];\n  st.global.v2.u32 [%out], {%r3, %r4};',
    '.extern .global .align 4 .b8 shared_value[8];\n.global .u64 table[2] = {generic(shared_value), 0};',
  );
  const other =
    '.version 7.8\n.target sm_70\n.address_size 64\n.visible .global .align 4 .u32 shared_value[2] = {7, 9};\n';
  const texts = [
    { text, name: 'a.ptx' },
    { text: other, name: 'b.ptx' },
  ];
  const { outputs } = await runOn({}, { texts, grid: [1], workgroup: [1], args: [output(8), output(8), u32(1)] });
  assert.deepEqual([...new Uint32Array(outputs[0]!.bytes.buffer)], [9, 7]);
});

test('128 bits are loaded, moved, taken apart and stored', async () => {
  const found = await outcomesOf(
    `  .reg .b128 %x<3>, %single;
  ld.param.u64 %rd6, [in];
  .local .align 16 .b8 own[16];
  and.b32 %r3, %gid, 1;
  setp.eq.u32 %p1, %r3, 0;
  ld.global.b128 %x1, [%rd6];
  mov.b128 {%rd3, %rd4}, %x1;
  add.u64 %rd3, %rd3, %rd4;
  mov.b128 %x2, {%rd3, %rd4};
  @%p1 mov.b128 %single, %x2;
  @!%p1 mov.b128 %single, %x1;
  st.local.b128 [own], %single;
  ld.local.b128 {%rd7, %rd8}, [own];
  sub.u64 %rd7, %rd7, %rd8;
  st.global.u64 [%out], %rd7;`,
    { threads: 32, input: [1n << 40n, 7n] },
  );
  assert.deepEqual(
    found,
    Array.from({ length: 32 }, (_, i) => (i % 2 === 0 ? 1n << 40n : (1n << 40n) - 7n)),
  );
});

test('variables may have the names that objects of the host have', async () => {
  const body = `  mov.u64 %rd5, constructor;
  ld.global.u32 %r3, [%rd5];
  mov.u32 %r4, toString;
  ld.shared.u32 %r4, [toString];
  st.global.u32 [%out], %r3;`;
  const declarations = '.global .align 4 .u32 constructor = 7;\n.shared .align 4 .u32 toString;';
  const texts = [{ text: kernelText(body, declarations), name: 'a.ptx' }];
  const { outputs } = await runOn({}, { texts, grid: [1], workgroup: [1], args: [output(8), output(8), u32(1)] });
  assert.equal(new Uint32Array(outputs[0]!.bytes.buffer)[0], 7);
});

test('an array of bytes has memory for anything', async () => {
  const body = `  mov.u64 %rd5, memory;
  st.global.u64 [%rd5+8], 7;
  ld.global.u64 %rd6, [%rd5+8];
  st.global.u64 [%out], %rd6;`;
  const declarations = '.global .align 1 .b8 odd[3];\n.global .align 1 .b8 memory[64];';
  const texts = [{ text: kernelText(body, declarations), name: 'a.ptx' }];
  const { outputs } = await runOn({}, { texts, grid: [1], workgroup: [1], args: [output(8), output(8), u32(1)] });
  assert.equal(new BigUint64Array(outputs[0]!.bytes.buffer)[0], 7n);
});
