import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { assembleFile } from '../../assembler/assemble-file.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { runCommand } from '../run-command.test-support.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../../examples');
const VADD = path.join(EXAMPLES, 'kernels/vadd.gfx90a.co');
const LINK = ['apply', 'filters'].map((name) => path.join(EXAMPLES, `link/${name}.gfx90a.co`));
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-dispatch-'));
after(() => rmSync(folder, { recursive: true }));
const at = (name: string): string => path.join(folder, name);

async function run(...argv: string[]) {
  const { status, bytes, stderr } = await runCommand(argv);
  return { status, stdout: bytes, stderr };
}

const SHAPE = ['--grid=100', '--workgroup', '64'];
const floats = (values: readonly number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
const A = Array.from({ length: 100 }, (_, i) => i + 0.25);
writeFileSync(at('a'), floats(A));

test('a kernel reads files and writes files', async () => {
  const argv = ['dispatch', VADD, ...SHAPE, `--arg=out:${at('sum')}:400`];
  const inputs = [`--arg=in:${at('a')}`, '--arg', `in:${at('a')}`, '--arg=i32:100'];
  const { status, stdout, stderr } = await run(...argv, ...inputs);
  assert.deepEqual([status, stdout.length, stderr], [0, 0, '']);
  assert.deepEqual(Buffer.from(floats(A.map((x) => 2 * x))), readFileSync(at('sum')));
});

test('every run starts with the same memory; times and counts as JSON', async () => {
  writeFileSync(at('b'), floats(A));
  const argv = ['dispatch', VADD, ...SHAPE, '--repeat=3', '--format=json', `--arg=inout:${at('b')}`];
  const { status, stdout } = await run(...argv, `--arg=in:${at('b')}`, `--arg=in:${at('a')}`, '--arg=i32:100');
  assert.equal(status, 0);
  const report = JSON.parse(stdout.toString());
  assert.deepEqual([report.schema, report.version, report.kernel, report.waves], ['wavewright.dispatch', 1, 'vadd', 2]);
  assert.equal(report.runs.length, 3);
  assert.ok(report.runs.every(({ durationNs, cpuNs }: Record<string, number>) => durationNs! > 0 && cpuNs! > 0));
  assert.ok(report.runs.some(({ durationNs }: { durationNs: number }) => durationNs === report.medianNs));
  const { vmem, valu, branch } = report.instructionsByClass;
  assert.deepEqual([vmem, branch], [2 * 3, 2]);
  const counts: number[] = Object.values(report.instructionsByClass);
  assert.ok(valu > 0 && counts.reduce((sum, count) => sum + count, 0) === report.instructions);
  assert.deepEqual(Buffer.from(floats(A.map((x) => 2 * x))), readFileSync(at('b')));
});

test('files are linked, a device function is an argument, standard output is a file', async () => {
  const pixels = Uint32Array.from({ length: 64 }, (_, i) => i * 0x010203);
  writeFileSync(at('pixels'), new Uint8Array(pixels.buffer));
  const inputs = ['--arg=out:-:256', `--arg=in:${at('pixels')}`, '--arg=fn:invert', '--arg=u32:64'];
  const { status, stdout, stderr } = await run(
    'dispatch',
    ...LINK,
    '--kernel=apply',
    '--grid=64',
    '--workgroup=64',
    '--time',
    ...inputs,
  );
  assert.equal(status, 0);
  assert.match(stderr, /\nmedian: .* instructions of 1 waves\nclasses: \d+ valu, /);
  assert.deepEqual(
    [...new Uint32Array(Uint8Array.from(stdout).buffer)],
    [...pixels].map((p) => ~p & 0xffffff),
  );
  assert.match(
    stderr,
    /warning: on hardware, kernel 'apply' needs private memory of unknown size \(an indirect call\)/,
  );
});

test('what does not fit the kernel is refused before it runs', async () => {
  const input = `--arg=in:${at('a')}`;
  const cases: [string[], number, RegExp][] = [
    [[VADD], 2, /no --grid \[USAGE\]/],
    [[VADD, '--grid=1', '--workgroup=1,1,1,1'], 2, /--workgroup 1,1,1,1: expected 1 to 3 sizes/],
    [[VADD, ...SHAPE], 2, /0 arguments, kernel 'vadd' takes 4 \[USAGE\]\nhint: .*global_buffer \(float\*, 8 bytes\)/],
    [[VADD, ...SHAPE, input, input, input, '--arg=i64:1'], 2, /argument 4, i64:1: it has 8 bytes; .*int, 4 bytes/],
    [
      [VADD, ...SHAPE, input, input, input, '--arg=f32:1'],
      2,
      /argument 4, f32:1: expected an integer, or hex; .*int, 4/,
    ],
    [[VADD, ...SHAPE, input, input, input, '--arg=zero:4'], 2, /argument 4, zero:4: an address has 8 bytes/],
    [
      [VADD, ...SHAPE, input, input, '--arg=local:4', '--arg=i32:1'],
      2,
      /argument 3, local:4: expected no local memory/,
    ],
    [
      [VADD, '--grid=2048', '--workgroup=2048', input, input, input, '--arg=i32:1'],
      2,
      /a workgroup of 2048 work-items/,
    ],
    [[VADD, '--kernel=nope', ...SHAPE], 3, /there is no kernel 'nope' \[BAD_INPUT\]\nhint: the kernels are vadd/],
    [
      [...LINK, ...SHAPE],
      2,
      /several kernels \[USAGE\]\nhint: choose one with --kernel: apply, soften_all, apply_each/,
    ],
    [[LINK[0]!, ...SHAPE], 3, /undefined symbols 'soften'/],
    [
      [...LINK, '--kernel=apply', ...SHAPE, input, input, '--arg=fn:nope', '--arg=u32:1'],
      2,
      /no symbol 'nope', expected a device function \[USAGE\]\nhint: the device functions are .*invert/,
    ],
    [
      [...LINK, '--kernel=apply', ...SHAPE, input, input, '--arg=fn:filters', '--arg=u32:1'],
      2,
      /'filters' is a variable, expected a device function/,
    ],
    [
      [VADD, ...SHAPE, input, input, '--arg=fn:f', '--arg=i32:1'],
      2,
      /hint: none of the files exports a device function/,
    ],
    [[VADD, '--device=emulated:gfx942', ...SHAPE], 4, /\[UNSUPPORTED\]/],
  ];
  for (const [argv, expected, message] of cases) {
    const { status, stdout, stderr } = await run('dispatch', ...argv);
    assert.match(stderr, message);
    assert.deepEqual([status, stdout.length], [expected, 0]);
  }
});

test('a fault names the kernel', async () => {
  const argv = [
    'dispatch',
    VADD,
    ...SHAPE,
    '--arg=u64:4096',
    `--arg=in:${at('a')}`,
    `--arg=in:${at('a')}`,
    '--arg=i32:100',
  ];
  const { status, stderr } = await run(...argv);
  assert.equal(status, 6);
  assert.match(
    stderr,
    /kernel 'vadd': invalid write of address 0x1000 \[GPU_FAULT\]\n {2}instruction: 'global_store_dword .*'\n {2}at: +pc 0x[0-9a-f]+ in vadd\+0x/,
  );
});

test('readobj --link shows what is resolved, and fails where something is missing', async () => {
  const whole = await run('readobj', '--link', ...LINK);
  assert.equal(whole.status, 0);
  assert.match(whole.stdout.toString(), /apply\.gfx90a\.co +soften +1 +other +\S*filters\.gfx90a\.co\n/);
  assert.match(whole.stdout.toString(), /indirect-function +program +strong .* posterize\n/);
  const part = await run('readobj', '--link', '--relocations', '--format=json', LINK[1]!);
  assert.equal(part.status, 1);
  const report = JSON.parse(part.stdout.toString());
  assert.deepEqual([report.schema, report.version], ['wavewright.link', 1]);
  assert.deepEqual(report.problems.length, 1);
  assert.match(report.problems[0], /undefined symbol 'blend'$/);
});

test('readobj shows symbols or relocations only', async () => {
  const { stdout } = await run('readobj', '--relocations', LINK[0]!);
  assert.match(stdout.toString(), /R_AMDGPU_ABS64 +0 +soften/);
  assert.doesNotMatch(stdout.toString(), /Segments|Dynamic symbols|Kernel/);
});

test('info lists agents', async () => {
  const { status, stdout } = await run('info', '--device=emulated:gfx942', '--format=json');
  assert.equal(status, 0);
  const { schema, version, agents } = JSON.parse(stdout.toString());
  assert.deepEqual([schema, version], ['wavewright.info', 1]);
  assert.deepEqual(
    agents.map(({ kind, name }: { kind: string; name: string }) => [kind, name]),
    [
      ['cpu', 'cpu'],
      ['gpu', 'gfx942'],
    ],
  );
  assert.deepEqual(agents[1].isas, ['amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-']);
  const one = (await run('info')).stdout.toString();
  assert.equal(one.match(/: GPU agent /g)?.length, 1);
  assert.match(one, /\n\d+ processors are emulated, .*\ngfx900 .* gfx1201/);
  const apply = (await run('info', '--format=json', LINK[0]!)).stdout.toString();
  assert.deepEqual(
    JSON.parse(apply).agents.map(({ name }: { name: string }) => name),
    ['cpu', 'gfx90a'],
  );
  assert.equal((await run('info', '--all', LINK[0]!)).status, 2);
  const text = (await run('info', '--all')).stdout.toString();
  assert.match(text, /^HSA 1\.1, .*\n\nhost: CPU agent cpu\n/);
  assert.match(text, /\n {2}queues {12}1 to \d+ packets each\n/);
  assert.match(text, /\nemulated:gfx1100: GPU agent gfx1100\n(.*\n)* {2}wavefront {9}32 lanes\n/);
});

const GIB_BUFFERS = [...Array(3).fill('--arg=zero:1200000000'), '--arg=i32:100'];

test('memory that a kernel does not use takes none of the machine', () => {
  // In a process of its own: what others use does not count.
  const launcher = path.resolve(import.meta.dirname, '../../../bin/wavewright.js');
  const argv = [launcher, 'dispatch', VADD, ...SHAPE, ...GIB_BUFFERS, '--format=json'];
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  assert.equal(status, 0);
  assert.ok(JSON.parse(stdout).peakResidentBytes < 600 * 2 ** 20, stdout);
});

test('--memory bounds buffers and what bundles expand to, before anything is allocated', async () => {
  const buffers = await run('dispatch', VADD, ...SHAPE, '--memory=1000000000', ...GIB_BUFFERS);
  assert.equal(buffers.status, 3);
  assert.match(buffers.stderr, /an allocation of 1200000000 bytes, the \S+ pool has 10000\d+ \[LIMIT_EXCEEDED\]/);
  const expanded = new Uint8Array(2 ** 21);
  const compressed = zstdCompressSync(expanded);
  // Magic, version 3, method zstd, sizes of file and contents, hash.
  const header = Buffer.alloc(32);
  header.write('CCOB');
  header.writeUInt16LE(3, 4);
  header.writeUInt16LE(1, 6);
  header.writeBigUInt64LE(BigInt(32 + compressed.length), 8);
  header.writeBigUInt64LE(BigInt(expanded.length), 16);
  writeFileSync(at('bundle'), Buffer.concat([header, compressed]));
  for (const command of [['dispatch', ...SHAPE], ['run']]) {
    const bundle = await run(...command, '--memory=1048576', at('bundle'));
    assert.equal(bundle.status, 3);
    assert.match(bundle.stderr, /expands to 2097152 bytes, there is memory for 1048576 \[LIMIT_EXCEEDED\]/);
  }
});

/** Never ends. */
const LOOP = `.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.p2align 8
.globl k
.type k,@function
k:
  s_sleep 1
  s_branch k
.size k, .-k
.section .rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
`;
const PLACE = / {2}1 wave (?:running|asleep) at pc 0x[0-9a-f]+ in k\+0x.*\n {2}this looks like .*\n/;

test('a kernel that does not end says where its waves are, a line each: at the time limit and after Ctrl-C', async () => {
  writeFileSync(at('loop.s'), LOOP);
  assert.equal((await run('asm', at('loop.s'), '-o', at('loop.co'))).status, 0);
  const late = await run('dispatch', at('loop.co'), '--grid=1', '--workgroup=1', '--timeout=1');
  assert.equal(late.status, 124);
  assert.match(
    late.stderr,
    new RegExp(`^wavewright: error: .*did not end within 1 s \\[TIMEOUT\\]\\n${PLACE.source}$`),
  );
  const launcher = path.resolve(import.meta.dirname, '../../../bin/wavewright.js');
  // Before the kernel runs a signal ends the process without a word.
  for (const seconds of [1, 5, 30]) {
    const child = spawn(process.execPath, [launcher, 'dispatch', at('loop.co'), '--grid=1', '--workgroup=1']);
    const closed = once(child, 'close');
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    await setTimeout(seconds * 1000);
    child.kill('SIGINT');
    assert.deepEqual(await closed, [null, 'SIGINT']);
    if (stderr === '') continue;
    assert.match(stderr, new RegExp(`^wavewright: interrupted in kernel 'k'\\n${PLACE.source}$`));
    return;
  }
  assert.fail('the kernel never ran');
});

test('the time limit holds while files are loaded', async () => {
  const { status, stderr } = await run('dispatch', VADD, ...SHAPE, '--timeout=0.000001', '--arg=i32:1');
  assert.equal(status, 124);
  assert.match(stderr, /time limit of 0\.000001 s ran out while the files were loaded \[TIMEOUT\]/);
});

/**
 * Writes 4000 bytes into its private memory, of which the compiler is said to know 16; or loops, with line
 * tables.
 */
const STACK = (usesDynamicStack: 0 | 1) => `.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.p2align 8
.hidden k
k:
  v_mov_b32_e32 v1, 7
  scratch_store_dword off, v1, off offset:4000
  s_endpgm
.size k, .-k
.section .rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 4
  .amdhsa_enable_private_segment 1
  .amdhsa_private_segment_fixed_size 16
  .amdhsa_uses_dynamic_stack ${usesDynamicStack}
.end_amdhsa_kernel
.hidden k.kd
`;

test('a stack of unknown size has room, also where all is hidden; --stack-size counts for any, and the fault says so', async () => {
  for (const usesDynamicStack of [0, 1] as const) {
    writeFileSync(at('stack.s'), STACK(usesDynamicStack));
    assert.deepEqual(await run('asm', at('stack.s'), '-o', at('stack.co')).then(({ stderr }) => stderr), '');
    const argv = ['dispatch', at('stack.co'), '--grid=1', '--workgroup=1'];
    const plain = await run(...argv);
    assert.equal(plain.status, usesDynamicStack ? 0 : 6, plain.stderr);
    assert.equal((await run(...argv, '--stack-size=8192')).status, 0);
    const small = await run(...argv, '--stack-size=1024');
    assert.equal(small.status, 6);
    const hint = /\nhint: a work-item had 1024 bytes of private memory, its stack included: --stack-size=BYTES .*\n$/;
    assert.match(small.stderr, hint);
  }
});

test('a fault in the stack names the option that makes it larger, which counts for every kernel', async () => {
  const source = `.text
.p2align 8
.globl k
.type k,@function
k:
 s_movk_i32 s4, 0x7000
 scratch_store_dword off, v0, s4
 s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
 .amdhsa_next_free_vgpr 8
 .amdhsa_next_free_sgpr 16
 .amdhsa_accum_offset 8
 .amdhsa_enable_private_segment 1
.end_amdhsa_kernel
`;
  const bytes = assembleFile(source, { processor: 'gfx942', file: 'deep.s' });
  writeFileSync(at('deep.co'), linkCodeObject([{ name: 'deep.o', bytes }]));
  const argv = ['dispatch', at('deep.co'), '--grid=1', '--workgroup=1'];
  const { status, stderr } = await run(...argv);
  assert.equal(status, 6);
  assert.match(stderr, /outside the private segment at 0x7000[\s\S]*\nhint: .*--stack-size=BYTES/);
  assert.equal((await run(...argv, '--stack-size=32768')).status, 0);
});

test('--check=waits names the instruction that lacks a wait, what it needs, and where both are', async () => {
  const argv = ['--grid=64', '--workgroup=64', '--check=waits', `--arg=out:${at('scaled')}:256`, '--arg=i32:3'];
  const source = readFileSync(path.join(EXAMPLES, 'assembler/scale.gfx90a.s'), 'utf8');
  const place = (name: string, text: string): string => {
    const bytes = assembleFile(text, { file: 'scale.s', processor: 'gfx90a' });
    writeFileSync(at(name), linkCodeObject([{ name: 'scale.o', bytes }]));
    return at(name);
  };
  const whole = await run('dispatch', place('whole.co', source), ...argv);
  assert.deepEqual([whole.status, whole.stdout.length, whole.stderr], [0, 0, '']);
  const early = place('early.co', source.replace('s_waitcnt lgkmcnt(0)', 's_nop 0'));
  const { status, stderr } = await run('dispatch', early, ...argv);
  assert.equal(status, 6);
  const lines = stderr.split('\n');
  assert.equal(
    lines[0],
    "missing wait: 'v_mul_lo_u32 v2, v0, s4' at scale+0x18 reads s4, which 's_load_dword s4, s[0:1], 0x8' at scale+0x8 " +
      'is still to write; it needs lgkmcnt of at most 0 before; workgroup (0, 0, 0), wave 0',
  );
  assert.match(lines[1]!, /^missing wait: 'global_store_dword .*' at scale\+0x20 reads s2, which 's_load_dwordx2/);
  assert.match(stderr, /error: 2 waits are missing.*\[GPU_FAULT\]/);
  // The run goes on with what should have been waited for.
  assert.deepEqual([...new Int32Array(Uint8Array.from(readFileSync(at('scaled'))).buffer).subarray(0, 3)], [0, 3, 6]);
  const native = await run('dispatch', early, '--device=hsa:0', ...argv);
  assert.match(native.stderr, /--check on hsa:0.*emulated devices have it/s);
});

test('--pc-counts: each instruction that was executed, by waves and lanes, as text and as JSON', async () => {
  const source = readFileSync(path.join(EXAMPLES, 'assembler/scale.gfx90a.s'), 'utf8');
  const bytes = assembleFile(source, { file: 'scale.s', processor: 'gfx90a' });
  writeFileSync(at('counted.co'), linkCodeObject([{ name: 'scale.o', bytes }]));
  const argv = [
    at('counted.co'),
    ...SHAPE,
    '--repeat=2',
    '--pc-counts',
    `--arg=out:${at('scaled')}:400`,
    '--arg=i32:3',
  ];
  const { status, stdout } = await run('dispatch', ...argv);
  assert.equal(status, 0);
  const lines = stdout.toString().split('\n');
  assert.deepEqual(lines.slice(0, 3), ['waves lanes', '', `scale of ${at('counted.co')}:`]);
  assert.match(lines[3]!, /^ {4}2 {3}100 {2}0x[0-9a-f]+ {2}s_load_dwordx2 s\[2:3\], s\[0:1\], 0x0$/);
  assert.equal(lines.filter((line) => /^ {4}2 {3}100 /.test(line)).length, 7);
  const profiled = [
    `--device_profiling_output=${at('counted.ireeprof')}`,
    '--device_profiling_mode=instruction-counts',
  ];
  const silent = await run('dispatch', ...argv.filter((word) => word !== '--pc-counts'), ...profiled);
  assert.equal(silent.stdout.toString(), '', 'a profile alone prints nothing');
  const report = JSON.parse((await run('dispatch', ...argv, '--format=json')).stdout.toString());
  const { address, file, ...last } = report.executed.at(-1);
  assert.deepEqual(last, { function: { name: 'scale', offset: 0x28 }, text: 's_endpgm', waves: 2, lanes: 100 });
  assert.deepEqual([file, typeof address], [at('counted.co'), 'number']);
});
