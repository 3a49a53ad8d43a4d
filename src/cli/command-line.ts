import { ERROR_CODES, WavewrightError } from '../base/errors.ts';
import type { CommandContext, CommandRow } from './arguments/command.ts';
import { commandHelp, overview } from './arguments/help.ts';
import { parseArguments } from './arguments/options.ts';
import { didYouMean } from './arguments/suggest.ts';
import { errorJson, reportError, warn } from './text/report.ts';

/**
 * Runs one command line (without the program's own name) and resolves to the exit status. Errors are reported
 * on `context.stderr`, never thrown.
 */
export async function runCommandLine(
  commands: readonly CommandRow[],
  argv: readonly string[],
  context: CommandContext,
): Promise<number> {
  try {
    return await perform(commands, argv, context);
  } catch (error) {
    const { text, exitStatus } = reportError(error, context.env['WAVEWRIGHT_DEBUG'] === '1', context.colour?.stderr);
    context.stderr(text);
    return exitStatus;
  }
}

async function perform(
  commands: readonly CommandRow[],
  argv: readonly string[],
  context: CommandContext,
): Promise<number> {
  const [verb, ...rest] = argv;
  switch (verb) {
    case undefined:
      context.stderr(overview(commands));
      return ERROR_CODES.USAGE.exit;
    case '--version':
    case '-V':
      context.stdout(`wavewright ${(await import('./process/package-version.ts')).packageVersion()}\n`);
      return 0;
    case '--help':
    case '-h':
    case 'help': {
      const name = rest[0];
      context.stdout(name === undefined ? overview(commands) : await helpFor(find(commands, name)));
      return 0;
    }
  }
  const row = find(commands, verb);
  const command = await row.load();
  const parsed = parseArguments({ ...command, name: row.name }, rest);
  if (parsed.help) {
    context.stdout(commandHelp(row, command));
    return 0;
  }
  const itsContext = parsed.quiet ? { ...context, isQuiet: true } : context;
  if (parsed.misplaced !== undefined) {
    const [image] = parsed.operands;
    const what = `'${parsed.misplaced}' stands behind '${image}' and goes to the program; options of wavewright stand before it; '-- ${image}' says that this is meant`;
    warn(itsContext, what);
  }
  try {
    return await command.run(itsContext, parsed.options, parsed.operands);
  } catch (error) {
    if (error instanceof WavewrightError && parsed.options['format'] === 'json') context.stdout(errorJson(error));
    throw error;
  }
}

async function helpFor(row: CommandRow): Promise<string> {
  return commandHelp(row, await row.load());
}

function find(commands: readonly CommandRow[], name: string): CommandRow {
  const row = commands.find((candidate) => candidate.name === name);
  if (row !== undefined) return row;
  const what = name.startsWith('-') ? `unknown option '${name}'` : `unknown command '${name}'`;
  const known = [...commands.map((candidate) => candidate.name), 'help', '--help', '--version', '-V'];
  throw new WavewrightError('USAGE', what, {
    hint: didYouMean(name, known) ?? '`wavewright --help` lists the commands',
  });
}
