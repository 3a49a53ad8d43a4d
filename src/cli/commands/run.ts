import { Findings } from '../arguments/check-option.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { openDevice, openImages } from '../arguments/device-name.ts';
import type { ProgramOptions } from '../program/program-options.ts';
import { RUN_GRAMMAR, runImages } from '../program/run-program.ts';

/** The options of LLVM's llvm-gpu-loader, and more. */
export const run = defineCommand({
  operands: RUN_GRAMMAR.operands,
  singleDash: RUN_GRAMMAR.singleDash,
  options: RUN_GRAMMAR.options,
  notes: [
    'IMAGE is a code object, an offload bundle or a program with one inside; - is standard input. Everything after it belongs to',
    "the program. The exit status is the program's own: what its main returned, in all work-items ORed together, modulo 256.",
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
  const images = openImages(args[0]!, options.memory);
  const findings = new Findings(options.check, context.stderr);
  const device = await openDevice(options.device, images, {
    workers: options.workers,
    memorySizeBytes: options.memory,
    countsClasses: options.stats,
    findings,
  });
  using resources = new DisposableStack();
  resources.defer(() => device.close());
  const status = await runImages(context, { options, args, images, device, startedMs });
  findings.expectNone();
  return status;
}
