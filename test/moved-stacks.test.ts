/**
 * Kernels whose stack grows as far as the run has it, in which nearly all registers are live: payloads have
 * private memory between the frames of the kernels and the stack, which begins behind it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembleFile } from '../src/assembler/assemble-file.ts';
import { KernelRunner } from '../src/bench/kernel-runner.ts';
import { parseCodeObject } from '../src/codeobject/code-object.ts';
import type { ToolCode } from '../src/instrument/tool/tool-code.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { liftCodeObject } from '../src/lift/lifted-code.ts';
import { linkCodeObject } from '../src/linker/link.ts';
import { chooseTool } from '../src/tools/chosen-tool.ts';
import { ToolSession } from '../src/tools/tool-session.ts';

const [VGPRS, SGPRS] = [256, 90];
/** Of a lane, which tools keep in memory at once (`MEMORY_HOME_BYTES`). */
const AREA_BYTES = 512;
/** Of the callee, in each of its rounds; together they are more than the kernels say that they need. */
const [FRAME_BYTES, ROUNDS] = [16, 40];

/** The first instructions of kernels, and all of the callee, where all vector registers are live. */
const PLACES = 'instructions=0-40';
/** Enough of the same when payloads stand between them. */
const MORE_PLACES = 'instructions=0-120';

/** How code gets at its stack. */
interface Way {
  readonly processor: string;
  readonly waveSize: 32 | 64;
  readonly name: string;
  readonly isBuffer?: boolean;
  /** FLAT_SCRATCH is set up by code. */
  readonly setsUp?: boolean;
}

const WAYS: readonly Way[] = [
  { name: 'gfx90a, buffers', processor: 'gfx90a', waveSize: 64, isBuffer: true },
  { name: 'gfx90a, flat scratch', processor: 'gfx90a', waveSize: 64, setsUp: true },
  { name: 'gfx942', processor: 'gfx942', waveSize: 64 },
  { name: 'gfx1100 wave32', processor: 'gfx1100', waveSize: 32 },
  { name: 'gfx1100 wave64', processor: 'gfx1100', waveSize: 64 },
];
const isGfx11 = ({ processor }: Way): boolean => processor.startsWith('gfx11');
const unitsOf = ({ isBuffer, waveSize }: Way): number => (isBuffer ? waveSize : 1);

interface StackKernel {
  readonly name: string;
  /** Its own frame. */
  readonly frameBytes: number;
  readonly privateBytes: number;
  readonly isStackKnown?: boolean;
  /** In place of what sets the stack pointer; `SP` is what it is to be. */
  readonly start?: string;
}

const access = (way: Way, what: 'load' | 'store', register: string, offset: string | number): string => {
  const name = isGfx11(way) ? `${what}_b32` : `${what}_dword`;
  if (way.isBuffer) return `buffer_${name} ${register}, off, s[0:3], ${offset}`;
  const at = typeof offset === 'number' ? `s21 offset:${offset}` : offset;
  return what === 'load' ? `scratch_${name} ${register}, off, ${at}` : `scratch_${name} off, ${register}, ${at}`;
};
const wait = 's_waitcnt vmcnt(0) lgkmcnt(0)';

