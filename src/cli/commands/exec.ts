import { WavewrightError } from '../../base/errors.ts';
import { tierShares } from '../../device/statistics.ts';
import type { DeviceProcess } from '../../exec/device-process.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { openDeviceNamed, WORKERS_OPTION } from '../arguments/device-name.ts';
import { reportError } from '../text/report.ts';

const MAX_TIMEOUT_SECONDS = 1_000_000;
/** How long a program may take to end after it was asked to. */
const GRACE_MS = 2000;

export const exec = defineCommand({
  operands: { usage: 'PROGRAM [ARGS...]', min: 0, max: Number.POSITIVE_INFINITY, firstEndsOptions: true },
  options: {
    device: {
      kind: 'text',
      placeholder: 'NAME',
      default: 'emulated:gfx90a',
      description: 'the GPU that the program finds, for example emulated:gfx1030',
    },
    workers: WORKERS_OPTION,
    timeout: {
      kind: 'seconds',
      placeholder: 'SECONDS',
      max: MAX_TIMEOUT_SECONDS,
      description: 'end the program after this time, with status 124 and a report of where every wave stands',
    },
    stats: { kind: 'flag', description: 'print what the kernels of the program executed' },
    'print-env': {
      kind: 'flag',
      description: 'print the variables that programs need, and serve them until interrupted; without PROGRAM',
    },
  },
  notes: [
    'Runs a native program that uses HIP or HSA, as it is, with an emulated GPU: the program loads our libhsa-runtime64.so.1 in place of',
    "ROCm's. The exit status is the program's; 128 and the number of the signal that ended it.",
    'Options stand before PROGRAM.',
    'Variables: WAVEWRIGHT_EXEC_SOCKET names the device process; WAVEWRIGHT_TRACE=1 in the environment says what is refused, and why.',
    'Example: wavewright exec --stats ./vadd',
  ],
  async run(context, options, operands) {
    if (operands.length === 0 && !options['print-env']) throw new WavewrightError('USAGE', 'no program was named');
    if (operands.length > 0 && options['print-env']) {
      throw new WavewrightError('USAGE', '--print-env is for use without a program');
    }
    const [{ DeviceProcess }, { LinuxCalls }, application, open] = await Promise.all([
      import('../../exec/device-process.ts'),
      import('../../exec/libc.ts'),
      import('../../exec/application.ts'),
      openDeviceNamed(options.device, { workers: options.workers }),
    ]);
    await using devices = new DeviceProcess({
      linux: await LinuxCalls.load(),
      openDevice: open,
      report: (error) => context.stderr(reportError(error, false).text),
    });
    await devices.start();
    const variables = application.applicationVariables(devices.name, context.env);
    if (options['print-env']) return await serve(context, variables);
    const [program, ...args] = operands;
    const running = new application.Application(program!, args, { ...context.env, ...variables });
    const status = await endOf(running, devices, options.timeout, context);
    if (options.stats) context.stderr(statisticsText(devices));
    return status;
  },
});

/** Until somebody interrupts it. */
async function serve(context: CommandContext, variables: Readonly<Record<string, string>>): Promise<number> {
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'\n`);
  context.stdout(lines.join(''));
  await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  return 0;
}

interface RunningProgram {
  end(): Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** The program's exit status. Throws TIMEOUT. */
async function endOf(
  program: RunningProgram,
  devices: DeviceProcess,
  timeoutSeconds: number | undefined,
  context: CommandContext,
): Promise<number> {
  if (timeoutSeconds === undefined) return await program.end();
  let isLate = false;
  let last: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    isLate = true;
    context.stderr(
      devices
        .describeWaves()
        .map((line) => `  ${line}\n`)
        .join(''),
    );
    program.kill('SIGTERM');
    last = setTimeout(() => program.kill('SIGKILL'), GRACE_MS);
  }, timeoutSeconds * 1000);
  const status = await program.end();
  clearTimeout(timer);
  clearTimeout(last);
  if (isLate) throw new WavewrightError('TIMEOUT', `the program did not end within ${timeoutSeconds} s`);
  return status;
}

function statisticsText({ statistics }: DeviceProcess): string {
  const { applications, instructions, waves, workgroups, tiers } = statistics;
  const parts = [`${instructions} instructions`, `${waves} waves`, `${workgroups} workgroups`, tierShares(tiers)];
  return `statistics:\n  programs with a GPU   ${applications}\n  kernels               ${parts.join(', ')}\n`;
}
