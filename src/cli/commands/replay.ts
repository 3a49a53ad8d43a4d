import { WavewrightError } from '../../base/errors.ts';
import { formatDeviceUri, type LogicalDevice, parseDeviceUri } from '../../hal/index.ts';
import type { Substitute } from '../../replay/execute/executables.ts';
import type { RecordedDevice, ReplayPlan } from '../../replay/execute/plan.ts';
import type { ReplayOptions, ReplayOutcome } from '../../replay/execute/run.ts';
import type { ReplayFile } from '../../replay/format/file.ts';
import { BENCHMARK_OPTIONS } from '../arguments/benchmark-options.ts';
import { type Command, type CommandContext, defineCommand } from '../arguments/command.ts';
import { MEMORY_OPTION, WORKERS_OPTION } from '../arguments/device-name.ts';
import type { OptionTable, OptionValues } from '../arguments/options.ts';
import { commandWith, type RunCommand } from '../arguments/recorded-command.ts';
import { didYouMean } from '../arguments/suggest.ts';
import { readInput } from '../process/input.ts';
import { countedBy, deviceProfilingOptions, withProfile } from '../program/device-profiling.ts';
import { openHal } from '../program/hal-device.ts';
import { benchmarkJson, benchmarkText, measureRepetitions } from '../text/hal-benchmark.ts';

/** As `--gpus` of `hal`. */
const MAX_GPUS = 8;
const VERBS = ['record', 'run', 'verify', 'benchmark', 'dump'] as const;
type Verb = (typeof VERBS)[number];

const OPTIONS = {
  device: {
    kind: 'list',
    placeholder: 'URI',
    description:
      'run, verify, benchmark: the device to replay on, once for each that was recorded; default: that of FILE',
  },
  workers: WORKERS_OPTION,
  memory: MEMORY_OPTION,
  ...deviceProfilingOptions('run, benchmark: '),
  'replay-file-remap': {
    kind: 'list',
    placeholder: 'CAPTURED=REPLAYED',
    aliases: ['replay_file_remap'],
    description: 'files that the recording names by this prefix have another one here',
  },
  'replay-executable-substitution': {
    kind: 'list',
    placeholder: 'ID[@FORMAT]=FILE',
    aliases: ['replay_executable_substitution'],
    description: 'other code for an executable, or for all of them: all=FILE',
  },
  'replay-order': {
    kind: 'choice',
    choices: ['recorded', 'parallel'],
    default: 'recorded',
    aliases: ['replay_order'],
    description: 'run, benchmark: operations end as they did, or run side by side as far as semaphores let them',
  },
  'replay-scope': {
    kind: 'text',
    placeholder: 'NAME',
    aliases: ['replay_scope'],
    description: 'benchmark: all of it runs, and only the time in this scope counts',
  },
  ...BENCHMARK_OPTIONS,
  timeout: {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: 1_000_000,
    default: 60,
    description: 'run, verify, benchmark: how long one operation may take',
  },
  format: {
    kind: 'choice',
    choices: ['text', 'json', 'jsonl'],
    default: 'text',
    description: 'how to print: jsonl is one of dump, json of verify and benchmark',
  },
} as const satisfies OptionTable;

type Options = OptionValues<typeof OPTIONS>;

const FORMATS: Readonly<Record<Verb, readonly Options['format'][]>> = {
  record: ['text'],
  run: ['text'],
  verify: ['text', 'json'],
  benchmark: ['text', 'json'],
  dump: ['text', 'jsonl'],
};

/** Recordings of devices. */
export const replayOf = (runCommand: RunCommand): Command<typeof OPTIONS> =>
  defineCommand({
    operands: {
      usage: `${VERBS.slice(1).join('|')} FILE | record FILE -- COMMAND...`,
      min: 2,
      max: Number.POSITIVE_INFINITY,
    },
    options: OPTIONS,
    formats: {
      text: 'for people; benchmark as google-benchmark prints it, dump a line for each record',
      json: 'one object; benchmark in the format of google-benchmark',
      jsonl: 'JSON Lines with the rows of iree-dump-replay',
    },
    notes: [
      'FILE is a recording of a HAL device (.ireereplay 1.0), of ours or of IREE. record runs a command of wavewright that has --device_replay_output and',
      'writes FILE; run replays it, verify does so in both orders and holds bytes and statuses against those of the recording (status 1: some differ),',
      'benchmark measures replays, dump prints what is in it.',
      'Example: wavewright replay record vadd.ireereplay -- hal run vadd.co ... && wavewright replay verify vadd.ireereplay --device=amdgpu?target=gfx90a',
    ],
    async run(context, options, [verb, file, ...rest]) {
      const known = VERBS.find((each) => each === verb);
      if (known === undefined) throw usage(`unknown verb '${verb}'`, didYouMean(verb!, VERBS));
      if (!FORMATS[known].includes(options.format)) throw usage(`replay ${known} has no --format=${options.format}`);
      if (known === 'record') return record(runCommand, context, file!, rest);
      if (rest.length > 0) throw usage(`unexpected argument '${rest[0]}'`);
      const found = await read(file!);
      if (known === 'dump') return dump(found, options.format, context.stdout);
      return withDevices(context, options, found, known);
    },
  });

