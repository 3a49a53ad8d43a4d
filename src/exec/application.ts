/** The program that exec runs: its environment, its signals, its end. */
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { WavewrightError } from '../base/errors.ts';
import { HIDE_IMAGES_VARIABLE, SOCKET_VARIABLE } from './protocol.ts';

const { existsSync } = process.getBuiltinModule('node:fs');

/** Sent to the program as they come. */
const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT', 'SIGCONT', 'SIGWINCH'] as const;
const SIGNAL_STATUS = 128;

/**
 * For HIP: what it copies from and to memory of the program goes through its staging buffers. Else it makes
 * the program's pages the device's before a copy of a MiB or more, and back behind it, which costs more than
 * the copy.
 */
const STAGED_COPIES = { GPU_PINNED_XFER_SIZE: '0' } as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** The folder of the prebuilt library. Throws UNSUPPORTED where there is none. */
export function libraryFolder(): string {
  const folder = fileURLToPath(new URL('../../native/hsa/x86-64', import.meta.url));
  if (existsSync(path.join(folder, 'libhsa-runtime64.so.1'))) return folder;
  throw new WavewrightError('UNSUPPORTED', 'this installation has no libhsa-runtime64.so.1', { file: folder });
}

/** What a program needs in its environment to reach a device process, besides what it has. */
export function applicationVariables(
  socket: string,
  environment: Environment,
  hidesImages: boolean,
): Record<string, string> {
  const others = environment['LD_LIBRARY_PATH'];
  return {
    LD_LIBRARY_PATH: others ? `${libraryFolder()}:${others}` : libraryFolder(),
    [SOCKET_VARIABLE]: socket,
    ...(environment['GPU_PINNED_XFER_SIZE'] === undefined && STAGED_COPIES),
    ...(hidesImages && { [HIDE_IMAGES_VARIABLE]: '1' }),
  };
}

export class Application {
  readonly #child: ChildProcess;
  readonly #end: Promise<number>;

  /** Starts the program, which has this process's standard streams. */
  constructor(program: string, args: readonly string[], environment: Environment) {
    const { spawn } = process.getBuiltinModule('node:child_process');
    // Not process.stdin, which would change how the program reads it.
    const isTerminal = process.getBuiltinModule('node:tty').isatty(0);
    // A terminal sends its signals to the program, too.
    const onInterrupt = (): void => void (isTerminal || this.kill('SIGINT'));
    const onSignal = (signal: NodeJS.Signals): void => this.kill(signal);
    process.on('SIGINT', onInterrupt);
    for (const signal of FORWARDED) process.on(signal, onSignal);
    this.#child = spawn(program, args, { stdio: 'inherit', env: environment });
    this.#end = new Promise<number>((resolve, reject) => {
      this.#child.once('exit', (status, signal) => resolve(status ?? SIGNAL_STATUS + constants.signals[signal!]));
      this.#child.once('error', (error) => reject(error));
    }).finally(() => {
      process.off('SIGINT', onInterrupt);
      for (const signal of FORWARDED) process.off(signal, onSignal);
    });
  }

  /** The exit status, as shells have it: 128 and the number of the signal that ended the program. */
  async end(): Promise<number> {
    try {
      return await this.#end;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const file = this.#child.spawnfile;
      // Found as by a shell: a name without a folder is looked for in PATH.
      const isHere = !file.includes('/') && existsSync(file);
      throw new WavewrightError('IO', `cannot be started: ${error.message}`, {
        file,
        cause: error,
        ...(isHere && { hint: `the file of this folder is ./${file}` }),
      });
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
