import { WavewrightError } from '../../base/errors.ts';
import type { Profile } from '../../profile/profile.ts';
import type { ReportFilter } from '../../profile/reports/groups.ts';
import type { Columns, ReportRow } from '../../profile/reports/rows.ts';
import { type Command, type CommandContext, defineCommand } from '../arguments/command.ts';
import type { OptionTable, OptionValues } from '../arguments/options.ts';
import { commandWith, type RunCommand } from '../arguments/recorded-command.ts';
import { didYouMean } from '../arguments/suggest.ts';
import { readInput } from '../process/input.ts';
import { checkOutput, writeOutput } from '../process/output-file.ts';
import { PROFILE_CONTENTS_OPTIONS } from '../program/device-profiling.ts';

const { rmSync } = process.getBuiltinModule('node:fs');

interface Report {
  readonly rows: readonly ReportRow[];
  readonly columns?: Columns;
  /** In place of the tables. */
  readonly text?: string;
}

interface ReportOptions {
  readonly filter: ReportFilter;
  readonly withEvents: boolean;
  readonly withSamples: boolean;
}

type MakeReport = (profile: Profile, options: ReportOptions) => Promise<Report>;

/** By verb, as iree-profile has them. */
const REPORTS: Readonly<Record<string, MakeReport>> = {
  summary: async (profile) => ({
    rows: (await import('../../profile/reports/summary.ts')).summaryRows(profile),
  }),
  statistics: async (profile) => {
    const { statisticsRows, statisticsText } = await import('../../profile/reports/statistics.ts');
    return { rows: statisticsRows(profile), text: statisticsText(profile) };
  },
  dispatch: async (profile, { filter, withEvents }) => {
    const { DISPATCH_COLUMNS, dispatchRows } = await import('../../profile/reports/dispatch.ts');
    return { rows: dispatchRows(profile, filter, withEvents), columns: DISPATCH_COLUMNS };
  },
  explain: async (profile, { filter }) => {
    const { EXPLAIN_COLUMNS, explainRows } = await import('../../profile/reports/explain.ts');
    return { rows: explainRows(profile, filter), columns: EXPLAIN_COLUMNS };
  },
  executable: async (profile, { filter }) => {
    const { EXECUTABLE_COLUMNS, executableRows } = await import('../../profile/reports/executable.ts');
    return { rows: executableRows(profile, filter), columns: EXECUTABLE_COLUMNS };
  },
  command: async (profile, { filter }) => {
    const { COMMAND_COLUMNS, commandRows } = await import('../../profile/reports/command.ts');
    return { rows: commandRows(profile, filter), columns: COMMAND_COLUMNS };
  },
  queue: async (profile, { filter }) => {
    const { QUEUE_COLUMNS, queueRows } = await import('../../profile/reports/queue.ts');
    return { rows: queueRows(profile, filter), columns: QUEUE_COLUMNS };
  },
  memory: async (profile, { filter }) => {
    const { MEMORY_COLUMNS, memoryRows } = await import('../../profile/reports/memory.ts');
    return { rows: memoryRows(profile, filter), columns: MEMORY_COLUMNS };
  },
  counter: async (profile, { filter, withSamples }) => {
    const { COUNTER_COLUMNS, counterRows } = await import('../../profile/reports/counter.ts');
    return { rows: counterRows(profile, filter, withSamples), columns: COUNTER_COLUMNS };
  },
  att: async (profile, { filter }) => {
    const { ATT_COLUMNS, attRows } = await import('../../profile/reports/att.ts');
    return { rows: attRows(profile, filter), columns: ATT_COLUMNS };
  },
  cat: async (profile) => ({ rows: (await import('../../profile/reports/cat.ts')).catRows(profile) }),
};
const VERBS = [...Object.keys(REPORTS), 'diff', 'export', 'html', 'record'];

/** Commands that write profiles, and the words before their options. */
const RECORDED: Readonly<Record<string, number>> = { hal: 2, run: 1, dispatch: 1, exec: 1, replay: 2 };

type Export = (profile: Profile, output: string, stdout: (text: string) => void) => Promise<void>;

