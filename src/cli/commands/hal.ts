import { WavewrightError } from '../../base/errors.ts';
import {
  type DriverRegistry,
  type ExecutableExport,
  formatStall,
  HalError,
  type HalExecutable,
  type LogicalDevice,
  parseDeviceUri,
} from '../../hal/index.ts';
import { ExportCall } from '../../hal/tooling/export-call.ts';
import { InputFiles, Outputs, parseInputs, viewResultText } from '../../hal/tooling/inputs.ts';
import {
  DEFAULT_MAX_ELEMENTS,
  differenceText,
  type Tensor,
  type Thresholds,
  tensorText,
} from '../../hal/tooling/tensor.ts';
import { BENCHMARK_OPTIONS } from '../arguments/benchmark-options.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { dynamicLdsOption } from '../arguments/dynamic-lds-option.ts';
import { extentOf } from '../arguments/extent.ts';
import type { OptionTable, OptionValues } from '../arguments/options.ts';
import { didYouMean } from '../arguments/suggest.ts';
import { readInput } from '../process/input.ts';
import { writeOutput } from '../process/output-file.ts';
import { countedBy, deviceProfilingOptions, withProfile } from '../program/device-profiling.ts';
import { deviceReplayOptions, type RunScope, withRecording } from '../program/device-replay.ts';
import { HAL_DEVICE_OPTIONS, openHal, processorOf } from '../program/hal-device.ts';
import { type BenchmarkRow, benchmarkJson, benchmarkText, measureRepetitions } from '../text/hal-benchmark.ts';

const { existsSync } = process.getBuiltinModule('node:fs');

const VERBS = ['list', 'info', 'run', 'benchmark'] as const;
const MAX_BATCH = 1_000_000;
const THRESHOLD = /^\d+(?:\.\d*)?(?:e[+-]?\d+)?$/i;

const OPTIONS = {
  ...HAL_DEVICE_OPTIONS,
  ...deviceProfilingOptions('run, benchmark: '),
  ...deviceReplayOptions('run, benchmark: '),
  drivers: { kind: 'flag', description: 'list: the drivers, not their devices' },
  function: {
    kind: 'text',
    placeholder: 'NAME',
    aliases: ['entry_point', 'entry-point'],
    description: 'run, benchmark: the kernel; needed where FILE has several',
  },
  input: {
    kind: 'list',
    placeholder: 'VALUE',
    description: 'run, benchmark: the next argument of the kernel, see below',
  },
  'workgroup-count': {
    kind: 'text',
    placeholder: 'X[,Y[,Z]]',
    aliases: ['workgroup_count'],
    default: '1',
    description: 'run, benchmark: workgroups in each dimension',
  },
  'workgroup-size': {
    kind: 'text',
    placeholder: 'X[,Y[,Z]]',
    aliases: ['workgroup_size'],
    description: 'run, benchmark: work-items of a workgroup, where the code does not fix them',
  },
  'dynamic-lds': dynamicLdsOption('run, benchmark: '),
  output: { kind: 'list', placeholder: 'TARGET', description: 'run: what to do with the next result, see below' },
  'expected-output': {
    kind: 'list',
    placeholder: 'VALUE',
    aliases: ['expected_output'],
    description: 'run: what the next result must be; the status is 1 when one differs',
  },
  'expected-f16-threshold': thresholdOption('f16', '0.001'),
  'expected-f32-threshold': thresholdOption('f32', '0.0001'),
  'expected-f64-threshold': thresholdOption('f64', '0.0001'),
  'output-max-element-count': {
    kind: 'integer',
    placeholder: 'N',
    min: 0,
    max: 2 ** 31 - 1,
    aliases: ['output_max_element_count'],
    default: DEFAULT_MAX_ELEMENTS,
    description: 'run: print so many elements of a result at most',
  },
  'batch-size': {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max: MAX_BATCH,
    aliases: ['batch_size'],
    default: 1,
    description: 'benchmark: dispatches between two waits',
  },
  ...BENCHMARK_OPTIONS,
  format: {
    kind: 'choice',
    choices: ['text', 'json'],
    default: 'text',
    description: 'list, info, benchmark: how to print',
  },
} as const satisfies OptionTable;

function thresholdOption(type: string, value: string) {
  return {
    kind: 'text',
    placeholder: 'NUMBER',
    aliases: [`expected_${type}_threshold`],
    default: value,
    description: `run: ${type} values that lie so far apart are equal`,
  } as const;
}

type Options = OptionValues<typeof OPTIONS>;

