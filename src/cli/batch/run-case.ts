/** Runs one case after the other in this thread. Every run has its own streams, files and memory. */
import { once } from 'node:events';
import { devNull } from 'node:os';
import { WavewrightError } from '../../base/errors.ts';
import { packageFile } from '../../base/node-package-file.ts';
import { EM_CUDA } from '../../codeobject/elf-flags.ts';
import type { Device } from '../../device/device.ts';
import { elfMachine } from '../../elf/header.ts';
import type { Case } from '../../fleet/case.ts';
import { Findings } from '../arguments/check-option.ts';
import type { CommandContext } from '../arguments/command.ts';
import { isCudaName } from '../arguments/cuda-device.ts';
import { loadEmulator } from '../arguments/device-name.ts';
import { parseArguments } from '../arguments/options.ts';
import { readInput } from '../process/input.ts';
import { countsForProfile } from '../program/packet-profiling.ts';
import { openProgram } from '../program/program-file.ts';
import { RUN_GRAMMAR, runImage } from '../program/run-program.ts';
import { reportError } from '../text/report.ts';
import { CapturedOutput } from './captured-output.ts';

/** What the pool sends. */
export interface CaseRequest {
  readonly test: Case;
  /** Options of `run` before those of the case, which win. */
  readonly options: readonly string[];
}

/**
 * What comes back: once, that requests can come; then for each request that the program's time begins, and
 * what came of it.
 */
export type CaseMessage = 'ready' | 'started' | CaseReply;

export interface CaseReply {
  readonly status: number;
  readonly durationMs: number;
  readonly stdout: string;
  readonly stderr: string;
}

const US_PER_MS = 1000;
const MS_PER_S = 1000;
/** How long a process may take to end after its time limit. */
const GRACE_MS = 10_000;

/**
 * The device of the last test, when that left it as it was, and what it was asked for: memory is what a
 * device costs.
 */
let kept:
  | {
      readonly device: Device;
      readonly workers: number | undefined;
      readonly stats: boolean;
      readonly memory: number;
      /** What it counts for profiles. */
      readonly counted: string;
    }
  | undefined;

/** Does what is asked; never throws. */
export async function runCase({ test, options }: CaseRequest): Promise<CaseReply> {
  const stdout = new CapturedOutput();
  const stderr = new CapturedOutput();
  const startMs = performance.now();
  const context: CommandContext = {
    stdout: (data) => stdout.write(data),
    stderr: (data) => stderr.write(data),
    env: { ...process.env, ...test.env },
    clock: ownTimeMs,
  };
  let status: number;
  try {
    status = await runTest(context, test, options);
  } catch (error) {
    kept?.device.close();
    kept = undefined;
    const report = reportError(error, false);
    context.stderr(report.text);
    status = report.exitStatus;
  }
  return { status, durationMs: performance.now() - startMs, stdout: stdout.text(), stderr: stderr.text() };
}

async function runTest(context: CommandContext, test: Case, options: readonly string[]): Promise<number> {
  if (test.problem !== undefined) throw new WavewrightError('BAD_INPUT', test.problem);
  // Tests share the standard input of the process; one that wants input has --stdin in its options.
  const argv = [`--stdin=${test.stdin ?? devNull}`, ...options, `--timeout=${test.timeout}`, ...test.options];
  if (test.device !== undefined) argv.push(`--device=${test.device}`);
  argv.push('--', test.image, ...test.args);
  const parsed = parseArguments(RUN_GRAMMAR, argv);
  if (parsed.help) throw new WavewrightError('USAGE', 'it asks for help, which runs nothing');
  const { device: name, workers, stats, memory, check } = parsed.options;
  const findings = new Findings(check, context.stderr);
  const counts = countsForProfile(parsed.options);
  const counted = Object.keys(counts).join();
  const isSame = kept?.workers === workers && kept?.stats === stats && kept?.memory === memory;
  const fits = isSame && kept?.counted === counted && check === undefined;
  const open = fits ? kept?.device : undefined;
  const how = { workers, countsClasses: stats, memorySizeBytes: memory, findings, ...counts };
  if (runsOnGpu(test.image, name)) return await runApart(context, argv, parsed.options.timeout);
  const program = await openProgram(test.image, name, { ...how, open });
  const { device } = program;
  if (device !== kept?.device) kept?.device.close();
  kept = { device, workers, stats, memory, counted };
  const status = await runImage(context, { options: parsed.options, args: parsed.operands, program });
  findings.expectNone();
  return status;
}

/** Whether it takes a real NVIDIA GPU. */
const runsOnGpu = (image: string, device: string | undefined): boolean =>
  isCudaName(device) || (device === undefined && elfMachine(readInput(image)) === EM_CUDA);

/**
 * Runs a program in a process of its own: a kernel that faults or does not end spoils a GPU for the whole
 * process, and the end of the process is all that helps.
 */
async function runApart(context: CommandContext, argv: readonly string[], timeoutS = 0): Promise<number> {
  const { spawn } = process.getBuiltinModule('node:child_process');
  const launcher = packageFile('bin/wavewright.js');
  const child = spawn(process.execPath, [launcher, 'run', ...argv], {
    ...{ env: context.env, stdio: ['ignore', 'pipe', 'pipe'] as const, killSignal: 'SIGKILL' },
    timeout: timeoutS > 0 ? timeoutS * MS_PER_S + GRACE_MS : 0,
  });
  child.stdout.on('data', context.stdout);
  child.stderr.on('data', context.stderr);
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== null) return status;
  throw new WavewrightError('TIMEOUT', 'the process of the program did not end and was killed');
}

/** What this thread took; not the time in which it could have run while others did. */
function ownTimeMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / US_PER_MS;
}

// Loading what every program needs is no program's time.
await loadEmulator();
