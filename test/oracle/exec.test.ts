/**
 * Native programs on the emulator: the library as Debian's gcc builds it, a program in C that speaks HSA, HIP
 * programs where HIP is installed, and what is left when one of the processes dies.
 */
import assert from 'node:assert/strict';
import { execFileSync, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { describeCallers } from '../../src/exec/host-code.ts';
import { API_TABLES, API_TABLES_1 } from '../../tools/api-tables.ts';
import { NATIVE_COMPILERS, NATIVE_SOURCES, nativeLibrary } from '../../tools/native.ts';
import { hipPrograms } from '../data/hip-programs/rebuild.ts';
import { attackLibrary } from '../fuzz/exec-socket.ts';
import { HANG_MS } from '../scale.ts';
import { buildHsaProgram, LAUNCHER, LIBRARY, ROOT, storeKernel } from './hsa-program.ts';

const PROGRAMS = path.join(ROOT, 'test/data/hip-programs');
/** libamdhip64.so.5 of Debian 12. */
const HIP = '/usr/lib/x86_64-linux-gnu/libamdhip64.so.5';
const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const withoutHipcc = isRequired || existsSync('/usr/bin/hipcc') ? false : 'hipcc is not installed';
const withoutHip = isRequired || existsSync(HIP) ? false : 'libamdhip64-5 is not installed';
/** The header of libhsa-runtime-dev, which comes with libamdhip64-dev. */
const ROCR_5 = '/usr/include/hsa/hsa_api_trace.h';
const withoutRocr5 = isRequired || existsSync(ROCR_5) ? false : 'libhsa-runtime-dev is not installed';
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-exec-'));
after(() => rmSync(folder, { recursive: true }));

function exec(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [LAUNCHER, 'exec', ...args], { encoding: 'utf8', timeout: 120_000 });
}

const compile = (name: string): string => buildHsaProgram(name, folder);
const program = compile('program');
const code = storeKernel(folder);

const hasCrossCompiler = spawnSync(NATIVE_COMPILERS.arm64, ['--version']).error === undefined;
const hasArm = hasCrossCompiler && spawnSync('qemu-aarch64', ['--version']).error === undefined;
const withoutArm = isRequired || hasArm ? false : 'gcc-aarch64-linux-gnu or qemu-user is not installed';
for (const [machine, skip] of [
  ['x86-64', false],
  ['arm64', withoutArm],
] as const) {
  test(`the library for ${machine} is what gcc builds of its sources, bit for bit`, { skip }, () => {
    const library = nativeLibrary(machine);
    assert.deepEqual(
      library.rebuild((built) => built),
      library.manifest,
    );
  });

  test(`the library for ${machine} has every function that clients of ROCm link, with their version`, () => {
    expectExports(LIBRARY.replace('x86-64', machine));
  });
}

test('programs for arm64 run with their library', { skip: withoutArm }, () => {
  const built = path.join(folder, 'program-arm64');
  const library = LIBRARY.replace('x86-64', 'arm64');
  const source = path.join(import.meta.dirname, 'hsa-program/program.c');
  const flags = ['-std=gnu11', '-O1', '-pthread', `-I${path.join(ROOT, 'native/hsa')}`];
  execFileSync(NATIVE_COMPILERS.arm64, [...flags, '-o', built, source, library]);
  // The system's libraries from Debian's cross compiler, and ours in place of what exec has put in the way.
  const system = ['-L', '/usr/aarch64-linux-gnu', '-E', `LD_LIBRARY_PATH=${path.dirname(library)}`];
  for (const more of [[], ['burden']]) {
    const { stdout, stderr } = exec('--timeout=100', 'qemu-aarch64', ...system, built, code, ...more);
    assert.equal(stdout, '0 wrong\n', stderr);
  }
});

