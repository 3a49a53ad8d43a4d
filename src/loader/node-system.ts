/** C's system for a GPU program, on this host. */
import { spawnSync } from 'node:child_process';
import { constants } from 'node:os';

export interface SystemOptions {
  readonly directory?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where the output of commands goes once they end. Default: the standard streams of this process, at once. */
  readonly output?: { readonly stdout: (data: Uint8Array) => void; readonly stderr: (data: Uint8Array) => void };
}

/** Output of one command that is collected; a command that writes more is ended. */
const MAX_OUTPUT_BYTES = 16 * 2 ** 20;

/** Runs commands with the standard input of this process; gives their wait status, or -1 when the shell does not start. */
export function createNodeSystem({ directory, environment, output }: SystemOptions = {}): (command: string) => number {
  return (command) => {
    const { error, status, signal, stdout, stderr } = spawnSync(command, {
      shell: true,
      stdio: output === undefined ? 'inherit' : ['inherit', 'pipe', 'pipe'],
      maxBuffer: MAX_OUTPUT_BYTES,
      ...(directory !== undefined && { cwd: directory }),
      ...(environment !== undefined && { env: environment }),
    });
    if (stdout) output?.stdout(stdout);
    if (stderr) output?.stderr(stderr);
    if (error !== undefined && signal === null) return -1;
    return signal === null ? (status! & 0xff) << 8 : constants.signals[signal];
  };
}
