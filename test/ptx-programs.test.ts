/** Whole programs as PTX: start-up kernels, arguments, constructors, status, faults. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { WavewrightError } from '../src/base/errors.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { createPtxDevice } from '../src/devices/emulated/ptx-device.ts';
import { formatInspection, inspectProgram, MemoryFileSystem, runProgram } from '../src/index.ts';
import type { RunOptions } from '../src/loader/run-options.ts';

interface Parts {
  readonly begin?: string;
  readonly start?: string;
  readonly declarations?: string;
}

/** A program without a library; `%result` is the address of main's result in `_start`. */
const program = ({ begin = '', start = '', declarations = '' }: Parts): Uint8Array =>
  new TextEncoder().encode(`.version 6.3
.target sm_70
.address_size 64
${declarations}
.visible .entry _begin(.param .u32 argc, .param .u64 argv, .param .u64 envp)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .reg .pred %p<3>;
${begin}
  ret;
}
.visible .entry _start(.param .u32 argc, .param .u64 argv, .param .u64 envp, .param .u64 result)
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>, %result;
  .reg .pred %p<3>;
  ld.param.u64 %result, [result];
${start}
  ret;
}
.visible .entry _end()
{
  ret;
}
`);

async function run(parts: Parts, options: Partial<RunOptions> = {}) {
  using device = createPtxDevice({ processor: 'sm_70', memorySizeBytes: 2 ** 26 });
  return await runProgram(program(parts), { device, args: ['prog.ptx', 'x'], env: { A: 'b' }, ...options });
}

const failure = async (parts: Parts, options: Partial<RunOptions> = {}): Promise<string> =>
  await run(parts, options).then(
    () => 'none',
    (error) => (error instanceof WavewrightError ? `${error.code} ${error.message}` : String(error)),
  );

/** The first letters of argv[1] and envp[0], argc and the number of the thread. */
const READS_ARGUMENTS = `
  ld.param.u64 %rd1, [argv];
  ld.global.u64 %rd2, [%rd1+8];
  ld.global.u8 %r1, [%rd2];
  ld.param.u64 %rd3, [envp];
  ld.global.u64 %rd4, [%rd3];
  ld.global.u8 %r2, [%rd4];
  ld.param.u32 %r3, [argc];
  sub.u32 %r4, %r1, %r2;
  add.u32 %r4, %r4, %r3;
  mov.u32 %r5, %ctaid.x;
  mov.u32 %r6, %tid.x;
  mad.lo.u32 %r5, %r5, 64, %r6;
  or.b32 %r4, %r4, %r5;
  atom.global.or.b32 %r7, [%result], %r4;`;

test('main sees argc, argv, envp and its grid; the status is the OR of its results', async () => {
  const { status, ended, generation, statistics } = await run(
    { start: READS_ARGUMENTS },
    { blocks: [2, 1, 1], threads: [5, 1, 1] },
  );
  const own = 'x'.charCodeAt(0) - 'A'.charCodeAt(0) + 2;
  assert.deepEqual([status, ended, generation], [own | 64 | 7, 'return', 'none']);
  assert.deepEqual(
    statistics.kernels.map(({ kernel }) => kernel),
    ['_begin', '_start', '_end'],
  );
});

/** A variable for each constructor, which here holds the address of another variable. */
const CONSTRUCTORS = `
.visible .global .align 8 .u64 __init_array_start;
.visible .global .align 8 .u64 __init_array_end;
.visible .global .align 4 .u32 order;
.visible .global .align 4 .u32 first = 5;
.visible .global .align 4 .u32 second = 7;
.visible .const .align 8 .u64 __init_array_object_b_0123456789abcdef_65535 = second;
.visible .const .align 8 .u64 __init_array_object_a_0123456789abcdef_101 = first;`;

