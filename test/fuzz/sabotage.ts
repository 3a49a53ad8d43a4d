/**
 * Takes checks out of a copy of the sources, one at a time, and runs the suite that is to notice:
 * `node test/fuzz/sabotage.ts [NAME-PART]`. A check that nobody misses is not tested. Prints how long each
 * took to be missed; exits 1 when one was not within a minute.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const LIMIT_MS = 60_000;

interface Sabotage {
  readonly name: string;
  readonly file: string;
  /** Text that stands there once, and what takes its place. */
  readonly from: string;
  readonly to: string;
  /** The test, or the oracle with its options, that is to fail. */
  readonly noticedBy: readonly string[];
}

const test = (file: string): string[] => ['--test', '--test-isolation=none', file];
const memorySafety = [...test('test/memory-safety.test.ts'), '--test-name-pattern=gfx90a'];
const freedMemory = test('test/freed-memory.test.ts');
const gpuAddresses = test('test/gpu-addresses.test.ts');
const instructions = ['test/fuzz/instructions.ts', '--seconds=55', '--findings=1'];
const always = "f.op('i32.eqz');\n  f.i32(1);\n  f.op('i32.or');";

const SABOTAGES: readonly Sabotage[] = [
  // Lowering.
  {
    name: 'handlers: permission of a global access',
    file: 'src/emulator/lowering/memory-access.ts',
    from: "f.op('i32.and');\n  f.i32(PERMISSION[access]);\n  f.op('i32.ne');",
    to: "f.op('i32.and');\n  f.drop();\n  f.i32(0);",
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: last byte of a global access',
    file: 'src/emulator/lowering/memory-access.ts',
    from: 'if (sizeBytes > 1) {\n    pushValidity',
    to: 'if (sizeBytes > 4096) {\n    pushValidity',
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: window of an address',
    file: 'src/emulator/lowering/memory-access.ts',
    from: 'ifHigh(f, high, spaces.windowHi, () => translateGlobal',
    to: 'ifHigh(f, high, spaces.windowHi, () => {});\n      f.i32(1);\n      f.if(undefined, () => { translateGlobal(f, low, access, sizeBytes, fail); f.return(); });\n      ifHigh(f, high, spaces.windowHi, () => translateGlobal',
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: end of LDS and of scratch',
    file: 'src/emulator/lowering/memory-access.ts',
    from: "f.op('i64.gt_u');\n  f.if(undefined, fail);",
    to: "f.op('i64.gt_u');\n  f.i32(0);\n  f.op('i32.and');\n  f.if(undefined, fail);",
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: four lanes of LDS together',
    file: 'src/emulator/lowering/lane-memory.ts',
    from: "f.op('i64.le_u');",
    to: `f.op('i64.le_u');\n  ${always}`,
    noticedBy: memorySafety,
  },
  {
    name: 'handlers: four lanes of global memory together',
    file: 'src/emulator/lowering/lane-memory.ts',
    from: "f.i32(kind === 'read' ? MAY_READ : MAY_WRITE);\n  f.op('i32.and');",
    to: `f.i32(kind === 'read' ? MAY_READ : MAY_WRITE);\n  f.op('i32.and');\n  ${always}`,
    noticedBy: memorySafety,
  },
  // Compiled code.
  {
    name: 'regions: end of scratch',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "f.op('i32.ge_u');\n      f.op('i32.or');",
    to: "f.op('i32.ge_u');\n      f.drop();",
    noticedBy: memorySafety,
  },
  {
    name: 'regions: end of LDS',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "f.op('i32x4.ge_u');\n      f.op('v128.any_true');",
    to: "f.op('i32x4.ge_u');\n      f.op('v128.any_true');\n      f.i32(0);\n      f.op('i32.and');",
    noticedBy: memorySafety,
  },
  {
    name: 'regions: permission of global memory',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "f.i32(writes ? MAY_WRITE : MAY_READ);\n    f.op('i32.and');\n    f.op('i32.eqz');",
    to: "f.i32(writes ? MAY_WRITE : MAY_READ);\n    f.op('i32.and');\n    f.drop();\n    f.i32(0);",
    noticedBy: memorySafety,
  },
  {
    name: 'regions: window of an address that lanes have',
    file: 'src/emulator/jit/regions/fast-memory.ts',
    from: "f.get(high.lanes[0]!);\n      f.get(this.environment.hoisted.get('window'));\n      f.op('v128.xor');\n      f.op('v128.any_true');",
    to: 'f.i32(0);',
    noticedBy: memorySafety,
  },
  {
    name: 'sixteen lanes: end of LDS',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: "f.get(size);\n    f.op('i32.gt_u');\n    f.op('i32.or');",
    to: "f.get(size);\n    f.op('i32.gt_u');\n    f.drop();",
    noticedBy: instructions,
  },
  {
    name: 'sixteen lanes: how far lanes are apart',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: "f.i32(MAX_STRIDE_BYTES);\n    f.op('i32.gt_u');",
    to: "f.i32(MAX_STRIDE_BYTES);\n    f.op('i32.gt_u');\n    f.i32(0);\n    f.op('i32.and');",
    noticedBy: test('test/far-lanes.test.ts'),
  },
  {
    name: 'sixteen lanes: permission of global memory',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: "f.i32(writes ? MAY_WRITE : MAY_READ);\n    f.op('i32.and');\n    f.op('i32.eqz');",
    to: "f.i32(writes ? MAY_WRITE : MAY_READ);\n    f.op('i32.and');\n    f.drop();\n    f.i32(0);",
    noticedBy: instructions,
  },
  {
    name: 'sixteen lanes: end of scratch',
    file: 'src/emulator/jit/regions/linear-accesses.ts',
    from: "f.op('i32.ge_u');\n      f.op('i32.or');",
    to: "f.op('i32.ge_u');\n      f.drop();",
    noticedBy: memorySafety,
  },
  {
    name: 'fast atomics: permission',
    file: 'src/emulator/jit/regions/fast-atomic.ts',
    from: "f.i32(MAY_READ | MAY_WRITE);\n    f.op('i32.ne');",
    to: 'f.drop();\n    f.i32(0);',
    noticedBy: memorySafety,
  },
  {
    name: 'registers that M0 chooses: end of the file',
    file: 'src/emulator/machine/operand-places.ts',
    from: 'last: first + (count - dwords) * sizeBytes,',
    to: 'last: first + count * sizeBytes * 2,',
    noticedBy: test('test/register-neighbours.test.ts'),
  },
  // Look-ups.
  {
    name: 'look-up of addresses from outside: permission',
    file: 'src/devices/emulated/index.ts',
    from: "(region.permissions & (access === 'write' ? MAY_WRITE : MAY_READ)) !== 0",
    to: 'region.permissions >= 0',
    noticedBy: gpuAddresses,
  },
  {
    name: 'look-up of addresses from outside: end of the allocation',
    file: 'src/devices/emulated/index.ts',
    from: 'sizeBytes >= 0 && offset + sizeBytes <= region.offset + region.sizeBytes',
    to: 'sizeBytes >= 0',
    noticedBy: gpuAddresses,
  },
  {
    name: 'launch: LDS of the descriptor',
    file: 'src/devices/emulated/kernel-abi.ts',
    from: 'checkLaunchSizes(device, undefined, {',
    to: 'if (device === undefined) checkLaunchSizes(device, undefined, {',
    noticedBy: [...gpuAddresses, 'test/launch-sizes.test.ts'],
  },
  {
    name: 'look-up of code: permission',
    file: 'src/emulator/machine/memory.ts',
    from: '|| !(region.permissions & MAY_READ)) return undefined;',
    to: ') return undefined;',
    noticedBy: freedMemory,
  },
  {
    name: 'decoded code goes with its memory',
    file: 'src/emulator/machine/memory.ts',
    from: 'if (hasCode) this.onCodeGone?.();',
    to: 'if (!hasCode) return;',
    noticedBy: freedMemory,
  },
  {
    name: 'scratch is cleared',
    file: 'src/emulator/machine/memory.ts',
    from: 'if (start < this.#untouched && !uninitialized)',
    to: 'if (start < this.#untouched && !uninitialized && !isTransient)',
    noticedBy: freedMemory,
  },
  {
    name: 'registers are cleared',
    file: 'src/emulator/machine/state-memory.ts',
    from: 'if (offset < this.#untouched) fillBytes',
    to: 'if (offset < this.#untouched && owner === undefined) fillBytes',
    noticedBy: freedMemory,
  },
  // Threads and schedulers.
  {
    name: 'freed memory waits for threads',
    file: 'src/emulator/machine/memory.ts',
    from: 'if (!this.grace.isPast(region.epoch)) break;',
    to: '',
    noticedBy: test('src/emulator/machine/memory.test.ts'),
  },
  {
    name: 'threads that run have not passed',
    file: 'src/emulator/workers/control.ts',
    from: 'if (state !== WORKER_STATES.running || Atomics.load(this.#words, CALL) !== CALLS.none) return true;',
    to: 'if (state !== -1) return true;',
    noticedBy: test('src/emulator/workers/control.test.ts'),
  },
  {
    name: 'jumps go to code',
    file: 'src/emulator/schedule/group-scheduler.ts',
    from: 'if (offset === undefined || !memory.code(offset))',
    to: 'if (offset === undefined)',
    noticedBy: test('test/faults.test.ts'),
  },
  {
    name: 'bits of MODE that are not modelled',
    file: 'src/emulator/schedule/group-scheduler.ts',
    from: 'if (mode & modeRefusedBits) throw',
    to: 'if (mode < 0) throw',
    noticedBy: test('test/faults.test.ts'),
  },
];

