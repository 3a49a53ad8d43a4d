/**
 * Runs the tests that need no compiler: `quick`, which is `npm test`, all files but those below; `slow`
 * those. A file stands there when it takes two seconds of an idle machine, unless it finds most of all.
 *
 *     node test/run-files.ts quick|slow
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
const ALL = ['src/**/*.test.ts', 'test/*.test.ts', 'test/lockstep/*.test.ts'];

/** By folder. */
export const SLOW: Readonly<Record<string, readonly string[]>> = {
  'src/assembler': ['macros'],
  'src/bench': ['applications'],
  'src/cli/batch': ['batch', 'isolation'],
  'src/cli/commands': ['merge', 'profile', 'sweep', 'tools'],
  'src/cli/program': ['program-options'],
  'src/cli': ['upstream-loader'],
  'src/devices/emulated': ['node-code-store'],
  'src/emulator': ['access-counts', 'pc-counts'],
  'src/emulator/lowering': ['matrix-lowering', 'rounding'],
  'src/fleet': ['report'],
  'src/flow': ['lane-liveness', 'loops'],
  'src/hal/amdgpu': ['failing-calls'],
  'src/hal/amdgpu/order': ['wait-strategy'],
  'src/hal/conformance': ['cts', 'growth', 'random-programs'],
  'src/hsa/executables': ['hostile-linking', 'linked-needs'],
  'src/hsa/runtime': ['scale'],
  'src/inspect/objdump': ['objdump'],
  'src/instrument/hooks': ['lift-hook'],
  'src/instrument': ['instrument-file', 'instrument'],
  'src/instrument/layout': ['lay-out'],
  'src/ir': ['directed-rounding'],
  'src/isa/amdgpu/encoding': ['encode'],
  'src/isa/amdgpu/report': ['describe'],
  'src/isa/amdgpu/rows/matrix': ['matrix'],
  'src/isa/amdgpu/rows': ['min-max', 'rounding'],
  'src/loader': ['hostile-program'],
  'src/loader/rpc': ['conformance'],
  'src/ptx-host': [
    'barriers',
    'calls',
    'device-library',
    'far-branches',
    'half',
    'instructions',
    'loop-exits',
    'matrix-shapes',
    'meetings',
    'misaligned',
    'run-kernel',
    'spills',
    'structures',
    'turns',
  ],
  'src/ptx/compile': ['growth'],
  'src/replay/execute': ['suite-replay'],
  test: [
    'bad-input',
    'bench-command',
    'bench-instrument',
    'budgets',
    'buffer-accesses',
    'called-hooks',
    'check-waits',
    'compiled-hooks',
    'counts-and-tools',
    'effects',
    'examples',
    'far-lanes',
    'faults',
    'fleet-examples',
    'flow-counter',
    'freed-memory',
    'global-wave-sync',
    'gpu-addresses',
    'growth',
    'hooks',
    'hostcall',
    'instruction-classes',
    'instrument-mutated',
    'instrument-sabotage',
    'instrumented-code',
    'instrumented-order',
    'ir-programs',
    'kernel-versions',
    'kernels',
    'launcher',
    'lawless-code',
    'library-functions',
    'lift-execution',
    'memory-safety',
    'moved-stacks',
    'odd-code',
    'package',
    'payload-waits',
    'pc-counts',
    'poison',
    'profile-files',
    'ptx-control-flow',
    'ptx-hostile-code',
    'ptx-programs',
    'ptx-random',
    'reencode',
    'register-homes',
    'register-neighbours',
    'register-safety',
    'run-command',
    'safety-oracles',
    'scalar-memory',
    'semantics',
    'tiers',
    'tool-anchors',
    'tool-points',
    'tool-presets',
    'tools',
    'vertical-loops',
    'workers',
    'workgroup-ids',
  ],
  'test/lockstep': ['instructions', 'kernels'],
};

export const slowFiles = (): string[] =>
  Object.entries(SLOW).flatMap(([folder, names]) => names.map((name) => `${folder}/${name}.test.ts`));

function run(which: string | undefined): number {
  if (which !== 'quick' && which !== 'slow') throw new TypeError('quick or slow is expected');
  const slow = new Set(slowFiles());
  const files = globSync(ALL, { cwd: ROOT }).filter((file) => slow.has(file) === (which === 'slow'));
  const { status } = spawnSync('npm', ['run', '--silent', 'test:files', '--', ...files.sort()], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  return status ?? 1;
}

if (import.meta.main) process.exitCode = run(process.argv[2]);
