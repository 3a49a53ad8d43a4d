/**
 * Kernels that ask the host while they run, written against the protocol of ROCm 5 and 6 without its device
 * libraries; on every executor.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommandLine } from '../src/cli/command-line.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { type DispatchRequest, dispatchKernel } from '../src/dispatch/dispatch.ts';
import { createContext } from '../src/kernels/index.ts';
import { EXECUTORS, type ExecutorOptions, imageOf, kernelText } from './kernel-rig.test-support.ts';

const LANES = 64;

/**
 * Takes a packet, asks for a service with what `fill` stores for each lane (at v8 behind the payloads
 * s[14:15]), waits, stores the low dword of the answer to the results and gives the packet back. s[10:11]:
 * the buffer; v0: the lane; v5: offset of the header; one lane works on the stacks.
 */
const asks = (service: number, fill: string): string => `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx4 s[12:15], s[10:11], 0x0
  s_load_dwordx2 s[16:17], s[10:11], 0x28
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[20:21], exec
  s_mov_b64 exec, 1
  v_mov_b32 v10, s10
  v_mov_b32 v11, s11
take:
  global_load_dwordx2 v[14:15], v[10:11], off offset:24 glc
  s_waitcnt vmcnt(0)
  v_and_b32 v4, s16, v14
  v_mul_u32_u24 v5, 24, v4
  global_load_dwordx2 v[12:13], v5, s[12:13] glc
  s_waitcnt vmcnt(0)
  global_atomic_cmpswap_x2 v[16:17], v[10:11], v[12:15], off offset:24 glc
  s_waitcnt vmcnt(0)
  v_cmp_ne_u64 vcc, v[16:17], v[14:15]
  s_cbranch_vccnz take
  v_readfirstlane_b32 s18, v4
  v_readfirstlane_b32 s22, v14
  v_readfirstlane_b32 s23, v15
  v_mov_b32 v6, s20
  v_mov_b32 v7, s21
  global_store_dwordx2 v5, v[6:7], s[12:13] offset:8
  v_mov_b32 v6, ${service}
  v_mov_b32 v7, 1
  global_store_dwordx2 v5, v[6:7], s[12:13] offset:16
  s_mov_b64 exec, s[20:21]
  s_lshl_b32 s19, s18, 12
  v_lshlrev_b32 v8, 6, v0
  v_add_u32 v8, s19, v8
${fill}
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
ready:
  global_load_dwordx2 v[14:15], v[10:11], off offset:32 glc
  s_waitcnt vmcnt(0)
  global_store_dwordx2 v5, v[14:15], s[12:13]
  v_mov_b32 v12, s22
  v_mov_b32 v13, s23
  s_waitcnt vmcnt(0)
  global_atomic_cmpswap_x2 v[16:17], v[10:11], v[12:15], off offset:32 glc
  s_waitcnt vmcnt(0)
  v_cmp_ne_u64 vcc, v[16:17], v[14:15]
  s_cbranch_vccnz ready
wait:
  s_sleep 1
  global_load_dword v6, v5, s[12:13] offset:20 glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s24, v6
  s_and_b32 s24, s24, 1
  s_cbranch_scc1 wait
  s_mov_b64 exec, s[20:21]
  global_load_dwordx2 v[6:7], v8, s[14:15] glc
  s_lshl_b32 s24, s4, 6
  v_add_u32 v9, s24, v0
  v_lshlrev_b32 v9, 2, v9
  s_waitcnt vmcnt(0)
  global_store_dword v9, v6, s[8:9]
  s_mov_b64 exec, 1
  s_add_u32 s22, s22, s16
  s_addc_u32 s23, s23, 0
  s_add_u32 s22, s22, 1
  s_addc_u32 s23, s23, 0
give:
  global_load_dwordx2 v[14:15], v[10:11], off offset:24 glc
  s_waitcnt vmcnt(0)
  global_store_dwordx2 v5, v[14:15], s[12:13]
  v_mov_b32 v12, s22
  v_mov_b32 v13, s23
  s_waitcnt vmcnt(0)
  global_atomic_cmpswap_x2 v[16:17], v[10:11], v[12:15], off offset:24 glc
  s_waitcnt vmcnt(0)
  v_cmp_ne_u64 vcc, v[16:17], v[14:15]
  s_cbranch_vccnz give
  s_endpgm`;

/** Four words follow the descriptor: the stream, 'lane %u\n' with its NUL, the lane in the grid. */
const PRINTF = `
  v_mov_b32 v20, 0x83
  v_mov_b32 v21, 0
  v_mov_b32 v22, 0
  v_mov_b32 v23, 0
  global_store_dwordx4 v8, v[20:23], s[14:15]
  v_mov_b32 v20, 0x656e616c
  v_mov_b32 v21, 0x0a752520
  global_store_dwordx4 v8, v[20:23], s[14:15] offset:16
  s_lshl_b32 s24, s4, 6
  v_add_u32 v22, s24, v0
  global_store_dwordx2 v8, v[22:23], s[14:15] offset:32`;