function run(
  { file, from, to, noticedBy }: Sabotage,
  root: string,
): { readonly isNoticed: boolean; readonly ms: number } {
  const target = path.join(root, file);
  const text = readFileSync(target, 'utf8');
  assert.equal(text.split(from).length, 2, `${file} has once: ${from}`);
  writeFileSync(
    target,
    text.replace(from, () => to),
  );
  const load = spawnSync(process.execPath, ['--input-type=module', '--eval', `import ${JSON.stringify(target)}`]);
  assert.equal(load.status, 0, `${file} loads: ${load.stderr}`);
  const beginMs = performance.now();
  const { status } = spawnSync(process.execPath, noticedBy, { cwd: root, timeout: LIMIT_MS, stdio: 'ignore' });
  const ms = performance.now() - beginMs;
  writeFileSync(target, text);
  return { isNoticed: status !== 0 && ms < LIMIT_MS, ms };
}

const root = mkdtempSync(path.join(tmpdir(), 'sabotage-'));
try {
  const source = path.resolve(import.meta.dirname, '../..');
  for (const name of ['src', 'test', 'examples', 'package.json', 'tsconfig.json'])
    cpSync(path.join(source, name), path.join(root, name), { recursive: true });
  symlinkSync(path.join(source, 'node_modules'), path.join(root, 'node_modules'));
  const wanted = SABOTAGES.filter(({ name }) => name.includes(process.argv[2] ?? ''));
  let missed = 0;
  for (const sabotage of wanted) {
    const { isNoticed, ms } = run(sabotage, root);
    if (!isNoticed) missed++;
    console.log(`${isNoticed ? 'noticed' : 'NOT NOTICED'} after ${(ms / 1000).toFixed(1)} s: ${sabotage.name}`);
  }
  console.log(`${wanted.length - missed} of ${wanted.length} noticed`);
  process.exitCode = missed > 0 ? 1 : 0;
} finally {
  rmSync(root, { recursive: true });
}
