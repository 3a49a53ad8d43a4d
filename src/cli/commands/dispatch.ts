import { setImmediate } from 'node:timers/promises';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { nodeDecompress } from '../../codeobject/node-decompress.ts';
import { parseTargetId } from '../../codeobject/target-id.ts';
import type { InstructionCounts } from '../../device/statistics.ts';
import { instructionCounts, tierShares } from '../../device/statistics.ts';
import {
  type DispatchOutcome,
  type DispatchRequest,
  dispatchKernelInTurns,
  type RunningKernel,
} from '../../dispatch/dispatch.ts';
import type { ExecutedInstruction } from '../../dispatch/executed-instructions.ts';
import { observedBy } from '../../hsa/runtime/launch-observer.ts';
import { ARGUMENT_KINDS, parseArgument } from '../../launch/argument-text.ts';
import { imagesOf, openLinkFile, pickLinkImages } from '../../linker/link-files.ts';
import type { Print } from '../../services/hostcall/server.ts';
import { CHECK_OPTION, Findings } from '../arguments/check-option.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { MEMORY_OPTION, openDevice, WORKERS_OPTION } from '../arguments/device-name.ts';
import { dynamicLdsOption } from '../arguments/dynamic-lds-option.ts';
import { extentOf } from '../arguments/extent.ts';
import type { OptionTable, OptionValues } from '../arguments/options.ts';
import { STACK_SIZE_OPTION } from '../arguments/stack-size-option.ts';
import { chosenWaveSize, WAVE_SIZE_OPTION } from '../arguments/wave-size-option.ts';
import { readInput } from '../process/input.ts';
import { Interruption } from '../process/interruption.ts';
import { writeOutput } from '../process/output-file.ts';
import { PACKET_PROFILING_OPTIONS } from '../program/device-profiling.ts';
import { deviceReplayOptions } from '../program/device-replay.ts';
import { LaunchRecording } from '../program/launch-recording.ts';
import { countsForProfile, openPacketProfile } from '../program/packet-profiling.ts';
import { dispatchPtx, type PtxFiles, ptxFiles } from '../program/ptx-dispatch.ts';
import { HOOK_OPTION, openTools, TOOL_OPTION, writeReports } from '../program/tool-options.ts';
import { medianOf } from '../text/median.ts';
import { warn } from '../text/report.ts';

const MAX_REPEAT = 1_000_000;
const MAX_HEAP_BYTES = 2 ** 32;
const MAX_TIMEOUT_SECONDS = 1_000_000;
const NS_PER_US = 1000;

const OPTIONS = {
  kernel: { kind: 'text', placeholder: 'NAME', description: 'which kernel; needed where the files have several' },
  grid: { kind: 'text', placeholder: 'X[,Y[,Z]]', description: 'work-items in each dimension' },
  workgroup: { kind: 'text', placeholder: 'X[,Y[,Z]]', description: 'work-items of a workgroup in each dimension' },
  arg: { kind: 'list', placeholder: 'KIND:VALUE', description: 'the next argument of the kernel, see below' },
  'dynamic-lds': dynamicLdsOption(),
  'stack-size': STACK_SIZE_OPTION,
  'wave-size': WAVE_SIZE_OPTION,
  'no-constructors': {
    kind: 'flag',
    description: 'run no constructors before the first kernel, and no destructors after the last',
  },
  'device-replay-output': deviceReplayOptions()['device-replay-output'],
  'heap-size': {
    kind: 'integer',
    placeholder: 'BYTES',
    min: 0,
    max: MAX_HEAP_BYTES,
    description: 'device memory that malloc of kernels gives out; then it returns null',
  },
  cooperative: { kind: 'flag', description: 'all workgroups run at the same time and may wait for each other' },
  repeat: {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max: MAX_REPEAT,
    default: 1,
    description: 'run so often, each time from the same memory',
  },
  tool: TOOL_OPTION,
  hook: HOOK_OPTION,
  time: { kind: 'flag', description: 'print how long each run took, and what instructions it executed' },
  'pc-counts': {
    kind: 'flag',
    description: 'print how often each instruction was executed in a run, by waves and by their active lanes',
  },
  timeout: {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: MAX_TIMEOUT_SECONDS,
    description: 'stop loading, or a run, after this time, with status 124 and a report of where every wave stands',
  },
  device: {
    kind: 'text',
    placeholder: 'NAME',
    description: "where to run, for example emulated:gfx90a; by default the emulator of the first file's target",
  },
  workers: WORKERS_OPTION,
  memory: MEMORY_OPTION,
  check: CHECK_OPTION,
  ...PACKET_PROFILING_OPTIONS,
  format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print' },
} as const satisfies OptionTable;