/** Both kernels call through a pointer that they load; arguments come in s[4:5]. */
function kernelText(way: Way, kernel: StackKernel, scalars: number): string {
  const { name, frameBytes, privateBytes, isStackKnown, start } = kernel;
  const add = isGfx11(way) ? 'v_add_nc_u32_e32' : 'v_add_u32_e32';
  const [load, store] = isGfx11(way) ? ['s_load_b64', 'global_store_b32'] : ['s_load_dwordx2', 'global_store_dword'];
  const registers = Array.from({ length: VGPRS - 1 }, (_, i) => i + 1);
  const setUp = way.isBuffer
    ? ['s_add_u32 s0, s0, s7', 's_addc_u32 s1, s1, 0']
    : way.setsUp
      ? ['s_add_u32 flat_scratch_lo, s2, s7', 's_addc_u32 flat_scratch_hi, s3, 0']
      : [];
  const body = [
    ...setUp,
    ...(way.isBuffer ? [] : ['s_mov_b64 s[4:5], s[0:1]']),
    (start ?? 's_mov_b32 s32, SP').replace('SP', `${frameBytes * unitsOf(way)}`),
    's_getpc_b64 s[8:9]',
    's_add_u32 s8, s8, pointer@rel32@lo+4',
    's_addc_u32 s9, s9, pointer@rel32@hi+12',
    `${load} s[8:9], s[8:9], 0x0`,
    ...registers.map((i) => `${add} v${i}, ${i * 7919 + 100_000}, v0`),
    's_mov_b32 s21, 0',
    // The frame is nobody else's.
    ...(frameBytes > 0 ? [access(way, 'store', 'v9', frameBytes - 4)] : []),
    wait,
    's_swappc_b64 s[30:31], s[8:9]',
    ...(frameBytes > 0 ? [access(way, 'load', 'v9', frameBytes - 4), wait] : []),
    ...registers.slice(1).map((i) => `${add} v1, v1, v${i}`),
    `${load} s[4:5], s[4:5], 0x0`,
    'v_lshlrev_b32_e32 v2, 2, v0',
    wait,
    `${store} v2, v1, s[4:5]`,
    's_endpgm',
  ];
  const descriptor = [
    `private_segment_fixed_size ${privateBytes}`,
    ...(isStackKnown ? [] : ['uses_dynamic_stack 1']),
    ...(way.isBuffer ? ['user_sgpr_private_segment_buffer 1'] : []),
    'user_sgpr_kernarg_segment_ptr 1',
    ...(way.setsUp ? ['user_sgpr_flat_scratch_init 1'] : []),
    ...(way.isBuffer || way.setsUp ? ['system_sgpr_private_segment_wavefront_offset 1'] : ['enable_private_segment 1']),
    ...['user_sgpr_count 6', `next_free_vgpr ${VGPRS}`, `next_free_sgpr ${scalars}`],
    isGfx11(way) ? `wavefront_size32 ${way.waveSize === 32 ? 1 : 0}` : `accum_offset ${VGPRS}`,
  ];
  return `.text
.globl ${name}
.p2align 8
.type ${name},@function
${name}:
${body.join('\n')}
.size ${name}, .-${name}
.rodata
.p2align 6
.amdhsa_kernel ${name}
${descriptor.map((each) => `  .amdhsa_${each}`).join('\n')}
.end_amdhsa_kernel
`;
}

/** Fills frames one behind the other, and reads them back. */
function calleeText(way: Way): string {
  const add = isGfx11(way) ? 'v_add_nc_u32_e32' : 'v_add_u32_e32';
  const size = FRAME_BYTES * unitsOf(way);
  return `.text
.p2align 2
.type callee,@function
callee:
s_mov_b32 s20, 0
down:
${access(way, 'store', 'v10', 's32')}
${add} v10, v10, v11
s_add_u32 s32, s32, ${size}
s_add_u32 s20, s20, 1
s_cmp_lt_u32 s20, ${ROUNDS}
s_cbranch_scc1 down
up:
s_sub_u32 s32, s32, ${size}
${access(way, 'load', 'v12', 's32')}
${wait}
v_xor_b32_e32 v10, v10, v12
s_sub_u32 s20, s20, 1
s_cmp_lg_u32 s20, 0
s_cbranch_scc1 up
s_setpc_b64 s[30:31]
.size callee, .-callee
.section .data.rel.ro,"aw",@progbits
.p2align 3
pointer:
.quad callee
`;
}

const KERNELS: readonly StackKernel[] = [
  { name: 'none', frameBytes: 0, privateBytes: 0 },
  { name: 'some', frameBytes: 32, privateBytes: 100 },
  { name: 'known', frameBytes: 16, privateBytes: 16 + FRAME_BYTES * ROUNDS, isStackKnown: true },
];

/** Workgroups of 512: with all vector registers two waves fit on a SIMD, and no more are there. */
const metadata = ({ waveSize }: Way, kernels: readonly StackKernel[], scalars: number): string => `.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
${kernels
  .map(
    ({ name, privateBytes, isStackKnown }) => `  - .name: ${name}
    .symbol: ${name}.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: ${privateBytes}
    .uses_dynamic_stack: ${isStackKnown !== true}
    .wavefront_size: ${waveSize}
    .sgpr_count: ${scalars}
    .vgpr_count: ${VGPRS}
    .agpr_count: 0
    .max_flat_workgroup_size: 512
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global`,
  )
  .join('\n')}
...
.end_amdgpu_metadata
`;

function imageOf(
  way: Way,
  kernels: readonly StackKernel[] = KERNELS,
  callee = calleeText(way),
  scalars = SGPRS,
): Uint8Array {
  const text = [...kernels.map((each) => kernelText(way, each, scalars)), callee, metadata(way, kernels, scalars)].join(
    '',
  );
  return linkCodeObject([{ bytes: assembleFile(text, { processor: way.processor }), name: 'k.o' }]);
}

