/** A thread that runs one program after the other. Every run has its own streams, files and memory. */
import { devNull } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { WavewrightError } from '../../base/errors.ts';
import type { Device } from '../../device/device.ts';
import { Findings } from '../arguments/check-option.ts';
import type { CommandContext } from '../arguments/command.ts';
import { loadEmulator } from '../arguments/device-name.ts';
import { parseArguments } from '../arguments/options.ts';
import { openProgram } from '../program/program-file.ts';
import { RUN_GRAMMAR, runImage } from '../program/run-program.ts';
import { reportError } from '../text/report.ts';
import { CapturedOutput } from './captured-output.ts';
import type { TestCase } from './collect.ts';

/** What the pool sends. */
export interface WorkerRequest {
  readonly test: TestCase;
  /** Options of `run` for every test; those of the test itself win. */
  readonly options: readonly string[];
}

/** What comes back for each request: first that the program's time begins, then what came of it. */
export type WorkerMessage = 'started' | WorkerReply;

export interface WorkerReply {
  readonly status: number;
  readonly durationMs: number;
  readonly stdout: string;
  readonly stderr: string;
}

const US_PER_MS = 1000;

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
    }
  | undefined;

async function perform({ test, options }: WorkerRequest): Promise<WorkerReply> {
  const stdout = new CapturedOutput();
  const stderr = new CapturedOutput();
  const startMs = performance.now();
  const context: CommandContext = {
    stdout: (data) => stdout.write(data),
    stderr: (data) => stderr.write(data),
    env: { ...process.env, ...test.environment },
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

async function runTest(context: CommandContext, test: TestCase, options: readonly string[]): Promise<number> {
  if (test.problem !== undefined) throw new WavewrightError('BAD_INPUT', test.problem);
  // Tests share the standard input of the process; one that wants input has --stdin in its options.
  const argv = [`--stdin=${devNull}`, ...options, ...test.loaderArguments, '--', test.image, ...test.programArguments];
  const parsed = parseArguments(RUN_GRAMMAR, argv);
  if (parsed.help) throw new WavewrightError('USAGE', 'it asks for help, which runs nothing');
  const { device: name, workers, stats, memory, check } = parsed.options;
  const findings = new Findings(check, context.stderr);
  const fits = kept?.workers === workers && kept?.stats === stats && kept?.memory === memory && check === undefined;
  const open = fits ? kept?.device : undefined;
  const how = { workers, countsClasses: stats, memorySizeBytes: memory, findings };
  const program = await openProgram(test.image, name, { ...how, open });
  const { device } = program;
  if (device !== kept?.device) kept?.device.close();
  kept = { device, workers, stats, memory };
  const status = await runImage(context, { options: parsed.options, args: parsed.operands, program });
  findings.expectNone();
  return status;
}

/** What this thread took; not the time in which it could have run while others did. */
function ownTimeMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / US_PER_MS;
}

// Loading what every program needs is no program's time.
await loadEmulator();
const send = (message: WorkerMessage): void => parentPort?.postMessage(message);
parentPort?.on('message', async (request: WorkerRequest) => {
  send('started');
  send(await perform(request));
});