type Options = OptionValues<typeof OPTIONS>;

export const dispatch = defineCommand({
  operands: { usage: 'FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  options: OPTIONS,
  formats: {
    text: 'nothing, with --time the times, with --pc-counts the instructions',
    json: 'one object with times, instructions by class, tiers and memory; `schema` and `version` say how to read it',
  },
  notes: [
    'FILE is a code object, a relocatable object, an offload bundle, a program with some inside, or an archive of these, of which the members',
    'count that define what is missing; or code for NVIDIA GPUs: PTX, for a device ptx:sm_70, or for cuda:0, which takes cubins, too.',
    'All FILEs are linked with each other.',
    'Arguments, in their order:',
    ...ARGUMENT_KINDS.map((kind) => `  ${kind}`),
    'Hidden arguments are filled in. An output FILE of - is standard output; times and JSON then go to standard error.',
    "What kernels print goes to standard output; to standard error where an output or JSON has that, and for assert and HIP's stderr.",
    'Example: wavewright dispatch vadd.co --grid 256 --workgroup 64 --arg out:sum:1024 --arg in:a --arg in:b --arg i32:256',
  ],
  async run(context, options, names) {
    const launch = {
      ...{ grid: extentOf('grid', options.grid), workgroup: extentOf('workgroup', options.workgroup) },
      ...{ args: (options.arg ?? []).map((text) => parseArgument(text, readInput)), repeat: options.repeat, cpuTimeNs },
      ...(options.kernel !== undefined && { kernel: options.kernel }),
      ...(options['stack-size'] !== undefined && { stackSizeBytes: options['stack-size'] }),
      ...(options.timeout !== undefined && { timeoutMs: options.timeout * 1000 }),
    };
    const files = names.map((name) => ({ name, bytes: readInput(name) }));
    const ptx = await ptxFiles(files, options.device, options.memory);
    if (ptx && options['device-replay-output'] !== undefined) {
      throw new WavewrightError('UNSUPPORTED', '--device_replay_output records code for AMD GPUs alone');
    }
    if (ptx) await runPtx(context, options, launch, ptx);
    else await runCodeObjects(context, options, launch, files);
    return 0;
  },
});

/** What both kinds of code have of a launch. */
type Launch = Pick<
  DispatchRequest,
  'grid' | 'workgroup' | 'args' | 'repeat' | 'kernel' | 'stackSizeBytes' | 'timeoutMs'
> & {
  readonly cpuTimeNs: () => number;
};

interface InputFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Lets the process's signals in, and ends the kernel after one. */
function pauseFor({ isProcess, stderr }: CommandContext, resources: DisposableStack) {
  const { signal } = isProcess ? resources.use(new Interruption()) : {};
  return async ({ name, describeWaves }: RunningKernel) => {
    await setImmediate();
    if (!signal?.aborted) return;
    stderr(Interruption.report(name, describeWaves()));
    throw signal.reason;
  };
}

const countsClasses = ({ time, format }: Options): boolean => time || format === 'json';

async function runPtx(context: CommandContext, options: Options, launch: Launch, files: PtxFiles): Promise<void> {
  using resources = new DisposableStack();
  const how = {
    ...{ workers: options.workers, memorySizeBytes: options.memory },
    countsClasses: countsClasses(options),
    refused: {
      tool: options.tool !== undefined,
      hook: options.hook !== undefined,
      check: options.check !== undefined,
      'pc-counts': options['pc-counts'],
      'device-profiling-output': options['device-profiling-output'] !== undefined,
      cooperative: options.cooperative,
      'wave-size': options['wave-size'] !== undefined,
    },
  };
  const onPrint = printerOf(context, isStdoutTaken(options, launch.args));
  const request = {
    ...{ ...launch, dynamicSharedSizeBytes: options['dynamic-lds'], onPrint },
    heapBytes: options['heap-size'],
  };
  const { outcome, deviceName } = await dispatchPtx(files, how, request, pauseFor(context, resources));
  writeOutputs(context, outcome.outputs);
  printOutcome(context, options, { ...outcome, hardwareProblems: [] }, { ...launch, deviceName });
}

async function runCodeObjects(
  context: CommandContext,
  options: Options,
  launch: Launch,
  files: readonly InputFile[],
): Promise<void> {
  const { stdout, stderr } = context;
  const { args, timeoutMs } = launch;
  const loadLimit = new TimeLimit(timeoutMs);
  const memorySizeBytes = options.memory;
  const openOptions = { decompress: nodeDecompress, maxExpandedBytes: memorySizeBytes };
  const linkFiles = files.map(({ bytes, name }) => openLinkFile(bytes, name, openOptions));
  const { workers } = options;
  const images = imagesOf(linkFiles[0]!);
  const findings = new Findings(options.check, stderr);
  const counts = {
    countsClasses: countsClasses(options),
    countsPcs: options['pc-counts'],
    ...countsForProfile(options),
  };
  const device = await openDevice(options.device, images, { workers, memorySizeBytes, findings, ...counts });
  using resources = new DisposableStack();
  resources.defer(() => device.close());
  const target = parseTargetId(device.properties.targetId);
  const wanted = [
    ...(options.kernel === undefined ? [] : [options.kernel]),
    ...args.flatMap((argument) => (argument.kind === 'function' ? [argument.name] : [])),
  ];
  const waveSize = chosenWaveSize(options['wave-size']);
  const isTaken = isStdoutTaken(options, args);
  const tools = await openTools(options.tool, options.hook);
  const profile = await openPacketProfile(device, options, resources);
  const recording = await LaunchRecording.open(options['device-replay-output'], tools !== undefined);
  resources.use(recording);
  const observed = [tools, profile, recording.recorder].filter((each) => each !== undefined);
  const picked = pickLinkImages(linkFiles, target, wanted);
  const request: DispatchRequest = {
    ...launch,
    device,
    images: tools ? picked.map((image) => tools.instrument(image)) : picked,
    observer: observed.length > 1 ? observedBy(observed) : observed[0],
    dynamicLdsSizeBytes: options['dynamic-lds'],
    ...(waveSize && { waveSize }),
    ...(options['no-constructors'] && { constructors: 'none' }),
    ...(options['heap-size'] !== undefined && { heapBytes: options['heap-size'] }),
    cooperative: options.cooperative,
    onPrint: printerOf(context, isTaken),
    loadLimit,
  };
  const outcome = await dispatchKernelInTurns(request, pauseFor(context, resources));
  writeOutputs(context, outcome.outputs);
  printOutcome(context, options, outcome, { ...launch, deviceName: device.name });
  await writeReports(tools, isTaken ? stderr : stdout, context);
  findings.expectNone();
}

/** Whether something else than what kernels print goes to stdout. */
const isStdoutTaken = ({ format }: Options, args: Launch['args']): boolean =>
  format === 'json' || args.some((each) => each.kind === 'buffer' && each.output === '-');

const printerOf =
  ({ stdout, stderr }: CommandContext, isTaken: boolean): Print =>
  (stream, text) =>
    (stream === 'stdout' && !isTaken ? stdout : stderr)(text);

function writeOutputs({ stdout }: CommandContext, outputs: DispatchOutcome['outputs']): void {
  for (const { file, bytes } of outputs) {
    if (file === '-') stdout(bytes);
    else writeOutput(file, bytes);
  }
}

/** What came of a kernel, whatever its code was. */
type Outcome = Omit<DispatchOutcome, 'kernel'> & { readonly kernel: { readonly name: string } };

interface Launched extends Pick<Launch, 'grid' | 'workgroup'> {
  readonly deviceName: string;
}

function printOutcome(context: CommandContext, options: Options, outcome: Outcome, launched: Launched): void {
  const { stdout, stderr } = context;
  // A profile lets the device count what nobody asked to see.
  const { executed, ...others } = outcome;
  const shown: Outcome = options['pc-counts'] ? outcome : others;
  const name = outcome.kernel.name.replace(/\.kd$/, '');
  for (const problem of outcome.hardwareProblems) warn(context, `on hardware, kernel '${name}' ${problem}`);
  const print = outcome.outputs.some(({ file }) => file === '-') ? stderr : stdout;
  if (options.format === 'json') print(`${JSON.stringify(report(shown, launched), undefined, 2)}\n`);
  else {
    if (options.time) print(timesText(outcome));
    if (shown.executed) print(executedText(shown.executed, outcome.runs.length));
  }
}

function cpuTimeNs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * NS_PER_US;
}