/** Every lane asks for a KiB more than the one before, from 1 KiB on. */
const ALLOCATE = `
  v_mov_b32 v20, 0
  v_mov_b32 v21, 0
  v_add_u32 v22, 1, v0
  v_lshlrev_b32 v22, 10, v22
  v_mov_b32 v23, 0
  global_store_dwordx4 v8, v[20:23], s[14:15]`;

/** `hidden`: kind of the argument behind that of the results. */
const metadata = (name: string, hidden: string): string => `
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: ${name}
    .symbol: ${name}.kd
    .kernarg_segment_size: 24
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 64
    .vgpr_count: 32
    .max_flat_workgroup_size: 1024
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
      - .offset: 8
        .size: 8
        .value_kind: ${hidden}
...
.end_amdgpu_metadata
`;

const imageFor = (service: number, fill: string, hidden = 'hidden_hostcall_buffer'): Uint8Array =>
  imageOf(kernelText('k', asks(service, fill)), metadata('k', hidden));

/** What the kernel printed, and its results. */
function dispatch(
  { tier: _, ...options }: ExecutorOptions,
  image: Uint8Array,
  groups: number,
  request: Partial<DispatchRequest> = {},
): { printed: string; results: Uint32Array } {
  const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 28, ...options });
  let printed = '';
  try {
    const sizeBytes = 4 * LANES * groups;
    const { outputs } = dispatchKernel({
      ...{ device, images: [{ bytes: image, name: 'kernels.co' }], grid: [LANES * groups], workgroup: [LANES] },
      args: [{ kind: 'buffer', text: 'out', contents: new Uint8Array(), sizeBytes, output: 'results' }],
      onPrint: (stream, text) => {
        assert.equal(stream, 'stdout');
        printed += new TextDecoder().decode(text);
      },
      ...request,
    });
    return { printed, results: new Uint32Array(outputs[0]!.bytes.buffer) };
  } finally {
    device.close();
  }
}

for (const [name, options] of Object.entries(EXECUTORS)) {
  test(`printf from every lane of many waves: ${name}`, () => {
    const groups = 40;
    const { printed, results } = dispatch(options, imageFor(2, PRINTF), groups, { repeat: 2 });
    const lines = printed.split('\n');
    assert.equal(lines.pop(), '');
    const numbers = lines.map((line) => Number(/^lane (\d+)$/.exec(line)![1]));
    const all = Array.from({ length: LANES * groups }, (_, i) => i);
    const ascending = numbers.toSorted((a, b) => a - b);
    assert.deepEqual(
      ascending,
      all.flatMap((lane) => [lane, lane]),
    );
    assert.ok(
      numbers.every((lane, i) => lane % LANES === i % LANES),
      'lanes of a wave stay together',
    );
    assert.deepEqual(
      [...results],
      all.map((lane) => `lane ${lane}\n`.length),
    );
  });
}

/**
 * The first lane of each workgroup counts up what they meet at and waits until all have; then lanes store how
 * many workgroups there are.
 */
const MEETS = `
  s_load_dwordx4 s[8:11], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u64 s[10:11], 0
  s_cbranch_scc1 alone
  s_load_dword s12, s[10:11], 0x28
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  s_mov_b64 s[20:21], exec
  s_mov_b64 exec, 1
  global_atomic_add v1, v2, s[10:11] offset:32
  s_waitcnt vmcnt(0) lgkmcnt(0)
meet:
  s_sleep 1
  global_load_dword v3, v1, s[10:11] offset:32 glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s13, v3
  s_cmp_lt_u32 s13, s12
  s_cbranch_scc1 meet
  s_mov_b64 exec, s[20:21]
  s_lshl_b32 s24, s4, 6
  v_add_u32 v9, s24, v0
  v_lshlrev_b32 v9, 2, v9
  v_mov_b32 v4, s12
  global_store_dword v9, v4, s[8:9]
alone:
  s_endpgm`;

test('workgroups of a cooperative grid meet; without the option they are told that they are none', () => {
  const image = imageOf(kernelText('k', MEETS), metadata('k', 'hidden_multigrid_sync_arg'));
  const groups = 30;
  for (const [name, options] of Object.entries(EXECUTORS)) {
    const { results } = dispatch(options, image, groups, { cooperative: true, repeat: 2 });
    assert.ok(
      results.every((count) => count === groups),
      name,
    );
  }
  assert.ok(dispatch({}, image, groups).results.every((count) => count === 0));
  const tooLarge = { code: 'USAGE', message: /cooperative grid of 2049 waves, at most 2048/ };
  assert.throws(() => dispatch({}, image, 2049, { cooperative: true }), tooLarge);
  assert.ok(dispatch({}, image, 2048, { cooperative: true }).results.every((count) => count === 2048));
});

test('device memory from the host: every lane another address, within the limit of the heap', () => {
  const limit = { heapBytes: 1024 * ((LANES * (LANES + 1)) / 2) };
  const { results } = dispatch({}, imageFor(3, ALLOCATE), 1, limit);
  assert.equal(new Set(results).size, LANES);
  assert.ok(results.every((address) => address !== 0 && address % 4096 === 0));
  const short = dispatch({}, imageFor(3, ALLOCATE), 1, { heapBytes: limit.heapBytes - 1 });
  assert.deepEqual(
    [...short.results].map((address) => address === 0),
    Array.from({ length: LANES }, (_, i) => i === LANES - 1),
  );
});

