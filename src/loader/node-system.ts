/** C's system for a GPU program, on this host. */
import { spawnSync } from 'node:child_process';
import { constants } from 'node:os';

export interface SystemOptions {
  readonly directory?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Runs commands with the standard streams of this process; gives their wait status, or -1 when the shell does not start. */
export function createNodeSystem({ directory, environment }: SystemOptions = {}): (command: string) => number {
  return (command) => {
    const { error, status, signal } = spawnSync(command, {
      shell: true,
      stdio: 'inherit',
      ...(directory !== undefined && { cwd: directory }),
      ...(environment !== undefined && { env: environment }),
    });
    if (error !== undefined) return -1;
    return signal === null ? (status! & 0xff) << 8 : constants.signals[signal];
  };
}