function expectExports(library: string): void {
  const { stdout } = spawnSync('nm', ['-D', '--defined-only', '--with-symbol-versions', library], { encoding: 'utf8' });
  const exported = [...stdout.matchAll(/ [TD] (\w+)@@ROCR_1$/gm)].map(([, name]) => name!);
  const wanted = readFileSync(path.join(import.meta.dirname, 'hsa-program/exports.txt'), 'utf8')
    .trim()
    .split('\n');
  assert.equal(wanted.length, 259);
  const needed = spawnSync('nm', ['-D', '--undefined-only', '--with-symbol-versions', library], { encoding: 'utf8' });
  const minors = [...needed.stdout.matchAll(/@GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  assert.equal(Math.max(...minors), 17, 'the newest version of glibc that is needed, see docs/exec.md');
  assert.deepEqual(exported.sort(), wanted);
}

test('a program in C that speaks HSA finds all as it should be, with tools in its kernels, too', () => {
  const { status, stdout, stderr } = exec(program, code);
  assert.equal(stdout, '0 wrong\n', stderr);
  assert.equal(status, 0);
  assert.match(stderr, /memory access fault[^\n]*|wavewright: /i);
  const tooled = exec('--tool=kernel-arguments', program, code);
  assert.equal(tooled.stdout, '0 wrong\n', tooled.stderr);
  // The program destroys its executable, and only then ends.
  assert.match(tooled.stderr, /kernel-arguments of code object 1, [1-9]\d* launches\n/);
  const checked = exec('--check=waits', '--stats', '--kernels=other', '--tool=kernel-arguments', program, code);
  assert.equal(checked.stdout, '0 wrong\n', checked.stderr);
  assert.match(checked.stderr, /100.0% reference[\s\S]* kernels +0, 0 launches\n/);
  assert.match(checked.stderr, /tool 'kernel-arguments': no kernel matches 'other'; the kernels are store\n/);
  assert.doesNotMatch(checked.stderr, /kernel-arguments of/);
});

test('virtual memory is mapped where a program says so, and processes share memory, signals and descriptors', () => {
  const { status, stdout, stderr } = exec('--timeout=60', compile('sharing'), code);
  assert.equal(stdout, '0 wrong\n', stderr);
  assert.equal(status, 0);
  assert.match(stderr, /inside inaccessible reserved addresses/);
  assert.match(stderr, /inside read-only reserved addresses/);
  assert.match(stderr, /inside freed memory of another application/);
});

test('the C interface does what the TypeScript runtime does, and refuses what that refuses', () => {
  const file = path.join(import.meta.dirname, 'exec-conformance.ts');
  const library = `WAVEWRIGHT_LIBHSA_PATH=${LIBRARY}`;
  const { status, stdout, stderr } = exec('env', '-u', 'NODE_TEST_CONTEXT', library, process.execPath, file);
  assert.equal(status, 0, `${stdout}${stderr}`);
  assert.match(stdout, /\n. pass 2\d\d\n. fail 0\n/);
});

test('tools that HSA_TOOLS_LIB names see and replace functions in the table', () => {
  const tool = path.join(folder, 'tool.so');
  const flags = ['-std=gnu11', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', `-I${path.join(ROOT, 'native/hsa')}`];
  execFileSync('gcc', [...flags, '-o', tool, path.join(import.meta.dirname, 'hsa-program/tool.c')]);
  const run = (...variables: string[]) => exec('--timeout=60', 'env', ...variables, program, code);
  const { stdout, stderr } = run(`HSA_TOOLS_LIB=/none.so "${tool}"`);
  assert.equal(stdout, '0 wrong\n', stderr);
  assert.match(stderr, /the tool \/none.so of HSA_TOOLS_LIB is not loaded: /);
  // Versions and sizes are those of ROCr of 2025: an entry has 8 bytes, a version 16.
  const sizes = [125, 74, 6, 14, 6, 7].map((count) => 16 + 8 * count);
  const versions = ['2.0', '2.7', '2.0', '2.1', '1.0', '1.0'].map((version, i) => `${version} of ${sizes[i]}`);
  const loaded = `tool: version 3, 1 failed: /none.so, tables 3.1 of 64 ${versions.join(' ')}; status 0, 1000000000 Hz, refused 47\n`;
  assert.equal(stderr.split(loaded).length, 3, stderr);
  assert.match(stderr, /tool: 5 queues, 2 executables, allocations seen, loads seen, access seen\n/);
  assert.match(stderr, /tool: 10 queues, 4 executables, allocations seen, loads seen, access seen\n/);
  const old = run(`HSA_TOOLS_LIB=${tool}`, 'WAVEWRIGHT_HSA_TABLES=1');
  assert.equal(old.stdout, '0 wrong\n', old.stderr);
  const oldVersions = [125, 48, 6, 13].map((count) => `1.0 of ${16 + 8 * count}`).join(' ');
  const oldLoaded = `tool: version 1, 0 failed, tables 1.0 of 48 ${oldVersions}; status 0, 1000000000 Hz, refused 47\n`;
  assert.equal(old.stderr.split(oldLoaded).length, 3, old.stderr);
  assert.match(old.stderr, /tool: 10 queues, 4 executables, allocations seen, loads seen, access seen\n/);
  const refused = run(`HSA_TOOLS_LIB=${tool}`, 'TOOL_REFUSES=1');
  assert.equal(refused.stdout, '0 wrong\n', refused.stderr);
  assert.match(refused.stderr, /tool.so of HSA_TOOLS_LIB is not loaded: its OnLoad refused\n/);
  assert.doesNotMatch(refused.stderr, /queues/);
});

test("tables of version 1 have the places of Debian's header", { skip: withoutRocr5 }, () => {
  const text = readFileSync(ROCR_5, 'utf8');
  const functionsOf = (table: string): string[] => {
    const [body] = text.split(`struct ${table} {`)[1]!.split('};');
    return [...body!.matchAll(/decltype\((\w+)\)/g)].map(([, name]) => name!);
  };
  const { core, finalizer, image } = API_TABLES;
  assert.deepEqual(functionsOf('CoreApiTable'), core.functions.slice(0, API_TABLES_1.coreCount));
  assert.deepEqual(functionsOf('AmdExtTable'), API_TABLES_1.amdExt);
  assert.deepEqual(functionsOf('FinalizerExtTable'), finalizer.functions);
  assert.deepEqual(functionsOf('ImageExtTable'), image.functions.slice(0, API_TABLES_1.imageCount));
});

const OPENMP = '/usr/lib/llvm-19/lib';
const DEVICE_LIBRARIES = '--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode';
const withoutOpenMp = isRequired || existsSync(`${OPENMP}/libomptarget.so`) ? false : 'libomp-19-dev is not installed';
test("programs of clang's OpenMP find the GPU", { skip: withoutOpenMp }, () => {
  const built = path.join(folder, 'target');
  const flags = ['-O2', '-fopenmp=libomp', '--offload-arch=gfx90a', DEVICE_LIBRARIES];
  execFileSync('clang-19', [...flags, '-o', built, path.join(import.meta.dirname, 'hsa-program/target.c')]);
  const variables = [`LD_LIBRARY_PATH=${OPENMP}`, 'OMP_TARGET_OFFLOAD=MANDATORY'];
  const { stdout, stderr } = spawnSync('env', [...variables, process.execPath, LAUNCHER, 'exec', '--stats', built], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  assert.equal(stdout, '1 GPUs, on the host 0, sum 99990000, 0 wrong\n', stderr);
  // Names that are wider than their column.
  assert.match(stderr, /\n {2}__omp_offloading_\w+_main_l\d+ [0-9.]+ ms, /);
});

test('a program with 64 threads, no memory and no files left gets statuses, and may end at any time', () => {
  const { status, stdout, stderr } = exec('--timeout=60', program, code, 'burden');
  assert.equal(stdout, '0 wrong\n', stderr);
  assert.match(stderr, /Too many open files\n.*the file of the device's memory did not come/);
  assert.equal(status, 0);
});

/** A program of the folder hsa-program with the library in it. */
function buildSanitized(name: string, sanitizer: string): string {
  const native = path.join(ROOT, 'native/hsa');
  const file = path.join(folder, `${name}-${sanitizer}`);
  const source = path.join(import.meta.dirname, `hsa-program/${name}.c`);
  const sources = [source, ...NATIVE_SOURCES.map((each) => path.join(native, each))];
  const flags = ['-std=gnu11', '-g', '-O1', '-w', '-pthread', `-fsanitize=${sanitizer}`, `-I${native}`];
  execFileSync('gcc', [...flags, '-o', file, ...sources]);
  return file;
}

for (const sanitizer of ['address,undefined', 'thread']) {
  test(`the library is clean under -fsanitize=${sanitizer}`, () => {
    for (const name of ['program', 'sharing']) {
      const file = buildSanitized(name, sanitizer);
      // What the program allocates it leaves to its end.
      const { stdout, stderr } = exec('env', 'ASAN_OPTIONS=detect_leaks=0', file, code);
      assert.equal(stdout, '0 wrong\n', stderr);
      assert.doesNotMatch(stderr, /Sanitizer|runtime error/);
    }
  });
}

test('a device process that does not do as it should ends programs with a message', async (context) => {
  const { events, findings } = await attackLibrary(buildSanitized('victim', 'address,undefined'), code, 25, 1);
  context.diagnostic([...events].join('; '));
  assert.deepEqual(findings, []);
  assert.ok(
    ['went well', 'SIGABRT', 'status 3'].every((end) => (events.get(end) ?? 0) > 0),
    [...events].join('; '),
  );
});

test('programs that something else starts find the device process by their environment', async () => {
  const server = spawn(process.execPath, [LAUNCHER, 'exec', '--print-env'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = await new Promise<string>((resolve) => server.stdout.once('data', (chunk) => resolve(`${chunk}`)));
  assert.match(
    lines,
    /^export LD_LIBRARY_PATH='.*'\nexport WAVEWRIGHT_EXEC_SOCKET='wavewright-\d+-[0-9a-f]+'\nexport GPU_PINNED_XFER_SIZE='0'\n$/,
  );
  // Ten at a time.
  const script = `${lines}for i in 1 2 3 4 5 6 7 8 9 10; do '${program}' '${code}' 2>/dev/null & done; wait`;
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8', timeout: 120_000 });
  server.kill('SIGTERM');
  assert.equal(stdout, '0 wrong\n'.repeat(10));
  assert.equal(await new Promise((resolve) => server.once('exit', resolve)), 0);
});

test('a program without a device process is told how to get one', () => {
  const env = { ...process.env, LD_LIBRARY_PATH: path.dirname(LIBRARY) };
  const { stderr } = spawnSync(program, [code], { env, encoding: 'utf8' });
  assert.match(stderr, /start the program with `wavewright exec`/);
  // Nor is it left without a reason where the device process can give it no GPU.
  const limited = `ulimit -v 6000000; exec '${process.execPath}' '${LAUNCHER}' exec '${program}' '${code}'`;
  const refused = spawnSync('sh', ['-c', limited], { encoding: 'utf8' });
  assert.match(
    refused.stderr,
    /^wavewright: .*(addresses|address space).*\nwavewright: the device process refused this program/m,
  );
});

test('a program finds the GPUs that ROCR_VISIBLE_DEVICES leaves', () => {
  const agents = compile('agents');
  const id = (node: number): string => `GPU-${String(node).padStart(16, '0')}`;
  const cases: readonly (readonly [string, readonly number[]])[] = [
    ['2,0', [3, 1]],
    [`${id(2)},1`, [2]],
    ['GPU-0', [1]],
    ['1,3,0', [2]],
    ['', []],
    ['-1', []],
    ['1x', []],
    ['99999999999999999999', []],
  ];
  const script = cases.map(([value]) => `ROCR_VISIBLE_DEVICES='${value}' '${agents}'; `).join('');
  const { stdout, stderr } = exec('--devices=3', 'sh', '-c', `'${agents}'; ${script}`);
  const expected = [[1, 2, 3], ...cases.map(([, gpus]) => gpus)];
  assert.equal(
    stdout,
    expected.map((gpus) => `${['GPUs:', ...gpus.map((gpu) => `${id(gpu)} with 1 image`)].join(' ')}\n`).join(''),
    stderr,
  );
  assert.equal(exec('--hide-images', agents).stdout, `GPUs: ${id(1)}\n`);
  const second = exec('--devices=2', 'env', 'ROCR_VISIBLE_DEVICES=1', program, code);
  assert.equal(second.stdout, '0 wrong\n', second.stderr);
  assert.match(second.stderr, /; agent 2 \(gfx90a\)/);
});

test('exec has the status of its program, and its signals', async () => {
  assert.equal(exec('sh', '-c', 'exit 37').status, 37);
  assert.equal(exec('sh', '-c', 'kill -9 $$').status, 128 + 9);
  const plain = path.join(folder, 'plain');
  writeFileSync(plain, 'text');
  const script = path.join(folder, 'script');
  writeFileSync(script, '#!/no/such/interpreter\n', { mode: 0o755 });
  const unstartable = [
    [path.join(folder, 'nothing'), /cannot be started: no such file \[IO\]\n$/],
    ['wavewright-no-such-program', /cannot be started: no such program in PATH \[IO\]\n$/],
    [folder, /cannot be started: is a directory \[IO\]\n$/],
    [plain, /cannot be started: is not executable \[IO\]\nhint: 'chmod \+x .*\/plain' makes it so\n$/],
    [script, /cannot be started: its loader or interpreter is not there \[IO\]\nhint: programs of 32 bits /],
  ] as const;
  for (const [file, message] of unstartable) {
    // Nothing of statistics, of which there are none.
    const { status, stderr } = exec('--stats', file);
    assert.match(stderr, /^wavewright: error: /);
    assert.match(stderr, message);
    assert.equal(status, 3);
  }
  const { stderr } = spawnSync(process.execPath, [LAUNCHER, 'exec', 'program'], { encoding: 'utf8', cwd: folder });
  assert.match(stderr, /\nhint: the file of this folder is .\/program\n/);
  const late = exec('--timeout=0.3', '--stats', 'sleep', '60');
  assert.match(late.stderr, /programs with a GPU +0\n/);
  assert.equal(late.status, 124);
  assert.match(exec('--tool=kernel-arguments', 'true').stderr, /warning: no program had a GPU: /);
  for (const [name, message] of [
    ['hsa:0', /no emulated device 'hsa:0' \[NO_DEVICE\]\nhint: there are emulated:gfx900, /],
    ['gfx90a:xnack+', /no device 'emulated:gfx90a:xnack\+', only emulated:gfx90a:sramecc\+:xnack- \[NO_DEVICE\]/],
  ] as const) {
    const { status, stderr: refused } = exec(`--device=${name}`, 'true');
    assert.match(refused, message);
    assert.equal(status, 5);
  }
  const child = spawn(process.execPath, [
    LAUNCHER,
    'exec',
    'sh',
    '-c',
    'trap "exit 9" TERM; echo ready; sleep 5 >/dev/null 2>&1 & wait',
  ]);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  child.kill('SIGTERM');
  assert.equal(await new Promise((resolve) => child.once('exit', resolve)), 9);
});

test('a program ends with a message when the device process is killed', async () => {
  const waiting = compile('waiting');
  const child = spawn(process.execPath, [LAUNCHER, 'exec', waiting], { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const pid = Number(await new Promise<string>((resolve) => child.stdout.once('data', (chunk) => resolve(`${chunk}`))));
  child.kill('SIGKILL');
  // Both hold the pipes: they are closed when the program ends, too, a little before it is gone.
  await new Promise((resolve) => child.once('close', resolve));
  assert.match(stderr, /wavewright: the device process ended/);
  const state = () => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8');
    } catch {
      return 'gone';
    }
  };
  const hasEnded = () => /^gone$|\) Z /.test(state());
  for (const start = Date.now(); !hasEnded() && Date.now() - start < HANG_MS; )
    await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(hasEnded(), state());
});

test('the HIP programs are what Debian builds of their sources, bit for bit', { skip: withoutHipcc }, () => {
  assert.deepEqual(
    hipPrograms.rebuild((built) => built),
    hipPrograms.manifest,
  );
});

test('what HIP programs use works', { skip: withoutHip }, () => {
  const features = path.join(PROGRAMS, 'features');
  const { stdout, stderr, status } = exec('--timeout=100', features);
  const names = [...readFileSync(`${features}.hip`, 'utf8').matchAll(/\{"([a-z0-9-]+)", \w+\}/g)].map(
    ([, name]) => name!,
  );
  assert.equal(names.length, 15);
  const lanes = ['lane 0 of block 0: text 0.00', 'lane 1 of block 0: text 1.50'];
  const expected = names.sort().flatMap((name) => [...(name === 'printf' ? lanes : []), `${name} ok`]);
  assert.deepEqual(stdout.trim().split('\n'), expected, stderr);
  assert.equal(status, 0);
});

test('HIP programs use several GPUs, and share memory with other processes', { skip: withoutHip }, () => {
  for (const count of [1, 3]) {
    const { stdout, stderr, status } = exec('--timeout=100', `--devices=${count}`, path.join(PROGRAMS, 'peers'));
    assert.equal(stdout, `${count} GPUs, 0 wrong\n`, stderr);
    assert.equal(status, 0);
  }
});

test('HIP gives memory with a pitch, where images are not hidden', { skip: withoutHip }, () => {
  const file = path.join(folder, 'pitch');
  execFileSync('gcc', ['-std=gnu11', '-Wall', '-o', file, path.join(import.meta.dirname, 'hsa-program/pitch.c'), HIP]);
  assert.equal(exec('--timeout=60', file).stdout, `pitch fits, 0\n${' 300'.repeat(16)}\n`);
  assert.equal(exec('--timeout=60', '--hide-images', file).stdout, 'hipMallocPitch 1\n');
});

test('faults and assertions of kernels end a HIP program with a report', { skip: withoutHip }, () => {
  const features = path.join(PROGRAMS, 'features');
  const fault = exec('--timeout=100', features, 'fault');
  assert.match(
    fault.stderr,
    /invalid write of address 0x0 .* in store_null\(int\*\)\+0x[0-9a-f]+; workgroup \(0, 0, 0\)/,
  );
  assert.equal(fault.status, 128 + 6);
  const freed = exec('--timeout=100', features, 'freed').stderr;
  assert.match(freed, /wavewright: that memory was allocated by hipMalloc, from make_memory\(\), from main\n/);
  assert.match(freed, /wavewright: that memory was freed by hipFree, from drop_memory\(int\*\), from main\n/);
  const failed = exec('--timeout=100', features, 'assert');
  assert.match(failed.stderr, /Device-side assertion `value == 1 && "value is one"' failed/);
  assert.equal(failed.status, 128 + 6);
});

test("a program's code has names and lines, of its own file where a header's was inlined", async () => {
  const [header, source] = ['inlined.h', 'here.c'].map((name) => path.join(folder, name));
  writeFileSync(header!, 'static inline __attribute__((always_inline)) void *outer(void) {\n  return here();\n}\n');
  writeFileSync(
    source!,
    `#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) void *here(void) { return __builtin_return_address(0); }
#include "inlined.h"
int main(void) {
  printf("%p\\n", here());
  printf("%p\\n", outer());
  fflush(stdout);
  return pause();
}
`,
  );
  const built = path.join(folder, 'here');
  execFileSync('gcc', ['-g', '-O1', '-o', built, source!]);
  const child = spawn(built);
  try {
    const text: Buffer = (await once(child.stdout, 'data'))[0];
    const [own, inlined] = text.toString().trim().split('\n').map(BigInt);
    assert.equal(describeCallers(child.pid!, [own!, 1n]), `main at ${source}:6`);
    assert.match(describeCallers(child.pid!, [inlined!])!, /^main near .*here\.c:[67]$/);
    assert.equal(describeCallers(child.pid!, [1n]), undefined);
    assert.equal(describeCallers(2 ** 30, [own!]), undefined);
  } finally {
    child.kill();
  }
});

test('unmodified HIP programs have right results, with tools and sums', { skip: withoutHip }, () => {
  const hook = `--hook=${path.join(ROOT, 'test/data/hooks/hooks.gfx90a.O2.o')}:function=count_opcode,kernel=add,at=entry`;
  const tools = ['--tool=kernel-arguments', '--tool=instruction-count:level=wave', hook];
  const file = path.join(folder, 'vadd.json');
  const { stdout, stderr, status } = exec('--stats', `--trace=${file}`, ...tools, path.join(PROGRAMS, 'vadd'));
  assert.equal(stdout, 'n=100000 bad=0\n', stderr);
  assert.match(stderr, /programs with a GPU +1\n/);
  assert.match(stderr, /copies +3, 1200000 bytes\n/);
  assert.match(
    stderr,
    /kernels +1, 1 launch\n +_Z3addPKfS0_Pfi +[0-9.]+ ms, \d+ instructions, 1564 waves, 391 workgroups/,
  );
  assert.match(stderr, /\n +\d+ (valu|salu), .*vmem/);
  assert.match(stderr, / _Z3addPKfS0_Pfi +100096 1 1 +256 1 1 +391 1 1\n/);
  assert.match(stderr, / by_value +24 +4 +0x186a0 +100000\n/);
  assert.match(stderr, /instruction-count of code object \d, 1 launch\n/);
  assert.match(stderr, /hook of .*, 1 launch\n/);
  const { otherData, traceEvents } = JSON.parse(readFileSync(file, 'utf8'));
  assert.equal(otherData.lost, 0);
  type Event = Readonly<Record<'ph' | 'name', string> & Record<'ts' | 'dur' | 'tid', number>>;
  const events = (ph: string, name: string): Event[] =>
    traceEvents.filter((each: Event) => each.ph === ph && each.name === name);
  assert.match(traceEvents.find((each: Event) => each.name === 'process_name').args.name, /^vadd \d+$/);
  const [kernel, barrier] = [...events('X', '_Z3addPKfS0_Pfi'), ...events('X', 'barrier')];
  assert.deepEqual([events('X', 'copy').length, events('X', 'doorbell').length, kernel!.tid], [3, 2, barrier!.tid]);
  assert.deepEqual(
    events('f', 'launch').map(({ ts, tid }) => [ts, tid]),
    [kernel!, barrier!].map(({ ts, tid }) => [ts, tid]),
  );
  const [wait] = events('X', 'hsa_signal_wait_scacquire');
  assert.deepEqual(
    events('s', 'completion').map(({ ts }) => ts),
    [barrier!.ts],
  );
  assert.ok(wait!.ts <= barrier!.ts && barrier!.ts <= wait!.ts + wait!.dur && kernel!.ts + kernel!.dur <= barrier!.ts);
  // HIP's own kernels stay as they are.
  assert.doesNotMatch(stderr, /__amd_rocclr_/);
  assert.equal(status, 0);
});
