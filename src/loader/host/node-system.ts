/** C's system for a GPU program, on this host. */
import { constants } from 'node:os';
import { killGroup } from '../../base/process-group.ts';

export interface SystemOptions {
  readonly directory?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where the output of commands goes. Default: the standard streams of this process. */
  readonly output?: { readonly stdout: (data: Uint8Array) => void; readonly stderr: (data: Uint8Array) => void };
}

/**
 * Runs commands with the standard input of this process; gives their wait status, or -1 when the shell does
 * not start. The signal ends the shell and what it started; at a terminal, whose Ctrl-C reaches all of them,
 * the shell alone, because a group of its own could not use the terminal.
 */
export function createNodeSystem({ directory, environment, output }: SystemOptions = {}) {
  return (command: string, signal: AbortSignal): Promise<number> =>
    new Promise<number>((resolve) => {
      // Loaded when it is needed: few programs run commands.
      const { spawn } = process.getBuiltinModule('node:child_process');
      const detached = !process.stdin.isTTY;
      const child = spawn(command, {
        shell: true,
        detached,
        stdio: output === undefined ? 'inherit' : ['inherit', 'pipe', 'pipe'],
        ...(directory !== undefined && { cwd: directory }),
        ...(environment !== undefined && { env: environment }),
      });
      const end = (): void => {
        if (detached) killGroup(child);
        else child.kill('SIGKILL');
        resolve(-1);
      };
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
      child.stdout?.on('data', (data: Uint8Array) => output?.stdout(data));
      child.stderr?.on('data', (data: Uint8Array) => output?.stderr(data));
      child.on('error', () => resolve(-1));
      child.on('close', (status, signalName) => {
        signal.removeEventListener('abort', end);
        resolve(signalName === null ? (status! & 0xff) << 8 : constants.signals[signalName]);
      });
      // A command that is too long is refused at once.
    }).catch(() => -1);
}