const usage = (what: string, hint = '`wavewright help replay` says what there is'): WavewrightError =>
  new WavewrightError('USAGE', what, { hint });

/** Commands whose devices can be recorded, and the words before their options. */
const RECORDED: Readonly<Record<string, number>> = { hal: 2, dispatch: 1, exec: 1 };

const record = (runCommand: RunCommand, context: CommandContext, file: string, argv: readonly string[]) => {
  const [command] = argv;
  if (command === 'run' || command === 'test') {
    throw new WavewrightError('UNSUPPORTED', `recordings of '${command}' cannot be made`, {
      hint: 'its programs talk to the host while their kernels run (RPC), and who would answer in a replay is not there; `profile record` takes it',
    });
  }
  return runCommand(commandWith([`--device_replay_output=${file}`], argv, RECORDED), context);
};

async function read(file: string): Promise<ReplayFile> {
  const { readReplayFile } = await import('../../replay/format/file.ts');
  return readReplayFile(readInput(file, 'a recording'), file);
}

async function dump(file: ReplayFile, format: Options['format'], stdout: (text: string) => void): Promise<number> {
  const { jsonLinesOf, textLinesOf } = await import('../../replay/dump/dump.ts');
  for (const line of format === 'jsonl' ? jsonLinesOf(file) : textLinesOf(file)) stdout(line);
  return 0;
}

/** The URI of a recording, with as many queues as there were. */
function uriOf({ uri, queues, formats }: RecordedDevice, given: string | undefined): string {
  const text = given ?? uri ?? 'amdgpu';
  const parsed = parseDeviceUri(text);
  if (queues === undefined || formats === undefined || parsed.parameters.has('queues')) return text;
  const each = String(queues / formats.length);
  return formatDeviceUri({ ...parsed, parameters: new Map([...parsed.parameters, ['queues', each]]) });
}

async function withDevices(
  context: CommandContext,
  options: Options,
  file: ReplayFile,
  verb: Exclude<Verb, 'dump' | 'record'>,
): Promise<number> {
  const [{ planReplay }, { executeReplay }, { openHalFile }] = await Promise.all([
    import('../../replay/execute/plan.ts'),
    import('../../replay/execute/executor.ts'),
    import('../../hal/tooling/node-file.ts'),
  ]);
  const plan = planReplay(file);
  const given = options.device;
  if (given !== undefined && given.length !== plan.devices.length) {
    throw usage(`--device was given ${given.length} times, ${file.name} is of ${plan.devices.length} devices`);
  }
  const replayOptions: ReplayOptions = {
    order: options['replay-order'],
    timeoutMs: options.timeout * 1000,
    remaps: (options['replay-file-remap'] ?? []).map((text) => pairOf('replay-file-remap', text)),
    substitute: substituteOf(options['replay-executable-substitution'] ?? []),
    openFile: (path) => openHalFile(path),
  };
  const gpus = Math.max(1, ...plan.devices.map(({ formats = [] }) => formats.length));
  if (gpus > MAX_GPUS)
    throw new WavewrightError('UNSUPPORTED', `a recording of ${gpus} GPUs, at most ${MAX_GPUS} are emulated`);
  await using registry = await openHal({ ...options, gpus }, undefined, countedBy(options));
  const open = () => Promise.all(plan.devices.map((each, i) => registry.open(uriOf(each, given?.[i]))));
  const replay = async (how: ReplayOptions = {}, devices?: readonly LogicalDevice[]) =>
    executeReplay(plan, devices ?? (await open()), { ...replayOptions, ...how });
  if (verb === 'verify') return verify(context, options, replay);
  const devices = await open();
  const [first] = devices;
  if (first === undefined) throw new WavewrightError('BAD_INPUT', 'a recording of no device', { file: file.name });
  const run = async (): Promise<number> => {
    if (verb === 'benchmark') return benchmark(context, options, [plan, (how) => replay(how, devices)]);
    const { operationCount } = await replay({}, devices);
    if (context.isQuiet !== true) context.stderr(`${file.name}: ${operationCount} operations replayed\n`);
    return 0;
  };
  return await withProfile(first, options, [context.stdout, run]);
}

