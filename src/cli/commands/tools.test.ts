import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createEmulatedDevice } from '../../devices/emulated/index.ts';
import { parseElf } from '../../elf/elf.ts';
import { readInsertedTools } from '../../instrument/index.ts';
import { createContext } from '../../kernels/index.ts';
import { runCommand } from '../run-command.test-support.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

const run = (...argv: string[]) => runCommand(argv);

/** 256 work-items of workgroups of 64, with buffers of zeros. */
const VADD = [
  ...['dispatch', path.join(ROOT, 'examples/kernels/vadd.gfx90a.co'), '--grid=256', '--workgroup=64'],
  ...['--arg=zero:1024', '--arg=zero:1024', '--arg=zero:1024', '--arg=i32:256'],
];

test('tools are listed with their options', async () => {
  const { status, stdout } = await run('tools');
  assert.equal(status, 0);
  assert.match(stdout, /^instruction-count: .*\n {2}level=thread\|wave +\S/);
  assert.match(stdout, /options of all tools:\n {2}kernel=TEXT/);
  const { tools } = JSON.parse((await run('tools', '--format=json')).stdout);
  assert.equal(tools[0].options.level.default, 'thread');
});

test('dispatch runs tools, which say what they found and how their points were served', async () => {
  const { status, stdout, stderr } = await run(
    ...VADD,
    '--tool=instruction-count',
    '--tool=opcode-histogram:level=wave',
  );
  assert.deepEqual([status, stderr], [0, '']);
  // 4 waves run 13 vector instructions... of which all lanes take part, and 12 scalar ones.
  assert.match(stdout, /instruction-count of .*vadd\.gfx90a\.co, 1 launch\nlevel: thread\ntotal: 4400\n/);
  assert.match(stdout, /opcode-histogram of .*\nlevel: wave\ntotal: 116\n/);
  assert.match(stdout, /points: 58 requested, 58 served/);
  assert.equal(stdout.match(/^points: /gm)?.length, 1, 'one account for all tools');
  assert.match(stdout, /kernel vadd: \d+( to \d+)? SGPRs, \d+( to \d+)? VGPRs, 8 waves per SIMD/);
});

test('a kernel, instructions and the form of the result can be chosen', async () => {
  const options = 'instruction-count:kernel=^vadd$,instructions=0-4,format=json';
  const { status, stdout } = await run(...VADD, `--tool=${options}`);
  assert.equal(status, 0);
  const { schema, result, coverage } = JSON.parse(stdout);
  assert.equal(schema, 'wavewright.tool');
  assert.equal(result.total, 5 * 4);
  assert.equal(result.instructions.length, 5);
  assert.equal(coverage.requested, 5);
  const { stdout: text, stderr } = await run(...VADD, '--tool=instruction-count:kernel=^x,format=json');
  assert.equal(stderr, "wavewright: warning: tool 'instruction-count': no kernel matches '^x'; the kernels are vadd\n");
  const none = JSON.parse(text);
  assert.deepEqual([none.result.total, none.coverage.requested], [0, 0]);
});

test('of several dispatches some run with the tool, the others as they were compiled', async () => {
  const output = '--arg=out:-:1024';
  const vadd = VADD.with(4, output);
  const native = await run(...vadd, '--repeat=5');
  const some = await run(...vadd, '--repeat=5', '--tool=instruction-count:dispatches=1-2');
  assert.deepEqual([some.status, some.stdout], [0, native.stdout]);
  assert.match(some.stderr, /instruction-count of .*, 2 launches\nlevel: thread\ntotal: 8800\n/);
  const none = await run(...VADD, '--repeat=5', '--tool=instruction-count:dispatches=5-');
  assert.match(none.stdout, /, 0 launches\nlevel: thread\ntotal: 0\n/);
  const file = await run('instrument', VADD[1]!, '--tool=block-count:dispatches=0', '-o', 'nothing.co');
  assert.deepEqual([file.status, /'dispatches' is for tools of run/.test(file.stderr)], [2, true]);
});