test('constructors stand in an array by their priority', async () => {
  const begin = `
  ld.global.u64 %rd1, [__init_array_start];
  ld.global.u64 %rd2, [__init_array_end];
  mov.u32 %r1, 0;
again:
  setp.eq.u64 %p1, %rd1, %rd2;
  @%p1 bra done;
  ld.global.u64 %rd3, [%rd1];
  ld.global.u32 %r2, [%rd3];
  mad.lo.u32 %r1, %r1, 10, %r2;
  add.u64 %rd1, %rd1, 8;
  bra again;
done:
  st.global.u32 [order], %r1;`;
  const start = '  ld.global.u32 %r1, [order];\n  st.global.u32 [%result], %r1;';
  const { status } = await run({ begin, start, declarations: CONSTRUCTORS });
  assert.equal(status, 57);
  const bare = CONSTRUCTORS.replace(/.*__init_array_end;/, '');
  assert.match(await failure({ declarations: bare }), /^BAD_INPUT prog\.ptx: .*no variable '__init_array_end'/);
  const odd = CONSTRUCTORS.replace('_101 ', '_70000 ');
  assert.match(await failure({ declarations: odd }), /^BAD_INPUT .*_70000' ends in no priority/);
});

test('faults name the line, hangs the place, grids and devices that do not fit are refused', async () => {
  const fault = await failure({ start: '  mov.u64 %rd1, 16;\n  ld.global.u32 %r1, [%rd1];' });
  assert.match(fault, /^GPU_FAULT prog\.ptx: kernel '_start': invalid read of address 0x10 .*; at prog\.ptx:\d+:3/);
  const hang = await failure({ start: 'again:\n  bra again;' }, { timeoutMs: 300 });
  assert.match(hang, /^TIMEOUT .*ran out in kernel '_start'\n.*prog\.ptx:\d+/);
  assert.match(
    await failure({}, { threads: [2048, 1, 1] }),
    /^USAGE .*2048 work-items, kernel '_start' takes at most 1024/,
  );
  using amd = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });
  await assert.rejects(
    runProgram(program({}), { device: amd, args: ['p.ptx'] }),
    /p\.ptx: PTX, which emulated:gfx90a does not run/,
  );
  using ptx = createPtxDevice({ processor: 'sm_70', memorySizeBytes: 2 ** 26 });
  const kernel = new TextEncoder().encode('.version 6.3\n.target sm_70\n.address_size 64\n.entry k() { ret; }\n');
  await assert.rejects(runProgram(kernel, { device: ptx, args: ['k.ptx'] }), /the image has no kernel '_begin'/);
});

test('an inspection says what would run, in the words of PTX', async () => {
  using device = createPtxDevice({ processor: 'sm_80', memorySizeBytes: 2 ** 26 });
  const inspection = await inspectProgram(program({ start: READS_ARGUMENTS }), {
    device,
    name: 'prog.ptx',
    blocks: [3, 1, 1],
  });
  const text = formatInspection(inspection);
  assert.match(text, /^prog\.ptx: runs on ptx:sm_80\n {2}generation {2}none/);
  assert.match(
    text,
    /_start: \d+ registers, shared 0 bytes, local 0 bytes per thread, parameters 32 bytes\n {6}3x1x1 blocks/,
  );
});

/** A shipped program, with the files that it may read. */
async function runExample(name: string, args: readonly string[], options: Partial<RunOptions> = {}) {
  using device = createPtxDevice({ processor: 'sm_70', memorySizeBytes: 2 ** 28 });
  const bytes = readFileSync(path.join(import.meta.dirname, `../examples/${name}/${name}.sm_70.ptx`));
  const { status, output, generation } = await runProgram(bytes, { device, args: [name, ...args], ...options });
  return { status, stdout: output.text.stdout, generation };
}

test('shipped programs print, allocate and read files over RPC as those for AMD GPUs do', async () => {
  const hello = await runExample('hello', ['PTX'], { threads: [3, 1, 1], blocks: [2, 1, 1] });
  const lines = Array.from({ length: 6 }, (_, i) => `Hello, PTX, from lane ${i} of 6 (argc=2)\n`);
  assert.deepEqual(hello, { status: 0, stdout: lines.join(''), generation: 'P20' });
  const sieve = await runExample('sieve', []);
  assert.equal(sieve.stdout, '1229 primes up to 10000, the last ones: 9931 9941 9949 9967 9973\n');
  const filesystem = new MemoryFileSystem();
  const abc = readFileSync(path.join(import.meta.dirname, '../examples/sha256/abc.txt'));
  filesystem.set('abc.txt', abc);
  const { stdout } = await runExample('sha256', ['abc.txt'], { filesystem });
  assert.equal(stdout, `${createHash('sha256').update(abc).digest('hex')}  abc.txt\n`);
});