/** Formats of `export`, by what they write. */
const EXPORTS = {
  'ireeperf-jsonl': async (profile, output, stdout) => {
    const [{ interchangeRows, withFunctionNames }, { jsonOf }] = await Promise.all([
      import('../../profile/reports/interchange.ts'),
      import('../../profile/reports/rows.ts'),
    ]);
    const lines = withFunctionNames(interchangeRows(profile)).map((row) => `${jsonOf(row)}\n`);
    if (output === '-') for (const line of lines) stdout(line);
    else writeOutput(output, new TextEncoder().encode([...lines].join('')));
  },
  perfetto: async (profile, output) => {
    const { perfettoTrace } = await import('../../profile/export/perfetto.ts');
    writeOutput(fileNamed(output), perfettoTrace(profile).bytes);
  },
  collapsed: async (profile, output, stdout) => {
    const { collapsedStacks } = await import('../../profile/export/stacks.ts');
    const text = [...collapsedStacks(profile)].join('');
    if (output === '-') stdout(text);
    else writeOutput(output, new TextEncoder().encode(text));
  },
  pprof: async (profile, output) => {
    const { pprofProfile } = await import('../../profile/export/stacks.ts');
    writeOutput(fileNamed(output), pprofProfile(profile));
  },
  sqlite: async (profile, output) => {
    const file = fileNamed(output);
    checkOutput(file);
    const { writeDatabase } = await import('../../profile/export/node-sqlite.ts');
    rmSync(file, { force: true });
    writeDatabase(profile, file);
  },
} as const satisfies Readonly<Record<string, Export>>;
const EXPORT_FORMATS = [
  'ireeperf-jsonl',
  'perfetto',
  'sqlite',
  'collapsed',
  'pprof',
] as const satisfies readonly (keyof typeof EXPORTS)[];

function fileNamed(output: string, what = 'this format'): string {
  if (output !== '-') return output;
  throw usage(`${what} needs a file: --output=FILE`);
}

/** Writes the page of `profile html`. */
async function writePage(profile: Profile, output: string, withSource: boolean): Promise<void> {
  const file = fileNamed(output, 'html');
  const [{ reportPage }, { packageVersion }, { readSource }] = await Promise.all([
    import('../../report/page.ts'),
    import('../process/package-version.ts'),
    import('../text/source-excerpt.ts'),
  ]);
  const page = await reportPage(profile, {
    madeBy: `wavewright ${packageVersion()}`,
    readSource: withSource ? readSource : undefined,
  });
  writeOutput(file, new TextEncoder().encode(page));
}

const OPTIONS = {
  format: {
    kind: 'choice',
    choices: ['text', 'jsonl', ...EXPORT_FORMATS],
    default: 'text',
    description: `how to print; export: ${EXPORT_FORMATS.join(', ')}`,
  },
  filter: { kind: 'text', placeholder: 'GLOB', default: '*', description: 'names of rows; * is any characters' },
  id: { kind: 'integer', placeholder: 'N', min: 0, max: Number.MAX_SAFE_INTEGER, description: 'rows with this id' },
  'dispatch-events': {
    kind: 'flag',
    aliases: ['dispatch_events'],
    description: 'dispatch: each dispatch, in place of kernels',
  },
  'counter-samples': {
    kind: 'flag',
    aliases: ['counter_samples'],
    description: 'counter: each sample, too',
  },
  source: {
    kind: 'flag',
    description: 'html: with the text of source lines, from the files that debug information names',
  },
  output: {
    kind: 'text',
    aliases: ['o'],
    placeholder: 'FILE',
    default: '-',
    description: 'export, html, record: where to',
  },
  ...PROFILE_CONTENTS_OPTIONS,
} as const satisfies OptionTable;

type Options = OptionValues<typeof OPTIONS>;

