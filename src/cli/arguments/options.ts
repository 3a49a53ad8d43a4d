import { WavewrightError } from '../../base/errors.ts';
import { didYouMean } from './suggest.ts';

interface Described {
  readonly description: string;
  /** Other names of the same option, without dashes. */
  readonly aliases?: readonly string[];
}

/** One option. `placeholder` names its value in the help text. */
export type OptionRow = Described &
  (
    | { readonly kind: 'flag' }
    | {
        readonly kind: 'text';
        readonly placeholder: string;
        readonly default?: string;
        /** The value of the name alone; another value then needs `--name=VALUE`. */
        readonly implied?: string;
      }
    | {
        /** May be repeated; the values in order. */
        readonly kind: 'list';
        readonly placeholder: string;
      }
    | {
        readonly kind: 'integer';
        readonly placeholder: string;
        readonly min: number;
        readonly max: number;
        readonly default?: number;
      }
    | {
        /** A positive decimal fraction of seconds. */
        readonly kind: 'seconds';
        readonly placeholder: string;
        readonly max: number;
        readonly default?: number;
      }
    | { readonly kind: 'choice'; readonly choices: readonly string[]; readonly default?: string }
  );

/** Options by name, without dashes. */
export type OptionTable = Readonly<Record<string, OptionRow>>;

type Value<R extends OptionRow> = R extends { kind: 'flag' }
  ? boolean
  : R extends { kind: 'integer' | 'seconds' }
    ? number
    : R extends { kind: 'choice'; choices: readonly (infer C)[] }
      ? C
      : R extends { kind: 'list' }
        ? readonly string[]
        : string;

/** What parsing yields: flags are booleans, an option without a default may be undefined. */
export type OptionValues<T extends OptionTable> = {
  readonly [K in keyof T]: Value<T[K]> | (T[K] extends { kind: 'flag' } | { default: unknown } ? never : undefined);
};

/** What a command takes besides options. */
export interface Operands {
  /** As shown in the usage line, for example `FILE...`. */
  readonly usage: string;
  readonly min: number;
  readonly max: number;
  /** What it may be, where that is a short list: for completion. */
  readonly choices?: readonly string[];
  /** Everything after the first operand belongs to the program that it names, options included. */
  readonly firstEndsOptions?: boolean;
}

/** What of a command matters for reading its arguments. */
export interface Grammar<T extends OptionTable> {
  readonly name: string;
  readonly operands: Operands;
  readonly options: T;
  readonly singleDash?: boolean;
  readonly groupedFlags?: boolean;
}

export type ParsedArguments<T extends OptionTable> =
  | { readonly help: true }
  | {
      readonly help: false;
      readonly options: OptionValues<T>;
      readonly operands: readonly string[];
      /** --quiet, which every command has. */
      readonly quiet?: boolean;
      /**
       * An option of ours that went to the program because it stands behind its name, without -- before or
       * between.
       */
      readonly misplaced?: string;
    };

type RawValue = string | number | boolean | readonly string[] | undefined;

/** A piece of a command line, before options have their values. */
type Token =
  | { readonly kind: 'help' | 'quiet' }
  /** `text`: what was given for it. */
  | { readonly kind: 'option'; readonly name: string; readonly spelled: string; readonly text?: string }
  | { readonly kind: 'operand'; readonly text: string }
  /** From here on everything is an operand; `misplaced`: what of it is spelled as an option of ours. */
  | { readonly kind: 'end'; readonly operands: readonly string[]; readonly misplaced?: string };

/**
 * Splits arguments into options and operands: `--name value`, `--name=value`, `--` ends the options, a
 * repeated option overrides the earlier one, `--help` and `-h` win over everything, `--quiet` is every
 * command's. Throws USAGE.
 */
export function parseArguments<const T extends OptionTable>(
  grammar: Grammar<T>,
  argv: readonly string[],
): ParsedArguments<T> {
  const { options, operands: expected } = grammar;
  const values: Record<string, RawValue> = {};
  for (const [name, row] of Object.entries(options)) {
    values[name] = row.kind === 'flag' ? false : row.kind === 'list' ? undefined : row.default;
  }
  const operands: string[] = [];
  const rest: { quiet?: boolean; misplaced?: string } = {};
  for (const token of tokens(grammar, argv)) {
    switch (token.kind) {
      case 'help':
        return { help: true };
      case 'quiet':
        rest.quiet = true;
        break;
      case 'option':
        values[token.name] = valueAfter(grammar, token, values[token.name]);
        break;
      case 'operand':
        operands.push(token.text);
        break;
      case 'end':
        operands.push(...token.operands);
        if (token.misplaced !== undefined) rest.misplaced = token.misplaced;
    }
  }
  if (operands.length < expected.min) {
    throw usage(grammar, `missing argument, expected \`wavewright ${grammar.name} [OPTIONS] ${expected.usage}\``);
  }
  if (operands.length > expected.max) throw usage(grammar, `unexpected argument '${operands[expected.max]}'`);
  return { help: false, options: values as OptionValues<T>, operands, ...rest };
}

/**
 * The arguments one by one, each read only when the one before is accepted: the first that is wrong is
 * reported.
 */
