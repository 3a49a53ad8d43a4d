import { WavewrightError } from '../../base/errors.ts';
import { instructionCounts, tierShares } from '../../device/statistics.ts';
import type { DeviceProcess } from '../../exec/device-process.ts';
import type { KernelSums } from '../../exec/kernel-sums.ts';
import { watchedBy } from '../../exec/observer.ts';
import type { Traces } from '../../exec/trace.ts';
import { CHECK_OPTION, Findings } from '../arguments/check-option.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { openDeviceNamed, WORKERS_OPTION } from '../arguments/device-name.ts';
import type { OptionTable, OptionValues } from '../arguments/options.ts';
import { checkOutput, writeOutput } from '../process/output-file.ts';
import { APPLICATION_PROFILING_OPTIONS } from '../program/device-profiling.ts';
import { deviceReplayOptions } from '../program/device-replay.ts';
import type { ExecTools } from '../program/exec-tools.ts';
import { LaunchRecording } from '../program/launch-recording.ts';
import { ApplicationProfile, countsForProfile } from '../program/packet-profiling.ts';
import { chooseTools, HOOK_OPTION, TOOL_OPTION, writeReports } from '../program/tool-options.ts';
import { reportError, warn } from '../text/report.ts';
import { kernelRows, statisticsRow } from '../text/statistics-text.ts';

const MAX_TIMEOUT_SECONDS = 1_000_000;
const MAX_GPUS = 16;
/** How long a program may take to end after it was asked to. */
const GRACE_MS = 2000;

/** HIP's own kernels, which copy and fill, are none of the program's. */
const PROGRAM_KERNELS = '^(?!__amd_rocclr_)';

const OPTIONS = {
  device: {
    kind: 'text',
    placeholder: 'NAME',
    default: 'emulated:gfx90a',
    description: 'the GPU that the program finds, for example emulated:gfx1030',
  },
  devices: {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max: MAX_GPUS,
    default: 1,
    description:
      'GPUs that the program finds, all of this kind and with one memory; ROCR_VISIBLE_DEVICES chooses among them',
  },
  'hide-images': {
    kind: 'flag',
    description: 'let the GPU say that it has no images, of which it has none; HIP 5.2 has no hipMallocPitch then',
  },
  workers: WORKERS_OPTION,
  timeout: {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: MAX_TIMEOUT_SECONDS,
    description: 'end the program after this time, with status 124 and a report of where every wave stands',
  },
  tool: TOOL_OPTION,
  hook: HOOK_OPTION,
  check: CHECK_OPTION,
  'device-replay-output': deviceReplayOptions()['device-replay-output'],
  ...APPLICATION_PROFILING_OPTIONS,
  stats: { kind: 'flag', description: 'print what each kernel of the program executed, and what was copied' },
  trace: {
    kind: 'text',
    placeholder: 'FILE',
    description: "write a trace of kernels, copies, signals and calls for Perfetto or Chrome's trace viewer (JSON)",
  },
  kernels: {
    kind: 'text',
    placeholder: 'REGEX',
    default: PROGRAM_KERNELS,
    description:
      "of which kernels, by the names in the code, --tool, --hook and --stats are; without it all but HIP's own",
  },
  'print-env': {
    kind: 'flag',
    description: 'print the variables that programs need, and serve them until interrupted; without PROGRAM',
  },
} as const satisfies OptionTable;

type Options = OptionValues<typeof OPTIONS>;

/** What is in vain where no program has a GPU; `--stats` says so itself. */
const LOOKS = ['tool', 'hook', 'check', 'trace', 'device-replay-output', 'device-profiling-output'] as const;

export const exec = defineCommand({
  operands: { usage: 'PROGRAM [ARGS...]', min: 0, max: Number.POSITIVE_INFINITY, firstEndsOptions: true },
  options: OPTIONS,
  notes: [
    'Runs a native program that uses HIP or HSA, as it is, with an emulated GPU: the program loads our libhsa-runtime64.so.1 in place of',
    "ROCm's. The exit status is the program's; 128 and the number of the signal that ended it.",
    'Options stand before PROGRAM. Tools, checks and statistics print to standard error.',
    'Variables: WAVEWRIGHT_EXEC_SOCKET names the device process; WAVEWRIGHT_TRACE=1 in the environment says what is refused, and why.',
    'Example: wavewright exec --stats ./vadd',
  ],
  async run(context, options, operands) {
    if (operands.length === 0 && !options['print-env']) throw new WavewrightError('USAGE', 'no program was named');
    if (options['print-env'] && (operands.length > 0 || options.timeout !== undefined)) {
      throw new WavewrightError('USAGE', '--print-env is for use without a program, and without --timeout');
    }
    const findings = new Findings(options.check, context.stderr);
    const watching = await openWatching(options);
    let status: number;
    try {
      status = await runWith(context, options, operands, { findings, ...watching });
    } finally {
      // Of programs that are too slow, too.
      await writeReports(watching.tools, context.stderr, context);
    }
    findings.expectNone();
    return status;
  },
});

/** What looks at the kernels of programs. */
interface Watching {
  readonly tools: ExecTools | undefined;
  readonly sums: KernelSums | undefined;
  readonly traces: Traces | undefined;
  /** Of kernels that are looked at. */
  readonly kernels: RegExp;
}