function report(
  { kernel, runs, statistics, executed, memoryBytes, hardwareProblems }: Outcome,
  { deviceName: device, grid, workgroup }: Launched,
) {
  const { classes } = statistics;
  return {
    schema: 'wavewright.dispatch',
    version: 1,
    device,
    kernel: kernel.name.replace(/\.kd$/, ''),
    grid,
    workgroup,
    runs,
    medianNs: medianOf(runs.map(({ durationNs }) => durationNs)),
    /** Of one run. */
    instructions: statistics.instructions / runs.length,
    /** Of one run; null where the device does not count them. */
    instructionsByClass: classes === undefined ? null : perRun(classes, runs.length),
    /** Of one run. */
    ...(executed && {
      executed: executed.map(({ waves, lanes, ...place }) => ({
        ...{ ...place, waves: waves / runs.length, lanes: lanes / runs.length },
      })),
    }),
    /** Of all runs: the first ones run more in handlers. */
    tiers: statistics.tiers,
    waves: statistics.waves / runs.length,
    workgroups: statistics.workgroups / runs.length,
    deviceMemoryBytes: memoryBytes,
    peakResidentBytes: process.resourceUsage().maxRSS * 1024,
    hardwareProblems,
  };
}

const perRun = (counts: InstructionCounts, runs: number): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / runs]));

