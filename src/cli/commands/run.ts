import { Findings } from '../arguments/check-option.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { countsForProfile } from '../program/packet-profiling.ts';
import { openProgram } from '../program/program-file.ts';
import type { ProgramOptions } from '../program/program-options.ts';
import { RUN_GRAMMAR, runImage } from '../program/run-program.ts';

/** The options of LLVM's llvm-gpu-loader, and more. */
export const run = defineCommand({
  operands: RUN_GRAMMAR.operands,
  singleDash: RUN_GRAMMAR.singleDash,
  options: RUN_GRAMMAR.options,
  notes: [
    'IMAGE is a code object, PTX or a cubin, a bundle or fat binary, or a program with one inside; - is standard input. Everything after it',
    "belongs to the program. The exit status is the program's own: what its main returned, in all work-items ORed together, modulo 256.",
    '--device=cuda:0 is the first NVIDIA GPU: cubins go there by default. CUDA stops no single kernel: a time limit ends the process.',
    'Without --sandbox or an --allow option the program may read and write what you may, and run commands.',
  ],
  run: runImageFile,
});

/** Runs the program in `args[0]`; its status. */
async function runImageFile(
  context: CommandContext,
  options: ProgramOptions,
  args: readonly string[],
): Promise<number> {
  const startedMs = performance.now();
  const findings = new Findings(options.check, context.stderr);
  const program = await openProgram(args[0]!, options.device, {
    workers: options.workers,
    memorySizeBytes: options.memory,
    countsClasses: options.stats,
    ...countsForProfile(options),
    findings,
  });
  using resources = new DisposableStack();
  resources.defer(() => program.device.close());
  const status = await runImage(context, { options, args, program, startedMs });
  findings.expectNone();
  return status;
}
