import { ERROR_CODES } from '../../base/errors.ts';
import type { Command, CommandRow } from './command.ts';
import { type OptionRow, type OptionTable, placeholderOf } from './options.ts';

const EXIT_STATUSES: readonly (readonly [number, string])[] = [
  [0, "done; for `run` the program's own status"],
  [1, 'findings'],
  [ERROR_CODES.USAGE.exit, 'wrong usage'],
  [ERROR_CODES.BAD_INPUT.exit, 'bad input: a file that cannot be read or does not hold what it should'],
  [ERROR_CODES.UNSUPPORTED.exit, 'unsupported target, instruction or feature'],
  [ERROR_CODES.NO_DEVICE.exit, 'no such device'],
  [ERROR_CODES.GPU_FAULT.exit, 'the GPU program faulted, or --check found something'],
  [ERROR_CODES.UNREACHABLE.exit, 'the server of a queue could not be reached'],
  [ERROR_CODES.INTERNAL.exit, 'internal error: a defect of Wavewright'],
  [ERROR_CODES.TIMEOUT.exit, 'the time limit ran out'],
  [130, 'interrupted'],
];

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['WAVEWRIGHT_CODE_CACHE', 'folder where compiled code is kept for the next process, or `off`; ~/.cache/wavewright'],
  ['NODE_COMPILE_CACHE', 'folder where what Node compiles of Wavewright is kept; below that for temporary files'],
  ['WAVEWRIGHT_DEBUG=1', 'errors with their stack'],
];

const INDENT = 2;
const COLUMN = 28;
const WIDTH = 100;

/** `wavewright --help`. */
export function overview(commands: readonly CommandRow[]): string {
  return sections(
    ['usage: wavewright COMMAND [OPTIONS] ...', '', 'Runs and inspects GPU programs, with or without a GPU.'],
    ['commands:', ...commands.map(({ name, summary }) => entry(name, summary))],
    [
      'options:',
      entry('--help, -h', 'this text; after a command, its options'),
      entry('--version, -V', 'the version of wavewright'),
      entry('--quiet', 'after a command: results and errors only, no warnings'),
    ],
    ['exit status:', ...EXIT_STATUSES.map(([status, what]) => entry(String(status).padStart(3), what))],
    ['environment:', ...ENVIRONMENT.map(([name, what]) => entry(name, what))],
    ['`wavewright help COMMAND` describes a command.'],
  );
}

/** `wavewright help COMMAND`. */
export function commandHelp(row: CommandRow, command: Command): string {
  const { operands, options, formats, notes = [] } = command;
  return sections(
    [`usage: wavewright ${row.name} [OPTIONS] ${operands.usage}`, '', capitalised(row.summary)],
    [
      'options:',
      ...Object.entries(options).map(optionEntry),
      entry('--quiet', 'no warnings'),
      entry(helpSpellings(options), 'this text'),
    ],
    formats ? ['formats:', ...Object.entries(formats).map(([name, what]) => entry(name, what))] : [],
    [...notes],
  );
}

/** `-h` is another option's in commands that stand in for tools where it is. */
const helpSpellings = (options: OptionTable): string =>
  Object.values(options).some(({ aliases }) => aliases?.includes('h')) ? '--help' : '--help, -h';

function optionEntry([name, row]: [string, OptionRow]): string {
  const placeholder = placeholderOf(row);
  const spellings = [name, ...(row.aliases ?? [])]
    .map((spelling) => `${spelling.length === 1 ? '-' : '--'}${spelling}`)
    .join(', ');
  const fallback =
    row.kind === 'flag' || row.kind === 'list' || row.default === undefined ? '' : ` (default: ${row.default})`;
  const value = row.kind === 'text' && row.implied !== undefined ? `[=${placeholder}]` : `=${placeholder}`;
  return entry(placeholder ? spellings + value : spellings, row.description + fallback);
}

/** A term and its wrapped description in two columns. */
function entry(term: string, description: string): string {
  const lines: string[] = [];
  let line = `${' '.repeat(INDENT)}${term}`;
  if (line.length > COLUMN - 2) {
    lines.push(line);
    line = '';
  }
  line = line.padEnd(COLUMN);
  let empty = true;
  for (const word of description.split(' ')) {
    if (!empty && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = ' '.repeat(COLUMN);
      empty = true;
    }
    line += empty ? word : ` ${word}`;
    empty = false;
  }
  return [...lines, line].join('\n');
}

function sections(...blocks: readonly (readonly string[])[]): string {
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