async function openWatching({ tool = [], hook = [], stats, trace, kernels }: Options): Promise<Watching> {
  const pattern = patternOf(kernels);
  let tools: ExecTools | undefined;
  if (tool.length > 0 || hook.length > 0) {
    const { ExecTools } = await import('../program/exec-tools.ts');
    tools = new ExecTools(await chooseTools(tool, hook), pattern);
  }
  const sums = stats ? new (await import('../../exec/kernel-sums.ts')).KernelSums() : undefined;
  if (trace !== undefined) checkOutput(trace);
  const traces = trace === undefined ? undefined : new (await import('../../exec/trace.ts')).Traces();
  return { tools, sums, traces, kernels: pattern };
}

function patternOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch {
    throw new WavewrightError('USAGE', `--kernels is no regular expression: '${text}'`);
  }
}

/** The program's exit status; all devices are closed then. */
async function runWith(
  context: CommandContext,
  options: Options,
  operands: readonly string[],
  { findings, tools, sums, traces, kernels }: Watching & { readonly findings: Findings },
): Promise<number> {
  const [{ DeviceProcess }, { processName }, { LinuxCalls }, application, open] = await Promise.all([
    import('../../exec/device-process.ts'),
    import('../../exec/host-code.ts'),
    import('../../exec/libc.ts'),
    import('../../exec/application.ts'),
    openDeviceNamed(options.device, {
      workers: options.workers,
      countsClasses: options.stats,
      ...countsForProfile(options),
      findings,
    }),
  ]);
  using profile = await openProfile(options, tools !== undefined);
  using recording = await LaunchRecording.open(options['device-replay-output'], tools !== undefined);
  await using devices = new DeviceProcess({
    linux: await LinuxCalls.load(),
    openDevice: open,
    gpuCount: options.devices,
    report: (error) => context.stderr(reportError(error, context.env['WAVEWRIGHT_DEBUG'] === '1').text),
    observe: (processId) => {
      const recorded = recording.take();
      const profiled = profile.take();
      return {
        onDevice: (device) => profiled?.onDevice(device),
        tools: tools?.open() ?? watchedBy([recorded, profiled].filter((each) => each !== undefined)),
        // Times of packets are looked up for who is told of them.
        ...((recorded ?? sums) && {
          onPacket: (packet) => {
            if (recorded !== undefined && packet.dispatch !== undefined) recording.recorder?.onCompleted();
            if (kernels.test(packet.kernel ?? '')) sums?.add(packet);
          },
        }),
        trace: traces?.open(processId, processName(processId)),
        ...(profiled && { onCall: profiled.onCall, onLostCalls: profiled.onLostCalls }),
      };
    },
  });
  await devices.start();
  const variables = application.applicationVariables(devices.name, context.env, options['hide-images']);
  const [program, ...args] = operands;
  const environment = { ...context.env, ...variables };
  const running = program === undefined ? undefined : await application.Application.start(program, args, environment);
  try {
    return await (running ? endOf(running, devices, options.timeout, context) : serve(context, variables));
  } finally {
    devices.endAll();
    if (sums) context.stderr(statisticsText(devices, sums));
    if (traces) writeOutput(options.trace!, traces.file());
    if (devices.statistics.applications === 0 && LOOKS.some((option) => options[option] !== undefined)) {
      warn(context, 'no program had a GPU: none loaded the libhsa-runtime64.so.1 that exec has put in its way');
    }
  }
}

/** Throws UNSUPPORTED for what has no profile. */
function openProfile(options: Options, hasTools: boolean): Promise<ApplicationProfile> {
  if (options['device-profiling-output'] !== undefined) {
    if (hasTools) throw new WavewrightError('UNSUPPORTED', 'profiles of exec with --tool and --hook');
    if (options.devices > 1) throw new WavewrightError('UNSUPPORTED', 'profiles of exec with several GPUs');
  }
  return ApplicationProfile.open(options);
}

/** Until somebody interrupts it. */
async function serve(context: CommandContext, variables: Readonly<Record<string, string>>): Promise<number> {
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'\n`);
  context.stdout(lines.join(''));
  await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  return 0;
}

interface RunningProgram {
  readonly end: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

/** The program's exit status. Throws TIMEOUT. */
async function endOf(
  program: RunningProgram,
  devices: DeviceProcess,
  timeoutSeconds: number | undefined,
  context: CommandContext,
): Promise<number> {
  if (timeoutSeconds === undefined) return await program.end;
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
  const status = await program.end;
  clearTimeout(timer);
  clearTimeout(last);
  if (isLate) throw new WavewrightError('TIMEOUT', `the program did not end within ${timeoutSeconds} s`);
  return status;
}

function statisticsText({ statistics }: DeviceProcess, sums: KernelSums): string {
  const { applications, instructions, waves, workgroups, tiers, classes, copies } = statistics;
  const launches = sums.rows.reduce((sum, each) => sum + each.launches, 0);
  const lines = [
    'statistics:',
    statisticsRow('programs with a GPU', String(applications)),
    statisticsRow(
      'all kernels',
      ...[`${instructions} instructions`, `${waves} waves`, `${workgroups} workgroups`],
      ...(instructions > 0 ? [tierShares(tiers)] : []),
    ),
    ...(classes ? [statisticsRow('', instructionCounts(classes))] : []),
    statisticsRow('copies', String(copies.count), `${copies.bytes} bytes`),
    statisticsRow('kernels', String(sums.rows.length), `${launches} ${launches === 1 ? 'launch' : 'launches'}`),
    ...sums.rows.flatMap(kernelRows),
  ];
  return `${lines.join('\n')}\n`;
}
