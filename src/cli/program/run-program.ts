/**
 * How `run` reads its arguments and runs a program; batches and the loaders of LLVM's names do so as well.
 */
import { WavewrightError } from '../../base/errors.ts';
import { observedBy } from '../../hsa/runtime/launch-observer.ts';
import { runProgram } from '../../loader/program.ts';
import { formatResources } from '../../loader/resource-usage.ts';
import type { CommandContext } from '../arguments/command.ts';
import type { Grammar } from '../arguments/options.ts';
import { Interruption } from '../process/interruption.ts';
import { acquireMachineLock } from '../process/machine-lock.ts';
import { formatStatistics } from '../text/statistics-text.ts';
import { openPacketProfile } from './packet-profiling.ts';
import type { ProgramFile } from './program-file.ts';
import { gridOf, PROGRAM_OPTIONS, type ProgramOptions, runOptions } from './program-options.ts';
import { openTools, writeReports } from './tool-options.ts';

export const RUN_GRAMMAR = {
  name: 'run',
  operands: { usage: 'IMAGE [ARGUMENT...]', min: 1, max: Number.POSITIVE_INFINITY, firstEndsOptions: true },
  singleDash: true,
  options: PROGRAM_OPTIONS,
} as const satisfies Grammar<typeof PROGRAM_OPTIONS>;

export interface ProgramRun {
  readonly options: ProgramOptions;
  /** The path of the program and its arguments. */
  readonly args: readonly string[];
  /** Its device stays open. */
  readonly program: ProgramFile;
  /** Since when the time limit runs; by default since the call. */
  readonly startedMs?: number;
}

/** Runs a program to its end, or shows what would run; the exit status. */
export async function runImage(context: CommandContext, run: ProgramRun): Promise<number> {
  const { options, args, program } = run;
  const { device, codeObject } = program;
  using resources = new DisposableStack();
  const tools = await openTools(options.tool, options.hook);
  if (tools && !codeObject) throw new WavewrightError('UNSUPPORTED', 'tools for PTX', { file: program.name });
  const { bytes, name } = tools && codeObject ? tools.instrument(codeObject) : program;
  if (options.inspect) {
    const { formatInspection, inspectProgram } = await import('../../loader/inspect.ts');
    const stackSizeBytes = options['stack-size'];
    const stack = stackSizeBytes === undefined ? {} : { stackSizeBytes };
    context.stdout(formatInspection(await inspectProgram(bytes, { device, name, ...stack, ...gridOf(options) })));
    return 0;
  }
  const profile = await openPacketProfile(device, options, resources);
  if (profile && !codeObject) throw new WavewrightError('UNSUPPORTED', 'profiles of PTX', { file: program.name });
  const { stderr } = context;
  const runWith = runOptions(options, context, resources);
  if (options.serialize) resources.use(await acquireMachineLock());
  const interruption = context.isProcess ? resources.use(new Interruption()) : undefined;
  const onAbort = (kernel: string, waves: readonly string[]) => stderr(Interruption.report(kernel, waves));
  const result = await runProgram(bytes, {
    ...runWith,
    ...(run.startedMs !== undefined && { startedMs: run.startedMs }),
    ...(interruption && { signal: interruption.signal, onAbort }),
    device,
    name,
    args,
    observer: profile && tools ? observedBy([tools, profile]) : (profile ?? tools),
    ...(options['print-resource-usage'] && { onKernel: (kernel) => stderr(`${formatResources(kernel)}\n`) }),
  });
  if (options.stats) stderr(formatStatistics(result.statistics));
  await writeReports(tools, stderr, context);
  return result.status;
}
