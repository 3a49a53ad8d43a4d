import { type CodeObjectImage, pickCodeObject } from '../../codeobject/container.ts';
import { parseTargetId } from '../../codeobject/target-id.ts';
import type { Device } from '../../device/device.ts';
import { formatInspection, formatResources, inspectProgram, runProgram } from '../../loader/index.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { openDevice, openImages } from '../device-name.ts';
import { Interruption } from '../interruption.ts';
import { acquireMachineLock } from '../machine-lock.ts';
import { gridOf, PROGRAM_OPTIONS, type ProgramOptions, runOptions } from '../program-options.ts';
import { formatStatistics } from '../statistics-text.ts';

/** The options of LLVM's llvm-gpu-loader, and more. */
export const run = defineCommand({
  operands: { usage: 'IMAGE [ARGUMENT...]', min: 1, max: Number.POSITIVE_INFINITY, firstEndsOptions: true },
  singleDash: true,
  options: PROGRAM_OPTIONS,
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
  const file = args[0]!;
  const startedMs = performance.now();
  const images = openImages(file, options.memory);
  const device = await openDevice(options.device, images, {
    workers: options.workers,
    memorySizeBytes: options.memory,
    countsClasses: options.stats,
  });
  using resources = new DisposableStack();
  resources.defer(() => device.close());
  return await runImages(context, options, args, images, device, startedMs);
}

/** Runs the image among `images` that fits the device, which stays open. `startedMs`: since when the time limit runs; by default from now on. */
export async function runImages(
  context: CommandContext,
  options: ProgramOptions,
  args: readonly string[],
  images: readonly CodeObjectImage[],
  device: Device,
  startedMs?: number,
): Promise<number> {
  using resources = new DisposableStack();
  const { bytes, name } = pickCodeObject(images, parseTargetId(device.properties.targetId));
  if (options.inspect) {
    const stackSizeBytes = options['stack-size'];
    const stack = stackSizeBytes === undefined ? {} : { stackSizeBytes };
    context.stdout(formatInspection(inspectProgram(bytes, { device, name, ...stack, ...gridOf(options) })));
    return 0;
  }
  const { stderr } = context;
  const runWith = runOptions(options, context, resources);
  if (options.serialize) resources.use(await acquireMachineLock());
  const interruption = context.isProcess ? resources.use(new Interruption()) : undefined;
  const onAbort = (kernel: string, waves: readonly string[]) => stderr(Interruption.report(kernel, waves));
  const result = await runProgram(bytes, {
    ...runWith,
    ...(startedMs !== undefined && { startedMs }),
    ...(interruption && { signal: interruption.signal, onAbort }),
    device,
    name,
    args,
    ...(options['print-resource-usage'] && { onKernel: (kernel) => stderr(`${formatResources(kernel)}\n`) }),
  });
  if (options.stats) stderr(formatStatistics(result.statistics));
  return result.status;
}