/** The verbs that heed an option, where not all do; of others it is refused. */
const VERBS_OF = {
  drivers: ['list'],
  function: ['run', 'benchmark'],
  input: ['run', 'benchmark'],
  'workgroup-count': ['run', 'benchmark'],
  'workgroup-size': ['run', 'benchmark'],
  'dynamic-lds': ['run', 'benchmark'],
  output: ['run'],
  'expected-output': ['run'],
  'expected-f16-threshold': ['run'],
  'expected-f32-threshold': ['run'],
  'expected-f64-threshold': ['run'],
  'output-max-element-count': ['run'],
  'batch-size': ['benchmark'],
  repetitions: ['benchmark'],
  'min-time': ['benchmark'],
  'device-profiling-mode': ['run', 'benchmark'],
  'device-profiling-output': ['run', 'benchmark'],
  'device-profiling-filter-export': ['run', 'benchmark'],
  'device-profiling-counter': ['run', 'benchmark'],
  'print-device-statistics': ['run', 'benchmark'],
  'device-replay-output': ['run', 'benchmark'],
  'device-replay-file-policy': ['run', 'benchmark'],
  'device-replay-file-validation': ['run', 'benchmark'],
} as const satisfies Partial<Record<keyof typeof OPTIONS, readonly (typeof VERBS)[number][]>>;

/** `hal list`, `hal info`, `hal run` and `hal benchmark`. */
export const hal = defineCommand({
  operands: { usage: 'list | info | run FILE... | benchmark FILE...', min: 1, max: Number.POSITIVE_INFINITY },
  options: OPTIONS,
  formats: {
    text: 'for people; benchmark as google-benchmark prints it',
    json: 'one object; benchmark in the format of google-benchmark',
  },
  notes: [
    'list prints the URIs of devices, info describes one. run dispatches a kernel of code objects, which are linked with each other, and prints its',
    'results as iree-run-module does; benchmark measures that.',
    'An input is an argument of the kernel, in the order of its parameters:',
    '  2x3xf32=[1 2 3][4 5 6]  a buffer; one element stands for all, none for zeros',
    '  4xi32=@FILE             a buffer with bytes of FILE; =+FILE goes on where the last input from it ended',
    '  @FILE.npy               an array of numpy; +FILE.npy the next one of the file, *FILE.npy all that follow',
    '  &16xf32                 a buffer that is a result (with contents after =); (null) is zero',
    "  123, 3.14, f32=1.5      a value of the parameter's type, or of its own",
    'Element types are i1, i8 to i64, si8 to si64, ui8 to ui64, f16, bf16, f32, f64, cf64, cf128 and x8 to x64 (hexadecimal digits).',
    'Results are the buffers that inputs name with &; without any, those that the kernel may write. --expected-output takes the same notation, and',
    '(ignored). --output is - (print), @FILE.npy or @FILE (write), +FILE.npy or +FILE (add), or nothing.',
    "Example: wavewright hal run vadd.co --function=vadd --workgroup-size=64 --input='&64xf32' --input=64xf32=1 --input=64xf32=2 --input=64",
  ],
  async run(context, options, [verb, ...files]) {
    expectOptionsOf(verb!, options);
    switch (verb) {
      case 'list':
        expectNoFiles(files);
        return list(context, options);
      case 'info':
        expectNoFiles(files);
        return info(context, options);
      case 'run':
        return withExport(context, [options, files], (call) => runOnce(context, options, call));
      case 'benchmark':
        return withExport(context, [options, files], (call) => benchmark(context, options, call));
      default:
        throw usage(`unknown verb '${verb}'`, didYouMean(verb!, VERBS));
    }
  },
});

const usage = (what: string, hint = '`wavewright help hal` says what there is'): WavewrightError =>
  new WavewrightError('USAGE', what, { hint });

const json = (content: object): string => `${JSON.stringify(content, undefined, 2)}\n`;

/** Throws USAGE for an option that says something else than its default and that the verb does not heed. */
function expectOptionsOf(verb: string, options: Options): void {
  if (!VERBS.some((each) => each === verb)) return;
  for (const [name, verbs] of Object.entries(VERBS_OF)) {
    const key = name as keyof typeof VERBS_OF;
    const row: OptionTable[string] = OPTIONS[key];
    const usual = 'default' in row ? row.default : undefined;
    const isGiven = options[key] !== usual && options[key] !== false;
    if (isGiven && !verbs.some((each) => each === verb)) {
      throw usage(`--${name} is an option of ${verbs.map((each) => `hal ${each}`).join(' and ')}, not of hal ${verb}`);
    }
  }
}

