import type { CommandContext } from './command.ts';
import { runCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { writeAll } from './output.ts';
import { reportError } from './report.ts';

const context: CommandContext = {
  stdout: (data) => writeAll(1, data),
  stderr: (data) => writeAll(2, data),
  env: process.env,
};

// Errors that no command awaited: reported like the others, without Node's stack trace.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    const { text, exitStatus } = reportError(error, process.env['WAVEWRIGHT_DEBUG'] === '1');
    context.stderr(text);
    process.exit(exitStatus);
  });
}

process.exit(await runCommandLine(COMMANDS, process.argv.slice(2), context));