/**
 * A line for each instruction, with a headline for each function: waves, lanes, address, text, source line.
 */
function executedText(executed: readonly ExecutedInstruction[], runs: number): string {
  const width = Math.max(5, ...executed.map(({ lanes }) => String(lanes / runs).length));
  const column = (count: number | string): string => String(count).padStart(width);
  const lines = [`${column('waves')} ${column('lanes')}`];
  let place: string | undefined;
  for (const { file, function: own, address, text, source, waves, lanes } of executed) {
    const headline = `${own?.name ?? '(no symbol)'} of ${file}:`;
    if (headline !== place) lines.push('', headline);
    place = headline;
    const comment = source ? `  // ${source.file}:${source.line}` : '';
    lines.push(`${column(waves / runs)} ${column(lanes / runs)}  ${hex(address)}  ${text}${comment}`);
  }
  return `${lines.join('\n')}\n`;
}

const microseconds = (ns: number): string => `${(ns / NS_PER_US).toFixed(1)} us`;

function timesText({ runs, statistics }: Outcome): string {
  const lines = runs.map(
    ({ durationNs, cpuNs }, i) =>
      `run ${i + 1}: ${microseconds(durationNs)}, ${microseconds(cpuNs ?? 0)} of processor time`,
  );
  const middle = medianOf(runs.map(({ durationNs }) => durationNs));
  const waves = `${statistics.waves / runs.length} waves`;
  if (statistics.instructions === 0) {
    lines.push(`median: ${microseconds(middle)}, ${waves}; the device counts no instructions`);
    return `${lines.join('\n')}\n`;
  }
  lines.push(
    `median: ${microseconds(middle)}, ${statistics.instructions / runs.length} instructions of ${waves}`,
    ...(statistics.classes ? [`classes: ${instructionCounts(perRun(statistics.classes, runs.length))}`] : []),
    `tiers: ${tierShares(statistics.tiers)}`,
  );
  return `${lines.join('\n')}\n`;
}