test('services that are missing or do not exist end the dispatch', () => {
  assert.throws(() => dispatch({}, imageFor(1, PRINTF), 1), {
    code: 'UNSUPPORTED',
    message: /function call/,
  });
  assert.throws(() => dispatch({}, imageFor(77, PRINTF), 1), { code: 'RPC_PROTOCOL', message: /service 77/ });
});

test('a kernel that is not answered any more runs into its time limit', () => {
  const lost = asks(2, PRINTF).replace('s_cbranch_scc1 wait', 's_branch wait');
  const image = imageOf(kernelText('k', lost), metadata('k', 'hidden_hostcall_buffer'));
  assert.throws(() => dispatch({}, image, 1, { timeoutMs: 200 }), { code: 'TIMEOUT' });
});

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-hostcall-'));
after(() => rmSync(folder, { recursive: true }));

test('what a kernel prints goes to standard output, or to standard error where that is taken', async () => {
  const file = path.join(folder, 'prints.co');
  writeFileSync(file, imageFor(2, PRINTF));
  const run = async (...options: string[]) => {
    const [stdout, stderr]: Buffer[][] = [[], []];
    const context = {
      stdout: (data: Uint8Array | string) => void stdout!.push(Buffer.from(data)),
      stderr: (data: Uint8Array | string) => void stderr!.push(Buffer.from(data)),
      env: {},
    };
    const argv = ['dispatch', file, '--grid=64', '--workgroup=64', ...options];
    assert.equal(await runCommandLine(COMMANDS, argv, context), 0);
    return { stdout: Buffer.concat(stdout!), stderr: Buffer.concat(stderr!).toString() };
  };
  const lines = Array.from({ length: LANES }, (_, lane) => `lane ${lane}\n`).join('');
  const plain = await run('--arg=zero:256');
  assert.deepEqual([plain.stdout.toString(), plain.stderr], [lines, '']);
  const json = await run('--arg=zero:256', '--format=json');
  assert.deepEqual([JSON.parse(json.stdout.toString()).kernel, json.stderr], ['k', lines]);
  const data = await run('--arg=out:-:256');
  assert.deepEqual([data.stdout.length, data.stderr], [256, lines]);
});

for (const [name, { tier: _, ...options }] of Object.entries(EXECUTORS)) {
  test(`launches of a host program are served as those of the command line are: ${name}`, async () => {
    using device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 28, ...options });
    using context = createContext(device);
    const groups = 3;
    using results = context.buffer(new Uint32Array(LANES * groups));
    const shape = { grid: LANES * groups, workgroup: LANES };

    const prints = context.load(imageFor(2, PRINTF)).kernel('k');
    const { output } = await prints.launch(shape, results);
    const lanes = (text: string) => text.match(/\d+/g)!.map(Number);
    const all = Array.from({ length: LANES * groups }, (_, lane) => lane);
    assert.deepEqual([lanes(output.text.stdout).toSorted((a, b) => a - b), output.text.stderr], [all, '']);
    let taken = '';
    const onStdout = (bytes: Uint8Array) => {
      taken += new TextDecoder().decode(bytes);
    };
    const second = await prints.launch({ ...shape, onStdout }, results);
    assert.deepEqual([lanes(taken).length, second.output.text.stdout], [LANES * groups, '']);

    const meets = context.load(imageOf(kernelText('k', MEETS), metadata('k', 'hidden_multigrid_sync_arg'))).kernel('k');
    await meets.launch({ ...shape, cooperative: true }, results);
    assert.ok(results.read().every((count) => count === groups));
    const tooLarge = { code: 'USAGE', message: /cooperative grid of 2049 waves/ };
    await assert.rejects(meets.launch({ ...shape, grid: LANES * 2049, cooperative: true }, results), tooLarge);
  });
}

test('what kernels of a context allocate lasts to its next launches', async () => {
  using device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 28 });
  using context = createContext(device);
  using results = context.buffer(new Uint32Array(LANES));
  const allocates = context.load(imageFor(3, ALLOCATE)).kernel('k');
  const addresses = new Set<number>();
  for (let launch = 0; launch < 3; launch++) {
    await allocates.launch({ grid: LANES, workgroup: LANES }, results);
    for (const address of results.read()) addresses.add(address);
  }
  assert.equal(addresses.size, 3 * LANES);
});

test('a launch whose kernel asks for what is missing ends by name, and the next one runs', async () => {
  using device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 28 });
  using context = createContext(device);
  using results = context.buffer(new Uint32Array(LANES));
  const shape = { grid: LANES, workgroup: LANES };
  const wrong = context.load(imageFor(1, PRINTF)).kernel('k').launch(shape, results);
  await assert.rejects(wrong, { code: 'UNSUPPORTED', message: /function call/ });
  const { output } = await context.load(imageFor(2, PRINTF)).kernel('k').launch(shape, results);
  assert.match(output.text.stdout, /^lane 0\nlane 1\n/);
});