function expectNoFiles([first]: readonly string[]): void {
  if (first !== undefined) throw usage(`unexpected argument '${first}'`);
}

async function list({ stdout }: CommandContext, options: Options): Promise<number> {
  await using registry = await openHal(options);
  const drivers = registry.drivers.map(({ name, fullName }) => ({ name, fullName }));
  const devices = await registry.devices();
  if (options.format === 'json') {
    stdout(json({ schema: 'wavewright.hal.list', version: 1, drivers, devices }));
  } else if (options.drivers) stdout(drivers.map(({ name, fullName }) => `${name}: ${fullName}\n`).join(''));
  else stdout(devices.map(({ uri, name }) => `${uri}  # ${name}\n`).join(''));
  return 0;
}

/** With `stall=` in its URI what stands still is printed. */
function openDevice(registry: DriverRegistry, { stderr }: CommandContext, { device }: Options): Promise<LogicalDevice> {
  const isWatched = parseDeviceUri(device).parameters.has('stall');
  return registry.open(device, isWatched ? { onStall: (report) => stderr(`${formatStall(report)}\n`) } : {});
}

async function info(context: CommandContext, options: Options): Promise<number> {
  const { stdout } = context;
  await using registry = await openHal(options);
  const description = (await openDevice(registry, context, options)).describe();
  if (options.format === 'json') {
    stdout(json({ schema: 'wavewright.hal.info', version: 1, ...description }));
    return 0;
  }
  const lines = [description.name];
  for (const { queues, ...device } of description.devices) {
    lines.push('', `device ${device.uuid}: ${device.name}`);
    lines.push(`  executable formats   ${device.formats.join(', ')}`);
    lines.push(`  compute units        ${device.computeUnitCount}`);
    lines.push(`  work-items at most   ${device.maxWorkgroupSize} in a workgroup`);
    lines.push(`  memory               ${device.memorySizeBytes} bytes`);
    lines.push(`  queues               ${queues.join(', ')}`);
  }
  if (description.links.length > 0) lines.push('');
  for (const { from, to, linkClass, isPeerAddressable } of description.links) {
    const reach = isPeerAddressable ? 'kernels reach its memory' : 'kernels do not reach its memory';
    lines.push(`link ${from} -> ${to}: ${linkClass}, ${reach}`);
  }
  for (const [i, heap] of description.heaps.entries()) {
    lines.push('', `heap ${i}: ${heap.memoryType.join(', ')}`);
    lines.push(`  usage                ${heap.usage.join(', ')}`);
    lines.push(`  largest allocation   ${heap.maxAllocationBytes} bytes, aligned to ${heap.minAlignmentBytes}`);
  }
  stdout(`${lines.join('\n')}\n`);
  return 0;
}

/** A kernel with its arguments, ready to be dispatched. */
interface Call {
  readonly entry: ExecutableExport;
  readonly call: ExportCall;
  readonly queue: Parameters<ExportCall['submit']>[0];
  readonly inputs: InputFiles;
}

async function withExport(
  context: CommandContext,
  [options, files]: readonly [Options, readonly string[]],
  use: (call: Call) => Promise<number>,
): Promise<number> {
  if (files.length === 0) throw usage('run and benchmark need a FILE with kernels');
  const processor = processorOf(files[0]!);
  await using registry: DriverRegistry = await openHal(options, processor, countedBy(options));
  const opened = { device: await openDevice(registry, context, options), uri: options.device, processor };
  const run = () => withRecording(opened, options, (device, scope) => callExport(device, [options, files], scope, use));
  return await withProfile(opened.device, options, [context.stdout, run]);
}

async function callExport(
  device: LogicalDevice,
  [options, files]: readonly [Options, readonly string[]],
  scope: RunScope,
  use: (call: Call) => Promise<number>,
): Promise<number> {
  const { executable, ...call } = await scope('init', () => prepareCall(device, options, files));
  try {
    return await scope('execute', () => use(call));
  } finally {
    await scope('deinit', () => {
      call.call[Symbol.dispose]();
      executable[Symbol.dispose]();
    });
  }
}

