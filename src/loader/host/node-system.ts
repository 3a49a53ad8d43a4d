/** C's system for a GPU program, on this host. */
import { constants } from 'node:os';

export interface SystemOptions {
  readonly directory?: string | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Where the output of commands goes. Default: the standard streams of this process. */
  readonly output?: { readonly stdout: (data: Uint8Array) => void; readonly stderr: (data: Uint8Array) => void };
}

/**
 * Runs commands with the standard input of this process; gives their wait status, or -1 when the shell does
 * not start. The signal ends the shell.
 */
export function createNodeSystem({ directory, environment, output }: SystemOptions = {}) {
  return (command: string, signal: AbortSignal): Promise<number> =>
    new Promise<number>((resolve) => {
      // Loaded when it is needed: few programs run commands.
      const { spawn } = process.getBuiltinModule('node:child_process');
      const child = spawn(command, {
        shell: true,
        stdio: output === undefined ? 'inherit' : ['inherit', 'pipe', 'pipe'],
        signal,
        killSignal: 'SIGKILL',
        ...(directory !== undefined && { cwd: directory }),
        ...(environment !== undefined && { env: environment }),
      });
      child.stdout?.on('data', (data: Uint8Array) => output?.stdout(data));
      child.stderr?.on('data', (data: Uint8Array) => output?.stderr(data));
      child.on('error', () => resolve(-1));
      child.on('close', (status, signalName) => {
        resolve(signalName === null ? (status! & 0xff) << 8 : constants.signals[signalName]);
      });
      // A command that is too long is refused at once.
    }).catch(() => -1);
}