/** What each kernel stores. */
function outputsOf({ processor, waveSize }: Way, bytes: Uint8Array, session?: ToolSession): number[][] {
  const { kernels } = parseCodeObject(bytes, 'k.co');
  return kernels.map(({ name }) => {
    using runner = new KernelRunner({ processor }, session);
    const launch = {
      grid: [waveSize, 1, 1],
      workgroup: [waveSize, 1, 1],
      args: [{ sizeBytes: 4 * waveSize }],
    } as const;
    const { output } = runner.prepare({ bytes, name: 'k.co' }, name, launch)();
    const words = [...new Uint32Array(output.slice().buffer)];
    session?.onFinished();
    return words;
  });
}

const privateBytesIn = (bytes: Uint8Array): number[] =>
  parseCodeObject(bytes, 'k.co').kernels.map(({ descriptor }) => descriptor.privateSegmentFixedSizeBytes);

async function rewritten(bytes: Uint8Array, places = PLACES) {
  const session = new ToolSession([await chooseTool(`value-profile:${places}`)]);
  return { session, ...session.rewrite({ bytes, name: 'k.co' }) };
}

for (const way of WAYS) {
  test(`${way.name}: the stack begins behind what payloads have`, async () => {
    const original = imageOf(way);
    const outputs = outputsOf(way, original);
    const { session, bytes } = await rewritten(original);
    assert.deepEqual(outputsOf(way, bytes, session), outputs);
    const [{ coverage } = assert.fail('no report')] = session.reports;
    assert.deepEqual([coverage.refused, coverage.served.memory > 0], [{}, true]);
    const end = 32 + AREA_BYTES;
    assert.deepEqual(privateBytesIn(bytes), [end, 100 - 32 + end, FRAME_BYTES * ROUNDS + end]);
    // Once more, with an area of its own.
    const twice = await rewritten(bytes, MORE_PLACES);
    assert.deepEqual(outputsOf(way, twice.bytes, twice.session), outputs);
    const behind = end + AREA_BYTES;
    assert.deepEqual(privateBytesIn(twice.bytes), [behind, 100 - 32 + behind, FRAME_BYTES * ROUNDS + behind]);
  });

  test(`${way.name}: a stack that begins where payloads have memory is noticed`, async () => {
    const original = imageOf(way);
    const { bytes, map } = await rewritten(original);
    const codeObject = parseCodeObject(bytes, 'k.co');
    const code = liftCodeObject(codeObject);
    const starts = map.rows.filter(({ kind, address }) => {
      return kind === 'original' && code.stepAt(address)?.text().startsWith('s_mov_b32 s32, ');
    });
    assert.equal(starts.length, KERNELS.length);
    for (const { address, sizeBytes } of starts) {
      const words = codeObject.elf.read(BigInt(address), sizeBytes, 'an instruction');
      new DataView(words.buffer, words.byteOffset).setUint32(sizeBytes - 4, 32 * unitsOf(way), true);
    }
    assert.notDeepEqual(outputsOf(way, bytes), outputsOf(way, original));
  });
}

for (const way of WAYS.slice(2)) {
  test(`${way.name}: code that is not known cannot change where private memory is`, async () => {
    const scalars = targetFor(way.processor).scalars.sgprCount;
    const kernel = { ...KERNELS[0]!, start: `s_mov_b32 s${scalars - 1}, 0\ns_mov_b32 s32, SP` };
    const original = imageOf(
      way,
      [kernel],
      calleeText(way).replace('.section .data.rel.ro,"aw",@progbits', '.data'),
      scalars,
    );
    const { session, bytes } = await rewritten(original);
    assert.deepEqual(outputsOf(way, bytes, session), outputsOf(way, original));
    const [{ coverage } = assert.fail('no report')] = session.reports;
    // Around calls of what is not known nothing at all is free.
    for (const reason of Object.keys(coverage.refused)) assert.match(reason, /no scalar registers are free/);
    assert.ok(coverage.served.memory > 0);
  });
}

const [BUFFERS] = WAYS;
const UNSEEN = 'the stack of the kernel has no fixed size, nor is it seen to begin';