function prepareCall(
  device: LogicalDevice,
  options: Options,
  files: readonly string[],
): Call & { executable: HalExecutable } {
  const executable = device.load(
    files.map((file) => readInput(file)),
    { name: files[0]! },
  );
  const entry = chooseExport(executable, options.function);
  const inputs = new InputFiles(readInput);
  const values = (options.input ?? []).flatMap((text) => within(`--input=${text}`, () => parseInputs(text, inputs)));
  const shape = {
    groups: extentOf('workgroup-count', options['workgroup-count'], 0),
    workgroupSize:
      options['workgroup-size'] === undefined ? undefined : extentOf('workgroup-size', options['workgroup-size']),
    dynamicGroupSizeBytes: options['dynamic-lds'],
  };
  const call = new ExportCall(device, entry, values, shape);
  return { executable, entry, call, queue: device.queue(), inputs };
}

function chooseExport(executable: HalExecutable, name: string | undefined): ExecutableExport {
  if (name !== undefined) return executable.lookup(name);
  if (executable.exportCount === 1) return executable.exportAt(0);
  const names = Object.keys(executable.exports).join(', ');
  throw usage(
    `there are ${executable.exportCount} kernels`,
    names === '' ? undefined : `choose one with --function: ${names}`,
  );
}

/** Runs what may throw a HalError about a word of the command line, which the error then names. */
function within<T>(word: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof HalError)) throw error;
    const { hint } = error.context;
    throw new WavewrightError('USAGE', `${word}: ${error.what}`, hint === undefined ? {} : { hint });
  }
}

async function runOnce(
  { stdout }: CommandContext,
  options: Options,
  { entry, call, queue, inputs }: Call,
): Promise<number> {
  // What is wrong with these words is said before anything runs.
  const expected = (options['expected-output'] ?? []).flatMap((text) =>
    within(`--expected-output=${text}`, () => parseInputs(text, inputs)),
  );
  const thresholds: Thresholds = {
    f16: thresholdOf(options['expected-f16-threshold']),
    f32: thresholdOf(options['expected-f32-threshold']),
    f64: thresholdOf(options['expected-f64-threshold']),
  };
  stdout(`EXEC @${entry.name}\n`);
  await call.submit(queue);
  const results = call.results();
  const max = options['output-max-element-count'];
  if (expected.length === 0) {
    writeResults(results, options.output, max, stdout);
    return 0;
  }
  const failures =
    expected.length === results.length
      ? []
      : [`expected ${expected.length} list elements but ${results.length} provided`];
  for (const [i, wanted] of failures.length > 0 ? [] : expected.entries()) {
    if (wanted.kind === 'ignored') continue;
    if (wanted.kind !== 'tensor') throw usage(`--expected-output: result ${i} is a buffer, expected one or (ignored)`);
    const difference = differenceText(wanted.tensor, results[i]!, thresholds);
    if (difference === undefined) continue;
    const both = `\n  expected:\n${tensorText(wanted.tensor, max)}\n  actual:\n${tensorText(results[i]!, max)}`;
    failures.push(`result[${i}]: ${difference}${both}`);
  }
  for (const failure of failures) stdout(`[FAILED] ${failure}\n`);
  if (failures.length === 0) stdout('[SUCCESS] all function outputs matched their expected values.\n');
  return failures.length === 0 ? 0 : 1;
}

function thresholdOf(text: string): number {
  if (THRESHOLD.test(text)) return Number(text);
  throw usage(`'${text}' is no threshold, expected a number from 0 on`);
}

function writeResults(
  results: readonly Tensor[],
  targets: readonly string[] | undefined,
  max: number,
  stdout: CommandContext['stdout'],
): void {
  if (targets === undefined) {
    for (const [i, result] of results.entries()) stdout(viewResultText(i, result, max));
    return;
  }
  if (targets.length !== results.length) {
    throw usage(`--output was given ${targets.length} times, results: ${results.length}`);
  }
  const outputs = new Outputs((file) => (existsSync(file) ? readInput(file) : undefined));
  for (const [i, target] of targets.entries()) {
    stdout(within(`--output=${target}`, () => outputs.take(i, target, results[i]!, max)));
  }
  for (const [file, bytes] of outputs.files) writeOutput(file, bytes);
}

async function benchmark({ stdout }: CommandContext, options: Options, { entry, call, queue }: Call): Promise<number> {
  const batchSize = options['batch-size'];
  const batch = async () => {
    const submissions = Array.from({ length: batchSize }, () => call.submit(queue));
    for (const submission of submissions) await submission;
  };
  const settings = {
    repetitions: options.repetitions,
    minTimeMs: options['min-time'] * 1000,
    itemsPerIteration: batchSize,
  };
  const rows: BenchmarkRow[] = await measureRepetitions(`BM_${entry.name}/process_time/real_time`, batch, settings);
  stdout(options.format === 'json' ? benchmarkJson(rows) : benchmarkText(rows));
  return 0;
}
