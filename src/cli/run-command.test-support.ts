/** Command lines run in this process, and what they print. */
import { runCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';

export interface CommandRun {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What went to standard output, which need not be text. */
  readonly bytes: Buffer;
}

/** `argv` begins with the name of the command. */
export async function runCommand(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandRun> {
  const printed: Buffer[] = [];
  let stderr = '';
  const status = await runCommandLine(COMMANDS, argv, {
    stdout: (data) => {
      printed.push(Buffer.from(data));
    },
    stderr: (data) => {
      stderr += Buffer.from(data);
    },
    env,
  });
  const bytes = Buffer.concat(printed);
  return { status, stdout: bytes.toString(), stderr, bytes };
}
