/** The program that exec runs: its environment, its signals, its end. */
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import path from 'node:path';
import { WavewrightError } from '../base/errors.ts';
import { packageFile } from '../base/node-package-file.ts';
import { HIDE_IMAGES_VARIABLE, SOCKET_VARIABLE } from './protocol.ts';

const { existsSync, statSync } = process.getBuiltinModule('node:fs');

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
  const machine = process.arch === 'x64' ? 'x86-64' : process.arch;
  const folder = packageFile(`native/hsa/${machine}`);
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
  /** The exit status, as shells have it: 128 and the number of the signal that ended the program. */
  readonly end: Promise<number>;

  /** Starts a program, which has this process's standard streams. Throws IO. */
  static async start(program: string, args: readonly string[], environment: Environment): Promise<Application> {
    const application = new Application(program, args, environment);
    await new Promise<void>((resolve, reject) => {
      application.#child.once('spawn', resolve).once('error', (error) => reject(notStarted(program, error)));
    });
    return application;
  }

  private constructor(program: string, args: readonly string[], environment: Environment) {
    const { spawn } = process.getBuiltinModule('node:child_process');
    // Not process.stdin, which would change how the program reads it.
    const isTerminal = process.getBuiltinModule('node:tty').isatty(0);
    // A terminal sends its signals to the program, too.
    const onInterrupt = (): void => void (isTerminal || this.kill('SIGINT'));
    const onSignal = (signal: NodeJS.Signals): void => this.kill(signal);
    process.on('SIGINT', onInterrupt);
    for (const signal of FORWARDED) process.on(signal, onSignal);
    const stopForwarding = (): void => {
      process.off('SIGINT', onInterrupt);
      for (const signal of FORWARDED) process.off(signal, onSignal);
    };
    this.#child = spawn(program, args, { stdio: 'inherit', env: environment });
    this.#child.once('exit', stopForwarding).once('error', stopForwarding);
    this.end = new Promise<number>((resolve) => {
      this.#child.once('exit', (status, signal) => resolve(status ?? SIGNAL_STATUS + constants.signals[signal!]));
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

/** The system has one number for what is wrong with a program, its folder or its loader: here it is told. */
function notStarted(file: string, cause: NodeJS.ErrnoException): WavewrightError {
  const refused = (why: string, hint?: string) =>
    new WavewrightError('IO', `cannot be started: ${why}`, { file, cause, ...(hint && { hint }) });
  if (cause.code !== 'ENOENT' && cause.code !== 'EACCES') return refused(String(cause.code));
  // Found as by a shell: a name without a folder is looked for in PATH.
  if (!file.includes('/')) {
    return refused('no such program in PATH', existsSync(file) ? `the file of this folder is ./${file}` : undefined);
  }
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found) return refused('no such file');
  if (found.isDirectory()) return refused('is a directory');
  if (cause.code === 'EACCES') return refused('is not executable', `'chmod +x ${file}' makes it so`);
  return refused('its loader or interpreter is not there', 'programs of 32 bits need one of their own');
}