type Replay = (options?: ReplayOptions) => Promise<ReplayOutcome>;

/** In both orders, each on fresh devices. */
async function verify({ stdout }: CommandContext, { format }: Options, replay: Replay): Promise<number> {
  const outcomes: { readonly order: string; readonly outcome: ReplayOutcome }[] = [];
  for (const order of ['recorded', 'parallel'] as const) {
    outcomes.push({ order, outcome: await replay({ order, verifies: true }) });
  }
  if (format === 'json') {
    const runs = outcomes.map(({ order, outcome: { operationCount, comparedCount, differences } }) => ({
      ...{ order, operationCount, comparedCount, differences },
    }));
    stdout(`${JSON.stringify({ schema: 'wavewright.replay.verify', version: 1, runs }, undefined, 2)}\n`);
  } else {
    for (const { order, outcome } of outcomes) {
      const { operationCount, comparedCount, differences } = outcome;
      const counts = `${operationCount} operations, ${comparedCount} comparisons`;
      stdout(`${order}: ${counts}, ${differences.length === 0 ? 'no' : differences.length} differences\n`);
      for (const { ordinal, message } of differences) stdout(`  #${ordinal} ${message}\n`);
    }
  }
  return outcomes.some(({ outcome }) => outcome.differences.length > 0) ? 1 : 0;
}

async function benchmark(
  { stdout }: CommandContext,
  options: Options,
  [plan, replay]: readonly [ReplayPlan, Replay],
): Promise<number> {
  const scope = options['replay-scope'];
  if (scope !== undefined && !plan.scopes.includes(scope)) {
    throw usage(`no scope '${scope}' in ${plan.file.name}`, `scopes: ${plan.scopes.join(', ') || 'none'}`);
  }
  if (plan.steps.some(({ name }) => name === 'device.close')) {
    throw new WavewrightError('UNSUPPORTED', 'a recording that closes its device can be replayed only once');
  }
  let operations = 1;
  const run = async (): Promise<number | undefined> => {
    let [inScopeMs, depth, begin] = [0, 0, 0];
    const outcome = await replay({
      onScope: ({ kind, name }) => {
        if (name !== scope) return;
        if (kind === 'begin' && depth++ === 0) begin = performance.now();
        if (kind === 'end' && --depth === 0) inScopeMs += performance.now() - begin;
      },
    });
    operations = outcome.operationCount;
    outcome.release();
    return scope === undefined ? undefined : inScopeMs;
  };
  const name = scope === undefined ? 'process_time/real_time' : `scope:${scope}/process_time/manual_time`;
  const { repetitions, 'min-time': minTime } = options;
  const settings = { repetitions, minTimeMs: minTime * 1000, itemsPerIteration: () => operations };
  const rows = await measureRepetitions(`BM_replay/${name}`, run, settings);
  stdout(options.format === 'json' ? benchmarkJson(rows, 'wavewright replay benchmark') : benchmarkText(rows));
  return 0;
}

function pairOf(option: string, text: string): readonly [string, string] {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key !== undefined && value !== undefined) return [key, value];
  const expected = OPTIONS[option as 'replay-file-remap'].placeholder; // reason: the options of this form
  throw usage(`--${option}=${text}, expected ${expected}`);
}

/** Throws USAGE for a number that is none, or two files for one. */
function substituteOf(words: readonly string[]): Substitute | undefined {
  if (words.length === 0) return undefined;
  const files = new Map<string, string>();
  for (const word of words) {
    const [selector, file] = pairOf('replay-executable-substitution', word);
    const [id = ''] = selector.split('@');
    if (id !== 'all' && !/^[1-9]\d*$/.test(id)) throw usage(`'${id}' is no number of an executable, nor all`);
    if (files.has(id)) throw usage(`two files for executable ${id}`);
    files.set(id, file);
  }
  if (files.has('all') && files.size > 1) throw usage('all=FILE goes with no other substitution');
  return ({ executableId }) => {
    const file = files.get('all') ?? files.get(String(executableId));
    return file === undefined ? undefined : readInput(file);
  };
}
