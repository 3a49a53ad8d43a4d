/** What the emulator counts of instructions is what the tools in the same code count. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../src/cli/run-command.test-support.ts';
import { type CountedInstruction, countedKernels } from '../src/profile/counted-kernels.ts';
import { Profile } from '../src/profile/profile.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-counts-'));
after(() => rmSync(folder, { recursive: true }));

const MATRICES = [
  '--grid=32,32',
  '--workgroup=16,16',
  ...new Array<string>(3).fill('--arg=zero:16384'),
  '--arg=i32:32',
];
const HISTOGRAM = ['--grid=512', '--workgroup=256', '--arg=zero:1024', '--arg=zero:4096', '--arg=i32:1024'];
const LAUNCHES: readonly (readonly [processor: string, kernel: string, launch: readonly string[]])[] = [
  ['gfx90a', 'matmul16', MATRICES],
  ['gfx1100', 'matmul16', MATRICES],
  [
    'gfx90a',
    'gather',
    ['--grid=512', '--workgroup=256', ...new Array<string>(3).fill('--arg=zero:4096'), '--arg=i32:500'],
  ],
  ['gfx90a', 'histogram', HISTOGRAM],
  ['gfx1100', 'bitonic', ['--grid=512', '--workgroup=256', '--arg=zero:4096']],
];

/** Classes by what instructions are called. */
const KINDS = [
  [/^s_waitcnt/, 'wait'],
  [/^s_barrier/, 'barrier'],
  [/^(global|buffer)_atomic/, 'vmem-atomic'],
  [/^ds_(add|sub|inc|min|max|or)_/, 'lds-atomic'],
] as const;

/** Rows of a table of a tool, with its columns. */
async function toolRows(tool: string, table: string, launch: readonly string[]): Promise<Record<string, unknown>[]> {
  const { status, stdout, stderr } = await runCommand([
    'dispatch',
    ...launch,
    `--tool=${tool}${tool.includes(':') ? ',' : ':'}format=json`,
  ]);
  assert.deepEqual([status, stderr], [0, '']);
  return JSON.parse(stdout).result[table];
}

async function countedBy(launch: readonly string[]): Promise<readonly CountedInstruction[]> {
  const file = path.join(folder, 'counts.ireeprof');
  const options = [`--device_profiling_output=${file}`, '--device_profiling_mode=access-counts'];
  const { status, stderr } = await runCommand(['dispatch', ...launch, ...options]);
  assert.deepEqual([status, stderr], [0, '']);
  return countedKernels(Profile.read(readFileSync(file))).flatMap(({ instructions }) => instructions);
}

for (const [processor, kernel, options] of LAUNCHES) {
  test(`${processor} ${kernel}: accesses, segments, bank conflicts and branches`, async () => {
    const launch = [`examples/kernels/${kernel}.${processor}.co`, ...options];
    const counted = await countedBy(launch);
    const at = (address: unknown): CountedInstruction =>
      counted.find((each) => each.address === BigInt(String(address)))!;
    for (const { address, accesses, segments } of await toolRows('coalescing', 'accesses', launch)) {
      const { memory } = at(address);
      assert.deepEqual([memory?.accesses ?? 0n, memory?.segments ?? 0n], [accesses, segments].map(Number).map(BigInt));
    }
    const conflicts = Map.groupBy(await toolRows('lds-bank-conflicts', 'accesses', launch), ({ address }) => address);
    for (const [address, rows] of conflicts) {
      const sum = (name: string): bigint => BigInt(rows.reduce((total, row) => total + Number(row[name]), 0));
      const { memory } = at(address);
      assert.deepEqual([memory?.cycles ?? 0n, memory?.conflicts ?? 0n], [sum('cycles'), sum('conflicts')]);
    }
    const kinds = new Map<string, number>();
    for (const { opcode, waves } of await toolRows('opcode-histogram:level=wave', 'opcodes', launch)) {
      const kind = KINDS.find(([pattern]) => pattern.test(String(opcode)))?.[1];
      if (kind !== undefined) kinds.set(kind, (kinds.get(kind) ?? 0) + Number(waves));
    }
    for (const [, kind] of KINDS) {
      const own = counted.filter(({ className }) => className === kind);
      assert.equal(Number(own.reduce((sum, { waves }) => sum + waves, 0n)), kinds.get(kind) ?? 0, kind);
    }
    for (const { address, waves, taken } of await toolRows('branch-divergence', 'branches', launch)) {
      assert.deepEqual([at(address).waves, at(address).taken], [BigInt(Number(waves)), BigInt(Number(taken))]);
    }
  });
}