test('a trace goes to a file, which is printed', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-trace-'));
  const file = path.join(folder, 'trace');
  try {
    assert.equal((await run(...VADD, `--tool=memory-trace:file=${file}`)).status, 0);
    const { status, stdout } = await run('tools', file);
    assert.equal(status, 0);
    const lines = stdout.trimEnd().split('\n');
    assert.equal(lines.length, 3 * 256);
    assert.match(lines[1]!, /^0 0x1968 load global 4 lane 1 0x7f[0-9a-f]+ global_load_dword v6, v\[4:5\], off$/);
    const { points, records } = JSON.parse((await run('tools', file, '--format=json')).stdout);
    assert.deepEqual([points.length, records.length], [3, 768]);
    const bytes = readFileSync(file);
    for (const [at, damaged] of [
      [0, /no trace of memory accesses/],
      [4, /a trace of version/],
      [bytes.length - 6, /a record of access \d+, of 3/],
    ] as const) {
      const copy = Buffer.from(bytes);
      copy[at]! ^= 0x40;
      writeFileSync(file, copy);
      const { status, stderr } = await run('tools', file);
      assert.deepEqual([status, damaged.test(stderr)], [3, true], stderr);
    }
    writeFileSync(file, 'export const loads = 1;');
    assert.match((await run('tools', file)).stderr, /no trace .*\nhint: --tool=memory-trace:file=TRACE writes a trace/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('an instrumented file runs, also with another tool in it', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-file-'));
  const file = path.join(folder, 'vadd.co');
  try {
    const made = await run('instrument', VADD[1]!, '--tool=block-count', '-o', file);
    assert.deepEqual([made.status, made.stderr], [0, '']);
    assert.match(made.stdout, /points: \d+ requested, \d+ served/);
    const { status, stdout } = await run('dispatch', file, ...VADD.slice(2), '--tool=instruction-count:format=json');
    assert.equal(status, 0);
    const { result } = JSON.parse(stdout);
    const own = JSON.parse((await run(...VADD, '--tool=instruction-count:format=json')).stdout).result;
    assert.ok(result.total > own.total);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what is no tool, or no option of one, is said', async () => {
  const unknown = await run(...VADD, '--tool=instruction-counts');
  assert.equal(unknown.status, 2);
  assert.match(unknown.stderr, /there is no tool 'instruction-counts'/);
  const pattern = await run(...VADD, '--tool=instruction-count:kernel=(');
  assert.match(pattern.stderr, /option 'kernel' of tool 'instruction-count' is no regular expression: '\('/);
});

test('a module of the user is a tool', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-module-'));
  try {
    const file = path.join(folder, 'own.mts');
    const attach = '(code, { more }) => () => ({ summary: { found: code.instructions.length + more }, tables: [] })';
    const more = "{ kind: 'integer', min: 0, max: 9, default: 0, description: '' }";
    writeFileSync(
      file,
      `export const own = { name: 'own', summary: '', options: { more: ${more} }, attach: ${attach} };`,
    );
    const { status, stdout, stderr } = await run(...VADD, `--tool=${file}:more=5,instructions=0-3`);
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^own of .*\nfound: 9\n/);
    writeFileSync(path.join(folder, 'none.mts'), 'export const none = 1;');
    const throwing = "const own = { name: 'own', summary: '', options: {}, attach() {\n throw new Error('mine');\n} };";
    writeFileSync(path.join(folder, 'throws.mts'), `${throwing}\nexport { own };`);
    const inHook =
      'code.before(code.instructions[0], hookOf((b) => {\n b.constant64(undefined);\n}));\nreturn () => ({});';
    writeFileSync(
      path.join(folder, 'hook.mts'),
      `import { hookOf } from '${pathToFileURL(path.join(import.meta.dirname, '../../instrument/index.ts'))}';\n` +
        `export const own = { name: 'own', summary: '', options: {}, attach(code) {\n${inHook}\n} };`,
    );
    for (const [name, expected, message] of [
      ['none.mts', 2, /none\.mts exports no tool/],
      ['throws.mts', 3, /throws\.mts: tool 'own' throws at throws\.mts:2: Error: mine \[BAD_INPUT\]/],
      ['hook.mts', 3, /hook\.mts: tool 'own' throws at hook\.mts:4: TypeError: .* \[BAD_INPUT\]/],
      ['absent.mts', 3, /absent\.mts: no such file/],
      ['absent', 2, /is no module with a tool/],
    ] as const) {
      const { status, stderr } = await run(...VADD, `--tool=${path.join(folder, name)}`);
      assert.deepEqual([status, message.test(stderr)], [expected, true], stderr);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a module of the user imports the package by its name, wherever it is', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-module-'));
  try {
    const file = path.join(folder, 'loads.mts');
    const text = readFileSync(path.join(ROOT, 'docs/instrumentation.md'), 'utf8');
    writeFileSync(file, /```ts\n(import \{ countHook[\s\S]*?)```/.exec(text)![1]!);
    const argv = [...VADD, `--tool=${file}`];
    // From the sources, and as a program, which runs a bundle: two copies of ours would not know each other.
    const { status, stdout, stderr } = await run(...argv);
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^loads of .*\nloads: 512\n/);
    const program = spawnSync(process.execPath, [path.join(ROOT, 'bin/wavewright.js'), ...argv], { encoding: 'utf8' });
    assert.deepEqual([program.status, program.stdout, program.stderr], [0, stdout, '']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('code objects that are linked have variables of their own', async () => {
  const at = (name: string): string => path.join(ROOT, 'examples/link', name);
  const argv = [
    'dispatch',
    at('apply.gfx90a.co'),
    at('filters.gfx90a.co'),
    '--kernel=apply',
    '--grid=2',
    '--workgroup=64',
  ];
  const args = ['--arg=zero:8', '--arg=zero:8', '--arg=fn:invert', '--arg=u32:2'];
  const { status, stdout } = await run(...argv, ...args, '--tool=instruction-count:level=wave');
  assert.equal(status, 0);
  assert.match(stdout, /instruction-count of .*apply\.gfx90a\.co, 1 launch\nlevel: wave\ntotal: 36\n/);
  assert.match(stdout, /instruction-count of .*filters\.gfx90a\.co, 1 launch\n[\s\S]*\n {2}invert {2}/);
});

test('a kernel is no hook, and a log of no registers is refused', async () => {
  const { status, stderr } = await run(...VADD, `--hook=${VADD[1]}`);
  assert.deepEqual([status, /no function that can be a hook/.test(stderr)], [3, true], stderr);
  const log = await run(...VADD, '--tool=register-log');
  assert.deepEqual([log.status, /told no registers/.test(log.stderr)], [2, true], log.stderr);
});

test('pieces of coalescing are as long as cache lines', async () => {
  const { stdout } = await run(...VADD, '--tool=coalescing');
  assert.match(stdout, /\nsegmentBytes: 128\n[\s\S]* load +4 +256 +8 +2\.00\n/);
  assert.match((await run(...VADD, '--tool=coalescing:segment=64')).stdout, /\nsegmentBytes: 64\n/);
});

test('run counts the kernels of a program', async () => {
  const hello = path.join(ROOT, 'examples/hello/hello.gfx90a.co');
  const { status, stdout, stderr } = await run('run', '--tool=opcode-histogram:kernel=^_start$', hello, 'world');
  assert.deepEqual([status, stdout], [0, 'Hello, world, from lane 0 of 1 (argc=2)\n']);
  assert.match(stderr, /opcode-histogram of .*hello\.gfx90a\.co, 3 launches\n/);
});

test('an instrumented file says what its numbers mean', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-inserted-'));
  const file = path.join(folder, 'vadd.co');
  const again = path.join(folder, 'again.co');
  try {
    const hook = path.join(ROOT, 'test/data/hooks/hooks.gfx90a.O2.o');
    await run(
      'instrument',
      VADD[1]!,
      '--tool=instruction-count:level=wave,kernel=^v',
      '--tool=memory-trace',
      '-o',
      file,
    );
    const { status, stdout } = await run('tools', file);
    assert.equal(status, 0);
    assert.match(
      stdout,
      /^instruction-count of .*vadd\.co, level=wave, kernel=\^v\n {2}counts: counters, \d+ bytes, symbol __wavewright_0_[0-9a-f]{8}_counts\n/,
    );
    assert.match(stdout, /\n {4}0: waves, before 0x1900 of vadd(, \S+)?\n/);
    assert.match(
      stdout,
      /\nmemory-trace of .*\n {2}trace: records, .*\n {4}0: address of a load, before 0x1968 of vadd/,
    );
    await run('instrument', file, `--hook=${hook}:function=lane_statistics,at=entry`, '-o', again);
    const { files } = JSON.parse((await run('tools', again, '--format=json')).stdout);
    const tools: { name: string; variables: { parts: { name: string }[] }[] }[] = files[0].tools;
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['instruction-count', 'memory-trace', 'hook'],
    );
    const parts = tools[2]!.variables.flatMap((each) => each.parts.map(({ name }) => name));
    assert.ok(parts.includes('lane_histogram'));
    const none = await run('tools', VADD[1]!);
    assert.deepEqual([none.status, /no tools are in it/.test(none.stderr)], [3, true]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('files that were instrumented apart are linked with each other, and count each for itself', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-apart-'));
  try {
    const names = ['vadd', 'saxpy'];
    const files = names.map((name) => path.join(folder, `${name}.co`));
    for (const [i, file] of files.entries()) {
      const input = path.join(ROOT, `examples/kernels/${names[i]}.gfx90a.co`);
      assert.equal((await run('instrument', input, '--tool=instruction-count:level=wave', '-o', file)).status, 0);
    }
    using device = createEmulatedDevice({ processor: 'gfx90a' });
    using context = createContext(device);
    using module = context.load(files.map((file) => readFileSync(file)));
    const totals = files.map((file) => {
      const [
        {
          variables: [counts = assert.fail()],
        } = assert.fail(),
      ] = readInsertedTools(parseElf(readFileSync(file), file))!;
      return (): bigint => {
        const bytes = module.variable(counts.symbol).slice();
        return new BigUint64Array(bytes.buffer).reduce((sum, count) => sum + count, 0n);
      };
    });
    const zeros = Array.from({ length: 3 }, () => context.buffer(new Float32Array(256)));
    await module.kernel('vadd').launch({ grid: 256, workgroup: 64 }, zeros[0]!, zeros[1]!, zeros[2]!, 256);
    assert.deepEqual(
      totals.map((total) => total()),
      [116n, 0n],
    );
    // What is made of the same is called the same.
    const twice = await Promise.all(
      ['a', 'b'].map(async (name) => {
        const file = path.join(folder, name);
        await run('instrument', VADD[1]!, '--tool=instruction-count:level=wave', '-o', file);
        return readFileSync(file);
      }),
    );
    assert.deepEqual(twice[0], twice[1]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
