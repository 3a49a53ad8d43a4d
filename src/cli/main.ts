import { ERROR_CODES } from '../base/errors.ts';
import type { CommandContext } from './arguments/command.ts';
import { runCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { wantsColour } from './process/colour.ts';
import { writeAll } from './process/output.ts';
import { reportError } from './text/report.ts';
import { isUpstreamLoader } from './upstream-loader-names.ts';

/** Asked when something is to have a colour: streams are loaded with it. */
const isTerminal = (fd: number): boolean => process.getBuiltinModule('node:tty').isatty(fd);

const context: CommandContext = {
  stdout: (data) => writeAll(1, data, 'standard output'),
  stderr: (data) => {
    try {
      writeAll(2, data, 'standard error');
    } catch {
      // There is no place left to say so.
      process.exit(ERROR_CODES.IO.exit);
    }
  },
  env: process.env,
  isProcess: true,
  colour: {
    get stdout() {
      return wantsColour(isTerminal(1), process.env);
    },
    get stderr() {
      return wantsColour(isTerminal(2), process.env);
    },
  },
};

// Errors that no command awaited: reported like the others, without Node's stack trace.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    const { text, exitStatus } = reportError(error, process.env['WAVEWRIGHT_DEBUG'] === '1', context.colour?.stderr);
    context.stderr(text);
    process.exit(exitStatus);
  });
}

/** Ends the process. */
async function run(): Promise<never> {
  const [verb, ...rest] = process.argv.slice(2);
  // The upstream loaders' command lines are no commands of ours: they say and return what those do.
  const status =
    verb !== undefined && isUpstreamLoader(verb)
      ? await (await import('./upstream-loader.ts')).runUpstreamLoader(verb, rest, context)
      : await runCommandLine(COMMANDS, process.argv.slice(2), context);
  process.exit(status);
}

// Not awaited, as it is part of a script.
void run();