/** Profiles: makes them, and says what is in them. */
export const profileOf = (runCommand: RunCommand): Command<typeof OPTIONS> =>
  defineCommand({
    operands: {
      usage: `${VERBS.slice(0, -1).join('|')} FILE [FILE] | record -- COMMAND...`,
      min: 2,
      max: Number.POSITIVE_INFINITY,
    },
    singleDash: true,
    options: OPTIONS,
    formats: {
      text: 'for people',
      jsonl: 'JSON Lines with the rows of iree-profile',
      'ireeperf-jsonl': 'JSON Lines with a row for each record of the file, schema version 15',
      perfetto: 'a trace that ui.perfetto.dev opens',
      sqlite: 'a database with a table for each type of record',
      collapsed: 'a line for each executed instruction, with its stack, for flame graphs',
      pprof: 'executed instructions for pprof, not compressed',
    },
    notes: [
      'record runs a command of wavewright, with a profile in --output: all that its device tells, or what --device-profiling-mode names.',
      'html writes one page that needs no network: timeline, kernels, code, memory, statistics.',
      'FILE is a profile of a HAL device (.ireeprof 1.6), of ours or of IREE. --id is that of an event (dispatch, memory), an executable, a command buffer',
      'or a submission (queue).',
      'Example: wavewright profile record -o vadd.ireeprof -- hal run vadd.co ... && wavewright profile dispatch vadd.ireeprof',
    ],
    async run(context, options, [verb, ...operands]) {
      const { stdout } = context;
      const { format, filter: glob, id, output } = options;
      if (!VERBS.includes(verb!)) throw usage(`unknown verb '${verb}'`, didYouMean(verb!, VERBS));
      if (verb === 'record') return record(runCommand, context, options, operands);
      const [content] = contentsOf(options);
      if (content !== undefined) throw usage(`${content.split('=')[0]} is an option of profile record`);
      const [file, other, further] = operands;
      if (further !== undefined) throw usage(`unexpected argument '${further}'`);
      const exportFormat = EXPORT_FORMATS.find((each) => each === format);
      if ((verb === 'export') !== (exportFormat !== undefined)) {
        const named = `--format=${EXPORT_FORMATS.join(', ')}`;
        throw usage(verb === 'export' ? `export needs one of ${named}` : `--format=${format} is one of export`);
      }
      if ((verb === 'diff') !== (other !== undefined)) {
        throw usage(verb === 'diff' ? 'diff needs two profiles' : `${verb} takes one profile`);
      }
      const [{ Profile }, { jsonLines, textOf }] = await Promise.all([
        import('../../profile/profile.ts'),
        import('../../profile/reports/rows.ts'),
      ]);
      const read = Profile.read(readInput(file!, 'a profile'), file!);
      if (verb === 'html') {
        await writePage(read, output, options.source);
        return 0;
      }
      if (exportFormat !== undefined) {
        await EXPORTS[exportFormat](read, output, stdout);
        return 0;
      }
      const filter = { glob, id: id === undefined ? undefined : BigInt(id) };
      if (other !== undefined) {
        const { DIFF_COLUMNS, diffRows } = await import('../../profile/reports/diff.ts');
        const compared = diffRows(read, Profile.read(readInput(other, 'a profile'), other), filter);
        stdout(format === 'jsonl' ? jsonLines(compared) : textOf(compared, DIFF_COLUMNS));
        return 0;
      }
      const makeReport = REPORTS[verb!]!;
      const {
        rows,
        columns = {},
        text,
      } = await makeReport(read, {
        filter,
        withEvents: options['dispatch-events'],
        withSamples: options['counter-samples'],
      });
      stdout(format === 'jsonl' ? jsonLines(rows) : (text ?? textOf(rows, columns)));
      return 0;
    },
  });

/** Runs a command that writes a profile; its exit status. */
function record(runCommand: RunCommand, context: CommandContext, options: Options, argv: readonly string[]) {
  if (options.format !== 'text') throw usage(`--format=${options.format} is not one of record`);
  const output = `--device-profiling-output=${fileNamed(options.output, 'record')}`;
  return runCommand(commandWith([output, ...contentsOf(options)], argv, RECORDED), context);
}

/** The options that say what is to be in a profile, as a command line has them. */
const contentsOf = (options: Options): string[] =>
  Object.keys(PROFILE_CONTENTS_OPTIONS).flatMap((name) =>
    [options[name as keyof typeof PROFILE_CONTENTS_OPTIONS] ?? []].flat().map((value) => `--${name}=${value}`),
  );

const usage = (what: string, hint = '`wavewright help profile` says what there is'): WavewrightError =>
  new WavewrightError('USAGE', what, { hint });