for (const [what, start] of [
  ['that is read before', 's_add_u32 s9, s32, 0\ns_mov_b32 s32, SP'],
  ['of another register', 's_mov_b32 s32, s6'],
  ['beyond what the kernel says that it has', 's_mov_b32 s32, 0x10000'],
  ['in the middle of a byte', 's_mov_b32 s32, 1'],
  ['among other things', 's_mov_b64 s[32:33], 0'],
  ['where control comes again', 'again: s_mov_b32 s32, SP\ns_cmp_eq_u32 s32, 1\ns_cbranch_scc1 again'],
] as const) {
  test(`points are refused where the stack begins with a value ${what}`, async () => {
    const original = imageOf(BUFFERS!, [{ ...KERNELS[0]!, start }]);
    const { session, bytes } = await rewritten(original);
    assert.deepEqual(outputsOf(BUFFERS!, bytes, session), outputsOf(BUFFERS!, original));
    const [{ coverage } = assert.fail('no report')] = session.reports;
    const reasons = Object.keys(coverage.refused);
    assert.ok(reasons.length > 0 && reasons.every((each) => each.endsWith(UNSEEN)), `${reasons}`);
  });
}

test('points are refused where one stack pointer counts in two ways', async () => {
  const mixed = calleeText(BUFFERS!).replace('down:', 's_cbranch_scc0 down\nscratch_load_dword v12, off, s32\ndown:');
  const { session, bytes } = await rewritten(imageOf(BUFFERS!, KERNELS.slice(0, 1), mixed));
  outputsOf(BUFFERS!, bytes, session);
  const [{ coverage } = assert.fail('no report')] = session.reports;
  assert.ok(Object.keys(coverage.refused).some((each) => each.endsWith(UNSEEN)));
});

test('an instruction that sets a stack pointer which moves is neither removed nor replaced', async () => {
  const profile = await chooseTool(`value-profile:${PLACES}`);
  const remover = {
    ...profile.tool,
    attach: (code: ToolCode, values: typeof profile.values) => {
      code.remove(code.instructions.find(({ step }) => step.text().startsWith('s_mov_b32 s32, '))!);
      return profile.tool.attach(code, values);
    },
  };
  const session = new ToolSession([{ ...profile, tool: remover }]);
  const original = imageOf(BUFFERS!);
  const { bytes } = session.rewrite({ bytes: original, name: 'k.co' });
  assert.deepEqual(outputsOf(BUFFERS!, bytes, session), outputsOf(BUFFERS!, original));
  const [{ coverage } = assert.fail('no report')] = session.reports;
  assert.deepEqual(coverage.refused, { 'an instruction is not taken out: it sets a stack pointer that moves': 1 });
});

const [, , ARCHITECTED] = WAYS;
const AT_32 = 2 ** 32;
/** Where the stack pointer has no more bits. */
const LAST_BYTES = AT_32 / unitsOf(BUFFERS!);

interface Border {
  readonly way: Way;
  readonly frameBytes: number;
  readonly privateBytes: number;
  readonly isServed: boolean;
}

const BORDERS: readonly Border[] = [
  { way: ARCHITECTED!, frameBytes: 32, privateBytes: AT_32 - AREA_BYTES - 1, isServed: true },
  { way: ARCHITECTED!, frameBytes: 32, privateBytes: AT_32 - AREA_BYTES, isServed: false },
  { way: ARCHITECTED!, frameBytes: 32, privateBytes: AT_32 - 1, isServed: false },
  { way: BUFFERS!, frameBytes: LAST_BYTES - AREA_BYTES - 16, privateBytes: LAST_BYTES, isServed: true },
  { way: BUFFERS!, frameBytes: LAST_BYTES - AREA_BYTES, privateBytes: LAST_BYTES, isServed: false },
];

for (const { way, frameBytes, privateBytes, isServed } of BORDERS) {
  const name = `${way.name}: frames of ${frameBytes} bytes and private memory of ${privateBytes}`;
  test(`${name} ${isServed ? 'leave' : 'do not leave'} room for payloads`, async () => {
    const start = `s_mov_b32 s32, ${frameBytes * unitsOf(way)}`;
    const kernel = { name: 'large', frameBytes: 0, privateBytes, start };
    const { bytes, coverage } = await rewritten(imageOf(way, [kernel]));
    assert.deepEqual(privateBytesIn(bytes), [privateBytes + (isServed ? AREA_BYTES : 0)]);
    const isRefused = Object.keys(coverage.refused).some((each) => each.endsWith('would end beyond 2^32 - 1'));
    assert.deepEqual([isRefused, coverage.served.memory > 0], [!isServed, isServed]);
  });
}