function* tokens(grammar: Grammar<OptionTable>, argv: readonly string[]): Generator<Token> {
  const { options, operands: expected, singleDash = false } = grammar;
  const names = nameIndex(options);
  const spelling = singleDash ? /^--?([^-=][^=]*)(?:=(.*))?$/s : /^--([^=]+)(?:=(.*))?$/s;
  const isHelp = (argument: string): boolean =>
    argument === '--help' || (argument === '-h' && !names.has('h')) || (singleDash && argument === '-help');
  for (let at = 0; at < argv.length; at++) {
    const argument = argv[at]!;
    const group = grammar.groupedFlags ? flagGroup(argument, names, options) : undefined;
    const match = spelling.exec(argument);
    if (argument === '--') {
      yield { kind: 'end', operands: argv.slice(at + 1) };
      return;
    }
    if (isHelp(argument)) yield { kind: 'help' };
    else if (argument === '--quiet') yield { kind: 'quiet' };
    else if (group) for (const name of group) yield { kind: 'option', name, spelled: `-${name}` };
    else if (match !== null) {
      const name = names.get(match[1]!) ?? unknownName(grammar, argument, match, names);
      const row = options[name]!;
      const implied = row.kind === 'text' ? row.implied : undefined;
      const text = match[2] ?? (row.kind === 'flag' ? undefined : (implied ?? argv[++at]));
      yield { kind: 'option', name, spelled: `--${match[1]}`, ...(text !== undefined && { text }) };
    } else {
      if (argument.startsWith('-') && argument !== '-') unknownOption(grammar, argument, names);
      yield { kind: 'operand', text: argument };
      if (expected.firstEndsOptions) {
        const operands = argv.slice(at + 1);
        const misplaced = ownOption(operands, spelling, names);
        yield { kind: 'end', operands, ...(misplaced !== undefined && { misplaced }) };
        return;
      }
    }
  }
}

/**
 * The value of an option once `token` is read, after `earlier` from its default or from the tokens before.
 */
function valueAfter(grammar: Grammar<OptionTable>, token: Token & { kind: 'option' }, earlier: RawValue): RawValue {
  const row = grammar.options[token.name]!;
  const { spelled, text } = token;
  if (row.kind === 'flag') {
    if (text === undefined) return true;
    throw usage(grammar, `${spelled} takes no value, but '${text}' was given`);
  }
  if (text === undefined) throw usage(grammar, `${spelled} needs a value: ${spelled}=${placeholderOf(row)}`);
  if (row.kind === 'list') return [...(Array.isArray(earlier) ? earlier : []), text];
  return parseValue(grammar, row, spelled, text);
}

/** The first of the program's words that is spelled as an option of ours; those behind -- are meant. */
function ownOption(words: readonly string[], spelling: RegExp, names: Map<string, string>): string | undefined {
  const end = words.indexOf('--');
  return words.slice(0, end < 0 ? words.length : end).find((word) => names.has(spelling.exec(word)?.[1] ?? ''));
}

/** How the value of an option is shown in help and messages. */
export function placeholderOf(row: OptionRow): string {
  if (row.kind === 'flag') return '';
  return row.kind === 'choice' ? row.choices.join('|') : row.placeholder;
}

function nameIndex(options: OptionTable): Map<string, string> {
  const index = new Map<string, string>();
  for (const [name, { aliases = [] }] of Object.entries(options)) {
    for (const spelling of [name, ...aliases]) index.set(spelling, name);
  }
  return index;
}

/** The options of `-dr`, when each of its two or more letters is a flag and no option has that name. */
function flagGroup(argument: string, names: Map<string, string>, options: OptionTable): string[] | undefined {
  const letters = /^-([A-Za-z]{2,})$/.exec(argument)?.[1];
  if (letters === undefined || names.has(letters)) return undefined;
  const group = [...letters].map((letter) => names.get(letter));
  return group.every((name) => name !== undefined && options[name]!.kind === 'flag') ? (group as string[]) : undefined;
}

function parseValue(grammar: Grammar<OptionTable>, row: OptionRow, spelled: string, text: string): RawValue {
  switch (row.kind) {
    case 'integer': {
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
      if (value >= row.min && value <= row.max) return value;
      throw usage(grammar, `${spelled} takes an integer from ${row.min} to ${row.max}, not '${text}'`);
    }
    case 'seconds': {
      const value = /^(\d+(\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
      if (value > 0 && value <= row.max) return value;
      throw usage(grammar, `${spelled} takes a number of seconds above 0, at most ${row.max}, not '${text}'`);
    }
    case 'choice':
      if (row.choices.includes(text)) return text;
      throw usage(
        grammar,
        `${spelled} takes ${row.choices.join(' or ')}, not '${text}'`,
        didYouMean(text, row.choices),
      );
    default:
      return text;
  }
}

/** For an option in the right form whose name is not in the table. */
function unknownName(
  grammar: Grammar<OptionTable>,
  argument: string,
  [, name, text]: RegExpExecArray,
  names: Map<string, string>,
): never {
  const isFlag = text !== undefined && ['help', 'quiet'].includes(name!);
  if (isFlag) throw usage(grammar, `--${name} takes no value, but '${text}' was given`);
  unknownOption(grammar, argument, names);
}

function unknownOption(grammar: Grammar<OptionTable>, argument: string, names: Map<string, string>): never {
  const option = argument.split('=', 1)[0]!;
  const known = [...names.keys(), 'help', 'quiet'].map((name) => `--${name}`);
  const bare = option.replace(/^-+/, '--');
  throw usage(grammar, `unknown option '${option}' for ${grammar.name}`, didYouMean(bare, known));
}

function usage(grammar: Grammar<OptionTable>, what: string, hint?: string): WavewrightError {
  return new WavewrightError('USAGE', what, { hint: hint ?? `\`wavewright help ${grammar.name}\` lists the options` });
}
